//! One entry of a directory that was looked at: what is known of it, and what its stat data prove.

use ckpt_fs::{FileKind, Stat};

use super::stat_cache::{CacheEntry, EntryState, NONE};
use super::walk::Job;
use super::{FOREIGN_GRAIN_NS, GRAIN_NS};
use crate::ObjectId;
use crate::state::{Entry, EntryKind, Node};

/// An entry that was looked at.
#[derive(Clone)]
pub(super) struct Walked {
    pub(super) name: Vec<u8>,
    pub(super) entry: CacheEntry,
    /// What head has for it, where that is kept: it could not be read.
    pub(super) kept: Option<Box<Entry>>,
}

/// An entry on its way into the outcome. Small where there is nothing to tell, as for nearly every entry of nearly every
/// save.
pub(super) enum Looked {
    /// Entry of the cache of this number, unchanged.
    Known(u32),
    News(Box<News>),
}

pub(super) struct News {
    pub(super) walked: Walked,
    /// Number of the entry of the cache that it is equal to.
    pub(super) equal: Option<u32>,
    pub(super) child: Option<Job>,
}

impl Looked {
    pub(super) fn news(walked: Walked, equal: Option<u32>, child: Option<Job>) -> Self {
        Self::News(Box::new(News { walked, equal, child }))
    }

    /// Whether the cache says the same.
    pub(super) fn is_equal(&self) -> bool {
        match self {
            Self::Known(_) => true,
            Self::News(news) => news.equal.is_some(),
        }
    }
}

/// Whether the stat data prove that the content is what the cache says.
pub(super) fn is_unchanged(known: &CacheEntry, stat: &Stat) -> bool {
    known.trusted
        && known.kind == stat.kind
        && u32::from(known.mode) == stat.mode
        && (known.size, known.mtime_ns, known.ctime_ns) == (stat.size, stat.mtime_ns, stat.ctime_ns)
        && (known.inode, known.device) == (stat.inode, stat.device)
}

/// The time before which a change must have come for its stat data to prove anything later.
#[derive(Clone, Copy)]
pub(crate) enum Horizon {
    /// Nothing is proved: readers hand on no trust.
    Never,
    /// A file system's time before the walk, and its device.
    Before { now_ns: i64, device: u64 },
}

impl Horizon {
    /// Whether these stat data, seen now, will prove anything later. An mtime in the future says nothing; the ctime does.
    pub(super) fn proves(self, stat: &Stat) -> bool {
        let Self::Before { now_ns, device } = self else { return false };
        // How coarse a clock is that nobody asked is not known.
        let horizon = now_ns - if stat.device == device { GRAIN_NS } else { FOREIGN_GRAIN_NS };
        let changed = if stat.mtime_ns > horizon { stat.ctime_ns } else { stat.mtime_ns.max(stat.ctime_ns) };
        changed < horizon
    }
}

pub(super) fn from_stat(stat: &Stat, state: EntryState) -> CacheEntry {
    CacheEntry {
        state,
        kind: stat.kind,
        mode: u16::try_from(stat.mode & 0o7777).unwrap_or(0),
        size: stat.size,
        mtime_ns: stat.mtime_ns,
        ctime_ns: stat.ctime_ns,
        inode: stat.inode,
        device: stat.device,
        id: ObjectId::ZERO,
        trusted: false,
        dir: NONE,
    }
}

/// The entry `name` in a state; `node` is the directory's own state, for directories.
pub(super) fn state_entry(name: &[u8], entry: &CacheEntry, node: Option<Node>) -> Entry {
    let kind = match entry.kind {
        FileKind::Dir => EntryKind::Dir,
        FileKind::Link => EntryKind::Link,
        FileKind::File | FileKind::Special => EntryKind::File,
    };
    let mode = if kind == EntryKind::Link { 0 } else { entry.mode & 0o777 };
    Entry { name: name.to_vec(), kind, mode, id: entry.id, dir: node }
}
