//! A directory handle: opening it, and looking at what stands below it. Changing that is `change.rs`.
//!
//! The trap: the descriptor of a directory has one position, which clones and threads share; see [`Dir::read_entries`].

mod change;

use std::fs::File;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, Mode, OFlags};

use crate::beneath::{self, DIR_FLAGS};
use crate::{Entries, FileKind, Stat, fault, in_parallel};

/// Flags for a file that is opened without waiting for a writer, should it be a FIFO, and never through a link.
const FILE_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Less of a large file is not worth a thread.
const SHARE: usize = 1 << 20;

/// An open directory. Every name below it is one component in bytes and is never followed if it is a link.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
    /// Whether its names were read, or are for another handle to read: the position of the descriptor, which threads and
    /// clones share, is then not at the beginning.
    was_read: AtomicBool,
}

impl From<OwnedFd> for Dir {
    fn from(fd: OwnedFd) -> Self {
        Self { fd, was_read: AtomicBool::new(false) }
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Opening.
impl Dir {
    /// Opens a directory by its path. Links on the way are followed, as they are for every path that a user names.
    ///
    /// # Errors
    /// What `open` answers; `NotADirectory` for anything else.
    pub fn open(path: &Path) -> io::Result<Self> {
        fault::open_step(path.as_os_str().as_bytes())?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self::from(rustix::fs::open(path.as_os_str().as_bytes(), flags, Mode::empty())?))
    }

    /// Stat data of a path, links followed, without a handle.
    ///
    /// # Errors
    /// What `statx` answers.
    pub fn stat_path(path: &Path) -> io::Result<Stat> {
        stat_at(rustix::fs::CWD, path.as_os_str().as_bytes(), AtFlags::empty())
    }

    /// A directory in which nothing stands and nothing can be made, for looking where there is none yet: it has no names
    /// and no files to read, and every other call answers `NotADirectory`.
    ///
    /// # Errors
    /// What opening `/dev/null` answers.
    pub fn nothing() -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        Ok(Self::from(rustix::fs::open("/dev/null", flags, Mode::empty())?))
    }

    /// Opens the directory `name`.
    ///
    /// # Errors
    /// What `openat` answers; `NotADirectory` or `FilesystemLoop` if it is a link.
    pub fn open_dir(&self, name: &[u8]) -> io::Result<Self> {
        fault::open_step(name)?;
        Ok(Self::from(rustix::fs::openat(&self.fd, name, DIR_FLAGS, Mode::empty())?))
    }

    /// Opens the directory at `path` (relative, `/`-separated, any length, no `..`; empty is this directory).
    ///
    /// # Errors
    /// What `openat2` answers; a link anywhere on the way is an error.
    pub fn open_beneath(&self, path: &[u8]) -> io::Result<Self> {
        fault::open_step(path)?;
        beneath::open(self.fd.as_fd(), path).map(Self::from)
    }

    /// A second handle of the same directory.
    ///
    /// # Errors
    /// When the process has no file descriptor left.
    pub fn try_clone(&self) -> io::Result<Self> {
        fault::open_step(b".")?;
        let fd = self.fd.try_clone()?;
        // Both descriptors share one position: whoever is not the first to read names opens the directory anew.
        Ok(Self { fd, was_read: AtomicBool::new(true) })
    }

    /// The same directory with a position of its own.
    #[cfg(target_os = "linux")]
    fn reopen(&self) -> io::Result<OwnedFd> {
        fault::open_step(b".")?;
        Ok(rustix::fs::openat(&self.fd, c".", DIR_FLAGS, Mode::empty())?)
    }

    /// Opens the file `name` for reading, without waiting for a writer should it be a FIFO. The caller checks by
    /// [`Dir::stat_file`] that it is a regular file.
    ///
    /// # Errors
    /// What `openat` answers; `FilesystemLoop` if it is a link.
    pub fn open_file(&self, name: &[u8]) -> io::Result<File> {
        fault::open_step(name)?;
        Ok(File::from(rustix::fs::openat(&self.fd, name, FILE_FLAGS, Mode::empty())?))
    }
}

