//! Restores in situations that the model test found: each is the smallest input that showed a fault.

use std::fs;
use std::path::PathBuf;

use ckpt_core::{CheckpointStore, Durability, StoreOptions};

struct Place {
    _temp: tempfile::TempDir,
    worktree: PathBuf,
    store: CheckpointStore,
}

fn place() -> Place {
    let temp = tempfile::tempdir().unwrap();
    let worktree = temp.path().join("w");
    fs::create_dir(&worktree).unwrap();
    let mut options = StoreOptions::default();
    options.durability = Durability::None;
    let store = CheckpointStore::open_or_create(&temp.path().join("c"), &worktree, options).unwrap();
    Place { _temp: temp, worktree, store }
}

#[test]
fn packs_that_are_merged_stay() {
    let Place { worktree, store, .. } = &place();
    for number in 0_u32..40 {
        fs::write(worktree.join("f"), number.to_string()).unwrap();
        store.save("m").unwrap();
        assert_eq!(store.checkpoints().unwrap().len() as u32, number + 1);
    }
}
