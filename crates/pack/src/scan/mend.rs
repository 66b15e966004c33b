//! What a scan found, on its way into a new idx or a new pack.

use std::os::unix::fs::FileExt;

use ckpt_fs::{Dir, Durability};

use super::{Form, Lookup, Scan, Scanned};
use crate::encode::Encoder;
use crate::error::Fault;
use crate::idx::{self, IdxEntry};
use crate::keep::{KEEP_TEXT, file_name};
use crate::pack::in_file;
use crate::{Error, ObjectId, PackWriter, Result};

impl Scan {
    /// Writes the idx anew, and a `.keep` of ours where there is none, under temporary names
    /// `tmp-<token>-<number>.idx-again` and `.keep-again` in `tmp_dir`, synced and renamed into `pack_dir`. For a pack that
    /// is whole. One with deltas is stock git's and stays so, without a `.keep`.
    ///
    /// The names say that the pack stood there before: after a crash nobody takes it for one that was being published.
    ///
    /// # Errors
    /// [`Error::Damaged`] when the pack is not whole, [`Error::Io`] when a file cannot be written.
    pub fn write_idx(
        &self,
        pack_dir: &Dir,
        tmp_dir: &Dir,
        token: &str,
        number: u32,
        durability: Durability,
    ) -> Result<()> {
        if let Some(damage) = self.pack_damage.first() {
            return Err(Error::Damaged { pack: self.name, id: damage.id, reason: damage.reason.clone() });
        }
        let mut entries: Vec<IdxEntry> = self.entries.iter().filter_map(Scanned::idx_entry).collect();
        entries.sort_unstable_by_key(|entry| entry.id);
        entries.dedup_by_key(|entry| entry.id);
        let publish = |extension: &str, write: &dyn Fn(&mut dyn std::io::Write) -> std::io::Result<()>| {
            let tmp = format!("tmp-{token}-{number}.{extension}-again").into_bytes();
            let to = file_name(&self.name, extension);
            crate::writer::write_file(tmp_dir, &tmp, durability, |out| write(out))?;
            tmp_dir.rename(&tmp, pack_dir, &to).map_err(Error::io("publish", &to))
        };
        let keep = file_name(&self.name, "keep");
        let has_deltas = self.entries.iter().any(|entry| matches!(entry.form, Form::Delta { .. }));
        if !has_deltas && pack_dir.try_stat(&keep).map_err(Error::io("look at", &keep))?.is_none() {
            publish("keep", &|out| out.write_all(KEEP_TEXT.as_bytes()))?;
        }
        publish("idx", &|out| idx::write(&entries, &self.name, out))?;
        pack_dir.sync(durability).map_err(Error::io("sync", "the pack directory"))
    }

    /// Copies the objects that are whole and that `wanted` asks for into `writer`: entries as they are, deltas made
    /// whole. Returns their number.
    ///
    /// # Errors
    /// [`Error::Io`] when the pack cannot be read or the new one not be written, [`Error::PackFull`].
    pub fn copy_into(
        &self,
        writer: &mut PackWriter,
        wanted: &dyn Fn(&ObjectId) -> bool,
        lookup: &Lookup<'_>,
    ) -> Result<u64> {
        let mut encoder = Encoder::new();
        let mut copied = 0;
        for (number, entry) in self.entries.iter().enumerate() {
            let Some(known) = entry.idx_entry().filter(|known| wanted(&known.id)) else { continue };
            if writer.contains(&known.id) {
                continue;
            }
            match entry.form {
                Form::Whole(..) => {
                    writer.add_copied(&known, entry.len, &mut |piece, at| {
                        let read = self.file.read_exact_at(piece, entry.offset + at);
                        read.map_err(|err| in_file(self.name, "pack")(Fault::from(err)))
                    })?;
                }
                Form::Delta { .. } => {
                    let content = self.content(number, lookup).map_err(in_file(self.name, "pack"))?;
                    let Some((kind, content)) = content else { continue };
                    writer.add(&encoder.encode(known.id, kind, &content))?;
                }
            }
            copied += 1;
        }
        Ok(copied)
    }
}
