//! What people see while a save or a restore takes long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ckpt_service::{Event, Observer};

use crate::printer::Printer;
use crate::quoting;
use crate::wording;

/// What takes less time is over before anybody reads about it.
const PATIENCE: Duration = Duration::from_millis(500);

/// Nobody reads faster.
const PAUSE: Duration = Duration::from_millis(50);

/// Listens to a store: shows progress, says whom it waits for, and passes Ctrl-C on.
pub(crate) struct Progress {
    printer: Printer,
    stop: Arc<AtomicBool>,
    begun: Instant,
    is_shown: bool,
    /// When something was shown last, in milliseconds from the beginning.
    last_ms: AtomicU64,
    files: AtomicU64,
    bytes: AtomicU64,
    has_said_whom: AtomicBool,
}

impl Progress {
    /// Makes a listener whose operation begins about now; `stop` is set by Ctrl-C.
    pub(crate) fn new(printer: Printer, stop: Arc<AtomicBool>) -> Self {
        Self {
            is_shown: printer.shows_progress(),
            last_ms: AtomicU64::new(0),
            printer,
            stop,
            begun: Instant::now(),
            files: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            has_said_whom: AtomicBool::new(false),
        }
    }

    fn is_due(&self) -> bool {
        let elapsed = self.begun.elapsed();
        let now_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        let is_due = elapsed >= PATIENCE
            && Duration::from_millis(now_ms.saturating_sub(self.last_ms.load(Ordering::Relaxed))) >= PAUSE;
        if is_due {
            self.last_ms.store(now_ms, Ordering::Relaxed);
        }
        is_due
    }
}

impl Observer for Progress {
    fn event(&self, event: Event<'_>) {
        match event {
            Event::Waiting { holder } if !self.has_said_whom.swap(true, Ordering::Relaxed) => {
                let holder = quoting::line(holder.as_bytes());
                self.printer.say(format_args!("waiting for another process on this workspace: {holder}"));
            }
            Event::Saved { bytes } if self.is_shown => {
                let files = self.files.fetch_add(1, Ordering::Relaxed) + 1;
                let bytes = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
                if self.is_due() {
                    let text = || format!("saving: {}, {}", wording::count(files, "file"), wording::bytes(bytes));
                    self.printer.progress(None, text);
                }
            }
            Event::Restored { done, total } if self.is_shown && self.is_due() => {
                self.printer.progress(Some((done, total)), || "restoring".to_owned());
            }
            Event::Recovered(recovery) => self.printer.warn("recovered", wording::recovered(recovery)),
            Event::Dropped { safety } => {
                let safety = safety.short();
                let text = "a restore was interrupted, and the directory is another one now: it was not finished";
                self.printer.warn("restore-dropped", format_args!("{text}; what stood there is in {safety}"));
            }
            _ => {}
        }
    }

    fn interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
