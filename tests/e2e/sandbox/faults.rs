//! The steps of a run: what it changes on disk, one after the other, so that each can be the last one.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{Call, Output};

/// Operations that make something durable.
pub(crate) const SYNCS: [&str; 3] = ["fsync", "fsync-dir", "syncfs"];

/// Runs a call and counts its steps; see `crates/fs/src/fault.rs`.
pub(crate) fn steps_of(call: Call<'_>) -> (Output, u64) {
    let (output, operations) = operations_of(call, "");
    (output, operations.len() as u64)
}

/// Runs a call and tells the operation of each of its steps, as they are counted for an action.
pub(crate) fn operations_of(call: Call<'_>, action: &str) -> (Output, Vec<String>) {
    let log = tempfile::NamedTempFile::new().expect("a temporary file can be made");
    // The call may run as another user.
    fs::set_permissions(log.path(), PermissionsExt::from_mode(0o666)).expect("its mode can be set");
    let output = call.config("threads", "1").env("CKPT_FAULT_LOG", log.path()).env("CKPT_FAULT_DO", action).run();
    let text = fs::read_to_string(log.path()).expect("the log is text");
    let operation = |line: &str| line.split(' ').nth(1).expect("a line has a number and an operation").to_owned();
    (output, text.lines().map(operation).collect())
}
