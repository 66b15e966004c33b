//! Whether a restore was begun and not ended, and whether it may be finished here.

use std::path::Path;

use ckpt_fs::{Dir, Entries};

use super::apply::absolute;
use super::journal::{self, Found, Journal};
use crate::error::Context;
use crate::layout::dir_identity;
use crate::registry;
use crate::session::{Session, open_worktree};
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
/// belong to this timeline stands for nothing that can be finished, and counts as recorded.
pub(super) fn is_recorded(store: &Inner, journal: &Journal, tip: &Operation) -> Result<bool> {
    for operation in tip.back(&store.objects) {
        let operation = operation?;
        if operation.id == journal.tip {
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

/// Whether the directory is still the one in which the restore was begun. An empty directory where a volume was is an error:
/// the restore waits for that volume. What stands in one that is not empty is compared as anywhere else.
pub(super) fn is_in_place(session: &Session<'_>, journal: &Journal) -> Result<bool> {
    let path = session.store.worktree.path();
    let Some(record) = &session.record else { return Ok(true) };
    let unmounted = |path: &Path| Err(Error::workspace(path, WorkspaceFault::Unmounted));
    if registry::is_unmounted(record) && is_empty(&open_worktree(path)?, path)? {
        return unmounted(path);
    }
    match (record.inode, dir_identity(path)) {
        (Some((_, was)), Some((_, is))) if was != is => return Ok(false),
        (_, None) if registry::is_gone(record) => return Ok(false),
        _ => {}
    }
    let root = open_worktree(path)?;
    for mount in &journal.mounts {
        let path = absolute(session.store, mount);
        let is_there = match root.open_beneath(mount).or_short("open", &path)? {
            Ok(dir) => dir.stat_self().context("look at", &path)?.is_mount_point || !is_empty(&dir, &path)?,
            Err(_) => false,
        };
        if !is_there {
            return unmounted(&path);
        }
    }
    Ok(true)
}

fn is_empty(dir: &Dir, path: &Path) -> Result<bool> {
    let mut entries = Entries::default();
    dir.read_entries(&mut entries).context("read", path)?;
    Ok(entries.is_empty())
}
