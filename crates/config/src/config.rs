//! The configuration itself, as the rest of the workspace uses it.
//!
//! Plain data: nothing here looks at a file. There is no `Default`, because the default of `checkpoint_dir` needs a home
//! directory, and a library does not look one up behind its caller's back; use [`Config::new`], [`Config::in_home`], or
//! a [`Loader`](crate::Loader).

use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::setting::Setting;

/// Name of the directory in the home directory that holds the stores by default.
pub const DEFAULT_DIR_NAME: &str = ".fabricatio-checkpoint";

/// Default of `cache_size`.
const DEFAULT_CACHE_SIZE: NonZeroUsize = NonZeroUsize::MIN.saturating_add(99);

/// Holds every setting of the key `checkpoint`.
///
/// Built by [`Config::new`] and changed field by field, or by a [`Loader`](crate::Loader):
///
/// ```
/// let mut config = ckpt_config::Config::new("/srv/checkpoints");
/// config.threads = 2;
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Directory of the stores; absolute when it comes from a loader or [`Config::new`]. Default: `.fabricatio-checkpoint` in the home
    /// directory.
    pub checkpoint_dir: PathBuf,
    /// Number of stores that one process keeps open. Default: 100.
    pub cache_size: NonZeroUsize,
    /// Largest file that is saved, in bytes; 0 for no limit. Default: 100 MiB.
    pub max_file_bytes: u64,
    /// Globs of paths that are not saved, in addition to the ignore files. Default: none.
    pub exclude: Vec<String>,
    /// Whether directories with a valid `CACHEDIR.TAG` are left out. Default: true.
    pub skip_cache_dirs: bool,
    /// Whether a save waits until its bytes are on the disk. Default: full.
    pub durability: Durability,
    /// How long a writer waits for another one; zero to give up at once. Default: 30 s.
    pub lock_timeout: Duration,
    /// Number of threads that read files; 0 for one a core. Default: 0.
    pub threads: usize,
    /// Whether stores on network file systems are accepted. Default: false.
    pub allow_network_fs: bool,
}

impl Config {
    /// Makes the default configuration with its stores in `checkpoint_dir`. A relative one is taken from the current
    /// directory of now, so that it stays where it is when that changes.
    pub fn new(checkpoint_dir: impl Into<PathBuf>) -> Self {
        let checkpoint_dir = checkpoint_dir.into();
        Self::at(std::path::absolute(&checkpoint_dir).unwrap_or(checkpoint_dir))
    }

    fn at(checkpoint_dir: PathBuf) -> Self {
        Self {
            checkpoint_dir,
            cache_size: DEFAULT_CACHE_SIZE,
            max_file_bytes: 100 << 20,
            exclude: Vec::new(),
            skip_cache_dirs: true,
            durability: Durability::Full,
            lock_timeout: Duration::from_secs(30),
            threads: 0,
            allow_network_fs: false,
        }
    }

    /// Makes the default configuration of the person whose home directory is `home`.
    #[must_use]
    pub fn in_home(home: &Path) -> Self {
        Self::at(home.join(DEFAULT_DIR_NAME))
    }

    /// Lists all settings in the order of [`keys`](crate::keys).
    pub fn settings(&self) -> Vec<Setting> {
        vec![
            Setting::CheckpointDir(self.checkpoint_dir.clone()),
            Setting::CacheSize(self.cache_size),
            Setting::MaxFileBytes(self.max_file_bytes),
            Setting::Exclude(self.exclude.clone()),
            Setting::SkipCacheDirs(self.skip_cache_dirs),
            Setting::Durability(self.durability),
            Setting::LockTimeout(self.lock_timeout),
            Setting::Threads(self.threads),
            Setting::AllowNetworkFs(self.allow_network_fs),
        ]
    }

    /// Puts one setting in its field.
    pub fn apply(&mut self, setting: Setting) {
        match setting {
            Setting::CheckpointDir(dir) => self.checkpoint_dir = dir,
            Setting::CacheSize(size) => self.cache_size = size,
            Setting::MaxFileBytes(bytes) => self.max_file_bytes = bytes,
            Setting::Exclude(globs) => self.exclude = globs,
            Setting::SkipCacheDirs(skip) => self.skip_cache_dirs = skip,
            Setting::Durability(durability) => self.durability = durability,
            Setting::LockTimeout(timeout) => self.lock_timeout = timeout,
            Setting::Threads(threads) => self.threads = threads,
            Setting::AllowNetworkFs(allow) => self.allow_network_fs = allow,
        }
    }
}

/// Says whether a save waits until its bytes are on the disk.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Durability {
    /// A reported save survives a power cut.
    #[default]
    Full,
    /// Nothing is flushed: a power cut may take the newest checkpoints. For tests.
    None,
}

impl fmt::Display for Durability {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Full => "full",
            Self::None => "none",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys;

    #[test]
    fn a_relative_directory_stays_where_it_is() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(Config::new("cps").checkpoint_dir, here.join("cps"));
        assert_eq!(Config::new("/a/../b").checkpoint_dir, Path::new("/a/../b"));
    }

    #[test]
    fn defaults_are_those_of_the_key_table() {
        let config = Config::in_home(Path::new("~"));
        for (key, setting) in keys().iter().zip(config.settings()) {
            assert_eq!(setting.key().name, key.name);
            assert_eq!(setting.to_string().replace('\\', "/"), key.default, "default of {}", key.name);
        }
        assert_eq!(config.settings().len(), keys().len());
    }

    #[test]
    fn applying_all_settings_gives_the_same_configuration() {
        let mut wanted = Config::new("/a");
        wanted.exclude = vec!["*.log".to_owned()];
        wanted.durability = Durability::None;
        wanted.allow_network_fs = true;
        let mut config = Config::new("/b");
        wanted.settings().into_iter().for_each(|setting| config.apply(setting));
        assert_eq!(config, wanted);
    }
}
