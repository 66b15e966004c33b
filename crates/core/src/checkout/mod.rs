//! A state becomes the worktree: the way of every restore.
//!
//! First everything that stands there is held by the store, then the plan is made, the operation packed, the journal
//! written, the steps applied, the file system synced, the timeline moved. Until the journal is written nothing in the
//! worktree was touched; from then on the next command can finish what was begun.

mod apply;
pub(crate) mod dry_run;
mod give_back;
mod held;
pub(crate) mod interrupted;
pub(crate) mod journal;
mod plan;
pub(crate) mod present;
pub(crate) mod recover;
pub(crate) mod step;
mod sweep;
pub(crate) mod target;
mod write;

use crate::checkpoint::Checkpoint;
use crate::differences::{count, to_path_change, visible};
use crate::error::Context;
use crate::layout::WorktreeRecord;
use crate::record::{NewState, merge_packs, put_checkpoint, put_operation, put_save, write_cache};
use crate::session::Session;
use crate::snapshot::rules::Rules;
use crate::snapshot::{Against, Ingest, Snapshot, StoreIngest, discover_rules};
use crate::state::{self, Change, Encoded, Entry, Node, encode_facts_commit};
use crate::store::Inner;
use crate::timeline::NewOperation;
use crate::{
    CheckpointId, CheckpointKind, EntryKind, Error, Notice, ObjectId, Operation, OperationId, OperationKind, Receipt,
    RepoPath, Result,
};

use apply::Apply;
use journal::Journal;
use plan::{Planned, plan};
use present::Present;
use step::Step;
use target::Target;

/// Files and directories that a restore has open at most, with the fewest that each part of it takes.
const HANDLES: usize = 32;

/// Gives the state to restore, and the paths in it that were edited since.
pub(crate) type Aim<'a> = dyn Fn(&Node) -> Result<(Node, Vec<RepoPath>)> + 'a;

/// A restore that a verb asks for.
pub(crate) struct Restore<'a> {
    pub(crate) kind: OperationKind,
    /// The checkpoint that it goes to, for the timeline.
    pub(crate) to: &'a Checkpoint,
    /// Head afterwards.
    pub(crate) head: Option<CheckpointId>,
    /// Paths that are looked at; `None`: the whole worktree.
    pub(crate) paths: Option<&'a [RepoPath]>,
    /// The operation that is taken back.
    pub(crate) target: Option<OperationId>,
    /// What it changed: these paths go back whatever the rules say, and no others.
    pub(crate) taken_back: Option<&'a [Change]>,
    /// What undo and redo would take next; for a reset or rollback that follows from the timeline.
    pub(crate) undo_next: Option<OperationId>,
    pub(crate) redo_next: Option<OperationId>,
    /// The state whose rules and omissions speak for paths that the target does not hold.
    pub(crate) reference: Node,
    /// The rules from outside that go with it.
    pub(crate) rules: &'a Rules,
    /// The state to restore, given what stands there now, and the paths in it that were edited since.
    pub(crate) aim: &'a Aim<'a>,
}

/// A restore up to its plan.
struct Prepared<'a> {
    present: Present,
    target: Target<'a>,
    planned: Planned,
    edited_since: Vec<RepoPath>,
}

fn prepare<'a>(
    store: &'a Inner,
    restore: &Restore<'a>,
    tip: &Operation,
    head: Option<&Checkpoint>,
    clock: Option<(i64, u64)>,
    ingest: &dyn Ingest,
) -> Result<Prepared<'a>> {
    let mut present = match restore.paths {
        Some(paths) => Present::paths(store, head, paths, ingest)?,
        None => Present::whole(store, &Against { tip: Some(tip), head, clock }, ingest)?,
    };
    let named = restore.taken_back.unwrap_or_default().iter().map(|change| change.path.as_slice());
    let refused = present.capture_named(store, named, ingest)?;
    let (state, mut edited_since) = (restore.aim)(&present.root)?;
    let target = Target::new(&store.objects, state, restore);
    let planned = plan(store, &mut present, &target, refused, ingest)?;
    edited_since.retain(|path| !planned.is_settled(path.as_bytes()));
    Ok(Prepared { present, target, planned, edited_since })
}

