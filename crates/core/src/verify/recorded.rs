//! What was recorded, as far as all commits of a store and the files beside them tell.
//!
//! The choice of what stands at a number of the timeline whose operation is lost, and of its end where the ref is.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::timeline::Slot;
use crate::checkout::journal::{self, Journal};
use crate::checkpoint::Checkpoint;
use crate::commit::Commit;
use crate::snapshot::cached_operation;
use crate::store::Inner;
use crate::{CheckpointId, CheckpointKind, ObjectId, Operation, OperationId, OperationKind, Result};

/// What files beside the objects know of the timeline: nothing that was not recorded.
#[derive(Default)]
pub(super) struct Witness {
    /// The operation for which the stat cache was written, and its number.
    pub(super) cached: Option<(OperationId, u64)>,
    /// A restore that was begun.
    pub(super) journal: Option<Journal>,
}

impl Witness {
    pub(super) fn of(store: &Inner) -> Result<Self> {
        let cached = cached_operation(store)?;
        let journal = match journal::read(store)? {
            journal::Found::Journal(journal) => Some(journal),
            journal::Found::None | journal::Found::Damaged => None,
        };
        Ok(Self { cached, journal })
    }
}

/// What is known of an operation from those after it.
pub(super) struct Trace<'a> {
    /// Its id, where the next one is there and names it.
    pub(super) id: Option<OperationId>,
    /// Head after it, where that is known.
    pub(super) head: Option<Option<CheckpointId>>,
    /// What operations of the timeline that come after it name.
    pub(super) recorded: &'a HashSet<ObjectId>,
}

/// Ids of the operations and checkpoints that an operation of the timeline names: they are of the timeline too.
pub(super) fn names(operation: &Operation) -> impl Iterator<Item = ObjectId> {
    let operations = [operation.skip, operation.target, operation.undo_next, operation.redo_next];
    let checkpoints = [operation.checkpoint, operation.head, operation.safety];
    operations.into_iter().flatten().map(|id| id.0).chain(checkpoints.into_iter().flatten().map(|id| id.0))
}

/// Operations and checkpoints of the store, whether the timeline reaches them or not.
///
/// Several may have one number: a command that was killed, or that failed and took back what it did, leaves what it packed
/// and never recorded, a restore two operations one after the other. What is known to have been recorded goes before them.
/// Where nothing is known, what took the number later does; clocks may lie, so that this decides last.
pub(super) struct All {
    operations: BTreeMap<u64, Vec<(Operation, Commit)>>,
    pub(super) checkpoints: BTreeMap<u64, Vec<Checkpoint>>,
    /// Checkpoints whose operations can be read.
    told: HashSet<CheckpointId>,
    /// Operations and checkpoints that were recorded, whether they can be read or not.
    recorded: HashSet<ObjectId>,
    /// The highest number of an operation that was recorded.
    pub(super) last: Option<u64>,
    /// How many operations are there from this one on down to where one is lost: after a repair the old ones and those in their
    /// place are alike but for that.
    unbroken: HashMap<OperationId, u64>,
    /// The tip when a restore began that did not end, and the operation that was to record it.
    restore: Option<(OperationId, OperationId)>,
}

