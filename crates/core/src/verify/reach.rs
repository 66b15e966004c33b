//! Everything that the timeline reaches: operations, checkpoints, trees, blobs.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use ckpt_pack::Kind;

use super::packs::Packs;
use super::timeline::{self, Slot, Timeline};
use super::{Fault, FaultKind, Holder, Lost, found};
use crate::checkpoint::Checkpoint;
use crate::objects::Objects;
use crate::path::join;
use crate::state::tree_entries;
use crate::store::Inner;
use crate::{ObjectFault, ObjectId, RepoPath, Result};

/// Paths that are named for one checkpoint at most.
const MAX_LOST: usize = 10_000;

/// What is reached, and what of it is not there.
pub(super) struct Reach {
    /// The timeline, oldest first, with what stands for the operations that cannot be read.
    pub(super) operations: Vec<Slot>,
    /// Checkpoints that have no place on it.
    pub(super) beside: Vec<Checkpoint>,
    pub(super) checkpoints: u64,
    pub(super) missing: BTreeSet<ObjectId>,
    pub(super) lost: Vec<Lost>,
    pub(super) faults: Vec<Fault>,
    /// The tip, where the ref had to be found out.
    pub(super) tip: timeline::Tip,
    /// Trees that were read, and whether all below them is there.
    whole: HashMap<ObjectId, bool>,
    blobs: HashSet<ObjectId>,
    /// Operations, checkpoints, and commits of facts.
    commits: HashSet<ObjectId>,
}

/// A holder, its tree, and its commit of facts.
type Root = (Holder, ObjectId, Option<ObjectId>);

fn root_of(checkpoint: &Checkpoint) -> Root {
    (Holder::Checkpoint(checkpoint.info.id), checkpoint.tree, Some(checkpoint.facts_commit))
}

/// A walk through the objects.
struct Walk<'a> {
    store: &'a Inner,
    objects: &'a Objects,
    known: &'a HashSet<ObjectId>,
    whole: HashMap<ObjectId, bool>,
    blobs: HashSet<ObjectId>,
    missing: BTreeMap<ObjectId, String>,
}

/// Whether it is a directory, name, id.
type TreeEntry = (bool, Vec<u8>, ObjectId);

/// A tree on the way.
struct Frame {
    id: ObjectId,
    children: Vec<(bool, ObjectId)>,
    is_whole: bool,
}

impl Reach {
    pub(super) fn of(store: &Inner, packs: &Packs) -> Result<Self> {
        let reach = Self::along(store, packs, timeline::read(store, &packs.known, None)?)?;
        let Some(Slot::Read(tip, _)) = reach.operations.last().filter(|_| reach.tip == timeline::Tip::Named) else {
            return Ok(reach);
        };
        // What a whole store has besides is little: the leftovers of commands that did not end.
        let mut unreached = packs.known.clone();
        unreached
            .retain(|id| !reach.whole.contains_key(id) && !reach.blobs.contains(id) && !reach.commits.contains(id));
        match timeline::more_than(store, tip, &packs.known, &unreached)? {
            Some(more) => Self::along(store, packs, timeline::read(store, &packs.known, Some(more))?),
            None => Ok(reach),
        }
    }

