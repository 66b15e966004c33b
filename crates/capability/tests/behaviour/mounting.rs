//! Which store an agent uses: mounted around it, inside it, behind pointers and trait objects.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use ckpt_capability::{
    Checkpoint, CheckpointExt, CheckpointGuard, CheckpointId, CheckpointService, CheckpointStore, Error, Patch,
    Receipt, Result, Saved, Status, StoreId,
};

use crate::sandbox::{Agent, Sandbox};

/// The store that an agent uses as others see it.
#[must_use]
fn seen(agent: &(impl Checkpoint + ?Sized)) -> StoreId {
    agent.checkpoint_store().unwrap().id()
}

#[test]
fn a_store_around_an_agent_is_not_seen_from_inside() {
    let sandbox = Sandbox::new();
    let agent = sandbox.agent("project");
    let inner = agent.checkpoint_store().unwrap();
    let outer = sandbox.other_service().store(&agent.dir).unwrap();
    let agent = agent.mount_store(outer.clone()).unwrap();
    agent.write("1");
    agent.save_checkpoint("through the mounted store").unwrap();
    assert_eq!((inner.saved_count().unwrap(), outer.saved_count().unwrap()), (0, 1));
    agent.save_and_write("2").unwrap();
    assert_eq!((inner.saved_count().unwrap(), outer.saved_count().unwrap()), (1, 1), "the trap");
    assert_eq!(agent.unmount_checkpoint_store().checkpoint_store().unwrap().id(), inner.id());
}

#[test]
fn a_mount_point_is_seen_from_inside_outside_and_through_dyn() {
    let sandbox = Sandbox::new();
    let agent = sandbox.agent("project");
    let other = sandbox.other_service().store(&agent.dir).unwrap();
    let before = agent.mount.mount(other.clone()).unwrap();
    agent.write("1");
    agent.save_and_write("2").unwrap();
    agent.save_checkpoint("outside").unwrap();
    agent.write("3");
    let agent: Box<dyn Checkpoint> = Box::new(agent);
    agent.save_checkpoint("through dyn").unwrap();
    assert_eq!((before.saved_count().unwrap(), other.saved_count().unwrap()), (0, 3));
}

#[test]
fn mount_points_of_clones_are_apart() {
    let sandbox = Sandbox::new();
    let agent = sandbox.agent("project");
    let copy = agent.mount.clone();
    assert!(agent.mount.unmount().is_some() && agent.mount.mounted().is_none() && agent.mount.unmount().is_none());
    assert!(copy.mounted().is_some());
}

#[test]
fn a_store_of_another_worktree_is_refused() {
    let sandbox = Sandbox::new();
    let (mut a, b) = (sandbox.agent("a"), sandbox.agent("b"));
    let store = b.checkpoint_store().unwrap();
    let err = (&mut a).mount_store(store.clone()).unwrap_err();
    assert_eq!((err.code(), err.path()), ("other-workspace-store", Some(store.path())));
    a.mount.mount(store);
    assert_eq!(a.save_checkpoint("nothing").unwrap_err().code(), "other-workspace-store");
    assert_eq!(a.mount_checkpoint_store().map(|_| ()).unwrap_err().code(), "other-workspace-store");
}

#[test]
fn a_store_of_the_same_worktree_under_another_spelling_is_taken() {
    let sandbox = Sandbox::new();
    let agent = sandbox.agent("project");
    let link = agent.dir.with_file_name("link");
    std::os::unix::fs::symlink(&agent.dir, &link).unwrap();
    let store = agent.checkpoint_store().unwrap();
    Agent { dir: link.join("."), mount: agent.mount.clone() }.mount_store(store).unwrap();
}

#[test]
fn pointers_keep_a_mounted_store() {
    let sandbox = Sandbox::new();
    let agent = sandbox.agent("project");
    let store = sandbox.other_service().store(&agent.dir).unwrap();
    let id = store.id();
    let mut agent = agent.mount_store(store).unwrap();
    assert_eq!(seen(&&agent), id);
    assert_eq!(seen(&&mut agent), id);
    assert_eq!(seen(&(&agent as &dyn Checkpoint)), id);
    let agent = Rc::new(agent);
    assert_eq!(seen(&agent), id);
    assert_eq!(seen(&Box::new(Rc::clone(&agent))), id);
    assert_eq!(seen(&agent.mount_checkpoint_store().unwrap()), id);
}

/// A wrapper whose author knew of one method only.
struct Careless<A>(A);

impl<A: Checkpoint> Checkpoint for Careless<A> {
    fn worktree_dir(&self) -> &Path {
        self.0.worktree_dir()
    }
}

/// The only test of this process that uses the global service.
#[test]
fn without_a_store_of_its_own_an_agent_uses_the_global_service() {
    let sandbox = Sandbox::new();
    let agent = sandbox.agent("project");
    let global = CheckpointService::init_global(sandbox.other_service().config().clone()).unwrap();
    let (mounted, by_default) = (seen(&agent), global.store(&agent.dir).unwrap().id());
    assert_ne!(mounted, by_default);
    let wrapped = Careless(&agent);
    assert_eq!(seen(&wrapped), by_default, "the trap");
    assert_eq!(seen(&wrapped.mount_checkpoint_store().unwrap()), by_default);
    agent.mount.unmount();
    assert_eq!(seen(&agent), by_default);
}

