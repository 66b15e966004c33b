//! The configuration that stock git finds in a store, and the format marker in it.

use std::collections::HashSet;
use std::path::Path;

use ckpt_fs::Dir;

use crate::Result;
use crate::error::Context;
use crate::layout::FORMAT;

/// The format that the configuration names; `None` when it is not ours or not readable.
pub(crate) fn config_format(dir: &Dir, path: &Path) -> Result<Option<String>> {
    let Some(bytes) = dir.read_file(b"config", 1 << 20).context("read", path.join("config"))? else { return Ok(None) };
    let text = String::from_utf8_lossy(&bytes);
    let mut is_ours = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            is_ours = line.eq_ignore_ascii_case("[ckpt]");
        } else if let Some((name, value)) = line.split_once('=')
            && is_ours
            && name.trim().eq_ignore_ascii_case("formatVersion")
        {
            return Ok(Some(value.trim().to_owned()));
        }
    }
    Ok(None)
}

/// Whether the configuration has every line of ours. People may add some.
pub(crate) fn config_is_whole(dir: &Dir, path: &Path) -> Result<bool> {
    let Some(bytes) = dir.read_file(b"config", 1 << 20).context("read", path.join("config"))? else { return Ok(false) };
    let text = String::from_utf8_lossy(&bytes);
    let lines: HashSet<&str> = text.lines().collect();
    Ok(config_text().lines().all(|line| lines.contains(line)))
}

/// Configuration of every store: nothing that stock git does on its own may remove an object, and what users' files
/// hold is no fault of the store.
pub(crate) fn config_text() -> String {
    let ignored = [
        "gitmodulesName",
        "gitmodulesUrl",
        "gitmodulesPath",
        "gitmodulesUpdate",
        "gitmodulesParse",
        "gitmodulesBlob",
        "gitmodulesLarge",
        "gitmodulesMissing",
        "gitmodulesSymlink",
        "gitattributesLineLength",
        "gitattributesLarge",
        "gitattributesBlob",
        "gitattributesMissing",
    ];
    let mut text = "[core]\n\trepositoryFormatVersion = 0\n\tbare = true\n\tfileMode = true\n\tautocrlf = false\n\
        \tlogAllRefUpdates = false\n\tfsync = all\n[gc]\n\tauto = 0\n\tpackRefs = false\n\tpruneExpire = never\n\
        \treflogExpire = never\n[maintenance]\n\tauto = false\n[fsck]\n"
        .to_owned();
    for id in ignored {
        text += &format!("\t{id} = ignore\n");
    }
    text += &format!("[ckpt]\n\tformatVersion = {FORMAT}\n");
    text
}