/// Looking.
impl Dir {
    /// Stat data of `name`, a link not followed.
    ///
    /// # Errors
    /// What `statx` answers.
    pub fn stat(&self, name: &[u8]) -> io::Result<Stat> {
        stat_at(self.fd.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Stat data of `name`, or `None` where nothing stands there.
    ///
    /// # Errors
    /// What `statx` answers, but for "not found".
    pub fn try_stat(&self, name: &[u8]) -> io::Result<Option<Stat>> {
        match self.stat(name) {
            Ok(stat) => Ok(Some(stat)),
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(err) => Err(err),
        }
    }

    /// Stat data of this directory.
    ///
    /// # Errors
    /// What `fstat` answers.
    pub fn stat_self(&self) -> io::Result<Stat> {
        stat_at(self.fd.as_fd(), b"", AtFlags::EMPTY_PATH)
    }

    /// Stat data of an open file.
    ///
    /// # Errors
    /// What `fstat` answers.
    pub fn stat_file(file: &File) -> io::Result<Stat> {
        stat_at(file.as_fd(), b"", AtFlags::EMPTY_PATH)
    }

    /// Target of the link `name`, in bytes.
    ///
    /// # Errors
    /// What `readlinkat` answers; `InvalidInput` if it is no link.
    pub fn read_link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(&self.fd, name, Vec::new())?.into_bytes())
    }

    /// Reads the names in this directory into `entries`, sorted by bytes. Each call starts at the beginning.
    ///
    /// # Errors
    /// What `getdents` or `readdir` answers; `entries` is then not to be used.
    pub fn read_entries(&self, entries: &mut Entries) -> io::Result<()> {
        match self.read_names(entries) {
            // No other handle than that of `nothing` is of something else than a directory.
            Err(err) if err.kind() == io::ErrorKind::NotADirectory => Ok(()),
            read => read,
        }
    }

