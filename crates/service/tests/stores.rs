//! Stores of a service: one for each directory however it is spelled, opened once, outliving eviction and removal.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ckpt_service::{CheckpointService, Clock, Config, Durability, StoreError, WorkspaceFault};
use tempfile::TempDir;

struct Sandbox {
    temp: TempDir,
}

impl Sandbox {
    fn new() -> Self {
        Self { temp: tempfile::tempdir().unwrap() }
    }

    fn config(&self) -> Config {
        let mut config = Config::new(self.temp.path().join("checkpoints"));
        config.durability = Durability::None;
        config
    }

    fn dir(&self, name: &str) -> PathBuf {
        let dir = self.temp.path().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        dir
    }
}

#[test]
fn a_service_crosses_threads() {
    fn assert_shared<T: Send + Sync + 'static>() {}
    assert_shared::<CheckpointService>();
    assert_shared::<ckpt_service::CheckpointStore>();
    assert_shared::<ckpt_service::Error>();
}

#[test]
fn a_directory_is_one_workspace_however_it_is_spelled() {
    let sandbox = Sandbox::new();
    let service = CheckpointService::new(sandbox.config());
    let dir = sandbox.dir("project");
    std::os::unix::fs::symlink(&dir, sandbox.temp.path().join("link")).unwrap();
    let id = service.store(&dir).unwrap().id();
    for spelling in ["project/", "project/.", "project/../project", "link", "link/"] {
        assert_eq!(service.store(&sandbox.temp.path().join(spelling)).unwrap().id(), id, "{spelling}");
    }
    assert_eq!(service.workspaces().unwrap().len(), 1);
}

#[test]
fn readers_write_nothing() {
    let sandbox = Sandbox::new();
    let service = CheckpointService::new(sandbox.config());
    assert!(service.existing_store(&sandbox.dir("project")).unwrap().is_none());
    assert!(service.existing_store(&sandbox.temp.path().join("absent")).unwrap().is_none());
    assert!(service.workspaces().unwrap().is_empty());
    assert!(service.invalid().unwrap().stores.is_empty());
    assert!(service.prune_invalid().unwrap().is_empty());
    assert!(!sandbox.temp.path().join("checkpoints").exists());
    service.store(&sandbox.dir("project")).unwrap();
    assert!(service.existing_store(&sandbox.dir("project")).unwrap().is_some());
}

#[test]
fn a_missing_directory_leaves_no_store() {
    let sandbox = Sandbox::new();
    let service = CheckpointService::new(sandbox.config());
    let err = service.store(&sandbox.temp.path().join("absent")).unwrap_err();
    assert_eq!(err.code(), "missing-workspace");
    assert!(err.path().unwrap().ends_with("absent"));
    assert!(!sandbox.temp.path().join("checkpoints").exists());
}

#[test]
fn refused_directories_need_force() {
    let sandbox = Sandbox::new();
    let home = sandbox.dir("home");
    let refused = CheckpointService::builder(sandbox.config()).refused_worktrees(vec![home.clone()]).build();
    assert!(matches!(
        refused.store(&home.join(".")).unwrap_err(),
        ckpt_service::Error::Store(StoreError::Workspace { reason: WorkspaceFault::Refused, .. })
    ));
    let forced = CheckpointService::builder(sandbox.config()).refused_worktrees(vec![home.clone()]);
    forced.force_worktree(true).build().store(&home).unwrap();
    refused.store(&home).expect("what was forced once is a workspace");
}

/// Counts how often a store is made: each making asks for the time once.
#[derive(Default)]
struct Counting(AtomicUsize);

impl Clock for Counting {
    fn now_ns(&self) -> i64 {
        self.0.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(std::time::Duration::from_millis(20));
        0
    }
}

#[test]
fn a_store_is_opened_once_under_a_race() {
    let sandbox = Sandbox::new();
    let clock = Arc::new(Counting::default());
    let mut config = sandbox.config();
    config.cache_size = NonZeroUsize::MIN;
    let service = CheckpointService::builder(config).clock(Arc::clone(&clock) as Arc<dyn Clock>).build();
    let dir = sandbox.dir("project");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert!(service.store(&dir).unwrap().was_created()));
        }
    });
    // Each handle is a clone of the one that made the store: a second opening would have found it made.
    assert_eq!(clock.0.load(Ordering::SeqCst), 1);
}

#[test]
fn handles_outlive_eviction() {
    let sandbox = Sandbox::new();
    let mut config = sandbox.config();
    config.cache_size = NonZeroUsize::MIN;
    let service = CheckpointService::new(config);
    let (a, b) = (sandbox.dir("a"), sandbox.dir("b"));
    let first = service.store(&a).unwrap();
    std::fs::write(a.join("f"), "1").unwrap();
    let id = first.save("one").unwrap().id;
    service.store(&b).unwrap();
    let again = service.store(&a).unwrap();
    assert!(first.was_created() && !again.was_created(), "the first handle was evicted");
    std::fs::write(a.join("f"), "2").unwrap();
    let second = first.save("two").unwrap().id;
    assert_eq!(again.head().unwrap(), Some(second));
    assert_ne!(second, id);
}

#[test]
fn a_store_that_was_replaced_is_opened_anew() {
    let sandbox = Sandbox::new();
    let service = CheckpointService::new(sandbox.config());
    let dir = sandbox.dir("project");
    let old = service.store(&dir).unwrap();
    std::fs::remove_dir_all(old.path()).unwrap();
    assert!(!old.is_current());
    assert!(service.existing_store(&dir).unwrap().is_none());
    let new = service.store(&dir).unwrap();
    assert_ne!(new.id(), old.id());
    std::fs::write(dir.join("f"), "1").unwrap();
    new.save("works").unwrap();
    let err = ckpt_service::Error::from(old.save("too late").unwrap_err());
    assert_eq!(err.code(), "replaced-store");
}
