//! The timeline where links of it are missing: found out from what is left of the store.

use std::collections::{BTreeMap, HashSet};

use ckpt_pack::Kind;

use super::{Fault, FaultKind, found};
use crate::checkpoint::Checkpoint;
use crate::commit::Commit;
use crate::snapshot::cached_operation;
use crate::store::Inner;
use crate::{CheckpointId, CheckpointKind, Error, ObjectId, Operation, OperationId, OperationKind, Result, refs};

/// What stands at one place of the timeline.
pub(super) enum Slot {
    /// An operation, and its commit.
    Read(Box<Operation>, Commit),
    /// One that cannot be read; its id where another one names it, and the checkpoint that it made, where that is found.
    Lost { id: Option<OperationId>, checkpoint: Option<Box<Checkpoint>> },
}

impl Slot {
    /// The checkpoint that has its place here: a reset only moves to one.
    fn placed(&self) -> Option<CheckpointId> {
        match self {
            Self::Read(operation, _) => operation.checkpoint.filter(|_| operation.kind == OperationKind::Save),
            Self::Lost { checkpoint, .. } => checkpoint.as_ref().map(|it| it.info.id),
        }
    }
}

/// What the ref says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tip {
    /// The operation that it names can be read, and nothing is known to have come after it.
    Named,
    /// It had to be found out: this operation, unless what comes after it is lost.
    Found(OperationId),
    /// No operation can be read.
    Nowhere,
}

/// The timeline, as far as it can be told.
pub(super) struct Timeline {
    pub(super) tip: Tip,
    /// Oldest first, the number of each its place.
    pub(super) slots: Vec<Slot>,
    /// Checkpoints of the store that have no place on it, oldest first; empty where nothing had to be found out.
    pub(super) beside: Vec<Checkpoint>,
    pub(super) faults: Vec<Fault>,
}

/// Reads what the ref reaches. What is lost of it is found out from all commits of the store.
pub(super) fn read(store: &Inner, known: &HashSet<ObjectId>) -> Result<Timeline> {
    let mut reader = Reader { store, known, all: None, faults: Vec::new() };
    // Before the ref, which others may be moving.
    let cached = cached_operation(store)?;
    let named = match refs::read(&store.dir, &store.path) {
        Ok(named) => named,
        Err(Error::Store { .. }) => None,
        Err(err) => return Err(err),
    };
    let tip = named.map(|id| reader.operation(OperationId(id))).transpose()?.flatten();
    let reason = match (&tip, named) {
        (Some((tip, _)), _) => reader.later_than(tip, cached)?.map(|later| format!("it goes on to operation {later}")),
        (None, Some(id)) => Some(format!("it names {id}, which cannot be read")),
        (None, None) => Some("it names no operation".to_owned()),
    };
    let mut slots = Vec::new();
    let mut next = tip.map(|(tip, _)| (tip.seq, Some(tip.id)));
    if let Some(reason) = reason.as_ref() {
        reader.fault(store.path.join(refs::TIMELINE), named, reason.clone());
        next = match reader.all()?.newest() {
            Some(End::Operation(operation)) => Some((operation.seq, Some(operation.id))),
            Some(End::Checkpoint(checkpoint)) => {
                let seq = checkpoint.info.seq;
                slots.push(Slot::Lost { id: None, checkpoint: Some(Box::new(checkpoint.clone())) });
                seq.checked_sub(1).map(|seq| (seq, None))
            }
            None => None,
        };
    }
    let mut recorded = HashSet::new();
    while let Some((seq, id)) = next {
        let slot = reader.slot(seq, &Trace { id, head: head_below(slots.last()), recorded: &recorded })?;
        next = match &slot {
            Slot::Read(operation, _) => {
                recorded.extend(names(operation));
                operation.parent.and_then(|parent| Some((seq.checked_sub(1)?, Some(parent))))
            }
            Slot::Lost { .. } => seq.checked_sub(1).map(|seq| (seq, None)),
        };
        slots.push(slot);
    }
    slots.reverse();
    let is_whole = reason.is_none() && slots.iter().all(|slot| matches!(slot, Slot::Read(..)));
    let newest = slots.iter().rev().find_map(|slot| match slot {
        Slot::Read(operation, _) => Some(operation.id),
        Slot::Lost { .. } => None,
    });
    let tip = if reason.is_none() { Tip::Named } else { newest.map_or(Tip::Nowhere, Tip::Found) };
    let beside = if is_whole { Vec::new() } else { reader.name_those_beside(&slots) };
    Ok(Timeline { tip, slots, beside, faults: reader.faults })
}

