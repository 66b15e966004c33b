//! A timeline with losses, packed anew.

use std::collections::HashMap;
use std::io::Write;

use ckpt_pack::Kind;

use super::timeline::Slot;
use crate::checkpoint::Checkpoint;
use crate::commit::Commit;
use crate::error::Context;
use crate::snapshot::StoreIngest;
use crate::state::ObjectSink;
use crate::store::Inner;
use crate::{CheckpointId, CheckpointKind, Error, ObjectId, Operation, OperationId, OperationKind, Result, refs};

/// Packs the timeline anew from the first operation on that is lost, or that names what is; the rest stays as it is. The
/// checkpoints `beside` it come after its end, as safety checkpoints: their numbers are taken, and what they hold is not to be
/// lost. `None` when nothing has to change.
pub(super) fn rebuild(
    store: &Inner,
    ingest: &StoreIngest<'_>,
    slots: &[Slot],
    beside: &[Checkpoint],
    missing: &dyn Fn(&ObjectId) -> bool,
) -> Result<Option<Rebuilt>> {
    let mut anew = Anew { store, missing, done: Vec::new(), renamed: HashMap::new(), back: HashMap::new() };
    let mut is_same = true;
    for slot in slots {
        is_same &= anew.is_sound(slot);
        match slot {
            Slot::Read(operation, _) if is_same => anew.push((**operation).clone()),
            slot => {
                let commit = anew.commit(slot);
                if commit.tree == ObjectId::EMPTY_TREE {
                    ingest.put(Kind::Tree, b"")?;
                }
                let id = ingest.put(Kind::Commit, &commit.encode())?;
                let old = match slot {
                    Slot::Read(operation, _) => Some(operation.id),
                    Slot::Lost { id, .. } => *id,
                };
                anew.renamed.extend(old.map(|old| (old, OperationId(id))));
                let operation = Operation::from_commit(id, &commit);
                anew.push(operation.ok_or_else(|| Error::broken(&store.path, "a new operation cannot be read back"))?);
            }
        }
    }
    if is_same && beside.is_empty() {
        return Ok(None);
    }
    let mut again = HashMap::new();
    for checkpoint in beside {
        let (_, bytes) = store.objects.read(checkpoint.info.id.0)?;
        let Some(mut commit) = Commit::decode(&bytes) else { continue };
        set(&mut commit, "ckpt-seq", Some(anew.done.len().to_string()));
        set(&mut commit, "ckpt-kind", Some("auto".to_owned()));
        let original = checkpoint.again.unwrap_or(checkpoint.info.id);
        set(&mut commit, "ckpt-again", Some(original.to_string()));
        let id = ingest.put(Kind::Commit, &commit.encode())?;
        let Some((copy, _)) = Checkpoint::from_commit(id, commit) else { continue };
        again.insert(checkpoint.info.id.0, copy.info.id);
        let commit = anew.commit(&Slot::Lost { id: None, checkpoint: Some(Box::new(copy)) });
        let id = ingest.put(Kind::Commit, &commit.encode())?;
        Operation::from_commit(id, &commit).into_iter().for_each(|operation| anew.push(operation));
    }
    let Anew { done, renamed, .. } = anew;
    Ok(done.last().map(|tip| Rebuilt { tip: tip.id, renamed, again }))
}

/// A timeline that was packed anew.
pub(super) struct Rebuilt {
    pub(super) tip: OperationId,
    /// Operations that have other ids now, or others in their place.
    pub(super) renamed: HashMap<OperationId, OperationId>,
    /// Checkpoints that stood beside it, with those that hold the same on it.
    pub(super) again: HashMap<ObjectId, CheckpointId>,
}

/// What `undo` or `redo` can take back of an operation, and what comes after it where that cannot be done.
#[derive(Clone, Copy)]
struct Back {
    can_undo: bool,
    can_redo: bool,
    undo_next: Option<OperationId>,
    redo_next: Option<OperationId>,
}

