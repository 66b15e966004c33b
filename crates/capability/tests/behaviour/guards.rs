//! Guards and attempts: what is not kept comes back, whatever ends the work.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Waker};

use ckpt_capability::{
    AttemptError, Checkpoint, CheckpointExt, CheckpointGuard, CheckpointId, CheckpointService, Event, Observer,
};

use crate::sandbox::Sandbox;

#[test]
fn guards_go_anywhere() {
    fn assert_free<T: Send + Sync + 'static>() {}
    assert_free::<CheckpointGuard>();
    assert_free::<AttemptError<std::io::Error>>();
}

#[test]
fn a_guard_keeps_restores_and_restores_by_itself() {
    let sandbox = Sandbox::new();
    let agent = sandbox.agent("project");
    agent.write("1");
    let guard = agent.checkpoint_guard("keep").unwrap();
    agent.write("2");
    guard.keep();
    assert_eq!(agent.read(), "2");

    let guard = agent.checkpoint_guard("restore").unwrap();
    agent.write("3");
    let receipt = guard.restore().unwrap();
    assert!(receipt.is_complete() && receipt.changes.len() == 1);
    assert_eq!(agent.read(), "2");

    let guard = agent.checkpoint_guard("drop").unwrap();
    let id = guard.id();
    agent.write("4");
    drop(guard);
    assert_eq!(agent.read(), "2");
    assert_eq!(agent.checkpoint_store().unwrap().head().unwrap(), Some(id));
    agent.undo_restore().unwrap().unwrap();
    assert_eq!(agent.read(), "4");
}

#[test]
fn an_early_return_restores() {
    let sandbox = Sandbox::new();
    let agent = sandbox.agent("project");
    agent.write("1");
    let work = || -> Result<(), Box<dyn std::error::Error>> {
        let guard = agent.checkpoint_guard("before")?;
        agent.write("2");
        std::fs::read(agent.dir.join("absent"))?;
        guard.keep();
        Ok(())
    };
    work().unwrap_err();
    assert_eq!(agent.read(), "1");
}

#[test]
fn a_panic_restores_and_goes_on_unchanged() {
    let sandbox = Sandbox::new();
    let mut agent = sandbox.agent("project");
    agent.write("1");
    let panic = catch_unwind(AssertUnwindSafe(|| {
        agent.checkpointed("before", |agent| -> Result<(), String> {
            agent.write("2");
            std::panic::panic_any(7_u32)
        })
    }));
    assert_eq!(panic.unwrap_err().downcast_ref::<u32>(), Some(&7));
    assert_eq!(agent.read(), "1");
}

#[test]
fn a_cancelled_future_restores() {
    let sandbox = Sandbox::new();
    let agent = sandbox.agent("project");
    agent.write("1");
    {
        let work = async {
            let guard = agent.checkpoint_guard("before").unwrap();
            agent.write("2");
            std::future::pending::<()>().await;
            guard.keep();
        };
        let mut work: std::pin::Pin<&mut (dyn Future<Output = ()> + Send)> = pin!(work);
        let polled = work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert_eq!(polled, Poll::Pending);
        assert_eq!(agent.read(), "2");
    }
    assert_eq!(agent.read(), "1");
}

#[test]
fn attempts_nest() {
    let sandbox = Sandbox::new();
    let mut agent = sandbox.agent("project");
    agent.write("1");
    let done: Result<&str, AttemptError<AttemptError<&str>>> = agent.checkpointed("outer", |agent| {
        agent.write("2");
        let inner = agent.checkpointed("inner", |agent| {
            agent.write("3");
            Err::<(), _>("inner fails")
        });
        assert_eq!(agent.read(), "2");
        assert!(matches!(inner, Err(AttemptError::Restored { cause: "inner fails", .. })));
        agent.checkpointed("inner again", |agent| {
            agent.write("4");
            Ok("kept")
        })
    });
    assert_eq!(done.unwrap(), "kept");
    assert_eq!(agent.read(), "4");
    let outer = agent.checkpointed("outer", |agent| {
        agent.checkpointed("inner", |agent| {
            agent.write("5");
            Ok::<_, String>(())
        })?;
        Err::<(), AttemptError<String>>(
            agent.checkpointed("last", |_| Err::<(), _>("all of it".to_owned())).unwrap_err(),
        )
    });
    assert_eq!(outer.unwrap_err().into_cause().unwrap().into_cause().unwrap(), "all of it");
    assert_eq!(agent.read(), "4");
}

