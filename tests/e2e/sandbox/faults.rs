//! The steps of a run: what it changes on disk, one after the other, so that each can be the last one.

use std::fs;

use super::{Call, Output};

/// Runs a call and counts its steps; see `crates/fs/src/fault.rs`.
pub(crate) fn steps_of(call: Call<'_>) -> (Output, u64) {
    let log = tempfile::NamedTempFile::new().expect("a temporary file can be made");
    let output = call.config("threads", "1").env("CKPT_FAULT_LOG", log.path()).run();
    let text = fs::read_to_string(log.path()).expect("the log is text");
    (output, text.lines().count() as u64)
}
