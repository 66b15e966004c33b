//! Contents on their way into the store: hash, look whether it is there, deflate, pack.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ckpt_fs::Dir;
use ckpt_pack::{Encoder, FinishedPack, IdSet, KEEP_TEXT, Kind, ObjectHasher, PackWriter, Streamed};

use crate::error::Context;
use crate::objects::pack_error;
use crate::session::Session;
use crate::state::{HashOnly, ObjectSink};
use crate::{Error, Event, ObjectId, Observer, Result, Silent};

/// An open pack that has a third of what this save published before, and [`ckpt_pack::LARGE`] at least, is published as it
/// is, and a new one begun: an interruption loses at most the open one, no pack of it is merged by later saves, and their
/// number grows with the logarithm of what is saved.
const SEGMENT: u64 = 3;
/// Bytes read at once from a large file.
const CHUNK: usize = 256 << 10;

/// Takes the contents of files too: into the store, or only their ids.
pub(crate) trait Ingest: ObjectSink {
    /// Takes a content that is in memory.
    fn blob(&self, content: &[u8]) -> Result<ObjectId> {
        self.put(Kind::Blob, content)
    }

    /// Takes `size` bytes from the beginning of a file, in bounded memory. `None`: the file is shorter, changed between
    /// two readings, or cannot be read, and nothing was taken. Errors are those of the store.
    fn stream(&self, file: &mut File, size: u64) -> Result<Option<ObjectId>>;
}

/// Stores nothing.
impl Ingest for HashOnly {
    fn stream(&self, file: &mut File, size: u64) -> Result<Option<ObjectId>> {
        hash_file(file, size, &Silent)
    }
}

/// Stores nothing, and ends when somebody asks for that.
pub(crate) struct HashUntilStopped<'a>(pub(crate) &'a dyn Observer);

impl ObjectSink for HashUntilStopped<'_> {
    fn put(&self, kind: Kind, content: &[u8]) -> Result<ObjectId> {
        HashOnly.put(kind, content)
    }
}

impl Ingest for HashUntilStopped<'_> {
    fn stream(&self, file: &mut File, size: u64) -> Result<Option<ObjectId>> {
        hash_file(file, size, self.0)
    }
}

/// A file that cannot be read any more once somebody asks for an end: there may be gigabytes left.
struct Stoppable<'a, R> {
    file: R,
    observer: &'a dyn Observer,
}

impl<R: Read> Read for Stoppable<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.observer.interrupted() {
            return Err(io::Error::other("interrupted"));
        }
        self.file.read(out)
    }
}

/// Hashes the first `size` bytes of a file; `None` when it is shorter, or cannot be read.
fn hash_file(file: &mut File, size: u64, observer: &dyn Observer) -> Result<Option<ObjectId>> {
    if file.seek(SeekFrom::Start(0)).is_err() {
        return Ok(None);
    }
    let mut hasher = ObjectHasher::new(Kind::Blob, size);
    let mut buffer = vec![0; CHUNK];
    let mut left = size;
    while left > 0 {
        if observer.interrupted() {
            return Err(Error::Interrupted);
        }
        let wanted = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
        match file.read(&mut buffer[..wanted]) {
            Ok(0) => return Ok(None),
            Ok(read) => {
                left -= read as u64;
                hasher.update(&buffer[..read]);
            }
            Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Ok(None),
        }
    }
    hasher.finish().map(Some).map_err(|err| pack_error(std::path::Path::new(""), err))
}

thread_local! {
    static ENCODER: RefCell<Encoder> = RefCell::new(Encoder::new());
}

/// Packs what the store has not.
pub(crate) struct StoreIngest<'a> {
    session: &'a Session<'a>,
    /// Who may ask for an end.
    observer: &'a dyn Observer,
    pack_dir: Dir,
    open: Mutex<PackWriter>,
    /// Bytes of the packs that were published.
    published: AtomicU64,
    /// Objects of other packs that are whole: they were read, or this one published them.
    read_back: Mutex<IdSet>,
}

impl<'a> StoreIngest<'a> {
    pub(crate) fn new(session: &'a Session<'a>) -> Result<Self> {
        Self::until(session, &*session.store.options.observer)
    }

    /// One that goes on to its end: the worktree was changed, and what is packed now records it.
    pub(crate) fn to_the_end(session: &'a Session<'a>) -> Result<Self> {
        Self::until(session, &Silent)
    }

