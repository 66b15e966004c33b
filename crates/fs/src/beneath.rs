//! Opening a directory below another one without ever following a symlink.
//!
//! Linux does it in one call (`openat2`, since 5.6). Where that is missing, or a sandbox forbids it, the components are
//! opened one by one with `O_NOFOLLOW`, which gives the same guarantee at the price of more calls.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};

/// Flags for a directory handle that is read, searched and synced.
pub(crate) const DIR_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Longest path in bytes that is given to one system call, which takes less than 4096. Longer ones are opened in pieces.
const PIECE: usize = 4000;

/// Whether an error of looking below a directory says that nothing stands there: no entry, or something else than a
/// directory, a link included, on the way.
pub fn is_absence(err: &io::Error) -> bool {
    matches!(err.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || err.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

/// Whether an error says that the process or the system ran short of something, and nothing about the path.
pub fn is_shortage(err: &io::Error) -> bool {
    use rustix::io::Errno;

    let errnos = [Errno::MFILE, Errno::NFILE, Errno::NOMEM];
    err.raw_os_error().is_some_and(|code| errnos.iter().any(|errno| errno.raw_os_error() == code))
}

/// Whether an error says that the file system does not do such a thing at all.
pub fn is_unsupported(err: &io::Error) -> bool {
    use rustix::io::Errno;

    let errnos = [Errno::INVAL, Errno::ROFS, Errno::NOTSUP, Errno::NOSYS];
    err.raw_os_error().is_some_and(|code| errnos.iter().any(|errno| errno.raw_os_error() == code))
}

/// Opens the directory `path` (bytes, `/`-separated, relative, any length, no `..`) below `root`.
pub(crate) fn open(root: BorrowedFd<'_>, path: &[u8]) -> io::Result<OwnedFd> {
    descend(root, pieces(path), open_piece)
}

/// Opens each of `parts` below the one before, the first below `root`; `root` itself where there is none.
fn descend<'a>(
    root: BorrowedFd<'_>,
    parts: impl IntoIterator<Item = &'a [u8]>,
    open: impl Fn(BorrowedFd<'_>, &[u8]) -> io::Result<OwnedFd>,
) -> io::Result<OwnedFd> {
    let mut current: Option<OwnedFd> = None;
    for part in parts {
        let opened = open(current.as_ref().map_or(root, AsFd::as_fd), part)?;
        current = Some(opened);
    }
    match current {
        Some(fd) => Ok(fd),
        None => Ok(rustix::fs::openat(root, ".", DIR_FLAGS, Mode::empty())?),
    }
}

/// Cuts a path at slashes into pieces of at most [`PIECE`] bytes. From a component that is longer on, the rest stays
/// whole: the system answers that the name is too long.
fn pieces(path: &[u8]) -> Vec<&[u8]> {
    let mut rest = path;
    let mut pieces = Vec::new();
    while rest.len() > PIECE {
        let Some(cut) = rest[..PIECE].iter().rposition(|&byte| byte == b'/') else { break };
        pieces.push(&rest[..cut]);
        rest = &rest[cut + 1..];
    }
    if !rest.is_empty() {
        pieces.push(rest);
    }
    pieces
}

#[cfg(target_os = "linux")]
fn open_piece(root: BorrowedFd<'_>, path: &[u8]) -> io::Result<OwnedFd> {
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::fs::ResolveFlags;
    use rustix::io::Errno;

    static MISSING: AtomicBool = AtomicBool::new(false);

    if !MISSING.load(Ordering::Relaxed) && !crate::fault::without_openat2() {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match rustix::fs::openat2(root, path, DIR_FLAGS, Mode::empty(), resolve) {
            Ok(fd) => return Ok(fd),
            // Old kernels know no openat2; seccomp filters answer EPERM to calls that they do not list.
            Err(Errno::NOSYS | Errno::PERM) => MISSING.store(true, Ordering::Relaxed),
            // EAGAIN: a rename happened somewhere while the kernel looked. The slow way has no such answer.
            Err(Errno::AGAIN) => {}
            Err(err) => return Err(err.into()),
        }
    }
    open_components(root, path)
}

#[cfg(not(target_os = "linux"))]
fn open_piece(root: BorrowedFd<'_>, path: &[u8]) -> io::Result<OwnedFd> {
    open_components(root, path)
}

/// Opens `path` below `root` component by component. `..` is refused.
fn open_components(root: BorrowedFd<'_>, path: &[u8]) -> io::Result<OwnedFd> {
    let names = path.split(|&byte| byte == b'/').filter(|name| !name.is_empty() && *name != b".");
    descend(root, names, |at, name| {
        if name == b".." {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a path below a directory holds `..`"));
        }
        Ok(rustix::fs::openat(at, name, DIR_FLAGS, Mode::empty())?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dir;

    #[test]
    fn neither_way_follows_a_link_or_leaves_the_root() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(temp.path().join("root/a/b")).unwrap();
        std::fs::create_dir(temp.path().join("outside")).unwrap();
        std::os::unix::fs::symlink("../outside", temp.path().join("root/link")).unwrap();
        std::os::unix::fs::symlink("a", temp.path().join("root/inner")).unwrap();
        let root = Dir::open(&temp.path().join("root")).unwrap();
        for way in [open, open_components] {
            assert!(way(root.as_fd(), b"a/b").is_ok());
            assert!(way(root.as_fd(), b"").is_ok());
            assert!(way(root.as_fd(), b"link").is_err());
            assert!(way(root.as_fd(), b"inner/b").is_err());
            assert!(way(root.as_fd(), b"../outside").is_err());
        }
    }

    #[test]
    fn a_path_longer_than_the_system_takes_is_opened_in_pieces() {
        let temp = tempfile::tempdir().unwrap();
        let root = Dir::open(temp.path()).unwrap();
        let name = [b'x'; 200];
        let mut at = root.try_clone().unwrap();
        for _ in 0..50 {
            at.create_dir(&name, 0o755).unwrap();
            at = at.open_dir(&name).unwrap();
        }
        let path = vec![name.as_slice(); 50].join(&b'/');
        assert_eq!(pieces(&path).len(), 3);
        let whole = [b"a/".as_slice(), &[b'x'; PIECE + 1], b"/b"].concat();
        assert_eq!(pieces(&whole).join(&b'/'), whole);
        assert!(open(root.as_fd(), &whole).is_err());
        let opened = Dir::from(open(root.as_fd(), &path).unwrap());
        assert_eq!(opened.stat_self().unwrap().inode, at.stat_self().unwrap().inode);
    }
}
