//! One value of one key.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use crate::config::Durability;
use crate::key::{Key, keys};
use crate::quantity::{bytes_text, time_text};

/// Holds a value together with the key it belongs to; a variant for each key, in the order of [`keys`].
///
/// `Display` writes the value as it may stand in a file, without quotes around a path or a word.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// `checkpoint_dir`.
    CheckpointDir(PathBuf),
    /// `cache_size`, in stores.
    CacheSize(NonZeroUsize),
    /// `max_file_bytes`; 0 for no limit.
    MaxFileBytes(u64),
    /// `exclude`.
    Exclude(Vec<String>),
    /// `skip_cache_dirs`.
    SkipCacheDirs(bool),
    /// `durability`.
    Durability(Durability),
    /// `lock_timeout`.
    LockTimeout(Duration),
    /// `threads`; 0 for one a core.
    Threads(usize),
    /// `allow_network_fs`.
    AllowNetworkFs(bool),
}

impl Setting {
    /// Returns the key that this is a value of.
    pub fn key(&self) -> &'static Key {
        &keys()[match self {
            Self::CheckpointDir(_) => 0,
            Self::CacheSize(_) => 1,
            Self::MaxFileBytes(_) => 2,
            Self::Exclude(_) => 3,
            Self::SkipCacheDirs(_) => 4,
            Self::Durability(_) => 5,
            Self::LockTimeout(_) => 6,
            Self::Threads(_) => 7,
            Self::AllowNetworkFs(_) => 8,
        }]
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CheckpointDir(dir) => write!(out, "{}", dir.display()),
            Self::CacheSize(size) => write!(out, "{size}"),
            Self::MaxFileBytes(bytes) => out.write_str(&bytes_text(*bytes)),
            Self::Exclude(globs) => write!(out, "{globs:?}"),
            Self::SkipCacheDirs(yes) | Self::AllowNetworkFs(yes) => write!(out, "{yes}"),
            Self::Durability(durability) => write!(out, "{durability}"),
            Self::LockTimeout(time) => out.write_str(&time_text(*time)),
            Self::Threads(threads) => write!(out, "{threads}"),
        }
    }
}
