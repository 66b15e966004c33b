//! From the directories of a walk to one state, and to the next stat cache.

use std::sync::Arc;

use ckpt_fs::FileKind;

use super::directory::Outcome;
use super::looked::Walked;
use super::stat_cache::{CacheBuilder, CacheEntry, EntryState, NONE, StatCache};
use super::walk::Seen;
use crate::state::{Defaults, Encoded, Entry, Listing, Node, Stored};
use crate::{ObjectId, Reason};

/// The state of the directory where the walk began. Directories that are as the cache has them are taken from it without their entries.
pub(super) fn state(seen: &Seen, cache: Option<&StatCache>) -> Node {
    // Children have higher slots than their parents: backwards, every child is done before it is needed. Each node is
    // needed once, by its parent.
    let mut nodes: Vec<Option<Node>> = Vec::new();
    nodes.resize_with(seen.outcomes.len(), || None);
    for slot in (0..seen.outcomes.len()).rev() {
        let number = u32::try_from(slot).unwrap_or(NONE);
        let node = match &seen.outcomes[slot] {
            Outcome::Vanished | Outcome::Omitted { .. } => continue,
            Outcome::Clean { cached, children } => clean_node(seen, cache, *cached, children, &mut nodes, number),
            Outcome::Fresh { entries, .. } => {
                let mut listing = Listing::of_slot(number);
                for walked in entries {
                    add(seen, &mut listing, walked, &mut nodes);
                }
                Node::Loaded(Arc::new(listing))
            }
        };
        nodes[slot] = Some(node);
    }
    let root = nodes.first_mut().and_then(Option::take);
    root.unwrap_or_else(|| Node::Loaded(Arc::default()))
}

/// Puts an entry into the listing of its directory.
fn add(seen: &Seen, listing: &mut Listing, walked: &Walked, nodes: &mut [Option<Node>]) {
    match walked.entry.state {
        EntryState::Ignored => {}
        EntryState::Omitted(reason) => omit(listing, walked.name.clone(), reason, walked.kept.as_deref()),
        EntryState::Captured if walked.entry.kind == FileKind::Dir => {
            let slot = walked.entry.dir as usize;
            match (seen.outcomes.get(slot), nodes.get_mut(slot).and_then(Option::take)) {
                (_, Some(node)) => listing.entries.push(walked.to_entry(Some(node))),
                (Some(Outcome::Omitted { reason, kept }), None) => {
                    omit(listing, walked.name.clone(), *reason, kept.as_deref());
                }
                _ => {}
            }
        }
        EntryState::Captured => listing.entries.push(walked.to_entry(None)),
    }
}

fn omit(listing: &mut Listing, name: Vec<u8>, reason: Reason, kept: Option<&Entry>) {
    if let Some(kept) = kept {
        listing.entries.push(Entry { name: name.clone(), ..kept.clone() });
    }
    listing.omitted.push((name, reason));
}

/// The state of a directory whose entries are as the cache has them: its ids, if that holds for everything below it.
fn clean_node(
    seen: &Seen,
    cache: Option<&StatCache>,
    cached: u32,
    children: &[(u32, u32)],
    nodes: &mut [Option<Node>],
    number: u32,
) -> Node {
    let Some((cache, dir)) = cache.and_then(|cache| Some((cache, cache.dir(cached)?))) else {
        return Node::Loaded(Arc::default());
    };
    let is_clean = |&(entry, slot): &(u32, u32)| {
        let known = cache.entry(entry).and_then(|(_, entry)| cache.dir(entry.dir));
        match (known, nodes.get(slot as usize)) {
            (Some(known), Some(Some(Node::Stored(stored)))) => *stored == stored_of(known.encoded),
            _ => false,
        }
    };
    if children.iter().all(is_clean) {
        return Node::Stored(stored_of(dir.encoded));
    }
    let mut listing = Listing::of_slot(number);
    for (name, mut entry) in entries_of(cache, dir.first, dir.count) {
        if let Some(slot) = slot_of(children, entry.1) {
            entry.0.dir = slot;
        }
        let walked = Walked { name: name.to_vec(), entry: entry.0, kept: None };
        add(seen, &mut listing, &walked, nodes);
    }
    Node::Loaded(Arc::new(listing))
}

