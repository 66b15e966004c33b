//! The stat cache: what each entry looked like when its content was hashed. The form is in `docs/formats.md`.
//!
//! An entry states that the store holds its object. So only a save writes the cache, after the timeline has moved, and
//! the cache names the operation and the packs that its statement rests on. It is disposable: lost, damaged or doubted,
//! it costs reading the files again, never a wrong checkpoint.
//!
//! It stands in two files. The one holds all directories as they were once; the other, which is small, those that have
//! changed since, and takes their place. So a save of one file in a large tree writes a few hundred bytes. Without the
//! second the first is an older cache, which is as good as any that is not the newest.

mod builder;
mod sheet;

use ckpt_fs::FileKind;

use crate::state::Encoded;
use crate::{ObjectId, Reason};

pub(crate) use builder::CacheBuilder;
use sheet::Sheet;

/// No directory.
pub(crate) const NONE: u32 = u32::MAX;

/// What the last walk made of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryState {
    Captured,
    Ignored,
    Omitted(Reason),
}

/// Stat data and content id of an entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheEntry {
    pub(crate) state: EntryState,
    pub(crate) kind: FileKind,
    /// `mode & 0o7777`.
    pub(crate) mode: u16,
    pub(crate) size: u64,
    pub(crate) mtime_ns: i64,
    pub(crate) ctime_ns: i64,
    pub(crate) inode: u64,
    pub(crate) device: u64,
    pub(crate) id: ObjectId,
    /// Whether stat data that are still the same prove that the content is.
    pub(crate) trusted: bool,
    /// Its own record, for captured directories; else [`NONE`].
    pub(crate) dir: u32,
}

/// A directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheDir {
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) encoded: Encoded,
    /// Signature of the rules by which its names were judged.
    pub(crate) rules: u64,
    pub(crate) device: u64,
    /// Whether something was mounted there.
    pub(crate) is_mount_point: bool,
}

/// What the cache as a whole rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CacheBasis {
    /// Newest operation when it was written, and its number.
    pub(crate) operation: ObjectId,
    pub(crate) operation_seq: u64,
    /// Head then.
    pub(crate) head: ObjectId,
    /// Packs then, with the sizes of their files.
    pub(crate) packs: Vec<(ObjectId, u64)>,
    /// When it was written, by the file system's clock.
    pub(crate) written_ns: i64,
    /// Boot in which it was written.
    pub(crate) boot: Option<String>,
}

/// A cache that was read.
pub(crate) struct StatCache {
    base: Sheet,
    changes: Option<Sheet>,
}

impl StatCache {
    /// Takes the bytes of a cache file; `None` when they are not one, or not whole. `boot` is the boot of now.
    pub(crate) fn decode(bytes: Vec<u8>, boot: Option<&str>) -> Option<Self> {
        let base = Sheet::decode(bytes, boot).filter(|sheet| sheet.of.is_none())?;
        Some(Self { base, changes: None })
    }

    /// Takes the bytes of the file of changes too. Those of another cache are passed over: they are left where the cache
    /// was written anew, or is lost. `false`: they are not one, or not whole.
    pub(crate) fn change(&mut self, bytes: Vec<u8>, boot: Option<&str>) -> bool {
        let Some(changes) = Sheet::decode(bytes, boot) else { return false };
        if changes.of == Some(self.base.name()) {
            self.changes = Some(changes);
        }
        true
    }

    /// What it rests on.
    pub(crate) fn basis(&self) -> &CacheBasis {
        &self.changes.as_ref().unwrap_or(&self.base).basis
    }

    /// Bytes of the first file.
    pub(crate) fn base_bytes(&self) -> usize {
        self.base.bytes().len()
    }

    /// More than the number of any directory.
    fn dir_end(&self) -> u32 {
        self.changes.as_ref().map_or(0, Sheet::dir_end).max(self.base.dir_end())
    }

    /// Whether the file of changes has the directory.
    pub(crate) fn is_changed(&self, number: u32) -> bool {
        self.changes.as_ref().is_some_and(|changes| changes.dir(number).is_some())
    }

    /// The record of directory `number`; 0 is the root.
    pub(crate) fn dir(&self, number: u32) -> Option<CacheDir> {
        let changed = self.changes.as_ref().and_then(|changes| changes.dir(number));
        let dir = changed.or_else(|| self.base.dir(number))?;
        let end = dir.first.checked_add(dir.count)?;
        (end <= self.entry_end()).then_some(dir)
    }

    /// Entry `number` of the whole cache, with its name.
    pub(crate) fn entry(&self, number: u32) -> Option<(&[u8], CacheEntry)> {
        let (sheet, number) = self.sheet_of(number)?;
        sheet.entry(number)
    }

