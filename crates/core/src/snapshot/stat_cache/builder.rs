//! Making the next stat cache, or the next changes of it: most is copied from what was before, directory by directory.

use ckpt_fs::FileKind;

use super::sheet::{
    CHANGES_MAGIC, DIR, DIR_AT, ENTRY, HAS_FACTS, HEADER, MAGIC, MOUNT_POINT, NAME_AT, OF, Of, PACK, VERSION,
};
use super::{CacheBasis, CacheDir, CacheEntry, EntryState, NONE, StatCache};
use crate::ObjectId;
use crate::state::Encoded;

/// A file of the cache that is being made: directories, each with its entries sorted by name. In a whole cache they come in
/// the order of their numbers.
#[derive(Default)]
pub(crate) struct CacheBuilder {
    /// The file whose directories these take the place of, for a file of changes.
    of: Option<Of>,
    /// Number of the first entry.
    first_entry: u32,
    /// Number of the next new directory.
    next_dir: u32,
    devices: Vec<u64>,
    /// Numbers of the directories, for a file of changes.
    numbers: Vec<u8>,
    dirs: Vec<u8>,
    entries: Vec<u8>,
    entry_count: u32,
    names: Vec<u8>,
}

impl CacheBuilder {
    /// Adds the directory `number`. `None` when the cache would be larger than its numbers can say; there is none then.
    pub(crate) fn dir<'a>(
        &mut self,
        number: u32,
        encoded: Encoded,
        rules: u64,
        (device, is_mount_point): (u64, bool),
        entries: impl Iterator<Item = (&'a [u8], CacheEntry)>,
    ) -> Option<()> {
        let first = self.entry_count;
        for (name, entry) in entries {
            self.entry(name, &entry)?;
        }
        self.record(number, self.own(first)?, encoded, rules, (device, is_mount_point))
    }

    /// The entries from `first` on: the number of the first one in the whole cache, and how many.
    fn own(&self, first: u32) -> Option<(u32, u32)> {
        Some((self.first_entry.checked_add(first)?, self.entry_count - first))
    }

    /// Adds the record of the directory `number`, whose entries these are.
    fn record(
        &mut self,
        number: u32,
        (first, count): (u32, u32),
        encoded: Encoded,
        rules: u64,
        (device, is_mount_point): (u64, bool),
    ) -> Option<()> {
        let device = self.device(device)?;
        if self.of.is_some() {
            self.numbers.extend_from_slice(&number.to_le_bytes());
        }
        let out = &mut self.dirs;
        out.extend_from_slice(&first.to_le_bytes());
        out.extend_from_slice(&count.to_le_bytes());
        out.extend_from_slice(encoded.tree.as_bytes());
        out.extend_from_slice(encoded.facts.unwrap_or(ObjectId::ZERO).as_bytes());
        out.extend_from_slice(&rules.to_le_bytes());
        for mode in [encoded.inherited.file, encoded.inherited.exec, encoded.inherited.dir, device] {
            out.extend_from_slice(&mode.to_le_bytes());
        }
        let has_facts = if encoded.facts.is_some() { HAS_FACTS } else { 0 };
        let mount_point = if is_mount_point { MOUNT_POINT } else { 0 };
        out.extend_from_slice(&(has_facts | mount_point).to_le_bytes());
        Some(())
    }

    /// Adds the directory `number`, of which only what it was encoded to differs from `dir`. `None` where its entries do not
    /// stand in the file that is not written again.
    pub(crate) fn again(&mut self, number: u32, encoded: Encoded, dir: &CacheDir) -> Option<()> {
        (dir.first.checked_add(dir.count)? <= self.first_entry).then_some(())?;
        self.record(number, (dir.first, dir.count), encoded, dir.rules, (dir.device, dir.is_mount_point))
    }

