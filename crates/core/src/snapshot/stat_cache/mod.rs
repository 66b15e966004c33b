//! The stat cache: what each entry looked like when its content was hashed. The form is in `docs/formats.md`.
//!
//! An entry states that the store holds its object. So only a save writes the cache, after the timeline has moved, and
//! the cache names the operation and the packs that its statement rests on. It is disposable: lost, damaged or doubted,
//! it costs reading the files again, never a wrong checkpoint.

mod builder;

use ckpt_fs::FileKind;

use crate::state::{Defaults, Encoded};
use crate::{ObjectId, Reason};

pub(crate) use builder::CacheBuilder;

const MAGIC: &[u8; 8] = b"ckptstat";
const VERSION: u32 = 1;
const HEADER: usize = 8 + 4 + 4 + 8 + 8 + 40 + 20 + 8 + 20 + 5 * 4 + 4;
const PACK: usize = 28;
const DIR: usize = 68;
const ENTRY: usize = 68;
/// Flags of a directory.
const HAS_FACTS: u32 = 1;
const MOUNT_POINT: u32 = 2;
/// Where fields of an entry are.
const NAME_AT: usize = 52;
const DIR_AT: usize = 56;
/// No directory.
pub(crate) const NONE: u32 = u32::MAX;
/// After another boot, what changed within this time before the cache was written is not trusted: a power cut may have
/// brought the old content back under the new stat data.
const REBOOT_DOUBT_NS: i64 = 5 * 60 * 1_000_000_000;

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
    bytes: Vec<u8>,
    pub(crate) basis: CacheBasis,
    devices: Vec<u64>,
    dirs: Section,
    entries: Section,
    names: usize,
    doubt_after_ns: i64,
}

#[derive(Clone, Copy)]
struct Section {
    start: usize,
    count: u32,
}

impl StatCache {
    /// Takes the bytes of a cache file; `None` when they are not one, or not whole. `boot` is the boot of now.
    pub(crate) fn decode(bytes: Vec<u8>, boot: Option<&str>) -> Option<Self> {
        let mut at = Reader { bytes: &bytes, at: 0 };
        if at.take::<8>()? != *MAGIC || at.u32()? != VERSION {
            return None;
        }
        let crc = at.u32()?;
        if crc32fast::hash(bytes.get(16..)?) != crc {
            return None;
        }
        if at.u64()? != bytes.len() as u64 {
            return None;
        }
        let written_ns = at.i64()?;
        let boot_bytes = at.take::<40>()?;
        let boot_text = String::from_utf8(boot_bytes.iter().copied().take_while(|&byte| byte != 0).collect()).ok()?;
        let operation = ObjectId::from_bytes(at.take()?);
        let operation_seq = at.u64()?;
        let head = ObjectId::from_bytes(at.take()?);
        let [packs, devices, dirs, entries, names] = [at.u32()?, at.u32()?, at.u32()?, at.u32()?, at.u32()?];
        at.u32()?;
        let mut basis = CacheBasis {
            operation,
            operation_seq,
            head,
            packs: Vec::new(),
            written_ns,
            boot: Some(boot_text).filter(|text| !text.is_empty()),
        };
        for _ in 0..packs {
            basis.packs.push((ObjectId::from_bytes(at.take()?), at.u64()?));
        }
        let mut device_table = Vec::new();
        for _ in 0..devices {
            device_table.push(at.u64()?);
        }
        let dirs = Section { start: at.at, count: dirs };
        let entries = Section { start: dirs.start + dirs.count as usize * DIR, count: entries };
        let names_start = entries.start + entries.count as usize * ENTRY;
        if names_start + names as usize != bytes.len() {
            return None;
        }
        let same_boot = basis.boot.is_some() && basis.boot.as_deref() == boot;
        let doubt_after_ns = if same_boot { i64::MAX } else { written_ns.saturating_sub(REBOOT_DOUBT_NS) };
        Some(Self { basis, devices: device_table, dirs, entries, names: names_start, doubt_after_ns, bytes })
    }

