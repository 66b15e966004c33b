//! The idx of a pack, version 2: writing it, and finding in it without reading it whole.
//!
//! Layout: `\377tOc`, version, 256 counts (*fanout*: how many ids begin with a byte up to this one), ids sorted, CRC-32
//! of each entry, offset of each entry in 31 bits (or, with the top bit set, a number in the table that follows),
//! offsets in 64 bits, checksum of the pack, checksum of the idx.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;

use crate::ObjectId;
use crate::error::Fault;
use crate::hash::Checksum;

const MAGIC: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];

/// Magic and fanout.
const TABLES: u64 = 8 + 256 * 4;

/// Bytes an object takes in the three tables of fixed width.
const PER_OBJECT: u64 = 20 + 4 + 4;

/// The two checksums at the end.
const TRAILER: u64 = 40;

/// A range of ids up to this long is read at once; a longer one is halved by single reads first.
const READ_AT_ONCE: u32 = 2048;

/// How far around its likely place an id is looked for at least.
const NEAR: u32 = 16;

/// An idx of at most so many bytes is read whole at once: some 250 objects. What is asked often is read whole anyway.
const SMALL: u64 = 8 << 10;

/// Set in an offset that stands in the 64-bit table.
const LARGE: u32 = 0x8000_0000;

/// What an idx knows of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IdxEntry {
    pub(crate) id: ObjectId,
    pub(crate) crc32: u32,
    pub(crate) offset: u64,
}

/// Writes the idx of a pack with the checksum `pack`. `entries` are sorted by id and differ.
pub(crate) fn write(entries: &[IdxEntry], pack: &ObjectId, out: &mut dyn Write) -> io::Result<()> {
    let mut out = Hashed { out, buffer: Vec::with_capacity(64 * 1024), checksum: Checksum::default() };
    out.push(&MAGIC)?;
    let mut counts = [0_u32; 256];
    for entry in entries {
        counts[usize::from(entry.id.bucket())] += 1;
    }
    let mut sum = 0_u32;
    for count in counts {
        sum += count;
        out.push(&sum.to_be_bytes())?;
    }
    for entry in entries {
        out.push(entry.id.as_bytes())?;
    }
    for entry in entries {
        out.push(&entry.crc32.to_be_bytes())?;
    }
    let mut large = Vec::new();
    for entry in entries {
        let short = match u32::try_from(entry.offset) {
            Ok(offset) if offset < LARGE => offset,
            _ => {
                large.push(entry.offset);
                // Fewer than 2^31 entries lie beyond 2 GiB: each takes at least 9 bytes of 2^64, and of any disk.
                LARGE | u32::try_from(large.len() - 1).map_err(io::Error::other)?
            }
        };
        out.push(&short.to_be_bytes())?;
    }
    for offset in large {
        out.push(&offset.to_be_bytes())?;
    }
    out.push(pack.as_bytes())?;
    out.end()
}

/// Writes in large pieces, and hashes what it writes.
struct Hashed<'a> {
    out: &'a mut dyn Write,
    buffer: Vec<u8>,
    checksum: Checksum,
}

impl Hashed<'_> {
    fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.buffer.len() + bytes.len() > self.buffer.capacity() {
            self.flush()?;
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.checksum.update(&self.buffer);
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    fn end(mut self) -> io::Result<()> {
        self.checksum.update(&self.buffer);
        let checksum = self.checksum.finish();
        self.buffer.extend_from_slice(checksum.as_bytes());
        self.out.write_all(&self.buffer)
    }
}

/// The part of an idx that is kept in memory. Its file is passed in by whoever has it open.
#[derive(Debug)]
pub(crate) struct Idx {
    fanout: Box<[u32; 256]>,
    /// Number of entries in the 64-bit table.
    large: u64,
    size: u64,
    /// The whole file, if it is small.
    small: Option<Vec<u8>>,
    /// Checksum of the pack, as the idx has it.
    pub(crate) pack: ObjectId,
}

