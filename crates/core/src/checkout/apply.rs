//! The only writer of the worktree: brings paths from one state to another, never through a link, and never over bytes
//! that are not the ones it expects.
//!
//! Per file: a temporary `.ckpt-<token>-<number>` in the same directory, written, verified and synced; then it is
//! *exchanged* with what stands there, what came out is compared, and exchanged back if somebody edited it meanwhile.
//! Deletions rename aside, look, and unlink. A file is never changed in place, a mode only where the file has one name.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

use ckpt_fs::{Dir, Durability, NewFile, Stat};

use super::step::{Seen, Step, info_of};
use crate::error::Context;
use crate::objects::Objects;
use crate::path::split;
use crate::state::EntryInfo;
use crate::store::Inner;
use crate::{ConflictReason, EntryKind, Error, Event, Result};

/// Files whose temporaries are synced together.
const BATCH_FILES: usize = 256;
/// Bytes after which a batch is full.
const BATCH_BYTES: u64 = 64 << 20;
/// Fewer temporaries are synced one by one; more, by syncing the file system once.
const SYNC_SINGLY: usize = 3;

/// Begin of the names of all temporaries in the worktree.
pub(crate) const TMP: &str = ".ckpt-";

/// What became of the steps that were not done.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    /// Steps that could not be done: number and why.
    pub(crate) conflicts: Vec<(usize, ConflictReason)>,
}

/// Applies steps below one root.
pub(crate) struct Apply<'a> {
    store: &'a Inner,
    objects: &'a Objects,
    root: &'a Dir,
    token: &'a str,
    durability: Durability,
    dirs: HashMap<Vec<u8>, Arc<Dir>>,
    /// Directories that were made writable for the time being, with the mode that they get in the end.
    loosened: HashMap<Vec<u8>, u16>,
    applied: Applied,
    done: u64,
    total: u64,
    may_stop: bool,
}

/// A temporary that is written and waits for its place.
struct Ready<'s> {
    step: &'s Step,
    dir: Arc<Dir>,
    tmp: Vec<u8>,
    /// The file, still open, while a batch is so small that its files are synced one by one.
    file: Option<NewFile>,
}

/// Why a step was not done.
enum Trouble {
    Conflict(ConflictReason),
    Fatal(Error),
}

impl From<Error> for Trouble {
    fn from(err: Error) -> Self {
        Self::Fatal(err)
    }
}

