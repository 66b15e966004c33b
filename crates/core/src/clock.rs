//! Where checkpoints get their time from.

use std::time::{SystemTime, UNIX_EPOCH};

/// Source of the time that is written into checkpoints and operations. It decides about nothing else: whether a file
/// changed is asked of the file system, and how long ago that was, of the system's clock, whatever this one says.
pub trait Clock: Send + Sync {
    /// Now, in nanoseconds since 1970 UTC.
    fn now_ns(&self) -> i64;
}

/// The system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ns(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
    }
}
