//! The only place of xtask that prints.
//!
//! All of it goes to stderr, in the order of events: stdout belongs to the programs that a chore starts, of which the
//! test runner is the one that people read.

#![expect(clippy::print_stderr, reason = "this is the printer")]

use crate::failure::Failure;

/// Announces the next step of a longer run.
pub(crate) fn step(name: &str, does: &str) {
    eprintln!("\n== {name}: {does}");
}

/// Says a fact about the run.
pub(crate) fn say(text: &str) {
    eprintln!("{text}");
}

/// Says something that wants a look and stops nothing.
pub(crate) fn note(text: &str) {
    eprintln!("note: {text}");
}

/// Says why the run ends here.
pub(crate) fn failure(failure: &Failure) {
    eprintln!("{failure}");
}
