//! The files of the stat cache in a store: which are read, whether they are believed, and which is written.

use super::stat_cache::{CacheBasis, CacheBuilder, StatCache};
use super::{Snapshot, assemble};
use crate::error::Context;
use crate::layout::OWN;
use crate::objects::pack_error;
use crate::store::Inner;
use crate::{Error, Notice, ObjectId, Operation, OperationId, Result};

/// Name of the stat cache in `ckpt/`.
pub(crate) const STAT_CACHE: &str = "stat-cache";
/// Name of the file with what has changed in it since.
pub(crate) const STAT_CACHE_CHANGES: &str = "stat-cache-changes";
/// A cache of ten million entries is smaller.
const MAX_CACHE_BYTES: u64 = 4 << 30;
/// Changes are written until they are this part of the cache, and some bytes; then it is written anew. So a large cache is
/// written for every quarter of it that has changed, and no small one reads a second file of its own size.
const CHANGES_PART: usize = 4;
const CHANGES_BYTES: usize = 4096;

/// What can be read of the cache.
struct Found {
    cache: Option<StatCache>,
    /// A file that is no cache, or cannot be read.
    damaged: Option<&'static str>,
}

/// The next stat cache, or what changes in the one before, but for what it will rest on.
pub(crate) struct NextCache {
    name: &'static str,
    builder: CacheBuilder,
}

impl Snapshot {
    /// The next stat cache of what was seen. `None` when none can be made.
    pub(crate) fn next_cache(&self) -> Option<NextCache> {
        let changes = self.old_cache.as_ref().and_then(|old| {
            let limit = old.base_bytes() / CHANGES_PART + CHANGES_BYTES;
            assemble::changes(&self.seen, old, &self.ids, limit)
        });
        Some(match changes {
            Some(builder) => NextCache { name: STAT_CACHE_CHANGES, builder },
            None => {
                let builder = assemble::cache(&self.seen, self.old_cache.as_ref(), &self.ids)?;
                NextCache { name: STAT_CACHE, builder }
            }
        })
    }
}

impl NextCache {
    /// The stat cache for the state that `operation` stands for, which the packs of now hold: the name of the file to write, and
    /// its bytes in parts. `None` when its numbers are too large.
    pub(crate) fn encode(
        self,
        store: &Inner,
        operation: &Operation,
        written_ns: i64,
    ) -> Option<(&'static str, [Vec<u8>; 4])> {
        let packs = store.objects.packs().packs();
        let basis = CacheBasis {
            operation: operation.id.0,
            operation_seq: operation.seq,
            head: operation.head.map_or(ObjectId::ZERO, |head| head.0),
            packs: packs.iter().map(|pack| (pack.name, pack.bytes)).collect(),
            written_ns,
            boot: ckpt_fs::boot_id(),
        };
        Some((self.name, self.builder.encode(&basis)?))
    }
}

/// The file of the stat cache that cannot be read, if there is one; a missing one is as good as one that can.
pub(crate) fn damaged_cache(store: &Inner) -> Result<Option<&'static str>> {
    Ok(find(store)?.damaged)
}

/// The operation for which the stat cache was written, and its number: it was recorded before.
pub(crate) fn cached_operation(store: &Inner) -> Result<Option<(OperationId, u64)>> {
    let cache = find(store)?.cache;
    Ok(cache.map(|cache| (OperationId(cache.basis().operation), cache.basis().operation_seq)))
}

/// The stat cache, and whether what it says has to be looked up first.
pub(super) fn load(store: &Inner, tip: &Operation, notices: &mut Vec<Notice>) -> Result<(Option<StatCache>, bool)> {
    let found = find(store)?;
    if found.damaged.is_some() {
        notices.push(Notice::CacheRebuilt);
    }
    let Some(cache) = found.cache else { return Ok((None, false)) };
    let basis = cache.basis();
    let must_look_up = !(is_on_timeline(store, tip, basis)? && packs_are_there(store, basis)?);
    Ok((Some(cache), must_look_up))
}

/// Anything that keeps us from reading a file is as good as losing it, but for a shortage, of which the rest of a command
/// would die as well.
fn find(store: &Inner) -> Result<Found> {
    let boot = ckpt_fs::boot_id();
    let read = |file: &str| {
        let threads = store.options.threads_for(usize::MAX);
        let read = store.own.read_large_file(file.as_bytes(), MAX_CACHE_BYTES, threads);
        read.or_short("read", store.path.join(OWN).join(file))
    };
    let cache = match read(STAT_CACHE)? {
        Ok(None) => return Ok(Found { cache: None, damaged: None }),
        Ok(Some(bytes)) => StatCache::decode(bytes, boot.as_deref()),
        Err(_) => None,
    };
    let Some(mut cache) = cache else { return Ok(Found { cache: None, damaged: Some(STAT_CACHE) }) };
    let is_whole = match read(STAT_CACHE_CHANGES)? {
        Ok(None) => true,
        Ok(Some(bytes)) => cache.change(bytes, boot.as_deref()),
        Err(_) => false,
    };
    Ok(Found { cache: Some(cache), damaged: (!is_whole).then_some(STAT_CACHE_CHANGES) })
}

fn is_on_timeline(store: &Inner, tip: &Operation, basis: &CacheBasis) -> Result<bool> {
    if tip.id.0 == basis.operation {
        return Ok(true);
    }
    match tip.at_seq(&store.objects, basis.operation_seq) {
        Ok(operation) => Ok(operation.is_some_and(|operation| operation.id.0 == basis.operation)),
        // The way there leads over an operation that is lost.
        Err(Error::Object { .. }) => Ok(false),
        Err(err) => Err(err),
    }
}

/// Whether every pack that the cache rests on is there, as large as it was, or was merged by us into one that is there.
fn packs_are_there(store: &Inner, basis: &CacheBasis) -> Result<bool> {
    let packs = store.objects.packs();
    let listed = packs.packs();
    let is_there =
        |(name, bytes): &(ObjectId, u64)| listed.iter().any(|pack| pack.name == *name && pack.bytes == *bytes);
    let missing: Vec<_> = basis.packs.iter().filter(|pack| !is_there(pack)).collect();
    if missing.is_empty() {
        return Ok(true);
    }
    let merged = packs.merged().map_err(|err| pack_error(&store.path.join("objects"), err))?;
    Ok(missing.iter().all(|(name, _)| merged.binary_search(name).is_ok()))
}
