//! The worktree becomes a state.
//!
//! [`take`] walks, hashes what changed, and encodes trees and facts. Whether anything is stored is up to the [`Ingest`]
//! and the sink that it is given: a save packs, a status only hashes.

mod assemble;
mod below;
mod cache_files;
mod directory;
mod head_view;
mod ingest;
mod looked;
mod outcome;
mod rule_files;
pub(crate) mod rules;
pub(crate) mod stat_cache;
mod walk;
mod worktree_file;

use std::sync::Arc;

use ckpt_fs::Dir;
use ckpt_pack::Kind;

use crate::checkout;
use crate::checkpoint::Checkpoint;
use crate::layout::dir_identity;
use crate::objects::Objects;
use crate::state::{self, Encoded, Listing, Node, Stored};
use crate::store::Inner;
use crate::{Error, Notice, ObjectId, Omitted, Operation, Result};

use head_view::HeadDir;
use looked::Horizon;
use rules::{RuleNotice, Rules};
use stat_cache::StatCache;
use walk::{Counts, Seen, Start, Walk};

pub(crate) use below::take_below;
pub(crate) use cache_files::{NextCache, STAT_CACHE, STAT_CACHE_CHANGES, cached_operation, damaged_cache};
pub(crate) use ingest::{HashUntilStopped, Ingest, StoreIngest};
pub(crate) use worktree_file::{FileRead, Purpose, read_file, read_link};

/// Coarsest step of a clock that stamps files on the disk of the store itself.
const GRAIN_NS: i64 = 20_000_000;
/// The same on any other disk, which may have a clock or a step of its own.
const FOREIGN_GRAIN_NS: i64 = 2_000_000_000;
/// A save that changes nothing writes the cache only if it had to read this many files or bytes again.
const REWRITE_FILES: u64 = 256;
const REWRITE_BYTES: u64 = 16 << 20;

/// The worktree as it was seen.
pub(crate) struct Snapshot {
    pub(crate) root: Node,
    pub(crate) encoded: Encoded,
    /// Sorted.
    pub(crate) omitted: Vec<Omitted>,
    /// Paths at which something is mounted.
    pub(crate) mounts: Vec<Vec<u8>>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) counts: Counts,
    pub(crate) rules: Rules,
    pub(crate) root_dir: Arc<Dir>,
    /// Permission bits of the worktree itself.
    pub(crate) root_mode: u16,
    /// What the next stat cache is made of, where somebody asks for it.
    seen: Seen,
    old_cache: Option<StatCache>,
    /// Ids of the directories that were encoded, by slot.
    ids: Vec<Option<Encoded>>,
}

/// What a snapshot is taken against.
pub(crate) struct Against<'a> {
    /// Tip of the timeline, by which the stat cache is judged; `None`: the cache is not used.
    pub(crate) tip: Option<&'a Operation>,
    pub(crate) head: Option<&'a Checkpoint>,
    /// The file system's time before the walk and the device that told it; `None` for readers, who hand on no trust.
    pub(crate) clock: Option<(i64, u64)>,
}

