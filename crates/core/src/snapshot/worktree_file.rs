//! Reading one file or link of the worktree so that what was hashed is what a stat describes.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::SystemTime;

use ckpt_fs::{Dir, FileKind, Stat};

use super::GRAIN_NS;
use super::ingest::Ingest;
use crate::{Error, ObjectId, Result};

/// Larger files are streamed.
const IN_MEMORY_BYTES: u64 = 8 << 20;
/// Bytes read at once to see whether a content is still there.
const PIECE_BYTES: usize = 64 << 10;
/// For how long a file must have been left alone so that the walk's look at it is the look before its reading.
const QUIET_NS: i64 = 10_000_000_000;
/// How often a file that changes meanwhile is read.
const TRIES: usize = 3;

/// A file that was read.
pub(crate) struct ReadFile {
    pub(crate) id: ObjectId,
    /// Stat data that belong to what was read.
    pub(crate) stat: Stat,
    /// Whether it kept changing.
    pub(crate) is_stable: bool,
}

/// What a file is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The content is kept, and must have been there at one moment.
    Keep,
    /// The id is compared with a known one: a mixture is then another content, and a young file need not be read twice.
    Compare,
}

/// What became of a file that the walk saw.
pub(crate) enum FileRead {
    Read(ReadFile),
    /// It is gone by now.
    Vanished,
    /// It cannot be read, or is no regular file any more.
    Unreadable,
}

/// Reads the regular file `name`, which was `seen` just now, and gives its content to `ingest`. Errors are those of the
/// store; those of the file are in the answer.
pub(crate) fn read_file(
    dir: &Dir,
    name: &[u8],
    seen: &Stat,
    purpose: Purpose,
    ingest: &dyn Ingest,
    buffer: &mut Vec<u8>,
) -> Result<FileRead> {
    let mut last = None;
    for attempt in 0..TRIES {
        let now_ns = now_ns();
        let mut file = match dir.open_file(name) {
            Ok(file) => file,
            Err(err) if err.kind() == std::io::ErrorKind::NotFound => return Ok(FileRead::Vanished),
            Err(source) if ckpt_fs::is_shortage(&source) => {
                let path = PathBuf::from(OsStr::from_bytes(name));
                return Err(Error::Io { action: "open", path, source });
            }
            Err(_) => return Ok(FileRead::Unreadable),
        };
        // What was changed long before the walk looked shows every later change in its times.
        let is_quiet = |stat: &Stat| now_ns.saturating_sub(changed_ns(stat)) >= QUIET_NS;
        let before = if attempt == 0 && is_quiet(seen) { Ok(*seen) } else { Dir::stat_file(&file) };
        let Some(before) = before.ok().filter(|before| before.kind == FileKind::File) else {
            return Ok(FileRead::Unreadable);
        };
        // Who is writing now changed the times before that look already, and the content not yet, however long ago that was.
        // A FIFO that took the name meanwhile is told here, before anything is read.
        if ckpt_fs::wait_for_writer(&file, before.size).is_err() {
            return Ok(FileRead::Unreadable);
        }
        let is_streamed = before.size > IN_MEMORY_BYTES;
        let id = if is_streamed {
            match ingest.stream(&mut file, before.size)? {
                Some(id) => id,
                None => continue,
            }
        } else {
            if read_up_to(&file, before.size, buffer).is_err() {
                return Ok(FileRead::Unreadable);
            }
            ingest.blob(buffer)?
        };
        let Ok(after) = Dir::stat_file(&file) else { return Ok(FileRead::Unreadable) };
        // Two changes within one tick have the same times, so that only the content tells.
        let is_young = purpose == Purpose::Keep && now_ns.saturating_sub(changed_ns(&before)) < GRAIN_NS;
        let is_whole = || buffer.len() as u64 == before.size && (!is_young || is_still(&file, before, buffer));
        let is_stable = is_same(before, after) && (is_streamed || is_whole());
        let read = ReadFile { id, stat: after, is_stable };
        if is_stable {
            return Ok(FileRead::Read(read));
        }
        last = Some(read);
    }
    Ok(last.map_or(FileRead::Unreadable, FileRead::Read))
}

/// Reads a file of `size` bytes from its beginning, or all of one that has grown, up to a byte more than is kept in memory. A
/// read that ends at `size` has met the end: of a file that ended later the size is another one afterwards.
fn read_up_to(file: &File, size: u64, buffer: &mut Vec<u8>) -> std::io::Result<()> {
    buffer.clear();
    let mut len = 0;
    let mut room = usize::try_from(size).unwrap_or(0) + 1;
    loop {
        buffer.resize(room, 0);
        match file.read_at(&mut buffer[len..], len as u64) {
            Ok(0) => break,
            Ok(read) => len += read,
            Err(err) if err.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(err) => return Err(err),
        }
        if len as u64 == size || len as u64 > IN_MEMORY_BYTES {
            break;
        }
        if len == room {
            room += PIECE_BYTES;
        }
    }
    buffer.truncate(len);
    Ok(())
}

fn now_ns() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_nanos()).unwrap_or(i64::MAX)
}

/// When a file was changed last.
fn changed_ns(stat: &Stat) -> i64 {
    stat.mtime_ns.max(stat.ctime_ns)
}

fn is_same(before: Stat, after: Stat) -> bool {
    let identity = |stat: Stat| (stat.kind, stat.device, stat.inode, stat.size, stat.mtime_ns, stat.ctime_ns);
    identity(before) == identity(after)
}

/// Whether the file, once nobody writes any more who began before, still has the content that was read: then it had all
/// of it at one moment between the two readings.
fn is_still(file: &File, before: Stat, content: &[u8]) -> bool {
    if ckpt_fs::wait_for_writer(file, before.size).is_err() {
        return false;
    }
    let mut piece = vec![0; PIECE_BYTES.min(content.len() + 1)];
    let mut rest = content;
    loop {
        match file.read_at(&mut piece, (content.len() - rest.len()) as u64) {
            Ok(0) => break,
            Ok(read) => match rest.strip_prefix(&piece[..read]) {
                Some(after) => rest = after,
                None => return false,
            },
            Err(err) if err.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
    rest.is_empty() && Dir::stat_file(file).is_ok_and(|after| is_same(before, after))
}

/// Reads the target of the link `name` and gives it to `ingest`.
pub(crate) fn read_link(dir: &Dir, name: &[u8], stat: Stat, ingest: &dyn Ingest) -> Result<FileRead> {
    match dir.read_link(name) {
        Ok(target) => Ok(FileRead::Read(ReadFile { id: ingest.blob(&target)?, stat, is_stable: true })),
        Err(err) if err.kind() == std::io::ErrorKind::NotFound => Ok(FileRead::Vanished),
        Err(_) => Ok(FileRead::Unreadable),
    }
}
