//! Restores in situations that the model test found: each is the smallest input that showed a fault.

use std::fs;

use ckpt_core::CheckpointStore;

use super::place::{Place, place};

#[test]
fn packs_that_are_merged_stay() {
    let Place { worktree, store, .. } = &place();
    for number in 0_u32..40 {
        fs::write(worktree.join("f"), number.to_string()).unwrap();
        store.save("m").unwrap();
        assert_eq!(store.checkpoints().unwrap().len() as u32, number + 1);
    }
}

#[test]
fn a_directory_with_ignored_files_gives_way_to_a_file() {
    let Place { worktree, store, .. } = &place();
    fs::write(worktree.join(".gitignore"), "*.o\n").unwrap();
    fs::write(worktree.join("f"), "file").unwrap();
    let first = store.save("1").unwrap().id;
    fs::remove_file(worktree.join("f")).unwrap();
    fs::create_dir(worktree.join("f")).unwrap();
    fs::write(worktree.join("f/x.o"), "ignored").unwrap();
    assert!(store.reset(first).unwrap().is_complete());
    assert_eq!(fs::read_to_string(worktree.join("f")).unwrap(), "file");
    assert!(store.undo().unwrap().unwrap().is_complete());
    assert_eq!(fs::read_to_string(worktree.join("f/x.o")).unwrap(), "ignored");
}

#[test]
fn undo_leaves_a_directory_that_took_the_place_of_a_file() {
    let Place { worktree, store, .. } = &place();
    fs::write(worktree.join("f"), "file").unwrap();
    let first = store.save("1").unwrap().id;
    fs::remove_file(worktree.join("f")).unwrap();
    store.reset(first).unwrap();
    fs::remove_file(worktree.join("f")).unwrap();
    fs::create_dir(worktree.join("f")).unwrap();
    fs::write(worktree.join("f/mine"), "mine").unwrap();
    store.undo().unwrap().unwrap();
    assert_eq!(fs::read_to_string(worktree.join("f/mine")).unwrap(), "mine");
}

#[test]
fn rollback_of_a_path_makes_its_directory_again() {
    let Place { worktree, store, .. } = &place();
    fs::create_dir(worktree.join("d")).unwrap();
    fs::write(worktree.join("d/f"), "f").unwrap();
    fs::write(worktree.join("d/g"), "g").unwrap();
    let first = store.save("1").unwrap().id;
    fs::remove_dir_all(worktree.join("d")).unwrap();
    assert!(store.rollback(first, &["d/f"]).unwrap().is_complete());
    assert_eq!(fs::read_to_string(worktree.join("d/f")).unwrap(), "f");
    assert!(!worktree.join("d/g").exists());
    store.undo().unwrap().unwrap();
    assert!(!worktree.join("d").exists());
    fs::write(worktree.join("d"), "a file by now").unwrap();
    assert!(store.rollback(first, &["d/f"]).unwrap().is_complete());
    assert_eq!(fs::read_to_string(worktree.join("d/f")).unwrap(), "f");
    store.undo().unwrap().unwrap();
    assert_eq!(fs::read_to_string(worktree.join("d")).unwrap(), "a file by now");
}

#[test]
fn rollback_of_a_name_that_no_tree_holds_leaves_it() {
    let Place { worktree, store, .. } = &place();
    fs::write(worktree.join("git~1"), "x").unwrap();
    let first = store.save("1").unwrap().id;
    store.rollback(first, &["git~1"]).unwrap();
    assert_eq!(fs::read_to_string(worktree.join("git~1")).unwrap(), "x");
    assert!(store.rollback(first, &["git~1/below"]).is_err());
}

/// Dies when the first path is in place, as a process does: the lock goes, the journal stays.
struct Dies;

impl ckpt_core::Observer for Dies {
    fn event(&self, event: ckpt_core::Event<'_>) {
        if matches!(event, ckpt_core::Event::Restored { .. }) {
            std::panic::resume_unwind(Box::new(()));
        }
    }
}

#[test]
fn a_directory_that_was_just_made_is_finished_after_a_crash() {
    let Place { temp, worktree, store } = &place();
    fs::create_dir(worktree.join("d")).unwrap();
    fs::write(worktree.join("d/f"), "f").unwrap();
    let first = store.save("1").unwrap().id;
    fs::remove_dir_all(worktree.join("d")).unwrap();
    fs::write(worktree.join("d"), "a file by now").unwrap();
    let mut options = store.options().clone();
    options.observer = std::sync::Arc::new(Dies);
    let dying = CheckpointStore::open_or_create(&temp.path().join("c"), worktree, options).unwrap();
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| dying.reset(first))).is_err());
    drop(dying);
    let status = store.status().unwrap();
    assert_eq!(status.recovered.unwrap().kept, []);
    assert!(status.changes.is_empty());
    assert_eq!(fs::read_to_string(worktree.join("d/f")).unwrap(), "f");
}