/// What the tables are read from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'a> {
    Memory(&'a [u8]),
    File(&'a File),
}

impl Source<'_> {
    fn read_exact_at(self, out: &mut [u8], at: u64) -> io::Result<()> {
        match self {
            Self::File(file) => file.read_exact_at(out, at),
            Self::Memory(bytes) => {
                let start = usize::try_from(at).unwrap_or(usize::MAX);
                let found = bytes.get(start..).and_then(|bytes| bytes.get(..out.len()));
                out.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
        }
    }
}

impl Idx {
    /// Reads magic, fanout and trailer, and checks that the counts fit the size of the file.
    pub(crate) fn read(file: &File, size: u64) -> Result<Self, Fault> {
        if size < TABLES + TRAILER {
            return Err(Fault::damaged("the idx is too short"));
        }
        // Where it is small, one read is all that is ever needed.
        let read_at_once = if size <= SMALL { size } else { TABLES };
        let mut begin = vec![0; usize::try_from(read_at_once).unwrap_or(0)];
        file.read_exact_at(&mut begin, 0)?;
        let head = &begin[..8 + 256 * 4];
        if head[..8] != MAGIC {
            return Err(Fault::damaged("the idx is not one of version 2"));
        }
        let mut fanout = Box::new([0; 256]);
        let mut before = 0;
        for (count, bytes) in fanout.iter_mut().zip(head[8..].chunks_exact(4)) {
            *count = be32(bytes);
            if *count < before {
                return Err(Fault::damaged("the counts of the idx go down"));
            }
            before = *count;
        }
        let fixed = TABLES + u64::from(before) * PER_OBJECT + TRAILER;
        let large = size.checked_sub(fixed).filter(|rest| rest % 8 == 0).map(|rest| rest / 8);
        let Some(large) = large.filter(|&large| large <= u64::from(before)) else {
            return Err(Fault::damaged("the size of the idx does not fit its count of objects"));
        };
        let small = (size <= SMALL).then_some(begin);
        let source = small.as_deref().map_or(Source::File(file), Source::Memory);
        let mut pack = [0; 20];
        source.read_exact_at(&mut pack, size - TRAILER)?;
        Ok(Self { fanout, large, size, small, pack: ObjectId::from_bytes(pack) })
    }

    /// The whole file, where it is small: it need not be opened then.
    pub(crate) fn in_memory(&self) -> Option<Source<'_>> {
        self.small.as_deref().map(Source::Memory)
    }

    /// Number of objects.
    pub(crate) fn count(&self) -> u32 {
        self.fanout[255]
    }

    /// Range of positions among which `id` stands, if it is there.
    pub(crate) fn bucket(&self, id: &ObjectId) -> Range<u32> {
        let bucket = usize::from(id.bucket());
        let start = if bucket == 0 { 0 } else { self.fanout[bucket - 1] };
        start..self.fanout[bucket]
    }

    /// Position of `id` among the sorted ids.
    pub(crate) fn position(&self, source: Source<'_>, id: &ObjectId) -> Result<Option<u32>, Fault> {
        let Range { mut start, mut end } = self.bucket(id);
        if start == end {
            return Ok(None);
        }
        if let Source::Memory(bytes) = source {
            let range = [start, end].map(|position| usize::try_from(id_at(position)).unwrap_or(usize::MAX));
            let ids = bytes.get(range[0]..range[1]).ok_or(io::Error::from(io::ErrorKind::UnexpectedEof))?;
            return Ok(find(ids.as_chunks().0, id, start));
        }
        // Ids are spread evenly, so that the next bytes tell about where one stands: in all but a few of ten thousand cases
        // within four times the deviation.
        let key = u64::from(be32(&id.as_bytes()[1..5]));
        let count = end - start;
        let guess = start + u32::try_from((u64::from(count) * key) >> 32).unwrap_or(0);
        let reach = NEAR + 2 * count.isqrt();
        let near = guess.saturating_sub(reach).max(start)..guess.saturating_add(reach).min(end);
        let ids = read_ids(source, near.clone())?;
        match (ids.first(), ids.last()) {
            (Some(first), _) if near.start > start && id.as_bytes() < first => end = near.start,
            (_, Some(last)) if near.end < end && id.as_bytes() > last => start = near.end,
            _ => return Ok(find(&ids, id, near.start)),
        }
        while end - start > READ_AT_ONCE {
            let middle = start + (end - start) / 2;
            let mut found = [0; 20];
            source.read_exact_at(&mut found, id_at(middle))?;
            if found.as_slice() <= id.as_bytes().as_slice() {
                start = middle;
            } else {
                end = middle;
            }
        }
        Ok(find(&read_ids(source, start..end)?, id, start))
    }

    /// Offset in the pack of the entry at `position`.
    pub(crate) fn offset(&self, source: Source<'_>, position: u32) -> Result<u64, Fault> {
        let mut short = [0; 4];
        source.read_exact_at(&mut short, self.offsets() + u64::from(position) * 4)?;
        let short = u32::from_be_bytes(short);
        if short & LARGE == 0 {
            return Ok(u64::from(short));
        }
        let number = u64::from(short & !LARGE);
        if number >= self.large {
            return Err(Fault::damaged("an offset lies beyond the table of large offsets"));
        }
        let mut offset = [0; 8];
        source.read_exact_at(&mut offset, self.offsets() + u64::from(self.count()) * 4 + number * 8)?;
        Ok(u64::from_be_bytes(offset))
    }

    /// All ids, in order.
    pub(crate) fn ids(&self, source: Source<'_>) -> Result<Vec<ObjectId>, Fault> {
        Ok(read_ids(source, 0..self.count())?.into_iter().map(ObjectId::from_bytes).collect())
    }

    /// All entries, in order of their ids, after the checksum of the idx was verified. Reads the file whole; its size
    /// was checked against the count, so memory is bounded by what is on the disk.
    pub(crate) fn entries(&self, file: &File) -> Result<Vec<IdxEntry>, Fault> {
        let size = usize::try_from(self.size).map_err(|_| Fault::damaged("the idx does not fit in memory"))?;
        let mut bytes = vec![0; size];
        file.read_exact_at(&mut bytes, 0)?;
        let (body, trailer) = bytes.split_at(size - 20);
        let mut checksum = Checksum::default();
        checksum.update(body);
        if checksum.finish().as_bytes() != trailer {
            return Err(Fault::damaged("the checksum of the idx is wrong"));
        }
        let count = self.count() as usize;
        let (ids, rest) = body[8 + 256 * 4..].split_at(count * 20);
        let (crcs, rest) = rest.split_at(count * 4);
        let (shorts, rest) = rest.split_at(count * 4);
        let large = &rest[..rest.len() - 20];
        let mut entries = Vec::with_capacity(count);
        for ((id, crc32), short) in ids.as_chunks().0.iter().zip(crcs.chunks_exact(4)).zip(shorts.chunks_exact(4)) {
            let short = be32(short);
            let offset = if short & LARGE == 0 {
                Some(u64::from(short))
            } else {
                large.as_chunks().0.get((short & !LARGE) as usize).map(|bytes| u64::from_be_bytes(*bytes))
            };
            let offset = offset.ok_or_else(|| Fault::damaged("an offset lies beyond the table of large offsets"))?;
            entries.push(IdxEntry { id: ObjectId::from_bytes(*id), crc32: be32(crc32), offset });
        }
        Ok(entries)
    }

    /// Where the table of offsets begins.
    fn offsets(&self) -> u64 {
        TABLES + u64::from(self.count()) * 24
    }
}

