//! Removing packs that were merged into others, and settling what is not complete.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ckpt_fs::{Dir, Durability, Entries, FileKind};

use crate::idx::Idx;
use crate::keep::{Keep, file_name, names, parse_file_name};
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

/// Settles what a crash between two steps of publishing or removing left. A pack without an idx whose idx is still a
/// temporary in `tmp_dir` gets it: it is whole, and what stands under its name may be what had lost its idx before, and
/// exist nowhere else. Removed are packs of ours without an idx, and idx files without a pack, if another pack's `.keep`
/// says that it holds all of them, and that pack is whole; and each `.keep` of ours alone, also one that a power cut left
/// empty or in part. Any other pack without an idx has lost it, and stays. Returns the names of those removed. The caller holds whatever lock
/// keeps others from publishing, and removes the temporaries afterwards.
///
/// # Errors
/// [`Error::Io`] when a file cannot be read, renamed or removed; those before it are settled.
pub fn settle_orphans(pack_dir: &Dir, tmp_dir: &Dir, durability: Durability) -> Result<Vec<ObjectId>> {
    let [idxs, packs, keeps] = files(pack_dir)?;
    let mut removed = Vec::new();
    let mut is_changed = false;
    let mut explained = None;
    let mut whole = BTreeMap::new();
    for name in idxs.symmetric_difference(&packs).chain(keeps.difference(&packs)).collect::<BTreeSet<_>>() {
        if explained.is_none() {
            explained = Some((unpublished(tmp_dir)?, merges(pack_dir)?));
        }
        let Some((unpublished, merges)) = &explained else { continue };
        let keep = Keep::read(pack_dir, name)?;
        let is_candidate = keep.ours || keep.is_torn || !keeps.contains(name);
        if let Some(tmp) = unpublished.get(name).filter(|_| packs.contains(name)) {
            let idx = file_name(name, "idx");
            tmp_dir.rename(tmp, pack_dir, &idx).map_err(Error::io("publish", idx))?;
            is_changed = true;
        } else if is_candidate && is_held(pack_dir, name, merges, &mut whole)?
            || !packs.contains(name) && !idxs.contains(name) && (keep.ours || keep.is_torn)
        {
            remove_files(pack_dir, name)?;
            removed.push(*name);
            is_changed = true;
        }
    }
    if is_changed {
        pack_dir.sync(durability).map_err(Error::io("sync", "the pack directory"))?;
    }
    Ok(removed)
}

/// The packs that others were merged into, each with the names of these.
fn merges(dir: &Dir) -> Result<Vec<(ObjectId, Vec<ObjectId>)>> {
    let mut merges = Vec::new();
    for name in names(dir, "idx")? {
        let keep = Keep::read(dir, &name)?;
        if !keep.merged.is_empty() {
            merges.push((name, keep.merged));
        }
    }
    Ok(merges)
}

/// Whether a pack stands there, whole from its first byte to its last, whose `.keep` says that it holds all of `name`: what
/// is removed here may be the only other copy. `known` remembers which are whole.
fn is_held(
    dir: &Dir,
    name: &ObjectId,
    merges: &[(ObjectId, Vec<ObjectId>)],
    known: &mut BTreeMap<ObjectId, bool>,
) -> Result<bool> {
    let dir = Arc::new(dir.try_clone().map_err(Error::io("open", "the pack directory"))?);
    for (other, _) in merges.iter().filter(|(other, holds)| other != name && holds.contains(name)) {
        let is_whole = match known.get(other) {
            Some(is_whole) => *is_whole,
            None => match Pack::open(&dir, *other, false).and_then(|pack| pack.is_whole()) {
                Ok(is_whole) => is_whole,
                Err(Error::Damaged { .. }) => false,
                Err(err) if err.is_vanished() => false,
                Err(err) => return Err(err),
            },
        };
        known.insert(*other, is_whole);
        if is_whole {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Names of all packs in `dir` that have an idx, that have a pack file, and that have a `.keep`.
fn files(dir: &Dir) -> Result<[BTreeSet<ObjectId>; 3]> {
    let mut entries = Entries::default();
    dir.read_entries(&mut entries).map_err(Error::io("list", "the pack directory"))?;
    let with = |extension| entries.iter().filter_map(|entry| parse_file_name(entry.name, extension)).collect();
    Ok(["idx", "pack", "keep"].map(with))
}

/// The packs whose idx is a temporary in `tmp_dir`, with its name: packs that are being published, if anybody holds the
/// lock.
///
/// # Errors
/// [`Error::Io`] when the directory cannot be read.
pub fn unpublished(tmp_dir: &Dir) -> Result<BTreeMap<ObjectId, Vec<u8>>> {
    let mut entries = Entries::default();
    tmp_dir.read_entries(&mut entries).map_err(Error::io("list", "the directory for temporary files"))?;
    let is_idx = |entry: &ckpt_fs::Entry<'_>| entry.name.ends_with(b".idx");
    let pack_of = |entry: ckpt_fs::Entry<'_>| {
        let file = tmp_dir.open_file(entry.name).ok()?;
        let stat = Dir::stat_file(&file).ok().filter(|stat| stat.kind == FileKind::File)?;
        Idx::read(&file, stat.size).ok().map(|idx| (idx.pack, entry.name.to_vec()))
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
