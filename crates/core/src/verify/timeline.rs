//! The timeline where links of it are missing: found again as far as it can be, and made whole.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write;

use ckpt_pack::Kind;

use super::{Fault, FaultKind, found};
use crate::checkpoint::Checkpoint;
use crate::commit::Commit;
use crate::error::Context;
use crate::snapshot::StoreIngest;
use crate::state::ObjectSink;
use crate::store::Inner;
use crate::{CheckpointId, CheckpointKind, Error, ObjectId, Operation, OperationId, Result, refs};

/// What stands at one place of the timeline.
pub(super) enum Slot {
    /// An operation, and its commit.
    Read(Box<Operation>, Commit),
    /// One that cannot be read; its id where another one names it, and the checkpoint that it made, where that is found.
    Lost { id: Option<OperationId>, checkpoint: Option<Box<Checkpoint>> },
}

/// What the ref says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tip {
    /// The operation that it names can be read.
    Named,
    /// It names nothing that can be read; this operation is the newest that can.
    Found(OperationId),
    /// No operation can be read.
    Nowhere,
}

/// The operations that the ref reaches, oldest first.
pub(super) fn read(store: &Inner, known: &HashSet<ObjectId>) -> Result<(Tip, Vec<Slot>, Vec<Fault>)> {
    let mut reader = Reader { store, known, all: None, faults: Vec::new() };
    let named = match refs::read(&store.dir, &store.path) {
        Ok(named) => named,
        Err(Error::Store { .. }) => None,
        Err(err) => return Err(err),
    };
    let mut slots = Vec::new();
    let tip = match named.map(|id| reader.operation(OperationId(id))).transpose()?.flatten() {
        Some(tip) => (Tip::Named, Some(tip)),
        None => {
            let reason = match named {
                Some(id) => format!("it names {id}, which cannot be read"),
                None => "it names no operation".to_owned(),
            };
            reader.fault(store.path.join(refs::TIMELINE), named, reason);
            let all = reader.all()?;
            let newest = all.newest().cloned();
            let end = newest.as_ref().map_or(0, |(newest, _)| newest.seq + 1);
            slots.extend((end..all.next_seq()).rev().map(|seq| all.slot(seq, None)));
            (newest.as_ref().map_or(Tip::Nowhere, |(newest, _)| Tip::Found(newest.id)), newest)
        }
    };
    let (tip, mut at) = tip;
    while let Some((operation, commit)) = at {
        let (seq, parent) = (operation.seq, operation.parent);
        slots.push(Slot::Read(Box::new(operation), commit));
        at = match parent {
            None => None,
            Some(parent) => match reader.operation(parent)? {
                Some(parent) => Some(parent),
                None => reader.step_over(seq, parent, &mut slots)?,
            },
        };
    }
    slots.reverse();
    reader.name_those_beside(&slots);
    Ok((tip, slots, reader.faults))
}

/// Commits of the store, whether the timeline reaches them or not.
///
/// Several may have one number: what was packed and never recorded, since its command was killed or failed, and what took
/// its place. The latter is the later one.
#[derive(Default)]
struct All {
    operations: Vec<(Operation, Commit)>,
    checkpoints: BTreeMap<u64, Vec<Checkpoint>>,
}

impl All {
    /// The operation that the timeline ended with, as far as can be told: of those that none comes after, the latest.
    fn newest(&self) -> Option<&(Operation, Commit)> {
        let parents: HashSet<OperationId> =
            self.operations.iter().filter_map(|(operation, _)| operation.parent).collect();
        let ends = self.operations.iter().filter(|(operation, _)| !parents.contains(&operation.id));
        ends.max_by_key(|(operation, _)| (operation.time_ns, operation.seq, operation.id))
    }

    /// The number after the highest one of a checkpoint.
    fn next_seq(&self) -> u64 {
        self.checkpoints.last_key_value().map_or(0, |(seq, _)| seq + 1)
    }

