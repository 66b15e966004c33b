//! The disk under a scene: what stores take on it, and when it is at rest.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use crate::printer;

/// Waits until what was written is on the disk: nobody should pay for what another wrote.
pub(crate) fn settle() {
    if !Command::new("sync").status().is_ok_and(|status| status.success()) {
        printer::note("`sync` cannot be run; what one program wrote may slow down the next");
    }
}

/// What a directory takes, with what its file system adds to small files. What cannot be read counts nothing.
pub(crate) fn bytes(dir: &Path) -> u64 {
    let mut bytes = 0;
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            // Blocks are of 512 bytes, whatever those of the file system are (stat(2)).
            bytes += metadata.blocks() * 512;
            if metadata.is_dir() {
                dirs.push(entry.path());
            }
        }
    }
    bytes
}