    /// More than the number of any entry.
    fn entry_end(&self) -> u32 {
        self.base.entries.saturating_add(self.changes.as_ref().map_or(0, |changes| changes.entries))
    }

    /// The sheet that has the entry `number`, and its number there: those of the changes come after the others.
    fn sheet_of(&self, number: u32) -> Option<(&Sheet, u32)> {
        match number.checked_sub(self.base.entries) {
            None => Some((&self.base, number)),
            Some(after) => Some((self.changes.as_ref()?, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Defaults;

    fn file(inode: u64) -> CacheEntry {
        CacheEntry {
            state: EntryState::Omitted(Reason::TooLarge),
            kind: FileKind::File,
            mode: 0o644,
            size: 5,
            mtime_ns: 1_000_000_000_000,
            ctime_ns: 1_000_000_000_000,
            inode,
            device: 99,
            id: ObjectId::EMPTY_TREE,
            trusted: true,
            dir: NONE,
        }
    }

    fn dir(number: u32) -> CacheEntry {
        CacheEntry { state: EntryState::Captured, kind: FileKind::Dir, dir: number, ..file(1) }
    }

    fn encoded(byte: u8) -> Encoded {
        Encoded { tree: ObjectId::from_bytes([byte; 20]), facts: None, inherited: Defaults::default() }
    }

    fn basis(seq: u64) -> CacheBasis {
        CacheBasis {
            operation: ObjectId::EMPTY_TREE,
            operation_seq: seq,
            head: ObjectId::ZERO,
            packs: vec![(ObjectId::EMPTY_TREE, 44)],
            written_ns: 1_000_100_000_000,
            boot: Some("b".repeat(36)),
        }
    }

    /// A root with a file and two directories, the first of which has a file.
    fn sample() -> Vec<u8> {
        let mut builder = CacheBuilder::default();
        let root = [(b"a".as_slice(), file(7)), (b"d", dir(1)), (b"e", dir(2))];
        builder.dir(0, encoded(1), 3, (99, true), root.into_iter()).unwrap();
        builder.dir(1, encoded(2), 4, (98, false), [(b"in d".as_slice(), file(8))].into_iter()).unwrap();
        builder.dir(2, encoded(3), 4, (98, false), std::iter::empty()).unwrap();
        builder.encode(&basis(12)).unwrap().concat()
    }

    fn read(bytes: Vec<u8>) -> StatCache {
        StatCache::decode(bytes, basis(0).boot.as_deref()).unwrap()
    }

    fn names(cache: &StatCache, number: u32) -> Vec<(Vec<u8>, u64, u32)> {
        let dir = cache.dir(number).unwrap();
        let entries = (dir.first..dir.first + dir.count).map(|number| cache.entry(number).unwrap());
        entries.map(|(name, entry)| (name.to_vec(), entry.inode, entry.dir)).collect()
    }

    /// The changes that [`sample`] has after a file came into its second directory, with a third directory.
    fn changed() -> Vec<u8> {
        let base = read(sample());
        let mut builder = CacheBuilder::changes_of(&base);
        let new = builder.next_number().unwrap();
        builder.again(0, encoded(11), &base.dir(0).unwrap()).unwrap();
        let entries = [(b"f".as_slice(), file(20)), (b"g", dir(new))];
        builder.dir(2, encoded(13), 4, (97, false), entries.into_iter()).unwrap();
        builder.dir(new, encoded(14), 5, (97, false), [(b"h".as_slice(), file(21))].into_iter()).unwrap();
        builder.encode(&basis(13)).unwrap().concat()
    }

    #[test]
    fn caches_round_trip() {
        let cache = read(sample());
        assert_eq!(*cache.basis(), basis(12));
        let root = cache.dir(0).unwrap();
        assert_eq!((root.count, root.rules, root.device), (3, 3, 99));
        let (name, entry) = cache.entry(root.first).unwrap();
        assert_eq!((name, entry.size, entry.trusted), (b"a".as_slice(), 5, true));
        assert_eq!(entry.state, EntryState::Omitted(Reason::TooLarge));
        assert_eq!(cache.entry(1).unwrap().1.dir, 1);
        assert!(cache.dir(3).is_none() && cache.entry(4).is_none());
    }

    #[test]
    fn directories_are_copied_as_if_they_were_written_anew() {
        let old = read(sample());
        let (root, below) = (old.dir(0).unwrap(), old.dir(1).unwrap());
        let (mut copied, mut written) = (CacheBuilder::default(), CacheBuilder::default());
        // Another directory stands before it now, so that all numbers are others.
        let entry = old.entry(0).unwrap();
        for builder in [&mut copied, &mut written] {
            builder.dir(0, below.encoded, 0, (98, true), [(b"before".as_slice(), entry.1)].into_iter()).unwrap();
        }
        let lost = |_| None;
        assert!(copied.copy(1, root.encoded, &old, &root, lost).is_none());
        copied.copy(1, root.encoded, &old, &root, |number| Some(number + 6)).unwrap();
        let entries = (0..3).map(|number| old.entry(number).unwrap());
        let entries = entries.map(|(name, entry)| {
            (name, if entry.dir == NONE { entry } else { CacheEntry { dir: entry.dir + 6, ..entry } })
        });
        written.dir(1, root.encoded, root.rules, (root.device, true), entries).unwrap();
        assert_eq!(copied.encode(&basis(12)), written.encode(&basis(12)));
    }

    #[test]
    fn changes_take_the_place_of_what_was() {
        let mut cache = read(sample());
        let before = [names(&cache, 0), names(&cache, 1)];
        assert!(cache.change(changed(), basis(0).boot.as_deref()));
        assert_eq!(*cache.basis(), basis(13));
        assert_eq!(cache.dir(0).unwrap().encoded, encoded(11));
        assert_eq!([names(&cache, 0), names(&cache, 1)], before);
        assert_eq!(names(&cache, 2), [(b"f".to_vec(), 20, NONE), (b"g".to_vec(), 1, 3)]);
        assert_eq!(names(&cache, 3), [(b"h".to_vec(), 21, NONE)]);
        assert!(cache.dir(4).is_none());
        let are_changed: Vec<u32> = (0..5).filter(|number| cache.is_changed(*number)).collect();
        assert_eq!(are_changed, [0, 2, 3]);
        // Changes of changes keep what they do not replace, and number on.
        let mut next = CacheBuilder::changes_of(&cache);
        assert_eq!(next.next_number(), Some(4));
        assert!(next.again(2, encoded(23), &cache.dir(2).unwrap()).is_none(), "its entries would be lost");
        next.copy(2, encoded(23), &cache, &cache.dir(2).unwrap(), |_| Some(3)).unwrap();
        next.copy(3, encoded(14), &cache, &cache.dir(3).unwrap(), |_| None).unwrap();
        let mut again = read(sample());
        assert!(again.change(next.encode(&basis(14)).unwrap().concat(), basis(0).boot.as_deref()));
        assert_eq!([names(&again, 2), names(&again, 3)], [names(&cache, 2), names(&cache, 3)]);
        assert_eq!((again.dir(0).unwrap().encoded, again.dir(2).unwrap().encoded), (encoded(1), encoded(23)));
    }

    #[test]
    fn changes_of_another_cache_are_passed_over() {
        let mut builder = CacheBuilder::default();
        builder.dir(0, encoded(1), 3, (99, true), std::iter::empty()).unwrap();
        let other = builder.encode(&basis(12)).unwrap().concat();
        let mut cache = read(other.clone());
        assert!(cache.change(changed(), None));
        assert!(!cache.is_changed(0) && cache.dir(0).unwrap().encoded == encoded(1));
        // Neither is taken for the other.
        assert!(StatCache::decode(changed(), None).is_none());
        assert!(cache.change(other, None) && !cache.is_changed(0));
    }

    #[test]
    fn after_another_boot_young_entries_are_not_trusted() {
        let mut cache = StatCache::decode(sample(), Some("another")).unwrap();
        assert!(!cache.entry(0).unwrap().1.trusted);
        assert!(cache.change(changed(), Some("another")));
        assert!(!cache.entry(cache.dir(2).unwrap().first).unwrap().1.trusted);
        assert!(cache.change(changed(), basis(0).boot.as_deref()));
        assert!(cache.entry(cache.dir(2).unwrap().first).unwrap().1.trusted && !cache.entry(0).unwrap().1.trusted);
    }

    #[test]
    fn damage_is_seen_c36() {
        for (bytes, is_base) in [(sample(), true), (changed(), false)] {
            let is_taken = |bytes: Vec<u8>| match is_base {
                true => StatCache::decode(bytes, None).is_some(),
                false => read(sample()).change(bytes, None),
            };
            assert!(is_taken(bytes.clone()));
            for cut in 0..bytes.len() {
                assert!(!is_taken(bytes[..cut].to_vec()));
            }
            for at in 0..bytes.len() {
                let mut damaged = bytes.clone();
                damaged[at] ^= 0x40;
                assert!(!is_taken(damaged), "a flipped bit at {at} went unnoticed");
            }
        }
    }
}
