//! Making a store: under a temporary name, whole or not at all.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ckpt_fs::Dir;
use ckpt_pack::{KEEP_TEXT, Kind, PackWriter};

use crate::error::Context;
use crate::git_config::config_text;
use crate::layout::{Layout, OWN, TMP, WORKTREE, WorktreeRecord};
use crate::objects::{Objects, pack_error};
use crate::state::{HashOnly, ObjectSink};
use crate::store::{check_network, check_owner};
use crate::timeline::NewOperation;
use crate::{Durability, ObjectId, OperationKind, Result, StoreId, StoreOptions, Worktree, refs, registry, session};

/// Mode of the directories that lead to a store.
const PRIVATE: u32 = 0o700;

/// Makes the store under a temporary name and renames it into place; [`sync_names`] makes that durable. `Ok(false)`: another
/// process was first.
pub(crate) fn create(layout: &Layout, worktree: &Worktree, options: &StoreOptions) -> Result<bool> {
    create_private_dirs(&layout.checkpoint_dir)?;
    check_network(&layout.checkpoint_dir, options)?;
    let root = Dir::open(&layout.checkpoint_dir).context("open", &layout.checkpoint_dir)?;
    check_owner(&root, &layout.checkpoint_dir, 0o002)?;
    let _lock = session::lock(layout, worktree, options)?;
    if root.try_stat(layout.store_name.as_bytes()).context("look at", layout.store_path())?.is_some() {
        return Ok(false);
    }
    let prefix = format!("{TMP}{}-", layout.key);
    registry::sweep(&root, prefix.as_bytes()).context("sweep", &layout.checkpoint_dir)?;
    let tmp = format!("{prefix}{}", ckpt_fs::token().context("name", "a temporary directory")?);
    let made = fill(&root, &tmp, layout, worktree, options).and_then(|()| {
        root.rename_noreplace(tmp.as_bytes(), &root, layout.store_name.as_bytes())
            .context("create", layout.store_path())
    });
    if made.is_err() {
        // Best effort: the next try sweeps what stays.
        let _ = root.remove_tree(tmp.as_bytes());
    }
    made.map(|()| true)
}

/// Makes the name of a new store durable, and the names of the directories above it that we may have made: what is synced
/// in a directory that a power cut takes away is gone with it. The first save does so, whoever made them: that process may
/// have been killed before its sync, or the sync have failed, and nobody could tell by the looks of them.
pub(crate) fn sync_names(checkpoint_dir: &Path, durability: Durability) -> Result<()> {
    let mut at = checkpoint_dir;
    loop {
        let dir = match Dir::open(at) {
            // Where one cannot look, one has made nothing.
            Err(err) if at != checkpoint_dir && err.kind() == std::io::ErrorKind::PermissionDenied => return Ok(()),
            opened => opened.context("open", at)?,
        };
        match dir.sync(durability) {
            // What cannot be synced, as where volumes are mounted on demand, holds no name that we made.
            Err(err) if at != checkpoint_dir && ckpt_fs::is_unsupported(&err) => return Ok(()),
            synced => synced.context("sync", at)?,
        }
        let stat = dir.stat_self().context("look at", at)?;
        let may_be_made_by_us = stat.uid == ckpt_fs::user_id() && stat.mode & 0o7777 == PRIVATE;
        match at.parent() {
            Some(parent) if may_be_made_by_us => at = parent,
            _ => return Ok(()),
        }
    }
}

/// Makes a directory and its missing parents, each with mode 0700.
fn create_private_dirs(path: &Path) -> Result<()> {
    let mut missing = Vec::new();
    let mut existing = path;
    while std::fs::symlink_metadata(existing).is_err() {
        let (Some(parent), Some(name)) = (existing.parent(), existing.file_name()) else { break };
        missing.push(name);
        existing = parent;
    }
    let mut dir = Dir::open(existing).context("open", existing)?;
    let mut at = existing.to_owned();
    for name in missing.iter().rev() {
        at.push(name);
        match dir.create_dir(name.as_bytes(), PRIVATE) {
            Ok(()) => {}
            Err(err) if err.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(err) => return Err(err).context("create", &at),
        }
        dir = dir.open_dir(name.as_bytes()).context("open", &at)?;
    }
    Ok(())
}

/// Everything that is in a new store.
fn fill(root: &Dir, tmp: &str, layout: &Layout, worktree: &Worktree, options: &StoreOptions) -> Result<()> {
    let path = layout.checkpoint_dir.join(tmp);
    let durability = options.durability;
    let id = match options.store_id {
        Some(id) => id,
        None => StoreId::random().context("name", &path)?,
    };
    let mkdir = |parent: &Dir, name: &str| -> Result<Dir> {
        parent.create_dir(name.as_bytes(), 0o700).context("create", path.join(name))?;
        parent.open_dir(name.as_bytes()).context("open", path.join(name))
    };
    let write = |dir: &Dir, name: &str, bytes: &[u8]| {
        dir.write_atomic(format!("{TMP}{name}").as_bytes(), name.as_bytes(), bytes, durability)
            .context("write", path.join(name))
    };
    let store = mkdir(root, tmp)?;
    let objects = mkdir(&store, "objects")?;
    mkdir(&objects, "info")?;
    let packs = mkdir(&objects, "pack")?;
    let refs = mkdir(&store, "refs")?;
    let heads = mkdir(&refs, "heads")?;
    mkdir(&refs, "tags")?;
    let own = mkdir(&store, OWN)?;
    write(&store, "config", config_text().as_bytes())?;
    write(&own, WORKTREE, &WorktreeRecord::of(id, worktree, options.force_worktree).encode())?;
    let tip = write_create_operation(&store, &own, &packs, &path, id, options)?;
    write(&heads, "timeline", format!("{tip}\n").as_bytes())?;
    // HEAD comes last: until it is there, stock git sees no repository.
    write(&store, "HEAD", format!("ref: {}\n", refs::TIMELINE).as_bytes())?;
    for dir in [&refs, &objects, &store] {
        dir.sync(durability).context("sync", &path)?;
    }
    Ok(())
}

/// The first operation of a store.
fn create_operation(id: StoreId, options: &StoreOptions) -> NewOperation<'static> {
    NewOperation {
        kind: OperationKind::Create,
        parent: None,
        time_ns: options.clock.now_ns(),
        store: id,
        tree: ObjectId::EMPTY_TREE,
        checkpoint: None,
        facts_commit: None,
        head: None,
        safety: None,
        paths: &[],
        target: None,
        undo_next: None,
        redo_next: None,
        subject: b"",
    }
}

/// Packs the first operation, with the empty tree that it stands for.
fn write_create_operation(
    store: &Dir,
    own: &Dir,
    packs: &Dir,
    path: &Path,
    id: StoreId,
    options: &StoreOptions,
) -> Result<ObjectId> {
    let fail = |err| pack_error(&path.join("objects"), err);
    let token = ckpt_fs::token().context("name", path)?;
    let mut writer = PackWriter::create(own, &token, 0).map_err(fail)?;
    let objects = Objects::open(store, path)?;
    let commit = create_operation(id, options).commit(&objects)?.encode();
    let mut encoder = ckpt_pack::Encoder::new();
    let mut tip = ObjectId::ZERO;
    for (kind, content) in [(Kind::Tree, b"".as_slice()), (Kind::Commit, &commit)] {
        tip = HashOnly.put(kind, content)?;
        writer.add(&encoder.encode(tip, kind, content)).map_err(fail)?;
    }
    writer.finish(KEEP_TEXT, options.durability).map_err(fail)?.publish(packs, options.durability).map_err(fail)?;
    Ok(tip)
}
