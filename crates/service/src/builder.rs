//! How a service is made: a configuration, and what no configuration file can say.

use std::path::PathBuf;
use std::sync::Arc;

use ckpt_config::{Config, Loader};
use ckpt_core::{Clock, Observer, StoreOptions};

use crate::CheckpointService;

/// Collects what a [`CheckpointService`] needs. Made by [`CheckpointService::builder`].
#[must_use]
pub struct ServiceBuilder {
    config: Config,
    options: StoreOptions,
    sources: Option<Loader>,
}

impl ServiceBuilder {
    pub(crate) fn new(config: Config) -> Self {
        let options = store_options(&config);
        Self { config, options, sources: None }
    }

    /// Directories that are no workspaces unless forced, such as the home directory. Absolute. `/` always is one.
    /// Default: none.
    pub fn refused_worktrees(mut self, dirs: Vec<PathBuf>) -> Self {
        self.options.refused_worktrees = dirs;
        self
    }

    /// Takes refused directories all the same; a store that is made so remembers it. Default: false.
    pub fn force_worktree(mut self, force: bool) -> Self {
        self.options.force_worktree = force;
        self
    }

    /// Listens to the operations of all stores. Default: nobody does.
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.options.observer = observer;
        self
    }

    /// Gives the times that are written into checkpoints. Default: the system's clock.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.options.clock = clock;
        self
    }

    /// The sources that the configuration was loaded from. They are asked again for each worktree that is opened, since
    /// files inside a worktree may not decide everything about it: see [`check_redirect`](crate::check_redirect).
    /// Default: none, the configuration holds for every worktree.
    pub fn sources(mut self, loader: Loader) -> Self {
        self.sources = Some(loader);
        self
    }

    /// Makes the service. Touches no file.
    pub fn build(self) -> CheckpointService {
        CheckpointService::with(self.config, self.options, self.sources)
    }
}

/// The options of a store that a configuration asks for.
fn store_options(config: &Config) -> StoreOptions {
    let mut options = StoreOptions::default();
    options.rules.exclude.clone_from(&config.exclude);
    options.rules.max_file_bytes = config.max_file_bytes;
    options.rules.skip_cache_dirs = config.skip_cache_dirs;
    options.threads = config.threads;
    options.allow_network_fs = config.allow_network_fs;
    apply_trusted(&mut options, config);
    options
}

/// The part of the options that files inside a worktree may not set.
pub(crate) fn apply_trusted(options: &mut StoreOptions, config: &Config) {
    options.durability = match config.durability {
        ckpt_config::Durability::None => ckpt_core::Durability::None,
        // A durability that a later version adds is not weaker than the strongest one that we know.
        _ => ckpt_core::Durability::Full,
    };
    options.lock_timeout = config.lock_timeout;
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_key_reaches_the_stores() {
        let mut config = Config::new("/c");
        config.exclude = vec!["*.log".to_owned()];
        config.max_file_bytes = 7;
        config.skip_cache_dirs = false;
        config.durability = ckpt_config::Durability::None;
        config.lock_timeout = Duration::from_millis(5);
        config.threads = 3;
        config.allow_network_fs = true;
        let service =
            CheckpointService::builder(config).force_worktree(true).refused_worktrees(vec!["/h".into()]).build();
        let options = service.store_options();
        assert_eq!(options.rules.exclude, ["*.log"]);
        assert_eq!((options.rules.max_file_bytes, options.rules.skip_cache_dirs), (7, false));
        assert_eq!(options.durability, ckpt_core::Durability::None);
        assert_eq!((options.lock_timeout, options.threads), (Duration::from_millis(5), 3));
        assert!(options.allow_network_fs && options.force_worktree);
        assert_eq!(options.refused_worktrees, [PathBuf::from("/h")]);
    }
}
