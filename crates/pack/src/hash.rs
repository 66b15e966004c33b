//! Hashing: SHA-1 with collision detection, as git does it.

use sha1::{Digest, Sha1};

use crate::{Error, Kind, ObjectId, Result};

/// Hashes one object as it comes: `"<kind> <size>\0"`, then the content.
#[derive(Clone, Debug)]
pub struct ObjectHasher(sha1dc::Hasher);

impl ObjectHasher {
    /// Begins an object whose content will have exactly `size` bytes; with another number of bytes the id is no
    /// object's.
    pub fn new(kind: Kind, size: u64) -> Self {
        let mut hasher = sha1dc::Hasher::new();
        hasher.update(format!("{} {size}\0", kind.as_str()).as_bytes());
        Self(hasher)
    }

    /// Takes the next bytes of the content.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The id.
    ///
    /// # Errors
    /// [`Error::Collision`] if the content carries a SHA-1 collision attack: git refuses such an object as well.
    pub fn finish(self) -> Result<ObjectId> {
        match self.0.finalize() {
            Ok(digest) => Ok(ObjectId::from_bytes(digest.to_bytes())),
            Err(_) => Err(Error::Collision),
        }
    }
}

/// Id of the object of `kind` with `content`.
///
/// # Errors
/// [`Error::Collision`] if the content carries a SHA-1 collision attack.
pub fn hash_object(kind: Kind, content: &[u8]) -> Result<ObjectId> {
    let mut hasher = ObjectHasher::new(kind, content.len() as u64);
    hasher.update(content);
    hasher.finish()
}

/// Checksum at the end of a pack or idx. Without collision detection, as git takes it since 2.48: it tells damage, and
/// whatever the file holds was hashed object by object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checksum(Sha1);

impl Checksum {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> ObjectId {
        ObjectId::from_bytes(self.0.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_git() {
        assert_eq!(hash_object(Kind::Tree, b"").unwrap(), ObjectId::EMPTY_TREE);
        let blob = hash_object(Kind::Blob, b"hello\n").unwrap();
        assert_eq!(blob.to_string(), "ce013625030ba8dba906f756967f9e9ca394464a");
    }

    #[test]
    fn pieces_hash_as_the_whole() {
        let mut hasher = ObjectHasher::new(Kind::Commit, 6);
        hasher.update(b"abc");
        hasher.update(b"");
        hasher.update(b"def");
        assert_eq!(hasher.finish().unwrap(), hash_object(Kind::Commit, b"abcdef").unwrap());
    }
}
