//! The disk of a directory as a value: every entry with its kind, mode and content.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// All entries below a directory, by path bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tree(BTreeMap<Vec<u8>, Entry>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    kind: &'static str,
    /// Permission bits; 0 for links.
    mode: u32,
    /// Content of a file, target of a link.
    content: Vec<u8>,
    /// Inode and mtime in nanoseconds, where they were asked for.
    identity: Option<(u64, i64)>,
}

impl Tree {
    /// Reads everything below `dir`. A missing directory is empty.
    pub(crate) fn of(dir: &Path) -> Self {
        Self::read(dir, false)
    }

    /// As [`Tree::of`], with inodes and mtimes of what is no directory.
    pub(crate) fn with_identity(dir: &Path) -> Self {
        Self::read(dir, true)
    }

    fn read(dir: &Path, identity: bool) -> Self {
        let mut tree = Self(BTreeMap::new());
        tree.add(dir, b"", identity);
        tree
    }

    fn add(&mut self, dir: &Path, prefix: &[u8], identity: bool) {
        let Ok(entries) = fs::read_dir(dir) else { return };
        for entry in entries {
            let entry = entry.expect("the directory can be listed");
            let mut path = prefix.to_vec();
            path.extend_from_slice(entry.file_name().as_bytes());
            let meta = fs::symlink_metadata(entry.path()).expect("the entry is there");
            let kind = kind_of(meta.file_type());
            let content = match kind {
                // What cannot be read is told apart by its mode.
                "file" => fs::read(entry.path()).unwrap_or_default(),
                "link" => fs::read_link(entry.path()).expect("it is a link").as_os_str().as_bytes().to_vec(),
                _ => Vec::new(),
            };
            let mode = if kind == "link" { 0 } else { meta.mode() & 0o7777 };
            let mtime_ns = meta.mtime() * 1_000_000_000 + meta.mtime_nsec();
            let identity_of = (identity && kind != "dir").then_some((meta.ino(), mtime_ns));
            if kind == "dir" {
                let mut below = path.clone();
                below.push(b'/');
                self.add(&entry.path(), &below, identity);
            }
            self.0.insert(path, Entry { kind, mode, content, identity: identity_of });
        }
    }

    /// Without a path and everything below it.
    pub(crate) fn without(mut self, path: &str) -> Self {
        let below = format!("{path}/");
        self.0.retain(|known, _| known != path.as_bytes() && !known.starts_with(below.as_bytes()));
        self
    }

    /// Only a path and everything below it.
    pub(crate) fn only(mut self, path: &str) -> Self {
        let below = format!("{path}/");
        self.0.retain(|known, _| known == path.as_bytes() || known.starts_with(below.as_bytes()));
        self
    }

    /// With a path and everything below it as another tree has it.
    pub(crate) fn with(self, other: &Self, path: &str) -> Self {
        let mut tree = self.without(path);
        tree.0.extend(other.clone().only(path).0);
        tree
    }

    /// Paths, in byte order.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.0.keys().map(|path| String::from_utf8_lossy(path).into_owned()).collect()
    }

    /// Contents of all files.
    pub(crate) fn contents(&self) -> impl Iterator<Item = (&Path, &[u8])> {
        let files = self.0.iter().filter(|(_, entry)| entry.kind == "file");
        files.map(|(path, entry)| (Path::new(OsStr::from_bytes(path)), entry.content.as_slice()))
    }

    /// One line for each path that differs.
    pub(crate) fn differences(&self, other: &Self) -> String {
        let mut text = String::new();
        let mut paths: Vec<_> = self.0.keys().chain(other.0.keys()).collect();
        paths.sort();
        paths.dedup();
        for path in paths {
            let (old, new) = (self.0.get(path), other.0.get(path));
            if old != new {
                let show = |entry: Option<&Entry>| entry.map_or_else(|| "nothing".to_owned(), Entry::show);
                writeln!(text, "{}: {} -> {}", path.escape_ascii(), show(old), show(new)).expect("strings grow");
            }
        }
        text
    }
}

impl Entry {
    fn show(&self) -> String {
        let head = &self.content[..self.content.len().min(40)];
        let identity = self.identity.map_or_else(String::new, |(inode, mtime)| format!(" inode {inode} mtime {mtime}"));
        format!("{} {:o} {} bytes \"{}\"{identity}", self.kind, self.mode, self.content.len(), head.escape_ascii())
    }
}

fn kind_of(kind: fs::FileType) -> &'static str {
    match kind {
        kind if kind.is_dir() => "dir",
        kind if kind.is_symlink() => "link",
        kind if kind.is_file() => "file",
        kind if kind.is_fifo() => "fifo",
        kind if kind.is_socket() => "socket",
        _ => "device",
    }
}

/// Expects two trees to be equal.
#[track_caller]
pub(crate) fn assert_same(expected: &Tree, actual: &Tree) {
    let differences = expected.differences(actual);
    assert!(differences.is_empty(), "expected -> actual:\n{differences}");
}
