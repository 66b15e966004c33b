//! A file that we are writing: the only way by which bytes reach the disk.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use rustix::fs::{Gid, Mode, Uid};

use crate::fault::{self, Place};
use crate::{Dir, Durability, Stat};

/// A new file, created by [`Dir::create_new`]. Not buffered.
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
        Dir::stat_file(&self.file)
    }

    /// Sets the permission bits exactly, whatever the umask (`mode & 0o7777`).
    ///
    /// # Errors
    /// What `fchmod` answers.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        fault::step("chmod", &self.name)?;
        rustix::fs::fchmod(&self.file, Mode::from_raw_mode(mode & 0o7777))?;
        fault::record("chmod", &[self.place()], (mode & 0o7777).into(), b"")
    }

    /// Sets owner and group.
    ///
    /// # Errors
    /// What `fchown` answers; EPERM for everyone but root where the owner changes.
    pub fn set_owner(&self, uid: u32, gid: u32) -> io::Result<()> {
        fault::step("chown", &self.name)?;
        Ok(rustix::fs::fchown(&self.file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?)
    }

    /// Writes all of `bytes` at `offset`; what [`Write`] appends to next does not move.
    ///
    /// # Errors
    /// What `pwrite` answers; a part of `bytes` may then stand in the file.
    pub fn write_all_at(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        // Not the loop of the standard library: it does not tell what was written before an error.
        while !bytes.is_empty() {
            match self.write_at(bytes, offset) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    bytes = &bytes[written..];
                    offset += written as u64;
                }
                Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
                Err(err) => return Err(err),
            }
        }
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let count = fault::write_step(&self.name, bytes.len())?;
        let written = self.file.write_at(&bytes[..count], offset)?;
        fault::record("write", &[self.place()], offset, &bytes[..written])?;
        Ok(written)
    }

    /// Reads back at most `buffer.len()` bytes from `offset`; 0 at the end of the file.
    ///
    /// # Errors
    /// What `pread` answers.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }

    /// Cuts the file to `len` bytes, or fills it up with zeros to that length.
    ///
    /// # Errors
    /// What `ftruncate` answers.
    pub fn set_len(&self, len: u64) -> io::Result<()> {
        fault::step("truncate", &self.name)?;
        self.file.set_len(len)?;
        fault::record("truncate", &[self.place()], len, b"")
    }

    /// Makes the content durable.
    ///
    /// # Errors
    /// What `fsync` answers. The file must then be taken as lost: the kernel may report an error once and drop the pages.
    pub fn sync(&self, durability: Durability) -> io::Result<()> {
        if durability == Durability::None {
            return Ok(());
        }
        let synced = fault::step("fsync", &self.name).and_then(|()| self.file.sync_all());
        fault::record("fsync", &[self.place()], synced.is_err().into(), b"")?;
        synced
    }

    /// The open file, for reading back what was written.
    pub fn into_file(self) -> File {
        self.file
    }

    fn place(&self) -> Place<'_> {
        (self.file.as_fd(), b"")
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = fault::write_step(&self.name, bytes.len())?;
        let written = self.file.write(&bytes[..count])?;
        fault::record_append(self.file.as_fd(), &bytes[..written])?;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_patched_cut_and_read_back() {
        let temp = tempfile::tempdir().unwrap();
        let file = Dir::open(temp.path()).unwrap().create_new(b"f", 0o600).unwrap();
        file.write_all_at(b"abcdef", 0).unwrap();
        file.write_all_at(b"X", 1).unwrap();
        file.set_len(3).unwrap();
        let mut buffer = [0; 8];
        assert_eq!(file.read_at(&mut buffer, 1).unwrap(), 2);
        assert_eq!(&buffer[..2], b"Xc");
        assert_eq!(file.read_at(&mut buffer, 3).unwrap(), 0);
    }
}
