//! The only writer of the worktree: brings paths from one state to another, never through a link, and never over bytes
//! that are not the ones it expects.
//!
//! Per file: a temporary `.ckpt-<token>-<number>` in the same directory, written, verified and synced; then it is
//! *exchanged* with what stands there, what came out is compared, and exchanged back if somebody edited it meanwhile.
//! Deletions rename aside, look, and unlink. A file is never changed in place, a mode only where the file has one name.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ckpt_fs::{Dir, Durability, Stat};

use super::give_back::{Returned, give_back};
use super::step::{Seen, Step, info_of};
use crate::error::Context;
use crate::objects::Objects;
use crate::path::{join, split};
use crate::state::EntryInfo;
use crate::store::Inner;
use crate::{ConflictReason, Error, Event, RepoPath, Result};

/// Directories that one thread keeps open, at most an eighth of what the process may open.
pub(super) const MAX_DIRS: usize = 64;

/// Begin of the names of all temporaries in the worktree.
pub(crate) const TMP: &str = ".ckpt-";

/// What became of the steps that were not done.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    /// Steps that could not be done: number and why.
    pub(crate) conflicts: Vec<(usize, ConflictReason)>,
    /// Edits that came in meanwhile, twice at one path: where the older one is now.
    pub(crate) kept_beside: Vec<RepoPath>,
}

/// Applies steps below one root.
pub(crate) struct Apply<'a> {
    pub(super) store: &'a Inner,
    pub(super) objects: &'a Objects,
    pub(super) root: &'a Dir,
    token: &'a str,
    pub(super) durability: Durability,
    pub(super) dirs: HashMap<Vec<u8>, Arc<Dir>>,
    /// Directories that were made writable for the time being, with the mode that they get in the end.
    loosened: HashMap<Vec<u8>, u16>,
    applied: Applied,
    /// Steps that are done, over all threads.
    done: Arc<AtomicU64>,
    total: u64,
    may_stop: bool,
}

/// Why a step was not done.
pub(super) enum Trouble {
    Conflict(ConflictReason),
    Fatal(Error),
}

impl From<Error> for Trouble {
    fn from(err: Error) -> Self {
        Self::Fatal(err)
    }
}

pub(super) type Tried<T> = std::result::Result<T, Trouble>;

impl<'a> Apply<'a> {
    /// `may_stop`: whether the caller's observer can interrupt it.
    pub(crate) fn new(store: &'a Inner, root: &'a Dir, token: &'a str, may_stop: bool) -> Self {
        Self {
            store,
            objects: &store.objects,
            root,
            token,
            durability: store.options.durability,
            dirs: HashMap::new(),
            loosened: HashMap::new(),
            applied: Applied::default(),
            done: Arc::default(),
            total: 0,
            may_stop,
        }
    }

    /// A second hand for some of the files.
    pub(super) fn part(&self) -> Self {
        Self {
            dirs: HashMap::new(),
            loosened: HashMap::new(),
            applied: Applied::default(),
            done: Arc::clone(&self.done),
            ..*self
        }
    }

    /// Takes over what a second hand leaves.
    pub(super) fn join(&mut self, part: Self) {
        self.loosened.extend(part.loosened);
        self.applied.conflicts.extend(part.applied.conflicts);
        self.applied.kept_beside.extend(part.applied.kept_beside);
    }

    /// Number of threads for so many shares of work.
    pub(super) fn threads_for(&self, shares: usize) -> usize {
        self.store.options.threads_for(shares)
    }

    /// Does the steps, which come parents before children. An error is fatal and leaves some of them undone; whatever a
    /// single path objects to is a conflict, and the others are done.
    pub(crate) fn run(mut self, steps: &[Step]) -> Result<Applied> {
        self.total = steps.len() as u64;
        let mut result = self.phases(steps);
        // Modes go back whatever happened.
        let loosened = std::mem::take(&mut self.loosened);
        for (path, mode) in loosened {
            match self.root.open_beneath(&path).or_short("open", absolute(self.store, &path)) {
                Ok(Ok(dir)) => drop(dir.set_self_mode(u32::from(mode))),
                Ok(Err(_)) => {}
                Err(short) => result = result.and(Err(short)),
            }
        }
        result.map(|()| self.applied)
    }

    fn phases(&mut self, steps: &[Step]) -> Result<()> {
        for step in steps.iter().rev().filter(|step| is_removal(step)) {
            let tried = self.remove(step);
            self.note(step, tried, step.to.is_none())?;
        }
        // Handles of removed directories must not be used again.
        self.dirs.clear();
        for step in steps {
            if step.to.is_some_and(|to| to.is_dir()) && !step.from.is_some_and(|from| from.is_dir()) {
                let tried = self.make_dir(step);
                self.note(step, tried, true)?;
            }
        }
        self.write_files(steps)?;
        for step in steps.iter().rev() {
            if let Some(to) = step.to.filter(EntryInfo::is_dir) {
                let tried = self.set_dir_mode(step, to.mode);
                self.note(step, tried, step.from.is_some_and(|from| from.is_dir()))?;
            }
        }
        Ok(())
    }

