//! Tortures: what a store must survive, tried again and again, and counted.
//!
//! Each torture is a file with one test. In `cargo test` it runs in a short form, with `CKPT_TORTURE=long` in a long one;
//! `cargo xtask torture` runs all of them and prints one table. A torture counts its cases with a [`Tally`]: a case is a
//! closure that panics, or answers with `Err`, when something was lost.
//!
//! A new feature joins by adding its verb to [`VERBS`], or its own cases to the tortures that fit.

mod crashes;
mod damage;
mod disks;
mod editors;
mod hostile;
mod kills;
mod limits;
mod losses;
mod many;
mod power;
mod sizes;
mod tally;
mod ticks;
mod verbs;

use std::io::Write;

pub(crate) use tally::{Random, Tally, caught, either, is_long};
pub(crate) use verbs::{VERBS, Verb};

/// Room on the disk that holds a directory, in bytes.
pub(crate) fn free_bytes(dir: &std::path::Path) -> u64 {
    let stat = rustix::fs::statvfs(dir).unwrap();
    stat.f_bavail * stat.f_frsize
}

/// Prints the line of a torture that cannot be here.
pub(crate) fn skipped(name: &str, reason: &str) {
    let line = format!("torture\t{name}\t0\t0\t0\t0 s\tskipped: {}\n", reason.lines().collect::<Vec<_>>().join(" "));
    std::io::stdout().write_all(line.as_bytes()).unwrap();
}
