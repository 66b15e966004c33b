//! Collecting objects in a pack that nobody sees yet.

use std::fmt;
use std::io::{self, Read};

use ckpt_fs::{Dir, Durability};
use flate2::{Compress, Compression, FlushCompress, Status};

use crate::encode::{Encoded, Encoder, StoredStream, is_smaller};
use crate::entry::write_header;
use crate::idx::{self, IdxEntry};
use crate::keep::KEEP_TEXT;
use crate::publish::{FinishedPack, Temporaries};
use crate::spool::{self, Spool};
use crate::{Error, IdSet, Kind, ObjectHasher, ObjectId, Result};

/// Content is streamed in pieces of this size, and content up to it is taken at once. The first piece decides whether
/// the rest is compressed.
const PIECE: usize = 1 << 20;

/// A pack that is being written to temporary files. Dropped without [`PackWriter::finish`], it removes them.
pub struct PackWriter {
    tmp_dir: Dir,
    spool: Spool,
    entries: Vec<IdxEntry>,
    ids: IdSet,
    encoder: Option<Encoder>,
    temporaries: Temporaries,
}

impl fmt::Debug for PackWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PackWriter({} objects, {} bytes)", self.len(), self.bytes())
    }
}

/// What became of content that was streamed into a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streamed {
    /// The pack holds the object with this id.
    Written(ObjectId),
    /// The content was not what the caller had expected; the pack is as it was before.
    Changed {
        /// Bytes that were read; one more than expected if the content did not end in time.
        bytes: u64,
        /// Id of the content, if it had the expected size.
        id: Option<ObjectId>,
    },
}

impl PackWriter {
    /// Begins a pack whose files will be `tmp-<token>-<number>.pack`, `.idx` and `.keep` in `tmp_dir`, mode 0600. None
    /// is created before it is needed. `tmp_dir` is on the file system of the directory that the pack goes to; `token` is
    /// a word of this process alone, and no other pack of it has the `number`.
    ///
    /// # Errors
    /// [`Error::Io`] when the process has no file descriptor left.
    pub fn create(tmp_dir: &Dir, token: &str, number: u32) -> Result<Self> {
        let stem = format!("tmp-{token}-{number}");
        let clone = || tmp_dir.try_clone().map_err(Error::io("open", "the directory for temporary files"));
        let temporaries = Temporaries::new(clone()?, stem);
        let spool = Spool::new(clone()?, temporaries.name("pack"));
        let (entries, ids) = (Vec::new(), IdSet::default());
        Ok(Self { tmp_dir: clone()?, spool, entries, ids, encoder: None, temporaries })
    }

    /// Whether the pack holds the object already.
    pub fn contains(&self, id: &ObjectId) -> bool {
        self.ids.contains(id)
    }

    /// What the pack holds already, in no order.
    pub fn ids(&self) -> impl Iterator<Item = ObjectId> {
        self.ids.iter().copied()
    }

    /// Number of objects until now.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the pack has no object yet.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Size of the pack until now, in bytes.
    pub fn bytes(&self) -> u64 {
        self.spool.len()
    }

    /// Adds an object; one that the pack holds already is left out.
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be written: the pack is then as it was before. [`Error::PackFull`].
    pub fn add(&mut self, encoded: &Encoded<'_>) -> Result<()> {
        if self.contains(&encoded.id) {
            return Ok(());
        }
        self.entry(|writer| {
            writer.spool.append(encoded.bytes)?;
            Ok(Some((encoded.id, encoded.crc32)))
        })?;
        Ok(())
    }

    /// Adds an object of `size` bytes that is read from `content`, in bounded memory. If the content ends early or
    /// late, or is not the object `expected`, the pack stays as it was. An expected object that the pack holds already
    /// is not read.
    ///
    /// # Errors
    /// [`Error::Source`] when `content` cannot be read, [`Error::Io`] when the file cannot be written,
    /// [`Error::Collision`]; the pack is then as it was before. [`Error::PackFull`].
    pub fn add_stream(
        &mut self,
        kind: Kind,
        size: u64,
        expected: Option<ObjectId>,
        content: &mut dyn Read,
    ) -> Result<Streamed> {
        if let Some(id) = expected.filter(|id| self.contains(id)) {
            return Ok(Streamed::Written(id));
        }
        let mut source = Source { content, hasher: ObjectHasher::new(kind, size), bytes: 0, size };
        let mut first = Vec::new();
        if !source.read_piece(&mut first)? {
            return Ok(Streamed::Changed { bytes: source.bytes, id: None });
        }
        if first.len() as u64 == size {
            return self.add_piece(kind, expected, &first, source);
        }
        let mut outcome = Streamed::Changed { bytes: 0, id: None };
        self.entry(|writer| {
            let start = writer.spool.len();
            let mut sink = Sink { spool: &mut writer.spool, crc: crc32fast::Hasher::new() };
            let mut header = Vec::new();
            write_header(kind, size, &mut header);
            sink.write(&header)?;
            let complete = match deflate(&mut source, &first, &mut sink)? {
                Some(complete) => complete,
                None => {
                    sink.spool.truncate(start);
                    sink.crc.reset();
                    sink.write(&header)?;
                    store(&mut source, first, &mut sink)?
                }
            };
            let crc32 = sink.crc.finalize();
            outcome = source.judge(complete, expected)?;
            Ok(match outcome {
                Streamed::Written(id) => Some((id, crc32)),
                Streamed::Changed { .. } => None,
            })
        })?;
        Ok(outcome)
    }