    /// What stands for the operation number `seq`, which is lost: the checkpoint that it made. One that a later checkpoint
    /// names was recorded; else the latest was.
    fn slot(&self, seq: u64, id: Option<OperationId>) -> Slot {
        let previous: HashSet<CheckpointId> =
            self.checkpoints.range(seq + 1..).flat_map(|(_, found)| found).filter_map(|it| it.info.previous).collect();
        let found = self.checkpoints.get(&seq).and_then(|found| {
            found.iter().max_by_key(|it| (previous.contains(&it.info.id), it.info.time_ns, it.info.id))
        });
        Slot::Lost { id, checkpoint: found.cloned().map(Box::new) }
    }
}

struct Reader<'a> {
    store: &'a Inner,
    known: &'a HashSet<ObjectId>,
    all: Option<All>,
    faults: Vec<Fault>,
}

impl Reader<'_> {
    fn fault(&mut self, file: std::path::PathBuf, object: Option<ObjectId>, reason: String) {
        self.faults.push(Fault { kind: FaultKind::DamagedTimeline, file: Some(file), object, reason, mended: None });
    }

    /// An operation of this store; `None` when it cannot be read.
    fn operation(&self, id: OperationId) -> Result<Option<(Operation, Commit)>> {
        let Some((_, bytes)) = found(self.store.objects.read(id.0))? else { return Ok(None) };
        let commit = Commit::decode(&bytes);
        Ok(commit
            .and_then(|commit| Some((Operation::from_commit(id.0, &commit)?, commit)))
            .filter(|(operation, _)| operation.store == self.store.id))
    }

    /// Every operation and checkpoint in the packs. Reads the header of each object, so it is asked only when needed.
    fn all(&mut self) -> Result<&All> {
        let all = match self.all.take() {
            Some(all) => all,
            None => self.find_all()?,
        };
        Ok(self.all.insert(all))
    }

    fn find_all(&self) -> Result<All> {
        let mut all = All::default();
        for id in self.known {
            if found(self.store.objects.is_kind(*id, Kind::Commit))?.flatten() != Some(true) {
                continue;
            }
            if let Some(operation) = self.operation(OperationId(*id))? {
                all.operations.push(operation);
            } else if let Some(Some(checkpoint)) = found(Checkpoint::read(&self.store.objects, *id, self.store.id))? {
                all.checkpoints.entry(checkpoint.info.seq).or_default().push(checkpoint);
            }
        }
        Ok(all)
    }

    /// Notes the operation `lost`, the one before number `seq`, and those before it that cannot be found, and gives the
    /// newest one that can.
    fn step_over(&mut self, seq: u64, lost: OperationId, slots: &mut Vec<Slot>) -> Result<Option<(Operation, Commit)>> {
        self.fault(
            self.store.path.join(refs::TIMELINE),
            Some(lost.0),
            format!("operation {} of it cannot be read", seq.saturating_sub(1)),
        );
        let all = self.all()?;
        // The number next below that there is; what the timeline names further up was recorded.
        let named: HashSet<OperationId> = slots
            .iter()
            .filter_map(|slot| match slot {
                Slot::Read(operation, _) => Some(operation),
                Slot::Lost { .. } => None,
            })
            .flat_map(|it| [it.skip, it.target, it.undo_next, it.redo_next])
            .flatten()
            .collect();
        let before = all.operations.iter().filter(|(operation, _)| operation.seq + 1 < seq);
        let next = before.max_by_key(|(operation, _)| {
            (operation.seq, named.contains(&operation.id), operation.time_ns, operation.id)
        });
        let from = next.map_or(0, |(operation, _)| operation.seq + 1);
        let new: Vec<Slot> =
            (from..seq).rev().map(|number| all.slot(number, (number + 1 == seq).then_some(lost))).collect();
        let next = next.cloned();
        slots.extend(new);
        Ok(next)
    }

    /// Names the checkpoints that have no place in `slots`, where everything had to be looked at: nothing goes silently.
    fn name_those_beside(&mut self, slots: &[Slot]) {
        let Some(all) = &self.all else { return };
        let placed: HashSet<CheckpointId> = slots
            .iter()
            .filter_map(|slot| match slot {
                Slot::Read(operation, _) => operation.checkpoint,
                Slot::Lost { checkpoint, .. } => checkpoint.as_ref().map(|it| it.info.id),
            })
            .collect();
        let beside = all.checkpoints.values().flatten().filter(|it| !placed.contains(&it.info.id));
        let faults = beside.map(|checkpoint| Fault {
            kind: FaultKind::BesideTimeline,
            file: None,
            object: Some(checkpoint.info.id.0),
            reason: "a checkpoint without a place on it: of a command that did not end, or lost with its operation"
                .to_owned(),
            mended: None,
        });
        self.faults.extend(faults);
    }
}

