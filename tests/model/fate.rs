//! Accidents: a caller who wishes to stop, and a process that dies.
//!
//! Dying is a panic that unwinds through the library. It frees the lock and the handles, as the end of a process does,
//! and leaves the journal and the temporaries.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};

use ckpt_core::{Event, Observer};

use super::case::Accident;

/// What the panic carries.
pub(crate) struct Death;

/// The observer of all handles; it does nothing until it is armed.
#[derive(Default)]
pub(crate) struct Fate {
    questions_left: AtomicU64,
    paths_left: AtomicU64,
}

impl Fate {
    pub(crate) fn arm(&self, accident: Accident) {
        let (questions, paths) = match accident {
            Accident::Nothing | Accident::Binary(_) => (0, 0),
            Accident::Stop(questions) => (questions, 0),
            Accident::Crash(paths) => (0, paths),
        };
        self.questions_left.store(questions, Ordering::SeqCst);
        self.paths_left.store(paths, Ordering::SeqCst);
    }
}

/// Counts down to one; whether it is there. Zero is never there.
fn is_time(left: &AtomicU64) -> bool {
    let step = |left: u64| (left > 1).then(|| left - 1);
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, step).is_err() && left.load(Ordering::SeqCst) == 1
}

impl Observer for Fate {
    fn event(&self, event: Event<'_>) {
        if matches!(event, Event::Restored { .. }) && is_time(&self.paths_left) {
            self.arm(Accident::Nothing);
            // Without a word on stderr: it is meant.
            resume_unwind(Box::new(Death));
        }
    }

    fn interrupted(&self) -> bool {
        is_time(&self.questions_left)
    }
}
