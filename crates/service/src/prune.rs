//! Removing the stores whose worktree is gone, in two steps: a plan that says of each store why, and the act.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ckpt_core::{Removal, StoreOptions, StoreState, remove_store, stores, sweep_removed};

use crate::workspaces::{Workspace, WorkspaceState, told_apart, workspace};
use crate::{CheckpointService, Error, Result};

/// A directory under the checkpoint directory that is not the store of a worktree that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidStore {
    /// Directory of the store.
    pub store: PathBuf,
    /// Path that its worktree had, where it tells.
    pub path: Option<PathBuf>,
    /// What is the matter; never [`WorkspaceState::Valid`].
    pub reason: WorkspaceState,
}

impl InvalidStore {
    /// Whether a prune removes it: only what is certainly a store of ours, and certainly without its worktree.
    pub fn is_removable(&self) -> bool {
        self.reason == WorkspaceState::Gone
    }
}

/// What a prune would look at. Making one changes nothing.
#[must_use = "a plan does nothing until it is given to `prune`"]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrunePlan {
    /// Each store with its reason, sorted by the names of the stores. Take out what shall stay.
    pub stores: Vec<InvalidStore>,
}

/// What became of one store of a plan.
#[derive(Debug)]
#[non_exhaustive]
pub struct PrunedStore {
    /// Directory of the store.
    pub store: PathBuf,
    /// Path that its worktree had, where it tells.
    pub path: Option<PathBuf>,
    /// What happened.
    pub outcome: PruneOutcome,
}

/// What a prune did with a store.
#[derive(Debug)]
#[non_exhaustive]
pub enum PruneOutcome {
    /// It is gone.
    Removed {
        /// Number of bytes that its files took; 0 where another prune was faster.
        bytes: u64,
    },
    /// It stays, for this reason, which may be another one than that of the plan.
    Kept(WorkspaceState),
    /// It should go but could not; it stays whole, or the next prune deletes what is left of it.
    Failed(Error),
}

impl CheckpointService {
    /// Lists every store that has no worktree, each with its reason; and what stands beside the stores.
    ///
    /// # Errors
    /// [`Error::Store`] when the checkpoint directory cannot be read.
    pub fn invalid(&self) -> Result<PrunePlan> {
        plan(&self.config().checkpoint_dir)
    }

    /// Removes the stores of `plan` that are [removable](InvalidStore::is_removable), each after another look at it
    /// under its lock. A store that cannot be removed is an outcome, and the others are gone on with.
    ///
    /// # Errors
    /// [`Error::Store`] when the checkpoint directory cannot be read, or what an interrupted prune left cannot be
    /// deleted; nothing was removed then.
    pub fn prune(&self, plan: PrunePlan) -> Result<Vec<PrunedStore>> {
        let pruned = act(&self.config().checkpoint_dir, plan, self.store_options())?;
        for store in &pruned {
            if let (Some(path), PruneOutcome::Removed { .. }) = (&store.path, &store.outcome) {
                self.close(path);
            }
        }
        Ok(pruned)
    }

    /// Removes all stores whose worktree is gone: [`invalid`](Self::invalid) and [`prune`](Self::prune) in one.
    ///
    /// # Errors
    /// As for these.
    pub fn prune_invalid(&self) -> Result<Vec<PrunedStore>> {
        self.prune(self.invalid()?)
    }
}

/// Removes all stores under `stores_root` whose worktree is gone, and tells what became of each store that has none.
///
/// # Errors
/// As for [`CheckpointService::prune`].
pub fn prune_stores(stores_root: &Path) -> Result<Vec<PrunedStore>> {
    act(stores_root, plan(stores_root)?, &StoreOptions::default())
}

fn plan(checkpoint_dir: &Path) -> Result<PrunePlan> {
    let all = stores(checkpoint_dir)?.into_iter().map(workspace);
    let invalid = all.filter(|workspace| workspace.state != WorkspaceState::Valid);
    let entry = |Workspace { path, store, state }| InvalidStore { store, path, reason: state };
    Ok(PrunePlan { stores: invalid.map(entry).collect() })
}

fn act(checkpoint_dir: &Path, plan: PrunePlan, options: &StoreOptions) -> Result<Vec<PrunedStore>> {
    sweep_removed(checkpoint_dir)?;
    // The plan may have waited for a person's yes: whether a worktree was moved is seen only among all stores.
    let now: HashMap<PathBuf, StoreState> =
        stores(checkpoint_dir)?.into_iter().map(|entry| (entry.path, entry.state)).collect();
    let prune = |invalid: InvalidStore| {
        let outcome = if invalid.is_removable() {
            remove(&invalid.store, now.get(&invalid.store), options)
        } else {
            PruneOutcome::Kept(invalid.reason)
        };
        PrunedStore { store: invalid.store, path: invalid.path, outcome }
    };
    Ok(plan.stores.into_iter().map(prune).collect())
}

/// Removes one store, of which `now` is the newest state; `None` is a store that another prune removed.
fn remove(store: &Path, now: Option<&StoreState>, options: &StoreOptions) -> PruneOutcome {
    let kept = |state| PruneOutcome::Kept(told_apart(state).1);
    match now {
        Some(StoreState::Gone { .. }) => match remove_store(store, options) {
            Ok(Removal::Removed { bytes, .. }) => PruneOutcome::Removed { bytes },
            Ok(Removal::Kept(state)) => kept(state),
            Ok(_) => PruneOutcome::Removed { bytes: 0 },
            Err(err) => PruneOutcome::Failed(err.into()),
        },
        Some(state) => kept(state.clone()),
        None => PruneOutcome::Removed { bytes: 0 },
    }
}