    fn until(session: &'a Session<'a>, observer: &'a dyn Observer) -> Result<Self> {
        let path = session.store.path.join("objects/pack");
        let pack_dir = session.store.dir.open_beneath(b"objects/pack").context("open", path)?;
        let open = Mutex::new(new_writer(session)?);
        Ok(Self { session, observer, pack_dir, open, published: AtomicU64::new(0), read_back: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, PackWriter> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, err: ckpt_pack::Error) -> Error {
        pack_error(&self.session.store.path.join("objects"), err)
    }

    /// Whether an object that comes by need not be packed. What an idx names is read, since a pack counts as whole by its
    /// size and its end: a checkpoint shall not rest on a copy with a rotten byte while the worktree has a good one.
    fn holds(&self, id: &ObjectId) -> Result<bool> {
        if self.is_sure_of(id) {
            return Ok(true);
        }
        let is_held = self.session.store.objects.gives_back(id, self.observer)?;
        if is_held {
            self.read_back().insert(*id);
        }
        Ok(is_held)
    }

    /// Whether the open pack holds the object, or it was read from another one.
    pub(crate) fn is_sure_of(&self, id: &ObjectId) -> bool {
        self.lock().contains(id) || self.read_back().contains(id)
    }

    fn read_back(&self) -> MutexGuard<'_, IdSet> {
        self.read_back.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes the open pack when it is full, while other threads fill the next one. Blobs without a timeline that names
    /// them do no harm, and the next try finds them.
    fn publish_segment(&self, mut writer: MutexGuard<'_, PackWriter>) -> Result<()> {
        let full_at = ckpt_pack::LARGE.max(self.published.load(Ordering::Relaxed) / SEGMENT);
        if writer.bytes() < full_at {
            return Ok(());
        }
        let full = std::mem::replace(&mut *writer, new_writer(self.session)?);
        self.read_back().extend(full.ids());
        self.published.fetch_add(full.bytes(), Ordering::Relaxed);
        drop(writer);
        let durability = self.session.store.options.durability;
        full.finish(KEEP_TEXT, durability)
            .and_then(|pack| pack.publish(&self.pack_dir, durability))
            .map_err(|err| self.fail(err))?;
        self.session.store.objects.refresh()
    }

    /// Whether the store held everything that it was given.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty() && self.published.load(Ordering::Relaxed) == 0
    }

    /// Ends the open pack; `None` when nothing is in it.
    pub(crate) fn finish(self) -> Result<Option<FinishedPack>> {
        let objects = self.session.store.path.join("objects");
        let writer = self.open.into_inner().unwrap_or_else(PoisonError::into_inner);
        if writer.is_empty() {
            return Ok(None);
        }
        writer
            .finish(KEEP_TEXT, self.session.store.options.durability)
            .map(Some)
            .map_err(|err| pack_error(&objects, err))
    }

    /// The directory of the packs.
    pub(crate) fn pack_dir(&self) -> Result<Dir> {
        self.pack_dir.try_clone().context("open", self.session.store.path.join("objects/pack"))
    }
}

fn new_writer(session: &Session<'_>) -> Result<PackWriter> {
    PackWriter::create(&session.store.own, &session.token, session.pack_number())
        .map_err(|err| pack_error(&session.store.path.join("objects"), err))
}

impl ObjectSink for StoreIngest<'_> {
    fn put(&self, kind: Kind, content: &[u8]) -> Result<ObjectId> {
        let id = HashOnly.put(kind, content)?;
        if self.holds(&id)? {
            return Ok(id);
        }
        ENCODER.with_borrow_mut(|encoder| {
            let encoded = encoder.encode(id, kind, content);
            let mut writer = self.lock();
            writer.add(&encoded).map_err(|err| self.fail(err))?;
            self.publish_segment(writer)
        })?;
        self.session.store.options.observer.event(Event::Saved { bytes: content.len() as u64 });
        Ok(id)
    }
}

impl Ingest for StoreIngest<'_> {
    fn stream(&self, file: &mut File, size: u64) -> Result<Option<ObjectId>> {
        // Hashing is five times cheaper than deflating, and most large files are in the store already.
        let observer = self.observer;
        let Some(id) = hash_file(file, size, observer)? else { return Ok(None) };
        if self.holds(&id)? {
            return Ok(Some(id));
        }
        if file.seek(SeekFrom::Start(0)).is_err() {
            return Ok(None);
        }
        let mut writer = self.lock();
        let mut content = Stoppable { file: file.take(size), observer };
        let streamed = match writer.add_stream(Kind::Blob, size, Some(id), &mut content) {
            Ok(streamed) => streamed,
            Err(ckpt_pack::Error::Source { .. }) if observer.interrupted() => return Err(Error::Interrupted),
            Err(ckpt_pack::Error::Source { .. }) => return Ok(None),
            Err(err) => return Err(self.fail(err)),
        };
        self.publish_segment(writer)?;
        self.session.store.options.observer.event(Event::Saved { bytes: size });
        Ok(matches!(streamed, Streamed::Written(_)).then_some(id))
    }
}
