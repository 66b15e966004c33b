//! `save` through the library: what is in the store afterwards.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use ckpt_core::{CheckpointStore, Clock, Error, Observer, StoreId, StoreOptions};

struct Ticking(AtomicI64);

impl Clock for Ticking {
    fn now_ns(&self) -> i64 {
        self.0.fetch_add(1_000_000_000, Ordering::Relaxed)
    }
}

fn options() -> StoreOptions {
    let mut options = StoreOptions::default();
    options.clock = Arc::new(Ticking(AtomicI64::new(1_700_000_000_000_000_000)));
    options.store_id = Some(StoreId::from_bytes([7; 16]));
    options
}

fn git(store: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .arg("--git-dir")
        .arg(store)
        .args(args)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {text}");
    text
}

fn oracle(store: &CheckpointStore) {
    git(store.path(), &["fsck", "--full", "--strict"]);
    let clone = tempfile::tempdir().unwrap();
    git(
        store.path(),
        &["clone", "--bare", "--no-local", &store.path().to_string_lossy(), &clone.path().join("c").to_string_lossy()],
    );
}

#[test]
fn a_save_is_git_history_and_a_second_one_writes_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let worktree = temp.path().join("w");
    std::fs::create_dir_all(worktree.join("src/deep")).unwrap();
    std::fs::create_dir(worktree.join("empty")).unwrap();
    std::fs::write(worktree.join("a.txt"), "one\n").unwrap();
    std::fs::write(worktree.join("src/deep/b.rs"), "fn main() {}\n").unwrap();
    std::os::unix::fs::symlink("../a.txt", worktree.join("src/link")).unwrap();
    let store = CheckpointStore::open_or_create(&temp.path().join("ckpt"), &worktree, options()).unwrap();
    assert!(store.was_created());
    assert_eq!(store.head().unwrap(), None);
    let first = store.save("first").unwrap();
    assert!(first.created);
    assert_eq!((first.files, first.changes.added), (3, 4));
    oracle(&store);
    let again = store.save("again").unwrap();
    assert!(!again.created);
    assert_eq!((again.id, again.message.as_slice()), (first.id, b"first".as_slice()));
    std::fs::write(worktree.join("a.txt"), "two\n").unwrap();
    let second = store.save("second").unwrap();
    assert!(second.created);
    assert_eq!(second.changes.modified, 1);
    oracle(&store);
    let listed = git(store.path(), &["ls-tree", "-r", "-t", "--name-only", &second.id.to_string()]);
    assert_eq!(listed, "a.txt\nempty\nsrc\nsrc/deep\nsrc/deep/b.rs\nsrc/link\n");
    let ids: Vec<_> = store.checkpoints().unwrap().into_iter().map(|info| info.id).collect();
    assert_eq!(ids, [first.id, second.id]);
    assert_eq!(store.resolve("HEAD~1").unwrap().id, first.id);
    assert_eq!(store.resolve(&second.id.to_string()[..6]).unwrap().id, second.id);
    assert!(store.status().unwrap().is_clean());
}

#[test]
fn a_renamed_worktree_is_moved_not_gone_c15() {
    let temp = tempfile::tempdir().unwrap();
    let (old, new) = (temp.path().join("p"), temp.path().join("q"));
    let stores = temp.path().join("ckpt");
    std::fs::create_dir(&old).unwrap();
    std::fs::write(old.join("f"), "x").unwrap();
    CheckpointStore::open_or_create(&stores, &old, options()).unwrap().save("first").unwrap();
    std::fs::rename(&old, &new).unwrap();
    let state = ckpt_core::stores(&stores).unwrap().remove(0).state;
    let real = |path: &Path| temp.path().canonicalize().unwrap().join(path.file_name().unwrap());
    let moved = |store| ckpt_core::StoreState::Moved { worktree: real(&old), to: real(&new), store };
    assert_eq!(state, moved(None));
    let there = CheckpointStore::open_or_create(&stores, &new, options()).unwrap();
    let states: Vec<_> = ckpt_core::stores(&stores).unwrap().into_iter().map(|entry| entry.state).collect();
    assert!(states.contains(&moved(Some(there.path().to_owned()))), "{states:?}");
    std::fs::remove_dir_all(&new).unwrap();
    let state = ckpt_core::stores(&stores).unwrap().remove(0).state;
    assert_eq!(state, ckpt_core::StoreState::Gone { worktree: real(&old) });
}

