//! The steps of a run: what it changes on disk, one after the other, so that each can be the last one.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{Call, Output};

/// Runs a call and counts its steps; see `crates/fs/src/fault.rs`.
pub(crate) fn steps_of(call: Call<'_>) -> (Output, u64) {
    let log = tempfile::NamedTempFile::new().expect("a temporary file can be made");
    // The call may run as another user.
    fs::set_permissions(log.path(), PermissionsExt::from_mode(0o666)).expect("its mode can be set");
    let output = call.config("threads", "1").env("CKPT_FAULT_LOG", log.path()).run();
    let text = fs::read_to_string(log.path()).expect("the log is text");
    (output, text.lines().count() as u64)
}
