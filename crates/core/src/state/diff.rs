//! Where two states differ.

use std::collections::HashSet;
use std::sync::Arc;

use super::{EntryInfo, EntryKind, Listing, MAX_DEPTH, Node, Stored};
use crate::objects::Objects;
use crate::path::join;
use crate::{Error, ObjectFault, ObjectId, Result};

/// A path at which two states differ. A directory stands for itself (its presence and its mode), what is below it is
/// told path by path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Change {
    pub(crate) path: Vec<u8>,
    pub(crate) old: Option<EntryInfo>,
    pub(crate) new: Option<EntryInfo>,
}

struct Frame {
    path: Vec<u8>,
    old: Option<Arc<Listing>>,
    new: Option<Arc<Listing>>,
    at_old: usize,
    at_new: usize,
}

/// Entries that are told before anybody asks how many of them are told again and again.
const FREE: u64 = 1_000_000;
/// How often the average entry may be told: a tree whose directories stand in each other ten times, ten levels deep, is
/// a kilobyte in the store and 10,000,000,000 files in a worktree.
const MAX_SHARING: u64 = 100;

/// What a walk has met, to notice one that would not end.
#[derive(Default)]
pub(super) struct Met {
    trees: HashSet<ObjectId>,
    /// Entries of the directories that were met, each directory once.
    own: u64,
    told: u64,
}

impl Met {
    /// Takes note of a directory with so many entries; `tree` is the one that the store has of it.
    pub(super) fn dir(&mut self, tree: Option<ObjectId>, entries: usize) -> Result<()> {
        if tree.is_none_or(|tree| self.trees.insert(tree)) {
            self.own += entries as u64;
        }
        self.told += entries as u64;
        if self.told <= FREE || self.told / MAX_SHARING <= self.own {
            return Ok(());
        }
        let what = format!("it has more than {FREE} entries, of which only {} are different ones", self.own);
        Err(Error::object(tree.unwrap_or(ObjectId::ZERO), ObjectFault::Unsafe(what)))
    }
}

/// Whether two directories are the same without looking into them.
pub(crate) fn same(a: &Node, b: &Node) -> bool {
    match (a, b) {
        (Node::Stored(a), Node::Stored(b)) => a == b,
        (Node::Loaded(a), Node::Loaded(b)) => Arc::ptr_eq(a, b),
        _ => false,
    }
}

/// Every path at which `old` and `new` differ: by directory, parents before children, names in byte order. A side that is
/// `None` has nothing.
pub(crate) fn changes(objects: &Objects, old: Option<&Node>, new: Option<&Node>) -> Result<Vec<Change>> {
    changes_with(objects, &|_, _| None, old, new)
}

/// Like [`changes`]; asks `known` first what a directory of `old` held that a walk saw again, by the place in the walk,
/// before it reads the store.
pub(crate) fn changes_with(
    objects: &Objects,
    known: &Known<'_>,
    old: Option<&Node>,
    new: Option<&Node>,
) -> Result<Vec<Change>> {
    let mut changes = Vec::new();
    let mut reader = Reader { objects, known, met: Met::default() };
    let mut frames = Vec::new();
    frames.extend(reader.open(Vec::new(), old, new)?);
    while let Some(frame) = frames.last_mut() {
        let before = frame.old.as_ref().and_then(|listing| listing.entries.get(frame.at_old));
        let after = frame.new.as_ref().and_then(|listing| listing.entries.get(frame.at_new));
        let (before, after) = match (before, after) {
            (None, None) => {
                frames.pop();
                continue;
            }
            (Some(before), Some(after)) => match before.name.cmp(&after.name) {
                std::cmp::Ordering::Less => (Some(before), None),
                std::cmp::Ordering::Greater => (None, Some(after)),
                std::cmp::Ordering::Equal => (Some(before), Some(after)),
            },
            sides => sides,
        };
        let name = before.or(after).map(|entry| entry.name.as_slice()).unwrap_or_default();
        let sides = (before.map(super::Entry::info), after.map(super::Entry::info));
        let dirs = (before.and_then(|entry| entry.dir.clone()), after.and_then(|entry| entry.dir.clone()));
        let has_dir = dirs.0.is_some() || dirs.1.is_some();
        // Most entries of a directory in which one differs do not, and need no path.
        let path = if has_dir || sides.0 != sides.1 { join(&frame.path, name) } else { Vec::new() };
        frame.at_old += usize::from(before.is_some());
        frame.at_new += usize::from(after.is_some());
        if sides.0 != sides.1 {
            changes.push(Change { path: path.clone(), old: sides.0, new: sides.1 });
        }
        if has_dir {
            if frames.len() > MAX_DEPTH {
                return Err(Error::object(
                    ObjectId::ZERO,
                    ObjectFault::Unsafe(format!("it has more than {MAX_DEPTH} levels")),
                ));
            }
            frames.extend(reader.open(path, dirs.0.as_ref(), dirs.1.as_ref())?);
        }
    }
    Ok(changes)
}

/// What is known of a directory without reading it.
type Known<'a> = dyn Fn(u32, &Stored) -> Option<Listing> + 'a;

/// Where directories come from.
struct Reader<'a> {
    objects: &'a Objects,
    known: &'a Known<'a>,
    met: Met,
}

impl Reader<'_> {
    /// The frame of one directory; none where both sides are the same.
    fn open(&mut self, path: Vec<u8>, old: Option<&Node>, new: Option<&Node>) -> Result<Option<Frame>> {
        if let (Some(old), Some(new)) = (old, new)
            && same(old, new)
        {
            return Ok(None);
        }
        let new = new.map(|new| self.load(new, None)).transpose()?;
        let slot = new.as_ref().and_then(|new| new.slot);
        let old = old.map(|old| self.load(old, slot)).transpose()?;
        Ok(Some(Frame { path, old, new, at_old: 0, at_new: 0 }))
    }

    fn load(&mut self, node: &Node, slot: Option<u32>) -> Result<Arc<Listing>> {
        let (tree, known) = match node {
            Node::Stored(stored) => (Some(stored.tree), slot.and_then(|slot| (self.known)(slot, stored))),
            Node::Loaded(_) => (None, None),
        };
        let listing = known.map_or_else(|| node.load(self.objects), |known| Ok(Arc::new(known)))?;
        self.met.dir(tree, listing.entries.len())?;
        Ok(listing)
    }
}

impl EntryInfo {
    /// Whether it is a directory.
    pub(crate) fn is_dir(&self) -> bool {
        self.kind == EntryKind::Dir
    }
}
