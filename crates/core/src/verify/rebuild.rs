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
use crate::{CheckpointId, CheckpointKind, Error, ObjectId, Operation, OperationId, Result, refs};

/// Packs the timeline anew from the first operation on that is lost, or whose checkpoint or head is; the rest stays as it
/// is. The checkpoints `beside` it come after its end, as safety checkpoints: their numbers are taken, and what they hold is
/// not to be lost. `None` when nothing has to change.
pub(super) fn rebuild(
    store: &Inner,
    ingest: &StoreIngest<'_>,
    slots: &[Slot],
    beside: &[Checkpoint],
    missing: &dyn Fn(&ObjectId) -> bool,
) -> Result<Option<Rebuilt>> {
    let is_sound = |slot: &Slot| match slot {
        Slot::Read(operation, _) => {
            ![operation.checkpoint, operation.head].into_iter().flatten().any(|checkpoint| missing(&checkpoint.0))
        }
        Slot::Lost { .. } => false,
    };
    if slots.iter().all(is_sound) && beside.is_empty() {
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
    let mut again = HashMap::new();
    for checkpoint in beside {
        let (_, bytes) = store.objects.read(checkpoint.info.id.0)?;
        let Some(mut commit) = Commit::decode(&bytes) else { continue };
        set(&mut commit, "ckpt-seq", Some(ids.len().to_string()));
        set(&mut commit, "ckpt-kind", Some("auto".to_owned()));
        let id = ingest.put(Kind::Commit, &commit.encode())?;
        let Some((copy, _)) = Checkpoint::from_commit(id, commit) else { continue };
        again.insert(checkpoint.info.id.0, copy.info.id);
        let slot = Slot::Lost { id: None, checkpoint: Some(Box::new(copy)) };
        let operation = commit_anew(store, &slot, before.as_ref(), &ids, &renamed, missing);
        let id = ingest.put(Kind::Commit, &operation.encode())?;
        before = Operation::from_commit(id, &operation);
        ids.push(OperationId(id));
    }
    Ok(before.map(|tip| Rebuilt { tip: tip.id, again }))
}

/// A timeline that was packed anew.
pub(super) struct Rebuilt {
    pub(super) tip: OperationId,
    /// Checkpoints that stood beside it, with those that hold the same on it.
    pub(super) again: HashMap<ObjectId, CheckpointId>,
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
            if operation.head.is_some_and(|head| missing(&head.0)) {
                // Nobody could save or leave any more; the head before it is there, or was put in like this.
                let head = before.and_then(|before| before.head);
                set(&mut commit, "ckpt-head", head.map(|head| head.to_string()));
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
