//! `undo` and `redo`: restores are taken back, and taken back again.

use crate::{CheckpointStore, Plan, Receipt, Result};

impl CheckpointStore {
    /// Takes back the newest reset or rollback that is not taken back yet: the paths that it changed become exactly as
    /// before it, and head with them. Twice goes two back; it never toggles. Saves are not undone. `None` when there is
    /// nothing to undo.
    ///
    /// # Errors
    /// As for [`CheckpointStore::reset`].
    pub fn undo(&self) -> Result<Option<Receipt>> {
        todo!()
    }

    /// Takes back the newest undo: the paths become exactly as after the operation that was undone. It ends with a save
    /// that made a checkpoint, or a new reset or rollback. `None` when there is nothing to redo.
    ///
    /// # Errors
    /// As for [`CheckpointStore::reset`].
    pub fn redo(&self) -> Result<Option<Receipt>> {
        todo!()
    }

    /// Tells what [`CheckpointStore::undo`] would do. Writes nothing.
    ///
    /// # Errors
    /// As for [`CheckpointStore::reset`].
    pub fn plan_undo(&self) -> Result<Option<Plan>> {
        todo!()
    }

    /// Tells what [`CheckpointStore::redo`] would do. Writes nothing.
    ///
    /// # Errors
    /// As for [`CheckpointStore::reset`].
    pub fn plan_redo(&self) -> Result<Option<Plan>> {
        todo!()
    }
}