    /// Adds an object that is in memory as a whole.
    fn add_piece(
        &mut self,
        kind: Kind,
        expected: Option<ObjectId>,
        content: &[u8],
        source: Source<'_>,
    ) -> Result<Streamed> {
        let outcome = source.judge(true, expected)?;
        if let Streamed::Written(id) = outcome {
            let mut encoder = self.encoder.take().unwrap_or_default();
            let added = self.add(&encoder.encode(id, kind, content));
            self.encoder = Some(encoder);
            added?;
        }
        Ok(outcome)
    }

    /// Copies an entry as it is: `read` fills the next piece of at most the given length, `crc32` is what the idx says.
    /// `Ok(false)`: the bytes have another CRC, and the pack is as it was.
    pub(crate) fn add_copied(
        &mut self,
        entry: &IdxEntry,
        bytes: u64,
        read: &mut dyn FnMut(&mut [u8], u64) -> Result<()>,
    ) -> Result<bool> {
        if self.contains(&entry.id) {
            return Ok(true);
        }
        let mut intact = false;
        self.entry(|writer| {
            let mut sink = Sink { spool: &mut writer.spool, crc: crc32fast::Hasher::new() };
            let mut buffer = vec![0; usize::try_from(bytes).unwrap_or(PIECE).min(PIECE)];
            let mut at = 0;
            while at < bytes {
                let len = usize::try_from(bytes - at).unwrap_or(PIECE).min(PIECE);
                read(&mut buffer[..len], at)?;
                sink.write(&buffer[..len])?;
                at += len as u64;
            }
            intact = sink.crc.finalize() == entry.crc32;
            Ok(intact.then_some((entry.id, entry.crc32)))
        })?;
        Ok(intact)
    }

    /// Makes the files under their temporary names: pack, sync, `.keep` with `keep_text` ([`KEEP_TEXT`], if there is
    /// nothing else to say), idx, sync. A `.keep` that says more is synced as well; of any other only the existence
    /// matters, which the sync of the directory after its rename makes durable.
    ///
    /// # Errors
    /// [`Error::Io`] when a file cannot be written or synced; the temporaries are removed.
    pub fn finish(self, keep_text: &str, durability: Durability) -> Result<FinishedPack> {
        self.finish_with(|_| keep_text.to_owned(), durability)
    }

    /// Makes the files, with a `.keep` whose text depends on the pack's name. That it is written after the pack does no
    /// harm: what stock git could touch appears only in [`FinishedPack::publish`], the `.keep` first.
    pub(crate) fn finish_with(
        mut self,
        keep_text: impl FnOnce(&ObjectId) -> String,
        durability: Durability,
    ) -> Result<FinishedPack> {
        let count = u32::try_from(self.entries.len()).map_err(|_| Error::PackFull)?;
        let (name, bytes) = self.spool.finish(count, durability)?;
        let text = keep_text(&name);
        let keep_durability = if text == KEEP_TEXT { Durability::None } else { durability };
        write_file(&self.tmp_dir, &self.temporaries.name("keep"), keep_durability, |out| {
            out.write_all(text.as_bytes())
        })?;
        self.entries.sort_unstable_by_key(|entry| entry.id);
        write_file(&self.tmp_dir, &self.temporaries.name("idx"), durability, |out| {
            idx::write(&self.entries, &name, out)
        })?;
        Ok(FinishedPack::new(name, self.entries.len(), bytes, text, self.temporaries))
    }

    /// Runs `write`, which appends an entry and returns its id and CRC. If it fails, or returns none, or an id that the
    /// pack holds already, what it appended is taken back.
    fn entry(&mut self, write: impl FnOnce(&mut Self) -> Result<Option<(ObjectId, u32)>>) -> Result<()> {
        if u32::try_from(self.entries.len() + 1).is_err() {
            return Err(Error::PackFull);
        }
        let offset = self.spool.len();
        let written = write(self);
        match written {
            Ok(Some((id, crc32))) if self.ids.insert(id) => {
                self.entries.push(IdxEntry { id, crc32, offset });
                Ok(())
            }
            other => {
                self.spool.truncate(offset);
                other.map(|_| ())
            }
        }
    }
}

