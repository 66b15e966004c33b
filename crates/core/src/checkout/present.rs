//! What stands in the worktree before a restore, held by the store: the whole of it, or some paths.

use std::cell::RefCell;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use ckpt_fs::{Dir, Entries, FileKind};

use super::apply::absolute;
use crate::checkpoint::Checkpoint;
use crate::error::Context;
use crate::path::{is_below, join, split};
use crate::snapshot::{self, Against, FileRead, Ingest, Purpose, Snapshot, read_file, read_link};
use crate::state::{self, Encoded, Entry, MAX_DEPTH, Name, Node, judge_name};
use crate::store::Inner;
use crate::{Conflict, ConflictReason, EntryKind, Notice, ObjectId, Omitted, Reason, RepoPath, Result};

/// The worktree as it stands, on its way into a safety checkpoint.
pub(crate) struct Present {
    pub(crate) root: Node,
    /// Number of paths that were seen but not captured.
    pub(crate) omitted: u64,
    /// Those among them that are not held as they are, with everything below them.
    not_held: Vec<(RepoPath, ConflictReason)>,
    /// Paths at which something is mounted.
    mounts: Vec<Vec<u8>>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) root_dir: Arc<Dir>,
    /// The walk, where the whole worktree was looked at.
    pub(crate) snapshot: Option<Snapshot>,
}

impl Present {
    /// Looks at the whole worktree.
    pub(crate) fn whole(store: &Inner, against: &Against<'_>, ingest: &dyn Ingest) -> Result<Self> {
        let mut snapshot = snapshot::take(store, against, ingest)?;
        Ok(Self {
            root: snapshot.root.clone(),
            omitted: snapshot.omitted.len() as u64,
            not_held: not_held(&snapshot.omitted),
            mounts: std::mem::take(&mut snapshot.mounts),
            notices: std::mem::take(&mut snapshot.notices),
            root_dir: Arc::clone(&snapshot.root_dir),
            snapshot: Some(snapshot),
        })
    }

    /// The ids of its state, which `ingest` has then. Where nothing was added to what the walk saw, the walk packed it.
    pub(crate) fn encode(&self, store: &Inner, ingest: &dyn Ingest) -> Result<Encoded> {
        match &self.snapshot {
            Some(snapshot) if state::same(&snapshot.root, &self.root) => Ok(snapshot.encoded),
            _ => state::encode(&self.root, &store.objects, ingest, &store.options),
        }
    }

    /// Looks at `paths` only; everything else is taken to be as head has it.
    pub(crate) fn paths(
        store: &Inner,
        head: Option<&Checkpoint>,
        paths: &[RepoPath],
        ingest: &dyn Ingest,
    ) -> Result<Self> {
        let objects = &store.objects;
        let root_dir = Arc::new(crate::session::open_worktree(store.worktree.path())?);
        let head_state = head.map(|head| head.state(objects)).transpose()?;
        let root = head_state.clone().unwrap_or_else(state::empty);
        let mut present = Self {
            root,
            omitted: 0,
            not_held: Vec::new(),
            mounts: Vec::new(),
            notices: Vec::new(),
            root_dir,
            snapshot: None,
        };
        for path in paths {
            if !present.put_above(store, path.as_bytes(), ingest)? {
                continue;
            }
            let below = snapshot::take_below(store, head, head_state.as_ref(), path, ingest)?;
            match below.entry {
                Some(entry) => present.put(store, path.as_bytes(), entry)?,
                None => state::remove(objects, &mut present.root, path.as_bytes())?,
            }
            state::unomit(objects, &mut present.root, path.as_bytes())?;
            if let Some(omitted) = below.omitted.iter().find(|omitted| omitted.path == *path) {
                state::omit(objects, &mut present.root, path.as_bytes(), omitted.reason)?;
            }
            present.omitted += below.omitted.len() as u64;
            present.not_held.extend(not_held(&below.omitted));
            present.mounts.extend(below.mounts);
            present.notices.extend(below.notices);
        }
        Ok(present)
    }

