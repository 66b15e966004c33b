//! `reset`: the whole worktree goes back to a checkpoint.

use crate::{CheckpointId, CheckpointStore, Plan, Receipt, Result};

impl CheckpointStore {
    /// Brings the whole worktree to the checkpoint `to`, and head with it. What stands there now is saved first; what the
    /// store does not hold then stays, as a conflict in the receipt. A worktree that is gone is made again.
    ///
    /// # Errors
    /// [`RevisionFault::Unknown`](crate::RevisionFault::Unknown) for an id of another store,
    /// [`Error::Object`](crate::Error::Object) when the checkpoint cannot be restored as a whole,
    /// [`Error::Locked`](crate::Error::Locked); errors of the disk. All of these come before the first change of the
    /// worktree; a failure after that is finished by the next command, as after a crash.
    pub fn reset(&self, to: CheckpointId) -> Result<Receipt> {
        let _ = to;
        todo!()
    }

    /// Tells what [`CheckpointStore::reset`] would do. Writes nothing.
    ///
    /// # Errors
    /// As for [`CheckpointStore::reset`].
    pub fn plan_reset(&self, to: CheckpointId) -> Result<Plan> {
        let _ = to;
        todo!()
    }
}