#[test]
fn the_same_files_clock_and_store_id_give_the_same_checkpoint_id_e1() {
    let ids: Vec<_> = (0..2)
        .map(|_| {
            let temp = tempfile::tempdir().unwrap();
            let worktree = temp.path().join("w");
            std::fs::create_dir(&worktree).unwrap();
            std::fs::write(worktree.join("f"), "x").unwrap();
            let store = CheckpointStore::open_or_create(&temp.path().join("c"), &worktree, options()).unwrap();
            let first = store.save("first").unwrap().id;
            std::fs::write(worktree.join("f"), "y").unwrap();
            (first, store.save("second").unwrap().id)
        })
        .collect();
    assert_eq!(ids[0], ids[1]);
    assert_ne!(ids[0].0, ids[0].1);
}

#[test]
fn what_one_checkpoint_says_of_itself_leaves_the_history_open() {
    let temp = tempfile::tempdir().unwrap();
    let worktree = temp.path().join("w");
    std::fs::create_dir(&worktree).unwrap();
    let store = CheckpointStore::open_or_create(&temp.path().join("c"), &worktree, options()).unwrap();
    let id = store.save("first").unwrap().id;
    let asked = |infos: Vec<ckpt_core::CheckpointInfo>| infos.iter().map(|info| info.in_lineage).collect::<Vec<_>>();
    assert_eq!(store.checkpoint(id).unwrap().in_lineage, None);
    assert_eq!(store.status().unwrap().head.unwrap().in_lineage, None);
    assert_eq!(asked(store.lineage().unwrap()), [Some(true)]);
    assert_eq!(asked(store.checkpoints().unwrap()), [Some(true)]);
}

/// Asks for an end at the given question, and counts them.
struct StopAt {
    stop_at: AtomicU64,
    asked: AtomicU64,
}

impl Observer for StopAt {
    fn interrupted(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed) + 1 >= self.stop_at.load(Ordering::Relaxed)
    }
}

#[test]
fn a_save_of_one_large_file_can_be_stopped_anywhere_in_it() {
    const MEBIBYTES: u64 = 24;
    let temp = tempfile::tempdir().unwrap();
    let worktree = temp.path().join("w");
    std::fs::create_dir(&worktree).unwrap();
    // Half of it is deflated and half of it stored, in two files, so that both ways are stopped.
    let text = "a line of a log\n".repeat(1 << 16);
    let noise: Vec<u8> =
        (0..1_u64 << 17).flat_map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23).to_le_bytes()).collect();
    std::fs::write(worktree.join("text"), text.repeat(MEBIBYTES as usize)).unwrap();
    std::fs::write(worktree.join("noise"), noise.repeat(MEBIBYTES as usize)).unwrap();
    let observer = Arc::new(StopAt { stop_at: AtomicU64::new(u64::MAX), asked: AtomicU64::new(0) });
    let open = |name: &str| {
        let mut options = options();
        options.observer = Arc::clone(&observer) as Arc<dyn Observer>;
        CheckpointStore::open_or_create(&temp.path().join(name), &worktree, options).unwrap()
    };
    open("counted").save("whole").unwrap();
    let asked = observer.asked.swap(0, Ordering::Relaxed);
    // Each of the files is hashed once and read once more.
    assert!(asked >= 4 * MEBIBYTES, "asked {asked} times only");
    for stop_at in (1..asked).step_by(usize::try_from(asked / 16).unwrap()) {
        observer.stop_at.store(stop_at, Ordering::Relaxed);
        observer.asked.store(0, Ordering::Relaxed);
        let store = open("stopped");
        let stopped = store.save("stopped");
        assert!(matches!(stopped, Err(Error::Interrupted)), "at {stop_at} of {asked}: {stopped:?}");
        assert!(store.head().unwrap().is_none());
        let after = observer.asked.load(Ordering::Relaxed);
        assert!(after <= stop_at + 4, "it went on after {stop_at}, up to {after}");
    }
    observer.stop_at.store(u64::MAX, Ordering::Relaxed);
    let store = open("stopped");
    let saved = store.save("whole").unwrap();
    assert_eq!((saved.files, saved.bytes), (2, (2 * MEBIBYTES) << 20));
    oracle(&store);
    let left = std::fs::read_dir(store.path().join("ckpt")).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(left.into_iter().all(|name| !name.to_string_lossy().starts_with("tmp-")));
}