#[test]
fn an_attempt_fails_as_an_error_that_any_function_returns() {
    fn work(agent: &mut impl Checkpoint) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        agent.checkpointed("a string", |_| Err::<(), _>("why".to_owned()))?;
        Ok(())
    }
    let sandbox = Sandbox::new();
    let mut agent = sandbox.agent("project");
    agent.write("1");
    let err = work(&mut agent).unwrap_err();
    assert_eq!(err.to_string(), "the attempt failed and was taken back: why");
    let io = agent.checkpointed("an error", |_| Err::<(), _>(std::io::Error::other("disk")));
    assert!(matches!(io.as_ref().map_err(AttemptError::cause), Err(Some(cause)) if cause.to_string() == "disk"));
    let boxed = agent.checkpointed("a box", |_| Err::<(), Box<dyn std::error::Error>>("any".into()));
    assert!(std::error::Error::source(&boxed.unwrap_err()).is_none());
}

#[test]
fn work_is_not_begun_where_nothing_can_be_saved() {
    let sandbox = Sandbox::new();
    let mut agent = sandbox.agent("project");
    std::fs::remove_dir_all(&agent.dir).unwrap();
    let failed = agent.checkpointed("before", |_| -> Result<(), String> { unreachable!("nothing was saved") });
    assert!(matches!(failed, Err(AttemptError::NotStarted(err)) if err.code() == "missing-workspace"));
}

/// Notes the failures of guards.
#[derive(Default)]
struct Log(Mutex<Vec<CheckpointId>>);

impl Observer for Log {
    fn event(&self, event: Event<'_>) {
        if let Event::NotRestored { checkpoint, reason } = event {
            assert!(reason.starts_with("cannot bring the workspace back to "), "{reason}");
            self.0.lock().unwrap().push(checkpoint);
        }
    }
}

#[test]
fn a_failed_restore_is_told_and_panics_nowhere() {
    let sandbox = Sandbox::new();
    let agent = sandbox.agent("project");
    let log = Arc::new(Log::default());
    let observer = Arc::clone(&log) as Arc<dyn Observer>;
    let service = CheckpointService::builder(sandbox.service.config().clone()).observer(observer).build();
    let store = service.store(&agent.dir).unwrap();
    agent.mount.mount(store.clone());
    agent.write("1");
    let (told, heard) = mpsc::channel();
    let guard = agent.checkpoint_guard("before").unwrap().on_failed_restore(move |failed| {
        told.send((failed.checkpoint, failed.outcome.as_ref().map_err(ckpt_capability::Error::code).err())).unwrap();
        panic!("a hook may panic too");
    });
    let id = guard.id();
    let hidden = store.path().with_extension("hidden");
    std::fs::rename(store.path(), &hidden).unwrap();
    agent.write("2");
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let _guard = guard;
        panic!("while another panic is under way");
    }));
    assert!(caught.unwrap_err().downcast_ref::<&str>().unwrap().starts_with("while"));
    assert_eq!(heard.try_recv().unwrap(), (id, Some("replaced-store")));
    assert_eq!(*log.0.lock().unwrap(), [id]);
    assert_eq!(agent.read(), "2");

    std::fs::rename(&hidden, store.path()).unwrap();
    agent.reset_to_checkpoint(id).expect("the checkpoint stayed");
    assert_eq!(agent.read(), "1");
}
