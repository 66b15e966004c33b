//! The service of the process. The only file of this crate that looks at the environment.

use std::env;

use ckpt_config::{Config, Loader};
use once_cell::sync::OnceCell;

use crate::{CheckpointService, Error, Result};

static SERVICE: OnceCell<CheckpointService> = OnceCell::new();

impl CheckpointService {
    /// The service of this process. The first call makes it, from the same sources as the `ckpt` command: environment,
    /// the nearest `fabricatio.toml` and `pyproject.toml` at or above the working directory, the user's file, defaults.
    /// The home directory is refused as a workspace.
    ///
    /// # Errors
    /// [`Error::Config`], [`Error::WorkingDir`]. A failed call decides nothing: the next one tries again.
    pub fn global() -> Result<&'static Self> {
        SERVICE.get_or_try_init(|| {
            let working_dir = env::current_dir().map_err(Error::WorkingDir)?;
            let loader = Loader::new(working_dir).environment_of_process();
            let config = loader.load()?.config;
            Ok(Self::builder(config).refused_worktrees(home()).sources(loader).build())
        })
    }

    /// Makes the service of this process from `config`, before anyone has used it. Files and environment are not asked.
    ///
    /// # Errors
    /// [`Error::AlreadyInitialized`]; of several callers at once exactly one wins.
    pub fn init_global(config: Config) -> Result<&'static Self> {
        let mut is_ours = false;
        let service = SERVICE.get_or_init(|| {
            is_ours = true;
            Self::builder(config).refused_worktrees(home()).build()
        });
        if is_ours { Ok(service) } else { Err(Error::AlreadyInitialized) }
    }
}

fn home() -> Vec<std::path::PathBuf> {
    env::home_dir().filter(|home| home.is_absolute()).into_iter().collect()
}
