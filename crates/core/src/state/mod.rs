//! A state: the files of a worktree at one moment, with their modes and what was omitted.
//!
//! In a store a state is a Git tree beside a tree of facts. In memory it is a [`Node`]: either the ids of both, or the
//! [`Listing`] of a directory whose entries are nodes again, so that a state of a million files of which one differs
//! costs one path of listings. Everything that compares, plans or edits works on nodes and loads what it meets.

mod diff;
mod edit;
mod encode;
mod facts;
mod names;

use std::sync::Arc;

use ckpt_pack::Kind;

use crate::commit::Commit;
use crate::objects::Objects;
use crate::{Error, ObjectFault, ObjectId, Reason, Result};

pub(crate) use diff::{Change, changes, changes_with, same};
pub(crate) use edit::{find, omit, remove, replace, subtract, unomit};
pub(crate) use encode::{Encoded, HashOnly, ObjectSink, encode, encode_facts_commit, encode_with, tree_entries};
pub(crate) use facts::{Defaults, omitted};
pub(crate) use names::{Name, judge_name};

/// Deepest directory that is saved or restored. Deeper trees make stock `git gc` and `git clone` die.
pub(crate) const MAX_DEPTH: usize = 2000;

/// Kind of a saved entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum EntryKind {
    /// Regular file.
    File,
    /// Directory.
    Dir,
    /// Symbolic link; its content is the target.
    Link,
}

impl EntryKind {
    /// The word in output: `file`, `dir`, `link`.
    pub fn word(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Dir => "dir",
            Self::Link => "link",
        }
    }
}

/// An entry of a directory.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) name: Vec<u8>,
    pub(crate) kind: EntryKind,
    /// Permission bits, `mode & 0o777`; 0 for links.
    pub(crate) mode: u16,
    /// Blob of a file or link; without meaning for directories.
    pub(crate) id: ObjectId,
    /// The directory's own state; `Some` for directories only.
    pub(crate) dir: Option<Node>,
}

impl Entry {
    /// What a restore or a comparison looks at.
    pub(crate) fn info(&self) -> EntryInfo {
        EntryInfo { kind: self.kind, mode: self.mode, id: self.id }
    }
}

/// An entry without its name and without what is below it. Directories are equal if their modes are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryInfo {
    pub(crate) kind: EntryKind,
    pub(crate) mode: u16,
    pub(crate) id: ObjectId,
}

impl PartialEq for EntryInfo {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.mode == other.mode && (self.kind == EntryKind::Dir || self.id == other.id)
    }
}

/// State of a directory.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// As the store holds it.
    Stored(Stored),
    /// In memory.
    Loaded(Arc<Listing>),
}

/// State of a directory as the store holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Stored {
    pub(crate) tree: ObjectId,
    /// `None` when nothing differs from what is inherited, here and below.
    pub(crate) facts: Option<ObjectId>,
    /// Modes that the facts are relative to.
    pub(crate) inherited: Defaults,
}

/// The entries of one directory, each list sorted by name in bytes. A name may stand in both: an entry that could not be
/// read keeps its old state and is omitted all the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listing {
    pub(crate) entries: Vec<Entry>,
    pub(crate) omitted: Vec<(Vec<u8>, Reason)>,
    /// Place in the walk that saw it, for the stat cache.
    pub(crate) slot: Option<u32>,
}

impl Listing {
    /// An empty listing of the directory that a walk saw as number `slot`.
    pub(crate) fn of_slot(slot: u32) -> Self {
        Self { entries: Vec::new(), omitted: Vec::new(), slot: Some(slot) }
    }

    /// The entry `name`.
    pub(crate) fn get(&self, name: &[u8]) -> Option<&Entry> {
        self.entries.binary_search_by(|entry| entry.name.as_slice().cmp(name)).ok().map(|at| &self.entries[at])
    }

    /// Why `name` was omitted, if it was.
    pub(crate) fn omission(&self, name: &[u8]) -> Option<Reason> {
        self.omitted.binary_search_by(|(omitted, _)| omitted.as_slice().cmp(name)).ok().map(|at| self.omitted[at].1)
    }
}

impl Drop for Listing {
    /// Takes deep states apart without recursion: 2,000 levels would need a deep stack.
    fn drop(&mut self) {
        let mut pending: Vec<Arc<Listing>> = Vec::new();
        let take = |listing: &mut Listing, pending: &mut Vec<Arc<Listing>>| {
            for entry in &mut listing.entries {
                if let Some(Node::Loaded(child)) = entry.dir.take() {
                    pending.push(child);
                }
            }
        };
        take(self, &mut pending);
        while let Some(child) = pending.pop() {
            if let Ok(mut listing) = Arc::try_unwrap(child) {
                take(&mut listing, &mut pending);
            }
        }
    }
}

impl Node {
    /// The directory's entries.
    pub(crate) fn load(&self, objects: &Objects) -> Result<Arc<Listing>> {
        match self {
            Self::Loaded(listing) => Ok(Arc::clone(listing)),
            Self::Stored(stored) => objects.recent().listing(*stored, || stored.load(objects)),
        }
    }
}