/// What is known of an operation from those after it.
struct Trace<'a> {
    /// Its id, where the next one is there and names it.
    id: Option<OperationId>,
    /// Head after it, where that is known.
    head: Option<Option<CheckpointId>>,
    /// What operations of the timeline name.
    recorded: &'a HashSet<ObjectId>,
}

/// Head before the operation of `slot`, as far as its checkpoint tells where it is lost: that was made after head.
fn head_below(slot: Option<&Slot>) -> Option<Option<CheckpointId>> {
    match slot? {
        Slot::Lost { checkpoint, .. } => checkpoint.as_ref().map(|checkpoint| checkpoint.info.previous),
        Slot::Read(..) => None,
    }
}

/// Ids of the operations and checkpoints that an operation of the timeline names: they are of the timeline too.
fn names(operation: &Operation) -> impl Iterator<Item = ObjectId> {
    let operations = [operation.skip, operation.target, operation.undo_next, operation.redo_next];
    let checkpoints = [operation.checkpoint, operation.head, operation.safety];
    operations.into_iter().flatten().map(|id| id.0).chain(checkpoints.into_iter().flatten().map(|id| id.0))
}

/// Operations and checkpoints of the store, whether the timeline reaches them or not.
///
/// Several may have one number: a command that was killed, or that failed and took back what it did, leaves what it packed
/// and never recorded, a restore two operations one after the other. What took its number later is what was recorded; and so
/// is what others name that were.
struct All {
    operations: BTreeMap<u64, Vec<(Operation, Commit)>>,
    checkpoints: BTreeMap<u64, Vec<Checkpoint>>,
    /// Checkpoints that others say they were made after: these were head.
    previous: HashSet<CheckpointId>,
    /// Checkpoints whose operations can be read.
    told: HashSet<CheckpointId>,
}

