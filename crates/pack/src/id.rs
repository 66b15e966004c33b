//! The name of an object: a SHA-1.

use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::str::FromStr;

/// SHA-1 of an object (or of a pack): 20 bytes, printed and parsed as 40 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId([u8; 20]);

/// The text is not 40 lower-case hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an object id has 40 lower-case hex digits")]
pub struct ParseIdError;

impl ObjectId {
    /// Twenty zero bytes: the id of nothing.
    pub const ZERO: Self = Self([0; 20]);

    /// Id of the tree without entries.
    pub const EMPTY_TREE: Self = Self([
        0x4b, 0x82, 0x5d, 0xc6, 0x42, 0xcb, 0x6e, 0xb9, 0xa0, 0x60, 0xe5, 0x4b, 0xf8, 0xd6, 0x92, 0x88, 0xfb, 0xee,
        0x49, 0x04,
    ]);

    /// Takes the bytes as they are.
    pub const fn from_bytes(bytes: [u8; 20]) -> Self {
        Self(bytes)
    }

    /// Takes a slice of exactly 20 bytes.
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }

    /// The first byte, by which an idx divides its table.
    pub(crate) fn bucket(&self) -> u8 {
        self.0[0]
    }
}

/// A set of ids, fast: an id is a hash already. Whoever made contents whose ids begin alike would make it slow, and do that
/// to nobody but themselves.
pub type IdSet = HashSet<ObjectId, BuildHasherDefault<Beginning>>;

/// The first eight bytes of an id.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beginning(u64);

impl Hasher for Beginning {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Some(begin) = bytes.first_chunk() {
            self.0 = u64::from_le_bytes(*begin);
        }
    }

    /// The length, which is the same for all.
    fn write_usize(&mut self, _: usize) {}
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; 40];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        f.pad(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for ObjectId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let digits = text.as_bytes();
        if digits.len() != 40 {
            return Err(ParseIdError);
        }
        let mut bytes = [0; 20];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

fn digit(byte: u8) -> Result<u8, ParseIdError> {
    match byte {
        b'0'..=b'9' => Ok(byte - b'0'),
        b'a'..=b'f' => Ok(byte - b'a' + 10),
        _ => Err(ParseIdError),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips_and_nothing_else_is_taken() {
        let text = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        assert_eq!(text.parse(), Ok(ObjectId::EMPTY_TREE));
        assert_eq!(ObjectId::EMPTY_TREE.to_string(), text);
        assert_eq!(format!("{:.8}", ObjectId::EMPTY_TREE), "4b825dc6");
        for bad in ["", "4b825dc6", &text.to_uppercase(), &format!("{text}0"), &text.replace('4', "g")] {
            assert_eq!(bad.parse::<ObjectId>(), Err(ParseIdError));
        }
    }
}