/// Packs the timeline anew from the first operation on that is lost, or whose checkpoint is; the rest stays as it is.
/// The new tip; `None` when nothing has to change.
pub(super) fn rebuild(
    store: &Inner,
    ingest: &StoreIngest<'_>,
    slots: &[Slot],
    missing: &dyn Fn(&ObjectId) -> bool,
) -> Result<Option<OperationId>> {
    let is_sound = |slot: &Slot| match slot {
        Slot::Read(operation, _) => !operation.checkpoint.is_some_and(|checkpoint| missing(&checkpoint.0)),
        Slot::Lost { .. } => false,
    };
    if slots.iter().all(is_sound) {
        return Ok(None);
    }
    let mut renamed: HashMap<ObjectId, ObjectId> = HashMap::new();
    let mut ids: Vec<OperationId> = Vec::new();
    let mut before: Option<Operation> = None;
    let mut is_same = true;
    for slot in slots {
        is_same &= is_sound(slot);
        let operation = match slot {
            Slot::Read(operation, _) if is_same => (**operation).clone(),
            slot => {
                let commit = commit_anew(store, slot, before.as_ref(), &ids, &renamed, missing);
                if commit.tree == ObjectId::EMPTY_TREE {
                    ingest.put(Kind::Tree, b"")?;
                }
                let id = ingest.put(Kind::Commit, &commit.encode())?;
                let old = match slot {
                    Slot::Read(operation, _) => Some(operation.id),
                    Slot::Lost { id, .. } => *id,
                };
                renamed.extend(old.map(|old| (old.0, id)));
                Operation::from_commit(id, &commit)
                    .ok_or_else(|| Error::broken(&store.path, "a new operation cannot be read back"))?
            }
        };
        ids.push(operation.id);
        before = Some(operation);
    }
    Ok(before.map(|tip| tip.id))
}

