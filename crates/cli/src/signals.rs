//! Ctrl-C: the first asks the operation to stop, the second ends the process at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::errors::Exit;

/// Makes the flag that a first SIGINT or SIGTERM sets. From now on neither ends the process by itself, so that this is
/// called right before an operation that looks at the flag, and not before reading from a terminal.
pub(crate) fn listen() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the second signal finds the flag that the first one has set.
        flag::register_conditional_shutdown(signal, Exit::Interrupted.code().into(), Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}