/// Restores.
pub(crate) fn run<'a>(session: &Session<'a>, restore: &Restore<'a>) -> Result<Receipt> {
    let store = session.store;
    make_root(session, restore.to)?;
    let tip = store.tip()?;
    let head = store.head(&tip)?;
    let ingest = StoreIngest::new(session)?;
    let clock = Some((session.locked_ns, session.device));
    let mut prepared = prepare(store, restore, &tip, head.as_ref(), clock, &ingest)?;
    let mut receipt = Receipt {
        operation: None,
        kind: restore.kind,
        to: restore.to.info.id,
        target: restore.target,
        head: restore.head,
        safety: None,
        changes: path_changes(&prepared.planned.steps),
        conflicts: prepared.planned.conflicts.clone(),
        left_alone: prepared.planned.left_alone.clone(),
        edited_since: prepared.edited_since.clone(),
        recovered: None,
        notices: std::mem::take(&mut prepared.present.notices),
    };
    if prepared.planned.steps.is_empty() && restore.head == tip.head && restore.target.is_none() {
        receipt.safety = tip.head;
        return Ok(receipt);
    }
    held::make_sure(store, &prepared, &ingest)?;
    let safety = put_safety(session, &ingest, restore, &prepared, &tip, head.as_ref())?;
    let begun = safety.operation.as_ref().unwrap_or(&tip);
    let result = result_state(store, &prepared, &[])?;
    let operation = put_restore(session, &ingest, restore, &result, begun, safety.id)?;
    store.interrupted()?;
    let snapshot = prepared.present.snapshot.as_ref().filter(|_| safety.operation.is_some());
    let is_large = snapshot.is_some_and(Snapshot::read_much);
    let cache = session.publish_beside(Vec::new(), ingest, is_large, || snapshot.and_then(Snapshot::next_cache))?;
    if let Some(safety) = &safety.operation {
        session.move_timeline_or_stop(tip.id, safety.id)?;
        write_cache(session, cache, safety);
    }
    session.update_record()?;
    held::check_state(store, safety.id, &prepared.planned.steps)?;
    receipt.safety = Some(safety.id);
    // What could not be opened half-way could not be taken back either.
    ckpt_fs::require_handles(&prepared.present.root_dir, HANDLES).context("open files in", store.worktree.path())?;
    let journal = Journal {
        tip: begun.id,
        operation: operation.id,
        safety: safety.id,
        token: session.token.clone(),
        boot: ckpt_fs::boot_id().unwrap_or_default(),
        mounts: prepared.present.mounts_above(&prepared.planned.steps.iter().map(|step| step.path.as_slice())),
    };
    journal.write(session)?;
    let root = &prepared.present.root_dir;
    let applied = match Apply::new(store, root, &session.token, true).run(&prepared.planned.steps) {
        Ok(applied) => applied,
        Err(err) => {
            let back = recover::go_back(session, &journal, root, &prepared.planned.steps);
            back.map_err(|back| recover::half_restored(store, back))?;
            return Err(err);
        }
    };
    receipt.notices.extend(applied.kept_beside.iter().cloned().map(Notice::KeptBeside));
    for (number, reason) in &applied.conflicts {
        let path = prepared.planned.steps[*number].path.clone();
        prepared.planned.object(&path, *reason);
    }
    let operation = if applied.conflicts.is_empty() {
        operation
    } else {
        // What was left as it is makes another state: the operation tells what stands there now.
        let numbers: Vec<usize> = applied.conflicts.iter().map(|(number, _)| *number).collect();
        let ingest = StoreIngest::to_the_end(session)?;
        let result = result_state(store, &prepared, &numbers)?;
        let operation = put_restore(session, &ingest, restore, &result, begun, safety.id)?;
        session.publish(Vec::new(), ingest)?;
        receipt.changes.retain(|change| {
            !numbers.iter().any(|number| prepared.planned.steps[*number].path == change.path.as_bytes())
        });
        receipt.conflicts.clone_from(&prepared.planned.conflicts);
        operation
    };
    root.sync_file_system(store.options.durability).context("sync", store.worktree.path())?;
    session.move_timeline(begun.id, operation.id)?;
    journal::clear(session)?;
    merge_packs(session);
    receipt.operation = Some(operation.id);
    Ok(receipt)
}

