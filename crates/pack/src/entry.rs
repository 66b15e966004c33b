//! The header of a pack entry: kind and size in a variable number of bytes.

use crate::Kind;
use crate::error::Fault;

/// Bytes that a header takes at most: 4 bits of size in the first, 7 in each other.
pub(crate) const HEADER_MAX: usize = 10;

/// What a header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryHeader {
    /// `None` for a delta, offset or reference.
    pub(crate) kind: Option<Kind>,
    /// Size of the content (or of the delta) when inflated.
    pub(crate) size: u64,
    /// Length of the header itself.
    pub(crate) len: usize,
}

/// Appends the header of a whole object.
pub(crate) fn write_header(kind: Kind, size: u64, out: &mut Vec<u8>) {
    let mut rest = size >> 4;
    let mut byte = kind.code() << 4 | low_bits(size, 0x0f);
    while rest != 0 {
        out.push(byte | 0x80);
        byte = low_bits(rest, 0x7f);
        rest >>= 7;
    }
    out.push(byte);
}

/// Reads a header from the first bytes of an entry.
pub(crate) fn parse_header(bytes: &[u8]) -> Result<EntryHeader, Fault> {
    let ends_early = || Fault::damaged("the entry ends in its header");
    let first = *bytes.first().ok_or_else(ends_early)?;
    let code = first >> 4 & 7;
    let kind = match code {
        6 | 7 => None,
        code => Some(Kind::from_code(code).ok_or_else(|| Fault::damaged(format!("an entry has the kind {code}")))?),
    };
    let mut size = u64::from(first & 0x0f);
    let (mut last, mut shift, mut len) = (first, 4, 1);
    while last & 0x80 != 0 {
        last = *bytes.get(len).ok_or_else(ends_early)?;
        let bits = u64::from(last & 0x7f);
        if shift >= 64 || bits << shift >> shift != bits {
            return Err(Fault::damaged("an entry has a size beyond 64 bits"));
        }
        size |= bits << shift;
        shift += 7;
        len += 1;
    }
    Ok(EntryHeader { kind, size, len })
}

fn low_bits(value: u64, mask: u8) -> u8 {
    value.to_le_bytes()[0] & mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_round_trip() {
        for size in [0, 1, 15, 16, 2047, 2048, u64::from(u32::MAX), u64::MAX] {
            for kind in [Kind::Commit, Kind::Tree, Kind::Blob, Kind::Tag] {
                let mut bytes = Vec::new();
                write_header(kind, size, &mut bytes);
                assert!(bytes.len() <= HEADER_MAX);
                let parsed = parse_header(&bytes).unwrap();
                assert_eq!(parsed, EntryHeader { kind: Some(kind), size, len: bytes.len() });
            }
        }
    }

    #[test]
    fn hostile_headers_are_errors() {
        assert!(parse_header(b"").is_err());
        assert!(parse_header(&[0xb0]).is_err());
        assert!(parse_header(&[0x00]).is_err());
        assert!(parse_header(&[0x50]).is_err());
        assert!(parse_header(&[0xff; 20]).is_err());
        assert_eq!(parse_header(&[0x61]).unwrap().kind, None);
    }
}
