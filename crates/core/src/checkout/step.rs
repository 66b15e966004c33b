//! One path on its way from one state to another, and what the disk says about it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use ckpt_fs::{Dir, FileKind};
use ckpt_pack::Kind;

use crate::error::Context;
use crate::path::split;
use crate::snapshot::{FileRead, Purpose, read_file};
use crate::state::{Change, EntryInfo, HashOnly, ObjectSink};
use crate::{EntryKind, Result};

/// A path that goes from `from` to `to`. Directories stand for themselves: their presence and their mode.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    /// Number within the whole restore; it is in the names of its temporaries.
    pub(crate) number: usize,
    pub(crate) path: Vec<u8>,
    pub(crate) from: Option<EntryInfo>,
    pub(crate) to: Option<EntryInfo>,
}

impl Step {
    pub(crate) fn new(number: usize, change: Change) -> Self {
        Self { number, path: change.path, from: change.old, to: change.new }
    }

    /// The same way back.
    pub(crate) fn reversed(&self) -> Self {
        Self { number: self.number, path: self.path.clone(), from: self.to, to: self.from }
    }
}

/// What stands at a path on disk, beside what is expected there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum OnDisk {
    /// As `to` has it.
    Done,
    /// As `from` has it, or on its way: this is what stands there now.
    ToDo(Option<EntryInfo>),
    /// An empty file that is neither.
    Empty,
    /// Something else, or it cannot be looked at.
    Other,
}

/// Compares the disk with a step, by content, without a cache.
pub(crate) fn look(root: &Dir, step: &Step) -> Result<OnDisk> {
    let (dir, name) = split(&step.path);
    let parent = match root.open_beneath(dir).or_short("open", OsStr::from_bytes(dir))? {
        Ok(parent) => parent,
        // A directory that is not there, or is something else, holds nothing.
        Err(err) if ckpt_fs::is_absence(&err) => return Ok(compare(step, None, false)),
        Err(_) => return Ok(OnDisk::Other),
    };
    let (info, is_empty) = match info_of(&parent, name)? {
        Seen::Nothing => (None, false),
        Seen::Entry(info, size) => (Some(info), info.kind == EntryKind::File && size == 0),
        Seen::Unknown => return Ok(OnDisk::Other),
    };
    Ok(compare(step, info, is_empty))
}

fn compare(step: &Step, now: Option<EntryInfo>, is_empty: bool) -> OnDisk {
    match now {
        now if now == step.to => OnDisk::Done,
        now if now == step.from => OnDisk::ToDo(now),
        // Directories are made open and closed last, and opened before they go: what is in between is on its way.
        Some(dir) if dir.is_dir() && [step.from, step.to].iter().flatten().any(EntryInfo::is_dir) => OnDisk::ToDo(now),
        // A path that changes its kind is absent in between.
        None => OnDisk::ToDo(None),
        _ if is_empty => OnDisk::Empty,
        _ => OnDisk::Other,
    }
}

/// An entry of the disk, read.
pub(crate) enum Seen {
    Nothing,
    /// With the size of its content.
    Entry(EntryInfo, u64),
    /// Unreadable, changing, or of a sort that is never saved.
    Unknown,
}

/// Reads the entry `name`, content and all.
pub(crate) fn info_of(dir: &Dir, name: &[u8]) -> Result<Seen> {
    let stat = match dir.stat(name) {
        Ok(stat) => stat,
        Err(err) if ckpt_fs::is_absence(&err) => return Ok(Seen::Nothing),
        Err(_) => return Ok(Seen::Unknown),
    };
    let mode = u16::try_from(stat.mode & 0o777).unwrap_or(0);
    let id = match stat.kind {
        FileKind::Special => return Ok(Seen::Unknown),
        FileKind::Dir => {
            return Ok(Seen::Entry(EntryInfo { kind: EntryKind::Dir, mode, id: crate::ObjectId::ZERO }, 0));
        }
        FileKind::Link => match dir.read_link(name) {
            Ok(target) => {
                let id = HashOnly.put(Kind::Blob, &target)?;
                return Ok(Seen::Entry(EntryInfo { kind: EntryKind::Link, mode: 0, id }, stat.size));
            }
            Err(_) => return Ok(Seen::Unknown),
        },
        FileKind::File => match read_file(dir, name, &stat, Purpose::Compare, &HashOnly, &mut Vec::new())? {
            FileRead::Read(read) if read.is_stable => read.id,
            FileRead::Vanished => return Ok(Seen::Nothing),
            _ => return Ok(Seen::Unknown),
        },
    };
    Ok(Seen::Entry(EntryInfo { kind: EntryKind::File, mode, id }, stat.size))
}
