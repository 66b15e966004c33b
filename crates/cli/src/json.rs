//! The pieces of `--json` that several commands share. What is one command's own stands in its file; the schemas are in
//! `crates/cli/schemas`, a file for each.
//!
//! Within a version fields are only added. Paths are relative to the workspace, with `/`; what is not UTF-8 has a
//! second field that ends in `_base64`, in which every byte is as it is.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ckpt_service::{
    ChangeCounts, ChangeKind, CheckpointId, CheckpointInfo, CheckpointKind, EntrySide, Omitted, PathChange, Recovery,
    RepoPath,
};
use serde::{Serialize, Serializer};

use crate::quoting;
use crate::time;

/// A path, in an object of its own or among the fields of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct JsonPath {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_base64: Option<String>,
}

impl JsonPath {
    /// A path of the workspace.
    pub(crate) fn of(path: &RepoPath) -> Self {
        Self::from_bytes(path.as_bytes())
    }

    /// A path of the file system.
    pub(crate) fn absolute(path: &Path) -> Self {
        Self::from_bytes(path.as_os_str().as_bytes())
    }

    /// The path for a line of text.
    pub(crate) fn text(&self) -> String {
        quoting::line(self.path.as_bytes())
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        Self { path: lossy(bytes), path_base64: base64_if_not_utf8(bytes) }
    }
}

/// A list of paths.
pub(crate) fn paths(paths: &[RepoPath]) -> Vec<JsonPath> {
    paths.iter().map(JsonPath::of).collect()
}

/// A message.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Message {
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_base64: Option<String>,
}

impl Message {
    /// Takes the bytes of a message.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self { message: lossy(bytes), message_base64: base64_if_not_utf8(bytes) }
    }
}

/// A patch: text, or base64 where it is not UTF-8.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct JsonPatch {
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_base64: Option<String>,
}

impl JsonPatch {
    /// Takes the bytes of a patch.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self { patch: str::from_utf8(bytes).ok().map(str::to_owned), patch_base64: base64_if_not_utf8(bytes) }
    }
}

/// How many paths differ.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Counts {
    pub(crate) added: u64,
    pub(crate) modified: u64,
    pub(crate) deleted: u64,
}

impl From<ChangeCounts> for Counts {
    fn from(counts: ChangeCounts) -> Self {
        Self { added: counts.added, modified: counts.modified, deleted: counts.deleted }
    }
}

impl Counts {
    /// Counts a list of changes; every change that is neither an addition nor a deletion is a modification.
    pub(crate) fn of(changes: &[PathChange]) -> Self {
        let mut counts = Self { added: 0, modified: 0, deleted: 0 };
        for change in changes {
            match change.change {
                ChangeKind::Added => counts.added += 1,
                ChangeKind::Deleted => counts.deleted += 1,
                _ => counts.modified += 1,
            }
        }
        counts
    }
}

/// A path that differs.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Change {
    #[serde(flatten)]
    path: JsonPath,
    change: &'static str,
    old: Option<Side>,
    new: Option<Side>,
}

#[derive(Clone, Debug, Serialize)]
struct Side {
    kind: &'static str,
    mode: String,
}

impl From<EntrySide> for Side {
    fn from(side: EntrySide) -> Self {
        Self { kind: side.kind.word(), mode: format!("{:04o}", side.mode) }
    }
}

impl From<&PathChange> for Change {
    fn from(change: &PathChange) -> Self {
        Self {
            path: JsonPath::of(&change.path),
            change: change.change.word(),
            old: change.old.map(Side::from),
            new: change.new.map(Side::from),
        }
    }
}

/// A path with a word that says why.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Reasoned {
    #[serde(flatten)]
    path: JsonPath,
    reason: &'static str,
}

impl Reasoned {
    /// Takes a path and its word.
    pub(crate) fn new(path: &RepoPath, reason: &'static str) -> Self {
        Self { path: JsonPath::of(path), reason }
    }
}

impl From<&Omitted> for Reasoned {
    fn from(omitted: &Omitted) -> Self {
        Self::new(&omitted.path, omitted.reason.word())
    }
}

/// A checkpoint.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Checkpoint {
    #[serde(serialize_with = "display")]
    id: CheckpointId,
    kind: &'static str,
    #[serde(flatten)]
    message: Message,
    time: String,
    previous: Option<String>,
    depth: u64,
    counts: Counts,
    files: Option<u64>,
    size_bytes: Option<u64>,
    omitted_count: u64,
    partial: bool,
}

impl From<&CheckpointInfo> for Checkpoint {
    fn from(info: &CheckpointInfo) -> Self {
        Self {
            id: info.id,
            kind: kind_word(info.kind),
            message: Message::of(&info.message),
            time: time::rfc3339_ms(info.time_ns),
            previous: info.previous.map(|id| id.to_string()),
            depth: info.depth,
            counts: info.changes.into(),
            files: info.files,
            size_bytes: info.bytes,
            omitted_count: info.omitted,
            partial: info.partial,
        }
    }
}

/// The word for a checkpoint's kind, in text as well.
pub(crate) fn kind_word(kind: CheckpointKind) -> &'static str {
    match kind {
        CheckpointKind::Auto => "auto",
        _ => "manual",
    }
}

/// An interrupted restore that was finished first.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Recovered {
    kind: &'static str,
    operation: String,
    to: String,
    safety: Option<String>,
    finished: Vec<JsonPath>,
    kept: Vec<JsonPath>,
}

impl From<&Recovery> for Recovered {
    fn from(recovery: &Recovery) -> Self {
        Self {
            kind: recovery.kind.word(),
            operation: recovery.operation.to_string(),
            to: recovery.to.to_string(),
            safety: recovery.safety.map(|id| id.to_string()),
            finished: paths(&recovery.finished),
            kept: paths(&recovery.kept),
        }
    }
}

fn display<T: ToString, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&value.to_string())
}

/// Text, with bytes that are not UTF-8 replaced.
pub(crate) fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// All bytes, where the text does not have them.
pub(crate) fn base64_if_not_utf8(bytes: &[u8]) -> Option<String> {
    str::from_utf8(bytes).is_err().then(|| STANDARD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn bytes_survive_in_base64() {
        let path = JsonPath::absolute(Path::new(OsStr::from_bytes(b"a\xff")));
        let line = serde_json::to_string(&path).unwrap();
        assert_eq!(line, r#"{"path":"a�","path_base64":"Yf8="}"#);
        assert_eq!(serde_json::to_string(&JsonPath::absolute(Path::new("日"))).unwrap(), r#"{"path":"日"}"#);
        assert_eq!(serde_json::to_string(&JsonPatch::of(b"\xff")).unwrap(), r#"{"patch_base64":"/w=="}"#);
        assert_eq!(serde_json::to_string(&JsonPatch::of(b"")).unwrap(), r#"{"patch":""}"#);
    }
}
