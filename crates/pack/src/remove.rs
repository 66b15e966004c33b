//! Removing packs that were merged into others, and files of packs that never were complete.

use std::collections::BTreeSet;
use std::sync::Arc;

use ckpt_fs::{Dir, Durability};

use crate::keep::{Keep, file_name, names};
use crate::pack::Pack;
use crate::{Error, ObjectId, Result};

/// The order in which the files of a pack go: without its idx nobody looks for it, and while there is anything left, it
/// has its `.keep`.
const ORDER: [&str; 3] = ["idx", "pack", "keep"];

/// Removes each of `merged`, idx, pack and `.keep` in this order, and syncs the directory; returns those removed. Only a
/// pack that is ours goes, and only while another pack stands there, whole, whose `.keep` says that it holds the first
/// one's objects: so the outcome of a merge never goes along with what went into it, though both may have one name.
///
/// # Errors
/// [`Error::Io`] when a file cannot be read or removed; the packs before it are removed.
pub fn remove_packs(pack_dir: &Dir, merged: &[ObjectId], durability: Durability) -> Result<Vec<ObjectId>> {
    let dir = Arc::new(pack_dir.try_clone().map_err(Error::io("open", "the pack directory"))?);
    let mut standing = Vec::new();
    for name in names(&dir, "idx")? {
        let keep = Keep::read(&dir, &name)?;
        if !keep.merged.is_empty() && Pack::open(&dir, name, false).is_ok() {
            standing.push((name, keep.merged));
        }
    }
    let mut removed = Vec::new();
    for name in merged {
        let replaced = standing.iter().any(|(other, holds)| other != name && holds.contains(name));
        if !replaced || !Keep::read(&dir, name)?.ours {
            continue;
        }
        remove_files(&dir, name)?;
        standing.retain(|(other, _)| other != name);
        removed.push(*name);
    }
    if !removed.is_empty() {
        dir.sync(durability).map_err(Error::io("sync", "the pack directory"))?;
    }
    Ok(removed)
}

/// Removes what a crash between two steps of publishing or removing left: the pack and `.keep` of a pack of ours that
/// has no idx. Returns the names. The caller holds whatever lock keeps others from publishing.
///
/// # Errors
/// [`Error::Io`] when a file cannot be read or removed; those before it are removed.
pub fn remove_orphans(pack_dir: &Dir, durability: Durability) -> Result<Vec<ObjectId>> {
    let complete: BTreeSet<_> = names(pack_dir, "idx")?.into_iter().collect();
    let mut removed = Vec::new();
    for name in names(pack_dir, "keep")? {
        if !complete.contains(&name) && Keep::read(pack_dir, &name)?.ours {
            remove_files(pack_dir, &name)?;
            removed.push(name);
        }
    }
    if !removed.is_empty() {
        pack_dir.sync(durability).map_err(Error::io("sync", "the pack directory"))?;
    }
    Ok(removed)
}

/// Removes the files of a pack, as far as they are there.
fn remove_files(dir: &Dir, name: &ObjectId) -> Result<()> {
    for extension in ORDER {
        let file = file_name(name, extension);
        match dir.remove_file(&file) {
            Err(err) if err.kind() != std::io::ErrorKind::NotFound => return Err(Error::io("remove", file)(err)),
            _ => {}
        }
    }
    Ok(())
}
