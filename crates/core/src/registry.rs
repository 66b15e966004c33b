//! All stores under one checkpoint directory, as far as their records tell.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use ckpt_fs::{Dir, Entries, FileKind};

use crate::error::Context;
use crate::layout::{LOCKS, OWN, RecordFault, WORKTREE, WorktreeRecord, dir_identity, is_mount_point};
use crate::{Error, Result, Worktree};

/// What stands under a checkpoint directory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreEntry {
    /// The directory, absolute.
    pub path: PathBuf,
    /// What it is.
    pub state: StoreState,
}

/// What a directory under a checkpoint directory is. Each comes from the store's record and a look at the worktree's
/// place; nothing else of the store is read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreState {
    /// A store whose worktree is there.
    Valid {
        /// Real path of the worktree.
        worktree: PathBuf,
    },
    /// A store whose worktree is gone: its parent is the recorded one, and the child is not in it.
    Gone {
        /// Path that the worktree had.
        worktree: PathBuf,
    },
    /// A store whose worktree is gone, and stands under another path now: renamed in its parent, or known to another
    /// store.
    Moved {
        /// Path that the worktree had.
        worktree: PathBuf,
        /// Path that it has now.
        to: PathBuf,
        /// The store that it has under that path, if one was made there.
        store: Option<PathBuf>,
    },
    /// A store whose worktree cannot be seen now: its parent is missing or another one, as when a volume is unmounted.
    Unmounted {
        /// Path that the worktree had.
        worktree: PathBuf,
    },
    /// A store at whose worktree's place something stands that is no directory.
    Obstructed {
        /// Path that the worktree had.
        worktree: PathBuf,
    },
    /// A store of ours whose record is missing, damaged or of a newer format.
    Broken {
        /// What is wrong.
        what: String,
    },
    /// Something else. Never written, never removed.
    NotOurs,
}

/// Lists what stands under `checkpoint_dir`, sorted by name, without the directory of the locks. A missing
/// `checkpoint_dir` holds nothing.
///
/// # Errors
/// [`Error::Io`](crate::Error::Io) when the directory cannot be read.
pub fn stores(checkpoint_dir: &Path) -> Result<Vec<StoreEntry>> {
    let root = match Dir::open(checkpoint_dir) {
        Ok(root) => root,
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(err) => return Err(err).context("open", checkpoint_dir),
    };
    let mut entries = Entries::default();
    root.read_entries(&mut entries).context("read", checkpoint_dir)?;
    let mut stores = Vec::new();
    let mut inodes = HashMap::new();
    for entry in entries.iter() {
        if entry.name == LOCKS.as_bytes() || entry.name.starts_with(crate::layout::TMP.as_bytes()) {
            continue;
        }
        let path = checkpoint_dir.join(as_path(entry.name));
        let (state, inode) = look_at(&root, entry.name)?;
        if let (StoreState::Valid { worktree }, Some(inode)) = (&state, inode) {
            inodes.insert(inode, (worktree.clone(), path.clone()));
        }
        stores.push((StoreEntry { path, state }, inode));
    }
    let valid: HashMap<PathBuf, PathBuf> = inodes.values().cloned().collect();
    let tell_moved = |(mut entry, inode): (StoreEntry, Option<u64>)| {
        match &mut entry.state {
            StoreState::Gone { worktree } => {
                if let Some((to, store)) = inode.and_then(|inode| inodes.get(&inode))
                    && was_here_before(to, &entry.path)
                {
                    let (worktree, to, store) = (worktree.clone(), to.clone(), Some(store.clone()));
                    entry.state = StoreState::Moved { worktree, to, store };
                }
            }
            StoreState::Moved { to, store, .. } => *store = valid.get(to).cloned(),
            _ => {}
        }
        entry
    };
    Ok(stores.into_iter().map(tell_moved).collect())
}

/// What the directory `name` is, as far as it can be told without the records of the others.
pub(crate) fn state_of(root: &Dir, name: &[u8]) -> Result<StoreState> {
    Ok(look_at(root, name)?.0)
}