/// The commit of an operation with another one before it.
fn commit_anew(
    store: &Inner,
    slot: &Slot,
    before: Option<&Operation>,
    ids: &[OperationId],
    renamed: &HashMap<ObjectId, ObjectId>,
    missing: &dyn Fn(&ObjectId) -> bool,
) -> Commit {
    let seq = ids.len() as u64;
    let parent = before.map(|before| before.id.0);
    let header = |name: &str, value: String| (name.to_owned(), value.into_bytes());
    let mut commit = match slot {
        Slot::Read(operation, commit) => {
            let mut commit = commit.clone();
            commit.parents = parent.into_iter().chain(commit.parents.iter().copied().skip(1)).collect();
            if operation.checkpoint.is_some_and(|checkpoint| missing(&checkpoint.0)) {
                // The tree is what is left of the checkpoint.
                commit.parents.truncate(1);
                set(&mut commit, "ckpt-operation", Some("repair".to_owned()));
                set(&mut commit, "ckpt-checkpoint", None);
            }
            commit
        }
        Slot::Lost { checkpoint, .. } => {
            let saved = before.map_or(0, |before| before.saved);
            let is_manual = checkpoint.as_ref().is_some_and(|found| found.info.kind == CheckpointKind::Manual);
            let kind = match (before, checkpoint) {
                (None, _) => "create",
                (Some(_), Some(_)) => "save",
                (Some(_), None) => "repair",
            };
            let time = before.map_or(0, |before| before.time_ns);
            let mut headers = vec![
                header("ckpt-operation", kind.to_owned()),
                header("ckpt-seq", String::new()),
                header("ckpt-time", checkpoint.as_ref().map_or(time, |found| found.info.time_ns).to_string()),
                header("ckpt-store", store.id.to_string()),
                header("ckpt-saved", (saved + u64::from(is_manual)).to_string()),
            ];
            if checkpoint.is_some() && !is_manual {
                headers.push(header("ckpt-checkpoint", "auto".to_owned()));
            }
            let head = match checkpoint {
                Some(found) if is_manual => Some(found.info.id),
                _ => before.and_then(|before| before.head),
            };
            let pointers = [
                ("ckpt-head", head.map(|id| id.0)),
                ("ckpt-undo", before.and_then(Operation::top_undo).map(|id| id.0)),
                ("ckpt-redo", before.and_then(Operation::top_redo).filter(|_| !is_manual).map(|id| id.0)),
            ];
            headers.extend(pointers.into_iter().filter_map(|(name, id)| id.map(|id| header(name, id.to_string()))));
            let tree = checkpoint.as_ref().map(|found| found.tree).or(before.map(|before| before.tree));
            let facts = before.filter(|_| checkpoint.is_none()).and_then(|before| before.checkpoint);
            Commit {
                tree: tree.unwrap_or(ObjectId::EMPTY_TREE),
                parents: parent
                    .into_iter()
                    .chain(checkpoint.as_ref().map(|found| found.info.id.0))
                    .chain(facts.map(|id| id.0))
                    .collect(),
                seconds: time.div_euclid(1_000_000_000),
                headers,
                message: format!("{kind}: in place of an operation that was lost\n").into_bytes(),
            }
        }
    };
    set(&mut commit, "ckpt-seq", Some(seq.to_string()));
    let skip = (seq > 0).then(|| ids.get(usize::try_from(seq & (seq - 1)).unwrap_or(0))).flatten();
    set(&mut commit, "ckpt-skip", skip.map(ToString::to_string));
    for name in ["ckpt-undo", "ckpt-redo", "ckpt-target"] {
        if let Some(new) = commit.parsed::<ObjectId>(name).and_then(|id| renamed.get(&id)) {
            set(&mut commit, name, Some(new.to_string()));
        }
    }
    commit
}

/// Replaces the value of a header where it stands, or appends it; takes it away for `None`.
fn set(commit: &mut Commit, name: &str, value: Option<String>) {
    let place = commit.headers.iter_mut().find(|(known, _)| known == name);
    match (place, value) {
        (Some((_, old)), Some(value)) => *old = value.into_bytes(),
        (None, Some(value)) => commit.headers.push((name.to_owned(), value.into_bytes())),
        (_, None) => commit.headers.retain(|(known, _)| known != name),
    }
}

/// Writes the ref where it cannot be read. Only for a ref that names nothing that can be read.
pub(super) fn write_ref(session: &crate::session::Session<'_>, tip: OperationId) -> Result<()> {
    let store = session.store;
    let path = store.path.join(refs::TIMELINE);
    let heads = match store.dir.open_beneath(b"refs/heads") {
        Ok(heads) => heads,
        Err(err) if err.kind() == std::io::ErrorKind::NotFound => {
            let _ = store.dir.create_dir(b"refs", 0o700);
            let refs = store.dir.open_dir(b"refs").context("open", store.path.join("refs"))?;
            let _ = refs.create_dir(b"heads", 0o700);
            let synced = refs.sync(store.options.durability).and_then(|()| store.dir.sync(store.options.durability));
            synced.context("sync", store.path.join("refs"))?;
            refs.open_dir(b"heads").context("open", store.path.join("refs/heads"))?
        }
        Err(err) => return Err(err).context("open", store.path.join("refs/heads")),
    };
    // Not in place: a temporary beside a ref is a ref to stock git.
    let tmp = session.tmp_name("timeline");
    let write = || -> std::io::Result<()> {
        let mut file = store.own.create_new(&tmp, 0o600)?;
        file.write_all(format!("{tip}\n").as_bytes())?;
        file.sync(store.options.durability)?;
        store.own.rename(&tmp, &heads, b"timeline")?;
        heads.sync(store.options.durability)
    };
    write().context("write", path)
}