/// Begin of the names of temporaries in the worktree, while a restore is running or was interrupted.
pub(crate) fn temporaries(store: &Inner) -> Result<Option<Vec<u8>>> {
    Ok(match journal::read(store)? {
        journal::Found::Journal(journal) => Some(format!("{}{}-", apply::TMP, journal.token).into_bytes()),
        _ => None,
    })
}

/// Whether the worktree is certainly gone, so that a restore makes it again.
fn is_to_be_made(store: &Inner, record: Option<&WorktreeRecord>) -> bool {
    let found = std::fs::symlink_metadata(store.worktree.path());
    found.is_err_and(|err| err.kind() == std::io::ErrorKind::NotFound) && record.is_some_and(crate::registry::is_gone)
}

/// A worktree that is certainly gone is made again: there is nothing in it to lose.
fn make_root(session: &Session<'_>, to: &Checkpoint) -> Result<()> {
    let path = session.store.worktree.path();
    if !is_to_be_made(session.store, session.record.as_ref()) {
        return Ok(());
    }
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
    let parent = ckpt_fs::Dir::open(parent).context("open", parent)?;
    let mode = u32::from(to.root_mode.unwrap_or(0o700)) | 0o700;
    parent.create_dir(std::os::unix::ffi::OsStrExt::as_bytes(name), mode).context("create", path)
}

/// The checkpoint that holds what stands in the worktree.
struct Safety {
    id: CheckpointId,
    /// The operation that records it, where one had to be made.
    operation: Option<Operation>,
}

fn put_safety(
    session: &Session<'_>,
    ingest: &StoreIngest<'_>,
    restore: &Restore<'_>,
    prepared: &Prepared<'_>,
    tip: &Operation,
    head: Option<&Checkpoint>,
) -> Result<Safety> {
    let store = session.store;
    let objects = &store.objects;
    let encoded = prepared.present.encode(store, ingest)?;
    if let Some(head) = head {
        match state::read_facts_commit(objects, head.facts_commit) {
            Ok((facts, _)) if encoded.is_same(head.tree, facts) => {
                return Ok(Safety { id: head.info.id, operation: None });
            }
            // A head that the store lost must not keep anybody from leaving it.
            Ok(_) | Err(Error::Object { .. }) => {}
            Err(err) => return Err(err),
        }
    }
    let rules = match &prepared.present.snapshot {
        Some(snapshot) => snapshot.rules.encode(),
        // What there is to say of them was said when the paths were looked at.
        None => discover_rules(store, head, &mut Vec::new())?.encode(),
    };
    let changes_from = |before: Option<&Node>| state::changes(objects, before, Some(&prepared.present.root));
    let compared = head.map(|head| head.state(objects)).transpose().and_then(|before| changes_from(before.as_ref()));
    let changes = match compared {
        // Without a head everything is new.
        Err(Error::Object { .. }) => changes_from(None)?,
        compared => compared?,
    };
    let message = format!("before {} to {}", restore.kind.word(), restore.to.info.id.short());
    let new = NewState {
        encoded,
        rules: &rules,
        kind: CheckpointKind::Auto,
        message: message.as_bytes(),
        changes: count(&visible(changes)),
        totals: None,
        omitted: prepared.present.omitted,
        partial: restore.paths.is_some(),
        root_mode: prepared.present.snapshot.as_ref().map(|snapshot| snapshot.root_mode),
    };
    let checkpoint = put_checkpoint(session, ingest, &new, tip, head)?;
    let operation = put_save(session, ingest, &checkpoint, tip)?;
    Ok(Safety { id: checkpoint.info.id, operation: Some(operation) })
}

