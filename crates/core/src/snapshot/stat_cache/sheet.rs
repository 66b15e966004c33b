//! One file of the stat cache.

use ckpt_fs::FileKind;

use super::{CacheBasis, CacheDir, CacheEntry, EntryState};
use crate::state::{Defaults, Encoded};
use crate::{ObjectId, Reason};

pub(super) const MAGIC: &[u8; 8] = b"ckptstat";
/// Begins a file of changes.
pub(super) const CHANGES_MAGIC: &[u8; 8] = b"ckptdiff";
pub(super) const VERSION: u32 = 1;
pub(super) const HEADER: usize = 8 + 4 + 4 + 8 + 8 + 40 + 20 + 8 + 20 + 5 * 4 + 4;
/// What follows in the header of a file of changes.
pub(super) const OF: usize = 8 + 20;
pub(super) const PACK: usize = 28;
pub(super) const DIR: usize = 68;
pub(super) const ENTRY: usize = 68;
/// Flags of a directory.
pub(super) const HAS_FACTS: u32 = 1;
pub(super) const MOUNT_POINT: u32 = 2;
/// Where fields of an entry are.
pub(super) const NAME_AT: usize = 52;
pub(super) const DIR_AT: usize = 56;
/// After another boot, what changed within this time before the cache was written is not trusted: a power cut may have
/// brought the old content back under the new stat data.
const REBOOT_DOUBT_NS: i64 = 5 * 60 * 1_000_000_000;

/// The cache file that changes belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Of {
    /// Its checksum.
    pub(super) crc: u32,
    /// When it was written.
    pub(super) written_ns: i64,
    /// Newest operation then.
    pub(super) operation: ObjectId,
}

/// A file that was read.
pub(super) struct Sheet {
    bytes: Vec<u8>,
    pub(super) basis: CacheBasis,
    crc: u32,
    /// The file whose directories these take the place of, for a file of changes.
    pub(super) of: Option<Of>,
    devices: Vec<u64>,
    /// Numbers of the directories and where they stand, sorted; `None` where they are numbered as they stand.
    numbers: Option<Vec<(u32, u32)>>,
    dirs_at: usize,
    dirs: u32,
    entries_at: usize,
    /// Number of entries.
    pub(super) entries: u32,
    names_at: usize,
    doubt_after_ns: i64,
}

/// Entries of one directory as they stand in the file.
pub(super) struct Block<'a> {
    pub(super) entries: &'a [u8],
    pub(super) names: &'a [u8],
    /// Where the names begin among all names.
    pub(super) names_at: u32,
}

