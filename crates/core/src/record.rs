//! What writers leave in a store: checkpoints, operations, packs, the stat cache.

use ckpt_pack::{FinishedPack, Kind};

use crate::checkpoint::{Checkpoint, NewCheckpoint};
use crate::objects::pack_error;
use crate::session::Session;
use crate::snapshot::{NextCache, STAT_CACHE, STAT_CACHE_CHANGES, StoreIngest};
use crate::state::{Encoded, ObjectSink, encode_facts_commit};
use crate::timeline::NewOperation;
use crate::{ChangeCounts, CheckpointKind, Durability, Error, Operation, OperationKind, Result};

/// A state that becomes a checkpoint.
pub(crate) struct NewState<'a> {
    pub(crate) encoded: Encoded,
    /// Rules from outside, encoded.
    pub(crate) rules: &'a [u8],
    pub(crate) kind: CheckpointKind,
    pub(crate) message: &'a [u8],
    pub(crate) changes: ChangeCounts,
    pub(crate) totals: Option<(u64, u64)>,
    pub(crate) omitted: u64,
    pub(crate) partial: bool,
    pub(crate) root_mode: Option<u16>,
}

/// Packs the facts and the checkpoint of a state. It becomes one of the store's when an operation names it.
pub(crate) fn put_checkpoint(
    session: &Session<'_>,
    sink: &StoreIngest<'_>,
    new: &NewState<'_>,
    tip: &Operation,
    head: Option<&Checkpoint>,
) -> Result<Checkpoint> {
    let facts_commit = encode_facts_commit(sink, new.encoded.facts, new.rules)?;
    let commit = NewCheckpoint {
        tree: new.encoded.tree,
        facts_commit,
        kind: new.kind,
        message: new.message,
        time_ns: session.store.options.clock.now_ns(),
        seq: tip.seq + 1,
        previous: head.map(|head| &head.info),
        store: session.store.id,
        changes: new.changes,
        totals: new.totals,
        omitted: new.omitted,
        partial: new.partial,
        root_mode: new.root_mode,
    }
    .commit();
    let id = sink.put(Kind::Commit, &commit.encode())?;
    let broken = || Error::broken(&session.store.path, "a new checkpoint cannot be read back");
    Checkpoint::from_commit(id, commit).map(|(checkpoint, _)| checkpoint).ok_or_else(broken)
}

/// Packs the operation that records a new checkpoint after `tip`.
pub(crate) fn put_save(
    session: &Session<'_>,
    sink: &StoreIngest<'_>,
    checkpoint: &Checkpoint,
    tip: &Operation,
) -> Result<Operation> {
    let is_manual = checkpoint.info.kind == CheckpointKind::Manual;
    let new = NewOperation {
        kind: OperationKind::Save,
        parent: Some(tip),
        time_ns: checkpoint.info.time_ns,
        store: session.store.id,
        tree: checkpoint.tree,
        checkpoint: Some((checkpoint.info.id, checkpoint.info.kind, checkpoint.facts_commit)),
        facts_commit: None,
        // A safety checkpoint moves nothing, and ends neither undo nor redo.
        head: if is_manual { Some(checkpoint.info.id) } else { tip.head },
        safety: None,
        paths: &[],
        target: None,
        undo_next: tip.top_undo(),
        redo_next: tip.top_redo().filter(|_| !is_manual),
        subject: &checkpoint.info.message,
    };
    put_operation(session, sink, &new)
}

/// Packs an operation.
pub(crate) fn put_operation(
    session: &Session<'_>,
    sink: &StoreIngest<'_>,
    new: &NewOperation<'_>,
) -> Result<Operation> {
    let commit = new.commit(&session.store.objects)?;
    let id = sink.put(Kind::Commit, &commit.encode())?;
    let broken = || Error::broken(&session.store.path, "a new operation cannot be read back");
    Operation::from_commit(id, &commit).ok_or_else(broken)
}

impl Session<'_> {
    /// Publishes `packs` and the open pack of `ingest`, in this order.
    pub(crate) fn publish(&self, mut packs: Vec<FinishedPack>, ingest: StoreIngest<'_>) -> Result<()> {
        let dir = ingest.pack_dir()?;
        packs.extend(ingest.finish()?);
        ckpt_pack::publish_all(packs, &dir, self.store.options.durability)
            .map_err(|err| pack_error(&self.store.path.join("objects"), err))?;
        self.store.objects.refresh()
    }

    /// Publishes the same, and makes the next stat cache meanwhile, by `make`, where `is_large` says that it is worth a thread.
    pub(crate) fn publish_beside(
        &self,
        packs: Vec<FinishedPack>,
        ingest: StoreIngest<'_>,
        is_large: bool,
        make: impl FnOnce() -> Option<NextCache> + Send,
    ) -> Result<Option<NextCache>> {
        if is_large && self.store.options.threads_for(2) > 1 {
            let (published, cache) = ckpt_fs::beside(|| self.publish(packs, ingest), make);
            return published.map(|()| cache);
        }
        self.publish(packs, ingest)?;
        Ok(make())
    }
}

/// Writes the stat cache. It is disposable: a failure costs the next save some reading, and is no failure of this one.
pub(crate) fn write_cache(session: &Session<'_>, cache: Option<NextCache>, operation: &Operation) {
    if let Some((name, parts)) = cache.and_then(|cache| cache.encode(session.store, operation, session.locked_ns)) {
        let parts = parts.each_ref().map(Vec::as_slice);
        let own = &session.store.own;
        let written = own.write_parts_atomic(&session.tmp_name(name), name.as_bytes(), &parts, Durability::None);
        if written.is_ok() && name == STAT_CACHE {
            // They are of the cache before, if they can be read at all.
            let _ = own.remove_file(STAT_CACHE_CHANGES.as_bytes());
        }
    }
}

/// Merges small packs, so that lookups stay quick. Nothing depends on it: a failure leaves the packs as they are.
pub(crate) fn merge_packs(session: &Session<'_>) {
    let store = session.store;
    let packs = store.objects.packs();
    let names = ckpt_pack::plan_merge(&packs.packs());
    if names.is_empty() {
        return;
    }
    let durability = store.options.durability;
    let merged = store.dir.open_beneath(b"objects/pack").ok().and_then(|dir| {
        let number = session.pack_number();
        let pack = ckpt_pack::merge(packs, &names, &store.own, &session.token, number, durability).ok()?;
        pack.publish(&dir, durability).ok()?;
        ckpt_pack::remove_packs(&dir, &names, durability).ok()?;
        // What an earlier merge left when it was interrupted.
        ckpt_pack::settle_orphans(&dir, &store.own, durability).ok()
    });
    if merged.is_some() {
        let _ = store.objects.refresh();
    }
}