/// The state of the files after the restore: the target, but for what stays. `failed`: steps that were not done.
fn result_state(store: &Inner, prepared: &Prepared<'_>, failed: &[usize]) -> Result<Node> {
    let objects = &store.objects;
    let mut result = prepared.target.state.clone();
    let present = &prepared.present.root;
    let mode = |dir: &[u8]| match state::find(objects, present, dir) {
        Ok(Some(Entry { kind: EntryKind::Dir, mode, .. })) => mode,
        _ => 0o755,
    };
    for dir in &prepared.planned.kept_dirs {
        keep_dir(store, &mut result, present, dir, &mode)?;
    }
    let paths: Vec<Vec<u8>> = prepared.planned.unchanged().map(<[u8]>::to_vec).collect();
    for path in paths.iter().filter(|path| !prepared.planned.kept_dirs.contains(path)) {
        match state::find(objects, present, path)? {
            Some(entry) => state::replace(objects, &mut result, path, entry, &mode)?,
            None => state::remove(objects, &mut result, path)?,
        }
    }
    for number in failed {
        let step = &prepared.planned.steps[*number];
        match step.from {
            Some(from) if from.is_dir() => keep_dir(store, &mut result, present, &step.path, &mode)?,
            Some(from) => {
                let entry = Entry { name: Vec::new(), kind: from.kind, mode: from.mode, id: from.id, dir: None };
                state::replace(objects, &mut result, &step.path, entry, &mode)?;
            }
            None => state::remove(objects, &mut result, &step.path)?,
        }
    }
    Ok(result)
}

/// A directory that stays, with what the result has in it.
fn keep_dir(store: &Inner, result: &mut Node, present: &Node, path: &[u8], mode: &dyn Fn(&[u8]) -> u16) -> Result<()> {
    let objects = &store.objects;
    let inside = state::find(objects, result, path)?.and_then(|entry| entry.dir);
    if let Some(entry) = state::find(objects, present, path)? {
        let dir = Some(inside.unwrap_or_else(|| Node::Loaded(std::sync::Arc::default())));
        state::replace(objects, result, path, Entry { dir, ..entry }, mode)?;
    }
    Ok(())
}

/// Packs the operation that records a restore with the given result.
fn put_restore(
    session: &Session<'_>,
    ingest: &StoreIngest<'_>,
    restore: &Restore<'_>,
    result: &Node,
    tip: &Operation,
    safety: CheckpointId,
) -> Result<Operation> {
    let store = session.store;
    let encoded = state::encode(result, &store.objects, ingest, &store.options)?;
    let facts_commit = facts_commit(store, ingest, restore.to, encoded, restore.rules)?;
    let paths: Vec<Vec<u8>> = restore.paths.unwrap_or_default().iter().map(|path| path.as_bytes().to_vec()).collect();
    let (undo_next, redo_next) = match restore.kind {
        OperationKind::Undo | OperationKind::Redo => (restore.undo_next, restore.redo_next),
        _ => (tip.top_undo(), None),
    };
    let new = NewOperation {
        kind: restore.kind,
        parent: Some(tip),
        time_ns: store.options.clock.now_ns(),
        store: store.id,
        tree: encoded.tree,
        checkpoint: Some((restore.to.info.id, restore.to.info.kind, restore.to.facts_commit)),
        facts_commit: Some(facts_commit),
        head: restore.head,
        safety: Some(safety),
        paths: &paths,
        target: restore.target,
        undo_next,
        redo_next,
        subject: &restore.to.info.message,
    };
    put_operation(session, ingest, &new)
}

/// The facts of a result: the checkpoint's own where the result is just that.
fn facts_commit(
    store: &Inner,
    ingest: &StoreIngest<'_>,
    to: &Checkpoint,
    encoded: Encoded,
    rules: &Rules,
) -> Result<ObjectId> {
    let (facts, _) = state::read_facts_commit(&store.objects, to.facts_commit)?;
    if facts == encoded.facts {
        return Ok(to.facts_commit);
    }
    encode_facts_commit(ingest, encoded.facts, &rules.encode())
}

/// Steps as people read them.
fn path_changes(steps: &[Step]) -> Vec<crate::PathChange> {
    let changes = steps.iter().map(|step| Change { path: step.path.clone(), old: step.from, new: step.to });
    visible(changes.collect()).iter().map(to_path_change).collect()
}

impl Error {
    /// Whether it came from the caller's wish to stop.
    pub fn is_interrupted(&self) -> bool {
        matches!(self, Self::Interrupted)
    }
}
