//! A place for a store inside an agent.

use std::fmt;
use std::path::Path;
use std::sync::{PoisonError, RwLock};

use ckpt_service::{CheckpointService, CheckpointStore, Result, StoreError, StoreFault, Worktree};

/// A field of an agent in which a store can be mounted and unmounted at run time, through a shared reference too.
///
/// An agent's own method that calls `self.save_checkpoint()` does not see a store that is [mounted](crate::Mounted)
/// *around* the agent. With a mount point inside it does: override
/// [`checkpoint_store`](crate::Checkpoint::checkpoint_store) with `self.mount.store_or_global(&self.dir)`.
#[derive(Default)]
pub struct MountPoint(RwLock<Option<CheckpointStore>>);

impl MountPoint {
    /// Makes an empty one.
    pub const fn new() -> Self {
        Self(RwLock::new(None))
    }

    /// Mounts `store`, and gives the one that was mounted before. Whether it is the right store is checked when it is
    /// used, since the agent's directory is not known here.
    pub fn mount(&self, store: CheckpointStore) -> Option<CheckpointStore> {
        self.0.write().unwrap_or_else(PoisonError::into_inner).replace(store)
    }

    /// Takes the mounted store out; from now on it is the global service's again.
    pub fn unmount(&self) -> Option<CheckpointStore> {
        self.0.write().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The mounted store.
    pub fn mounted(&self) -> Option<CheckpointStore> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The mounted store, or the store of `dir` in [`CheckpointService::global`].
    ///
    /// # Errors
    /// [`StoreFault::OtherWorktree`] when the mounted store is not that of `dir`; what the service answers when none is
    /// mounted.
    pub fn store_or_global(&self, dir: &Path) -> Result<CheckpointStore> {
        match self.mounted() {
            Some(store) => require_store_of(&store, dir).map(|()| store),
            None => CheckpointService::global()?.store(dir),
        }
    }
}

impl Clone for MountPoint {
    /// Makes another mount point with the same store in it; they are apart afterwards.
    fn clone(&self) -> Self {
        Self(RwLock::new(self.mounted()))
    }
}

impl fmt::Debug for MountPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MountPoint").field(&self.mounted()).finish()
    }
}

/// Refuses a store of another directory than `dir`, by their real paths.
pub(crate) fn require_store_of(store: &CheckpointStore, dir: &Path) -> Result<()> {
    if *store.worktree() == Worktree::locate(dir)? {
        return Ok(());
    }
    let reason = StoreFault::OtherWorktree(store.worktree().path().to_owned());
    Err(StoreError::Store { path: store.path().to_owned(), reason }.into())
}
