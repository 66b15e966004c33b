//! What is read of somebody's Git repository: where it is, and its `info/exclude`.
//!
//! Not its config, index or refs, and never more than [`MAX_BYTES`] of a file.

use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ckpt_fs::{Dir, FileKind};

/// Size above which a file is not read; Git has the same limit for `.git` files.
const MAX_BYTES: u64 = 1 << 20;

/// The `.git` entry of a repository's root.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DotGit {
    /// The directory with the repository's data, which need not exist: `.git` itself, or where a `.git` file points to.
    At(PathBuf),
    /// A link. It marks the root, as it does for Git, but is not followed.
    Link,
}

/// Whether links are followed when a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Links {
    Follow,
    /// A link counts as no file.
    Refuse,
}

/// Reads `info/exclude` of the repository whose `.git` entry, a directory or a file, is in `dir`. A `.git` file is
/// followed one hop and through `commondir`, so that a linked worktree has the excludes of its repository. `None` if
/// any of this is missing, no regular file, or not in the form that Git writes; a `.git` that is a link is not followed.
///
/// # Errors
/// If a file that exists cannot be read, or has more than 1 MiB (`FileTooLarge`).
pub(crate) fn read_repo_exclude(dir: &Path) -> io::Result<Option<Vec<u8>>> {
    match find_dot_git(dir)? {
        Some(DotGit::At(git_dir)) => read_file(&exclude_path(&git_dir)?, Links::Follow),
        Some(DotGit::Link) | None => Ok(None),
    }
}

/// The `.git` entry in `dir`, if it makes `dir` the root of a repository.
pub(super) fn find_dot_git(dir: &Path) -> io::Result<Option<DotGit>> {
    let path = dir.join(".git");
    let Some(metadata) = found(fs::symlink_metadata(&path))? else { return Ok(None) };
    if metadata.is_dir() {
        return Ok(Some(DotGit::At(path)));
    }
    if metadata.is_symlink() {
        let target = found(fs::metadata(&path))?;
        return Ok(target.filter(|target| target.is_dir() || target.is_file()).map(|_| DotGit::Link));
    }
    let content = match read_file(&path, Links::Refuse) {
        Err(err) if err.kind() == io::ErrorKind::FileTooLarge => None,
        content => content?,
    };
    Ok(content
        .as_deref()
        .and_then(|text| text.strip_prefix(b"gitdir: "))
        .and_then(path_in)
        .map(|to| DotGit::At(dir.join(to))))
}

/// Where the excludes of the repository with its data at `git_dir` are.
pub(super) fn exclude_path(git_dir: &Path) -> io::Result<PathBuf> {
    let common = read_file(&git_dir.join("commondir"), Links::Follow)?;
    let common = common.as_deref().and_then(path_in).map(|common| git_dir.join(common));
    Ok(common.as_deref().unwrap_or(git_dir).join("info/exclude"))
}

/// Reads a regular file; `None` if there is none.
///
/// # Errors
/// If it cannot be read, or has more than [`MAX_BYTES`] (`FileTooLarge`).
pub(super) fn read_file(path: &Path, links: Links) -> io::Result<Option<Vec<u8>>> {
    let path = match links {
        Links::Follow => found(fs::canonicalize(path))?,
        Links::Refuse => Some(path.to_owned()),
    };
    let Some((parent, name)) = path.as_deref().and_then(|path| path.parent().zip(path.file_name())) else {
        return Ok(None);
    };
    let Some(dir) = found(Dir::open(parent))? else { return Ok(None) };
    // Asked by name first, because some kinds cannot even be opened.
    if dir.try_stat(name.as_bytes())?.is_none_or(|stat| stat.kind != FileKind::File) {
        return Ok(None);
    }
    let Some(file) = found(dir.open_file(name.as_bytes()))? else { return Ok(None) };
    if Dir::stat_file(&file)?.kind != FileKind::File {
        return Ok(None);
    }
    let mut content = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut content)?;
    if content.len() as u64 > MAX_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(Some(content))
}

/// The path that is all of `text`, but for line ends after it. `None` if it can be none.
fn path_in(text: &[u8]) -> Option<&Path> {
    let end = text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r'))? + 1;
    let text = &text[..end];
    // The kernel takes no longer one; without this, a line of garbage would count as an unreadable file.
    (text.len() < 4096 && !text.contains(&0)).then(|| Path::new(std::ffi::OsStr::from_bytes(text)))
}

fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(err) if matches!(err.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(err) => Err(err),
    }
}
