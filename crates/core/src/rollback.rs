//! `rollback`: some paths go back to a checkpoint, head stays.

use std::path::Path;

use crate::checkout::{self, Restore, recover};
use crate::checkpoint::Checkpoint;
use crate::diff::stands;
use crate::session::Session;
use crate::snapshot::head_rules;
use crate::state::{self, Entry, Node};
use crate::{
    CheckpointId, CheckpointStore, Conflict, EntryKind, Error, LeftAlone, LeftAloneReason, OperationKind, PathChange,
    PathFault, Plan, Receipt, RepoPath, Result,
};

impl CheckpointStore {
    /// Brings `paths`, and what is below them, to the checkpoint `to`; a path that did not exist there goes. Head stays,
    /// so that the paths show as modified. Paths are relative to the worktree, or absolute inside it; the worktree
    /// itself stands for all of it.
    ///
    /// # Errors
    /// As for [`CheckpointStore::reset`]; [`Error::Path`](crate::Error::Path) for a path outside, and for one that is
    /// neither in the checkpoint nor in the worktree.
    pub fn rollback<P: AsRef<Path>>(&self, to: CheckpointId, paths: &[P]) -> Result<Receipt> {
        let to = self.require_checkpoint(to)?;
        let paths = self.scope(paths)?;
        let session = Session::begin(&self.0)?;
        let recovered = recover::finish(&session)?;
        let mut receipt = self.with_rollback(&to, paths.as_deref(), |restore| checkout::run(&session, restore))?;
        receipt.recovered = recovered;
        // It is done: that this cannot be found out is no reason to say that it failed.
        let named = self.named_without_effect(&to, paths.as_deref(), &receipt.changes, &receipt.conflicts);
        add(&mut receipt.left_alone, named.unwrap_or_default());
        Ok(receipt)
    }

    /// Tells what [`CheckpointStore::rollback`] would do. Writes nothing.
    ///
    /// # Errors
    /// As for [`CheckpointStore::rollback`].
    pub fn plan_rollback<P: AsRef<Path>>(&self, to: CheckpointId, paths: &[P]) -> Result<Plan> {
        let to = self.require_checkpoint(to)?;
        let paths = self.scope(paths)?;
        let mut plan =
            self.with_rollback(&to, paths.as_deref(), |restore| checkout::dry_run::plan(&self.0, restore))?;
        let named = self.named_without_effect(&to, paths.as_deref(), &plan.changes, &plan.conflicts)?;
        add(&mut plan.left_alone, named);
        Ok(plan)
    }

    /// The paths that should go and stay, because no checkpoint can hold what stands there.
    fn named_without_effect(
        &self,
        to: &Checkpoint,
        paths: Option<&[RepoPath]>,
        changes: &[PathChange],
        conflicts: &[Conflict],
    ) -> Result<Vec<LeftAlone>> {
        let objects = &self.0.objects;
        let saved = to.state(objects)?;
        let mut named = Vec::new();
        for path in paths.unwrap_or_default() {
            let mut touched = changes.iter().map(|change| &change.path).chain(conflicts.iter().map(|it| &it.path));
            if touched.any(|touched| touched.starts_with(path))
                || state::find(objects, &saved, path.as_bytes())?.is_some()
                || !stands(self.worktree(), path)
            {
                continue;
            }
            let is_omitted = self.omitted(to.info.id)?.iter().any(|omitted| path.starts_with(&omitted.path));
            let reason = if is_omitted { LeftAloneReason::OmittedInTarget } else { LeftAloneReason::NotCaptured };
            named.push(LeftAlone { path: path.clone(), reason });
        }
        Ok(named)
    }

    /// The paths that are looked at, each once, none below another; `None` is the whole worktree.
    fn scope<P: AsRef<Path>>(&self, paths: &[P]) -> Result<Option<Vec<RepoPath>>> {
        let mut scope: Vec<RepoPath> = Vec::new();
        for path in paths {
            match self.worktree().repo_path(self.worktree().path(), path.as_ref())? {
                Some(path) => scope.push(path),
                None => return Ok(None),
            }
        }
        scope.sort();
        scope.dedup_by(|path, above| path.starts_with(above));
        Ok(Some(scope))
    }

    fn with_rollback<T>(
        &self,
        to: &Checkpoint,
        paths: Option<&[RepoPath]>,
        act: impl FnOnce(&Restore<'_>) -> Result<T>,
    ) -> Result<T> {
        let objects = &self.0.objects;
        let saved = to.state(objects)?;
        for path in paths.unwrap_or_default() {
            if !stands(self.worktree(), path) && state::find(objects, &saved, path.as_bytes())?.is_none() {
                return Err(Error::Path { path: path.as_path().to_owned(), reason: PathFault::Unknown });
            }
        }
        let aim = |present: &Node| -> Result<(Node, Vec<RepoPath>)> {
            let Some(paths) = paths else { return Ok((saved.clone(), Vec::new())) };
            let mode = |dir: &[u8]| match state::find(objects, &saved, dir) {
                Ok(Some(Entry { kind: EntryKind::Dir, mode, .. })) => mode,
                _ => 0o755,
            };
            let mut state = present.clone();
            for path in paths {
                match state::find(objects, &saved, path.as_bytes())? {
                    Some(entry) => state::replace(objects, &mut state, path.as_bytes(), entry, &mode)?,
                    None => state::remove(objects, &mut state, path.as_bytes())?,
                }
            }
            Ok((state, Vec::new()))
        };
        let rules = head_rules(objects, to)?.unwrap_or_default();
        act(&Restore {
            kind: OperationKind::Rollback,
            to,
            head: self.head()?,
            paths,
            target: None,
            taken_back: None,
            undo_next: None,
            redo_next: None,
            reference: saved.clone(),
            rules: &rules,
            aim: &aim,
        })
    }
}

/// Adds what was left alone, each path once.
fn add(left_alone: &mut Vec<LeftAlone>, named: Vec<LeftAlone>) {
    for left in named {
        if !left_alone.iter().any(|known| known.path.starts_with(&left.path) || left.path.starts_with(&known.path)) {
            left_alone.push(left);
        }
    }
}
