//! What was found in a source and not used.

use std::fmt;

use crate::key;
use crate::origin::Origin;

/// Tells of something in a source that has no effect, or another one than was meant.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// A key that nobody knows.
    UnknownKey {
        /// The key: with its tables if it stands in a file, alone and in lower case if it is from the environment.
        key: String,
        /// Where it stands.
        origin: Origin,
        /// The known key that was most likely meant.
        nearest: Option<&'static str>,
    },
    /// A key of `[checkpoint]` that stands in `[ext.checkpoint]`, where it is not read.
    MisplacedKey {
        /// The key, as in `UnknownKey`.
        key: String,
        /// Where it stands.
        origin: Origin,
    },
    /// A list that was written without brackets, and so is one glob with commas in it.
    OneGlob {
        /// The globs that were most likely meant.
        globs: Vec<String>,
        /// Where it stands.
        origin: Origin,
    },
    /// A key that files inside the worktree may not set.
    UntrustedKey {
        /// The key with its tables, as it stands in its source.
        key: String,
        /// Where it stands.
        origin: Origin,
    },
}

impl Warning {
    /// Returns a stable word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownKey { .. } => "unknown-key",
            Self::MisplacedKey { .. } => "misplaced-key",
            Self::UntrustedKey { .. } => "untrusted-key",
            Self::OneGlob { .. } => "one-glob",
        }
    }

    /// Returns where the unused value stands.
    pub fn origin(&self) -> &Origin {
        match self {
            Self::UnknownKey { origin, .. }
            | Self::MisplacedKey { origin, .. }
            | Self::OneGlob { origin, .. }
            | Self::UntrustedKey { origin, .. } => origin,
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKey { key, origin, nearest } => {
                write!(out, "unknown key {key} ({origin})")?;
                match (nearest.and_then(key::find), origin) {
                    (Some(known), Origin::Variable(_)) => write!(out, "; did you mean {}?", known.variable()),
                    (Some(known), _) => write!(out, "; did you mean {}?", known.name),
                    (None, _) => Ok(()),
                }
            }
            Self::MisplacedKey { key, origin } => {
                write!(out, "{key} ({origin}) is not read there; only [checkpoint] holds this key")
            }
            Self::OneGlob { globs, origin } => {
                write!(out, "the exclude ({origin}) is one glob with commas in it; several are written {globs:?}")
            }
            Self::UntrustedKey { key, origin } => {
                write!(out, "{key} ({origin}) is ignored, because a file inside the workspace may not set it")
            }
        }
    }
}
