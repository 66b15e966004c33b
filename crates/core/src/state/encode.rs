//! From a state in memory to objects: trees, facts, and the facts commit.

use std::sync::Arc;

use ckpt_pack::Kind;

use super::facts::{self, CHILD, Defaults, SELF};
use super::{Entry, EntryKind, Listing, Node};
use crate::commit::Commit;
use crate::objects::Objects;
use crate::{ObjectId, Result};

/// Takes objects: into a pack, or only their ids.
pub(crate) trait ObjectSink {
    /// Stores an object where the store has it not yet, and gives its id.
    fn put(&mut self, kind: Kind, content: &[u8]) -> Result<ObjectId>;
}

/// A sink that stores nothing.
pub(crate) struct HashOnly;

impl ObjectSink for HashOnly {
    fn put(&mut self, kind: Kind, content: &[u8]) -> Result<ObjectId> {
        hash(kind, content)
    }
}

/// The id of an object.
pub(crate) fn hash(kind: Kind, content: &[u8]) -> Result<ObjectId> {
    ckpt_pack::hash_object(kind, content).map_err(|err| crate::objects::pack_error(std::path::Path::new(""), err))
}

/// Ids of a directory's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Encoded {
    pub(crate) tree: ObjectId,
    pub(crate) facts: Option<ObjectId>,
    /// Modes that the facts are relative to.
    pub(crate) inherited: Defaults,
}

impl Encoded {
    /// Whether both states are the same: trees, modes and what was omitted.
    pub(crate) fn is_same(&self, tree: ObjectId, facts: Option<ObjectId>) -> bool {
        self.tree == tree && self.facts == facts
    }
}

/// A directory that is being encoded.
struct Frame {
    listing: Arc<Listing>,
    inherited: Defaults,
    defaults: Defaults,
    /// Entry to look at next.
    next: usize,
    /// Ids of the subdirectories before `next`, in order.
    done: Vec<Encoded>,
}

impl Frame {
    fn new(listing: Arc<Listing>, inherited: Defaults) -> Self {
        let defaults = facts::choose_defaults(&listing, inherited);
        Self { listing, inherited, defaults, next: 0, done: Vec::new() }
    }
}

/// Puts the trees and facts of `root` into `sink`, children before parents, and tells `on_dir` the ids of each
/// directory that a walk saw. Subdirectories that the store holds already are not looked into.
pub(crate) fn encode(
    root: &Node,
    objects: &Objects,
    sink: &mut dyn ObjectSink,
    on_dir: &mut dyn FnMut(u32, Encoded),
) -> Result<Encoded> {
    let inherited = Defaults::default();
    if let Node::Stored(stored) = root
        && stored.inherited == inherited
    {
        return Ok(Encoded { tree: stored.tree, facts: stored.facts, inherited });
    }
    // Work without recursion: 2,000 levels are allowed, and callers' stacks are small.
    let mut frames = vec![Frame::new(root.load(objects)?, inherited)];
    loop {
        let Some(frame) = frames.last_mut() else { unreachable!("the root's frame ends the loop") };
        let listing = Arc::clone(&frame.listing);
        let Some(entry) = listing.entries.get(frame.next) else {
            let encoded = finish(frame, sink)?;
            if let Some(slot) = frame.listing.slot {
                on_dir(slot, encoded);
            }
            frames.pop();
            match frames.last_mut() {
                Some(parent) => parent.done.push(encoded),
                None => return Ok(encoded),
            }
            continue;
        };
        frame.next += 1;
        match &entry.dir {
            None => {}
            Some(Node::Stored(stored)) if stored.inherited == frame.defaults => {
                frame.done.push(Encoded { tree: stored.tree, facts: stored.facts, inherited: stored.inherited });
            }
            Some(node) => {
                let inherited = frame.defaults;
                frames.push(Frame::new(node.load(objects)?, inherited));
            }
        }
    }
}

fn finish(frame: &Frame, sink: &mut dyn ObjectSink) -> Result<Encoded> {
    let mut tree: Vec<(&Entry, ObjectId)> = Vec::with_capacity(frame.listing.entries.len());
    let mut facts: Vec<(Vec<u8>, u32, ObjectId)> = Vec::new();
    let mut dirs = frame.done.iter();
    for entry in &frame.listing.entries {
        let mut id = entry.id;
        if entry.kind == EntryKind::Dir
            && let Some(encoded) = dirs.next()
        {
            id = encoded.tree;
            if let Some(child) = encoded.facts {
                facts.push(([&[CHILD], entry.name.as_slice()].concat(), 0o40_000, child));
            }
        }
        tree.push((entry, id));
    }
    let own = facts::encode_self(&frame.listing, frame.inherited, frame.defaults);
    if !own.is_empty() {
        facts.push((SELF.to_vec(), 0o100_644, sink.put(Kind::Blob, &own)?));
    }
    let tree = sink.put(
        Kind::Tree,
        &encode_tree(tree.into_iter().map(|(entry, id)| (entry.name.as_slice(), git_mode(entry), id))),
    )?;
    let facts = if facts.is_empty() {
        None
    } else {
        let entries = facts.iter().map(|(name, mode, id)| (name.as_slice(), *mode, *id));
        Some(sink.put(Kind::Tree, &encode_tree(entries))?)
    };
    Ok(Encoded { tree, facts, inherited: frame.inherited })
}

