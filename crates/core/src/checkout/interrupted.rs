//! Whether a restore was begun and not ended, and whether it may be finished here.

use std::io::ErrorKind;
use std::path::PathBuf;

use ckpt_fs::{Dir, Entries};

use super::apply::absolute;
use super::journal::{self, Found, Journal};
use crate::checkpoint::Checkpoint;
use crate::error::Context;
use crate::layout::dir_identity;
use crate::registry;
use crate::session::{Session, open_worktree};
use crate::state;
use crate::store::Inner;
use crate::{CheckpointKind, Error, Operation, OperationKind, Result, StoreFault, WorkspaceFault};

/// Whether a restore was interrupted, or is running.
pub(crate) fn is_pending(store: &Inner) -> Result<bool> {
    Ok(!matches!(journal::read(store)?, Found::None))
}

/// Refuses to foretell anything of a worktree that is half-way between two states.
pub(crate) fn require_none(store: &Inner) -> Result<()> {
    if is_pending(store)? { Err(Error::store(&store.path, StoreFault::InterruptedRestore)) } else { Ok(()) }
}

/// Whether a restore is on the timeline: anything but safety checkpoints came after it began. A journal that does not
/// belong to this timeline stands for nothing that can be finished, and counts as recorded. A repair that was killed may have
/// left the operation that it began after with another id; its number is the same.
pub(super) fn is_recorded(store: &Inner, journal: &Journal, tip: &Operation) -> Result<bool> {
    let begun = match Operation::read(&store.objects, journal.tip) {
        Ok(begun) => Some(begun.seq),
        Err(Error::Object { .. }) => None,
        // A want of handles says nothing about what is there.
        Err(err) => return Err(err),
    };
    for operation in tip.back(&store.objects) {
        let operation = operation?;
        if operation.id == journal.tip || Some(operation.seq) == begun {
            return Ok(false);
        }
        let is_safety =
            operation.kind == OperationKind::Save && operation.checkpoint_kind == Some(CheckpointKind::Auto);
        if !is_safety {
            return Ok(true);
        }
    }
    Ok(true)
}

/// Refuses a timeline that ends before a restore began: the ref has an old value. What was recorded since is there, and so is
/// what the restore had to take away; saves that went on from here would take its numbers.
pub(super) fn require_not_older(store: &Inner, journal: &Journal, tip: &Operation) -> Result<()> {
    match Operation::read(&store.objects, journal.tip) {
        Ok(begun) if begun.seq > tip.seq && begun.store == store.id => {
            Err(Error::broken(&store.path, "its timeline has an old value, from before the restore that did not end"))
        }
        Ok(_) | Err(Error::Object { .. }) => Ok(()),
        Err(err) => Err(err),
    }
}

/// Whether the directory is still the one in which the restore was begun. Where a volume was mounted, and nothing stands now
/// that the restore knows, is an error: the restore waits for that volume. What the user put in its place is compared as
/// anything else.
pub(super) fn is_in_place(session: &Session<'_>, journal: &Journal, operation: &Operation) -> Result<bool> {
    let store = session.store;
    let path = store.worktree.path();
    let Some(record) = &session.record else { return Ok(true) };
    let unmounted = |at: PathBuf| Err(Error::workspace(path, WorkspaceFault::Unmounted(at)));
    if registry::is_unmounted(record) && !is_known(store, journal, operation, &open_worktree(path)?, b"")? {
        return unmounted(path.to_owned());
    }
    match (record.inode, dir_identity(path)) {
        (Some((_, was)), Some((_, is))) if was != is => return Ok(false),
        (_, None) if registry::is_gone(record) => return Ok(false),
        _ => {}
    }
    let root = open_worktree(path)?;
    for mount in &journal.mounts {
        let at = absolute(store, mount);
        let is_there = match root.open_beneath(mount) {
            Ok(dir) => {
                dir.stat_self().context("look at", &at)?.is_mount_point
                    || is_known(store, journal, operation, &dir, mount)?
            }
            Err(err) if err.kind() == ErrorKind::NotFound => false,
            // A file or a link.
            Err(err) if ckpt_fs::is_absence(&err) => true,
            Err(err) => return Err(err).context("open", at),
        };
        if !is_there {
            return unmounted(at);
        }
    }
    Ok(true)
}

/// Whether something stands in the directory at `path` that was there before the restore or shall be there after it, or a
/// temporary of it.
fn is_known(store: &Inner, journal: &Journal, operation: &Operation, dir: &Dir, path: &[u8]) -> Result<bool> {
    let objects = &store.objects;
    let mut entries = Entries::default();
    dir.read_entries(&mut entries).context("read", absolute(store, path))?;
    if entries.is_empty() {
        return Ok(false);
    }
    let before = Checkpoint::require(objects, journal.safety, store.id)?.state(objects)?;
    for state in [before, operation.state(objects)?] {
        let node = match path {
            b"" => Some(state),
            path => state::find(objects, &state, path)?.and_then(|entry| entry.dir),
        };
        let Some(node) = node else { continue };
        let listing = node.load(objects)?;
        if entries.iter().any(|entry| listing.get(entry.name).is_some()) {
            return Ok(true);
        }
    }
    let begin = super::temporaries(store)?;
    Ok(begin.is_some_and(|begin| entries.iter().any(|entry| entry.name.starts_with(&begin))))
}