    /// The record of directory `number`; 0 is the root.
    pub(crate) fn dir(&self, number: u32) -> Option<CacheDir> {
        if number >= self.dirs.count {
            return None;
        }
        let mut at = Reader { bytes: &self.bytes, at: self.dirs.start + number as usize * DIR };
        let (first, count) = (at.u32()?, at.u32()?);
        if first.checked_add(count)? > self.entries.count {
            return None;
        }
        let tree = ObjectId::from_bytes(at.take()?);
        let facts = ObjectId::from_bytes(at.take()?);
        let rules = at.u64()?;
        let inherited = Defaults { file: at.u16()?, exec: at.u16()?, dir: at.u16()? };
        let device = *self.devices.get(usize::from(at.u16()?))?;
        let flags = at.u32()?;
        let (has_facts, is_mount_point) = (flags & HAS_FACTS != 0, flags & MOUNT_POINT != 0);
        let encoded = Encoded { tree, facts: has_facts.then_some(facts), inherited };
        Some(CacheDir { first, count, encoded, rules, device, is_mount_point })
    }

    /// Entry `number` of the whole cache, with its name.
    pub(crate) fn entry(&self, number: u32) -> Option<(&[u8], CacheEntry)> {
        if number >= self.entries.count {
            return None;
        }
        let mut at = Reader { bytes: &self.bytes, at: self.entries.start + number as usize * ENTRY };
        let (mtime_ns, ctime_ns) = (at.i64()?, at.i64()?);
        let (size, inode) = (at.u64()?, at.u64()?);
        let id = ObjectId::from_bytes(at.take()?);
        let (name_at, dir) = (at.u32()? as usize, at.u32()?);
        let (name_len, mode) = (usize::from(at.u16()?), at.u16()?);
        let device = *self.devices.get(usize::from(at.u16()?))?;
        let [state, flags] = at.take::<2>()?;
        let name = self.bytes.get(self.names + name_at..self.names + name_at + name_len)?;
        let state = match state {
            0 => EntryState::Captured,
            1 => EntryState::Ignored,
            other => EntryState::Omitted(Reason::from_number(other - 2)?),
        };
        let kind = match flags & 3 {
            0 => FileKind::File,
            1 => FileKind::Dir,
            2 => FileKind::Link,
            _ => FileKind::Special,
        };
        let trusted = flags & 4 != 0 && mtime_ns.max(ctime_ns) < self.doubt_after_ns;
        Some((name, CacheEntry { state, kind, mode, size, mtime_ns, ctime_ns, inode, device, id, trusted, dir }))
    }
}

/// Entries of one directory of a cache as they stand in its file.
struct Block<'a> {
    entries: &'a [u8],
    names: &'a [u8],
    /// Where the names begin among all names.
    names_at: u32,
}

