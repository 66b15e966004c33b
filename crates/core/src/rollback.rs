//! `rollback`: some paths go back to a checkpoint, head stays.

use std::path::Path;

use crate::{CheckpointId, CheckpointStore, Plan, Receipt, Result};

impl CheckpointStore {
    /// Brings `paths`, and what is below them, to the checkpoint `to`; a path that did not exist there goes. Head stays,
    /// so that the paths show as modified. Paths are relative to the worktree, or absolute inside it; the worktree
    /// itself stands for all of it.
    ///
    /// # Errors
    /// As for [`CheckpointStore::reset`]; [`Error::Path`](crate::Error::Path) for a path outside, and for one that is
    /// neither in the checkpoint nor in the worktree.
    pub fn rollback<P: AsRef<Path>>(&self, to: CheckpointId, paths: &[P]) -> Result<Receipt> {
        let _ = (to, paths.len());
        todo!()
    }

    /// Tells what [`CheckpointStore::rollback`] would do. Writes nothing.
    ///
    /// # Errors
    /// As for [`CheckpointStore::rollback`].
    pub fn plan_rollback<P: AsRef<Path>>(&self, to: CheckpointId, paths: &[P]) -> Result<Plan> {
        let _ = (to, paths.len());
        todo!()
    }
}