type Tried<T> = std::result::Result<T, Trouble>;

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
            done: 0,
            total: 0,
            may_stop,
        }
    }

    /// Does the steps, which come parents before children. An error is fatal and leaves some of them undone; whatever a
    /// single path objects to is a conflict, and the others are done.
    pub(crate) fn run(mut self, steps: &[Step]) -> Result<Applied> {
        self.total = steps.len() as u64;
        let result = self.phases(steps);
        // Modes go back whatever happened.
        let loosened = std::mem::take(&mut self.loosened);
        for (path, mode) in loosened {
            if let Ok(dir) = self.root.open_beneath(&path) {
                let _ = dir.set_self_mode(u32::from(mode));
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
    fn note(&mut self, step: &Step, tried: Tried<()>, is_last: bool) -> Result<()> {
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
            self.done += 1;
            self.store.options.observer.event(Event::Restored { done: self.done, total: self.total });
        }
        if self.may_stop { self.store.interrupted() } else { Ok(()) }
    }

    fn is_conflict(&self, step: &Step) -> bool {
        self.applied.conflicts.iter().any(|(number, _)| *number == step.number)
    }

    fn tmp(&self, step: &Step) -> Vec<u8> {
        format!("{TMP}{}-{}", self.token, step.number).into_bytes()
    }

    /// The directory that holds a path.
    fn parent(&mut self, path: &[u8]) -> Tried<Arc<Dir>> {
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
        if self.dirs.len() >= 64 {
            self.dirs.clear();
        }
        self.dirs.insert(dir.to_vec(), Arc::clone(&opened));
        Ok(opened)
    }

    /// Runs a change in the directory of `path`; where its mode forbids it, makes it writable for the time being.
    fn in_dir<T>(
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
    fn io(&self, action: &'static str, path: &[u8], err: std::io::Error) -> Trouble {
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
            _ => {
                use std::os::unix::ffi::OsStrExt;

                let path = self.store.worktree.path().join(std::ffi::OsStr::from_bytes(path));
                Trouble::Fatal(Error::Io { action, path, source: err })
            }
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
        let (_, name) = split(&step.path);
        if is_same(dir, aside, expected)? {
            return dir.remove_file(aside).map_err(|err| self.io("remove", &step.path, err));
        }
        dir.rename_noreplace(aside, dir, name).map_err(|err| self.io("put back", &step.path, err))?;
        Err(Trouble::Conflict(ConflictReason::Changing))
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

    fn write_files(&mut self, steps: &[Step]) -> Result<()> {
        let mut batch: Vec<Ready<'_>> = Vec::new();
        let mut bytes = 0;
        for step in steps {
            let Some(to) = step.to.filter(|to| !to.is_dir()) else { continue };
            if self.is_conflict(step) {
                continue;
            }
            if is_mode_only(step) {
                match self.set_file_mode(step, to) {
                    Ok(true) => {
                        self.note(step, Ok(()), true)?;
                        continue;
                    }
                    Ok(false) => {}
                    Err(trouble) => {
                        self.note(step, Err(trouble), true)?;
                        continue;
                    }
                }
            }
            match self.prepare(step, to) {
                Ok((ready, size)) => {
                    bytes += size;
                    batch.push(ready);
                    if batch.len() > SYNC_SINGLY {
                        batch.iter_mut().for_each(|ready| ready.file = None);
                    }
                }
                Err(trouble) => self.note(step, Err(trouble), true)?,
            }
            if batch.len() >= BATCH_FILES || bytes >= BATCH_BYTES {
                self.place_all(&mut batch)?;
                bytes = 0;
            }
        }
        self.place_all(&mut batch)
    }

    /// Sets the mode of a file whose content stays. `Ok(false)`: it has other names, or is not the file that was
    /// expected; then it is replaced as if its content differed.
    fn set_file_mode(&mut self, step: &Step, to: EntryInfo) -> Tried<bool> {
        let dir = self.parent(&step.path)?;
        let (_, name) = split(&step.path);
        let stat = dir.stat(name).map_err(|err| self.io("look at", &step.path, err))?;
        if stat.links != 1 || stat.kind != ckpt_fs::FileKind::File {
            return Ok(false);
        }
        let mode = stat.mode & 0o7000 | u32::from(to.mode);
        let set = dir.set_mode(name, stat.inode, mode).map_err(|err| self.io("set the mode of", &step.path, err))?;
        if set && self.durability == Durability::Full {
            self.dirs.entry(split(&step.path).0.to_vec()).or_insert(dir);
        }
        Ok(set)
    }

    /// Writes the new content beside its place.
    fn prepare<'s>(&mut self, step: &'s Step, to: EntryInfo) -> Tried<(Ready<'s>, u64)> {
        let dir = self.parent(&step.path)?;
        let (_, name) = split(&step.path);
        let tmp = self.tmp(step);
        let victim = dir.try_stat(name).map_err(|err| self.io("look at", &step.path, err))?;
        let (file, size) = if to.kind == EntryKind::Link {
            let target = self.objects.read_kind(to.id, ckpt_pack::Kind::Blob)?;
            self.in_dir(&step.path, &dir, "create", &|| dir.create_link(&target, &tmp))?;
            let stat = dir.stat(&tmp).map_err(|err| self.io("look at", &step.path, err))?;
            if let Some((uid, gid)) = foreign_owner(&dir, victim.as_ref(), &stat) {
                let _ = dir.set_owner(&tmp, uid, gid);
            }
            (None, target.len() as u64)
        } else {
            let file = self.in_dir(&step.path, &dir, "create", &|| dir.create_new(&tmp, 0o600))?;
            let written = self.write_content(file, to, &dir, victim.as_ref());
            if written.is_err() {
                let _ = dir.remove_file(&tmp);
            }
            let (file, size) = written?;
            (Some(file), size)
        };
        Ok((Ready { step, dir, tmp, file }, size))
    }

    fn write_content(&self, file: NewFile, to: EntryInfo, dir: &Dir, victim: Option<&Stat>) -> Result<(NewFile, u64)> {
        let path = || self.store.worktree.path();
        let mut out = std::io::BufWriter::with_capacity(256 << 10, file);
        let size = self.objects.stream_blob(to.id, &mut out)?;
        out.flush().context("write a file below", path())?;
        let file =
            out.into_inner().map_err(std::io::IntoInnerError::into_error).context("write a file below", path())?;
        let stat = file.stat().context("look at a file below", path())?;
        if let Some((uid, gid)) = foreign_owner(dir, victim, &stat) {
            let _ = file.set_owner(uid, gid);
        }
        file.set_mode(u32::from(to.mode)).context("set the mode of a file below", path())?;
        Ok((file, size))
    }

    /// Syncs a batch of temporaries and puts each in its place.
    fn place_all(&mut self, batch: &mut Vec<Ready<'_>>) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        self.sync_batch(batch)?;
        for ready in batch.drain(..) {
            let tried = self.place(&ready);
            if tried.is_err() {
                let _ = ready.dir.remove_file(&ready.tmp);
            }
            self.note(ready.step, tried, true)?;
        }
        Ok(())
    }

    fn sync_batch(&self, batch: &[Ready<'_>]) -> Result<()> {
        if self.durability == Durability::None {
            return Ok(());
        }
        let path = self.store.worktree.path();
        if batch.len() > SYNC_SINGLY {
            return self.root.sync_file_system(self.durability).context("sync", path);
        }
        for file in batch.iter().filter_map(|ready| ready.file.as_ref()) {
            file.sync(self.durability).context("sync a file below", path)?;
        }
        Ok(())
    }

    fn place(&mut self, ready: &Ready<'_>) -> Tried<()> {
        let (dir, tmp, step) = (&ready.dir, &ready.tmp, ready.step);
        let (_, name) = split(&step.path);
        let expected = match step.from {
            Some(from) if !from.is_dir() => from,
            // Nothing stands there, or nothing any more.
            _ => return dir.rename_noreplace(tmp, dir, name).map_err(|err| self.io("put in place", &step.path, err)),
        };
        match dir.exchange(tmp, dir, name) {
            Ok(true) => {
                if is_same(dir, tmp, expected)? {
                    return dir.remove_file(tmp).map_err(|err| self.io("remove the old", &step.path, err));
                }
                dir.exchange(tmp, dir, name).map_err(|err| self.io("put back", &step.path, err))?;
                Err(Trouble::Conflict(ConflictReason::Changing))
            }
            // The file system cannot exchange: first aside, then in.
            Ok(false) => {
                let mut aside = tmp.clone();
                aside.push(b'o');
                dir.rename_noreplace(name, dir, &aside).map_err(|err| self.io("move aside", &step.path, err))?;
                if !is_same(dir, &aside, expected)? {
                    dir.rename_noreplace(&aside, dir, name).map_err(|err| self.io("put back", &step.path, err))?;
                    return Err(Trouble::Conflict(ConflictReason::Changing));
                }
                dir.rename_noreplace(tmp, dir, name).map_err(|err| self.io("put in place", &step.path, err))?;
                dir.remove_file(&aside).map_err(|err| self.io("remove the old", &step.path, err))
            }
            // Somebody removed it meanwhile: nothing is in the way.
            Err(err) if err.kind() == std::io::ErrorKind::NotFound => {
                dir.rename_noreplace(tmp, dir, name).map_err(|err| self.io("put in place", &step.path, err))
            }
            Err(err) => Err(self.io("put in place", &step.path, err)),
        }
    }
}

/// Whether a step takes away what stands there before anything else may come.
fn is_removal(step: &Step) -> bool {
    match (step.from, step.to) {
        (Some(_), None) => true,
        (Some(from), Some(to)) => from.is_dir() != to.is_dir(),
        (None, _) => false,
    }
}

fn is_mode_only(step: &Step) -> bool {
    matches!((step.from, step.to), (Some(from), Some(to))
        if from.kind == EntryKind::File && to.kind == EntryKind::File && from.id == to.id)
}

/// Whether the entry is what was expected, content, kind and mode.
fn is_same(dir: &Dir, name: &[u8], expected: EntryInfo) -> Result<bool> {
    Ok(matches!(info_of(dir, name)?, Seen::Entry(info, _) if info == expected))
}

/// The owner that a new entry should have and has not: that of what it replaces, else that of its directory.
fn foreign_owner(dir: &Dir, victim: Option<&Stat>, new: &Stat) -> Option<(u32, u32)> {
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
