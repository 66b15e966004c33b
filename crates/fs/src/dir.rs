//! A directory handle and what can be done below it.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, RenameFlags, Uid};
use rustix::io::Errno;

use crate::beneath::{self, DIR_FLAGS};
use crate::{Durability, Entries, FileKind, NewFile, Stat, fault};

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
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self::from(rustix::fs::open(path.as_os_str().as_bytes(), flags, Mode::empty())?))
    }

    /// Opens the directory `name`.
    ///
    /// # Errors
    /// What `openat` answers; `NotADirectory` or `FilesystemLoop` if it is a link.
    pub fn open_dir(&self, name: &[u8]) -> io::Result<Self> {
        Ok(Self::from(rustix::fs::openat(&self.fd, name, DIR_FLAGS, Mode::empty())?))
    }

    /// Opens the directory at `path` (relative, `/`-separated, any length, no `..`; empty is this directory).
    ///
    /// # Errors
    /// What `openat2` answers; a link anywhere on the way is an error.
    pub fn open_beneath(&self, path: &[u8]) -> io::Result<Self> {
        beneath::open(self.fd.as_fd(), path).map(Self::from)
    }

    /// A second handle of the same directory.
    ///
    /// # Errors
    /// When the process has no file descriptor left.
    pub fn try_clone(&self) -> io::Result<Self> {
        let fd = self.fd.try_clone()?;
        // Both descriptors share one position: whoever is not the first to read names opens the directory anew.
        Ok(Self { fd, was_read: AtomicBool::new(true) })
    }

    /// The same directory with a position of its own.
    #[cfg(target_os = "linux")]
    fn reopen(&self) -> io::Result<OwnedFd> {
        Ok(rustix::fs::openat(&self.fd, c".", DIR_FLAGS, Mode::empty())?)
    }

    /// Opens the file `name` for reading, without waiting for a writer should it be a FIFO. The caller checks by
    /// [`Dir::stat_file`] that it is a regular file.
    ///
    /// # Errors
    /// What `openat` answers; `FilesystemLoop` if it is a link.
    pub fn open_file(&self, name: &[u8]) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&self.fd, name, flags, Mode::empty())?))
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
        stat_file(file)
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
    /// What `getdents` answers; `entries` is then not to be used.
    #[cfg(target_os = "linux")]
    pub fn read_entries(&self, entries: &mut Entries) -> io::Result<()> {
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

    /// Reads the names in this directory into `entries`, sorted by bytes. Each call starts at the beginning.
    ///
    /// # Errors
    /// What `readdir` answers; `entries` is then not to be used.
    #[cfg(not(target_os = "linux"))]
    pub fn read_entries(&self, entries: &mut Entries) -> io::Result<()> {
        self.was_read.store(true, Ordering::Relaxed);
        entries.clear();
        for entry in rustix::fs::Dir::read_from(&self.fd)? {
            let entry = entry?;
            entries.push(entry.file_name().to_bytes(), known_kind(entry.file_type()));
        }
        entries.sort();
        Ok(())
    }
}

