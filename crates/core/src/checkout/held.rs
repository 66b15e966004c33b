//! Whether the store can really give back what a restore is about to take away.
//!
//! A pack counts as whole by its size and its end, which is quick, and a rotten byte in it is found by who reads it. Before
//! a restore removes anything, every content that it takes away is read from the store; what does not come out is packed
//! again from the worktree. So what an undo needs was there at the moment at which it was taken.

use std::collections::BTreeMap;

use super::Prepared;
use super::step::Step;
use crate::checkpoint::Checkpoint;
use crate::path::split;
use crate::snapshot::{FileRead, Purpose, StoreIngest, read_file, read_link};
use crate::state;
use crate::store::Inner;
use crate::{CheckpointId, EntryKind, Error, ObjectFault, ObjectId, Result};

/// Fewer contents are not worth a thread.
const CONTENTS_A_THREAD: usize = 64;

/// Reads of all that the steps take away what was not packed or read just now, and packs again what cannot be read.
pub(super) fn make_sure(store: &Inner, prepared: &Prepared<'_>, ingest: &StoreIngest<'_>) -> Result<()> {
    let mut victims: BTreeMap<ObjectId, &Step> = BTreeMap::new();
    for step in &prepared.planned.steps {
        if let Some(from) = step.from.filter(|from| !from.is_dir())
            && step.to.is_none_or(|to| to.id != from.id)
            && !ingest.is_sure_of(&from.id)
        {
            victims.insert(from.id, step);
        }
    }
    let victims: Vec<_> = victims.into_iter().collect();
    let threads = store.options.threads_for(victims.len() / CONTENTS_A_THREAD);
    let parts = victims.chunks(victims.len().div_ceil(threads).max(1));
    for unreadable in ckpt_fs::in_parallel(parts, |part| unreadable(store, part)) {
        for (id, step) in unreadable? {
            pack_again(prepared, ingest, id, step)?;
        }
    }
    Ok(())
}

/// Those of `victims` that the store cannot give back.
fn unreadable<'s>(store: &Inner, victims: &[(ObjectId, &'s Step)]) -> Result<Vec<(ObjectId, &'s Step)>> {
    let mut found = Vec::new();
    for &(id, step) in victims {
        store.interrupted()?;
        match store.objects.stream_blob(id, &mut std::io::sink(), &store.path) {
            Ok(_) => {}
            Err(Error::Object { .. }) => found.push((id, step)),
            Err(err) => return Err(err),
        }
    }
    Ok(found)
}

/// Packs the content of a path, which the store could not give back.
fn pack_again(prepared: &Prepared<'_>, ingest: &StoreIngest<'_>, id: ObjectId, step: &Step) -> Result<()> {
    let (dir, name) = split(&step.path);
    let damaged = |what: &str| Error::object(id, ObjectFault::Damaged(what.to_owned()));
    let gone = |_| damaged("the store cannot give it back, and its file cannot be read any more");
    let dir = prepared.present.root_dir.open_beneath(dir).map_err(gone)?;
    let stat = dir.stat(name).map_err(gone)?;
    let read = match step.from.map(|from| from.kind) {
        Some(EntryKind::Link) => read_link(&dir, name, stat, ingest)?,
        _ => read_file(&dir, name, &stat, Purpose::Keep, ingest, &mut Vec::new())?,
    };
    match read {
        FileRead::Read(read) if read.id == id && ingest.is_sure_of(&id) => Ok(()),
        _ => Err(damaged("the store cannot give it back, and its file changed meanwhile")),
    }
}

/// Reads the safety checkpoint, and looks whether it has every path as the steps will find it.
pub(super) fn check_state(store: &Inner, safety: CheckpointId, steps: &[Step]) -> Result<()> {
    let state = Checkpoint::require(&store.objects, safety, store.id)?.state(&store.objects)?;
    for step in steps {
        if step.from.is_some()
            && state::find(&store.objects, &state, &step.path)?.map(|entry| entry.info()) != step.from
        {
            let what = "the safety checkpoint does not hold what stands in the workspace";
            return Err(Error::object(safety.0, ObjectFault::Damaged(what.to_owned())));
        }
    }
    Ok(())
}