/// The state with nothing in it. It is in no store, and needs none.
pub(crate) fn empty() -> Node {
    Node::Loaded(Arc::default())
}

/// The state of a tree of which nothing is known that a Git tree cannot hold.
pub(crate) fn without_facts(tree: ObjectId) -> Node {
    Node::Stored(Stored { tree, facts: None, inherited: Defaults::default() })
}

/// The state of a tree and a facts commit.
pub(crate) fn stored(objects: &Objects, tree: ObjectId, facts_commit: ObjectId) -> Result<Node> {
    let (facts, _) = read_facts_commit(objects, facts_commit)?;
    Ok(Node::Stored(Stored { tree, facts, inherited: Defaults::default() }))
}

/// Ids of the tree of facts and of the blob of rules.
pub(crate) type FactsIds = (Option<ObjectId>, Option<ObjectId>);

/// What a facts commit holds, read now or remembered.
pub(crate) fn read_facts_commit(objects: &Objects, id: ObjectId) -> Result<FactsIds> {
    objects.recent().facts(id, || read_facts_commit_now(objects, id))
}

/// The same, read from the store whatever is remembered.
pub(crate) fn read_facts_commit_now(objects: &Objects, id: ObjectId) -> Result<FactsIds> {
    let damaged = || Error::object(id, ObjectFault::Damaged("it is no facts commit".to_owned()));
    let commit = Commit::decode(&objects.read_kind(id, Kind::Commit)?).ok_or_else(damaged)?;
    let tree = objects.read_kind(commit.tree, Kind::Tree)?;
    let mut found = (None, None);
    for entry in tree_entries(&tree) {
        let (_, name, entry_id) = entry.ok_or_else(damaged)?;
        match name {
            b"facts" => found.0 = Some(entry_id),
            b"rules" => found.1 = Some(entry_id),
            _ => {}
        }
    }
    Ok(found)
}

impl Stored {
    fn load(&self, objects: &Objects) -> Result<Listing> {
        let facts = match self.facts {
            Some(id) => facts::read(objects, id)?,
            None => facts::DirFacts::default(),
        };
        self.listing(&objects.read_kind(self.tree, Kind::Tree)?, facts)
    }

    /// What the bytes of its tree and its facts say together.
    fn listing(&self, bytes: &[u8], facts: facts::DirFacts) -> Result<Listing> {
        let defaults = facts.defaults(self.inherited);
        let unsafe_tree = |what: String| Error::object(self.tree, ObjectFault::Unsafe(what));
        let mut entries = Vec::new();
        for entry in tree_entries(bytes) {
            let (git_mode, name, id) = entry.ok_or_else(|| unsafe_tree("an entry has no form".to_owned()))?;
            if judge_name(name) != Name::Plain {
                return Err(unsafe_tree(format!("the name {:?} is reserved", String::from_utf8_lossy(name))));
            }
            let (kind, mode) = match git_mode {
                0o100_644 => (EntryKind::File, facts.mode(name).unwrap_or(defaults.file)),
                0o100_755 => (EntryKind::File, facts.mode(name).unwrap_or(defaults.exec)),
                0o120_000 => (EntryKind::Link, 0),
                0o40_000 => (EntryKind::Dir, facts.mode(name).unwrap_or(defaults.dir)),
                other => return Err(unsafe_tree(format!("an entry has the mode {other:o}"))),
            };
            let dir = (kind == EntryKind::Dir)
                .then(|| Node::Stored(Self { tree: id, facts: facts.child(name), inherited: defaults }));
            entries.push(Entry { name: name.to_vec(), kind, mode, id, dir });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        if let Some(pair) = entries.windows(2).find(|pair| pair[0].name == pair[1].name) {
            let name = String::from_utf8_lossy(&pair[0].name).into_owned();
            return Err(unsafe_tree(format!("two entries are named {name:?}")));
        }
        Ok(Listing { entries, omitted: facts.omitted, slot: None })
    }
}

/// For the fuzzers: the directory that a tree and its facts describe, once it was written and read again. `None` where
/// one of them is refused.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn read_and_write(facts: &[u8], tree: &[u8]) -> Option<Listing> {
    let stored = Stored { tree: ObjectId::ZERO, facts: None, inherited: Defaults::default() };
    let listing = stored.listing(tree, facts::DirFacts::parse(facts)?).ok()?;
    let (facts, tree) = encode::encode_alone(&listing);
    let again = stored.listing(&tree, facts::DirFacts::parse(&facts)?).ok()?;
    let all = |listing: &Listing| {
        let entries = listing.entries.iter().map(|entry| (entry.name.clone(), entry.kind, entry.mode, entry.id));
        entries.collect::<Vec<_>>()
    };
    let stable = |listing: &Listing| {
        let lasting = listing.omitted.iter().filter(|(_, reason)| *reason != Reason::Unstable);
        lasting.cloned().collect::<Vec<_>>()
    };
    assert_eq!((all(&listing), stable(&listing)), (all(&again), stable(&again)), "it changes when it is written");
    Some(listing)
}
