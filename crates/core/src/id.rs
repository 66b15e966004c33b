//! Names of things: checkpoints, operations, stores.

use std::fmt;
use std::str::FromStr;

use crate::{Error, ObjectId, Result, RevisionFault};

/// Id of a checkpoint: the 40 lower-case hex digits of its commit. Stable for ever; never shared by two checkpoints of
/// a store. Printing and parsing round-trip; upper-case digits are taken too.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CheckpointId(pub(crate) ObjectId);

/// Id of an operation on the timeline: 40 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperationId(pub(crate) ObjectId);

/// Digits of a short id: enough to be unique in any store that people keep, short enough to read aloud.
const SHORT: usize = 12;

impl CheckpointId {
    /// The first 12 digits, for people.
    pub fn short(&self) -> String {
        self.to_string()[..SHORT].to_owned()
    }
}

impl OperationId {
    /// The first 12 digits, for people.
    pub fn short(&self) -> String {
        self.to_string()[..SHORT].to_owned()
    }
}

impl fmt::Display for CheckpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for CheckpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CheckpointId({})", self.0)
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OperationId({})", self.0)
    }
}

impl FromStr for CheckpointId {
    type Err = Error;

    /// Parses 40 hex digits. Whether a store holds such a checkpoint is another question.
    ///
    /// # Errors
    /// [`RevisionFault::Malformed`] for anything else.
    fn from_str(text: &str) -> Result<Self> {
        text.to_ascii_lowercase().parse().map(Self).map_err(|_| Error::revision(text, RevisionFault::Malformed))
    }
}

/// Identity of a store: 16 random bytes, printed as 32 lower-case hex digits. Written into every checkpoint, so that a
/// checkpoint is never taken for one of another store.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct StoreId([u8; 16]);

impl StoreId {
    /// Id from given bytes; tests fix it this way.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    pub(crate) fn random() -> std::io::Result<Self> {
        let mut bytes = [0; 16];
        ckpt_fs::random_bytes(&mut bytes)?;
        Ok(Self(bytes))
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.len() != 32 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        u128::from_str_radix(text, 16).ok().map(|number| Self(number.to_be_bytes()))
    }
}

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_round_trip() {
        let text = "0123456789abcdef0123456789abcdef01234567";
        let id: CheckpointId = text.to_uppercase().parse().unwrap();
        assert_eq!(id.to_string(), text);
        assert_eq!(id.short(), "0123456789ab");
        assert!("0123".parse::<CheckpointId>().is_err());
        let store = StoreId::from_bytes([7; 16]);
        assert_eq!(StoreId::parse(&store.to_string()), Some(store));
        assert_eq!(StoreId::parse("+1"), None);
    }
}