    /// Brings what is above `path` to what the disk has, as far as it is of another kind there: head may know a
    /// directory that is gone, or a file by now. `false`: one of these is no directory, and nothing stands at `path`.
    fn put_above(&mut self, store: &Inner, path: &[u8], ingest: &dyn Ingest) -> Result<bool> {
        let objects = &store.objects;
        for (end, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            let dir = &path[..end];
            let (parent, name) = split(dir);
            // What cannot be looked at, or held, is told about the path itself.
            let opened = self.root_dir.open_beneath(parent).or_short("open", store.worktree.path())?;
            let Ok(parent) = opened else { return Ok(true) };
            if judge_name(name) != Name::Plain {
                return Ok(true);
            }
            let found = match capture_one(&parent, name, ingest)? {
                Captured::Held(entry) => Some(entry),
                Captured::NotHeld(ConflictReason::Special) | Captured::Nothing => None,
                Captured::NotHeld(_) => return Ok(true),
            };
            let is_dir = found.as_ref().is_some_and(|found| found.kind == EntryKind::Dir);
            if is_dir && state::find(objects, &self.root, dir)?.is_some_and(|known| known.kind == EntryKind::Dir) {
                continue;
            }
            match found {
                Some(entry) => self.put(store, dir, entry)?,
                None => state::remove(objects, &mut self.root, dir)?,
            }
            state::unomit(objects, &mut self.root, dir)?;
            if !is_dir {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Puts an entry into the state, with the directories on the way as the disk has them.
    pub(crate) fn put(&mut self, store: &Inner, path: &[u8], entry: Entry) -> Result<()> {
        let root_dir = Arc::clone(&self.root_dir);
        let short = RefCell::new(None);
        let mode = |dir: &[u8]| {
            let stat = root_dir.open_beneath(dir).and_then(|dir| dir.stat_self());
            match stat.or_short("open", absolute(store, dir)) {
                Ok(stat) => stat.map_or(0o755, |stat| u16::try_from(stat.mode & 0o777).unwrap_or(0o755)),
                Err(err) => {
                    short.replace(Some(err));
                    0
                }
            }
        };
        state::replace(&store.objects, &mut self.root, path, entry, &mode)?;
        short.into_inner().map_or(Ok(()), Err)
    }

    /// Captures what stands at `paths` although a rule left it out of the walk: a directory without what is in it. Those
    /// that cannot be held, and why.
    pub(crate) fn capture_named<'p>(
        &mut self,
        store: &Inner,
        paths: impl Iterator<Item = &'p [u8]>,
        ingest: &dyn Ingest,
    ) -> Result<Vec<Conflict>> {
        let objects = &store.objects;
        let root_dir = Arc::clone(&self.root_dir);
        let mut refused = Vec::new();
        for path in paths {
            if self.not_held(path).is_some() || state::find(objects, &self.root, path)?.is_some() {
                continue;
            }
            let (dir, name) = split(path);
            let parent = match root_dir.open_beneath(dir) {
                Ok(parent) => parent,
                Err(err) if ckpt_fs::is_absence(&err) => continue,
                Err(err) => {
                    let reason = unreadable(err, path)?;
                    refused.push(Conflict { path: RepoPath::trusted(path.to_vec()), reason });
                    continue;
                }
            };
            match capture_one(&parent, name, ingest)? {
                Captured::Nothing => {}
                Captured::Held(entry) => {
                    let is_whole = entry.kind != EntryKind::Dir;
                    self.put(store, path, entry)?;
                    if is_whole {
                        state::unomit(objects, &mut self.root, path)?;
                    }
                }
                Captured::NotHeld(reason) => refused.push(Conflict { path: RepoPath::trusted(path.to_vec()), reason }),
            }
        }
        Ok(refused)
    }

    /// The mount points above `paths`.
    pub(crate) fn mounts_above<'p>(&self, paths: &(impl Iterator<Item = &'p [u8]> + Clone)) -> Vec<Vec<u8>> {
        let is_above = |mount: &&Vec<u8>| paths.clone().any(|path| is_below(path, mount));
        self.mounts.iter().filter(is_above).cloned().collect()
    }

    /// Whether something is mounted at `path`, as far as the walk came there.
    pub(crate) fn is_mount_point(&self, path: &[u8]) -> bool {
        self.mounts.iter().any(|mount| mount == path)
    }

    /// Paths of which nobody knows what stands there, and why: the state has what head had.
    pub(crate) fn unknown(&self) -> impl Iterator<Item = &(RepoPath, ConflictReason)> {
        let is_unknown = |reason| matches!(reason, ConflictReason::Unreadable | ConflictReason::Unmounted);
        self.not_held.iter().filter(move |(_, reason)| is_unknown(*reason))
    }

    /// Why the bytes at `path` are not held; `None` where they are, as far as the walk knows.
    pub(crate) fn not_held(&self, path: &[u8]) -> Option<(&RepoPath, ConflictReason)> {
        self.not_held
            .iter()
            .find(|(omitted, _)| is_below(path, omitted.as_bytes()))
            .map(|(path, reason)| (path, *reason))
    }
}

/// The omissions by failure: what is there is not, or not surely, what the state says.
fn not_held(omitted: &[Omitted]) -> Vec<(RepoPath, ConflictReason)> {
    let reason = |omitted: &Omitted| match omitted.reason {
        Reason::Unreadable => Some(ConflictReason::Unreadable),
        Reason::Unstable => Some(ConflictReason::Changing),
        Reason::Unmounted => Some(ConflictReason::Unmounted),
        _ => None,
    };
    omitted.iter().filter_map(|omitted| Some((omitted.path.clone(), reason(omitted)?))).collect()
}

/// What a look without rules found.
pub(crate) enum Captured {
    /// Nothing stands there.
    Nothing,
    /// It is held now, with everything below it.
    Held(Entry),
    /// It cannot be held.
    NotHeld(ConflictReason),
}

