//! `status`: how the worktree differs from head.

use crate::checkout::{interrupted, recover};
use crate::differences::to_path_change;
use crate::{CheckpointInfo, CheckpointStore, Notice, Omitted, PathChange, Recovery, RepoPath, Result};

/// How the worktree differs from head.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// Head; `None` while nothing is saved, and everything counts as added.
    pub head: Option<CheckpointInfo>,
    /// Paths that differ, by directory, names in byte order. A new or deleted directory is named with what is in it.
    pub changes: Vec<PathChange>,
    /// Paths that were seen but would not be captured, sorted. One that is ignored now is among them only while head has
    /// it.
    pub omitted: Vec<Omitted>,
    /// Paths in head that a rule leaves out now. The next checkpoint is without them; older ones still restore them.
    pub no_longer_tracked: Vec<RepoPath>,
    /// An interrupted restore that was finished first.
    pub recovered: Option<Recovery>,
    /// What else should be known.
    pub notices: Vec<Notice>,
}

impl Status {
    /// Whether no path differs from head. A save may still make a checkpoint: what it omits is part of it.
    pub fn is_clean(&self) -> bool {
        self.changes.is_empty()
    }
}

impl CheckpointStore {
    /// Whether a restore was begun and neither ended nor taken back, so that the next command that writes finishes it; or
    /// runs right now.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) when the store cannot be read.
    pub fn is_restore_pending(&self) -> Result<bool> {
        interrupted::is_pending(&self.0)
    }

    /// Compares the worktree with head. Writes nothing, neither in the store nor in the worktree, unless an interrupted
    /// restore has to be finished first.
    ///
    /// # Errors
    /// [`Error::Workspace`](crate::Error::Workspace) when the worktree is missing; errors of reading the store.
    pub fn status(&self) -> Result<Status> {
        let (recovered, pending) = recover::finish_first(&self.0)?;
        let (head, snapshot, differences) = self.compare_with_head()?;
        let mut notices = snapshot.notices;
        notices.extend(pending);
        Ok(Status {
            head: head.map(|head| head.info),
            changes: differences.changes.iter().map(to_path_change).collect(),
            omitted: differences.told(snapshot.omitted),
            no_longer_tracked: differences.no_longer_tracked,
            recovered,
            notices,
        })
    }
}
