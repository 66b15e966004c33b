//! Configuration of ckpt: the key `checkpoint`, layered by figment.
//!
//! A [`Loader`] is told where to look (working and project directory, environment, user directory) and answers with a
//! [`Loaded`]: the [`Config`], and for every key where its value comes from and what that value overrides. The sources,
//! highest first: explicit values, the environment, the nearest `fabricatio.toml`, the nearest `pyproject.toml`, the
//! user's file, defaults. They are merged key by key.
//!
//! The crate knows no stores and prints nothing. Ambient state is read by [`Loader::environment_of_process`] alone, so
//! a load is a function of its inputs and of the files it names. Whether a [`Redirect`] is harmful is for the caller to
//! decide, who knows which stores exist.
//!
//! ```
//! use ckpt_config::{Loader, Setting};
//!
//! let dir = tempfile::tempdir()?;
//! std::fs::write(dir.path().join("fabricatio.toml"), "[checkpoint]\ncache_size = 7\n")?;
//!
//! let loaded = Loader::new(dir.path())
//!     .home_dir("/home/ada")
//!     .environment([("FABRICATIO_CHECKPOINT__THREADS", "2")])
//!     .explicit(Setting::CheckpointDir("/srv/checkpoints".into()), "--checkpoint-dir")
//!     .load()?;
//!
//! assert_eq!(loaded.config.cache_size.get(), 7);
//! assert_eq!(loaded.config.threads, 2);
//! assert_eq!(loaded.config.checkpoint_dir, std::path::Path::new("/srv/checkpoints"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod config;
mod environment;
mod error;
mod file;
mod key;
mod layer;
mod loaded;
mod loader;
mod origin;
mod quantity;
mod reading;
mod reference;
mod search;
mod setting;
mod trust;
mod warning;

pub use config::{Config, DEFAULT_DIR_NAME, Durability};
pub use error::Error;
pub use key::{Key, keys};
pub use loaded::{Entry, Given, Loaded, Redirect};
pub use loader::Loader;
pub use origin::Origin;
pub use reference::reference_markdown;
pub use setting::Setting;
pub use warning::Warning;
