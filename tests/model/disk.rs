//! The worktree as it stands on disk, read as a whole.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::{fmt, fs};

/// A path relative to the worktree.
pub(crate) type Bytes = Vec<u8>;
/// Entries by path.
pub(crate) type Files = BTreeMap<Bytes, Entry>;

#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    File { mode: u32, bytes: Rc<[u8]> },
    Link { target: Rc<[u8]> },
    Dir { mode: u32 },
    Special,
}

impl Entry {
    pub(crate) fn is_dir(&self) -> bool {
        matches!(self, Self::Dir { .. })
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { mode, bytes } => {
                let start = &bytes[..bytes.len().min(40)];
                write!(f, "file {mode:o} {} bytes \"{}\"", bytes.len(), start.escape_ascii())
            }
            Self::Link { target } => write!(f, "link \"{}\"", target.escape_ascii()),
            Self::Dir { mode } => write!(f, "dir {mode:o}"),
            Self::Special => write!(f, "special"),
        }
    }
}

/// The worktree at one moment.
#[derive(Clone, Default)]
pub(crate) struct Disk {
    pub(crate) files: Files,
    /// Inode and mtime of the files.
    stamps: BTreeMap<Bytes, (u64, i64, i64)>,
}

/// Reads everything below `root`, `.git` and all. A root that is gone holds nothing.
pub(crate) fn scan(root: &Path) -> Disk {
    let mut disk = Disk::default();
    if !root.exists() {
        return disk;
    }
    let mut waiting = vec![Bytes::new()];
    while let Some(dir) = waiting.pop() {
        for found in fs::read_dir(full(root, &dir)).unwrap() {
            let found = found.unwrap();
            let path = join(&dir, found.file_name().as_bytes());
            let meta = fs::symlink_metadata(found.path()).unwrap();
            let mode = meta.permissions().mode() & 0o777;
            let entry = if meta.is_symlink() {
                Entry::Link { target: fs::read_link(found.path()).unwrap().as_os_str().as_bytes().into() }
            } else if meta.is_dir() {
                waiting.push(path.clone());
                Entry::Dir { mode }
            } else if meta.file_type().is_socket() {
                Entry::Special
            } else {
                disk.stamps.insert(path.clone(), (meta.ino(), meta.mtime(), meta.mtime_nsec()));
                Entry::File { mode, bytes: fs::read(found.path()).unwrap().into() }
            };
            disk.files.insert(path, entry);
        }
    }
    disk
}

impl Disk {
    /// A file that is as it was, but is another inode or has another mtime.
    pub(crate) fn touched_since<'a>(&self, before: &'a Self) -> Option<&'a [u8]> {
        let same = |path: &Bytes| self.files.get(path) == before.files.get(path);
        let touched = before.stamps.iter().find(|(path, stamp)| same(path) && self.stamps.get(*path) != Some(stamp));
        touched.map(|(path, _)| path.as_slice())
    }
}

/// Inode, size, mode, and the times of the last change of each entry at and below `root`, without a look into the files: what
/// nobody wrote has the same ones.
pub(crate) type Stamps = BTreeMap<PathBuf, [i64; 6]>;

pub(crate) fn stamps(root: &Path) -> Stamps {
    let mut stamps = Stamps::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(path) = waiting.pop() {
        let Ok(meta) = fs::symlink_metadata(&path) else { continue };
        if meta.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|found| found.unwrap().path()));
        }
        let whole = |number: u64| i64::try_from(number).unwrap();
        let stamp = [
            whole(meta.ino()),
            whole(meta.size()),
            meta.mode().into(),
            meta.mtime_nsec(),
            meta.ctime(),
            meta.ctime_nsec(),
        ];
        stamps.insert(path, stamp);
    }
    stamps
}

/// Where two of them differ.
pub(crate) fn first_difference<'a>(before: &'a Stamps, after: &'a Stamps) -> Option<&'a Path> {
    let mut paths = before.keys().chain(after.keys());
    paths.find(|path| before.get(*path) != after.get(*path)).map(PathBuf::as_path)
}

pub(crate) fn full(root: &Path, path: &[u8]) -> PathBuf {
    if path.is_empty() { root.to_owned() } else { root.join(OsStr::from_bytes(path)) }
}

pub(crate) fn join(dir: &[u8], name: &[u8]) -> Bytes {
    if dir.is_empty() { name.to_vec() } else { [dir, b"/", name].concat() }
}

/// Directory and name.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|&byte| byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b"", path),
    }
}

/// Whether `path` is `dir` or below it.
pub(crate) fn is_in(path: &[u8], dir: &[u8]) -> bool {
    dir.is_empty() || path.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

/// The directories above `path`, outermost first, without the root.
pub(crate) fn above(path: &[u8]) -> Vec<&[u8]> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at]).collect()
}

/// Paths of the entries directly in `dir`.
pub(crate) fn children<T>(map: &BTreeMap<Bytes, T>, dir: &[u8]) -> Vec<Bytes> {
    map.keys().filter(|path| split(path).0 == dir && !path.is_empty()).cloned().collect()
}

/// Removes `path` and everything below it.
pub(crate) fn remove<T>(map: &mut BTreeMap<Bytes, T>, path: &[u8]) {
    map.retain(|known, _| !is_in(known, path));
}

/// Where two maps differ, for people.
pub(crate) fn difference(expected: &Files, found: &Files) -> Option<String> {
    let mut lines = Vec::new();
    for path in expected.keys().chain(found.keys().filter(|path| !expected.contains_key(*path))) {
        let sides = (expected.get(path), found.get(path));
        if sides.0 != sides.1 {
            lines.push(format!("{}: expected {:?}, found {:?}", path.escape_ascii(), sides.0, sides.1));
        }
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}
