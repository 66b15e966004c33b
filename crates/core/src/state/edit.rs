//! Changing single paths of a state in memory.

use std::sync::Arc;

use super::{Change, Entry, EntryInfo, EntryKind, Listing, Node};
use crate::objects::Objects;
use crate::path::split;
use crate::{ObjectId, Reason, Result};

/// Gives the mode of a directory that has to be made, by its path.
pub(crate) type DirMode<'a> = &'a dyn Fn(&[u8]) -> u16;

/// The entry at `path` (not the root); `None` where nothing stands.
pub(crate) fn find(objects: &Objects, root: &Node, path: &[u8]) -> Result<Option<Entry>> {
    let mut node = root.clone();
    let mut names = path.split(|&byte| byte == b'/').peekable();
    while let Some(name) = names.next() {
        let listing = node.load(objects)?;
        let Some(entry) = listing.get(name) else { return Ok(None) };
        if names.peek().is_none() {
            return Ok(Some(entry.clone()));
        }
        match &entry.dir {
            Some(dir) => node = dir.clone(),
            None => return Ok(None),
        }
    }
    Ok(None)
}

/// Puts `entry` at `path` (whose last component becomes its name), with all that is below it. Directories on the way
/// that are missing, or are something else, are made with the modes that `dir_mode` gives for their paths.
pub(crate) fn replace(
    objects: &Objects,
    root: &mut Node,
    path: &[u8],
    entry: Entry,
    dir_mode: DirMode<'_>,
) -> Result<()> {
    let (dir, name) = split(path);
    let Some(listing) = descend(objects, root, dir, Some(dir_mode))? else { return Ok(()) };
    let entry = Entry { name: name.to_vec(), ..entry };
    match listing.entries.binary_search_by(|known| known.name.as_slice().cmp(name)) {
        Ok(at) => listing.entries[at] = entry,
        Err(at) => listing.entries.insert(at, entry),
    }
    Ok(())
}

/// Takes the entry at `path` away, with all that is below it.
pub(crate) fn remove(objects: &Objects, root: &mut Node, path: &[u8]) -> Result<()> {
    let (dir, name) = split(path);
    let Some(listing) = descend(objects, root, dir, None)? else { return Ok(()) };
    if let Ok(at) = listing.entries.binary_search_by(|known| known.name.as_slice().cmp(name)) {
        listing.entries.remove(at);
    }
    Ok(())
}

/// Takes the omission at `path` away.
pub(crate) fn unomit(objects: &Objects, root: &mut Node, path: &[u8]) -> Result<()> {
    let (dir, name) = split(path);
    let Some(listing) = descend(objects, root, dir, None)? else { return Ok(()) };
    listing.omitted.retain(|(omitted, _)| omitted != name);
    Ok(())
}

/// Puts an omission at `path`, in a directory that is there.
pub(crate) fn omit(objects: &Objects, root: &mut Node, path: &[u8], reason: Reason) -> Result<()> {
    let (dir, name) = split(path);
    let Some(listing) = descend(objects, root, dir, None)? else { return Ok(()) };
    match listing.omitted.binary_search_by(|(known, _)| known.as_slice().cmp(name)) {
        Ok(at) => listing.omitted[at].1 = reason,
        Err(at) => listing.omitted.insert(at, (name.to_vec(), reason)),
    }
    Ok(())
}

/// Takes `changes` back in `root`: every path gets its `old` side again, whatever stands there now; paths that no change
/// names stay. `before` is the state that the `old` sides come from. Where nothing was and a directory is now, it goes
/// only when nothing else is in it.
pub(crate) fn subtract(objects: &Objects, root: &mut Node, before: &Node, changes: &[Change]) -> Result<()> {
    let mode_before = |path: &[u8]| match find(objects, before, path) {
        Ok(Some(Entry { kind: EntryKind::Dir, mode, .. })) => mode,
        _ => super::Defaults::default().dir,
    };
    // Children come after their parents in `changes`: backwards, a directory is looked at when its entries are done.
    for change in changes.iter().rev() {
        if change.old.is_none() {
            let keep = find(objects, root, &change.path)?.is_some_and(|entry| match &entry.dir {
                Some(dir) => dir.load(objects).map_or(true, |listing| !listing.entries.is_empty()),
                None => false,
            });
            if !keep {
                remove(objects, root, &change.path)?;
            }
        }
    }
    for change in changes {
        let Some(old) = change.old else { continue };
        let dir = match (old.kind, find(objects, root, &change.path)?) {
            (EntryKind::Dir, Some(Entry { dir: Some(dir), .. })) => Some(dir),
            (EntryKind::Dir, _) => Some(Node::Loaded(Arc::new(Listing::default()))),
            _ => None,
        };
        replace(objects, root, &change.path, entry_of(old, dir), &mode_before)?;
    }
    Ok(())
}

fn entry_of(info: EntryInfo, dir: Option<Node>) -> Entry {
    let id = if info.kind == EntryKind::Dir { ObjectId::ZERO } else { info.id };
    Entry { name: Vec::new(), kind: info.kind, mode: info.mode, id, dir }
}

/// The listing of the directory at `path`, ready to be changed. Missing directories are made where `dir_mode` is given;
/// else the answer is `None`.
fn descend<'a>(
    objects: &Objects,
    root: &'a mut Node,
    path: &[u8],
    dir_mode: Option<DirMode<'_>>,
) -> Result<Option<&'a mut Listing>> {
    let mut listing = load_mut(objects, root)?;
    let mut start = 0;
    while start < path.len() {
        let end = path[start..].iter().position(|&byte| byte == b'/').map_or(path.len(), |at| start + at);
        let name = &path[start..end];
        let at = match listing.entries.binary_search_by(|known| known.name.as_slice().cmp(name)) {
            Ok(at) if listing.entries[at].dir.is_some() => at,
            found => {
                let Some(dir_mode) = dir_mode else { return Ok(None) };
                let made = Entry {
                    name: name.to_vec(),
                    kind: EntryKind::Dir,
                    mode: dir_mode(&path[..end]),
                    id: ObjectId::ZERO,
                    dir: Some(Node::Loaded(Arc::default())),
                };
                match found {
                    Ok(at) => {
                        listing.entries[at] = made;
                        at
                    }
                    Err(at) => {
                        listing.entries.insert(at, made);
                        at
                    }
                }
            }
        };
        let Some(dir) = listing.entries[at].dir.as_mut() else { return Ok(None) };
        listing = load_mut(objects, dir)?;
        start = end + 1;
    }
    Ok(Some(listing))
}

fn load_mut<'a>(objects: &Objects, node: &'a mut Node) -> Result<&'a mut Listing> {
    if let Node::Stored(_) = node {
        *node = Node::Loaded(node.load(objects)?);
    }
    match node {
        // An edited directory is not what the walk saw any more: the stat cache must not take its ids.
        Node::Loaded(listing) => {
            let listing = Arc::make_mut(listing);
            listing.slot = None;
            Ok(listing)
        }
        Node::Stored(_) => unreachable!("it was loaded just now"),
    }
}