impl Sheet {
    /// Takes the bytes of a file; `None` when they are none of the cache, or not whole. `boot` is the boot of now.
    pub(super) fn decode(bytes: Vec<u8>, boot: Option<&str>) -> Option<Self> {
        let mut at = Reader { bytes: &bytes, at: 0 };
        let magic = at.take::<8>()?;
        if magic != *MAGIC && magic != *CHANGES_MAGIC || at.u32()? != VERSION {
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
        let of_crc = at.u32()?;
        let is_changes = magic == *CHANGES_MAGIC;
        let mut of = None;
        if is_changes {
            of = Some(Of { crc: of_crc, written_ns: at.i64()?, operation: ObjectId::from_bytes(at.take()?) });
        }
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
        let numbers = if is_changes { Some(at.numbers(dirs)?) } else { None };
        let dirs_at = at.at;
        let entries_at = dirs_at + dirs as usize * DIR;
        let names_at = entries_at + entries as usize * ENTRY;
        if names_at + names as usize != bytes.len() {
            return None;
        }
        let same_boot = basis.boot.is_some() && basis.boot.as_deref() == boot;
        let doubt_after_ns = if same_boot { i64::MAX } else { written_ns.saturating_sub(REBOOT_DOUBT_NS) };
        let devices = device_table;
        Some(Self {
            basis,
            crc,
            of,
            devices,
            numbers,
            dirs_at,
            dirs,
            entries_at,
            entries,
            names_at,
            doubt_after_ns,
            bytes,
        })
    }

    /// By what changes name it.
    pub(super) fn name(&self) -> Of {
        Of { crc: self.crc, written_ns: self.basis.written_ns, operation: self.basis.operation }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn devices(&self) -> &[u64] {
        &self.devices
    }

    /// Bytes of the records of the directories, of the entries, and of the names.
    pub(super) fn sizes(&self) -> [usize; 3] {
        let names = self.bytes.len().saturating_sub(self.names_at);
        [self.dirs as usize * DIR, self.entries as usize * ENTRY, names]
    }

    /// More than the number of any directory.
    pub(super) fn dir_end(&self) -> u32 {
        match &self.numbers {
            Some(numbers) => numbers.last().map_or(0, |(number, _)| number.saturating_add(1)),
            None => self.dirs,
        }
    }

    /// The record of the directory `number`, if it stands here.
    pub(super) fn dir(&self, number: u32) -> Option<CacheDir> {
        let place = match &self.numbers {
            Some(numbers) => numbers[numbers.binary_search_by_key(&number, |(number, _)| *number).ok()?].1,
            None if number < self.dirs => number,
            None => return None,
        };
        let mut at = Reader { bytes: &self.bytes, at: self.dirs_at + place as usize * DIR };
        let (first, count) = (at.u32()?, at.u32()?);
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

    /// Entry `number` of this file, with its name.
    pub(super) fn entry(&self, number: u32) -> Option<(&[u8], CacheEntry)> {
        if number >= self.entries {
            return None;
        }
        let mut at = Reader { bytes: &self.bytes, at: self.entries_at + number as usize * ENTRY };
        let (mtime_ns, ctime_ns) = (at.i64()?, at.i64()?);
        let (size, inode) = (at.u64()?, at.u64()?);
        let id = ObjectId::from_bytes(at.take()?);
        let (name_at, dir) = (at.u32()? as usize, at.u32()?);
        let (name_len, mode) = (usize::from(at.u16()?), at.u16()?);
        let device = *self.devices.get(usize::from(at.u16()?))?;
        let [state, flags] = at.take::<2>()?;
        let name = self.bytes.get(self.names_at + name_at..self.names_at + name_at + name_len)?;
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

    /// `count` entries from `first` on, as they stand in the file. `None` where they do not stand as a builder writes them,
    /// or say more than is believed after another boot.
    pub(super) fn block(&self, first: u32, count: u32) -> Option<Block<'_>> {
        if self.doubt_after_ns != i64::MAX || first.checked_add(count)? > self.entries {
            return None;
        }
        let start = self.entries_at + first as usize * ENTRY;
        let entries = self.bytes.get(start..start + count as usize * ENTRY)?;
        let (Some(begin), Some(last)) = (entries.first_chunk::<ENTRY>(), entries.last_chunk::<ENTRY>()) else {
            return Some(Block { entries, names: &[], names_at: 0 });
        };
        let name = |entry: &[u8; ENTRY]| {
            let mut at = Reader { bytes: entry, at: NAME_AT };
            let (start, _, len) = (at.u32()?, at.u32()?, at.u16()?);
            Some((start, start.checked_add(u32::from(len))?))
        };
        let ((names_at, _), (_, end)) = (name(begin)?, name(last)?);
        let names = self.bytes.get(self.names_at + names_at as usize..self.names_at + end as usize)?;
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

    /// The numbers of as many directories, sorted, each with its place; `None` where two are the same.
    fn numbers(&mut self, count: u32) -> Option<Vec<(u32, u32)>> {
        let mut numbers = Vec::new();
        for place in 0..count {
            numbers.push((self.u32()?, place));
        }
        numbers.sort_unstable();
        numbers.is_sorted_by(|a, b| a.0 < b.0).then_some(numbers)
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
