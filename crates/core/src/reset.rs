//! `reset`: the whole worktree goes back to a checkpoint.

use crate::checkout::{self, Restore, recover};
use crate::checkpoint::Checkpoint;
use crate::session::Session;
use crate::snapshot::head_rules;
use crate::{CheckpointId, CheckpointStore, OperationKind, Plan, Receipt, Result};

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
        let to = self.require_checkpoint(to)?;
        let session = Session::begin(&self.0)?;
        let recovered = recover::finish(&session)?;
        let mut receipt = self.with_reset(&to, |restore| checkout::run(&session, restore))?;
        receipt.recovered = recovered;
        Ok(receipt)
    }

    /// Tells what [`CheckpointStore::reset`] would do. Writes nothing.
    ///
    /// # Errors
    /// As for [`CheckpointStore::reset`].
    pub fn plan_reset(&self, to: CheckpointId) -> Result<Plan> {
        let to = self.require_checkpoint(to)?;
        self.with_reset(&to, |restore| checkout::dry_run::plan(&self.0, restore))
    }

    fn with_reset<T>(&self, to: &Checkpoint, act: impl FnOnce(&Restore<'_>) -> Result<T>) -> Result<T> {
        let state = to.state(&self.0.objects)?;
        let rules = head_rules(&self.0.objects, to)?.unwrap_or_default();
        act(&Restore {
            kind: OperationKind::Reset,
            to,
            head: Some(to.info.id),
            paths: None,
            target: None,
            taken_back: None,
            undo_next: None,
            redo_next: None,
            reference: state.clone(),
            rules: &rules,
            aim: &|_| Ok((state.clone(), Vec::new())),
        })
    }
}