/// Changing. Each of these is one step for [`fault`].
impl Dir {
    /// Creates the file `name` for writing, with `mode & !umask`; fails if anything stands there.
    ///
    /// # Errors
    /// What `openat` answers; `AlreadyExists` if anything stands there.
    pub fn create_new(&self, name: &[u8], mode: u32) -> io::Result<NewFile> {
        fault::step("create", name)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, name, flags, Mode::from_raw_mode(mode))?;
        Ok(NewFile::new(File::from(fd), name))
    }

    /// Creates the directory `name` with exactly `mode`, whatever the umask.
    ///
    /// # Errors
    /// What `mkdirat` or `fchmod` answers; `AlreadyExists` if anything stands there.
    pub fn create_dir(&self, name: &[u8], mode: u32) -> io::Result<()> {
        fault::step("mkdir", name)?;
        rustix::fs::mkdirat(&self.fd, name, Mode::from_raw_mode((mode | 0o700) & 0o777))?;
        self.open_dir(name)?.set_self_mode(mode)
    }

    /// Creates the link `name` with `target`; fails if anything stands there.
    ///
    /// # Errors
    /// What `symlinkat` answers; `AlreadyExists` if anything stands there.
    pub fn create_link(&self, target: &[u8], name: &[u8]) -> io::Result<()> {
        fault::step("symlink", name)?;
        Ok(rustix::fs::symlinkat(target, &self.fd, name)?)
    }

    /// Gives the file `name` a second name in `to`; fails if anything stands there.
    ///
    /// # Errors
    /// What `linkat` answers; `AlreadyExists` if anything stands there.
    pub fn hard_link(&self, name: &[u8], to: &Self, new_name: &[u8]) -> io::Result<()> {
        fault::step("link", new_name)?;
        Ok(rustix::fs::linkat(&self.fd, name, &to.fd, new_name, AtFlags::empty())?)
    }

    /// Renames `name` to `new_name` in `to`, replacing what stands there.
    ///
    /// # Errors
    /// What `renameat` answers.
    pub fn rename(&self, name: &[u8], to: &Self, new_name: &[u8]) -> io::Result<()> {
        fault::step("rename", new_name)?;
        Ok(rustix::fs::renameat(&self.fd, name, &to.fd, new_name)?)
    }

    /// Renames `name` to `new_name` in `to`; fails if anything stands there.
    ///
    /// # Errors
    /// What `renameat2` answers; `AlreadyExists` if anything stands there.
    pub fn rename_noreplace(&self, name: &[u8], to: &Self, new_name: &[u8]) -> io::Result<()> {
        fault::step("rename-noreplace", new_name)?;
        match rustix::fs::renameat_with(&self.fd, name, &to.fd, new_name, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(()),
            // File systems without the flag: a hard link refuses to replace as well, for files and links.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                rustix::fs::linkat(&self.fd, name, &to.fd, new_name, AtFlags::empty())?;
                Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::empty())?)
            }
            Err(err) => Err(err.into()),
        }
    }

    /// Exchanges the two entries in one step. `Ok(false)`: the file system cannot, and nothing was changed.
    ///
    /// # Errors
    /// What `renameat2` answers; `NotFound` if one of them is missing.
    pub fn exchange(&self, name: &[u8], to: &Self, other: &[u8]) -> io::Result<bool> {
        fault::step("exchange", other)?;
        match rustix::fs::renameat_with(&self.fd, name, &to.fd, other, RenameFlags::EXCHANGE) {
            Ok(()) => Ok(true),
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Ok(false),
            Err(err) => Err(err.into()),
        }
    }

    /// Removes the file or link `name`.
    ///
    /// # Errors
    /// What `unlinkat` answers.
    pub fn remove_file(&self, name: &[u8]) -> io::Result<()> {
        fault::step("unlink", name)?;
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    /// Removes the directory `name`, which must be empty.
    ///
    /// # Errors
    /// What `unlinkat` answers; `DirectoryNotEmpty` if it holds anything.
    pub fn remove_dir(&self, name: &[u8]) -> io::Result<()> {
        fault::step("rmdir", name)?;
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR) {
            Ok(()) => Ok(()),
            // POSIX lets a file system answer EEXIST for a directory that is not empty.
            Err(Errno::EXIST) => Err(Errno::NOTEMPTY.into()),
            Err(err) => Err(err.into()),
        }
    }

    /// Removes `name` with all that is below it. Links are removed, never followed; a missing entry is no error.
    /// For directories of ours only: it asks nobody whether the bytes are held anywhere.
    ///
    /// # Errors
    /// The first error of any step; what was removed until then stays removed.
    pub fn remove_tree(&self, name: &[u8]) -> io::Result<()> {
        let Some(stat) = self.try_stat(name)? else { return Ok(()) };
        if stat.kind != FileKind::Dir {
            return self.remove_file(name);
        }
        let dir = self.open_dir(name)?;
        let mut entries = Entries::default();
        dir.read_entries(&mut entries)?;
        for entry in entries.iter() {
            dir.remove_tree(entry.name)?;
        }
        drop(dir);
        self.remove_dir(name)
    }

    /// Sets the permission bits of this directory exactly.
    ///
    /// # Errors
    /// What `fchmod` answers.
    pub fn set_self_mode(&self, mode: u32) -> io::Result<()> {
        fault::step("chmod", b".")?;
        Ok(rustix::fs::fchmod(&self.fd, Mode::from_raw_mode(mode & 0o7777))?)
    }

    /// Sets the permission bits of the file or directory `name` exactly, if it is still the one with `inode`.
    /// `Ok(false)`: something else stands there now, and nothing was changed.
    ///
    /// # Errors
    /// What `openat` or `fchmod` answers. A file without read permission for its owner is reached through its name.
    pub fn set_mode(&self, name: &[u8], inode: u64, mode: u32) -> io::Result<bool> {
        fault::step("chmod", name)?;
        let mode = Mode::from_raw_mode(mode & 0o7777);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => {
                if stat_at(fd.as_fd(), b"", AtFlags::EMPTY_PATH)?.inode != inode {
                    return Ok(false);
                }
                rustix::fs::fchmod(&fd, mode)?;
                Ok(true)
            }
            // Our own file, but not readable: chmod by name does not open it. A link cannot be meant, since its inode
            // would differ.
            Err(Errno::ACCESS) => {
                if self.stat(name)?.inode != inode {
                    return Ok(false);
                }
                rustix::fs::chmodat(&self.fd, name, mode, AtFlags::empty())?;
                Ok(true)
            }
            Err(err) => Err(err.into()),
        }
    }

    /// Sets owner and group of `name`; a link itself, not its target.
    ///
    /// # Errors
    /// What `fchownat` answers; EPERM for everyone but root where the owner changes.
    pub fn set_owner(&self, name: &[u8], uid: u32, gid: u32) -> io::Result<()> {
        fault::step("chown", name)?;
        let (uid, gid) = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
        Ok(rustix::fs::chownat(&self.fd, name, uid, gid, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Makes the names in this directory durable.
    ///
    /// # Errors
    /// What `fsync` answers.
    pub fn sync(&self, durability: Durability) -> io::Result<()> {
        if durability == Durability::None {
            return Ok(());
        }
        fault::step("fsync-dir", b".")?;
        Ok(rustix::fs::fsync(&self.fd)?)
    }

    /// Makes everything on this directory's file system durable (`syncfs`; elsewhere than on Linux `sync`).
    ///
    /// # Errors
    /// What `syncfs` answers.
    pub fn sync_file_system(&self, durability: Durability) -> io::Result<()> {
        if durability == Durability::None {
            return Ok(());
        }
        fault::step("syncfs", b".")?;
        #[cfg(target_os = "linux")]
        rustix::fs::syncfs(&self.fd)?;
        #[cfg(not(target_os = "linux"))]
        rustix::fs::sync();
        Ok(())
    }

    /// Writes `bytes` to `name` so that a reader, or a crash, sees the old content or the new, never a part: a
    /// temporary file beside it (`tmp`, one component), sync, rename, sync of the directory. Mode 0600.
    ///
    /// # Errors
    /// The first error of any step; `name` then holds what it held before, and the temporary may stay behind.
    pub fn write_atomic(&self, tmp: &[u8], name: &[u8], bytes: &[u8], durability: Durability) -> io::Result<()> {
        use std::io::Write;

        let mut file = self.create_new(tmp, 0o600)?;
        file.set_mode(0o600)?;
        file.write_all(bytes)?;
        file.sync(durability)?;
        self.rename(tmp, self, name)?;
        self.sync(durability)
    }

    /// Reads the small file `name` whole; `None` where nothing stands there.
    ///
    /// # Errors
    /// What opening or reading answers; `InvalidInput` if it is no regular file, `FileTooLarge` above `limit` bytes.
    pub fn read_file(&self, name: &[u8], limit: u64) -> io::Result<Option<Vec<u8>>> {
        use std::io::Read;

        let file = match self.open_file(name) {
            Ok(file) => file,
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(err) => return Err(err),
        };
        let stat = stat_file(&file)?;
        if stat.kind != FileKind::File {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(stat.size.min(limit)).unwrap_or(0) + 1);
        let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
        if read as u64 > limit {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than a file of this kind can be"));
        }
        Ok(Some(bytes))
    }
}

/// Kind that a directory entry claims; `None` where the file system says nothing.
fn known_kind(kind: rustix::fs::FileType) -> Option<FileKind> {
    (kind != rustix::fs::FileType::Unknown).then(|| FileKind::from_type(kind))
}

pub(crate) fn stat_file(file: &File) -> io::Result<Stat> {
    stat_at(file.as_fd(), b"", AtFlags::EMPTY_PATH)
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
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

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
            dir.create_new(name, 0o600).unwrap();
        }
        let expected: Vec<Vec<u8>> = vec![b"a".to_vec(), b"a.b".to_vec(), b"b".to_vec(), b"\xff\xfe".to_vec()];
        assert_eq!(names(&dir), expected);
        assert_eq!(names(&dir), expected);
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

    #[test]
    fn write_atomic_replaces_and_leaves_no_temporary() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        dir.write_atomic(b"tmp-1", b"f", b"one", Durability::Full).unwrap();
        dir.write_atomic(b"tmp-1", b"f", b"two", Durability::None).unwrap();
        assert_eq!(std::fs::read(temp.path().join("f")).unwrap(), b"two");
        assert_eq!(names(&dir), [b"f".to_vec()]);
    }

    #[test]
    fn rename_noreplace_and_create_refuse_what_stands_there() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        std::fs::write(temp.path().join("a"), "a").unwrap();
        std::fs::write(temp.path().join("b"), "b").unwrap();
        assert_eq!(dir.rename_noreplace(b"a", &dir, b"b").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(dir.create_new(b"b", 0o600).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert!(dir.exchange(b"a", &dir, b"b").unwrap());
        assert_eq!(std::fs::read(temp.path().join("b")).unwrap(), b"a");
    }

    #[test]
    fn set_mode_leaves_a_stranger_alone_and_follows_no_link() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        let path = temp.path().join("f");
        std::fs::write(&path, "").unwrap();
        let meta = std::fs::metadata(&path).unwrap();
        assert!(!dir.set_mode(b"f", meta.ino() + 1, 0o600).unwrap());
        assert!(dir.set_mode(b"f", meta.ino(), 0o640).unwrap());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o640);
        symlink("f", temp.path().join("l")).unwrap();
        assert!(dir.set_mode(b"l", meta.ino(), 0o600).is_err());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o640);
    }

    #[test]
    fn remove_tree_does_not_follow_links() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        std::fs::create_dir_all(temp.path().join("t/d")).unwrap();
        std::fs::write(temp.path().join("kept"), "x").unwrap();
        std::fs::create_dir(temp.path().join("other")).unwrap();
        std::fs::write(temp.path().join("other/kept"), "x").unwrap();
        symlink("../../other", temp.path().join("t/d/l")).unwrap();
        dir.remove_tree(b"t").unwrap();
        dir.remove_tree(b"t").unwrap();
        assert!(temp.path().join("other/kept").exists());
        assert!(!temp.path().join("t").exists());
    }
}
