//! Which packs may be shown to a reader that believes an idx, as libgit2 does: it maps a pack and goes to wherever the idx
//! says, also beyond the end.

use ckpt_fs::{Dir, Entries, Stat};

use crate::error::Fault;
use crate::idx::Idx;
use crate::pack::{HEADER, TRAILER};
use crate::{Error, Result};

/// The idx files that were found to name only places inside of their packs. An idx is looked at again when its file or
/// its pack is another one.
#[derive(Debug, Default)]
pub struct Vetted(Vec<(Vec<u8>, Stat, Stat)>);

impl Vetted {
    /// Name of a file in `dir` that such a reader must not meet: an idx, however it is called, that is damaged or names a
    /// place outside of the pack beside it, or an index of several packs. `None` where there is none.
    ///
    /// # Errors
    /// [`Error::Io`] when the directory or a file in it cannot be read.
    pub fn find_unfit(&mut self, dir: &Dir) -> Result<Option<String>> {
        let mut names = Entries::default();
        dir.read_entries(&mut names).map_err(Error::io("list", "the pack directory"))?;
        let mut vetted = Vec::new();
        for name in names.iter().map(|entry| entry.name) {
            let shown = || String::from_utf8_lossy(name).into_owned();
            if name.starts_with(b"multi-pack-index") {
                return Ok(Some(shown()));
            }
            let Some(stem) = name.strip_suffix(b".idx") else { continue };
            let stat = |name: &[u8]| dir.try_stat(name).map_err(Error::io("look at", name));
            // Without a pack nobody goes anywhere.
            let (Some(idx), Some(pack)) = (stat(name)?, stat(&[stem, b".pack"].concat())?) else { continue };
            let known = (name.to_vec(), idx, pack);
            if !self.0.contains(&known) {
                let file = dir.open_file(name).map_err(Error::io("open", name))?;
                let entries = Idx::read(&file, idx.size).and_then(|idx| idx.entries(&file));
                let inside = HEADER..pack.size.saturating_sub(TRAILER);
                match entries {
                    Ok(entries) if entries.iter().all(|entry| inside.contains(&entry.offset)) => {}
                    Ok(_) | Err(Fault::Damaged(_)) => return Ok(Some(shown())),
                    Err(Fault::Io(source)) => return Err(Error::io("read", name)(source)),
                }
            }
            vetted.push(known);
        }
        self.0 = vetted;
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ckpt_fs::Durability;

    use super::*;
    use crate::idx::{self, IdxEntry};
    use crate::{Encoder, KEEP_TEXT, Kind, PackWriter, hash_object};

    #[test]
    fn an_idx_with_a_place_outside_of_its_pack_is_found() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        let mut writer = PackWriter::create(&dir, "token", 0).unwrap();
        let id = hash_object(Kind::Blob, b"one").unwrap();
        writer.add(&Encoder::new().encode(id, Kind::Blob, b"one")).unwrap();
        let pack = writer.finish(KEEP_TEXT, Durability::None).unwrap().publish(&dir, Durability::None).unwrap();
        let name = format!("pack-{}.idx", pack.name);
        let path = temp.path().join(&name);
        let mut vetted = Vetted::default();
        assert_eq!(vetted.find_unfit(&dir).unwrap(), None);
        assert_eq!(vetted.0.len(), 1);
        let good = fs::read(&path).unwrap();
        let size = fs::metadata(path.with_extension("pack")).unwrap().len();
        for offset in [0, HEADER - 1, size - TRAILER, size, u64::MAX] {
            let mut bytes = Vec::new();
            idx::write(&[IdxEntry { id, crc32: 0, offset }], &pack.name, &mut bytes).unwrap();
            fs::remove_file(&path).unwrap();
            fs::write(&path, bytes).unwrap();
            assert_eq!(vetted.find_unfit(&dir).unwrap().as_ref(), Some(&name), "{offset}");
        }
        for at in 0..good.len() {
            let mut bytes = good.clone();
            bytes[at] ^= 0x10;
            fs::write(&path, bytes).unwrap();
            assert_eq!(Vetted::default().find_unfit(&dir).unwrap().as_ref(), Some(&name), "byte {at}");
        }
        fs::write(&path, good).unwrap();
        assert_eq!(vetted.find_unfit(&dir).unwrap(), None);
        fs::write(temp.path().join("multi-pack-index"), "").unwrap();
        assert_eq!(vetted.find_unfit(&dir).unwrap().as_deref(), Some("multi-pack-index"));
    }
}
