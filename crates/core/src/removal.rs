//! Removing a store whose worktree is gone: out of sight in one durable step, then deleted.
//!
//! Only here does a store ever disappear. What is not certainly a store of ours, or not certainly without its worktree,
//! stays; the question is asked again under the store's lock.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ckpt_fs::{Dir, Entries, Lock, LockError};

use crate::error::Context;
use crate::layout::{Layout, TMP};
use crate::{CheckpointStore, Error, Result, StoreOptions, StoreState, Worktree, registry, session, store};

/// Follows [`TMP`] in the name of a store that is being deleted. Before the dash of any other temporary stands a key,
/// and this is none.
pub(crate) const REMOVED: &str = "prune-";

/// What became of a store that was to be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Removal {
    /// It is gone, and its place is free.
    Removed {
        /// Path that its worktree had.
        worktree: PathBuf,
        /// Number of bytes that its files took.
        bytes: u64,
    },
    /// It stays, because it is not, or no longer, a store without a worktree.
    Kept(StoreState),
    /// Nothing stands there.
    Absent,
}

/// Removes the store at `store`, if it is ours and its worktree is [gone](StoreState::Gone). Of `options` only the lock's
/// timeout, the durability and the observer matter.
///
/// The store is renamed aside first, durably. A crash leaves it whole, or leaves what [`sweep_removed`] takes away.
/// Whether its worktree was [moved](StoreState::Moved) is for [`stores`](crate::stores) to say, which sees them all.
///
/// # Errors
/// [`Error::Locked`]; [`StoreFault::Unsafe`](crate::StoreFault::Unsafe) for a directory of another user; [`Error::Io`], after which the store is
/// as it was or is left for [`sweep_removed`].
pub fn remove_store(store: &Path, options: &StoreOptions) -> Result<Removal> {
    let (Some(checkpoint_dir), Some(name)) = (store.parent(), store.file_name()) else {
        return Ok(Removal::Kept(StoreState::NotOurs));
    };
    let checkpoint_dir = crate::path::real_path(checkpoint_dir)?;
    let root = match Dir::open(&checkpoint_dir) {
        Ok(root) => root,
        Err(err) if err.kind() == std::io::ErrorKind::NotFound => return Ok(Removal::Absent),
        Err(err) => return Err(err).context("open", &checkpoint_dir),
    };
    // Before the lock, since the lock file is made for it: what is not ours gets none.
    let look = || match root.try_stat(name.as_bytes()).context("look at", store)? {
        Some(_) => registry::state_of(&root, name.as_bytes()).map(Some),
        None => Ok(None),
    };
    let (Some(StoreState::Gone { worktree }), Some(key)) = (look()?, registry::key_of(name.as_bytes())) else {
        return Ok(look()?.map_or(Removal::Absent, Removal::Kept));
    };
    store::check_owner(&root, &checkpoint_dir, 0o002)?;
    let layout = Layout { checkpoint_dir, key, store_name: name.to_string_lossy().into_owned() };
    let _lock = session::lock(&layout, &Worktree::locate(&worktree)?, options)?;
    let worktree = match look()? {
        Some(StoreState::Gone { worktree }) => worktree,
        state => return Ok(state.map_or(Removal::Absent, Removal::Kept)),
    };
    store::check_owner(&root.open_dir(name.as_bytes()).context("open the store", store)?, store, 0o022)?;
    let bytes = registry::store_bytes(store)?;
    let aside = format!("{TMP}{REMOVED}{}-{}", layout.key, ckpt_fs::token().context("name", store)?);
    root.rename_noreplace(name.as_bytes(), &root, aside.as_bytes()).context("remove", store)?;
    root.sync(options.durability).context("sync", &layout.checkpoint_dir)?;
    root.remove_tree(aside.as_bytes()).context("remove", layout.checkpoint_dir.join(&aside))?;
    Ok(Removal::Removed { worktree, bytes })
}

/// Deletes what was left under `checkpoint_dir` when the removal of a store was interrupted, or the making of one: nobody
/// may ever come to make that one again. Those that still run are left alone.
///
/// # Errors
/// [`Error::Io`], after which the next call goes on.
pub fn sweep_removed(checkpoint_dir: &Path) -> Result<()> {
    let root = match Dir::open(checkpoint_dir) {
        Ok(root) => root,
        Err(err) if err.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(err) => return Err(err).context("open", checkpoint_dir),
    };
    let mut entries = Entries::default();
    root.read_entries(&mut entries).context("read", checkpoint_dir)?;
    for entry in entries.iter() {
        let path = checkpoint_dir.join(OsStr::from_bytes(entry.name));
        let Some(key) = key_of_temporary(entry.name) else { continue };
        let layout = Layout { checkpoint_dir: checkpoint_dir.to_owned(), key, store_name: String::new() };
        let locks = session::locks_dir(&layout)?;
        let holder = std::process::id().to_string();
        // Whoever makes a store, or removes one, holds its lock until the last file is there, or deleted.
        let name = layout.lock_name();
        match Lock::acquire(&locks, name.as_bytes(), &holder, Duration::ZERO, &mut |_| {}, &|| false) {
            Ok(_lock) => root.remove_tree(entry.name).context("remove", path)?,
            Err(LockError::Held(_) | LockError::Stopped) => {}
            Err(LockError::Io(source)) => return Err(Error::Io { action: "lock", path, source }),
        }
    }
    Ok(())
}

/// The key in the name of a temporary beside the stores.
fn key_of_temporary(name: &[u8]) -> Option<String> {
    let rest = std::str::from_utf8(name).ok()?.strip_prefix(TMP)?;
    let (key, _) = rest.strip_prefix(REMOVED).unwrap_or(rest).split_once('-')?;
    (key.len() == 16 && key.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| key.to_owned())
}

impl CheckpointStore {
    /// Whether the store that this handle opened still stands at its path. A handle of a store that was removed or
    /// replaced since answers every write with [`StoreFault::Replaced`](crate::StoreFault::Replaced).
    pub fn is_current(&self) -> bool {
        let opened = self.0.dir.stat_self().ok().map(|stat| (stat.device, stat.inode));
        opened.is_some() && opened == crate::layout::dir_identity(&self.0.path)
    }
}