/// Writes a whole file of ours in `dir`.
pub(crate) fn write_file(
    dir: &Dir,
    name: &[u8],
    durability: Durability,
    write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
) -> Result<()> {
    let mut file = spool::create(dir, name)?;
    write(&mut file).map_err(Error::io("write", name))?;
    file.sync(durability).map_err(Error::io("sync", name))
}

/// The content of one object, as it is read and hashed.
struct Source<'a> {
    content: &'a mut dyn Read,
    hasher: ObjectHasher,
    bytes: u64,
    size: u64,
}

impl Source<'_> {
    /// Fills `piece` with the next bytes: a whole piece, or what is left of the size. `false`: the content ended before.
    fn read_piece(&mut self, piece: &mut Vec<u8>) -> Result<bool> {
        let want = self.size.saturating_sub(self.bytes).min(PIECE as u64);
        piece.clear();
        let read = (&mut *self.content).take(want).read_to_end(piece).map_err(|source| Error::Source { source })?;
        self.hasher.update(piece);
        self.bytes += read as u64;
        Ok(read as u64 == want)
    }

    /// Whether there is more content than there should be; and what the object is, if there is not.
    fn judge(mut self, complete: bool, expected: Option<ObjectId>) -> Result<Streamed> {
        if !complete {
            return Ok(Streamed::Changed { bytes: self.bytes, id: None });
        }
        let mut more = Vec::new();
        let read = (&mut *self.content).take(1).read_to_end(&mut more).map_err(|source| Error::Source { source })?;
        self.bytes += read as u64;
        if read > 0 {
            return Ok(Streamed::Changed { bytes: self.bytes, id: None });
        }
        let (bytes, id) = (self.bytes, self.hasher.finish()?);
        match expected {
            Some(expected) if expected != id => Ok(Streamed::Changed { bytes, id: Some(id) }),
            _ => Ok(Streamed::Written(id)),
        }
    }
}

/// Where the bytes of an entry go: into the pack and its CRC.
struct Sink<'a> {
    spool: &'a mut Spool,
    crc: crc32fast::Hasher,
}

impl Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.crc.update(bytes);
        self.spool.append(bytes)
    }
}

/// Compresses `first` and the rest of the content. `None`: the first piece does not get smaller, and nothing more was
/// read. `Some(false)`: the content ended early.
fn deflate(source: &mut Source<'_>, first: &[u8], sink: &mut Sink<'_>) -> Result<Option<bool>> {
    let mut zlib = Compress::new(Compression::new(1), true);
    let mut out = Vec::with_capacity(PIECE);
    feed(&mut zlib, first, FlushCompress::None, &mut out, sink)?;
    if !is_smaller(zlib.total_out(), first.len() as u64) {
        return Ok(None);
    }
    let mut piece = Vec::new();
    while source.bytes < source.size {
        if !source.read_piece(&mut piece)? {
            return Ok(Some(false));
        }
        feed(&mut zlib, &piece, FlushCompress::None, &mut out, sink)?;
    }
    feed(&mut zlib, b"", FlushCompress::Finish, &mut out, sink)?;
    Ok(Some(true))
}

/// Feeds `input` to `zlib` and what comes out to `sink`.
fn feed(
    zlib: &mut Compress,
    mut input: &[u8],
    flush: FlushCompress,
    out: &mut Vec<u8>,
    sink: &mut Sink<'_>,
) -> Result<()> {
    loop {
        out.clear();
        let before = zlib.total_in();
        let status = zlib
            .compress_vec(input, out, flush)
            .map_err(|err| Error::io("compress", "an object")(io::Error::other(err)))?;
        input = &input[usize::try_from(zlib.total_in() - before).unwrap_or(input.len())..];
        sink.write(out)?;
        // Space that is left in `out` means that zlib has nothing more to say.
        let idle = input.is_empty() && out.len() < out.capacity() && flush == FlushCompress::None;
        if idle || status == Status::StreamEnd {
            return Ok(());
        }
    }
}

/// Stores `first` and the rest of the content. `false`: the content ended early.
fn store(source: &mut Source<'_>, first: Vec<u8>, sink: &mut Sink<'_>) -> Result<bool> {
    let mut out = Vec::with_capacity(PIECE + PIECE / 1000);
    let mut stored = StoredStream::begin(source.size, &mut out);
    let mut piece = first;
    loop {
        stored.push(&piece, &mut out);
        sink.write(&out)?;
        out.clear();
        if source.bytes == source.size {
            break;
        }
        if !source.read_piece(&mut piece)? {
            return Ok(false);
        }
    }
    stored.end(&mut out);
    sink.write(&out)?;
    Ok(true)
}
