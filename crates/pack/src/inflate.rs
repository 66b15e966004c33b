//! Reading an entry back.

use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;

use flate2::{Decompress, FlushDecompress, Status};

use crate::Kind;
use crate::entry::{EntryHeader, HEADER_MAX, parse_header};
use crate::error::Fault;

/// Size of one read from the pack, and of one piece of content.
const PIECE: usize = 64 * 1024;

/// Size of the first read of an object that is wanted as a whole.
const HEAD: u64 = 4096;

/// Content up to this size is inflated in one go.
const AT_ONCE: u64 = 4 << 20;

/// Memory that is set aside for content before the first byte of it came.
const RESERVED: u64 = 16 << 20;

/// What each thread keeps from object to object: tables that take longer to make than a small object to inflate, and a buffer
/// that is not cleared.
struct Inflater {
    zlib: libdeflater::Decompressor,
    packed: Vec<u8>,
}

thread_local! {
    static INFLATER: RefCell<Inflater> =
        RefCell::new(Inflater { zlib: libdeflater::Decompressor::new(), packed: Vec::new() });
}

/// An entry in a pack file: it lies somewhere in `start..end`, and begins at `start`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryAt<'a> {
    pub(crate) file: &'a File,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl EntryAt<'_> {
    pub(crate) fn header(&self) -> Result<EntryHeader, Fault> {
        let mut bytes = [0; HEADER_MAX];
        let len = usize::try_from(self.end.saturating_sub(self.start)).unwrap_or(HEADER_MAX).min(HEADER_MAX);
        self.file.read_exact_at(&mut bytes[..len], self.start)?;
        parse_header(&bytes[..len])
    }

    /// Kind and content of an object that is small enough to be inflated in one go; `None` for others, for a delta, and
    /// where the slow way has to tell what is wrong.
    pub(crate) fn small_content(&self) -> Result<Option<(Kind, Vec<u8>)>, Fault> {
        INFLATER.with_borrow_mut(|Inflater { zlib, packed }| {
            // One read serves the header and, of most objects, all the rest.
            let read = self.read_up_to(HEAD, 0, packed)?;
            let header = parse_header(&packed[..read])?;
            let Some(kind) = header.kind.filter(|_| header.size <= AT_ONCE) else { return Ok(None) };
            // An idx does not say how long an entry is, so this reads as much as the size can need.
            let read = self.read_up_to(header.len as u64 + header.size + header.size / 8 + 64, read, packed)?;
            let mut content = vec![0; usize::try_from(header.size).unwrap_or(0)];
            let inflated = zlib.zlib_decompress(&packed[header.len..read], &mut content);
            Ok((inflated == Ok(content.len())).then_some((kind, content)))
        })
    }

    /// Kind and content as a whole; `None` for a delta.
    pub(crate) fn content(&self) -> Result<Option<(Kind, Vec<u8>)>, Fault> {
        if let Some(found) = self.small_content()? {
            return Ok(Some(found));
        }
        // It is large, a strange compressor needed more than most, or a damaged entry is to be told why.
        let header = self.header()?;
        let Some(kind) = header.kind else { return Ok(None) };
        let mut content = Vec::with_capacity(usize::try_from(header.size.min(RESERVED)).unwrap_or(0));
        self.stream(&header, &mut |piece| {
            content.extend_from_slice(piece);
            Ok::<(), Fault>(())
        })?;
        Ok(Some((kind, content)))
    }

    /// Reads on until `packed`, which has the first `have` bytes, has the first `len`, or all there are. How many it has.
    fn read_up_to(&self, len: u64, have: usize, packed: &mut Vec<u8>) -> Result<usize, Fault> {
        let len = usize::try_from(len.min(self.end.saturating_sub(self.start))).unwrap_or(usize::MAX);
        if len <= have {
            return Ok(have);
        }
        if packed.len() < len {
            packed.resize(len, 0);
        }
        self.file.read_exact_at(&mut packed[have..len], self.start + have as u64)?;
        Ok(len)
    }

    /// Hands the content to `sink`, piece by piece. What was handed over before an error is to be thrown away.
    pub(crate) fn stream<E: From<Fault>>(
        &self,
        header: &EntryHeader,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.inflate(header.len as u64, header.size, sink).map(drop)
    }

    /// Inflates the `size` bytes whose packed form begins `skip` bytes into the entry. How many packed bytes there were.
    pub(crate) fn inflate<E: From<Fault>>(
        &self,
        skip: u64,
        size: u64,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<u64, E> {
        let mut zlib = Decompress::new(true);
        let mut packed = vec![0; PIECE];
        let mut content = vec![0; PIECE];
        let (mut at, mut input) = (self.start + skip, 0..0);
        loop {
            if input.is_empty() && at < self.end {
                let len = usize::try_from(self.end - at).unwrap_or(PIECE).min(PIECE);
                self.file.read_exact_at(&mut packed[..len], at).map_err(Fault::from)?;
                at += len as u64;
                input = 0..len;
            }
            let (before_in, before_out) = (zlib.total_in(), zlib.total_out());
            let status = zlib
                .decompress(&packed[input.clone()], &mut content, FlushDecompress::None)
                .map_err(|err| Fault::damaged(format!("the entry cannot be inflated ({err})")))?;
            input.start += usize::try_from(zlib.total_in() - before_in).unwrap_or(PIECE);
            let made = usize::try_from(zlib.total_out() - before_out).unwrap_or(PIECE);
            if zlib.total_out() > size {
                return Err(Fault::damaged("the content is longer than its header says").into());
            }
            sink(&content[..made])?;
            if status == Status::StreamEnd {
                break;
            }
            if made == 0 && zlib.total_in() == before_in && at >= self.end {
                return Err(Fault::damaged("the pack ends within the entry").into());
            }
        }
        if zlib.total_out() < size {
            return Err(Fault::damaged("the content is shorter than its header says").into());
        }
        Ok(zlib.total_in())
    }
}