/// The ids at these positions.
fn read_ids(source: Source<'_>, positions: Range<u32>) -> io::Result<Vec<[u8; 20]>> {
    let mut ids = vec![[0; 20]; positions.len()];
    source.read_exact_at(ids.as_flattened_mut(), id_at(positions.start))?;
    Ok(ids)
}

/// Position of `id` in a part of the table that begins at position `start`.
fn find(ids: &[[u8; 20]], id: &ObjectId, start: u32) -> Option<u32> {
    let at = ids.binary_search(id.as_bytes()).ok()?;
    Some(start + u32::try_from(at).ok()?)
}

/// Where the id at `position` stands.
fn id_at(position: u32) -> u64 {
    TABLES + u64::from(position) * 20
}

/// A big-endian number of exactly 4 bytes.
fn be32(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, &byte| number << 8 | u32::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u32) -> ObjectId {
        crate::hash_object(crate::Kind::Blob, &number.to_be_bytes()).unwrap()
    }

    fn file_of(bytes: &[u8]) -> (File, u64) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        (file, bytes.len() as u64)
    }

    fn entries(count: u32) -> Vec<IdxEntry> {
        let mut entries: Vec<_> = (0..count)
            .map(|number| {
                let offset = match number % 3 {
                    0 => u64::from(number) + 12,
                    1 => 0x8000_0000 + u64::from(number),
                    _ => 0x7f_0000_0000 + u64::from(number),
                };
                IdxEntry { id: id(number), crc32: number * 7, offset }
            })
            .collect();
        entries.sort_unstable_by_key(|entry| entry.id);
        entries
    }

    fn written(entries: &[IdxEntry]) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(entries, &ObjectId::EMPTY_TREE, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn offsets_of_31_and_64_bits_come_back() {
        for count in [0, 1, 2, 200, 700, 5000] {
            let entries = entries(count);
            let (file, size) = file_of(&written(&entries));
            let idx = Idx::read(&file, size).unwrap();
            assert_eq!((idx.count(), idx.pack), (count, ObjectId::EMPTY_TREE));
            assert_eq!(idx.entries(&file).unwrap(), entries);
            assert_eq!(idx.in_memory().is_some(), count <= 200);
            for source in [Source::File(&file)].into_iter().chain(idx.in_memory()) {
                for entry in &entries {
                    let position = idx.position(source, &entry.id).unwrap().unwrap();
                    assert_eq!(idx.offset(source, position).unwrap(), entry.offset);
                }
                assert_eq!(idx.position(source, &id(u32::MAX)).unwrap(), None);
                assert_eq!(idx.ids(source).unwrap(), entries.iter().map(|entry| entry.id).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_bucket_too_large_for_one_read_is_halved() {
        let mut entries: Vec<_> = (0..10_000_u32)
            .map(|number| {
                let mut bytes = [7; 20];
                bytes[1..5].copy_from_slice(&(number * 2).to_be_bytes());
                IdxEntry { id: ObjectId::from_bytes(bytes), crc32: 0, offset: 12 + u64::from(number) }
            })
            .collect();
        entries.sort_unstable_by_key(|entry| entry.id);
        let (file, size) = file_of(&written(&entries));
        let idx = Idx::read(&file, size).unwrap();
        for (at, entry) in entries.iter().enumerate() {
            assert_eq!(idx.position(Source::File(&file), &entry.id).unwrap(), Some(u32::try_from(at).unwrap()));
            let mut absent = *entry.id.as_bytes();
            absent[4] |= 1;
            assert_eq!(idx.position(Source::File(&file), &ObjectId::from_bytes(absent)).unwrap(), None);
        }
    }

    #[test]
    fn hostile_files_are_errors() {
        let good = written(&entries(50));
        let refused = |bytes: &[u8]| {
            let (file, size) = file_of(bytes);
            Idx::read(&file, size).is_err()
        };
        assert!(!refused(&good));
        assert!(refused(b""));
        assert!(refused(&good[..good.len() - 1]));
        assert!(refused(&good[..TABLES as usize]));
        let mut wild = good.clone();
        wild[8 + 255 * 4..8 + 256 * 4].fill(0xff);
        assert!(refused(&wild));
        let mut down = good.clone();
        down[8] = 1;
        assert!(refused(&down));
        let mut version = good.clone();
        version[7] = 3;
        assert!(refused(&version));
        // A large offset that points beyond its table.
        let mut beyond = good.clone();
        let offsets = TABLES as usize + 50 * 24;
        beyond[offsets..offsets + 4].fill(0xff);
        let (file, size) = file_of(&beyond);
        let idx = Idx::read(&file, size).unwrap();
        assert!(idx.offset(Source::File(&file), 0).is_err());
        assert!(idx.entries(&file).is_err());
    }
}