/// What nothing comes after.
pub(super) enum End<'a> {
    Operation(&'a Operation),
    Checkpoint(&'a Checkpoint),
}

/// How much higher than that of the end of the timeline the number of what a command left may be: a restore packs two
/// operations, one after the other, and the first one has the number of what comes next.
const LEFT_OVER: u64 = 1;

impl All {
    pub(super) fn new(operations: Vec<(Operation, Commit)>, checkpoints: Vec<Checkpoint>, witness: &Witness) -> Self {
        let saves = operations.iter().filter(|(operation, _)| operation.kind == OperationKind::Save);
        let told = saves.filter_map(|(operation, _)| operation.checkpoint).collect();
        let mut all = Self {
            operations: BTreeMap::new(),
            checkpoints: BTreeMap::new(),
            told,
            recorded: HashSet::new(),
            unbroken: HashMap::new(),
            last: witness.cached.map(|(_, seq)| seq),
            restore: witness.journal.as_ref().map(|journal| (journal.tip, journal.operation)),
        };
        for operation in operations {
            all.operations.entry(operation.0.seq).or_default().push(operation);
        }
        for checkpoint in checkpoints {
            all.checkpoints.entry(checkpoint.info.seq).or_default().push(checkpoint);
        }
        for (operation, _) in all.operations.values().flatten() {
            let below = operation.parent.and_then(|parent| all.unbroken.get(&parent));
            let count = below.map_or(1, |below| below + 1);
            all.unbroken.insert(operation.id, count);
        }
        let cached = witness.cached.map(|(id, _)| id.0);
        let journal = witness.journal.iter().flat_map(|journal| [journal.tip.0, journal.safety.0]);
        all.prove(cached.into_iter().chain(journal).collect());
        all
    }

    /// Finds out what was recorded: what is `known` to be, what a command came after, which reads the timeline before it packs
    /// anything, and all that these name.
    fn prove(&mut self, mut known: Vec<ObjectId>) {
        let operations = || self.operations.values().flatten().map(|(operation, _)| operation);
        let by_id: HashMap<ObjectId, &Operation> = operations().map(|operation| (operation.id.0, operation)).collect();
        let checkpoints = || self.checkpoints.values().flatten();
        let by_checkpoint: HashMap<ObjectId, &Checkpoint> = checkpoints().map(|it| (it.info.id.0, it)).collect();
        let is_auto_save = |operation: &Operation| {
            operation.kind == OperationKind::Save && operation.checkpoint_kind == Some(CheckpointKind::Auto)
        };
        let mut last = self.last;
        for operation in operations() {
            let (Some(parent), Some(below)) = (operation.parent, operation.seq.checked_sub(1)) else { continue };
            // A restore comes after the operation of its own safety checkpoint, and one that is finished after another
            // interruption packs two of these; both may never have been recorded.
            let is_own = match (by_id.get(&parent.0), operation.kind) {
                (Some(parent), OperationKind::Save) => is_auto_save(operation) && is_auto_save(parent),
                (Some(parent), _) => is_auto_save(parent),
                (None, OperationKind::Save) => false,
                (None, _) => operation
                    .safety
                    .and_then(|id| by_checkpoint.get(&id.0))
                    .is_some_and(|it| it.info.kind == CheckpointKind::Auto && it.info.seq == below),
            };
            if !is_own {
                known.push(parent.0);
                last = last.max(Some(below));
            }
        }
        for checkpoint in checkpoints() {
            // It was head.
            known.extend(checkpoint.info.previous.map(|id| id.0));
            if checkpoint.info.kind == CheckpointKind::Manual {
                last = last.max(checkpoint.info.seq.checked_sub(1));
            }
        }
        let mut recorded = HashSet::new();
        while let Some(id) = known.pop() {
            if !recorded.insert(id) {
                continue;
            }
            if let Some(operation) = by_id.get(&id) {
                known.extend(operation.parent.map(|parent| parent.0));
                known.extend(names(operation));
                last = last.max(Some(operation.seq));
            }
        }
        last = last.max(recorded.iter().filter_map(|id| by_checkpoint.get(id).map(|it| it.info.seq)).max());
        (self.recorded, self.last) = (recorded, last);
    }

    /// Operations with the number `seq`.
    fn at(&self, seq: u64) -> impl Iterator<Item = &(Operation, Commit)> {
        self.operations.get(&seq).into_iter().flatten()
    }

    /// Checkpoints with the number `seq` whose operations are lost; those that were recorded too where an operation of another
    /// timeline names them, before a repair.
    fn orphans(&self, seq: u64) -> impl Iterator<Item = &Checkpoint> {
        let found = self.checkpoints.get(&seq).into_iter().flatten();
        found.filter(|checkpoint| !self.told.contains(&checkpoint.info.id))
    }

    /// Whether the operation was never recorded, since another one has its number, or that of the one that it came after.
    fn is_left_over(&self, operation: &Operation) -> bool {
        let is_recorded = |operation: &Operation| self.recorded.contains(&operation.id.0);
        if is_recorded(operation) {
            return false;
        }
        if self.at(operation.seq).any(|(it, _)| is_recorded(it)) {
            return true;
        }
        let (Some(below), Some(parent)) = (operation.seq.checked_sub(1), operation.parent) else { return false };
        if self.recorded.contains(&parent.0) {
            return false;
        }
        if self.at(below).any(|(it, _)| is_recorded(it)) {
            return true;
        }
        let parent = self.at(below).map(|(it, _)| it).find(|it| it.id == parent);
        parent.is_some_and(|parent| {
            self.at(below).any(|(it, _)| it.time_ns > parent.time_ns)
                || self.orphans(below).any(|it| it.info.time_ns > parent.time_ns)
        })
    }

    /// The end of the timeline: of those whose number is as high as that of the highest, but for what a failed command left,
    /// the latest. A restore that did not end is finished, or put aside, by its journal.
    pub(super) fn newest(&self) -> Option<End<'_>> {
        let operations = || self.operations.values().flatten().map(|(operation, _)| operation);
        let pending = self.restore.map(|(_, operation)| operation);
        let begun = self.restore.and_then(|(tip, _)| operations().find(|operation| operation.id == tip));
        if let Some(begun) = begun.filter(|begun| self.last.is_none_or(|last| last <= begun.seq)) {
            return Some(End::Operation(begun));
        }
        let parents: HashSet<OperationId> =
            operations().filter(|it| Some(it.id) != pending).filter_map(|operation| operation.parent).collect();
        let of_operations = operations()
            .filter(|it| !parents.contains(&it.id) && Some(it.id) != pending && !self.is_left_over(it))
            .map(|it| (it.seq, (it.time_ns, it.seq, self.unbroken.get(&it.id)), End::Operation(it)));
        let is_placed = |seq| self.at(seq).any(|(operation, _)| self.recorded.contains(&operation.id.0));
        let previous: HashSet<CheckpointId> =
            self.checkpoints.values().flatten().filter_map(|checkpoint| checkpoint.info.previous).collect();
        let of_checkpoints = self
            .checkpoints
            .keys()
            .filter(|seq| **seq > 0 && !is_placed(**seq))
            .flat_map(|seq| self.orphans(*seq))
            .filter(|checkpoint| !previous.contains(&checkpoint.info.id))
            .map(|it| (it.info.seq, (it.info.time_ns, it.info.seq, None), End::Checkpoint(it)));
        let ends: Vec<_> = of_operations.chain(of_checkpoints).collect();
        let highest = ends.iter().map(|(seq, ..)| *seq).max()?;
        let ends = ends.into_iter().filter(|(seq, ..)| seq + LEFT_OVER >= highest);
        ends.max_by_key(|(_, key, _)| *key).map(|(.., end)| end)
    }

    /// Whether the checkpoint was recorded.
    pub(super) fn was_recorded(&self, checkpoint: &Checkpoint) -> bool {
        self.recorded.contains(&checkpoint.info.id.0)
    }

    /// Whether one of the checkpoints `placed` on the timeline is a copy of this one, or this is a copy of one that is there:
    /// a repair that was killed leaves copies too.
    pub(super) fn stands_again(&self, checkpoint: &Checkpoint, placed: &HashSet<CheckpointId>) -> bool {
        let original = checkpoint.again.unwrap_or(checkpoint.info.id);
        let mut found = self.checkpoints.values().flatten();
        let is_copy = |it: &Checkpoint| placed.contains(&it.info.id) && it.again == Some(original);
        let is_original = |it: &Checkpoint| checkpoint.again == Some(it.info.id);
        found.any(|it| is_copy(it) || is_original(it))
    }

    /// A checkpoint that was recorded as number `seq`, and that none of those `placed` after it is a copy of.
    pub(super) fn found_again(
        &self,
        seq: u64,
        trace: &Trace<'_>,
        placed: &HashSet<CheckpointId>,
    ) -> Option<Checkpoint> {
        let found = self.checkpoints.get(&seq).into_iter().flatten();
        let was_recorded = |it: &&Checkpoint| {
            let id = it.info.id.0;
            trace.recorded.contains(&id) || self.recorded.contains(&id)
        };
        let found = found.filter(|it| was_recorded(it) && !self.stands_again(it, placed));
        found.max_by_key(|it| it.info.time_ns).cloned()
    }

    /// What stands for number `seq`: whichever of those that fit the trace was recorded.
    pub(super) fn slot(&self, seq: u64, trace: &Trace<'_>) -> Slot {
        let was_recorded = |id: ObjectId| trace.recorded.contains(&id) || self.recorded.contains(&id);
        let makes_head = |checkpoint: &Checkpoint| {
            checkpoint.info.kind != CheckpointKind::Manual
                || trace.head.is_none_or(|head| head == Some(checkpoint.info.id))
        };
        // One that an operation names which can be read comes last: that was never recorded, or is of the timeline before a
        // repair, and its checkpoint keeps its id here.
        let key_of = |it: &Checkpoint| {
            let is_told = self.told.contains(&it.info.id);
            (was_recorded(it.info.id.0), !is_told, it.info.time_ns)
        };
        let found = self.checkpoints.get(&seq).into_iter().flatten();
        // The first operation makes the store, and no checkpoint.
        let checkpoint = found.filter(|it| seq > 0 && makes_head(it)).max_by_key(|it| key_of(it));
        // Whatever operation can be read at this number is another one than that whose id is known.
        let operations = self.at(seq).filter(|_| trace.id.is_none());
        let operations = operations.filter(|(operation, _)| {
            !self.is_left_over(operation) && trace.head.is_none_or(|head| head == operation.head)
        });
        let key = |operation: &Operation| {
            let saved = operation.checkpoint.filter(|_| operation.kind == OperationKind::Save);
            let is_known = was_recorded(operation.id.0) || saved.is_some_and(|saved| was_recorded(saved.0));
            (is_known, true, operation.time_ns)
        };
        let operation = operations.max_by_key(|(it, _)| (key(it), self.unbroken.get(&it.id)));
        match (operation, checkpoint) {
            (Some((operation, commit)), checkpoint) if checkpoint.is_none_or(|it| key_of(it) <= key(operation)) => {
                Slot::Read(Box::new(operation.clone()), commit.clone())
            }
            (_, checkpoint) => Slot::Lost { id: trace.id, checkpoint: checkpoint.cloned().map(Box::new) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoreId;

    fn id(byte: u8) -> ObjectId {
        ObjectId::from_bytes([byte; 20])
    }

    /// A save by a caller of the checkpoint with the same id as the operation, but for its first byte.
    fn save(byte: u8, seq: u64, parent: u8, time_ns: i64) -> (Operation, Commit) {
        let mut checkpoint = [byte; 20];
        checkpoint[0] = 0xff;
        let checkpoint = ObjectId::from_bytes(checkpoint);
        let header = |name: &str, value: String| (name.to_owned(), value.into_bytes());
        let commit = Commit {
            tree: ObjectId::EMPTY_TREE,
            parents: vec![id(parent), checkpoint],
            seconds: 0,
            headers: vec![
                header("ckpt-operation", "save".to_owned()),
                header("ckpt-seq", seq.to_string()),
                header("ckpt-time", time_ns.to_string()),
                header("ckpt-store", StoreId::parse(&"0".repeat(32)).unwrap().to_string()),
                header("ckpt-head", checkpoint.to_string()),
            ],
            message: Vec::new(),
        };
        (Operation::from_commit(id(byte), &commit).unwrap(), commit)
    }

    fn end(operations: &[(Operation, Commit)], witness: &Witness) -> Option<OperationId> {
        match All::new(operations.to_vec(), Vec::new(), witness).newest()? {
            End::Operation(operation) => Some(operation.id),
            End::Checkpoint(_) => None,
        }
    }

    /// A save was killed; then the clock was set back, and saves went on.
    #[test]
    fn a_clock_that_was_set_back_decides_nothing_that_is_known() {
        let ghost = save(9, 2, 1, 1000);
        let mut operations = vec![save(1, 1, 0, 100), ghost, save(2, 2, 1, 10)];
        let cached = Witness { cached: Some((OperationId(id(2)), 2)), journal: None };
        assert_eq!(end(&operations, &cached), Some(OperationId(id(2))), "the stat cache knows what was recorded");
        assert_eq!(end(&operations, &Witness::default()), Some(OperationId(id(9))), "nothing is known");
        operations.push(save(3, 3, 2, 20));
        assert_eq!(end(&operations, &Witness::default()), Some(OperationId(id(3))), "a save came after it");
    }

    #[test]
    fn what_came_after_proves_what_was_before_it_though_it_is_lost() {
        let operations = [save(1, 1, 0, 100), save(5, 5, 4, 500)];
        let all = All::new(operations.to_vec(), Vec::new(), &Witness::default());
        assert_eq!(all.last, Some(4));
        assert!(all.recorded.contains(&id(4)) && !all.recorded.contains(&id(5)));
    }
}