    /// Everything that a timeline reaches.
    fn along(store: &Inner, packs: &Packs, timeline: Timeline) -> Result<Self> {
        let Timeline { tip, slots: operations, beside, lost: ends, mut faults } = timeline;
        let mut walk = Walk {
            store,
            objects: &store.objects,
            known: &packs.known,
            whole: HashMap::new(),
            blobs: HashSet::new(),
            missing: BTreeMap::new(),
        };
        let mut lost = Vec::new();
        for id in ends {
            walk.lose(Holder::Operation(id), id.0, &mut lost)?;
        }
        let mut seen = HashSet::new();
        let mut commits = HashSet::new();
        for (number, slot) in operations.iter().enumerate() {
            store.interrupted()?;
            let mut roots = Vec::new();
            match slot {
                Slot::Read(operation, _) => {
                    commits.insert(operation.id.0);
                    // Head and the safety checkpoint are those of operations before; of none only where these are lost, and
                    // their names stayed.
                    for id in [operation.head, operation.safety].into_iter().flatten() {
                        if !seen.contains(&id)
                            && operation.checkpoint != Some(id)
                            && found(Checkpoint::require(walk.objects, id, store.id))?.is_none()
                        {
                            walk.lose(Holder::Checkpoint(id), id.0, &mut lost)?;
                        }
                    }
                    if let Some(id) = operation.checkpoint
                        && seen.insert(id)
                    {
                        commits.insert(id.0);
                        match found(Checkpoint::require(walk.objects, id, store.id))? {
                            Some(checkpoint) => roots.push(root_of(&checkpoint)),
                            None => walk.lose(Holder::Checkpoint(id), id.0, &mut lost)?,
                        }
                    }
                    roots.push((Holder::Operation(operation.id), operation.tree, operation.facts_commit));
                }
                Slot::Lost { checkpoint: Some(checkpoint), .. } => {
                    seen.insert(checkpoint.info.id);
                    roots.push(root_of(checkpoint));
                }
                // Of the first one nothing is lost but that it was there.
                Slot::Lost { id: Some(id), checkpoint: None } if number > 0 => {
                    walk.lose(Holder::Operation(*id), id.0, &mut lost)?;
                }
                Slot::Lost { .. } => {}
            }
            walk.roots(roots, &mut commits, &mut lost)?;
        }
        walk.roots(beside.iter().map(root_of).collect(), &mut commits, &mut lost)?;
        // What the tree of an operation shares with a checkpoint is named there.
        let named: HashSet<ObjectId> =
            lost.iter().filter(|lost| matches!(lost.holder, Holder::Checkpoint(_))).map(|lost| lost.object).collect();
        lost.retain(|lost| matches!(lost.holder, Holder::Checkpoint(_)) || !named.contains(&lost.object));
        lost.sort();
        lost.dedup();
        faults.extend(walk.missing.iter().map(|(id, reason)| Fault {
            kind: FaultKind::MissingObject,
            file: None,
            object: Some(*id),
            reason: reason.clone(),
            mended: None,
        }));
        let missing = walk.missing.into_keys().collect();
        let checkpoints = seen.len() as u64;
        let (whole, blobs) = (walk.whole, walk.blobs);
        Ok(Self { operations, beside, checkpoints, missing, lost, faults, tip, whole, blobs, commits })
    }

    /// Number of trees.
    pub(super) fn trees(&self) -> u64 {
        self.whole.len() as u64
    }

    /// Number of blobs.
    pub(super) fn blobs(&self) -> u64 {
        self.blobs.len() as u64
    }
}

