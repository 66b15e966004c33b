//! Edits of the worktree, as a user or an agent would make them.

use std::ffi::OsStr;
use std::fs::{self, FileTimes, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::case::{Case, Edit, EditKind, PATTERNS};
use super::disk::{Bytes, Disk, Entry, full, is_in, join, split};
use super::state::CACHE_TAG;

const FILE_MODES: [u32; 6] = [0o644, 0o755, 0o600, 0o444, 0o775, 0o640];
const DIR_MODES: [u32; 4] = [0o755, 0o700, 0o775, 0o750];
/// Deepest directory that something is made in.
const DEPTH: usize = 4;

/// Makes the edit. One that cannot be made, since something stands there or a name is too long, is none.
pub(crate) fn apply(case: &Case, edit: Edit, root: &Path, disk: &Disk) {
    let _ = try_apply(case, edit, root, disk);
}

fn try_apply(case: &Case, edit: Edit, root: &Path, disk: &Disk) -> io::Result<()> {
    let dir = pick_dir(disk, edit.dir);
    let new = full(root, &join(&dir, &case.name(edit.name)));
    let entry = pick(disk, edit.path);
    let path = full(root, &entry);
    let salt = usize::from(edit.salt);
    match edit.kind {
        EditKind::Write => {
            if new.is_dir() || new.is_symlink() {
                return Ok(());
            }
            fs::write(&new, content(edit.salt, true))?;
            set_mode(&new, FILE_MODES[salt % FILE_MODES.len()])
        }
        EditKind::Mkdir => {
            fs::create_dir(&new)?;
            set_mode(&new, DIR_MODES[salt % DIR_MODES.len()])
        }
        EditKind::Link => symlink(link_target(edit), &new),
        EditKind::HardLink => match disk.files.get(&entry) {
            Some(Entry::File { .. }) => fs::hard_link(&path, &new),
            _ => Ok(()),
        },
        EditKind::IgnoreFile => {
            let name: &[u8] = if salt % 3 == 0 { b".ckptignore" } else { b".gitignore" };
            let path = full(root, &join(&dir, name));
            if path.is_dir() || path.is_symlink() {
                return Ok(());
            }
            let text: String =
                (0..=salt / 16 % 3).map(|n| format!("{}\n", PATTERNS[(salt / 64 + n * 7) % 10])).collect();
            fs::write(path, text)
        }
        EditKind::Repository => make_repository(&full(root, &join(&dir, b".git")), edit.salt),
        EditKind::CacheTag => {
            let path = full(root, &join(&dir, b"CACHEDIR.TAG"));
            if path.is_dir() || path.is_symlink() {
                return Ok(());
            }
            fs::write(path, if salt % 4 == 0 { b"no cache" } else { CACHE_TAG })
        }
        EditKind::Socket => {
            // Paths of sockets are short: it is made elsewhere on the same file system.
            let short = root.join(OsStr::from_bytes(b"../s"));
            let _ = UnixListener::bind(&short)?;
            if new.symlink_metadata().is_ok() { fs::remove_file(short) } else { fs::rename(short, new) }
        }
        EditKind::SameSize => {
            let Some(Entry::File { bytes, .. }) = disk.files.get(&entry) else { return Ok(()) };
            let mtime = fs::metadata(&path)?.modified()?;
            let mut bytes = bytes.to_vec();
            let Some(first) = bytes.first_mut() else { return Ok(()) };
            *first = if *first == b'x' { b'y' } else { b'x' };
            fs::write(&path, bytes)?;
            OpenOptions::new().write(true).open(&path)?.set_times(FileTimes::new().set_modified(mtime))
        }
        EditKind::Append => match disk.files.get(&entry) {
            Some(Entry::File { .. }) => {
                OpenOptions::new().append(true).open(&path)?.write_all(&content(edit.salt | 3, false))
            }
            _ => Ok(()),
        },
        EditKind::Touch => match disk.files.get(&entry) {
            Some(Entry::File { .. }) => {
                OpenOptions::new().append(true).open(&path)?.set_times(FileTimes::new().set_modified(long_ago()))
            }
            _ => Ok(()),
        },
        EditKind::Delete if entry.is_empty() => Ok(()),
        EditKind::Delete => delete(&path),
        EditKind::Rename => {
            if entry.is_empty() || is_in(&dir, &entry) || new.symlink_metadata().is_ok() || is_rule_file(&entry) {
                return Ok(());
            }
            fs::rename(path, new)
        }
        EditKind::Chmod => match disk.files.get(&entry) {
            Some(Entry::File { .. }) => set_mode(&path, FILE_MODES[salt % FILE_MODES.len()]),
            Some(Entry::Dir { .. }) => set_mode(&path, DIR_MODES[salt % DIR_MODES.len()]),
            _ => Ok(()),
        },
        EditKind::ChangeKind => {
            if entry.is_empty() {
                return Ok(());
            }
            delete(&path)?;
            match salt % 4 {
                0 => fs::write(&path, content(edit.salt, false)),
                1 => symlink(link_target(edit), &path),
                2 => fs::create_dir(&path),
                _ => {
                    fs::create_dir(&path)?;
                    fs::write(path.join(OsStr::from_bytes(&case.name(edit.name))), content(edit.salt, false))
                }
            }
        }
    }
}

/// Some time that is not now.
fn long_ago() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_000_000_000)
}

