//! `rollback`: some paths go back to a checkpoint, head stays.

use std::path::Path;

use ckpt_fs::Dir;

use crate::checkout::{self, Restore, recover};
use crate::checkpoint::Checkpoint;
use crate::path::split;
use crate::session::Session;
use crate::snapshot::head_rules;
use crate::state::{self, Entry, Node};
use crate::{
    CheckpointId, CheckpointStore, EntryKind, Error, OperationKind, PathFault, Plan, Receipt, RepoPath, Result,
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
        Ok(receipt)
    }

    /// Tells what [`CheckpointStore::rollback`] would do. Writes nothing.
    ///
    /// # Errors
    /// As for [`CheckpointStore::rollback`].
    pub fn plan_rollback<P: AsRef<Path>>(&self, to: CheckpointId, paths: &[P]) -> Result<Plan> {
        let to = self.require_checkpoint(to)?;
        let paths = self.scope(paths)?;
        self.with_rollback(&to, paths.as_deref(), |restore| checkout::dry_run(&self.0, restore))
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
        let root = Dir::open(self.worktree().path()).ok();
        for path in paths.unwrap_or_default() {
            // Not through links: what is behind them is not in the worktree.
            let (dir, name) = split(path.as_bytes());
            let stands = |root: &Dir| root.open_beneath(dir).and_then(|dir| dir.stat(name)).err();
            let is_absent = root.as_ref().and_then(stands).is_some_and(|err| ckpt_fs::is_absence(&err));
            if (root.is_none() || is_absent) && state::find(objects, &saved, path.as_bytes())?.is_none() {
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
