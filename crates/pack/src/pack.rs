//! One pack of a directory, for reading.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use ckpt_fs::{Dir, FileKind, Stat};

use crate::error::Fault;
use crate::hash::Checksum;
use crate::idx::{Idx, Source};
use crate::inflate::EntryAt;
use crate::keep::{Keep, file_name};
use crate::{Error, ObjectId, Result};

/// Bytes before the first entry: magic, version, count.
pub(crate) const HEADER: u64 = 12;

/// Bytes read at once of a pack that is read whole.
const PIECE: usize = 256 << 10;

/// An idx is read whole once it was asked about this part of its objects, and so often: each question reads about a hundred
/// ids.
const ASKED_PART: u32 = 256;
const ASKED_OFTEN: u32 = 8;

/// A larger idx is never read whole, so that memory stays bounded.
const WHOLE_IDX_BYTES: u64 = 64 << 20;

/// Bytes after the last entry: the checksum.
pub(crate) const TRAILER: u64 = 20;

/// A pack that was whole when it was listed. Its files are opened when first needed.
#[derive(Debug)]
pub(crate) struct Pack {
    pub(crate) name: ObjectId,
    /// Whether its `.keep` is ours.
    pub(crate) ours: bool,
    pub(crate) idx: Idx,
    dir: Arc<Dir>,
    idx_stat: Stat,
    pack_stat: Stat,
    /// Whether the files stay open: a directory with thousands of packs must not use up the process's descriptors.
    stay_open: bool,
    idx_file: OnceLock<Arc<File>>,
    pack_file: OnceLock<Arc<File>>,
    /// How often the idx was asked while it was not in memory.
    asked: AtomicU32,
    /// The idx, if it was asked often.
    whole_idx: OnceLock<Vec<u8>>,
}

/// Where an object is.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    file: Arc<File>,
    start: u64,
    end: u64,
}

impl Place {
    pub(crate) fn entry(&self) -> EntryAt<'_> {
        EntryAt { file: &self.file, start: self.start, end: self.end }
    }
}

impl Pack {
    /// Opens the idx, and checks that the pack beside it is there and ends with the checksum that the idx names: a
    /// pack that a power cut left short does not.
    pub(crate) fn open(dir: &Arc<Dir>, name: ObjectId, stay_open: bool) -> Result<Self> {
        let (idx_file, idx_stat) = open_regular(dir, &name, "idx")?;
        let idx = Idx::read(&idx_file, idx_stat.size).map_err(in_file(name, "idx"))?;
        let (pack_file, pack_stat) = open_regular(dir, &name, "pack")?;
        let mut trailer = [0; 20];
        if pack_stat.size < HEADER + TRAILER {
            return Err(in_file(name, "pack")(Fault::damaged("the pack is too short")));
        }
        let read = pack_file.read_exact_at(&mut trailer, pack_stat.size - TRAILER);
        read.map_err(|err| in_file(name, "pack")(err.into()))?;
        if trailer != *idx.pack.as_bytes() {
            return Err(in_file(name, "pack")(Fault::damaged("the pack does not end with the checksum in its idx")));
        }
        let ours = Keep::is_ours(dir, &name)?;
        Ok(Self {
            name,
            ours,
            idx,
            dir: Arc::clone(dir),
            idx_stat,
            pack_stat,
            stay_open,
            idx_file: OnceLock::new(),
            pack_file: OnceLock::new(),
            asked: AtomicU32::new(0),
            whole_idx: OnceLock::new(),
        })
    }

    /// Whether every byte of the pack and of the idx is as their checksums say. Reads both.
    pub(crate) fn is_whole(&self) -> Result<bool> {
        match self.idx.entries(&*self.idx_file()?).map_err(in_file(self.name, "idx")) {
            Ok(_) => {}
            Err(Error::Damaged { .. }) => return Ok(false),
            Err(err) => return Err(err),
        }
        let file = self.pack_file()?;
        let mut checksum = Checksum::default();
        let mut piece = vec![0; PIECE];
        let mut at = 0;
        while at < self.end() {
            let len = usize::try_from(self.end() - at).unwrap_or(PIECE).min(PIECE);
            file.read_exact_at(&mut piece[..len], at).map_err(|err| in_file(self.name, "pack")(err.into()))?;
            checksum.update(&piece[..len]);
            at += len as u64;
        }
        Ok(checksum.finish() == self.idx.pack)
    }

    /// Whether the files that stand there now are still those that were opened.
    pub(crate) fn is_current(&self) -> bool {
        let stat = |extension| self.dir.stat(&file_name(&self.name, extension)).ok();
        stat("idx") == Some(self.idx_stat) && stat("pack") == Some(self.pack_stat)
    }