    /// Takes down what became of a step.
    pub(super) fn note(&mut self, step: &Step, tried: Tried<()>, is_last: bool) -> Result<()> {
        match tried {
            Ok(()) => {}
            Err(Trouble::Conflict(reason)) => {
                if !self.applied.conflicts.iter().any(|(number, _)| *number == step.number) {
                    self.applied.conflicts.push((step.number, reason));
                }
            }
            Err(Trouble::Fatal(err)) => return Err(err),
        }
        if is_last {
            let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
            self.store.options.observer.event(Event::Restored { done, total: self.total });
        }
        if self.may_stop { self.store.interrupted() } else { Ok(()) }
    }

    pub(super) fn is_conflict(&self, step: &Step) -> bool {
        self.applied.conflicts.iter().any(|(number, _)| *number == step.number)
    }

    pub(super) fn tmp(&self, step: &Step) -> Vec<u8> {
        format!("{TMP}{}-{}", self.token, step.number).into_bytes()
    }

    /// The directory that holds a path.
    pub(super) fn parent(&mut self, path: &[u8]) -> Tried<Arc<Dir>> {
        let (dir, _) = split(path);
        if let Some(known) = self.dirs.get(dir) {
            return Ok(Arc::clone(known));
        }
        let opened = match self.root.open_beneath(dir) {
            Ok(opened) => Arc::new(opened),
            Err(err) if err.kind() == std::io::ErrorKind::PermissionDenied => {
                return Err(Trouble::Conflict(ConflictReason::NotWritable));
            }
            Err(err) if ckpt_fs::is_absence(&err) => return Err(Trouble::Conflict(ConflictReason::Blocked)),
            Err(err) => return Err(self.io("open", dir, err)),
        };
        if self.dirs.len() >= ckpt_fs::handles(8, MAX_DIRS) {
            self.dirs.clear();
        }
        self.dirs.insert(dir.to_vec(), Arc::clone(&opened));
        Ok(opened)
    }

    /// Runs a change in the directory of `path`; where its mode forbids it, makes it writable for the time being.
    pub(super) fn in_dir<T>(
        &mut self,
        path: &[u8],
        dir: &Dir,
        action: &'static str,
        change: &dyn Fn() -> std::io::Result<T>,
    ) -> Tried<T> {
        match change() {
            Err(err) if err.kind() == std::io::ErrorKind::PermissionDenied => {
                let (parent, _) = split(path);
                let stat = dir.stat_self().map_err(|err| self.io("look at", parent, err))?;
                if self.loosened.contains_key(parent) || dir.set_self_mode(stat.mode | 0o700).is_err() {
                    return Err(Trouble::Conflict(ConflictReason::NotWritable));
                }
                self.loosened.insert(parent.to_vec(), u16::try_from(stat.mode & 0o7777).unwrap_or(0o755));
                change().map_err(|err| self.io(action, path, err))
            }
            other => other.map_err(|err| self.io(action, path, err)),
        }
    }

