//! Reading one file or link of the worktree so that what was hashed is what a stat describes.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::SystemTime;

use ckpt_fs::{Dir, FileKind, Stat};

use super::GRAIN_NS;
use super::ingest::Ingest;
use crate::{Error, ObjectId, Result};

/// Larger files are streamed.
const IN_MEMORY_BYTES: u64 = 8 << 20;
/// Bytes read at once to see whether a content is still there.
const PIECE: usize = 64 << 10;
/// For how long somebody may be inside one `write` of a file that is not streamed.
const WRITE_NS: i64 = 10_000_000_000;
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

/// What became of a file that the walk saw.
pub(crate) enum FileRead {
    Read(ReadFile),
    /// It is gone by now.
    Vanished,
    /// It cannot be read, or is no regular file any more.
    Unreadable,
}

/// Reads the regular file `name` and gives its content to `ingest`. Errors are those of the store; those of the file
/// are in the answer.
pub(crate) fn read_file(dir: &Dir, name: &[u8], ingest: &dyn Ingest, buffer: &mut Vec<u8>) -> Result<FileRead> {
    let mut last = None;
    for _ in 0..TRIES {
        let mut file = match dir.open_file(name) {
            Ok(file) => file,
            Err(err) if err.kind() == std::io::ErrorKind::NotFound => return Ok(FileRead::Vanished),
            Err(source) if ckpt_fs::is_shortage(&source) => {
                let path = PathBuf::from(OsStr::from_bytes(name));
                return Err(Error::Io { action: "open", path, source });
            }
            Err(_) => return Ok(FileRead::Unreadable),
        };
        let Ok(before) = Dir::stat_file(&file) else { return Ok(FileRead::Unreadable) };
        if before.kind != FileKind::File {
            return Ok(FileRead::Unreadable);
        }
        let (is_streamed, age_ns) = (before.size > IN_MEMORY_BYTES, age_ns(before));
        // Who is writing now changed the times before that look already, and the content not yet.
        if (is_streamed || age_ns < WRITE_NS) && ckpt_fs::wait_for_writer(&file, before.size).is_err() {
            return Ok(FileRead::Unreadable);
        }
        let id = if is_streamed {
            match ingest.stream(&mut file, before.size)? {
                Some(id) => id,
                None => continue,
            }
        } else {
            buffer.clear();
            // One byte more than expected, so that the end is seen without another look.
            buffer.reserve(usize::try_from(before.size).unwrap_or(0) + 1);
            if (&mut file).take(IN_MEMORY_BYTES + 1).read_to_end(buffer).is_err() {
                return Ok(FileRead::Unreadable);
            }
            if buffer.len() as u64 > IN_MEMORY_BYTES {
                continue;
            }
            ingest.blob(buffer)?
        };
        let Ok(after) = Dir::stat_file(&file) else { return Ok(FileRead::Unreadable) };
        // Two changes within one tick have the same times, so that only the content tells.
        let mut is_whole =
            || buffer.len() as u64 == before.size && (age_ns >= GRAIN_NS || is_still(&mut file, before, buffer));
        let is_stable = is_same(before, after) && (is_streamed || is_whole());
        let read = ReadFile { id, stat: after, is_stable };
        if is_stable {
            return Ok(FileRead::Read(read));
        }
        last = Some(read);
    }
    Ok(last.map_or(FileRead::Unreadable, FileRead::Read))
}

/// Nanoseconds since a file was changed last.
fn age_ns(stat: Stat) -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
    i64::try_from(now).unwrap_or(i64::MAX).saturating_sub(stat.mtime_ns.max(stat.ctime_ns))
}

fn is_same(before: Stat, after: Stat) -> bool {
    (before.size, before.mtime_ns, before.ctime_ns) == (after.size, after.mtime_ns, after.ctime_ns)
}

/// Whether the file, once nobody writes any more who began before, still has the content that was read: then it had all
/// of it at one moment between the two readings.
fn is_still(file: &mut File, before: Stat, content: &[u8]) -> bool {
    if ckpt_fs::wait_for_writer(file, before.size).is_err() {
        return false;
    }
    let mut piece = vec![0; PIECE.min(content.len() + 1)];
    let mut rest = content;
    loop {
        match file.read(&mut piece) {
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
