//! Changing what stands below a directory handle: creating, renaming, removing, modes, owners, durability.
//!
//! Each function is one step for [`fault`], or a few of these. None asks whether the bytes that it replaces or removes are
//! held anywhere: that is the caller's affair.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, Gid, Mode, OFlags, RenameFlags, Uid};
use rustix::io::Errno;

use super::{Dir, FILE_FLAGS, stat_at};
use crate::fault::{self, Place};
use crate::{Durability, Entries, FileKind, NewFile};

/// How often a directory into which others write is emptied before it is given up.
const REMOVALS: usize = 10;

impl Dir {
    /// Creates the file `name` for writing, with `mode & !umask`; fails if anything stands there.
    ///
    /// # Errors
    /// What `openat` answers; `AlreadyExists` if anything stands there.
    pub fn create_new(&self, name: &[u8], mode: u32) -> io::Result<NewFile> {
        fault::step("create", name)?;
        fault::open_step(name)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, name, flags, Mode::from_raw_mode(mode))?;
        fault::record("create", &[self.place(name)], mode.into(), b"")?;
        Ok(NewFile::new(File::from(fd), name))
    }

    /// Creates the directory `name` with exactly `mode`, whatever the umask.
    ///
    /// # Errors
    /// What `mkdirat` or `fchmod` answers; `AlreadyExists` if anything stands there.
    pub fn create_dir(&self, name: &[u8], mode: u32) -> io::Result<()> {
        fault::step("mkdir", name)?;
        rustix::fs::mkdirat(&self.fd, name, Mode::from_raw_mode((mode | 0o700) & 0o777))?;
        fault::record("mkdir", &[self.place(name)], ((mode | 0o700) & 0o777).into(), b"")?;
        self.open_dir(name)?.set_self_mode(mode)
    }

    /// Creates the link `name` with `target`; fails if anything stands there.
    ///
    /// # Errors
    /// What `symlinkat` answers; `AlreadyExists` if anything stands there.
    pub fn create_link(&self, target: &[u8], name: &[u8]) -> io::Result<()> {
        fault::step("symlink", name)?;
        rustix::fs::symlinkat(target, &self.fd, name)?;
        fault::record("symlink", &[self.place(name)], 0, target)
    }

    /// Gives the file `name` a second name in `to`; fails if anything stands there.
    ///
    /// # Errors
    /// What `linkat` answers; `AlreadyExists` if anything stands there.
    pub fn hard_link(&self, name: &[u8], to: &Self, new_name: &[u8]) -> io::Result<()> {
        fault::step("link", new_name)?;
        rustix::fs::linkat(&self.fd, name, &to.fd, new_name, AtFlags::empty())?;
        fault::record("link", &[self.place(name), to.place(new_name)], 0, b"")
    }

    /// Renames `name` to `new_name` in `to`, replacing what stands there.
    ///
    /// # Errors
    /// What `renameat` answers.
    pub fn rename(&self, name: &[u8], to: &Self, new_name: &[u8]) -> io::Result<()> {
        fault::step("rename", new_name)?;
        rustix::fs::renameat(&self.fd, name, &to.fd, new_name)?;
        fault::record("rename", &[self.place(name), to.place(new_name)], 0, b"")
    }

    /// Renames `name` to `new_name` in `to`; fails if anything stands there.
    ///
    /// # Errors
    /// What `renameat2` answers; `AlreadyExists` if anything stands there.
    pub fn rename_noreplace(&self, name: &[u8], to: &Self, new_name: &[u8]) -> io::Result<()> {
        fault::step("rename-noreplace", new_name)?;
        match rustix::fs::renameat_with(&self.fd, name, &to.fd, new_name, RenameFlags::NOREPLACE) {
            Ok(()) => fault::record("rename", &[self.place(name), to.place(new_name)], 0, b""),
            // File systems without the flag: a hard link refuses to replace as well, for files and links.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                rustix::fs::linkat(&self.fd, name, &to.fd, new_name, AtFlags::empty())?;
                fault::record("link", &[self.place(name), to.place(new_name)], 0, b"")?;
                rustix::fs::unlinkat(&self.fd, name, AtFlags::empty())?;
                fault::record("unlink", &[self.place(name)], 0, b"")
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
            Ok(()) => {
                fault::record("exchange", &[self.place(name), to.place(other)], 0, b"")?;
                Ok(true)
            }
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
        rustix::fs::unlinkat(&self.fd, name, AtFlags::empty())?;
        fault::record("unlink", &[self.place(name)], 0, b"")
    }

    /// Removes the directory `name`, which must be empty.
    ///
    /// # Errors
    /// What `unlinkat` answers; `DirectoryNotEmpty` if it holds anything.
    pub fn remove_dir(&self, name: &[u8]) -> io::Result<()> {
        fault::step("rmdir", name)?;
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR) {
            Ok(()) => fault::record("rmdir", &[self.place(name)], 0, b""),
            // POSIX lets a file system answer EEXIST for a directory that is not empty.
            Err(Errno::EXIST) => Err(Errno::NOTEMPTY.into()),
            Err(err) => Err(err.into()),
        }
    }

    /// Removes `name` with all that is below it. Links are removed, never followed; a missing entry is no error.
    /// For directories of ours only.
    ///
    /// # Errors
    /// The first error of any step, and `DirectoryNotEmpty` where somebody goes on writing into it; what was removed until
    /// then stays removed.
    pub fn remove_tree(&self, name: &[u8]) -> io::Result<()> {
        match self.remove_tree_that_is_there(name) {
            // Somebody else removed or renamed it meanwhile.
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    fn remove_tree_that_is_there(&self, name: &[u8]) -> io::Result<()> {
        if self.stat(name)?.kind != FileKind::Dir {
            return self.remove_file(name);
        }
        let dir = self.open_dir(name)?;
        let mut entries = Entries::default();
        let mut removals = 0;
        loop {
            dir.read_entries(&mut entries)?;
            for entry in entries.iter() {
                dir.remove_tree(entry.name)?;
            }
            removals += 1;
            match self.remove_dir(name) {
                // Somebody who had it open wrote into it meanwhile.
                Err(err) if err.kind() == io::ErrorKind::DirectoryNotEmpty && removals < REMOVALS => {}
                removed => return removed,
            }
        }
    }

    /// Sets the permission bits of this directory exactly.
    ///
    /// # Errors
    /// What `fchmod` answers.
    pub fn set_self_mode(&self, mode: u32) -> io::Result<()> {
        fault::step("chmod", b".")?;
        rustix::fs::fchmod(&self.fd, Mode::from_raw_mode(mode & 0o7777))?;
        fault::record("chmod", &[self.place(b"")], (mode & 0o7777).into(), b"")
    }

    /// Sets the permission bits of the file or directory `name` exactly, if it is still the one with `inode`.
    /// `Ok(false)`: something else stands there now, and nothing was changed.
    ///
    /// # Errors
    /// What `openat` or `fchmod` answers. A file without read permission for its owner is reached through its name.
    pub fn set_mode(&self, name: &[u8], inode: u64, mode: u32) -> io::Result<bool> {
        fault::step("chmod", name)?;
        fault::open_step(name)?;
        let bits = Mode::from_raw_mode(mode & 0o7777);
        match rustix::fs::openat(&self.fd, name, FILE_FLAGS, Mode::empty()) {
            Ok(fd) => {
                if stat_at(fd.as_fd(), b"", AtFlags::EMPTY_PATH)?.inode != inode {
                    return Ok(false);
                }
                rustix::fs::fchmod(&fd, bits)?;
            }
            // Our own file, but not readable: chmod by name does not open it. A link cannot be meant, since its inode
            // would differ.
            Err(Errno::ACCESS) => {
                if self.stat(name)?.inode != inode {
                    return Ok(false);
                }
                rustix::fs::chmodat(&self.fd, name, bits, AtFlags::empty())?;
            }
            Err(err) => return Err(err.into()),
        }
        fault::record("chmod", &[self.place(name)], (mode & 0o7777).into(), b"")?;
        Ok(true)
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
        let synced = fault::step("fsync-dir", b".").and_then(|()| Ok(rustix::fs::fsync(&self.fd)?));
        fault::record("fsync-dir", &[self.place(b"")], synced.is_err().into(), b"")?;
        synced
    }

    /// Makes everything on this directory's file system durable (`syncfs`; elsewhere than on Linux `sync`).
    ///
    /// # Errors
    /// What `syncfs` answers.
    pub fn sync_file_system(&self, durability: Durability) -> io::Result<()> {
        if durability == Durability::None {
            return Ok(());
        }
        let synced = fault::step("syncfs", b".").and_then(|()| {
            #[cfg(target_os = "linux")]
            rustix::fs::syncfs(&self.fd)?;
            #[cfg(not(target_os = "linux"))]
            rustix::fs::sync();
            Ok(())
        });
        fault::record("syncfs", &[self.place(b"")], synced.is_err().into(), b"")?;
        synced
    }

    /// Writes `bytes` to `name` so that a reader, or a crash, sees the old content or the new, never a part: a
    /// temporary file beside it (`tmp`, one component), sync, rename, sync of the directory. Mode 0600.
    ///
    /// # Errors
    /// The first error of any step; `name` then holds what it held before, and the temporary may stay behind.
    pub fn write_atomic(&self, tmp: &[u8], name: &[u8], bytes: &[u8], durability: Durability) -> io::Result<()> {
        self.write_parts_atomic(tmp, name, &[bytes], durability)
    }

    /// As [`Dir::write_atomic`], for bytes that do not stand in one piece.
    ///
    /// # Errors
    /// As for [`Dir::write_atomic`].
    pub fn write_parts_atomic(
        &self,
        tmp: &[u8],
        name: &[u8],
        parts: &[&[u8]],
        durability: Durability,
    ) -> io::Result<()> {
        let mut file = self.create_new(tmp, 0o600)?;
        file.set_mode(0o600)?;
        for part in parts {
            file.write_all(part)?;
        }
        file.sync(durability)?;
        // Over a file that is there ext4 does not rename before the new one is on its way to the disk (its auto_da_alloc). Nobody
        // who wants no sync wants to wait for that.
        if durability == Durability::None && self.take_place(tmp, name)? {
            return Ok(());
        }
        self.rename(tmp, self, name)?;
        self.sync(durability)
    }

    /// Puts `tmp` in the place of the file `name` without a rename over it. `false`: there is no such file, or the file system
    /// cannot, and nothing was changed.
    fn take_place(&self, tmp: &[u8], name: &[u8]) -> io::Result<bool> {
        let is_file = self.try_stat(name)?.is_some_and(|stat| stat.kind == FileKind::File);
        if !is_file || !self.exchange(tmp, self, name)? {
            return Ok(false);
        }
        self.remove_file(tmp)?;
        Ok(true)
    }

    fn place<'a>(&'a self, name: &'a [u8]) -> Place<'a> {
        (self.fd.as_fd(), name)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    #[test]
    fn write_atomic_replaces_and_leaves_no_temporary() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        dir.write_atomic(b"tmp-1", b"f", b"one", Durability::Full).unwrap();
        dir.write_atomic(b"tmp-1", b"f", b"two", Durability::None).unwrap();
        assert_eq!(std::fs::read(temp.path().join("f")).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 1);
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