/// A timeline on its way.
struct Anew<'a> {
    store: &'a Inner,
    missing: &'a dyn Fn(&ObjectId) -> bool,
    /// Oldest first.
    done: Vec<Operation>,
    renamed: HashMap<OperationId, OperationId>,
    /// Of all that are done.
    back: HashMap<OperationId, Back>,
}

impl Anew<'_> {
    fn push(&mut self, operation: Operation) {
        let can_undo = matches!(operation.kind, OperationKind::Reset | OperationKind::Rollback)
            && operation.safety.is_some()
            && operation.checkpoint.is_some();
        let target = operation.target.and_then(|target| self.back.get(&target));
        let can_redo = operation.kind == OperationKind::Undo && target.is_some_and(|target| target.can_undo);
        let (undo_next, redo_next) = (operation.undo_next, operation.redo_next);
        self.back.insert(operation.id, Back { can_undo, can_redo, undo_next, redo_next });
        self.done.push(operation);
    }

    /// Whether an operation may stay as it is, where all before it do.
    fn is_sound(&self, slot: &Slot) -> bool {
        let Slot::Read(operation, _) = slot else { return false };
        let named = [operation.checkpoint, operation.head, operation.safety];
        operation.parent == self.done.last().map(|before| before.id)
            && !named.into_iter().flatten().any(|checkpoint| (self.missing)(&checkpoint.0))
            && operation.undo_next == self.undo(operation.undo_next)
            && operation.redo_next == self.redo(operation.redo_next)
    }

    /// The operation that stands in the place of this one.
    fn new_id(&self, id: OperationId) -> OperationId {
        self.renamed.get(&id).copied().unwrap_or(id)
    }

    /// What `undo` would take back where `next` says what it is: that, or what it can take back of those before.
    fn undo(&self, mut next: Option<OperationId>) -> Option<OperationId> {
        for _ in &self.done {
            let id = self.new_id(next?);
            let back = self.back.get(&id)?;
            if back.can_undo {
                return Some(id);
            }
            next = back.undo_next;
        }
        None
    }

    /// The same for `redo`.
    fn redo(&self, mut next: Option<OperationId>) -> Option<OperationId> {
        for _ in &self.done {
            let id = self.new_id(next?);
            let back = self.back.get(&id)?;
            if back.can_redo {
                return Some(id);
            }
            next = back.redo_next;
        }
        None
    }

    /// The commit of an operation with those before it that are done.
    fn commit(&self, slot: &Slot) -> Commit {
        let (missing, before) = (self.missing, self.done.last());
        let seq = self.done.len() as u64;
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
                if operation.head.is_some_and(|head| missing(&head.0)) {
                    // Nobody could save or leave any more; the head before it is there, or was put in like this.
                    let head = before.and_then(|before| before.head);
                    set(&mut commit, "ckpt-head", head.map(|head| head.to_string()));
                }
                if operation.safety.is_some_and(|safety| missing(&safety.0)) {
                    // It cannot be taken back any more.
                    if matches!(operation.kind, OperationKind::Reset | OperationKind::Rollback) {
                        set(&mut commit, "ckpt-operation", Some("repair".to_owned()));
                    }
                    set(&mut commit, "ckpt-safety", None);
                }
                let pointers = [
                    ("ckpt-undo", self.undo(operation.undo_next)),
                    ("ckpt-redo", self.redo(operation.redo_next)),
                    ("ckpt-target", operation.target.map(|target| self.new_id(target))),
                ];
                for (name, id) in pointers {
                    set(&mut commit, name, id.map(|id| id.to_string()));
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
                    header("ckpt-store", self.store.id.to_string()),
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
                    ("ckpt-undo", self.undo(before.and_then(Operation::top_undo)).map(|id| id.0)),
                    (
                        "ckpt-redo",
                        self.redo(before.and_then(Operation::top_redo)).filter(|_| !is_manual).map(|id| id.0),
                    ),
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
        let skip = (seq > 0).then(|| self.done.get(usize::try_from(seq & (seq - 1)).unwrap_or(0))).flatten();
        set(&mut commit, "ckpt-skip", skip.map(|skip| skip.id.to_string()));
        commit
    }
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
