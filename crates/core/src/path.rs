//! Paths inside a worktree, and the way from what a user types to them.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::error::Context;
use crate::{Error, PathFault, Result, WorkspaceFault};

/// Path of an entry, relative to the worktree: bytes, `/`-separated, never empty, no `.` or `..`, no NUL. Ordered by
/// bytes.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RepoPath(Vec<u8>);

impl RepoPath {
    /// Takes bytes that already have the form.
    ///
    /// # Errors
    /// [`PathFault::Malformed`] when they do not; [`PathFault::DotGit`] when a component is `.git`.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self> {
        let bytes = bytes.into();
        let fault = |reason| Error::Path { path: PathBuf::from(OsStr::from_bytes(&bytes)), reason };
        let malformed = bytes.contains(&0)
            || bytes.split(|&byte| byte == b'/').any(|name| name.is_empty() || name == b"." || name == b"..");
        if malformed {
            return Err(fault(PathFault::Malformed));
        }
        if bytes.split(|&byte| byte == b'/').any(|name| name == b".git") {
            return Err(fault(PathFault::DotGit));
        }
        Ok(Self(bytes))
    }

    /// A path that our own code put together from names of directory entries.
    pub(crate) fn trusted(bytes: Vec<u8>) -> Self {
        debug_assert!(!bytes.is_empty());
        Self(bytes)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The path, relative to the worktree.
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// Whether it is `other` or lies below it.
    pub fn starts_with(&self, other: &Self) -> bool {
        is_below(&self.0, &other.0)
    }
}

/// Directory part (empty for the root) and last component of `path`.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|&byte| byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b"", path),
    }
}

/// Whether `path` is `above` or lies below it; everything lies below the empty path.
pub(crate) fn is_below(path: &[u8], above: &[u8]) -> bool {
    above.is_empty() || path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

/// `dir` and `name` with a slash between, none where `dir` is the root.
pub(crate) fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(dir.len() + name.len() + 1);
    path.extend_from_slice(dir);
    if !dir.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}

impl fmt::Display for RepoPath {
    /// The path with bytes that are not UTF-8 replaced; for people only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl fmt::Debug for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(&self.0))
    }
}

/// A directory that is protected: its real path, absolute, without links.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Worktree(PathBuf);

impl Worktree {
    /// Finds the real path of `dir`. Where it is missing, the real path of its nearest existing ancestor with the rest.
    ///
    /// # Errors
    /// [`WorkspaceFault::NotADirectory`] when a file stands on the way to it; [`Error::Io`] when an existing part of it
    /// cannot be looked up.
    pub fn locate(dir: &Path) -> Result<Self> {
        real_path(dir).map(Self).map_err(|err| match err {
            Error::Io { path, source, .. } if source.kind() == std::io::ErrorKind::NotADirectory => {
                Error::workspace(&path, WorkspaceFault::NotADirectory)
            }
            err => err,
        })
    }

    /// The directory, absolute.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Makes sure that a directory stands there.
    ///
    /// # Errors
    /// [`WorkspaceFault::Missing`], [`WorkspaceFault::NotADirectory`], or [`Error::Io`] when it cannot be looked at.
    pub fn require_dir(&self) -> Result<()> {
        let fault = |reason| Err(Error::workspace(&self.0, reason));
        match std::fs::metadata(&self.0) {
            Ok(meta) if meta.is_dir() => Ok(()),
            Ok(_) => fault(WorkspaceFault::NotADirectory),
            Err(err) => match err.kind() {
                std::io::ErrorKind::NotFound => fault(WorkspaceFault::Missing),
                // A file stands on the way.
                std::io::ErrorKind::NotADirectory => fault(WorkspaceFault::NotADirectory),
                _ => Err(err).context("look at", &self.0),
            },
        }
    }

    /// Turns what a user typed into a path inside the worktree; `None` is the worktree itself.
    ///
    /// A relative path is taken relative to `base`, which must be absolute. `.` and `..` are resolved by their text.
    /// An absolute path may reach the worktree through links: those above the worktree's entry are followed, those
    /// inside the worktree never, since a link there is an entry of its own.
    ///
    /// # Errors
    /// [`PathFault::Outside`], [`PathFault::DotGit`] or [`PathFault::Malformed`].
    pub fn repo_path(&self, base: &Path, path: &Path) -> Result<Option<RepoPath>> {
        let fault = |reason| Error::Path { path: path.to_owned(), reason };
        if path.as_os_str().is_empty() || path.as_os_str().as_bytes().contains(&0) {
            return Err(fault(PathFault::Malformed));
        }
        let absolute = normalize(&base.join(path)).ok_or_else(|| fault(PathFault::Outside))?;
        let inside = match absolute.strip_prefix(&self.0) {
            Ok(inside) => inside.to_owned(),
            Err(_) => self.inside_through_links(&absolute).ok_or_else(|| fault(PathFault::Outside))?,
        };
        if inside.as_os_str().is_empty() {
            return Ok(None);
        }
        RepoPath::new(inside.as_os_str().as_bytes()).map(Some).map_err(|err| match err {
            Error::Path { reason, .. } => fault(reason),
            other => other,
        })
    }