/// Captures what stands at `path`, with everything below it: no rule leaves anything out. A directory with something in
/// it that cannot be held is not held, and a mount point, which cannot give way, is not either.
pub(crate) fn capture(store: &Inner, root: &Dir, path: &[u8], ingest: &dyn Ingest) -> Result<Captured> {
    let (dir, name) = split(path);
    let parent = match root.open_beneath(dir) {
        Ok(parent) => parent,
        Err(err) if ckpt_fs::is_absence(&err) => return Ok(Captured::Nothing),
        Err(err) => return Ok(Captured::NotHeld(unreadable(err, path)?)),
    };
    if is_mount_point(&parent, name) {
        return Ok(Captured::NotHeld(ConflictReason::MountPoint));
    }
    let entry = match capture_one(&parent, name, ingest)? {
        Captured::Held(entry) => entry,
        other => return Ok(other),
    };
    if entry.kind != EntryKind::Dir {
        return Ok(Captured::Held(entry));
    }
    // Directories below, as a list: worktrees may be deep, stacks are not.
    let mut top = Node::Loaded(Arc::default());
    let mut waiting = vec![(Vec::new(), 1_usize)];
    let mut names = Entries::default();
    while let Some((below, depth)) = waiting.pop() {
        let opened =
            parent.open_beneath(&join(name, &below)).and_then(|dir| dir.read_entries(&mut names).map(|()| dir));
        let dir = match opened {
            Ok(dir) => dir,
            Err(err) => return Ok(Captured::NotHeld(unreadable(err, &join(path, &below))?)),
        };
        for found in names.iter() {
            if judge_name(found.name) != Name::Plain {
                let is_git = judge_name(found.name) == Name::DotGit;
                let reason = if is_git { ConflictReason::HoldsGit } else { ConflictReason::HoldsUncaptured };
                return Ok(Captured::NotHeld(reason));
            }
            if is_mount_point(&dir, found.name) {
                return Ok(Captured::NotHeld(ConflictReason::MountPoint));
            }
            match capture_one(&dir, found.name, ingest)? {
                Captured::Nothing => {}
                Captured::Held(entry) => {
                    let path = join(&below, found.name);
                    if entry.kind == EntryKind::Dir {
                        if depth >= MAX_DEPTH {
                            return Ok(Captured::NotHeld(ConflictReason::HoldsUncaptured));
                        }
                        waiting.push((path.clone(), depth + 1));
                    }
                    state::replace(&store.objects, &mut top, &path, entry, &|_| 0o755)?;
                }
                Captured::NotHeld(ConflictReason::Special) => {
                    return Ok(Captured::NotHeld(ConflictReason::HoldsUncaptured));
                }
                Captured::NotHeld(reason) => return Ok(Captured::NotHeld(reason)),
            }
        }
    }
    Ok(Captured::Held(Entry { dir: Some(top), ..entry }))
}

/// The reason for what cannot be opened; an error where that says nothing about it.
fn unreadable(source: std::io::Error, path: &[u8]) -> Result<ConflictReason> {
    if ckpt_fs::is_shortage(&source) {
        return Err(source).context("open", std::ffi::OsStr::from_bytes(path));
    }
    Ok(ConflictReason::Unreadable)
}

fn is_mount_point(dir: &Dir, name: &[u8]) -> bool {
    dir.try_stat(name).ok().flatten().is_some_and(|stat| stat.is_mount_point)
}

/// Captures one entry; a directory without what is in it.
pub(crate) fn capture_one(dir: &Dir, name: &[u8], ingest: &dyn Ingest) -> Result<Captured> {
    let stat = match dir.stat(name) {
        Ok(stat) => stat,
        Err(err) if ckpt_fs::is_absence(&err) => return Ok(Captured::Nothing),
        Err(_) => return Ok(Captured::NotHeld(ConflictReason::Unreadable)),
    };
    let mode = u16::try_from(stat.mode & 0o777).unwrap_or(0);
    let (kind, read) = match stat.kind {
        FileKind::Special => return Ok(Captured::NotHeld(ConflictReason::Special)),
        FileKind::Dir => {
            let node = Node::Loaded(Arc::default());
            let id = ObjectId::ZERO;
            return Ok(Captured::Held(Entry { name: name.to_vec(), kind: EntryKind::Dir, mode, id, dir: Some(node) }));
        }
        FileKind::Link => (EntryKind::Link, read_link(dir, name, stat, ingest)?),
        FileKind::File => (EntryKind::File, read_file(dir, name, &stat, Purpose::Keep, ingest, &mut Vec::new())?),
    };
    Ok(match read {
        FileRead::Vanished => Captured::Nothing,
        FileRead::Unreadable => Captured::NotHeld(ConflictReason::Unreadable),
        FileRead::Read(read) if !read.is_stable => Captured::NotHeld(ConflictReason::Changing),
        FileRead::Read(read) => {
            let mode = match kind {
                EntryKind::Link => 0,
                _ => u16::try_from(read.stat.mode & 0o777).unwrap_or(0),
            };
            Captured::Held(Entry { name: name.to_vec(), kind, mode, id: read.id, dir: None })
        }
    })
}
