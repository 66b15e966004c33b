//! Removing packs that were merged into others, and files of packs that never were complete.

use std::collections::BTreeSet;
use std::sync::Arc;

use ckpt_fs::{Dir, Durability, Entries, FileKind};

use crate::idx::Idx;
use crate::keep::{Keep, file_name, keep_merged, names};
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
/// has no idx, if its idx is still a temporary in `tmp_dir`, or another pack's `.keep` says that it holds all of it. Any
/// other pack without an idx has lost it, and may hold what exists nowhere else. Returns the names. The caller holds
/// whatever lock keeps others from publishing, and removes the temporaries afterwards.
///
/// # Errors
/// [`Error::Io`] when a file cannot be read or removed; those before it are removed.
pub fn remove_orphans(pack_dir: &Dir, tmp_dir: &Dir, durability: Durability) -> Result<Vec<ObjectId>> {
    let complete: BTreeSet<_> = names(pack_dir, "idx")?.into_iter().collect();
    let packs: BTreeSet<_> = names(pack_dir, "pack")?.into_iter().collect();
    let mut removed = Vec::new();
    let mut explained: Option<BTreeSet<ObjectId>> = None;
    for name in names(pack_dir, "keep")? {
        if complete.contains(&name) || !Keep::read(pack_dir, &name)?.ours {
            continue;
        }
        if explained.is_none() {
            explained = Some(unpublished(tmp_dir)?.into_iter().chain(keep_merged(pack_dir)?).collect());
        }
        if !packs.contains(&name) || explained.as_ref().is_some_and(|explained| explained.contains(&name)) {
            remove_files(pack_dir, &name)?;
            removed.push(name);
        }
    }
    if !removed.is_empty() {
        pack_dir.sync(durability).map_err(Error::io("sync", "the pack directory"))?;
    }
    Ok(removed)
}

/// The packs whose idx is a temporary in `tmp_dir`.
fn unpublished(tmp_dir: &Dir) -> Result<Vec<ObjectId>> {
    let mut entries = Entries::default();
    tmp_dir.read_entries(&mut entries).map_err(Error::io("list", "the directory for temporary files"))?;
    let is_idx = |entry: &ckpt_fs::Entry<'_>| entry.name.ends_with(b".idx");
    let pack_of = |entry: ckpt_fs::Entry<'_>| {
        let file = tmp_dir.open_file(entry.name).ok()?;
        let stat = Dir::stat_file(&file).ok().filter(|stat| stat.kind == FileKind::File)?;
        Idx::read(&file, stat.size).ok().map(|idx| idx.pack)
    };
    Ok(entries.iter().filter(is_idx).filter_map(pack_of).collect())
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
