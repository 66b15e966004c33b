//! From the directories of a walk to one state, and to the next stat cache.

use std::sync::Arc;

use ckpt_fs::FileKind;

use super::looked::state_entry;
use super::outcome::Outcome;
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
                listing.entries.reserve_exact(entries.len());
                for walked in entries {
                    add(seen, &mut listing, &walked.name, &walked.entry, walked.kept.as_deref(), &mut nodes);
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
fn add(
    seen: &Seen,
    listing: &mut Listing,
    name: &[u8],
    entry: &CacheEntry,
    kept: Option<&Entry>,
    nodes: &mut [Option<Node>],
) {
    match entry.state {
        EntryState::Ignored => {}
        EntryState::Omitted(reason) => omit(listing, name.to_vec(), reason, kept),
        EntryState::Captured if entry.kind == FileKind::Dir => {
            let slot = entry.dir as usize;
            match (seen.outcomes.get(slot), nodes.get_mut(slot).and_then(Option::take)) {
                (_, Some(node)) => listing.entries.push(state_entry(name, entry, Some(node))),
                (Some(Outcome::Omitted { reason, kept }), None) => {
                    omit(listing, name.to_vec(), *reason, kept.as_deref());
                }
                _ => {}
            }
        }
        EntryState::Captured => listing.entries.push(state_entry(name, entry, None)),
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
    listing.entries.reserve_exact(dir.count as usize);
    for (name, mut entry) in entries_of(cache, dir.first, dir.count) {
        if let Some(slot) = slot_of(children, entry.1) {
            entry.0.dir = slot;
        }
        add(seen, &mut listing, name, &entry.0, None, nodes);
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
    listing.entries.reserve_exact(dir.count as usize);
    for (name, (entry, _)) in entries_of(cache, dir.first, dir.count) {
        let node = match entry.state {
            EntryState::Ignored => continue,
            EntryState::Omitted(_) => return None,
            EntryState::Captured if entry.kind == FileKind::Dir => {
                Some(Node::Stored(stored_of(cache.dir(entry.dir)?.encoded)))
            }
            EntryState::Captured => None,
        };
        listing.entries.push(state_entry(name, &entry, node));
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

/// The changes of `old` that make the next cache of it; `None` when they cannot be said, or not in about `limit` bytes.
/// Directories keep their numbers, so that only those have to be written that are not as the first file of `old` has them.
pub(super) fn changes(seen: &Seen, old: &StatCache, encoded: &[Option<Encoded>], limit: usize) -> Option<CacheBuilder> {
    let mut builder = CacheBuilder::changes_of(old);
    let mut numbers = Vec::with_capacity(seen.outcomes.len());
    for outcome in &seen.outcomes {
        numbers.push(match outcome {
            Outcome::Vanished | Outcome::Omitted { .. } => NONE,
            Outcome::Clean { cached, .. } | Outcome::Fresh { cached: Some(cached), .. } => *cached,
            Outcome::Fresh { cached: None, .. } => builder.next_number()?,
        });
    }
    let next = Next { seen, old: Some(old), encoded, numbers };
    for slot in 0..seen.outcomes.len() {
        if builder.bytes() > limit {
            return None;
        }
        if let Outcome::Clean { cached, children } = &seen.outcomes[slot] {
            let dir = old.dir(*cached)?;
            let encoded = next.encoded(slot).unwrap_or(dir.encoded);
            let number_of = |entry| old.entry(entry).map(|(_, entry)| entry.dir);
            let is_as_it_was = |&(entry, slot): &(u32, u32)| number_of(entry) == next.number(slot);
            if children.iter().all(is_as_it_was)
                && (encoded == dir.encoded && !old.is_changed(*cached)
                    || builder.again(*cached, encoded, &dir).is_some())
            {
                continue;
            }
        }
        if next.numbers[slot] != NONE {
            next.add(&mut builder, slot)?;
        }
    }
    (builder.bytes() <= limit).then_some(builder)
}

/// The next cache as a whole; `None` when it cannot be said.
pub(super) fn cache(seen: &Seen, old: Option<&StatCache>, encoded: &[Option<Encoded>]) -> Option<CacheBuilder> {
    let mut builder = CacheBuilder::like(old);
    let numbers = (0..u32::try_from(seen.outcomes.len()).ok()?).collect();
    let next = Next { seen, old, encoded, numbers };
    (0..seen.outcomes.len()).try_for_each(|slot| next.add(&mut builder, slot))?;
    Some(builder)
}

/// What the next cache is made of.
struct Next<'a> {
    seen: &'a Seen,
    old: Option<&'a StatCache>,
    /// Ids of the directories that were encoded, by slot; the others are as they were.
    encoded: &'a [Option<Encoded>],
    /// Numbers of the directories in the next cache, by slot.
    numbers: Vec<u32>,
}

impl Next<'_> {
    fn encoded(&self, slot: usize) -> Option<Encoded> {
        self.encoded.get(slot).copied().flatten()
    }

    /// Number of the directory of a slot, if there is one.
    fn number(&self, slot: u32) -> Option<u32> {
        let is_there =
            matches!(self.seen.outcomes.get(slot as usize), Some(Outcome::Clean { .. } | Outcome::Fresh { .. }));
        is_there.then(|| self.numbers[slot as usize])
    }

    /// Adds the directory of a slot with its entries.
    fn add(&self, builder: &mut CacheBuilder, slot: usize) -> Option<()> {
        let number = self.numbers[slot];
        match &self.seen.outcomes[slot] {
            // Numbers must stay what they are; nothing refers to this one.
            Outcome::Vanished | Outcome::Omitted { .. } => {
                let nothing = Encoded { tree: ObjectId::EMPTY_TREE, facts: None, inherited: Defaults::default() };
                builder.dir(number, nothing, 0, (0, false), std::iter::empty())
            }
            Outcome::Clean { cached, children } => {
                let (old, dir) = (self.old?, self.old?.dir(*cached)?);
                let encoded = self.encoded(slot).unwrap_or(dir.encoded);
                // What became of a subdirectory is rarely anything else than its new number.
                let moved = |entry| slot_of(children, entry).and_then(|slot| self.number(slot));
                if builder.copy(number, encoded, old, &dir, moved).is_some() {
                    return Some(());
                }
                let entries = entries_of(old, dir.first, dir.count).map(|(name, (mut entry, number))| {
                    if entry.dir != NONE {
                        self.place(&mut entry, slot_of(children, number));
                    }
                    (name, entry)
                });
                builder.dir(number, encoded, dir.rules, (dir.device, dir.is_mount_point), entries)
            }
            Outcome::Fresh { entries, rules, mount, .. } => {
                let is_gone = |entry: &CacheEntry| {
                    let outcome = self.seen.outcomes.get(entry.dir as usize);
                    entry.dir != NONE && matches!(outcome, Some(Outcome::Vanished) | None)
                };
                let entries = entries.iter().filter(|walked| !is_gone(&walked.entry)).map(|walked| {
                    let mut entry = walked.entry;
                    if entry.dir != NONE {
                        self.place(&mut entry, Some(walked.entry.dir));
                    }
                    (walked.name.as_slice(), entry)
                });
                builder.dir(number, self.encoded(slot)?, *rules, *mount, entries)
            }
        }
    }

    /// Lets a directory's entry name its number, or say why it has none.
    fn place(&self, entry: &mut CacheEntry, slot: Option<u32>) {
        entry.dir = slot.and_then(|slot| self.number(slot)).unwrap_or(NONE);
        if let Some(Outcome::Omitted { reason, .. }) = slot.and_then(|slot| self.seen.outcomes.get(slot as usize)) {
            entry.state = EntryState::Omitted(*reason);
        }
    }
}