/// Notes which methods were called, in order; each fails.
struct Named(RefCell<Vec<&'static str>>);

impl Named {
    fn call<T>(&self, name: &'static str) -> Result<T> {
        self.0.borrow_mut().push(name);
        Err(Error::AlreadyInitialized)
    }
}

impl Checkpoint for Named {
    fn worktree_dir(&self) -> &Path {
        self.0.borrow_mut().push("worktree_dir");
        Path::new("/")
    }
    fn checkpoint_store(&self) -> Result<CheckpointStore> {
        self.call("checkpoint_store")
    }
    fn save_checkpoint(&self, _: &str) -> Result<Saved> {
        self.call("save_checkpoint")
    }
    fn rollback(&self, _: CheckpointId, _: &Path) -> Result<Receipt> {
        self.call("rollback")
    }
    fn reset_to_checkpoint(&self, _: CheckpointId) -> Result<Receipt> {
        self.call("reset_to_checkpoint")
    }
    fn file_diff(&self, _: CheckpointId, _: &Path) -> Result<Patch> {
        self.call("file_diff")
    }
    fn checkpoint_status(&self) -> Result<Status> {
        self.call("checkpoint_status")
    }
    fn undo_restore(&self) -> Result<Option<Receipt>> {
        self.call("undo_restore")
    }
    fn checkpoint_guard(&self, _: &str) -> Result<CheckpointGuard> {
        self.call("checkpoint_guard")
    }
}

/// The methods that reach the agent when all are called on `agent`.
#[must_use]
fn reached(agent: &(impl Checkpoint + ?Sized)) -> usize {
    let id: CheckpointId = "0".repeat(40).parse().unwrap();
    let path = Path::new("f");
    agent.worktree_dir();
    let failed = [
        agent.checkpoint_store().is_err(),
        agent.save_checkpoint("").is_err(),
        agent.rollback(id, path).is_err(),
        agent.reset_to_checkpoint(id).is_err(),
        agent.file_diff(id, path).is_err(),
        agent.checkpoint_status().is_err(),
        agent.undo_restore().is_err(),
        agent.checkpoint_guard("").is_err(),
    ];
    failed.iter().filter(|&&failed| failed).count()
}

#[test]
fn pointers_forward_every_method() {
    const ALL: [&str; 9] = [
        "worktree_dir",
        "checkpoint_store",
        "save_checkpoint",
        "rollback",
        "reset_to_checkpoint",
        "file_diff",
        "checkpoint_status",
        "undo_restore",
        "checkpoint_guard",
    ];
    let mut agent = Named(RefCell::default());
    assert_eq!(reached(&&agent), 8);
    assert_eq!(agent.0.take(), ALL);
    assert_eq!(reached(&&mut agent), 8);
    assert_eq!(agent.0.take(), ALL);
    let agent = Box::new(agent);
    assert_eq!(reached(&agent), 8);
    assert_eq!(agent.0.take(), ALL);
    let agent = Rc::new(*agent);
    assert_eq!(reached(&agent), 8);
    assert_eq!(agent.0.take(), ALL);
    let Ok(agent) = Rc::try_unwrap(agent) else { unreachable!("there is one") };
    #[expect(clippy::arc_with_non_send_sync, reason = "only whether it forwards is asked")]
    let agent = Arc::new(agent);
    assert_eq!(reached(&agent), 8);
    assert_eq!(agent.0.take(), ALL);
}

#[test]
fn a_trait_object_is_shared_by_threads() {
    let sandbox = Sandbox::new();
    let agent: Arc<dyn Checkpoint + Send + Sync> = Arc::new(sandbox.agent("project"));
    let threads: Vec<_> = (0..8)
        .map(|number| {
            let agent = Arc::clone(&agent);
            std::thread::spawn(move || {
                std::fs::write(agent.worktree_dir().join(format!("f{number}")), "text").unwrap();
                agent.save_checkpoint(&format!("thread {number}")).unwrap().id
            })
        })
        .collect();
    let ids: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    let store = agent.checkpoint_store().unwrap();
    let known: Vec<_> = store.checkpoints().unwrap().into_iter().map(|info| info.id).collect();
    assert!(ids.iter().all(|id| known.contains(id)));
    assert!(agent.checkpoint_status().unwrap().is_clean());
}

#[test]
fn attempts_work_on_trait_objects() {
    let sandbox = Sandbox::new();
    let agent: &mut dyn Checkpoint = &mut sandbox.agent("project");
    let path = agent.worktree_dir().join("f");
    let mut agent: Box<&mut dyn Checkpoint> = Box::new(agent);
    let failed = agent.checkpointed("through a box", |agent| {
        agent.checkpointed("through the object", |_| std::fs::write(&path, "1")).map_err(|_| "inner")?;
        Err::<(), _>("outer")
    });
    assert_eq!(failed.unwrap_err().into_cause(), Some("outer"));
    assert!(!path.exists());
}