fn make_repository(git: &Path, salt: u16) -> io::Result<()> {
    if git.symlink_metadata().is_ok() {
        return Ok(());
    }
    match salt % 8 {
        0 => fs::write(git, "gitdir: /nowhere\n"),
        1 => symlink("nowhere", git),
        _ => {
            fs::create_dir_all(git.join("info"))?;
            fs::write(git.join("HEAD"), "ref: refs/heads/main\n")?;
            fs::write(git.join("config"), content(salt, false))?;
            fs::create_dir(git.join("objects"))?;
            if salt.is_multiple_of(2) {
                fs::write(git.join("info/exclude"), format!("{}\n", PATTERNS[usize::from(salt / 8) % 10]))?;
            }
            Ok(())
        }
    }
}

fn is_rule_file(path: &[u8]) -> bool {
    matches!(split(path).1, b".gitignore" | b".ckptignore")
}

/// Content of a size and look that the number decides; without `any_bytes`, letters and lines that are names to an
/// ignore file.
fn content(salt: u16, any_bytes: bool) -> Vec<u8> {
    let salt = usize::from(salt);
    let length = [0, 1, 3, 20, 100, 150, 300, 3_000][salt % 8];
    if any_bytes && salt & 8 != 0 {
        return (0..length).map(|n| u8::try_from((n * 7 + salt) % 256).unwrap()).collect();
    }
    let mut text: Vec<u8> = (0..length).map(|n| b"acdeghikmp"[(n * n + salt / 16) % 10]).collect();
    if let Some(last) = text.last_mut() {
        *last = b'\n';
    }
    text
}

fn link_target(edit: Edit) -> &'static OsStr {
    let targets: [&[u8]; 8] = [b"a", b"nowhere", b"../..", b"/nowhere/at all", b"d", b"../s", b".", b"\xff\xfe"];
    OsStr::from_bytes(targets[usize::from(edit.salt / 4) % 8])
}

fn delete(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// A directory, the root among them, not too deep and not below a `.git`.
fn pick_dir(disk: &Disk, number: u16) -> Bytes {
    let is_one = |path: &&Bytes| {
        disk.files[*path].is_dir() && !is_git(path) && path.iter().filter(|byte| **byte == b'/').count() < DEPTH
    };
    let mut dirs: Vec<&Bytes> = disk.files.keys().filter(is_one).collect();
    let root = Bytes::new();
    dirs.insert(0, &root);
    dirs[usize::from(number) % dirs.len()].clone()
}

/// An entry that is not below a `.git`; the empty path where there is none.
fn pick(disk: &Disk, number: u16) -> Bytes {
    let paths: Vec<&Bytes> = disk.files.keys().filter(|path| !is_git(path)).collect();
    if paths.is_empty() { Bytes::new() } else { paths[usize::from(number) % paths.len()].clone() }
}

pub(crate) fn is_git(path: &[u8]) -> bool {
    path.split(|&byte| byte == b'/').any(|name| name == b".git")
}
