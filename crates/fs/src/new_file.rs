//! A file that we are writing: the only way by which bytes reach the disk.

use std::fs::File;
use std::io::{self, Write};

use rustix::fs::{Gid, Mode, Uid};

use crate::{Durability, Stat, fault};

/// A new file, created by [`Dir::create_new`](crate::Dir::create_new). Not buffered.
#[derive(Debug)]
pub struct NewFile {
    file: File,
    name: Vec<u8>,
}

impl NewFile {
    pub(crate) fn new(file: File, name: &[u8]) -> Self {
        Self { file, name: name.to_vec() }
    }

    /// Name that the file was created under.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// Stat data as of now.
    ///
    /// # Errors
    /// What `fstat` answers.
    pub fn stat(&self) -> io::Result<Stat> {
        crate::dir::stat_file(&self.file)
    }

    /// Sets the permission bits exactly, whatever the umask (`mode & 0o7777`).
    ///
    /// # Errors
    /// What `fchmod` answers.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        fault::step("chmod", &self.name)?;
        Ok(rustix::fs::fchmod(&self.file, Mode::from_raw_mode(mode & 0o7777))?)
    }

    /// Sets owner and group.
    ///
    /// # Errors
    /// What `fchown` answers; EPERM for everyone but root where the owner changes.
    pub fn set_owner(&self, uid: u32, gid: u32) -> io::Result<()> {
        fault::step("chown", &self.name)?;
        Ok(rustix::fs::fchown(&self.file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?)
    }

    /// Makes the content durable.
    ///
    /// # Errors
    /// What `fsync` answers. The file must then be taken as lost: the kernel may report an error once and drop the pages.
    pub fn sync(&self, durability: Durability) -> io::Result<()> {
        if durability == Durability::None {
            return Ok(());
        }
        fault::step("fsync", &self.name)?;
        self.file.sync_all()
    }

    /// The open file, for reading back what was written.
    pub fn into_file(self) -> File {
        self.file
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        fault::step("write", &self.name)?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
