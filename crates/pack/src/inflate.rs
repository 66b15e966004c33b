//! Reading an entry back.

use std::fs::File;
use std::os::unix::fs::FileExt;

use flate2::{Decompress, FlushDecompress, Status};

use crate::entry::{EntryHeader, HEADER_MAX, parse_header};
use crate::error::Fault;

/// Size of one read from the pack, and of one piece of content.
const PIECE: usize = 64 * 1024;

/// Content up to this size is inflated in one go.
const AT_ONCE: u64 = 4 << 20;

/// Memory that is set aside for content before the first byte of it came.
const RESERVED: u64 = 16 << 20;

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

    /// The content as a whole.
    pub(crate) fn content(&self, header: &EntryHeader) -> Result<Vec<u8>, Fault> {
        if header.size <= AT_ONCE
            && let Some(content) = self.content_at_once(header)?
        {
            return Ok(content);
        }
        let mut content = Vec::with_capacity(usize::try_from(header.size.min(RESERVED)).unwrap_or(0));
        self.stream(header, &mut |piece| {
            content.extend_from_slice(piece);
            Ok::<(), Fault>(())
        })?;
        Ok(content)
    }

    /// The fast way for small content. An idx does not say how long an entry is, so this reads as much as the size can
    /// need, which is too little only for a strange compressor. `None`: look at it the slow way, which knows why.
    fn content_at_once(&self, header: &EntryHeader) -> Result<Option<Vec<u8>>, Fault> {
        let start = self.start + header.len as u64;
        let bound = header.size + header.size / 8 + 64;
        let (Ok(len), Ok(size)) =
            (usize::try_from(bound.min(self.end.saturating_sub(start))), usize::try_from(header.size))
        else {
            return Ok(None);
        };
        let mut packed = vec![0; len];
        self.file.read_exact_at(&mut packed, start)?;
        let mut content = vec![0; size];
        let inflated = libdeflater::Decompressor::new().zlib_decompress(&packed, &mut content);
        Ok((inflated == Ok(size)).then_some(content))
    }

    /// Hands the content to `sink`, piece by piece. What was handed over before an error is to be thrown away.
    pub(crate) fn stream<E: From<Fault>>(
        &self,
        header: &EntryHeader,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut zlib = Decompress::new(true);
        let mut packed = vec![0; PIECE];
        let mut content = vec![0; PIECE];
        let (mut at, mut input) = (self.start + header.len as u64, 0..0);
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
            if zlib.total_out() > header.size {
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
        if zlib.total_out() < header.size {
            return Err(Fault::damaged("the content is shorter than its header says").into());
        }
        Ok(())
    }
}
