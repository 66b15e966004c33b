//! The timeline where links of it are missing: found out from what is left of the store.

use std::collections::HashSet;

use ckpt_pack::Kind;

use super::recorded::{All, End, Trace, Witness, names};
use super::{Fault, FaultKind, found};
use crate::checkpoint::Checkpoint;
use crate::commit::Commit;
use crate::store::Inner;
use crate::{CheckpointId, Error, ObjectId, Operation, OperationId, OperationKind, Result, refs};

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
    /// Operations that were its end and can be read nowhere, where nothing stands in their place.
    pub(super) lost: Vec<OperationId>,
    pub(super) faults: Vec<Fault>,
}

/// What shows that the timeline of the ref is not all that was recorded.
#[derive(Clone, Copy)]
pub(super) enum More {
    /// An operation with this number, which is higher than any on it.
    Later(u64),
    /// A checkpoint that has no place on it: saves went on from an old value of the ref.
    Beside,
}

/// Reads what the ref reaches. What is lost of it is found out from all commits of the store; so is what there is `more`.
pub(super) fn read(store: &Inner, known: &HashSet<ObjectId>, more: Option<More>) -> Result<Timeline> {
    // Before the ref, which others may be moving.
    let witness = Witness::of(store)?;
    let named = match refs::read(&store.dir, &store.path) {
        Ok(named) => named,
        Err(Error::Store { .. }) => None,
        Err(err) => return Err(err),
    };
    let mut reader = Reader { store, known, limit: limit(known), witness, all: None, faults: Vec::new() };
    let tip = named.map(|id| reader.operation(OperationId(id))).transpose()?.flatten();
    let reason = match (&tip, named) {
        (Some((tip, _)), _) => {
            let later = match more {
                Some(More::Later(later)) => Some(later),
                _ => reader.recorded_after(tip)?,
            };
            later.map(|later| format!("it goes on to operation {later}"))
        }
        (None, Some(id)) => Some(format!("it names {id}, which cannot be read")),
        (None, None) => Some("it names no operation".to_owned()),
    };
    let mut slots = Vec::new();
    let unread = named.filter(|_| tip.is_none()).map(OperationId);
    let mut next = tip.map(|(tip, _)| (tip.seq, Some(tip.id)));
    if let Some(reason) = reason.as_ref() {
        reader.fault(store.path.join(refs::TIMELINE), named, reason.clone());
        let journal_tip = reader.witness.journal.as_ref().map(|journal| journal.tip);
        let cached = reader.witness.cached;
        next = match reader.all()?.newest() {
            Some(End::Operation(operation)) => Some((operation.seq, Some(operation.id))),
            Some(End::Checkpoint(checkpoint)) => {
                let seq = checkpoint.info.seq;
                let cached = cached.filter(|(_, cached)| *cached == seq).map(|(id, _)| id);
                let id = unread.or(cached).or(journal_tip);
                slots.push(Slot::Lost { id, checkpoint: Some(Box::new(checkpoint.clone())) });
                seq.checked_sub(1).map(|seq| (seq, None))
            }
            // All is lost. Saves shall go on, from the beginning.
            None => {
                slots.push(Slot::Lost { id: None, checkpoint: None });
                None
            }
        };
    }
    let mut recorded = HashSet::new();
    while let Some((seq, id)) = next {
        let slot = reader.slot(seq, &Trace { id, head: head_below(slots.last()), recorded: &recorded }, &slots)?;
        next = match &slot {
            Slot::Read(operation, _) => {
                recorded.extend(names(operation));
                operation.parent.and_then(|parent| Some((seq.checked_sub(1)?, Some(parent))))
            }
            Slot::Lost { .. } => seq.checked_sub(1).map(|seq| (seq, None)),
        };
        slots.push(slot);
    }
    // The last slot has the highest number.
    let end = slots.first().and_then(|slot| match slot {
        Slot::Read(operation, _) => Some(operation.seq),
        Slot::Lost { checkpoint, .. } => checkpoint.as_ref().map(|it| it.info.seq),
    });
    let cached = reader.witness.cached.filter(|(_, seq)| end.is_none_or(|end| *seq > end)).map(|(id, _)| id);
    let stands = |wanted: &OperationId| {
        slots.iter().any(|slot| match slot {
            Slot::Read(operation, _) => operation.id == *wanted,
            Slot::Lost { id, .. } => *id == Some(*wanted),
        })
    };
    let mut lost = Vec::new();
    for id in unread.into_iter().chain(cached) {
        if !lost.contains(&id) && !stands(&id) && found(store.objects.read(id.0))?.is_none() {
            lost.push(id);
        }
    }
    slots.reverse();
    let is_whole = reason.is_none() && slots.iter().all(|slot| matches!(slot, Slot::Read(..)));
    let newest = slots.iter().rev().find_map(|slot| match slot {
        Slot::Read(operation, _) => Some(operation.id),
        Slot::Lost { .. } => None,
    });
    let tip = if reason.is_none() { Tip::Named } else { newest.map_or(Tip::Nowhere, Tip::Found) };
    if more.is_some() {
        reader.all()?;
    }
    let beside = if is_whole && more.is_none() { Vec::new() } else { reader.name_those_beside(&slots) };
    Ok(Timeline { tip, slots, beside, lost, faults: reader.faults })
}

