//! The stat cache: what each entry looked like when its content was hashed. The form is in `docs/formats.md`.
//!
//! An entry states that the store holds its object. So only a save writes the cache, after the timeline has moved, and
//! the cache names the operation and the packs that its statement rests on. It is disposable: lost, damaged or doubted,
//! it costs reading the files again, never a wrong checkpoint.

use ckpt_fs::FileKind;

use crate::state::{Defaults, Encoded};
use crate::{ObjectId, Reason};

const MAGIC: &[u8; 8] = b"ckptstat";
const VERSION: u32 = 1;
const HEADER: usize = 8 + 4 + 4 + 8 + 8 + 40 + 20 + 8 + 20 + 5 * 4 + 4;
const PACK: usize = 28;
const DIR: usize = 68;
const ENTRY: usize = 68;
/// Flags of a directory.
const HAS_FACTS: u32 = 1;
const MOUNT_POINT: u32 = 2;
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

/// A cache that is being made: directories in the order of their numbers, each with its entries sorted by name.
#[derive(Default)]
pub(crate) struct CacheBuilder {
    devices: Vec<u64>,
    dirs: Vec<u8>,
    dir_count: u32,
    entries: Vec<u8>,
    entry_count: u32,
    names: Vec<u8>,
}

impl CacheBuilder {
    /// Adds the next directory. `None` when the cache would be larger than its numbers can say; there is none then.
    pub(crate) fn dir<'a>(
        &mut self,
        encoded: Encoded,
        rules: u64,
        (device, is_mount_point): (u64, bool),
        entries: impl Iterator<Item = (&'a [u8], CacheEntry)>,
    ) -> Option<()> {
        let first = self.entry_count;
        for (name, entry) in entries {
            self.entry(name, &entry)?;
        }
        let device = self.device(device)?;
        let out = &mut self.dirs;
        out.extend_from_slice(&first.to_le_bytes());
        out.extend_from_slice(&(self.entry_count - first).to_le_bytes());
        out.extend_from_slice(encoded.tree.as_bytes());
        out.extend_from_slice(encoded.facts.unwrap_or(ObjectId::ZERO).as_bytes());
        out.extend_from_slice(&rules.to_le_bytes());
        for mode in [encoded.inherited.file, encoded.inherited.exec, encoded.inherited.dir, device] {
            out.extend_from_slice(&mode.to_le_bytes());
        }
        let has_facts = if encoded.facts.is_some() { HAS_FACTS } else { 0 };
        let mount_point = if is_mount_point { MOUNT_POINT } else { 0 };
        out.extend_from_slice(&(has_facts | mount_point).to_le_bytes());
        self.dir_count = self.dir_count.checked_add(1)?;
        Some(())
    }

    fn entry(&mut self, name: &[u8], entry: &CacheEntry) -> Option<()> {
        let name_at = u32::try_from(self.names.len()).ok()?;
        let name_len = u16::try_from(name.len()).ok()?;
        self.names.extend_from_slice(name);
        let device = self.device(entry.device)?;
        let out = &mut self.entries;
        out.extend_from_slice(&entry.mtime_ns.to_le_bytes());
        out.extend_from_slice(&entry.ctime_ns.to_le_bytes());
        out.extend_from_slice(&entry.size.to_le_bytes());
        out.extend_from_slice(&entry.inode.to_le_bytes());
        out.extend_from_slice(entry.id.as_bytes());
        out.extend_from_slice(&name_at.to_le_bytes());
        out.extend_from_slice(&entry.dir.to_le_bytes());
        out.extend_from_slice(&name_len.to_le_bytes());
        out.extend_from_slice(&entry.mode.to_le_bytes());
        out.extend_from_slice(&device.to_le_bytes());
        let state = match entry.state {
            EntryState::Captured => 0,
            EntryState::Ignored => 1,
            EntryState::Omitted(reason) => reason.number() + 2,
        };
        let kind: u8 = match entry.kind {
            FileKind::File => 0,
            FileKind::Dir => 1,
            FileKind::Link => 2,
            FileKind::Special => 3,
        };
        out.extend_from_slice(&[state, kind | if entry.trusted { 4 } else { 0 }]);
        self.entry_count = self.entry_count.checked_add(1)?;
        Some(())
    }

    fn device(&mut self, device: u64) -> Option<u16> {
        let place = self.devices.iter().position(|known| *known == device).unwrap_or_else(|| {
            self.devices.push(device);
            self.devices.len() - 1
        });
        u16::try_from(place).ok()
    }

    /// The bytes of the file.
    pub(crate) fn encode(&self, basis: &CacheBasis) -> Option<Vec<u8>> {
        let packs = u32::try_from(basis.packs.len()).ok()?;
        let devices = u32::try_from(self.devices.len()).ok()?;
        let names = u32::try_from(self.names.len()).ok()?;
        let body = basis.packs.len() * PACK + self.devices.len() * 8;
        let total = HEADER + body + self.dirs.len() + self.entries.len() + self.names.len();
        let mut out = Vec::with_capacity(total);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&(total as u64).to_le_bytes());
        out.extend_from_slice(&basis.written_ns.to_le_bytes());
        let mut boot = [0; 40];
        let text = basis.boot.as_deref().unwrap_or_default().as_bytes();
        if text.len() <= boot.len() {
            boot[..text.len()].copy_from_slice(text);
        }
        out.extend_from_slice(&boot);
        out.extend_from_slice(basis.operation.as_bytes());
        out.extend_from_slice(&basis.operation_seq.to_le_bytes());
        out.extend_from_slice(basis.head.as_bytes());
        for count in [packs, devices, self.dir_count, self.entry_count, names, 0] {
            out.extend_from_slice(&count.to_le_bytes());
        }
        for (name, bytes) in &basis.packs {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(&bytes.to_le_bytes());
        }
        for device in &self.devices {
            out.extend_from_slice(&device.to_le_bytes());
        }
        out.extend_from_slice(&self.dirs);
        out.extend_from_slice(&self.entries);
        out.extend_from_slice(&self.names);
        let crc = crc32fast::hash(&out[16..]);
        out[12..16].copy_from_slice(&crc.to_le_bytes());
        Some(out)
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
        (builder.encode(&basis).unwrap(), basis)
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