impl StatCache {
    /// The entries of `dir` as they stand in the file. `None` where they do not stand as [`CacheBuilder`] writes them, or
    /// say more than is believed after another boot.
    fn block(&self, dir: &CacheDir) -> Option<Block<'_>> {
        if self.doubt_after_ns != i64::MAX {
            return None;
        }
        let start = self.entries.start + dir.first as usize * ENTRY;
        let entries = self.bytes.get(start..start + dir.count as usize * ENTRY)?;
        let (Some(first), Some(last)) = (entries.first_chunk::<ENTRY>(), entries.last_chunk::<ENTRY>()) else {
            return Some(Block { entries, names: &[], names_at: 0 });
        };
        let name = |entry: &[u8; ENTRY]| {
            let mut at = Reader { bytes: entry, at: NAME_AT };
            let (start, _, len) = (at.u32()?, at.u32()?, at.u16()?);
            Some((start, start.checked_add(u32::from(len))?))
        };
        let ((names_at, _), (_, end)) = (name(first)?, name(last)?);
        let names = self.bytes.get(self.names + names_at as usize..self.names + end as usize)?;
        Some(Block { entries, names, names_at })
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    #[inline]
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let taken = self.bytes.get(self.at..self.at + N)?.try_into().ok()?;
        self.at += N;
        Some(taken)
    }

    #[inline]
    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }

    #[inline]
    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    #[inline]
    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    #[inline]
    fn i64(&mut self) -> Option<i64> {
        self.take().map(i64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> (Vec<u8>, CacheBasis) {
        let entry = CacheEntry {
            state: EntryState::Omitted(Reason::TooLarge),
            kind: FileKind::File,
            mode: 0o644,
            size: 5,
            mtime_ns: 1_000_000_000_000,
            ctime_ns: 1_000_000_000_000,
            inode: 7,
            device: 99,
            id: ObjectId::EMPTY_TREE,
            trusted: true,
            dir: NONE,
        };
        let encoded = Encoded { tree: ObjectId::EMPTY_TREE, facts: None, inherited: Defaults::default() };
        let mut builder = CacheBuilder::default();
        let captured = CacheEntry { state: EntryState::Captured, kind: FileKind::Dir, dir: 1, ..entry };
        builder.dir(encoded, 3, (99, true), [(b"a".as_slice(), entry), (b"d", captured)].into_iter()).unwrap();
        builder.dir(encoded, 4, (98, false), std::iter::empty()).unwrap();
        let basis = CacheBasis {
            operation: ObjectId::EMPTY_TREE,
            operation_seq: 12,
            head: ObjectId::ZERO,
            packs: vec![(ObjectId::EMPTY_TREE, 44)],
            written_ns: 1_000_100_000_000,
            boot: Some("b".repeat(36)),
        };
        (builder.encode(&basis).unwrap().concat(), basis)
    }

    #[test]
    fn caches_round_trip() {
        let (bytes, basis) = sample();
        let cache = StatCache::decode(bytes, basis.boot.as_deref()).unwrap();
        assert_eq!(cache.basis, basis);
        let root = cache.dir(0).unwrap();
        assert_eq!((root.count, root.rules, root.device), (2, 3, 99));
        let (name, entry) = cache.entry(root.first).unwrap();
        assert_eq!((name, entry.size, entry.trusted), (b"a".as_slice(), 5, true));
        assert_eq!(entry.state, EntryState::Omitted(Reason::TooLarge));
        assert_eq!(cache.entry(1).unwrap().1.dir, 1);
        assert!(cache.dir(2).is_none() && cache.entry(2).is_none());
    }

    #[test]
    fn directories_are_copied_as_if_they_were_written_anew() {
        let (bytes, basis) = sample();
        let old = StatCache::decode(bytes, basis.boot.as_deref()).unwrap();
        let (root, below) = (old.dir(0).unwrap(), old.dir(1).unwrap());
        let (mut copied, mut written) = (CacheBuilder::default(), CacheBuilder::default());
        // Another directory stands before it now, so that all numbers are others.
        let entry = old.entry(0).unwrap();
        for builder in [&mut copied, &mut written] {
            builder.dir(below.encoded, 0, (98, true), [(b"before".as_slice(), entry.1)].into_iter()).unwrap();
        }
        let lost = |_| None;
        assert!(copied.copy(root.encoded, &old, &root, lost).is_none());
        copied.copy(root.encoded, &old, &root, |number| (number == 1).then_some(7)).unwrap();
        let (name, dir) = old.entry(1).unwrap();
        let entries = [entry, (name, CacheEntry { dir: 7, ..dir })];
        written.dir(root.encoded, root.rules, (root.device, true), entries.into_iter()).unwrap();
        assert_eq!(copied.encode(&basis), written.encode(&basis));
    }

    #[test]
    fn after_another_boot_young_entries_are_not_trusted() {
        let (bytes, _) = sample();
        let cache = StatCache::decode(bytes, Some("another")).unwrap();
        assert!(!cache.entry(0).unwrap().1.trusted);
    }

    #[test]
    fn damage_is_seen_c36() {
        let (bytes, basis) = sample();
        for cut in 0..bytes.len() {
            assert!(StatCache::decode(bytes[..cut].to_vec(), None).is_none());
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x40;
            let read = StatCache::decode(damaged, None);
            assert!(read.is_none(), "a flipped bit at {at} went unnoticed in {basis:?}");
        }
    }
}