/// What the cache had for the directory of a slot, if that is `stored`, and all of it stands in the cache: of what was
/// omitted only the store knows the state that was kept.
pub(super) fn before(seen: &Seen, cache: &StatCache, slot: u32, stored: &Stored) -> Option<Listing> {
    let cached = match seen.outcomes.get(slot as usize)? {
        Outcome::Clean { cached, .. } | Outcome::Fresh { cached: Some(cached), .. } => *cached,
        _ => return None,
    };
    let dir = cache.dir(cached).filter(|dir| stored_of(dir.encoded) == *stored)?;
    let mut listing = Listing::default();
    for (name, (entry, _)) in entries_of(cache, dir.first, dir.count) {
        let node = match entry.state {
            EntryState::Ignored => continue,
            EntryState::Omitted(_) => return None,
            EntryState::Captured if entry.kind == FileKind::Dir => {
                Some(Node::Stored(stored_of(cache.dir(entry.dir)?.encoded)))
            }
            EntryState::Captured => None,
        };
        listing.entries.push(Walked { name: name.to_vec(), entry, kept: None }.to_entry(node));
    }
    Some(listing)
}

fn entries_of(cache: &StatCache, first: u32, count: u32) -> impl Iterator<Item = (&[u8], (CacheEntry, u32))> {
    (first..first + count).filter_map(|number| cache.entry(number).map(|(name, entry)| (name, (entry, number))))
}

/// Slot of the entry `number`; children are in the order of their entries.
fn slot_of(children: &[(u32, u32)], number: u32) -> Option<u32> {
    children.binary_search_by_key(&number, |(known, _)| *known).ok().map(|at| children[at].1)
}

fn stored_of(encoded: Encoded) -> Stored {
    Stored { tree: encoded.tree, facts: encoded.facts, inherited: encoded.inherited }
}

/// The next cache; `None` when it cannot be said. `encoded` has the ids of the directories that were encoded, by slot;
/// the others are as they were.
pub(super) fn cache(seen: &Seen, old: Option<&StatCache>, encoded: &[Option<Encoded>]) -> Option<CacheBuilder> {
    let mut builder = CacheBuilder::like(old);
    let nothing = Encoded { tree: ObjectId::EMPTY_TREE, facts: None, inherited: Defaults::default() };
    for (slot, outcome) in seen.outcomes.iter().enumerate() {
        let ids = encoded.get(slot).copied().flatten();
        match outcome {
            // Numbers must stay what they are; nothing refers to this one.
            Outcome::Vanished | Outcome::Omitted { .. } => builder.dir(nothing, 0, (0, false), std::iter::empty())?,
            Outcome::Clean { cached, children } => {
                let (old, dir) = (old?, old?.dir(*cached)?);
                let encoded = ids.unwrap_or(dir.encoded);
                // What became of a subdirectory is rarely anything else than its new number.
                let slot = |number| slot_of(children, number).filter(|slot| is_there(seen, *slot));
                if builder.copy(encoded, old, &dir, slot).is_some() {
                    continue;
                }
                let entries = entries_of(old, dir.first, dir.count).map(|(name, (mut entry, number))| {
                    if entry.dir != NONE {
                        place(seen, &mut entry, slot_of(children, number));
                    }
                    (name, entry)
                });
                builder.dir(encoded, dir.rules, (dir.device, dir.is_mount_point), entries)?;
            }
            Outcome::Fresh { entries, rules, mount, .. } => {
                let gone = |walked: &&Walked| !is_gone(seen, &walked.entry);
                let entries = entries.iter().filter(gone).map(|walked| {
                    let mut entry = walked.entry;
                    if entry.dir != NONE {
                        place(seen, &mut entry, Some(walked.entry.dir));
                    }
                    (walked.name.as_slice(), entry)
                });
                builder.dir(ids?, *rules, *mount, entries)?;
            }
        }
    }
    Some(builder)
}

fn is_there(seen: &Seen, slot: u32) -> bool {
    matches!(seen.outcomes.get(slot as usize), Some(Outcome::Clean { .. } | Outcome::Fresh { .. }))
}

fn is_gone(seen: &Seen, entry: &CacheEntry) -> bool {
    entry.dir != NONE && matches!(seen.outcomes.get(entry.dir as usize), Some(Outcome::Vanished) | None)
}

/// Lets a directory's entry name its slot, or say why it has none.
fn place(seen: &Seen, entry: &mut CacheEntry, slot: Option<u32>) {
    match slot.and_then(|slot| seen.outcomes.get(slot as usize)) {
        Some(Outcome::Omitted { reason, .. }) => {
            entry.state = EntryState::Omitted(*reason);
            entry.dir = NONE;
        }
        Some(Outcome::Vanished) | None => entry.dir = NONE,
        Some(_) => entry.dir = slot.unwrap_or(NONE),
    }
}
