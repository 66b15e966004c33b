//! Refusing a configuration that would cut a workspace off from its checkpoints.
//!
//! An agent edits its workspace, so it could edit the file that says where the checkpoints are. Such a file is followed
//! as long as nothing is lost by it: until the workspace has checkpoints elsewhere.

use std::path::Path;

use ckpt_config::{Loaded, Redirect};
use ckpt_core::{CheckpointStore, StoreOptions, Worktree};

use crate::{Error, Result, StoreError};

/// Checks that no file inside `worktree` leads away from the store that it has already. `loaded` must come from a
/// [`Loader`](ckpt_config::Loader) that was told the [worktree](ckpt_config::Loader::worktree). Writes nothing.
///
/// # Errors
/// [`Error::Redirected`], with both directories and where each is written; a flag, a builder or the environment settles
/// it. [`Error::Store`] when it cannot be told whether there is a store.
pub fn check_redirect(loaded: &Loaded, worktree: &Path) -> Result<()> {
    match &loaded.redirect {
        Some(redirect) => refuse_if_held(redirect, &Worktree::locate(worktree)?),
        None => Ok(()),
    }
}

/// Fails if the directory that the sources outside the worktree give holds the worktree's store, in whatever state.
pub(crate) fn refuse_if_held(redirect: &Redirect, worktree: &Worktree) -> Result<()> {
    match CheckpointStore::open(&redirect.from, worktree.path(), StoreOptions::default()) {
        // A worktree that can have no store there has none.
        Ok(None) | Err(StoreError::Workspace { .. }) => Ok(()),
        Ok(Some(_)) | Err(StoreError::Store { .. } | StoreError::Object { .. }) => {
            Err(Error::Redirected(Box::new(redirect.clone())))
        }
        Err(err) => Err(err.into()),
    }
}