    #[cfg(target_os = "linux")]
    fn read_names(&self, entries: &mut Entries) -> io::Result<()> {
        thread_local! {
            static BUFFER: std::cell::RefCell<Vec<MaybeUninit<u8>>> =
                std::cell::RefCell::new(vec![MaybeUninit::uninit(); 32 * 1024]);
        }
        entries.clear();
        // Going back to the beginning would pull it from under another thread that reads: its list would lack names.
        let again = self.was_read.swap(true, Ordering::Relaxed).then(|| self.reopen()).transpose()?;
        let fd = again.as_ref().unwrap_or(&self.fd);
        BUFFER.with_borrow_mut(|buffer| {
            let mut raw = rustix::fs::RawDir::new(fd, buffer);
            while let Some(entry) = raw.next() {
                let entry = entry?;
                entries.push(entry.file_name().to_bytes(), known_kind(entry.file_type()));
            }
            io::Result::Ok(())
        })?;
        entries.sort();
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    fn read_names(&self, entries: &mut Entries) -> io::Result<()> {
        self.was_read.store(true, Ordering::Relaxed);
        entries.clear();
        for entry in rustix::fs::Dir::read_from(&self.fd)? {
            let entry = entry?;
            entries.push(entry.file_name().to_bytes(), known_kind(entry.file_type()));
        }
        entries.sort();
        Ok(())
    }

    /// Reads the small file `name` whole; `None` where nothing stands there.
    ///
    /// # Errors
    /// What opening or reading answers; `InvalidInput` if it is no regular file, `FileTooLarge` above `limit` bytes.
    pub fn read_file(&self, name: &[u8], limit: u64) -> io::Result<Option<Vec<u8>>> {
        let Some((file, stat)) = self.open_regular(name)? else { return Ok(None) };
        let mut bytes = Vec::with_capacity(usize::try_from(stat.size.min(limit)).unwrap_or(0) + 1);
        let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
        if read as u64 > limit {
            return Err(too_large());
        }
        Ok(Some(bytes))
    }

    /// Reads the large file `name` whole, in at most `threads` threads; `None` where nothing stands there. It is one that is
    /// replaced and never changed.
    ///
    /// # Errors
    /// As [`Dir::read_file`]; `UnexpectedEof` where it is cut meanwhile.
    pub fn read_large_file(&self, name: &[u8], limit: u64, threads: usize) -> io::Result<Option<Vec<u8>>> {
        let Some((file, stat)) = self.open_regular(name)? else { return Ok(None) };
        let size = usize::try_from(stat.size.min(limit)).map_err(|_| too_large())?;
        if stat.size > limit {
            return Err(too_large());
        }
        let mut bytes = vec![0; size];
        let share = size.div_ceil(threads.max(1)).max(SHARE);
        let shares = (0_u64..).step_by(share).zip(bytes.chunks_mut(share));
        for read in in_parallel(shares, |(at, share)| file.read_exact_at(share, at)) {
            read?;
        }
        Ok(Some(bytes))
    }

    /// Opens a regular file; `None` where nothing stands there.
    fn open_regular(&self, name: &[u8]) -> io::Result<Option<(File, Stat)>> {
        let file = match self.open_file(name) {
            Ok(file) => file,
            Err(err) if matches!(err.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(err) => return Err(err),
        };
        let stat = Self::stat_file(&file)?;
        if stat.kind != FileKind::File {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        Ok(Some((file, stat)))
    }
}

fn too_large() -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, "larger than a file of this kind can be")
}

/// Kind that a directory entry claims; `None` where the file system says nothing.
fn known_kind(kind: rustix::fs::FileType) -> Option<FileKind> {
    (kind != rustix::fs::FileType::Unknown).then(|| FileKind::from_type(kind))
}

#[cfg(target_os = "linux")]
fn stat_at(fd: BorrowedFd<'_>, name: &[u8], flags: AtFlags) -> io::Result<Stat> {
    let mask = rustix::fs::StatxFlags::BASIC_STATS;
    Ok(Stat::from_statx(&rustix::fs::statx(fd, name, flags, mask)?))
}

#[cfg(not(target_os = "linux"))]
fn stat_at(fd: BorrowedFd<'_>, name: &[u8], flags: AtFlags) -> io::Result<Stat> {
    if name.is_empty() {
        return Ok(Stat::from_stat(&rustix::fs::fstat(fd)?));
    }
    Ok(Stat::from_stat(&rustix::fs::statat(fd, name, flags)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Dir) -> Vec<Vec<u8>> {
        let mut entries = Entries::default();
        dir.read_entries(&mut entries).unwrap();
        entries.iter().map(|entry| entry.name.to_vec()).collect()
    }

    #[test]
    fn entries_are_sorted_bytes_and_can_be_read_twice() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        for name in [b"b".as_slice(), b"a", b"\xff\xfe", b"a.b"] {
            std::fs::write(temp.path().join(std::ffi::OsStr::from_bytes(name)), "").unwrap();
        }
        let expected: Vec<Vec<u8>> = vec![b"a".to_vec(), b"a.b".to_vec(), b"b".to_vec(), b"\xff\xfe".to_vec()];
        assert_eq!(names(&dir), expected);
        assert_eq!(names(&dir), expected);
    }

    #[test]
    fn nothing_has_no_names_and_takes_none() {
        let nothing = Dir::nothing().unwrap();
        assert!(names(&nothing).is_empty() && names(&nothing).is_empty());
        assert!(nothing.read_file(b"f", 10).unwrap().is_none());
        let refused = [nothing.create_new(b"f", 0o600).map(drop), nothing.create_dir(b"d", 0o700)];
        assert!(refused.iter().all(|made| made.as_ref().is_err_and(|err| err.kind() == io::ErrorKind::NotADirectory)));
    }

    #[test]
    fn clones_and_threads_each_read_all_names() {
        let temp = tempfile::tempdir().unwrap();
        for number in 0..200 {
            std::fs::write(temp.path().join(format!("{number}")), "").unwrap();
        }
        let dir = Dir::open(temp.path()).unwrap();
        assert_eq!(names(&dir.try_clone().unwrap()).len(), 200);
        assert_eq!(names(&dir).len(), 200);
        let seen = std::thread::scope(|scope| {
            let read = || (0..100).map(|_| names(&dir).len()).collect::<Vec<_>>();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(read)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(seen.iter().all(|count| *count == 200), "{seen:?}");
    }
}
