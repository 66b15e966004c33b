//! What a caller decides about a store.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ckpt_fs::Durability;

use crate::snapshot::rules::RuleOptions;
use crate::{Clock, Observer, Silent, StoreId, SystemClock};

/// Options of a store. `StoreOptions::default()` is what most callers want; the fields are public for those who do not.
#[derive(Clone)]
#[non_exhaustive]
pub struct StoreOptions {
    /// What is left out of checkpoints. Default: nothing but files above 100 MiB and marked caches.
    pub rules: RuleOptions,
    /// Whether success waits for the disk. Default: [`Durability::Full`].
    pub durability: Durability,
    /// How long to wait for another process that holds the workspace. Default: 30 s.
    pub lock_timeout: Duration,
    /// Threads of a walk; 0 = one a core. Default: 0.
    pub threads: usize,
    /// Whether worktrees and stores on network file systems are taken. Default: false.
    pub allow_network_fs: bool,
    /// Directories that are no workspaces unless `force_worktree` is set: the home directory, `/`. Absolute.
    /// Default: none.
    pub refused_worktrees: Vec<PathBuf>,
    /// Takes a refused directory all the same, or one that holds the checkpoint directory. Remembered by the store.
    /// Default: false.
    pub force_worktree: bool,
    /// Source of the times in checkpoints. Default: the system's clock.
    pub clock: Arc<dyn Clock>,
    /// Identity of a store that is made now. Default: random.
    pub store_id: Option<StoreId>,
    /// Listener. Default: none.
    pub observer: Arc<dyn Observer>,
}

impl StoreOptions {
    /// Number of threads that work may be shared by.
    pub(crate) fn thread_count(&self) -> usize {
        match self.threads {
            0 => cores(),
            threads => threads,
        }
    }

    /// Number of threads for so many shares of work that are each worth a thread; at least one.
    pub(crate) fn threads_for(&self, shares: usize) -> usize {
        if shares < 2 { 1 } else { self.thread_count().min(shares) }
    }
}

/// Cores that this process may use. Asked once: the answer takes a dozen system calls.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            rules: RuleOptions::default(),
            durability: Durability::Full,
            lock_timeout: Duration::from_secs(30),
            threads: 0,
            allow_network_fs: false,
            refused_worktrees: Vec::new(),
            force_worktree: false,
            clock: Arc::new(SystemClock),
            store_id: None,
            observer: Arc::new(Silent),
        }
    }
}

impl fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreOptions")
            .field("rules", &self.rules)
            .field("durability", &self.durability)
            .field("lock_timeout", &self.lock_timeout)
            .field("threads", &self.threads)
            .field("allow_network_fs", &self.allow_network_fs)
            .field("refused_worktrees", &self.refused_worktrees)
            .field("force_worktree", &self.force_worktree)
            .field("store_id", &self.store_id)
            .finish_non_exhaustive()
    }
}