/// The state of a directory, and the inode that its worktree had. An error where the process ran short of handles: that is
/// no state, and above all not that of a store whose worktree is gone.
fn look_at(root: &Dir, name: &[u8]) -> Result<(StoreState, Option<u64>)> {
    let Ok(dir) = root.open_dir(name).or_short("open", as_path(name))? else { return Ok((StoreState::NotOurs, None)) };
    let record = WorktreeRecord::read(&dir).or_short("read", as_path(name))?;
    let inode = record.as_ref().ok().and_then(|record| record.as_ref().ok()?.inode).map(|(_, inode)| inode);
    Ok((state_by(&dir, name, record)?, inode))
}

fn state_by(dir: &Dir, name: &[u8], record: io::Result<Result<WorktreeRecord, RecordFault>>) -> Result<StoreState> {
    Ok(match record {
        Ok(Ok(record)) if key_of(name) != Some(crate::layout::key(&record.path)) => StoreState::Broken {
            what: format!("its name is not that of the store of {}; it may be a copy", record.path.display()),
        },
        Ok(Ok(record)) => match place_of(record.clone()) {
            StoreState::Gone { worktree } => match renamed_to(dir, &record)? {
                Some(to) => StoreState::Moved { worktree, to, store: None },
                None => StoreState::Gone { worktree },
            },
            state => state,
        },
        Ok(Err(RecordFault::Newer(version))) => {
            StoreState::Broken { what: format!("its format is {version}, newer than this version reads") }
        }
        Ok(Err(fault)) => match crate::git_config::config_format(dir, as_path(name)) {
            Ok(Some(_)) => StoreState::Broken {
                what: match fault {
                    RecordFault::Missing => "its record of the workspace is missing".to_owned(),
                    _ => "its record of the workspace is damaged".to_owned(),
                },
            },
            Err(Error::Io { action, path, source }) if ckpt_fs::is_shortage(&source) => {
                return Err(Error::Io { action, path, source });
            }
            _ => StoreState::NotOurs,
        },
        Err(err) => StoreState::Broken { what: format!("its record cannot be read: {err}") },
    })
}

/// The new name of a worktree that was renamed in its parent: a directory there with the recorded inode, born before the
/// record was written. Where else it may have gone is not searched.
fn renamed_to(store: &Dir, record: &WorktreeRecord) -> Result<Option<PathBuf>> {
    let (Some((_, inode)), Some(parent)) = (record.inode, record.path.parent()) else { return Ok(None) };
    let own = store.open_dir(OWN.as_bytes()).or_short("open", OWN)?;
    let Ok(written) = own.and_then(|own| own.stat(WORKTREE.as_bytes())).map(|stat| stat.mtime_ns) else {
        return Ok(None);
    };
    let mut entries = Entries::default();
    let opened = Dir::open(parent).and_then(|dir| dir.read_entries(&mut entries).map(|()| dir));
    let Ok(dir) = opened.or_short("open", parent)? else { return Ok(None) };
    Ok(entries.iter().find_map(|entry| {
        let is_same = entry.kind.is_none_or(|kind| kind == FileKind::Dir)
            && dir.stat(entry.name).is_ok_and(|stat| stat.kind == FileKind::Dir && stat.inode == inode);
        let path = parent.join(as_path(entry.name));
        let born = is_same.then(|| std::fs::symlink_metadata(&path).and_then(|meta| meta.created()).ok())?;
        let nanoseconds =
            born.and_then(|born| born.duration_since(std::time::UNIX_EPOCH).ok()).map(|age| age.as_nanos());
        // Where birth times are not known the inode decides: a store too many is kept, none too many removed.
        nanoseconds
            .is_none_or(|born| i128::try_from(born).is_ok_and(|born| born <= i128::from(written)))
            .then_some(path)
    }))
}

/// The key in the name of a store: the 16 hex digits after the last `_`.
pub(crate) fn key_of(name: &[u8]) -> Option<String> {
    let (_, key) = std::str::from_utf8(name).ok()?.rsplit_once('_')?;
    (key.len() == 16 && key.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| key.to_owned())
}

/// Whether the directory `dir`, which has the inode that the record in `store` names, is the one that was meant. File
/// systems give the inode of a removed directory to the next one that is made; such a one was born after the record was
/// written. Where birth times are not known the inode decides: a store too many is kept, none too many removed.
pub(crate) fn was_here_before(dir: &Path, store: &Path) -> bool {
    let born = std::fs::symlink_metadata(dir).and_then(|meta| meta.created());
    let written = std::fs::symlink_metadata(store.join(OWN).join(WORKTREE)).and_then(|meta| meta.modified());
    match (born, written) {
        (Ok(born), Ok(written)) => born <= written,
        _ => true,
    }
}

