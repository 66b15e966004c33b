//! The entries of a pack, one after the other, and on from behind what is damaged.

use std::collections::HashMap;
use std::os::unix::fs::FileExt;

use super::{Base, Damage, Form, PIECE, Scan, Scanned};
use crate::entry::{HEADER_MAX, parse_header};
use crate::error::Fault;
use crate::inflate::EntryAt;
use crate::pack::HEADER;
use crate::{ObjectHasher, ObjectId};

/// Bytes that stand before the packed content of an entry at most, with two of the content.
const LONGEST_HEADER: usize = HEADER_MAX + 20 + 2;

impl Scan {
    /// Reads all entries, each thread a run of them.
    pub(super) fn read_entries(
        &self,
        starts: &[u64],
        ids: &HashMap<u64, ObjectId>,
        threads: usize,
    ) -> Result<(Vec<Scanned>, Vec<Damage>), Fault> {
        let run = starts.len().div_ceil(threads.max(1)).max(64);
        let mut runs: Vec<(u64, u64, &[u64])> = Vec::new();
        for (number, part) in starts.chunks(run).enumerate() {
            let end = starts.get((number + 1) * run).copied().unwrap_or(self.end);
            runs.push((if number == 0 { HEADER } else { part[0] }, end, part));
        }
        if runs.is_empty() {
            runs.push((HEADER, self.end, &[]));
        }
        let (mut entries, mut damage) = (Vec::new(), Vec::new());
        for part in ckpt_fs::in_parallel(runs, |(start, end, starts)| self.read_run(start, end, starts, ids)) {
            let (more, faults) = part?;
            entries.extend(more);
            damage.extend(faults);
        }
        Ok((entries, damage))
    }

    /// Reads the entries from `start` to `end`, of which those at `starts` are known.
    fn read_run(
        &self,
        start: u64,
        end: u64,
        starts: &[u64],
        ids: &HashMap<u64, ObjectId>,
    ) -> Result<(Vec<Scanned>, Vec<Damage>), Fault> {
        let (mut entries, mut damage) = (Vec::new(), Vec::new());
        let mut offset = start;
        let mut is_lost = false;
        while offset < end {
            match self.read_entry(offset) {
                Ok(entry) => {
                    offset += entry.len;
                    is_lost = false;
                    entries.push(entry);
                }
                Err(Fault::Io(err)) => return Err(Fault::Io(err)),
                Err(Fault::Damaged(reason)) => {
                    if !is_lost {
                        damage.push(Damage { id: ids.get(&offset).copied(), reason });
                    }
                    is_lost = true;
                    let next = starts.partition_point(|&known| known <= offset);
                    offset = match starts.get(next) {
                        Some(&next) => next,
                        // Behind the last known entry, and without an idx: whatever looks like an entry.
                        None if ids.contains_key(&offset) => end,
                        None => self.next_like_an_entry(offset + 1, end)?,
                    };
                }
            }
        }
        if offset > end && end < self.end {
            damage.push(Damage { id: None, reason: "an entry runs into the next one".to_owned() });
        }
        Ok((entries, damage))
    }

    /// The next offset at which a header, and after it the header of a zlib stream, could stand.
    fn next_like_an_entry(&self, start: u64, end: u64) -> Result<u64, Fault> {
        let mut bytes = [0; 4096];
        let mut offset = start;
        while offset < end {
            let len = usize::try_from(end - offset).unwrap_or(bytes.len()).min(bytes.len());
            self.file.read_exact_at(&mut bytes[..len], offset)?;
            // The last bytes of a window are the first of the next one: a header does not lie across.
            let seen = if offset + len as u64 == end { len } else { len - LONGEST_HEADER };
            if let Some(at) = (0..seen).find(|&at| is_like_an_entry(&bytes[at..len])) {
                return Ok(offset + at as u64);
            }
            offset += seen as u64;
        }
        Ok(end)
    }

    fn read_entry(&self, offset: u64) -> Result<Scanned, Fault> {
        let entry = EntryAt { file: &self.file, start: offset, end: self.end };
        let header = entry.header()?;
        let (form, packed) = match header.kind {
            Some(kind) => {
                let mut hasher = ObjectHasher::new(kind, header.size);
                let packed = entry.inflate(header.len as u64, header.size, &mut |piece| {
                    hasher.update(piece);
                    Ok::<(), Fault>(())
                })?;
                let id = hasher.finish().map_err(|_| Fault::damaged("it carries a SHA-1 collision attack"))?;
                (Form::Whole(id), header.len as u64 + packed)
            }
            None => {
                let (base, skip) = self.read_base(offset, header.len)?;
                let packed = entry.inflate(skip, header.size, &mut |_| Ok::<(), Fault>(()))?;
                (Form::Delta { base, skip, size: header.size, id: None }, skip + packed)
            }
        };
        let mut crc = crc32fast::Hasher::new();
        let mut piece = vec![0; usize::try_from(packed).unwrap_or(PIECE).min(PIECE)];
        let mut at = 0;
        while at < packed {
            let len = usize::try_from(packed - at).unwrap_or(PIECE).min(PIECE);
            self.file.read_exact_at(&mut piece[..len], offset + at)?;
            crc.update(&piece[..len]);
            at += len as u64;
        }
        Ok(Scanned { offset, len: packed, crc32: crc.finalize(), form })
    }

    /// What a delta is for, and how far into the entry it begins.
    fn read_base(&self, offset: u64, header_len: usize) -> Result<(Base, u64), Fault> {
        let mut bytes = [0; LONGEST_HEADER];
        let len = usize::try_from(self.end - offset).unwrap_or(bytes.len()).min(bytes.len());
        self.file.read_exact_at(&mut bytes[..len], offset)?;
        let (base, skip) = parse_base(&bytes[..len], header_len)?;
        let base = match base {
            Base::Offset(back) => {
                let base = offset.checked_sub(back).filter(|_| back > 0);
                Base::Offset(base.ok_or_else(|| Fault::damaged("a delta is for a base before the pack"))?)
            }
            base => base,
        };
        Ok((base, skip as u64))
    }
}

/// The base of a delta (an offset counts backwards), and the length of all that stands before the packed delta.
fn parse_base(bytes: &[u8], header_len: usize) -> Result<(Base, usize), Fault> {
    let ends_early = || Fault::damaged("the entry ends in its header");
    let rest = bytes.get(header_len..).ok_or_else(ends_early)?;
    if bytes[0] >> 4 & 7 == 7 {
        let id = rest.get(..20).and_then(ObjectId::from_slice).ok_or_else(ends_early)?;
        return Ok((Base::Id(id), header_len + 20));
    }
    let (mut back, mut used) = (0_u64, 0);
    loop {
        let byte = *rest.get(used).ok_or_else(ends_early)?;
        used += 1;
        back = back << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Ok((Base::Offset(back), header_len + used));
        }
        if used > 8 {
            return Err(Fault::damaged("a delta is for a base before the pack"));
        }
        back += 1;
    }
}

/// Whether a header, and after it the header of a zlib stream, could stand here.
fn is_like_an_entry(bytes: &[u8]) -> bool {
    let Ok(header) = parse_header(bytes) else { return false };
    let skip = match header.kind {
        Some(_) => Ok(header.len),
        None => parse_base(bytes, header.len).map(|(_, skip)| skip),
    };
    match skip.ok().and_then(|skip| bytes.get(skip..skip + 2)) {
        Some(&[first, second]) => first & 0x0f == 8 && (u32::from(first) << 8 | u32::from(second)) % 31 == 0,
        _ => false,
    }
}
