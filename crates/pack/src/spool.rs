//! The bytes of a pack on their way to the disk.
//!
//! A pack ends with the SHA-1 of all before it, its header included, and the header holds the number of objects, which
//! is known only at the end. SHA-1 cannot be patched at its beginning, so the checksum cannot be taken while writing.
//! Hence two ways: a pack of less than [`IN_MEMORY`] (nearly every save) stays in memory and is hashed and written once,
//! with the right header; a larger one goes to its file as it comes, has its header patched at the end, and is then read
//! once, in sequence and in small pieces, out of the page cache (about as fast as SHA-1 itself).

use std::io;

use ckpt_fs::{Dir, Durability, NewFile};

use crate::hash::Checksum;
use crate::{Error, ObjectId, Result};

/// Up to this size a pack is kept in memory.
const IN_MEMORY: usize = 8 << 20;

/// Size of one write or read once the pack is in its file.
const PIECE: usize = 1 << 20;

/// Magic, version 2, and a count of objects that is filled in at the end.
const HEADER: [u8; 12] = *b"PACK\0\0\0\x02\0\0\0\0";

/// A pack that grows, and can be cut back.
#[derive(Debug)]
pub(crate) struct Spool {
    dir: Dir,
    name: Vec<u8>,
    file: Option<NewFile>,
    /// Bytes that are in the file.
    flushed: u64,
    /// Bytes after those.
    buffer: Vec<u8>,
}

impl Spool {
    /// Begins a pack. Its file `name` in `dir` is created when memory is not enough, or at the end.
    pub(crate) fn new(dir: Dir, name: Vec<u8>) -> Self {
        Self { dir, name, file: None, flushed: 0, buffer: HEADER.to_vec() }
    }

    /// Bytes until now.
    pub(crate) fn len(&self) -> u64 {
        self.flushed + self.buffer.len() as u64
    }

    /// Adds bytes at the end. After an error the caller cuts back to where it began, or gives up.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let limit = if self.file.is_some() { PIECE } else { IN_MEMORY };
        if self.buffer.len() + bytes.len() > limit {
            self.flush()?;
        }
        match &self.file {
            Some(file) if bytes.len() > PIECE => {
                file.write_all_at(bytes, self.flushed).map_err(Error::io("write", &self.name))?;
                self.flushed += bytes.len() as u64;
            }
            _ => self.buffer.extend_from_slice(bytes),
        }
        Ok(())
    }

    /// Takes back all from `len` on.
    pub(crate) fn truncate(&mut self, len: u64) {
        if let Some(kept) = len.checked_sub(self.flushed) {
            self.buffer.truncate(usize::try_from(kept).unwrap_or(usize::MAX));
            return;
        }
        self.buffer.clear();
        self.flushed = len;
        if let Some(file) = &self.file {
            // Only to give the space back at once: what comes next overwrites these bytes, and `finish` sets the
            // length again and reports an error.
            let _ = file.set_len(len);
        }
    }

    /// Writes what is left, with `count` in the header, and makes the file durable. Returns the checksum of the pack
    /// and its size.
    pub(crate) fn finish(mut self, count: u32, durability: Durability) -> Result<(ObjectId, u64)> {
        let name = self.name.clone();
        let checksum = if self.file.is_none() {
            self.buffer[8..12].copy_from_slice(&count.to_be_bytes());
            let mut checksum = Checksum::default();
            checksum.update(&self.buffer);
            checksum.finish()
        } else {
            let len = self.len();
            let file = self.flush()?;
            file.write_all_at(&count.to_be_bytes(), 8).map_err(Error::io("write", &name))?;
            hash_file(file, len).map_err(Error::io("read back", &name))?
        };
        self.buffer.extend_from_slice(checksum.as_bytes());
        let len = self.len();
        let file = self.flush()?;
        file.set_len(len).map_err(Error::io("write", &name))?;
        file.sync(durability).map_err(Error::io("sync", &name))?;
        Ok((checksum, len))
    }

    /// Writes what is in memory to the file, which is created where it is missing.
    fn flush(&mut self) -> Result<&NewFile> {
        let file = match self.file {
            Some(ref file) => file,
            None => self.file.insert(create(&self.dir, &self.name)?),
        };
        file.write_all_at(&self.buffer, self.flushed).map_err(Error::io("write", &self.name))?;
        self.flushed += self.buffer.len() as u64;
        self.buffer.clear();
        self.buffer.shrink_to(PIECE);
        Ok(file)
    }
}

/// Checksum of the first `len` bytes of a file.
fn hash_file(file: &NewFile, len: u64) -> io::Result<ObjectId> {
    let mut checksum = Checksum::default();
    let mut buffer = vec![0; PIECE];
    let mut at = 0;
    while at < len {
        let want = usize::try_from(len - at).unwrap_or(PIECE).min(PIECE);
        match file.read_at(&mut buffer[..want], at) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                checksum.update(&buffer[..read]);
                at += read as u64;
            }
            Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
            Err(err) => return Err(err),
        }
    }
    Ok(checksum.finish())
}

/// Creates a file of ours: mode 0600 exactly.
pub(crate) fn create(dir: &Dir, name: &[u8]) -> Result<NewFile> {
    let file = dir.create_new(name, 0o600).map_err(Error::io("create", name))?;
    file.set_mode(0o600).map_err(Error::io("create", name))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the way to the disk, the file holds the same bytes.
    #[test]
    fn a_large_pack_is_cut_and_hashed_like_a_small_one() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        let piece: Vec<u8> = (0..=255).cycle().take(700_000).collect();
        let mut spool = Spool::new(dir.try_clone().unwrap(), b"large".to_vec());
        let mut expected = HEADER.to_vec();
        expected[11] = 9;
        for round in 0..30_u64 {
            spool.append(&piece).unwrap();
            if round % 3 == 2 {
                // Takes back three pieces, most of them in the file already, and one half comes again.
                spool.truncate(expected.len() as u64);
                spool.append(&piece[..350_000]).unwrap();
                expected.extend_from_slice(&piece[..350_000]);
            }
        }
        spool.append(&piece.repeat(20)).unwrap();
        expected.extend_from_slice(&piece.repeat(20));
        assert_eq!(spool.len(), expected.len() as u64);
        let (checksum, len) = spool.finish(9, Durability::Full).unwrap();
        let mut hash = Checksum::default();
        hash.update(&expected);
        assert_eq!(checksum, hash.finish());
        expected.extend_from_slice(checksum.as_bytes());
        assert_eq!(len, expected.len() as u64);
        assert!(std::fs::read(temp.path().join("large")).unwrap() == expected);
    }
}
