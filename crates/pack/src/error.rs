//! What can go wrong, by what the reader can do about it.

use std::io;

use crate::ObjectId;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file of ours could not be read or changed.
    #[error("cannot {action} {object}")]
    Io {
        /// What was tried, a verb.
        action: &'static str,
        /// Name of the file, in its directory.
        object: String,
        /// Why not.
        source: io::Error,
    },
    /// The reader that a caller gave for an object's content failed. Nothing of the object was kept.
    #[error("cannot read the content of an object")]
    Source {
        /// Why not.
        source: io::Error,
    },
    /// The writer that a caller gave for an object's content failed.
    #[error("cannot pass on the content of object {id}")]
    Sink {
        /// The object.
        id: ObjectId,
        /// Why not.
        source: io::Error,
    },
    /// The content carries a SHA-1 collision attack, so its id would name two contents.
    #[error("cannot hash an object: its content carries a SHA-1 collision attack")]
    Collision,
    /// A pack or its idx does not hold what it claims to hold.
    #[error("cannot read {} of pack {pack}: {reason}", object_or_idx(id.as_ref()))]
    Damaged {
        /// Name of the pack.
        pack: ObjectId,
        /// The object that was asked for; `None` if the idx itself is at fault.
        id: Option<ObjectId>,
        /// What does not fit.
        reason: String,
    },
    /// The pack must stay as it is.
    #[error("cannot merge pack {pack}: {reason}")]
    Unmergeable {
        /// Name of the pack.
        pack: ObjectId,
        /// Why.
        reason: &'static str,
    },
    /// No such pack is listed.
    #[error("cannot find pack {pack}")]
    UnknownPack {
        /// Name of the pack.
        pack: ObjectId,
    },
    /// A pack counts its objects with 32 bits.
    #[error("cannot add an object to a pack of 4294967295 objects")]
    PackFull,
}

impl Error {
    /// For `map_err`: adds what was tried on which file.
    pub(crate) fn io(action: &'static str, name: impl AsRef<[u8]>) -> impl FnOnce(io::Error) -> Self {
        let object = String::from_utf8_lossy(name.as_ref()).into_owned();
        move |source| Self::Io { action, object, source }
    }

    /// Whether the process ran short of handles or memory, which says nothing about a file.
    pub fn is_shortage(&self) -> bool {
        matches!(self, Self::Io { source, .. } if ckpt_fs::is_shortage(source))
    }

    /// Whether a file that was listed is gone, as after a merge by another process.
    pub fn is_vanished(&self) -> bool {
        matches!(self, Self::Io { action: "open", source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

fn object_or_idx(id: Option<&ObjectId>) -> String {
    id.map_or_else(|| "the idx".to_owned(), |id| format!("object {id}"))
}

/// What is wrong with a file, before it is known to the reporter which one it is.
#[derive(Debug)]
pub(crate) enum Fault {
    /// It could not be read.
    Io(io::Error),
    /// It was read, and is not what it should be.
    Damaged(String),
}

impl Fault {
    pub(crate) fn damaged(reason: impl Into<String>) -> Self {
        Self::Damaged(reason.into())
    }
}

impl From<io::Error> for Fault {
    fn from(err: io::Error) -> Self {
        match err.kind() {
            io::ErrorKind::UnexpectedEof => Self::damaged("the file ends early"),
            _ => Self::Io(err),
        }
    }
}
