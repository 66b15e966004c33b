//! Interrupted restores: finished by the next command that may touch the worktree, or taken back by the one that was
//! interrupted.
//!
//! The states before and after stand in the store, so each path is compared with both: as after, it is done; as before,
//! it is written; neither, somebody else was there, and it is kept. After another boot a path that is neither may be
//! what a power cut left of our own writing; it is held by a new safety checkpoint and then written.

use std::collections::BTreeSet;
use std::sync::Arc;

use ckpt_fs::{Dir, Lock};

use super::apply::{Apply, absolute};
use super::facts_commit;
use super::interrupted::{is_in_place, is_pending, is_recorded, require_not_older};
use super::journal::{self, Found, Journal};
use super::present::{Captured, capture};
use super::step::{OnDisk, Step, look};
use super::sweep::sweep_temporaries;
use crate::checkpoint::Checkpoint;
use crate::differences::{count, visible};
use crate::error::Context;
use crate::path::split;
use crate::record::{NewState, put_checkpoint, put_operation, put_save};
use crate::session::{Session, locks_dir, open_worktree};
use crate::snapshot::{StoreIngest, head_rules};
use crate::state::{self, Entry, Node};
use crate::store::Inner;
use crate::timeline::NewOperation;
use crate::{
    CheckpointId, CheckpointKind, EntryKind, Error, Event, Notice, ObjectFault, Operation, Recovery, RepoPath, Result,
    WorkspaceFault,
};

/// Finishes an interrupted restore before the worktree is read. One that is running is left alone.
pub(crate) fn finish_first(store: &Inner) -> Result<(Option<Recovery>, Option<Notice>)> {
    if !is_pending(store)? {
        return Ok((None, None));
    }
    let locks = locks_dir(&store.layout)?;
    let name = store.layout.lock_name();
    if Lock::is_held(&locks, name.as_bytes()).context("look at", store.layout.checkpoint_dir.join(&name))? {
        return Ok((None, Some(Notice::InterruptedRestore)));
    }
    let session = Session::begin(store)?;
    Ok((finish(&session)?, None))
}

/// Finishes an interrupted restore; `None` when there is none.
pub(crate) fn finish(session: &Session<'_>) -> Result<Option<Recovery>> {
    let store = session.store;
    let journal = match journal::read(store)? {
        Found::None => return Ok(None),
        Found::Journal(journal) => journal,
        // Written atomically: it was damaged later. What it stood for cannot be known; the next save sees the worktree.
        Found::Damaged => {
            journal::clear(session)?;
            return Ok(None);
        }
    };
    let tip = store.tip()?;
    require_not_older(store, &journal, &tip)?;
    if is_recorded(store, &journal, &tip)? {
        // The crash came after the timeline had moved and before the journal was removed.
        journal::clear(session)?;
        return Ok(None);
    }
    let operation = Operation::read(&store.objects, journal.operation)?;
    let to = operation
        .checkpoint
        .ok_or_else(|| Error::object(journal.operation.0, ObjectFault::Damaged("it is no restore".to_owned())))?;
    let to = Checkpoint::require(&store.objects, to, store.id)?;
    if !is_in_place(session, &journal, &operation)? {
        store.options.observer.event(Event::Dropped { safety: journal.safety });
        journal::clear(session)?;
        return Ok(None);
    }
    let root = open_worktree(store.worktree.path())?;
    let interrupted = Interrupted { session, journal, tip, operation, to, root };
    let recovery = interrupted.finish().map_err(|err| half_restored(store, err))?;
    store.options.observer.event(Event::Recovered(&recovery));
    Ok(Some(recovery))
}

/// An error of the disk that leaves a restore half done says so.
pub(super) fn half_restored(store: &Inner, err: Error) -> Error {
    match err {
        Error::Io { action, path, source } => {
            let reason = format!("cannot {action} {}: {source}", path.display());
            Error::workspace(store.worktree.path(), WorkspaceFault::HalfRestored(reason))
        }
        other => other,
    }
}