/// What one of `unreached` shows to have been recorded besides the timeline that ends with `tip`, which the ref names: the ref
/// may be an old one, and what was recorded since may be lost itself.
pub(super) fn more_than(
    store: &Inner,
    tip: &Operation,
    known: &HashSet<ObjectId>,
    unreached: &HashSet<ObjectId>,
) -> Result<Option<More>> {
    let (limit, witness) = (limit(known), Witness::default());
    let reader = Reader { store, known: unreached, limit, witness, all: None, faults: Vec::new() };
    let all = reader.find_all()?;
    if let Some(last) = all.last.filter(|last| *last > tip.seq) {
        return Ok(Some(More::Later(last)));
    }
    let has_no_place = |it: &Checkpoint| unreached.contains(&it.info.id.0) && all.was_recorded(it);
    Ok(all.checkpoints.values().flatten().any(has_no_place).then_some(More::Beside))
}

/// Head before the operation of `slot`, as far as its checkpoint tells where it is lost: that was made after head.
fn head_below(slot: Option<&Slot>) -> Option<Option<CheckpointId>> {
    match slot? {
        Slot::Lost { checkpoint, .. } => {
            // What a repair put on it again was made long before.
            checkpoint
                .as_ref()
                .filter(|checkpoint| checkpoint.again.is_none())
                .map(|checkpoint| checkpoint.info.previous)
        }
        Slot::Read(..) => None,
    }
}

/// A number that so few objects cannot have reached would be a timeline of nothing but losses.
fn limit(known: &HashSet<ObjectId>) -> u64 {
    10_000 + 100 * known.len() as u64
}

struct Reader<'a> {
    store: &'a Inner,
    known: &'a HashSet<ObjectId>,
    /// Higher numbers are not believed.
    limit: u64,
    witness: Witness,
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
            .filter(|(operation, _)| operation.store == self.store.id && operation.seq <= self.limit))
    }

    /// Number of an operation after `tip` that is known to have been recorded, whether it can be read or not: the ref may be an
    /// old one, from `packed-refs`.
    fn recorded_after(&self, tip: &Operation) -> Result<Option<u64>> {
        let begun = self.witness.journal.as_ref().map(|journal| self.operation(journal.tip)).transpose()?.flatten();
        let cached = self.witness.cached.map(|(_, seq)| seq);
        Ok(cached.max(begun.map(|(begun, _)| begun.seq)).filter(|seq| *seq > tip.seq))
    }

    /// What stands for number `seq`.
    fn slot(&mut self, seq: u64, trace: &Trace<'_>, above: &[Slot]) -> Result<Slot> {
        if let Some(id) = trace.id
            && let Some((operation, commit)) = self.operation(id)?.filter(|(operation, _)| operation.seq == seq)
        {
            // It stands where a checkpoint was lost, which may have been found since: a pack was brought back.
            let again = match operation.kind {
                OperationKind::Repair => {
                    let placed = above.iter().filter_map(Slot::placed).collect();
                    self.all()?.found_again(seq, trace, &placed)
                }
                _ => None,
            };
            let Some(checkpoint) = again else { return Ok(Slot::Read(Box::new(operation), commit)) };
            let reason = format!("checkpoint {}, which it goes on without, can be read", checkpoint.info.id.short());
            let checkpoint = Some(Box::new(checkpoint));
            self.fault(self.store.path.join(refs::TIMELINE), Some(id.0), reason);
            return Ok(Slot::Lost { id: Some(id), checkpoint });
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
            } else if let Some(Some(checkpoint)) = found(Checkpoint::read(&self.store.objects, *id, self.store.id))?
                && checkpoint.info.seq <= self.limit
            {
                checkpoints.push(checkpoint);
            }
        }
        // In an order that does not change from run to run.
        operations.sort_by_key(|(operation, _)| operation.id);
        checkpoints.sort_by_key(|checkpoint| checkpoint.info.id);
        Ok(All::new(operations, checkpoints, &self.witness))
    }

    /// Names the checkpoints that have no place in `slots`, where all were looked at: nothing goes silently.
    fn name_those_beside(&mut self, slots: &[Slot]) -> Vec<Checkpoint> {
        let Some(all) = &self.all else { return Vec::new() };
        let placed: HashSet<CheckpointId> = slots.iter().filter_map(Slot::placed).collect();
        let found = || all.checkpoints.values().flatten();
        let beside = found().filter(|it| !placed.contains(&it.info.id) && !all.stands_again(it, &placed));
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