    /// Size of the pack file.
    pub(crate) fn bytes(&self) -> u64 {
        self.pack_stat.size
    }

    /// Where the entries end.
    pub(crate) fn end(&self) -> u64 {
        self.bytes() - TRAILER
    }

    pub(crate) fn contains(&self, id: &ObjectId) -> Result<bool> {
        Ok(self.position(id)?.is_some())
    }

    pub(crate) fn find(&self, id: &ObjectId) -> Result<Option<Place>> {
        let Some(position) = self.position(id)? else { return Ok(None) };
        let start = self.in_idx(|source| self.idx.offset(source, position))?;
        let end = self.end();
        if start < HEADER || start >= end {
            return Err(self.damaged(Some(*id), "its offset lies outside the pack"));
        }
        Ok(Some(Place { file: self.pack_file()?, start, end }))
    }

    fn position(&self, id: &ObjectId) -> Result<Option<u32>> {
        if self.idx.bucket(id).is_empty() {
            return Ok(None);
        }
        self.in_idx(|source| self.idx.position(source, id))
    }

    /// All ids, in order.
    pub(crate) fn ids(&self) -> Result<Vec<ObjectId>> {
        self.in_idx(|source| self.idx.ids(source))
    }

    /// Asks the idx, which is opened only if it is not in memory.
    fn in_idx<T>(&self, ask: impl FnOnce(Source<'_>) -> Result<T, Fault>) -> Result<T> {
        let in_memory = self.idx.in_memory().or_else(|| self.whole_idx.get().map(|bytes| Source::Memory(bytes)));
        let answer = match in_memory {
            Some(source) => ask(source),
            None => {
                let file = self.idx_file()?;
                // One thread reads it, and the others ask the file meanwhile.
                let often = (self.idx.count() / ASKED_PART).max(ASKED_OFTEN);
                let is_asked_often = self.asked.fetch_add(1, Ordering::Relaxed) == often;
                if is_asked_often && self.idx_stat.size <= WHOLE_IDX_BYTES {
                    let mut bytes = vec![0; usize::try_from(self.idx_stat.size).unwrap_or(0)];
                    file.read_exact_at(&mut bytes, 0).map_err(|err| in_file(self.name, "idx")(err.into()))?;
                    ask(Source::Memory(self.whole_idx.get_or_init(|| bytes)))
                } else {
                    ask(Source::File(&file))
                }
            }
        };
        answer.map_err(in_file(self.name, "idx"))
    }

    pub(crate) fn idx_file(&self) -> Result<Arc<File>> {
        self.file(&self.idx_file, "idx")
    }

    pub(crate) fn pack_file(&self) -> Result<Arc<File>> {
        self.file(&self.pack_file, "pack")
    }

    fn file(&self, kept: &OnceLock<Arc<File>>, extension: &str) -> Result<Arc<File>> {
        if let Some(file) = kept.get() {
            return Ok(Arc::clone(file));
        }
        let file = Arc::new(open_regular(&self.dir, &self.name, extension)?.0);
        if self.stay_open {
            return Ok(Arc::clone(kept.get_or_init(|| file)));
        }
        Ok(file)
    }

    pub(crate) fn damaged(&self, id: Option<ObjectId>, reason: impl Into<String>) -> Error {
        Error::Damaged { pack: self.name, id, reason: reason.into() }
    }

    /// For `map_err` of whatever went wrong with an entry.
    pub(crate) fn in_entry(&self, id: ObjectId) -> impl FnOnce(Fault) -> Error {
        let (pack, name) = (self.name, file_name(&self.name, "pack"));
        move |fault| match fault {
            Fault::Io(source) => Error::io("read", name)(source),
            Fault::Damaged(reason) => Error::Damaged { pack, id: Some(id), reason },
        }
    }
}

/// For `map_err` of whatever went wrong with a file of pack `name` as a whole.
pub(crate) fn in_file(name: ObjectId, extension: &'static str) -> impl FnOnce(Fault) -> Error {
    move |fault| match fault {
        Fault::Io(source) => Error::io("read", file_name(&name, extension))(source),
        Fault::Damaged(reason) => Error::Damaged { pack: name, id: None, reason },
    }
}

pub(crate) fn open_regular(dir: &Dir, name: &ObjectId, extension: &str) -> Result<(File, Stat)> {
    let file_name = file_name(name, extension);
    let file = dir.open_file(&file_name).map_err(Error::io("open", &file_name))?;
    let stat = Dir::stat_file(&file).map_err(Error::io("open", &file_name))?;
    if stat.kind != FileKind::File {
        let reason = format!("its .{extension} is no regular file");
        return Err(Error::Damaged { pack: *name, id: None, reason });
    }
    Ok((file, stat))
}
