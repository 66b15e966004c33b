//! The service: stores of directories, by one configuration.

use std::fmt;
use std::path::Path;

use ckpt_config::{Config, Loader};
use ckpt_core::{CheckpointStore, StoreFault, StoreOptions, Worktree};

use crate::cache::Cache;
use crate::{Result, ServiceBuilder, StoreError, builder, redirect};

/// Gives the stores of directories, and knows all that there are.
///
/// One is enough for a process, from as many threads as wanted; several do not disturb each other, as several processes
/// do not. A directory is known by its real path: links, `.`, `..` and trailing slashes make no second workspace.
pub struct CheckpointService {
    config: Config,
    options: StoreOptions,
    sources: Option<Loader>,
    cache: Cache,
}

impl fmt::Debug for CheckpointService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, _) = self.cache.counts();
        // The sources hold the environment, which is nobody's business in a log.
        f.debug_struct("CheckpointService").field("config", &self.config).field("open", &open).finish_non_exhaustive()
    }
}

impl CheckpointService {
    /// Makes a service. `checkpoint_dir` should be absolute, as [`Config::new`] makes it: a relative one that was set
    /// afterwards moves with the working directory. Touches no file; the directory is made when the first store is.
    pub fn new(config: Config) -> Self {
        Self::builder(config).build()
    }

    /// Starts a service that needs more than a configuration.
    pub fn builder(config: Config) -> ServiceBuilder {
        ServiceBuilder::new(config)
    }

    pub(crate) fn with(config: Config, options: StoreOptions, sources: Option<Loader>) -> Self {
        let cache = Cache::new(config.cache_size);
        Self { config, options, sources, cache }
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The options that stores are opened with.
    pub fn store_options(&self) -> &StoreOptions {
        &self.options
    }

    /// The store of the directory `worktree`, made on first access. Nothing is saved by that.
    ///
    /// The last [`cache_size`](Config::cache_size) stores stay open. A handle works on when its store is closed here,
    /// and when the store was removed or replaced on disk the next call gives a new one.
    ///
    /// # Errors
    /// What [`CheckpointStore::open_or_create`] answers. In a service with [sources](ServiceBuilder::sources)
    /// [`Error::Config`](crate::Error::Config), and [`Error::Redirected`](crate::Error::Redirected) as [`check_redirect`](crate::check_redirect) says it; nothing is
    /// written then.
    pub fn store(&self, worktree: &Path) -> Result<CheckpointStore> {
        let worktree = Worktree::locate(worktree)?;
        let open = || {
            let options = self.options_of(&worktree)?;
            Ok(Some(CheckpointStore::open_or_create(&self.config.checkpoint_dir, worktree.path(), options)?))
        };
        let absent = || StoreError::Store { path: self.config.checkpoint_dir.clone(), reason: StoreFault::Absent };
        self.cache.find_or_open(worktree.path(), open)?.ok_or_else(|| absent().into())
    }

    /// The store of the directory `worktree`; `None` where there is none. Never writes. The directory itself may be
    /// missing: its checkpoints can be read, and a reset makes it again.
    ///
    /// # Errors
    /// As for [`CheckpointService::store`].
    pub fn existing_store(&self, worktree: &Path) -> Result<Option<CheckpointStore>> {
        let worktree = Worktree::locate(worktree)?;
        let open = || {
            let options = self.options_of(&worktree)?;
            Ok(CheckpointStore::open(&self.config.checkpoint_dir, worktree.path(), options)?)
        };
        self.cache.find_or_open(worktree.path(), open)
    }

    /// Closes the store of a worktree that was removed.
    pub(crate) fn close(&self, worktree: &Path) {
        self.cache.forget(worktree);
    }

    /// The options for one worktree: its own files decide neither where its checkpoints are nor how safe they are.
    fn options_of(&self, worktree: &Worktree) -> Result<StoreOptions> {
        let mut options = self.options.clone();
        if let Some(sources) = &self.sources {
            let loaded = sources.clone().worktree(Some(worktree.path())).load()?;
            if let Some(redirect) = &loaded.redirect
                && redirect.from != self.config.checkpoint_dir
            {
                redirect::refuse_if_held(redirect, worktree)?;
            }
            builder::apply_trusted(&mut options, &loaded.config);
        }
        Ok(options)
    }
}