/// A restore that was begun and not ended.
struct Interrupted<'a> {
    session: &'a Session<'a>,
    journal: Journal,
    tip: Operation,
    operation: Operation,
    to: Checkpoint,
    root: Dir,
}

/// Where each path of an interrupted restore stands.
#[derive(Default)]
struct Sorted {
    done: Vec<Step>,
    to_do: Vec<Step>,
    /// Neither as before nor as after.
    other: Vec<Step>,
}

impl Interrupted<'_> {
    fn finish(self) -> Result<Recovery> {
        let (session, store) = (self.session, self.session.store);
        let objects = &store.objects;
        let safety_of = Checkpoint::require(objects, self.journal.safety, store.id)?;
        let before = safety_of.state(objects)?;
        let after = self.operation.state(objects)?;
        let steps = steps_between(store, &before, &after)?;
        let swept = sweep_temporaries(store, &self.root, &self.journal, &steps)?;
        let mut kept = swept.kept;
        let mut sorted = self.sort(&steps)?;
        let mut result = after.clone();
        let (tip, safety) = self.settle_others(&before, &mut sorted, &swept.strange, &mut result, &mut kept)?;
        let applied = Apply::new(store, &self.root, &self.journal.token, false).run(&sorted.to_do)?;
        for (number, _) in &applied.conflicts {
            let Some(step) = sorted.to_do.iter().find(|step| step.number == *number) else { continue };
            kept.insert(RepoPath::trusted(step.path.clone()));
            // It was not done: its path is as before.
            put_side(store, &mut result, &step.path, step.from)?;
        }
        for beside in applied.kept_beside.iter().cloned() {
            kept.insert(beside);
        }
        tighten(store, &self.root, &steps, &after, safety_of.root_mode)?;
        self.root.sync_file_system(store.options.durability).context("sync", store.worktree.path())?;
        // After an earlier attempt the timeline has safety checkpoints that the prepared operation does not know.
        let follows = self.operation.parent == Some(tip.id);
        let operation = if !follows || !applied.conflicts.is_empty() || !kept.is_empty() {
            self.record_anew(&result, &tip, safety)?
        } else {
            self.operation.clone()
        };
        session.move_timeline(tip.id, operation.id)?;
        journal::clear(session)?;
        let is_finished = |step: &&Step| !applied.conflicts.iter().any(|(number, _)| *number == step.number);
        Ok(Recovery {
            kind: operation.kind,
            operation: operation.id,
            to: self.to.info.id,
            safety: operation.safety,
            finished: sorted
                .to_do
                .iter()
                .filter(is_finished)
                .map(|step| RepoPath::trusted(step.path.clone()))
                .collect(),
            kept: kept.into_iter().collect(),
        })
    }

    fn sort(&self, steps: &[Step]) -> Result<Sorted> {
        let mut sorted = Sorted::default();
        for step in steps {
            match look(&self.root, step)? {
                OnDisk::Done => sorted.done.push(step.clone()),
                OnDisk::ToDo(now) => sorted.to_do.push(Step { from: now, ..step.clone() }),
                OnDisk::Empty | OnDisk::Other => sorted.other.push(step.clone()),
            }
        }
        Ok(sorted)
    }

    /// Decides about what is neither as before nor as after. After another boot it is written; else it stays, and counts
    /// as having stood there before the restore, so that an undo does not touch it. Either way a new safety checkpoint
    /// holds it. The operation that the restore is recorded after, and the checkpoint that an undo goes back to.
    fn settle_others(
        &self,
        before: &Node,
        sorted: &mut Sorted,
        strange: &[Vec<u8>],
        result: &mut Node,
        kept: &mut BTreeSet<RepoPath>,
    ) -> Result<(Operation, CheckpointId)> {
        let (session, store) = (self.session, self.session.store);
        let objects = &store.objects;
        let ingest = StoreIngest::new(session)?;
        let (mut before_kept, mut now) = (before.clone(), before.clone());
        let (mut keeps, mut writes) = (false, false);
        for step in &sorted.done {
            put_side(store, &mut now, &step.path, step.to)?;
        }
        for step in std::mem::take(&mut sorted.other) {
            let path = RepoPath::trusted(step.path.clone());
            match capture(store, &self.root, &step.path, &ingest)? {
                Captured::Held(entry) if self.journal.is_of_another_boot() && entry.kind != EntryKind::Dir => {
                    writes = true;
                    let from = Some(entry.info());
                    state::replace(objects, &mut now, &step.path, entry, &|_| 0o755)?;
                    sorted.to_do.push(Step { from, ..step });
                }
                Captured::Held(entry) => {
                    keeps = true;
                    for state in [&mut now, &mut before_kept, &mut *result] {
                        state::replace(objects, state, &step.path, entry.clone(), &|_| 0o755)?;
                    }
                    kept.insert(path);
                }
                Captured::Nothing => sorted.to_do.push(Step { from: None, ..step }),
                Captured::NotHeld(_) => {
                    put_side(store, result, &step.path, step.from)?;
                    kept.insert(path);
                }
            }
        }
        let mut held = Vec::new();
        for path in strange {
            if let Captured::Held(entry) = capture(store, &self.root, path, &ingest)? {
                writes = true;
                state::replace(objects, &mut now, path, entry, &|_| 0o755)?;
                held.push(path);
            }
        }
        sorted.to_do.sort_by_key(|step| step.number);
        let (mut tip, mut safety) = (self.tip.clone(), self.journal.safety);
        if writes {
            tip = self.put_safety(&now, &ingest, &tip)?.1;
        }
        if keeps {
            (safety, tip) = self.put_safety(&before_kept, &ingest, &tip)?;
        }
        if writes || keeps {
            session.publish(Vec::new(), ingest)?;
            session.move_timeline(self.tip.id, tip.id)?;
        }
        for path in held {
            let (dir, name) = split(path);
            let removed = self.root.open_beneath(dir).and_then(|dir| dir.remove_tree(name));
            removed.context("remove", absolute(store, path))?;
        }
        Ok((tip, safety))
    }

    /// Packs a safety checkpoint, and the operation that records it after `tip`.
    fn put_safety(&self, state: &Node, ingest: &StoreIngest<'_>, tip: &Operation) -> Result<(CheckpointId, Operation)> {
        let (session, store) = (self.session, self.session.store);
        let objects = &store.objects;
        let head = store.head(tip)?;
        let encoded = state::encode(state, objects, ingest, &store.options)?;
        let head_state = head.as_ref().map(|head| head.state(objects)).transpose();
        let changes = match head_state.and_then(|before| state::changes(objects, before.as_ref(), Some(state))) {
            // A head that the store lost must not keep anybody from finishing: everything is new then.
            Err(Error::Object { .. }) => state::changes(objects, None, Some(state))?,
            changes => changes?,
        };
        let rules = head_rules(objects, &self.to)?.unwrap_or_default();
        let message = format!("in an interrupted {} to {}", self.operation.kind.word(), self.to.info.id.short());
        let new = NewState {
            encoded,
            rules: &rules.encode(),
            kind: CheckpointKind::Auto,
            message: message.as_bytes(),
            changes: count(&visible(changes)),
            totals: None,
            omitted: 0,
            partial: true,
            root_mode: None,
        };
        let checkpoint = put_checkpoint(session, ingest, &new, tip, head.as_ref())?;
        let operation = put_save(session, ingest, &checkpoint, tip)?;
        Ok((checkpoint.info.id, operation))
    }

    /// The operation of the restore, with what stands there now.
    fn record_anew(&self, result: &Node, tip: &Operation, safety: CheckpointId) -> Result<Operation> {
        let (session, store) = (self.session, self.session.store);
        let ingest = StoreIngest::to_the_end(session)?;
        let encoded = state::encode(result, &store.objects, &ingest, &store.options)?;
        let rules = head_rules(&store.objects, &self.to)?.unwrap_or_default();
        let facts = facts_commit(store, &ingest, &self.to, encoded, &rules)?;
        let old = &self.operation;
        let new = NewOperation {
            kind: old.kind,
            parent: Some(tip),
            time_ns: store.options.clock.now_ns(),
            store: store.id,
            tree: encoded.tree,
            checkpoint: Some((self.to.info.id, self.to.info.kind, self.to.facts_commit)),
            facts_commit: Some(facts),
            head: old.head,
            safety: Some(safety),
            paths: &old.paths,
            target: old.target,
            undo_next: old.undo_next,
            redo_next: old.redo_next,
            subject: &self.to.info.message,
        };
        let operation = put_operation(session, &ingest, &new)?;
        session.publish(Vec::new(), ingest)?;
        Ok(operation)
    }
}