    /// Adds the directory `number` with the entries that it had in `old`. `relocate` gets each subdirectory's number there
    /// with the number of its entry, and gives what stands in its place now. `None` where it cannot be copied; nothing was
    /// added then.
    pub(crate) fn copy(
        &mut self,
        number: u32,
        encoded: Encoded,
        old: &StatCache,
        dir: &CacheDir,
        relocate: impl Fn(u32) -> Option<u32>,
    ) -> Option<()> {
        let (sheet, start) = old.sheet_of(dir.first)?;
        let block = sheet.block(start, dir.count)?;
        if sheet.devices().starts_with(&self.devices) {
            self.devices.clear();
            self.devices.extend_from_slice(sheet.devices());
        }
        if !self.devices.starts_with(sheet.devices()) {
            return None;
        }
        let names_at = u32::try_from(self.names.len()).ok()?;
        names_at.checked_add(u32::try_from(block.names.len()).ok()?)?;
        let first = self.entry_count;
        let count = first.checked_add(dir.count)?;
        let begin = self.entries.len();
        self.entries.extend_from_slice(block.entries);
        let (entries, _) = self.entries[begin..].as_chunks_mut::<ENTRY>();
        for (number, entry) in (dir.first..).zip(entries) {
            let at = field(entry, NAME_AT).wrapping_sub(block.names_at).wrapping_add(names_at);
            entry[NAME_AT..][..4].copy_from_slice(&at.to_le_bytes());
            if field(entry, DIR_AT) != NONE {
                let Some(moved) = relocate(number) else {
                    self.entries.truncate(begin);
                    return None;
                };
                entry[DIR_AT..][..4].copy_from_slice(&moved.to_le_bytes());
            }
        }
        self.names.extend_from_slice(block.names);
        self.entry_count = count;
        self.record(number, self.own(first)?, encoded, dir.rules, (dir.device, dir.is_mount_point))
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

    /// One that makes a whole cache, about as large as `old`.
    pub(crate) fn like(old: Option<&StatCache>) -> Self {
        let mut builder = Self::default();
        if let Some(old) = old {
            // A little more, for what is new.
            let [dirs, entries, names] = old.base.sizes().map(|bytes| bytes + bytes / 64);
            builder.dirs.reserve_exact(dirs);
            builder.entries.reserve_exact(entries);
            builder.names.reserve_exact(names);
        }
        builder
    }

    /// One that makes the changes of `old` that take the place of those that it has.
    pub(crate) fn changes_of(old: &StatCache) -> Self {
        let (of, next_dir) = (Some(old.base.name()), old.dir_end());
        Self { of, first_entry: old.base.entries, next_dir, ..Self::default() }
    }

    /// The number for a directory that has none yet.
    pub(crate) fn next_number(&mut self) -> Option<u32> {
        let number = self.next_dir;
        self.next_dir = number.checked_add(1).filter(|next| *next != NONE)?;
        Some(number)
    }

    /// About how many bytes the file has by now.
    pub(crate) fn bytes(&self) -> usize {
        HEADER + self.numbers.len() + self.dirs.len() + self.entries.len() + self.names.len()
    }

    /// The bytes of the file, in parts.
    pub(crate) fn encode(self, basis: &CacheBasis) -> Option<[Vec<u8>; 4]> {
        let packs = u32::try_from(basis.packs.len()).ok()?;
        let devices = u32::try_from(self.devices.len()).ok()?;
        let names = u32::try_from(self.names.len()).ok()?;
        let of = self.of.map_or(0, |_| OF);
        let body = of + basis.packs.len() * PACK + self.devices.len() * 8;
        let total = body + self.bytes();
        let dir_count = u32::try_from(self.dirs.len() / DIR).ok()?;
        let mut out = Vec::with_capacity(HEADER + body + self.numbers.len());
        out.extend_from_slice(if self.of.is_some() { CHANGES_MAGIC } else { MAGIC });
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
        for count in [packs, devices, dir_count, self.entry_count, names, self.of.map_or(0, |of| of.crc)] {
            out.extend_from_slice(&count.to_le_bytes());
        }
        if let Some(of) = self.of {
            out.extend_from_slice(&of.written_ns.to_le_bytes());
            out.extend_from_slice(of.operation.as_bytes());
        }
        for (name, bytes) in &basis.packs {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(&bytes.to_le_bytes());
        }
        for device in &self.devices {
            out.extend_from_slice(&device.to_le_bytes());
        }
        out.extend_from_slice(&self.numbers);
        let mut crc = crc32fast::Hasher::new();
        for part in [&out[16..], &self.dirs, &self.entries, &self.names] {
            crc.update(part);
        }
        out[12..16].copy_from_slice(&crc.finalize().to_le_bytes());
        Some([out, self.dirs, self.entries, self.names])
    }
}

/// The number at a place in an entry.
fn field(entry: &[u8; ENTRY], at: usize) -> u32 {
    u32::from_le_bytes([entry[at], entry[at + 1], entry[at + 2], entry[at + 3]])
}
