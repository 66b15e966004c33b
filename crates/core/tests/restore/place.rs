//! A worktree and its store in a temporary directory.

use std::fs;
use std::path::PathBuf;

use ckpt_core::{CheckpointStore, Durability, StoreOptions};
use tempfile::TempDir;

/// Gone from the disk when it is dropped.
pub(crate) struct Place {
    /// Holds both.
    pub(crate) temp: TempDir,
    /// An empty directory `w`.
    pub(crate) worktree: PathBuf,
    /// Its store, in `c`; it does not flush to disk.
    pub(crate) store: CheckpointStore,
}

pub(crate) fn place() -> Place {
    let temp = tempfile::tempdir().unwrap();
    let worktree = temp.path().join("w");
    fs::create_dir(&worktree).unwrap();
    let mut options = StoreOptions::default();
    options.durability = Durability::None;
    let store = CheckpointStore::open_or_create(&temp.path().join("c"), &worktree, options).unwrap();
    Place { temp, worktree, store }
}