/// The steps of a restore, as they were numbered when it began.
fn steps_between(store: &Inner, before: &Node, after: &Node) -> Result<Vec<Step>> {
    let changes = state::changes(&store.objects, Some(before), Some(after))?;
    Ok(changes.into_iter().enumerate().map(|(number, change)| Step::new(number, change)).collect())
}

fn put_side(store: &Inner, root: &mut Node, path: &[u8], side: Option<state::EntryInfo>) -> Result<()> {
    let Some(info) = side else { return state::remove(&store.objects, root, path) };
    let dir = if info.is_dir() {
        let known = state::find(&store.objects, root, path)?.and_then(|entry| entry.dir);
        Some(known.unwrap_or_else(|| Node::Loaded(Arc::default())))
    } else {
        None
    };
    let entry = Entry { name: Vec::new(), kind: info.kind, mode: info.mode, id: info.id, dir };
    state::replace(&store.objects, root, path, entry, &|_| 0o755)
}

/// Brings the worktree back to where a restore began, after an error or at the caller's wish. The journal goes when all
/// is as before; else it stays, and the next command finishes what was begun.
pub(crate) fn go_back(session: &Session<'_>, journal: &Journal, root: &Dir, steps: &[Step]) -> Result<()> {
    let store = session.store;
    sweep_temporaries(store, root, journal, steps)?;
    let mut back = Vec::new();
    for step in steps {
        let reversed = step.reversed();
        if let OnDisk::ToDo(now) = look(root, &reversed)? {
            back.push(Step { from: now, ..reversed });
        }
    }
    Apply::new(store, root, &journal.token, false).run(&back)?;
    let before = Checkpoint::require(&store.objects, journal.safety, store.id)?;
    tighten(store, root, steps, &before.state(&store.objects)?, before.root_mode)?;
    root.sync_file_system(store.options.durability).context("sync", store.worktree.path())?;
    journal::withdraw(session)
}

/// Gives the directories of `steps` the modes of `state` again that were made writable for the time being.
fn tighten(store: &Inner, root: &Dir, steps: &[Step], state: &Node, root_mode: Option<u16>) -> Result<()> {
    let dirs: BTreeSet<&[u8]> = steps.iter().map(|step| split(&step.path).0).collect();
    for path in dirs {
        let wanted = if path.is_empty() {
            root_mode
        } else {
            state::find(&store.objects, state, path)?
                .filter(|entry| entry.kind == EntryKind::Dir)
                .map(|entry| entry.mode)
        };
        let Some(wanted) = wanted else { continue };
        let Ok(dir) = root.open_beneath(path).or_short("open", absolute(store, path))? else { continue };
        let Ok(stat) = dir.stat_self() else { continue };
        let wanted = u32::from(wanted);
        if stat.mode & 0o777 != wanted && stat.mode & 0o777 == wanted | 0o700 {
            let path = absolute(store, path);
            dir.set_self_mode(stat.mode & 0o7000 | wanted).context("set the mode of", path)?;
        }
    }
    Ok(())
}