    /// An error that concerns a single path is a conflict; one of the disk ends the restore.
    pub(super) fn io(&self, action: &'static str, path: &[u8], err: std::io::Error) -> Trouble {
        use std::io::ErrorKind;

        match err.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem | ErrorKind::ResourceBusy => {
                Trouble::Conflict(ConflictReason::NotWritable)
            }
            ErrorKind::NotFound
            | ErrorKind::AlreadyExists
            | ErrorKind::NotADirectory
            | ErrorKind::IsADirectory
            | ErrorKind::DirectoryNotEmpty => Trouble::Conflict(ConflictReason::Changing),
            ErrorKind::InvalidFilename => Trouble::Conflict(ConflictReason::Blocked),
            _ if ckpt_fs::is_absence(&err) => Trouble::Conflict(ConflictReason::Blocked),
            _ => Trouble::Fatal(Error::Io { action, path: absolute(self.store, path), source: err }),
        }
    }

    fn remove(&mut self, step: &Step) -> Tried<()> {
        let Some(from) = step.from else { return Ok(()) };
        let dir = self.parent(&step.path)?;
        let (_, name) = split(&step.path);
        if from.is_dir() {
            return match self.in_dir(&step.path, &dir, "remove", &|| dir.remove_dir(name)) {
                Err(Trouble::Conflict(ConflictReason::Changing)) => {
                    // Gone already is as good; not empty means that something came meanwhile.
                    match dir.try_stat(name) {
                        Ok(None) => Ok(()),
                        _ => Err(Trouble::Conflict(ConflictReason::HoldsUncaptured)),
                    }
                }
                other => other,
            };
        }
        let mut aside = self.tmp(step);
        aside.push(b'o');
        match self.in_dir(&step.path, &dir, "remove", &|| dir.rename_noreplace(name, &dir, &aside)) {
            Err(Trouble::Conflict(ConflictReason::Changing)) if matches!(dir.try_stat(name), Ok(None)) => Ok(()),
            Err(trouble) => Err(trouble),
            Ok(()) => self.judge_victim(step, &dir, &aside, from),
        }
    }

    /// What came out from under a name: gone for good if it is what the safety checkpoint holds, else put back.
    fn judge_victim(&mut self, step: &Step, dir: &Dir, aside: &[u8], expected: EntryInfo) -> Tried<()> {
        if is_same(dir, aside, expected)? {
            return dir.remove_file(aside).map_err(|err| self.io("remove", &step.path, err));
        }
        self.return_edit(step, dir, aside)?;
        Err(Trouble::Conflict(ConflictReason::Changing))
    }

    /// Brings an edit back that came out from under the name of a step, and notes where it is if the name was taken.
    pub(super) fn return_edit(&mut self, step: &Step, dir: &Dir, tmp: &[u8]) -> Tried<()> {
        let (parent, name) = split(&step.path);
        let returned = give_back(dir, tmp, name, step.to).map_err(|err| self.io("put back", &step.path, err))?;
        if let Returned::Beside(beside) = returned {
            self.applied.kept_beside.push(RepoPath::trusted(join(parent, &beside)));
        }
        Ok(())
    }

    fn make_dir(&mut self, step: &Step) -> Tried<()> {
        if self.is_conflict(step) {
            return Ok(());
        }
        let dir = self.parent(&step.path)?;
        let (_, name) = split(&step.path);
        match self.in_dir(&step.path, &dir, "create", &|| dir.create_dir(name, 0o700)) {
            Ok(()) => {}
            // A directory that somebody made meanwhile is as good as ours.
            Err(Trouble::Conflict(ConflictReason::Changing))
                if dir.stat(name).is_ok_and(|stat| stat.kind == ckpt_fs::FileKind::Dir) =>
            {
                return Ok(());
            }
            Err(trouble) => return Err(trouble),
        }
        let stat = dir.stat(name).map_err(|err| self.io("look at", &step.path, err))?;
        if let Some((uid, gid)) = foreign_owner(&dir, None, &stat) {
            let _ = dir.set_owner(name, uid, gid);
        }
        Ok(())
    }

    fn set_dir_mode(&mut self, step: &Step, mode: u16) -> Tried<()> {
        if self.is_conflict(step) {
            return Ok(());
        }
        let (_, name) = split(&step.path);
        self.loosened.remove(step.path.as_slice());
        let dir = self.parent(&step.path)?;
        let stat = dir.stat(name).map_err(|err| self.io("look at", &step.path, err))?;
        if stat.kind != ckpt_fs::FileKind::Dir {
            return Err(Trouble::Conflict(ConflictReason::Changing));
        }
        if stat.mode & 0o777 == u32::from(mode) {
            return Ok(());
        }
        // Setuid, setgid and sticky are neither saved nor set: they stay.
        let mode = stat.mode & 0o7000 | u32::from(mode);
        match dir.set_mode(name, stat.inode, mode).map_err(|err| self.io("set the mode of", &step.path, err))? {
            true => Ok(()),
            false => Err(Trouble::Conflict(ConflictReason::Changing)),
        }
    }
}

/// A path of the worktree as errors name it.
pub(super) fn absolute(store: &Inner, path: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;

    store.worktree.path().join(std::ffi::OsStr::from_bytes(path))
}

/// Whether a step takes away what stands there before anything else may come.
fn is_removal(step: &Step) -> bool {
    match (step.from, step.to) {
        (Some(_), None) => true,
        (Some(from), Some(to)) => from.is_dir() != to.is_dir(),
        (None, _) => false,
    }
}

/// Whether the entry is what was expected, content, kind and mode.
pub(super) fn is_same(dir: &Dir, name: &[u8], expected: EntryInfo) -> Result<bool> {
    Ok(matches!(info_of(dir, name)?, Seen::Entry(info, _) if info == expected))
}

/// The owner that a new entry should have and has not: that of what it replaces, else that of its directory.
pub(super) fn foreign_owner(dir: &Dir, victim: Option<&Stat>, new: &Stat) -> Option<(u32, u32)> {
    let wanted = match victim {
        Some(victim) => (victim.uid, victim.gid),
        None => {
            let parent = dir.stat_self().ok()?;
            // A directory's group is only inherited where the system does so itself; its owner is where we are root.
            (parent.uid, if parent.uid == new.uid { new.gid } else { parent.gid })
        }
    };
    (wanted != (new.uid, new.gid)).then_some(wanted)
}
