//! What a long operation tells its caller while it runs, and how the caller stops it.

use crate::{CheckpointId, Recovery};

/// Something that happened inside an operation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Another process holds the workspace; `holder` is what it wrote about itself, usually pid and command.
    Waiting {
        /// Pid and command.
        holder: &'a str,
    },
    /// A save read and stored another file. Called often, from several threads.
    Saved {
        /// Bytes of it.
        bytes: u64,
    },
    /// A restore brought another path into its place.
    Restored {
        /// Paths in place.
        done: u64,
        /// Paths of the plan.
        total: u64,
    },
    /// An interrupted restore was finished, before what was asked for was tried.
    Recovered(&'a Recovery),
    /// A restore was interrupted in a directory that is gone or replaced by now. It is not finished; what stood there is
    /// in this safety checkpoint.
    Dropped {
        /// The safety checkpoint.
        safety: CheckpointId,
    },
    /// A guard that was dropped could not bring the worktree back, or not all of it. The checkpoint stays.
    NotRestored {
        /// Where the worktree should be.
        checkpoint: CheckpointId,
        /// Why it is not.
        reason: &'a str,
    },
}

/// Listener of one store's operations. All methods have defaults that do nothing; they must be quick and never call the
/// store.
pub trait Observer: Send + Sync {
    /// Takes an event.
    fn event(&self, event: Event<'_>) {
        let _ = event;
    }

    /// Whether the operation should stop. Asked often. A save that stops leaves the store as it was; a restore that
    /// stops brings the worktree back to its safety checkpoint first. Default: never.
    fn interrupted(&self) -> bool {
        false
    }
}

/// An observer that does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}
