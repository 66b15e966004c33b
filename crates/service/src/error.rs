//! What can go wrong here: what the store and the configuration say, and the little that is the service's own.

use std::io;
use std::path::Path;

use ckpt_config::Redirect;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Failure of a call.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A store said no. Unless its documentation says otherwise, nothing was changed.
    #[error(transparent)]
    Store(#[from] ckpt_core::Error),
    /// The configuration cannot be loaded. Nothing was decided: the next call reads it again.
    #[error(transparent)]
    Config(Box<ckpt_config::Error>),
    /// The global service exists already; it is as it was.
    #[error("cannot set the global service: it is in use already")]
    AlreadyInitialized,
    /// A file inside the worktree names another checkpoint directory than the one that holds the worktree's checkpoints.
    #[error(
        "cannot use the checkpoint directory {} ({}): the checkpoints of this workspace are in {} ({})",
        .0.to.display(), .0.to_origin, .0.from.display(), .0.from_origin
    )]
    Redirected(Box<Redirect>),
    /// The working directory, from which project files are searched, cannot be found.
    #[error("cannot find the working directory")]
    WorkingDir(#[source] io::Error),
    /// Bringing files back ended in a panic. It is a fault of ours, caught because a guard must not panic when it is
    /// dropped. The checkpoint stays; the next command finishes what was begun.
    #[error("cannot go on: {0}")]
    Panicked(String),
}

impl Error {
    /// Stable word for machines; see `docs/cli.md` for the list.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Store(err) => err.code(),
            Self::Config(err) => err.code(),
            Self::AlreadyInitialized => "already-initialized",
            Self::Redirected(_) => "checkpoint-dir-redirected",
            Self::WorkingDir(_) => "no-working-directory",
            Self::Panicked(_) => "internal",
        }
    }

    /// File, directory or store that the error is about.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Store(err) => err.path(),
            Self::Config(err) => match err.as_ref() {
                ckpt_config::Error::Unreadable { path, .. } | ckpt_config::Error::Malformed { path, .. } => Some(path),
                _ => None,
            },
            Self::Redirected(redirect) => Some(&redirect.file),
            _ => None,
        }
    }
}

impl From<ckpt_config::Error> for Error {
    fn from(err: ckpt_config::Error) -> Self {
        Self::Config(Box::new(err))
    }
}
