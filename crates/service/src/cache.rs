//! The stores that are open: the ones used last stay, each is opened once however many ask for it.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ckpt_core::CheckpointStore;
use lru::LruCache;

use crate::Result;

/// Open stores by the real paths of their worktrees.
pub(crate) struct Cache(Mutex<Shelves>);

struct Shelves {
    open: LruCache<PathBuf, CheckpointStore>,
    /// Where callers wait for the one of them that opens. Apart from `open`, so that an eviction lets nobody in twice.
    gates: HashMap<PathBuf, Arc<Mutex<()>>>,
}

impl Cache {
    pub(crate) fn new(size: NonZeroUsize) -> Self {
        Self(Mutex::new(Shelves { open: LruCache::new(size), gates: HashMap::new() }))
    }

    /// The open store of `worktree`, or else what `open` gives; `None` and errors are not kept. Callers that ask for the
    /// same worktree meanwhile wait, others do not.
    pub(crate) fn find_or_open(
        &self,
        worktree: &Path,
        open: impl FnOnce() -> Result<Option<CheckpointStore>>,
    ) -> Result<Option<CheckpointStore>> {
        if let Some(store) = self.find(worktree) {
            return Ok(Some(store));
        }
        let gate = Arc::clone(self.shelves().gates.entry(worktree.to_owned()).or_default());
        let turn = gate.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match self.find(worktree) {
            Some(store) => Ok(Some(store)),
            None => open(),
        };
        let mut shelves = self.shelves();
        if let Ok(Some(store)) = &found {
            shelves.open.put(worktree.to_owned(), store.clone());
        }
        // Gates are handed out under the same lock: two are the map's and ours, a third is somebody who waits.
        if Arc::strong_count(&gate) == 2 {
            shelves.gates.remove(worktree);
        }
        drop(shelves);
        drop(turn);
        found
    }

    /// Closes the store of `worktree`, so that what was deleted of it gives its space back. Handles that others hold
    /// stay open.
    pub(crate) fn forget(&self, worktree: &Path) {
        self.shelves().open.pop(worktree);
    }

    /// The open store of `worktree`, if it is still the one on disk.
    fn find(&self, worktree: &Path) -> Option<CheckpointStore> {
        let store = self.shelves().open.get(worktree).cloned()?;
        if store.is_current() {
            return Some(store);
        }
        self.forget(worktree);
        None
    }

    fn shelves(&self) -> MutexGuard<'_, Shelves> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of open stores, and of callers' gates.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let shelves = self.shelves();
        (shelves.open.len(), shelves.gates.len())
    }
}