impl Walk<'_> {
    /// Takes down that all of a holder is lost.
    fn lose(&mut self, holder: Holder, object: ObjectId, lost: &mut Vec<Lost>) -> Result<()> {
        lost.push(Lost { holder, path: None, object });
        self.miss(object)
    }

    /// Looks for everything that these hold, and names what of it is lost.
    fn roots(&mut self, roots: Vec<Root>, commits: &mut HashSet<ObjectId>, lost: &mut Vec<Lost>) -> Result<()> {
        for (holder, tree, facts) in roots {
            if !self.tree(tree)? {
                self.name_lost(holder, tree, lost)?;
            }
            if let Some(facts) = facts {
                commits.insert(facts);
                if !self.facts(facts)? {
                    lost.push(Lost { holder, path: None, object: facts });
                }
            }
        }
        Ok(())
    }

    /// Takes down that an object cannot be read.
    fn miss(&mut self, id: ObjectId) -> Result<()> {
        if !self.missing.contains_key(&id) {
            let reason = match self.objects.read(id) {
                Err(crate::Error::Object { reason: ObjectFault::Missing, .. }) => "it is in no pack".to_owned(),
                Err(crate::Error::Object { reason, .. }) => reason.to_string(),
                Err(err) => return Err(err),
                Ok(_) => "it is not what it should be".to_owned(),
            };
            self.missing.insert(id, reason);
        }
        Ok(())
    }

    /// Whether the blob is there. Stock git may hold it in forms that only reading finds.
    fn blob(&mut self, id: ObjectId) -> Result<bool> {
        if self.missing.contains_key(&id) {
            return Ok(false);
        }
        if !self.blobs.insert(id) || self.known.contains(&id) || found(self.objects.read(id))?.is_some() {
            return Ok(true);
        }
        self.miss(id)?;
        Ok(false)
    }

    /// The entries of a tree; `None`: it cannot be read.
    fn read_tree(&mut self, id: ObjectId) -> Result<Option<Vec<TreeEntry>>> {
        // Every reader knows the empty tree without looking; stock `git fsck` misses it where it is not.
        if id == ObjectId::EMPTY_TREE && !self.known.contains(&id) && !self.objects.is_loose(id) {
            self.missing.insert(id, "it is in no pack".to_owned());
            return Ok(None);
        }
        let Some(bytes) = found(self.objects.read_kind(id, Kind::Tree))? else {
            self.miss(id)?;
            return Ok(None);
        };
        let entries: Option<Vec<_>> = tree_entries(&bytes)
            .map(|entry| entry.map(|(mode, name, id)| (mode == 0o40_000, name.to_vec(), id)))
            .collect();
        if entries.is_none() {
            self.missing.insert(id, "an entry of the tree has no form".to_owned());
        }
        Ok(entries)
    }

    /// Whether a tree, and everything below it, is there. No recursion: trees may be deep.
    fn tree(&mut self, root: ObjectId) -> Result<bool> {
        let mut frames = Vec::new();
        let mut answer = self.enter(root, &mut frames)?;
        while let Some(frame) = frames.last_mut() {
            if let Some(is_whole) = answer.take() {
                frame.is_whole &= is_whole;
            }
            match frame.children.pop() {
                Some((true, id)) => answer = self.enter(id, &mut frames)?,
                Some((false, id)) => answer = Some(self.blob(id)?),
                None => {
                    self.whole.insert(frame.id, frame.is_whole);
                    answer = Some(frame.is_whole);
                    frames.pop();
                }
            }
        }
        Ok(answer.unwrap_or(true))
    }

    /// The answer for a tree that is known already, else a frame for it.
    fn enter(&mut self, id: ObjectId, frames: &mut Vec<Frame>) -> Result<Option<bool>> {
        if let Some(known) = self.whole.get(&id) {
            return Ok(Some(*known));
        }
        self.store.interrupted()?;
        let Some(entries) = self.read_tree(id)? else {
            self.whole.insert(id, false);
            return Ok(Some(false));
        };
        let children = entries.into_iter().map(|(is_dir, _, id)| (is_dir, id)).collect();
        frames.push(Frame { id, children, is_whole: true });
        Ok(None)
    }

    /// Whether a facts commit, and all that it holds, is there.
    fn facts(&mut self, id: ObjectId) -> Result<bool> {
        let Some((facts, rules)) = found(crate::state::read_facts_commit_now(self.objects, id))? else {
            self.miss(id)?;
            return Ok(false);
        };
        let facts = facts.map_or(Ok(true), |facts| self.tree(facts))?;
        let rules = rules.map_or(Ok(true), |rules| self.blob(rules))?;
        Ok(facts && rules)
    }

    /// Names the paths below `root` at which something is lost.
    fn name_lost(&mut self, holder: Holder, root: ObjectId, lost: &mut Vec<Lost>) -> Result<()> {
        let limit = lost.len() + MAX_LOST;
        let mut waiting = vec![(Vec::new(), root)];
        while let Some((path, id)) = waiting.pop() {
            if self.missing.contains_key(&id) {
                let path = (!path.is_empty()).then(|| RepoPath::trusted(path.clone()));
                lost.push(Lost { holder, path, object: id });
                continue;
            }
            if lost.len() >= limit {
                return Ok(());
            }
            for (is_dir, name, id) in self.read_tree(id)?.unwrap_or_default() {
                let is_bad = if is_dir { self.whole.get(&id) == Some(&false) } else { self.missing.contains_key(&id) };
                if is_bad {
                    waiting.push((join(&path, &name), id));
                }
            }
        }
        Ok(())
    }
}