    /// The rest of `absolute` below its longest ancestor whose real path is the worktree.
    fn inside_through_links(&self, absolute: &Path) -> Option<PathBuf> {
        absolute.ancestors().find_map(|ancestor| {
            let real = ancestor.canonicalize().ok()?;
            // The ancestor may be a directory inside the worktree that is reached by a link outside it.
            let inside = real.strip_prefix(&self.0).ok()?;
            let rest = absolute.strip_prefix(ancestor).ok()?;
            let above_link = ancestor.parent().and_then(|parent| parent.canonicalize().ok());
            let is_entry_inside = above_link.is_some_and(|parent| parent.starts_with(&self.0));
            (!is_entry_inside).then(|| inside.join(rest))
        })
    }
}

/// Resolves `.` and `..` by the text; `None` when it climbs above the root.
fn normalize(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                if !normal.pop() {
                    return None;
                }
            }
            other => normal.push(other),
        }
    }
    Some(normal)
}

/// Real path of `path`, or of its nearest existing ancestor with the missing rest behind it.
pub(crate) fn real_path(path: &Path) -> Result<PathBuf> {
    let absolute = std::path::absolute(path).map_err(|source| Error::Io {
        action: "find the absolute path of",
        path: path.to_owned(),
        source,
    })?;
    let mut missing: Vec<&OsStr> = Vec::new();
    let mut existing = absolute.as_path();
    loop {
        match existing.canonicalize() {
            Ok(real) => {
                let whole = missing.iter().rev().fold(real, |path, name| path.join(name));
                return normalize(&whole)
                    .ok_or_else(|| Error::Path { path: path.to_owned(), reason: PathFault::Malformed });
            }
            Err(err) if err.kind() == std::io::ErrorKind::NotFound => {
                let (Some(parent), Some(name)) = (existing.parent(), existing.components().next_back()) else {
                    return Err(Error::Io { action: "look up", path: path.to_owned(), source: err });
                };
                missing.push(name.as_os_str());
                existing = parent;
            }
            Err(source) => return Err(Error::Io { action: "look up", path: path.to_owned(), source }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn repo_paths_have_one_form() {
        for bad in ["", "/a", "a/", "a//b", "./a", "a/../b", "..", "a\0b", ".git", "a/.git/config"] {
            assert!(RepoPath::new(bad).is_err(), "{bad:?}");
        }
        let path = RepoPath::new("a/b").unwrap();
        assert_eq!(split(path.as_bytes()), (b"a".as_slice(), b"b".as_slice()));
        assert!(path.starts_with(&RepoPath::new("a").unwrap()));
        assert!(!RepoPath::new("ab").unwrap().starts_with(&RepoPath::new("a").unwrap()));
    }

    #[test]
    fn one_path_has_many_spellings_c13() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("w/sub/dir")).unwrap();
        symlink("w", root.join("alias")).unwrap();
        symlink("sub", root.join("w/inner")).unwrap();
        let worktree = Worktree::locate(&root.join("alias")).unwrap();
        assert_eq!(worktree.path(), root.join("w"));
        let sub = root.join("w/sub");
        let parse = |path: &Path| worktree.repo_path(&sub, path).map(|path| path.map(|path| path.to_string()));
        assert_eq!(parse(Path::new("../a")).unwrap().as_deref(), Some("a"));
        assert_eq!(parse(Path::new("./b")).unwrap().as_deref(), Some("sub/b"));
        assert_eq!(parse(Path::new("..")).unwrap(), None);
        assert_eq!(parse(&root.join("w/x/../y")).unwrap().as_deref(), Some("y"));
        assert_eq!(parse(&root.join("alias/sub/b")).unwrap().as_deref(), Some("sub/b"));
        assert_eq!(parse(&root.join("alias/inner/b")).unwrap().as_deref(), Some("inner/b"));
        assert!(parse(Path::new("../../etc")).is_err());
        assert!(parse(Path::new("/etc/passwd")).is_err());
        assert!(parse(Path::new("../.git/config")).is_err());
    }

    #[test]
    fn a_missing_directory_has_a_place() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let worktree = Worktree::locate(&root.join("gone/deeper")).unwrap();
        assert_eq!(worktree.path(), root.join("gone/deeper"));
    }
}