/// Looks at the whole worktree.
pub(crate) fn take(store: &Inner, against: &Against<'_>, ingest: &dyn Ingest) -> Result<Snapshot> {
    let path = store.worktree.path();
    let root_dir = Arc::new(crate::session::open_worktree(path)?);
    let stat = root_dir.stat_self().map_err(|source| Error::Io { action: "look at", path: path.to_owned(), source })?;
    let mut notices = Vec::new();
    let head_state = match against.head.map(|head| head.state(&store.objects)).transpose() {
        // A head that the store lost must not keep anybody from saving: nothing is known of it then.
        Err(Error::Object { .. }) => None,
        state => state?,
    };
    let rules = discover_rules(store, against.head, &mut notices)?;
    let (cache, must_look_up) = match against.tip {
        Some(tip) => cache_files::load(store, tip, &mut notices)?,
        None => (None, false),
    };
    let head_id = against.head.map_or(ObjectId::ZERO, |head| head.info.id.0);
    let walk = Walk {
        root: Arc::clone(&root_dir),
        root_path: path,
        objects: &store.objects,
        options: &store.options,
        rule_options: rules.options(),
        above: rules.above_root(),
        cache: cache.as_ref(),
        must_look_up,
        cache_knows_head: cache.as_ref().is_some_and(|cache| cache.basis().head == head_id),
        ingest,
        horizon: against.clock.map_or(Horizon::Never, |(now_ns, device)| Horizon::Before { now_ns, device }),
        skip: store_inside(store),
        temporaries: checkout::temporaries(store)?,
        shortage: Arc::default(),
    };
    let start = Start { path: Vec::new(), stat, head: HeadDir::root(head_state), cached: cache.as_ref().map(|_| 0) };
    let mut seen = walk.run(start)?;
    drop(walk);
    let root_mode = u16::try_from(stat.mode & 0o777).unwrap_or(0);
    let root = assemble::state(&seen, cache.as_ref());
    let mut ids: Vec<Option<Encoded>> = vec![None; seen.slots()];
    let encoded = state::encode_with(&root, &store.objects, ingest, &store.options, &mut |slot, encoded| {
        if let Some(place) = ids.get_mut(slot as usize) {
            *place = Some(encoded);
        }
    })?;
    notices.append(&mut seen.notices);
    Ok(Snapshot {
        root,
        encoded,
        omitted: std::mem::take(&mut seen.omitted),
        mounts: std::mem::take(&mut seen.mounts),
        notices,
        counts: seen.counts,
        rules,
        root_dir,
        root_mode,
        seen,
        old_cache: cache,
        ids,
    })
}

impl Snapshot {
    /// Whether this cost so much reading that the cache is worth writing although nothing changed.
    pub(crate) fn read_much(&self) -> bool {
        self.counts.read_files >= REWRITE_FILES || self.counts.read_bytes >= REWRITE_BYTES
    }

    /// What the directory `stored` held, if that is what the stat cache had for the one that the walk saw at `slot`. Good for
    /// telling what changed; what is restored is read from the store.
    pub(crate) fn before(&self, slot: u32, stored: &Stored) -> Option<Listing> {
        assemble::before(&self.seen, self.old_cache.as_ref()?, slot, stored)
    }
}

/// The rules from outside the tree. Where one of their files cannot be read, those of head hold.
pub(crate) fn discover_rules(store: &Inner, head: Option<&Checkpoint>, notices: &mut Vec<Notice>) -> Result<Rules> {
    let (mut rules, found) = Rules::discover(store.worktree.path(), &store.options.rules);
    let mut is_known = true;
    for notice in found {
        notices.push(match notice {
            RuleNotice::AboveIgnoresWorktree { source } => Notice::RulesFromAboveNotUsed(source),
            RuleNotice::BadGlob { glob } => Notice::BadExclude(glob),
            RuleNotice::Unreadable { path, error } if ckpt_fs::is_shortage(&error) => {
                return Err(Error::Io { action: "read", path, source: error });
            }
            RuleNotice::Unreadable { path, .. } => {
                is_known = false;
                Notice::RulesUnreadable(path)
            }
            RuleNotice::TooLarge { path } => {
                is_known = false;
                Notice::RulesUnreadable(path)
            }
        });
    }
    if !is_known && let Some(head) = head {
        match head_rules(&store.objects, head) {
            Ok(Some(last)) => rules = last,
            // A head that the store lost must not keep anybody from saving.
            Ok(None) | Err(Error::Object { .. }) => {}
            Err(err) => return Err(err),
        }
    }
    Ok(rules)
}

/// The rules from outside that a checkpoint was made by; `None` when they cannot be read.
pub(crate) fn head_rules(objects: &Objects, checkpoint: &Checkpoint) -> Result<Option<Rules>> {
    let (_, rules) = state::read_facts_commit(objects, checkpoint.facts_commit)?;
    let Some(id) = rules else { return Ok(None) };
    Ok(Rules::decode(&objects.read_kind(id, Kind::Blob)?).ok())
}

/// The checkpoint directory, where it lies inside the worktree.
fn store_inside(store: &Inner) -> Option<(u64, u64)> {
    let dir = &store.layout.checkpoint_dir;
    dir.starts_with(store.worktree.path()).then(|| dir_identity(dir)).flatten()
}
