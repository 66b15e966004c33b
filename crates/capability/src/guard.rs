//! A guard over a checkpoint: what is not kept is brought back.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ckpt_service::{CheckpointId, CheckpointStore, Error, Event, Receipt, Result};

/// What is called when a guard that was dropped could not bring everything back.
type Hook = Box<dyn FnOnce(&FailedRestore) + Send + Sync>;

/// Brings a directory back to a checkpoint unless it is told to [`keep`](Self::keep) what was done.
///
/// It owns a store handle and borrows nothing, so it lives across `.await` and in other threads. Dropped without `keep`
/// or [`restore`](Self::restore) (an early `?`, a panic, a cancelled future) it restores: it blocks until that is done,
/// and never panics. What was in the worktree is in a safety checkpoint, so even that is taken back by
/// [`undo_restore`](crate::Checkpoint::undo_restore).
///
/// A restore that fails in a drop has nobody to answer to. It is told to the hook of
/// [`on_failed_restore`](Self::on_failed_restore) and, as [`Event::NotRestored`], to the observer of the store's service,
/// which is the log of those who keep one. With neither it is silent; the checkpoint stays, and
/// [`id`](Self::id) names it. Where it matters, call `restore` and look at the answer.
///
/// With `panic = "abort"`, in a process that is killed, and after [`std::mem::forget`] nothing is dropped, and nothing
/// is restored.
#[must_use = "a guard that is dropped at once restores at once"]
pub struct CheckpointGuard {
    store: CheckpointStore,
    id: CheckpointId,
    is_armed: bool,
    hook: Option<Hook>,
}

/// Why the worktree is not as the checkpoint has it after a guard was dropped.
#[derive(Debug)]
#[non_exhaustive]
pub struct FailedRestore {
    /// The checkpoint; it is whole, and can be reset to later.
    pub checkpoint: CheckpointId,
    /// The error, or the receipt of a restore that had to leave paths as they are (its conflicts).
    pub outcome: Result<Receipt>,
}

impl fmt::Display for FailedRestore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot bring the workspace back to {}: ", self.checkpoint.short())?;
        match &self.outcome {
            Ok(receipt) => write!(f, "{} paths were left as they are", receipt.conflicts.len()),
            Err(err) => err.fmt(f),
        }
    }
}

impl CheckpointGuard {
    pub(crate) fn new(store: CheckpointStore, id: CheckpointId) -> Self {
        Self { store, id, is_armed: true, hook: None }
    }

    /// The checkpoint that the guard goes back to.
    pub fn id(&self) -> CheckpointId {
        self.id
    }

    /// Keeps what was done. The checkpoint stays.
    pub fn keep(mut self) {
        self.is_armed = false;
    }

    /// Brings the whole directory back now, and tells what that did. Paths that had to stay are the receipt's conflicts.
    ///
    /// # Errors
    /// As for [`CheckpointStore::reset`]; it is not tried again by the drop.
    pub fn restore(mut self) -> Result<Receipt> {
        self.is_armed = false;
        Ok(self.store.reset(self.id)?)
    }

    /// Calls `hook` when the guard is dropped and cannot bring everything back. It is called at most once, in the thread
    /// that drops; a panic in it is caught. Of several hooks the last one holds.
    pub fn on_failed_restore(mut self, hook: impl FnOnce(&FailedRestore) + Send + Sync + 'static) -> Self {
        self.hook = Some(Box::new(hook));
        self
    }
}

impl fmt::Debug for CheckpointGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckpointGuard").field("store", &self.store).field("id", &self.id).finish_non_exhaustive()
    }
}

impl Drop for CheckpointGuard {
    fn drop(&mut self) {
        if !self.is_armed {
            return;
        }
        // A second panic during a first one aborts the process, and would take the caller's own panic with it.
        let outcome = match catch_unwind(AssertUnwindSafe(|| self.store.reset(self.id))) {
            Ok(Ok(receipt)) if receipt.is_complete() => return,
            Ok(outcome) => outcome.map_err(Error::from),
            Err(panic) => Err(Error::Panicked(text_of(panic.as_ref()))),
        };
        let failed = FailedRestore { checkpoint: self.id, outcome };
        let hook = self.hook.take();
        // What a listener does wrong is no reason to abort either; each is told, whatever the other does.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            let event = Event::NotRestored { checkpoint: self.id, reason: &failed.to_string() };
            self.store.options().observer.event(event);
        }));
        let _ = catch_unwind(AssertUnwindSafe(|| hook.map(|hook| hook(&failed))));
    }
}

/// The message of a panic.
fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without a message".to_owned())
}
