//! Merging packs into one by copying their entries as they are.

use std::os::unix::fs::FileExt;

use ckpt_fs::{Dir, Durability};

use crate::entry::parse_header;
use crate::error::Fault;
use crate::keep::{Keep, merged_text};
use crate::pack::{HEADER, Pack, in_file};
use crate::{Error, FinishedPack, ObjectId, PackSet, PackWriter, Result};

/// Copies the objects of the packs `names` into one new pack; an object that several of them hold is copied once.
/// Nothing is inflated: entries are copied byte for byte, each checked against its CRC in the idx, whose own checksum
/// is checked as well. The new `.keep` names the packs merged, then those that they were merged from themselves, at
/// most 256 in all, and never the new pack itself (it has the name of a pack that holds all the others' objects).
///
/// # Errors
/// [`Error::Unmergeable`] for a pack that is not ours or holds a delta, [`Error::UnknownPack`] for one that is not
/// listed, [`Error::Damaged`] when an entry is not what its idx says, [`Error::Io`]. No pack was changed.
pub fn merge(
    set: &PackSet,
    names: &[ObjectId],
    tmp_dir: &Dir,
    token: &str,
    number: u32,
    durability: Durability,
) -> Result<FinishedPack> {
    let mut writer = PackWriter::create(tmp_dir, token, number)?;
    let mut merged = names.to_vec();
    for name in names {
        let pack = set.pack(name)?;
        let keep = Keep::read(set.dir(), name)?;
        if !keep.ours {
            return Err(Error::Unmergeable { pack: *name, reason: "its .keep is not ours" });
        }
        merged.extend(keep.merged);
        copy_entries(&pack, &mut writer)?;
    }
    let text = |name: &ObjectId| merged_text(merged.iter().copied().filter(|merged| merged != name));
    writer.finish_with(text, durability)
}

/// Copies all entries of a pack in the order in which they lie there.
fn copy_entries(pack: &Pack, writer: &mut PackWriter) -> Result<()> {
    let file = pack.pack_file()?;
    let mut entries = pack.idx.entries(&*pack.idx_file()?).map_err(in_file(pack.name, "idx"))?;
    entries.sort_unstable_by_key(|entry| entry.offset);
    for (number, entry) in entries.iter().enumerate() {
        // An idx does not say how long an entry is: it ends where the next one begins.
        let end = entries.get(number + 1).map_or(pack.end(), |next| next.offset);
        if end <= entry.offset || end > pack.end() || entry.offset < HEADER {
            return Err(pack.damaged(Some(entry.id), "its offset does not fit its neighbour's"));
        }
        let intact = writer.add_copied(entry, end - entry.offset, &mut |piece, at| {
            let read = file.read_exact_at(piece, entry.offset + at);
            read.map_err(|err| pack.in_entry(entry.id)(Fault::from(err)))?;
            if at == 0 && parse_header(piece).map_err(pack.in_entry(entry.id))?.kind.is_none() {
                return Err(Error::Unmergeable { pack: pack.name, reason: "it holds a delta" });
            }
            Ok(())
        })?;
        if !intact {
            return Err(pack.damaged(Some(entry.id), "its bytes do not have the CRC that is in the idx"));
        }
    }
    Ok(())
}