fn place_of(record: WorktreeRecord) -> StoreState {
    let worktree = record.path;
    match std::fs::symlink_metadata(&worktree) {
        Ok(meta) if meta.is_dir() => StoreState::Valid { worktree },
        // A link is how a project is moved to another disk; a file may stand there for any reason. Neither says that
        // the directory is gone.
        Ok(_) => match std::fs::canonicalize(&worktree) {
            Ok(to) if record.inode.is_some() && dir_identity(&to) == record.inode => {
                StoreState::Moved { worktree, to, store: None }
            }
            _ => StoreState::Obstructed { worktree },
        },
        Err(err) if err.kind() == io::ErrorKind::NotFound => gone_or_unmounted(worktree, record.parent),
        Err(_) => StoreState::Unmounted { worktree },
    }
}

fn gone_or_unmounted(worktree: PathBuf, parent: Option<(u64, u64)>) -> StoreState {
    let now = worktree.parent().and_then(dir_identity);
    if parent.is_some() && parent == now { StoreState::Gone { worktree } } else { StoreState::Unmounted { worktree } }
}

/// Whether the worktree that a record names was the root of a volume that is not mounted now: what stands at its path is
/// on the device of its parent, and was not.
pub(crate) fn is_unmounted(record: &WorktreeRecord) -> bool {
    let was_mounted =
        record.mounted || record.inode.zip(record.parent).is_some_and(|(inode, parent)| inode.0 != parent.0);
    let now = dir_identity(&record.path).zip(record.path.parent().and_then(dir_identity));
    was_mounted && !is_mount_point(&record.path) && now.is_some_and(|(inode, parent)| inode.0 == parent.0)
}

/// Whether the worktree that a record names is certainly gone, so that a restore may make it again.
pub(crate) fn is_gone(record: &WorktreeRecord) -> bool {
    matches!(place_of(record.clone()), StoreState::Gone { .. })
}

/// The old path of a directory that another store knows under it: same device and inode, and nothing at the old path.
/// Reads the record of each store.
pub fn moved_from(checkpoint_dir: &Path, worktree: &Worktree) -> Option<PathBuf> {
    let identity = dir_identity(worktree.path())?;
    let root = Dir::open(checkpoint_dir).ok()?;
    let mut entries = Entries::default();
    root.read_entries(&mut entries).ok()?;
    entries.iter().find_map(|entry| {
        let record = WorktreeRecord::read(&root.open_dir(entry.name).ok()?).ok()?.ok()?;
        let is_same = record.inode == Some(identity)
            && record.path != worktree.path()
            && was_here_before(worktree.path(), &checkpoint_dir.join(as_path(entry.name)));
        (is_same && std::fs::symlink_metadata(&record.path).is_err()).then_some(record.path)
    })
}

/// Removes what stands in `dir` under names with `prefix`: temporaries of ours, while the lock is held.
pub(crate) fn sweep(dir: &Dir, prefix: &[u8]) -> io::Result<()> {
    let mut entries = Entries::default();
    dir.read_entries(&mut entries)?;
    for entry in entries.iter().filter(|entry| entry.name.starts_with(prefix)) {
        dir.remove_tree(entry.name)?;
    }
    Ok(())
}

fn as_path(name: &[u8]) -> &Path {
    use std::os::unix::ffi::OsStrExt;

    Path::new(std::ffi::OsStr::from_bytes(name))
}

/// Number of bytes that the files of a store take, as their sizes tell. Links are not followed.
///
/// # Errors
/// [`Error::Io`](crate::Error::Io) when a directory of it cannot be read.
pub fn store_bytes(store: &Path) -> Result<u64> {
    fn sum(dir: &Dir) -> io::Result<u64> {
        let mut entries = Entries::default();
        dir.read_entries(&mut entries)?;
        let mut bytes = 0;
        for entry in entries.iter() {
            let Some(stat) = dir.try_stat(entry.name)? else { continue };
            bytes += match stat.kind {
                FileKind::Dir => sum(&dir.open_dir(entry.name)?)?,
                _ => stat.size,
            };
        }
        Ok(bytes)
    }
    Dir::open(store).and_then(|dir| sum(&dir)).context("read", store)
}