/// What nothing comes after.
enum End<'a> {
    Operation(&'a Operation),
    Checkpoint(&'a Checkpoint),
}

/// How much higher than that of the end of the timeline the number of what a command left may be: a restore packs two
/// operations, one after the other, and the first one has the number of what comes next.
const LEFT_OVER: u64 = 1;

impl All {
    fn new(operations: Vec<(Operation, Commit)>, checkpoints: Vec<Checkpoint>) -> Self {
        // A number that so few commits cannot have reached would be a timeline of nothing but losses.
        let limit = 10_000 + 100 * (operations.len() as u64 + checkpoints.len() as u64);
        let saves = operations.iter().filter(|(operation, _)| operation.kind == OperationKind::Save);
        let told = saves.filter_map(|(operation, _)| operation.checkpoint).collect();
        let previous = checkpoints.iter().filter_map(|checkpoint| checkpoint.info.previous).collect();
        let mut all = Self { operations: BTreeMap::new(), checkpoints: BTreeMap::new(), previous, told };
        for operation in operations.into_iter().filter(|(operation, _)| operation.seq <= limit) {
            all.operations.entry(operation.0.seq).or_default().push(operation);
        }
        for checkpoint in checkpoints.into_iter().filter(|checkpoint| checkpoint.info.seq <= limit) {
            all.checkpoints.entry(checkpoint.info.seq).or_default().push(checkpoint);
        }
        all
    }

    /// Checkpoints whose operations are lost.
    fn orphans(&self, seq: u64) -> impl Iterator<Item = &Checkpoint> {
        let found = self.checkpoints.get(&seq).into_iter().flatten();
        found.filter(|checkpoint| !self.told.contains(&checkpoint.info.id))
    }

    /// Whether the operation that this one came after lost its number to a later one: then neither was recorded.
    fn is_left_over(&self, operation: &Operation) -> bool {
        let Some(below) = operation.seq.checked_sub(1) else { return false };
        let found = || self.operations.get(&below).into_iter().flatten().map(|(operation, _)| operation);
        found().find(|it| Some(it.id) == operation.parent).is_some_and(|parent| {
            found().any(|it| it.time_ns > parent.time_ns)
                || self.orphans(below).any(|it| it.info.time_ns > parent.time_ns)
        })
    }

    /// The end of the timeline: of those whose number is as high as that of the highest, but for what a failed command left,
    /// the latest.
    fn newest(&self) -> Option<End<'_>> {
        let operations = || self.operations.values().flatten().map(|(operation, _)| operation);
        let parents: HashSet<OperationId> = operations().filter_map(|operation| operation.parent).collect();
        let of_operations = operations()
            .filter(|operation| !parents.contains(&operation.id) && !self.is_left_over(operation))
            .map(|operation| (operation.seq, operation.time_ns, End::Operation(operation)));
        let of_checkpoints = self
            .checkpoints
            .keys()
            .flat_map(|seq| self.orphans(*seq))
            .filter(|checkpoint| !self.previous.contains(&checkpoint.info.id))
            .map(|checkpoint| (checkpoint.info.seq, checkpoint.info.time_ns, End::Checkpoint(checkpoint)));
        let ends: Vec<_> = of_operations.chain(of_checkpoints).collect();
        let highest = ends.iter().map(|(seq, ..)| *seq).max()?;
        let ends = ends.into_iter().filter(|(seq, ..)| seq + LEFT_OVER >= highest);
        ends.max_by_key(|(seq, time_ns, _)| (*time_ns, *seq)).map(|(.., end)| end)
    }

    /// What stands for number `seq`: whichever of those that fit the trace was recorded.
    fn slot(&self, seq: u64, trace: &Trace<'_>) -> Slot {
        let is_named =
            |checkpoint: CheckpointId| trace.recorded.contains(&checkpoint.0) || self.previous.contains(&checkpoint);
        let makes_head = |checkpoint: &Checkpoint| {
            checkpoint.info.kind != CheckpointKind::Manual
                || trace.head.is_none_or(|head| head == Some(checkpoint.info.id))
        };
        let checkpoint = self
            .orphans(seq)
            .filter(|checkpoint| makes_head(checkpoint))
            .max_by_key(|it| (is_named(it.info.id), it.info.time_ns));
        // Whatever operation can be read at this number is another one than that whose id is known.
        let operations = self.operations.get(&seq).into_iter().flatten().filter(|_| trace.id.is_none());
        let operations = operations.filter(|(operation, _)| {
            !self.is_left_over(operation) && trace.head.is_none_or(|head| head == operation.head)
        });
        let key = |operation: &Operation| {
            let saved = operation.checkpoint.filter(|_| operation.kind == OperationKind::Save);
            (trace.recorded.contains(&operation.id.0) || saved.is_some_and(is_named), operation.time_ns)
        };
        let operation = operations.max_by_key(|(operation, _)| key(operation));
        match (operation, checkpoint) {
            (Some((operation, commit)), checkpoint)
                if checkpoint.is_none_or(|it| (is_named(it.info.id), it.info.time_ns) <= key(operation)) =>
            {
                Slot::Read(Box::new(operation.clone()), commit.clone())
            }
            (_, checkpoint) => Slot::Lost { id: trace.id, checkpoint: checkpoint.cloned().map(Box::new) },
        }
    }

    /// Number of the last of the operations that come after `tip` one by one, if these are more than what one command may
    /// have left: a save, or a restore with the save before it.
    fn beyond(&self, tip: &Operation) -> Option<u64> {
        let (mut seq, mut ids) = (tip.seq, HashSet::from([tip.id]));
        let mut is_save = false;
        loop {
            let next = self.operations.get(&(seq + 1)).into_iter().flatten().map(|(operation, _)| operation);
            let next: Vec<&Operation> =
                next.filter(|operation| operation.parent.is_some_and(|parent| ids.contains(&parent))).collect();
            if next.is_empty() {
                break;
            }
            is_save = next.iter().any(|operation| operation.kind == OperationKind::Save);
            ids = next.iter().map(|operation| operation.id).collect();
            seq += 1;
        }
        let steps = seq - tip.seq;
        (steps > LEFT_OVER + 1 || steps == LEFT_OVER + 1 && is_save).then_some(seq)
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

    /// Number of an operation after `tip`, where one is known to have been recorded: the ref may be an old one, from
    /// `packed-refs`. The stat cache knows, which names nothing else; without it all are looked at.
    fn later_than(&mut self, tip: &Operation, cached: Option<(OperationId, u64)>) -> Result<Option<u64>> {
        match cached {
            Some((id, seq)) if seq > tip.seq => Ok(self.operation(id)?.map(|_| seq)),
            Some(_) => Ok(None),
            None => Ok(self.all()?.beyond(tip)),
        }
    }

    /// What stands for number `seq`.
    fn slot(&mut self, seq: u64, trace: &Trace<'_>) -> Result<Slot> {
        if let Some(id) = trace.id
            && let Some((operation, commit)) = self.operation(id)?.filter(|(operation, _)| operation.seq == seq)
        {
            return Ok(Slot::Read(Box::new(operation), commit));
        }
        let slot = self.all()?.slot(seq, trace);
        if let Slot::Lost { id, .. } = &slot {
            let reason = format!("operation {seq} of it cannot be read");
            self.fault(self.store.path.join(refs::TIMELINE), id.map(|id| id.0), reason);
        }
        Ok(slot)
    }

    /// Every operation and checkpoint in the store. Reads the header of each object, so it is asked only when needed.
    fn all(&mut self) -> Result<&All> {
        let all = match self.all.take() {
            Some(all) => all,
            None => self.find_all()?,
        };
        Ok(self.all.insert(all))
    }

    fn find_all(&self) -> Result<All> {
        let (mut operations, mut checkpoints) = (Vec::new(), Vec::new());
        let loose = self.store.objects.loose()?;
        for id in self.known.iter().chain(loose.iter().filter(|id| !self.known.contains(id))) {
            if found(self.store.objects.is_kind(*id, Kind::Commit))?.flatten() != Some(true) {
                continue;
            }
            if let Some(operation) = self.operation(OperationId(*id))? {
                operations.push(operation);
            } else if let Some(Some(checkpoint)) = found(Checkpoint::read(&self.store.objects, *id, self.store.id))? {
                checkpoints.push(checkpoint);
            }
        }
        // In an order that does not change from run to run.
        operations.sort_by_key(|(operation, _)| operation.id);
        checkpoints.sort_by_key(|checkpoint| checkpoint.info.id);
        Ok(All::new(operations, checkpoints))
    }

    /// Names the checkpoints that have no place in `slots`, where all were looked at: nothing goes silently.
    fn name_those_beside(&mut self, slots: &[Slot]) -> Vec<Checkpoint> {
        let Some(all) = &self.all else { return Vec::new() };
        let placed: HashSet<CheckpointId> = slots.iter().filter_map(Slot::placed).collect();
        let beside = all.checkpoints.values().flatten().filter(|it| !placed.contains(&it.info.id));
        let beside: Vec<Checkpoint> = beside.cloned().collect();
        self.faults.extend(beside.iter().map(|checkpoint| {
            Fault {
                kind: FaultKind::BesideTimeline,
                file: None,
                object: Some(checkpoint.info.id.0),
                reason: "a checkpoint without a place on it: of a command that did not end, or lost with its operation"
                    .to_owned(),
                mended: None,
            }
        }));
        beside
    }
}
