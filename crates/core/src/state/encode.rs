//! From a state in memory to objects: trees, facts, and the facts commit.

use std::sync::Arc;

use ckpt_pack::Kind;

use super::facts::{self, CHILD, Defaults, SELF};
use super::{Entry, EntryKind, Listing, Node, Stored};
use crate::commit::Commit;
use crate::objects::Objects;
use crate::{ObjectId, Result, StoreOptions};

/// Takes objects: into a pack, or only their ids.
pub(crate) trait ObjectSink: Sync {
    /// Stores an object where the store has it not yet, and gives its id.
    fn put(&self, kind: Kind, content: &[u8]) -> Result<ObjectId>;
}

/// A sink that stores nothing.
pub(crate) struct HashOnly;

impl ObjectSink for HashOnly {
    fn put(&self, kind: Kind, content: &[u8]) -> Result<ObjectId> {
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

impl Stored {
    /// The same as what was encoded.
    fn encoded(self) -> Encoded {
        Encoded { tree: self.tree, facts: self.facts, inherited: self.inherited }
    }
}

/// A directory that is to be encoded.
struct Dir {
    listing: Arc<Listing>,
    inherited: Defaults,
    defaults: Defaults,
    /// Number of its parent, and which of the parent's subdirectories it is; 0 and 0 for the root.
    parent: usize,
    place: usize,
    /// Ids of its subdirectories, in the order of its entries; `None` until they are encoded.
    below: Vec<Option<Encoded>>,
}

/// With fewer directories for each it is over before a thread has started.
const DIRS_A_THREAD: usize = 32;

/// Puts the trees and facts of `root` into `sink`, children before parents. Subdirectories that the store holds already
/// are not looked into.
pub(crate) fn encode(root: &Node, objects: &Objects, sink: &dyn ObjectSink, options: &StoreOptions) -> Result<Encoded> {
    encode_with(root, objects, sink, options, &mut |_, _| {})
}

/// Like [`encode`]; tells `on_dir` the ids of each directory that a walk saw.
pub(crate) fn encode_with(
    root: &Node,
    objects: &Objects,
    sink: &dyn ObjectSink,
    options: &StoreOptions,
    on_dir: &mut dyn FnMut(u32, Encoded),
) -> Result<Encoded> {
    let inherited = Defaults::default();
    if let Node::Stored(stored) = root
        && stored.inherited == inherited
    {
        return Ok(stored.encoded());
    }
    let (mut dirs, levels) = levels(root, objects)?;
    // Level by level from the deepest: the directories of one do not need each other.
    for level in levels.windows(2).rev() {
        let (start, end) = (level[0], level[1]);
        let share = (end - start).div_ceil(options.threads_for((end - start) / DIRS_A_THREAD));
        let encode_all = |dirs: &[Dir]| dirs.iter().map(|dir| dir.encode(sink)).collect::<Result<Vec<_>>>();
        let shares = ckpt_fs::in_parallel(dirs[start..end].chunks(share), encode_all);
        let encoded = shares.into_iter().collect::<Result<Vec<_>>>()?.concat();
        for (number, encoded) in (start..end).zip(encoded) {
            let Dir { parent, place, .. } = dirs[number];
            if let Some(slot) = dirs[number].listing.slot {
                on_dir(slot, encoded);
            }
            if number == 0 {
                return Ok(encoded);
            }
            dirs[parent].below[place] = Some(encoded);
        }
        dirs.truncate(start);
    }
    unreachable!("the root is in the first level")
}

/// The directories that are to be encoded, parents before children, and where each level begins; the last number is where
/// the last one ends.
fn levels(root: &Node, objects: &Objects) -> Result<(Vec<Dir>, Vec<usize>)> {
    let mut dirs = vec![Dir::new(root.load(objects)?, Defaults::default(), 0, 0)];
    let mut levels = vec![0, 1];
    let mut next = 0;
    while next < dirs.len() {
        let listing = Arc::clone(&dirs[next].listing);
        let inherited = dirs[next].defaults;
        for node in listing.entries.iter().filter_map(|entry| entry.dir.as_ref()) {
            let place = dirs[next].below.len();
            let encoded = match node {
                Node::Stored(stored) if stored.inherited == inherited => Some(stored.encoded()),
                _ => {
                    dirs.push(Dir::new(node.load(objects)?, inherited, next, place));
                    None
                }
            };
            dirs[next].below.push(encoded);
        }
        next += 1;
        if levels.last() == Some(&next) && next < dirs.len() {
            levels.push(dirs.len());
        }
    }
    Ok((dirs, levels))
}

impl Dir {
    fn new(listing: Arc<Listing>, inherited: Defaults, parent: usize, place: usize) -> Self {
        let defaults = facts::choose_defaults(&listing, inherited);
        Self { listing, inherited, defaults, parent, place, below: Vec::new() }
    }

    /// Puts its tree and its facts; everything below it is encoded.
    fn encode(&self, sink: &dyn ObjectSink) -> Result<Encoded> {
        let mut tree: Vec<(&Entry, ObjectId)> = Vec::with_capacity(self.listing.entries.len());
        let mut facts: Vec<(Vec<u8>, u32, ObjectId)> = Vec::new();
        let mut below = self.below.iter();
        for entry in &self.listing.entries {
            let mut id = entry.id;
            if entry.dir.is_some()
                && let Some(Some(encoded)) = below.next()
            {
                id = encoded.tree;
                if let Some(child) = encoded.facts {
                    facts.push(([&[CHILD], entry.name.as_slice()].concat(), 0o40_000, child));
                }
            }
            tree.push((entry, id));
        }
        let own = facts::encode_self(&self.listing, self.inherited, self.defaults);
        if !own.is_empty() {
            facts.push((SELF.to_vec(), 0o100_644, sink.put(Kind::Blob, &own)?));
        }
        let tree = tree.into_iter().map(|(entry, id)| (entry.name.as_slice(), git_mode(entry), id));
        let tree = sink.put(Kind::Tree, &encode_tree(tree))?;
        let facts = if facts.is_empty() {
            None
        } else {
            let entries = facts.iter().map(|(name, mode, id)| (name.as_slice(), *mode, *id));
            Some(sink.put(Kind::Tree, &encode_tree(entries))?)
        };
        Ok(Encoded { tree, facts, inherited: self.inherited })
    }
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
        let common = a.0.len().min(b.0.len());
        // What follows the common part: a byte of the longer name, the slash of a directory, or nothing.
        let next = |&(name, mode, _): &(&'a [u8], u32, ObjectId)| {
            name.get(common).copied().or((mode == 0o40_000).then_some(b'/'))
        };
        a.0[..common].cmp(&b.0[..common]).then_with(|| next(a).cmp(&next(b))).then_with(|| a.0.cmp(b.0))
    });
    let mut out = Vec::with_capacity(entries.iter().map(|(name, ..)| name.len() + 28).sum());
    for (name, mode, id) in entries {
        // In octal digits, of which a directory has five.
        for digit in (0..if mode < 0o100_000 { 5 } else { 6 }).rev() {
            out.push(b'0' + (mode >> (3 * digit) & 7) as u8);
        }
        out.push(b' ');
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
pub(crate) fn encode_facts_commit(sink: &dyn ObjectSink, facts: Option<ObjectId>, rules: &[u8]) -> Result<ObjectId> {
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

    fn entry(name: String, dir: Option<Node>) -> Entry {
        let kind = if dir.is_some() { EntryKind::Dir } else { EntryKind::File };
        let id = hash(Kind::Blob, name.as_bytes()).unwrap();
        Entry { name: name.into_bytes(), kind, mode: if dir.is_some() { 0o755 } else { 0o640 }, id, dir }
    }

    /// A directory with `width` others in it, each of them with as many, and so on, and a file in each.
    fn wide(width: u32, levels: u32, slot: &mut u32) -> Node {
        let mut listing = Listing::of_slot(*slot);
        *slot += 1;
        listing.entries.push(entry(format!("a file {slot}"), None));
        if levels > 0 {
            listing
                .entries
                .extend((0..width).map(|name| entry(format!("d{name:03}"), Some(wide(width, levels - 1, slot)))));
        }
        Node::Loaded(Arc::new(listing))
    }

    #[test]
    fn any_number_of_threads_encodes_the_same() {
        let mut dirs = 0;
        let root = wide(12, 3, &mut dirs);
        let objects = Objects::none(std::path::Path::new("/")).unwrap();
        let of = |threads| {
            let mut told = std::collections::BTreeMap::new();
            let on_dir = &mut |slot, encoded| assert!(told.insert(slot, encoded).is_none(), "{slot} twice");
            let options = StoreOptions { threads, ..StoreOptions::default() };
            let root = encode_with(&root, &objects, &HashOnly, &options, on_dir).unwrap();
            assert_eq!((told.len(), told[&0]), (dirs as usize, root));
            told
        };
        let alone = of(1);
        assert!(alone == of(2) && alone == of(7) && alone == of(0));
        assert!(alone[&0].facts.is_some(), "the mode of the files is not that of a Git tree");
    }
}
