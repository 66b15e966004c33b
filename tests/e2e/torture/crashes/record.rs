//! What a run changed on disk, as `crates/fs/src/fault.rs` records it.

use std::path::Path;

/// One change that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) operation: String,
    /// A mode, an offset or a length.
    pub(super) number: u64,
    /// Relative to the directory under which everything happens; so is the other one.
    pub(super) path: Vec<u8>,
    /// The second name, where there is one.
    pub(super) other: Vec<u8>,
    pub(super) bytes: Vec<u8>,
}

impl std::fmt::Display for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (path, other) = (self.path.escape_ascii(), self.other.escape_ascii());
        write!(f, "{} {path} {other} ({} bytes)", self.operation, self.bytes.len())
    }
}

/// Takes a record apart.
pub(super) fn parse(mut bytes: &[u8], root: &Path) -> Vec<Record> {
    let mut records = Vec::new();
    let inside = |path: Vec<u8>| match path.strip_prefix(root.as_os_str().as_encoded_bytes()) {
        Some(inside) => inside.strip_prefix(b"/").unwrap_or(inside).to_vec(),
        None => {
            assert!(path.is_empty(), "a change elsewhere: {}", path.escape_ascii());
            path
        }
    };
    while !bytes.is_empty() {
        let end = bytes.iter().position(|&byte| byte == b'\n').unwrap();
        let line = std::str::from_utf8(&bytes[..end]).unwrap();
        bytes = &bytes[end + 1..];
        let words: Vec<&str> = line.split(' ').collect();
        let [operation, number, lengths @ ..] = words.as_slice() else { panic!("no record: {line}") };
        let mut take = |at: usize| {
            let (taken, rest) = bytes.split_at(lengths[at].parse().unwrap());
            bytes = rest;
            taken.to_vec()
        };
        let (path, other, content) = (take(0), take(1), take(2));
        bytes = bytes.strip_prefix(b"\n").unwrap();
        records.push(Record {
            operation: (*operation).to_owned(),
            number: number.parse().unwrap(),
            path: inside(path),
            other: inside(other),
            bytes: content,
        });
    }
    records
}
