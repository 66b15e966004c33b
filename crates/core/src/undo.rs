//! `undo` and `redo`: restores are taken back, and taken back again.

use crate::checkout::{self, Restore, interrupted, recover};
use crate::checkpoint::Checkpoint;
use crate::session::Session;
use crate::snapshot::head_rules;
use crate::state::{self, Change, Node};
use crate::{
    CheckpointId, CheckpointStore, Error, ObjectFault, Operation, OperationId, OperationKind, Plan, Receipt, RepoPath,
    Result,
};

impl CheckpointStore {
    /// Takes back the newest reset or rollback that is not taken back yet: the paths that it changed become exactly as
    /// before it, and head with them. Twice goes two back; it never toggles. Saves are not undone. `None` when there is
    /// nothing to undo.
    ///
    /// # Errors
    /// As for [`CheckpointStore::reset`].
    pub fn undo(&self) -> Result<Option<Receipt>> {
        self.take_back(Way::Undo)
    }

    /// Takes back the newest undo: the paths become exactly as after the operation that was undone. It ends with a save
    /// that made a checkpoint, or a new reset or rollback. `None` when there is nothing to redo.
    ///
    /// # Errors
    /// As for [`CheckpointStore::reset`].
    pub fn redo(&self) -> Result<Option<Receipt>> {
        self.take_back(Way::Redo)
    }

    /// Tells what [`CheckpointStore::undo`] would do. Writes nothing.
    ///
    /// # Errors
    /// As for [`CheckpointStore::reset`].
    pub fn plan_undo(&self) -> Result<Option<Plan>> {
        interrupted::require_none(&self.0)?;
        self.with_taking_back(Way::Undo, |restore| checkout::dry_run::plan(&self.0, restore))
    }

    /// Tells what [`CheckpointStore::redo`] would do. Writes nothing.
    ///
    /// # Errors
    /// As for [`CheckpointStore::reset`].
    pub fn plan_redo(&self) -> Result<Option<Plan>> {
        interrupted::require_none(&self.0)?;
        self.with_taking_back(Way::Redo, |restore| checkout::dry_run::plan(&self.0, restore))
    }

    fn take_back(&self, way: Way) -> Result<Option<Receipt>> {
        let session = Session::begin(&self.0)?;
        let recovered = recover::finish(&session)?;
        let receipt = self.with_taking_back(way, |restore| checkout::run(&session, restore))?;
        Ok(receipt.map(|receipt| Receipt { recovered, ..receipt }))
    }

    fn with_taking_back<T>(&self, way: Way, act: impl FnOnce(&Restore<'_>) -> Result<T>) -> Result<Option<T>> {
        let Some(taking) = self.taking_back(way)? else { return Ok(None) };
        let objects = &self.0.objects;
        let aim = |present: &Node| -> Result<(Node, Vec<RepoPath>)> {
            let mut edited = Vec::new();
            for change in &taking.changes {
                let now = state::find(objects, present, &change.path)?.map(|entry| entry.info());
                // What is as it shall be is not touched, whoever made it so.
                if now != change.new && now != change.old {
                    edited.push(RepoPath::trusted(change.path.clone()));
                }
            }
            let mut state = present.clone();
            state::subtract(objects, &mut state, &taking.before, &taking.changes)?;
            Ok((state, edited))
        };
        let rules = head_rules(objects, &taking.to)?.unwrap_or_default();
        let restore = Restore {
            kind: match way {
                Way::Undo => OperationKind::Undo,
                Way::Redo => OperationKind::Redo,
            },
            to: &taking.to,
            head: taking.head,
            paths: None,
            target: Some(taking.target),
            taken_back: Some(&taking.changes),
            undo_next: taking.undo_next,
            redo_next: taking.redo_next,
            reference: taking.before.clone(),
            rules: &rules,
            aim: &aim,
        };
        act(&restore).map(Some)
    }

    /// What would be taken back; `None` when there is nothing.
    fn taking_back(&self, way: Way) -> Result<Option<TakingBack>> {
        let objects = &self.0.objects;
        let tip = self.0.tip()?;
        let (undone, undo) = match way {
            Way::Undo => (tip.top_undo(), None),
            Way::Redo => {
                let undo = tip.top_redo().map(|id| Operation::read(objects, id)).transpose()?;
                (undo.as_ref().and_then(|undo| undo.target), undo)
            }
        };
        let Some(operation) = undone.map(|id| Operation::read(objects, id)).transpose()? else { return Ok(None) };
        let damaged = |what: &str| Error::object(operation.id.0, ObjectFault::Damaged(what.to_owned()));
        let safety = operation.safety.ok_or_else(|| damaged("it names no safety checkpoint"))?;
        let safety = Checkpoint::require(objects, safety, self.0.id)?;
        let (before, after) = (safety.state(objects)?, operation.state(objects)?);
        let (before, after) = match way {
            Way::Undo => (before, after),
            Way::Redo => (after, before),
        };
        let changes = state::changes(objects, Some(&before), Some(&after))?;
        let taking = match undo {
            None => {
                let parent = operation.parent.ok_or_else(|| damaged("it has no parent"))?;
                let head = Operation::read(objects, parent)?.head;
                TakingBack {
                    to: safety,
                    head,
                    target: operation.id,
                    undo_next: operation.undo_next,
                    redo_next: tip.top_redo(),
                    before,
                    changes,
                }
            }
            Some(undo) => {
                let to = operation.checkpoint.ok_or_else(|| damaged("it names no checkpoint"))?;
                TakingBack {
                    to: Checkpoint::require(objects, to, self.0.id)?,
                    head: operation.head,
                    target: undo.id,
                    undo_next: Some(operation.id),
                    redo_next: undo.redo_next,
                    before,
                    changes,
                }
            }
        };
        Ok(Some(taking))
    }
}

/// Which of the two.
#[derive(Clone, Copy)]
enum Way {
    Undo,
    Redo,
}

/// An operation that is taken back.
struct TakingBack {
    /// The checkpoint that the result is nearest to.
    to: Checkpoint,
    head: Option<CheckpointId>,
    target: OperationId,
    undo_next: Option<OperationId>,
    redo_next: Option<OperationId>,
    /// The state that its paths go to.
    before: Node,
    /// From `before` to the state that is taken back.
    changes: Vec<Change>,
}