/// The blob of facts and the tree of one directory that has its default modes alone, subdirectories by their names.
#[cfg(any(test, feature = "fuzzing"))]
pub(super) fn encode_alone(listing: &Listing) -> (Vec<u8>, Vec<u8>) {
    let inherited = Defaults::default();
    let entries = listing.entries.iter().map(|entry| (entry.name.as_slice(), git_mode(entry), entry.id));
    let facts = facts::encode_self(listing, inherited, facts::choose_defaults(listing, inherited));
    (facts, encode_tree(entries))
}

fn git_mode(entry: &Entry) -> u32 {
    match entry.kind {
        EntryKind::Dir => 0o40_000,
        EntryKind::Link => 0o120_000,
        EntryKind::File if facts::is_exec(entry.mode) => 0o100_755,
        EntryKind::File => 0o100_644,
    }
}

/// The bytes of a tree object: Git sorts a directory as if its name ended in a slash.
fn encode_tree<'a>(entries: impl Iterator<Item = (&'a [u8], u32, ObjectId)>) -> Vec<u8> {
    let mut entries: Vec<_> = entries.collect();
    entries.sort_by(|a, b| {
        let key = |&(name, mode, _): &(&'a [u8], u32, ObjectId)| {
            let slash = (mode == 0o40_000).then_some(b'/');
            name.iter().copied().chain(slash)
        };
        key(a).cmp(key(b))
    });
    let mut out = Vec::with_capacity(entries.iter().map(|(name, ..)| name.len() + 28).sum());
    for (name, mode, id) in entries {
        out.extend_from_slice(format!("{mode:o} ").as_bytes());
        out.extend_from_slice(name);
        out.push(0);
        out.extend_from_slice(id.as_bytes());
    }
    out
}

/// Entries of a tree object: Git mode, name, id. `None` ends it where the bytes have no form.
pub(crate) fn tree_entries(bytes: &[u8]) -> impl Iterator<Item = Option<(u32, &[u8], ObjectId)>> {
    let mut rest = Some(bytes);
    std::iter::from_fn(move || {
        let bytes = rest.filter(|bytes| !bytes.is_empty())?;
        rest = None;
        let parsed = (|| {
            let space = bytes.iter().take(8).position(|&byte| byte == b' ')?;
            let digits = std::str::from_utf8(&bytes[..space]).ok().filter(|digits| !digits.starts_with('+'))?;
            let mode = u32::from_str_radix(digits, 8).ok()?;
            let after = &bytes[space + 1..];
            let nul = after.iter().position(|&byte| byte == 0)?;
            let id = ObjectId::from_slice(after.get(nul + 1..nul + 21)?)?;
            rest = Some(&after[nul + 21..]);
            Some((mode, &after[..nul], id))
        })();
        Some(parsed)
    })
}

/// Puts the facts commit of a state: a tree of `facts` and `rules`, without a date, so that equal facts are one object.
pub(crate) fn encode_facts_commit(
    sink: &mut dyn ObjectSink,
    facts: Option<ObjectId>,
    rules: &[u8],
) -> Result<ObjectId> {
    let rules = sink.put(Kind::Blob, rules)?;
    let mut entries = vec![(b"rules".as_slice(), 0o100_644, rules)];
    entries.extend(facts.map(|facts| (b"facts".as_slice(), 0o40_000, facts)));
    let tree = sink.put(Kind::Tree, &encode_tree(entries.into_iter()))?;
    let commit = Commit { tree, parents: Vec::new(), seconds: 0, headers: Vec::new(), message: b"facts\n".to_vec() };
    sink.put(Kind::Commit, &commit.encode())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_sorted_as_git_sorts_them() {
        let id = ObjectId::ZERO;
        let entries = [(b"a".as_slice(), 0o40_000, id), (b"a.b", 0o100_644, id), (b"a-b", 0o100_644, id)];
        let bytes = encode_tree(entries.into_iter());
        let names: Vec<_> = tree_entries(&bytes).map(|entry| entry.unwrap().1.to_vec()).collect();
        assert_eq!(names, [b"a-b".to_vec(), b"a.b".to_vec(), b"a".to_vec()]);
        assert_eq!(hash(Kind::Tree, b"").unwrap(), ObjectId::EMPTY_TREE);
        assert!(tree_entries(&bytes[..bytes.len() - 1]).any(|entry| entry.is_none()));
    }
}
