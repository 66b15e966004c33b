//! Making an object ready for a pack: header, zlib stream, CRC. Runs in any thread.

use std::fmt;

use libdeflater::{CompressionLvl, Compressor};

use crate::entry::{HEADER_MAX, write_header};
use crate::{Kind, ObjectId};

/// Content above this size is sampled before all of it is compressed.
const SAMPLE_FROM: usize = 64 * 1024;

/// Size of each of the three slices of a sample.
const SAMPLE_SLICE: usize = 8 * 1024;

/// Content below this size is always compressed: there is nothing to win by storing it.
const STORE_FROM: usize = 256;

/// Trees below this size are stored: most of them is ids, of which nothing gets smaller, and a save makes one for each
/// changed directory.
const STORE_TREE_BELOW: usize = 4 * 1024;

/// Bytes that one stored deflate block holds.
const STORED_BLOCK: usize = 65_535;

/// An object ready to be put in a pack, in the buffer of the encoder that made it.
#[derive(Clone, Copy)]
pub struct Encoded<'a> {
    /// Its id, as the caller gave it.
    pub id: ObjectId,
    /// Its kind.
    pub kind: Kind,
    /// Size of its content in bytes.
    pub size: u64,
    pub(crate) bytes: &'a [u8],
    pub(crate) crc32: u32,
}

impl Encoded<'_> {
    /// Bytes that it takes in a pack.
    pub fn packed_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }
}

impl fmt::Debug for Encoded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Encoded({} {} of {} bytes in {})", self.kind.as_str(), self.id, self.size, self.bytes.len())
    }
}

/// Compresses objects, one after the other. One per thread; keeps its tables and its buffer from object to object.
pub struct Encoder {
    compressor: Compressor,
    /// The last object. Not cut to its length, so that little is cleared for the next one.
    buffer: Vec<u8>,
}

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoder").finish_non_exhaustive()
    }
}

impl Default for Encoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Encoder {
    /// An encoder of level 1: on file trees, libdeflate's level 1 is as fast as zlib's and as small as zlib's level 3.
    pub fn new() -> Self {
        let level = CompressionLvl::new(1).unwrap_or_else(|_| CompressionLvl::fastest());
        Self { compressor: Compressor::new(level), buffer: Vec::new() }
    }

    /// Encodes `content`, which the caller has hashed to `id` ([`hash_object`](crate::hash_object)). What does not get
    /// smaller is stored, so that reading it back costs nothing, and so is a small tree.
    pub fn encode(&mut self, id: ObjectId, kind: Kind, content: &[u8]) -> Encoded<'_> {
        let size = content.len() as u64;
        let mut header = Vec::with_capacity(HEADER_MAX);
        write_header(kind, size, &mut header);
        let is_small_tree = kind == Kind::Tree && content.len() < STORE_TREE_BELOW;
        let is_compressed = !is_small_tree && self.sample_compresses(content);
        let compressed = if is_compressed { self.compress(&header, content) } else { None };
        let len = compressed.unwrap_or_else(|| {
            self.buffer.clear();
            self.buffer.extend_from_slice(&header);
            let mut stored = StoredStream::begin(size, &mut self.buffer);
            stored.push(content, &mut self.buffer);
            stored.end(&mut self.buffer);
            self.buffer.len()
        });
        let bytes = &self.buffer[..len];
        Encoded { id, kind, size, bytes, crc32: crc32fast::hash(bytes) }
    }

    /// Whether compressing large content is worth trying: three slices of it, begin, middle and end, get smaller.
    fn sample_compresses(&mut self, content: &[u8]) -> bool {
        if content.len() <= SAMPLE_FROM {
            return true;
        }
        let mut sample = Vec::with_capacity(3 * SAMPLE_SLICE);
        let end = content.len() - SAMPLE_SLICE;
        for start in [0, end / 2, end] {
            sample.extend_from_slice(&content[start..start + SAMPLE_SLICE]);
        }
        self.compress(b"", &sample).is_some()
    }

    /// Puts the header and the compressed content into the buffer. How many bytes they are; `None` if it is not worth it.
    fn compress(&mut self, header: &[u8], content: &[u8]) -> Option<usize> {
        let bound = header.len() + self.compressor.zlib_compress_bound(content.len());
        if self.buffer.len() < bound {
            self.buffer.resize(bound, 0);
        }
        let (begin, rest) = self.buffer.split_at_mut(header.len());
        begin.copy_from_slice(header);
        let len = self.compressor.zlib_compress(content, rest).ok()?;
        (content.len() < STORE_FROM || is_smaller(len as u64, content.len() as u64)).then_some(header.len() + len)
    }
}

/// Whether `packed` saves at least 3 % of `size`.
pub(crate) fn is_smaller(packed: u64, size: u64) -> bool {
    packed < size - size / 32
}

/// A zlib stream that does not compress, made as the content comes. The size is known from the start, since the last
/// block has to say that it is the last.
pub(crate) struct StoredStream {
    left: u64,
    adler: libdeflater::Adler32,
}

impl StoredStream {
    pub(crate) fn begin(size: u64, out: &mut Vec<u8>) -> Self {
        out.extend_from_slice(&[0x78, 0x01]);
        if size == 0 {
            push_block(true, b"", out);
        }
        Self { left: size, adler: libdeflater::Adler32::new() }
    }

    /// Takes the next bytes of the content.
    pub(crate) fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.adler.update(bytes);
        for block in bytes.chunks(STORED_BLOCK) {
            self.left = self.left.saturating_sub(block.len() as u64);
            push_block(self.left == 0, block, out);
        }
    }

    pub(crate) fn end(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.adler.sum().to_be_bytes());
    }
}

fn push_block(last: bool, block: &[u8], out: &mut Vec<u8>) {
    // `block` is at most STORED_BLOCK long.
    let len = u16::try_from(block.len()).unwrap_or(u16::MAX);
    out.push(u8::from(last));
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(&(!len).to_le_bytes());
    out.extend_from_slice(block);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::parse_header;

    /// Length of a stored zlib stream: header, 5 bytes a block, checksum.
    fn stored_len(len: usize) -> usize {
        len + len.div_ceil(STORED_BLOCK).max(1) * 5 + 6
    }

    fn inflate(bytes: &[u8], size: usize) -> Vec<u8> {
        let mut out = vec![0; size];
        assert_eq!(libdeflater::Decompressor::new().zlib_decompress(bytes, &mut out).unwrap(), size);
        out
    }

    /// Bytes that nothing compresses, the same in every run.
    fn noise(len: usize) -> Vec<u8> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_be_bytes()[0]
        })
        .take(len)
        .collect()
    }

    #[test]
    fn text_shrinks_noise_is_stored_and_both_come_back() {
        let mut encoder = Encoder::new();
        for content in [Vec::new(), b"x".to_vec(), b"text ".repeat(50_000), noise(300), noise(65_535), noise(200_000)] {
            let encoded = encoder.encode(ObjectId::ZERO, Kind::Blob, &content);
            let header = parse_header(encoded.bytes).unwrap();
            assert_eq!(inflate(&encoded.bytes[header.len..], content.len()), content);
            assert!(encoded.bytes.len() <= HEADER_MAX + stored_len(content.len()).max(content.len() + 13));
        }
        let text = encoder.encode(ObjectId::ZERO, Kind::Blob, &b"text ".repeat(50_000));
        assert!(text.packed_bytes() < 10_000);
        let stored = encoder.encode(ObjectId::ZERO, Kind::Blob, &noise(200_000));
        let header = parse_header(stored.bytes).unwrap();
        assert_eq!(stored.bytes.len() - header.len, stored_len(200_000));
    }
}
