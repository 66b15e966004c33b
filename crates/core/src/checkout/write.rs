//! Files and links on their way into the worktree.
//!
//! A temporary beside the place, written, verified and synced; then exchanged with what stands there, which is compared
//! and comes back if it is not what the safety checkpoint holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use ckpt_fs::{Dir, Durability, NewFile, Stat};

use super::apply::{Apply, MAX_DIRS, Tried, Trouble, absolute, foreign_owner, is_same};
use super::step::Step;
use crate::error::Context;
use crate::path::split;
use crate::state::EntryInfo;
use crate::{ConflictReason, EntryKind, Result};

/// Files whose temporaries are synced together.
const BATCH_FILES: usize = 256;
/// Bytes after which a batch is full.
const BATCH_BYTES: u64 = 64 << 20;
/// Fewer temporaries are synced one by one; more, by syncing the file system once.
const SYNC_SINGLY: usize = 3;

/// Fewer files are not worth a thread.
const FILES_A_THREAD: usize = 32;

/// A temporary that is written and waits for its place.
struct Ready<'s> {
    step: &'s Step,
    dir: Arc<Dir>,
    tmp: Vec<u8>,
    /// The file, still open, while a batch is so small that its files are synced one by one.
    file: Option<NewFile>,
}

impl Ready<'_> {
    /// Removes what was written, which was never exchanged with anything.
    fn remove(&self) {
        let _ = self.dir.remove_file(&self.tmp);
    }
}

impl Apply<'_> {
    /// Writes the files and links among `steps`, in parallel by directory.
    pub(super) fn write_files(&mut self, steps: &[Step]) -> Result<()> {
        let mut by_dir: BTreeMap<&[u8], Vec<&Step>> = BTreeMap::new();
        let mut count = 0;
        for step in steps {
            if step.to.is_some_and(|to| !to.is_dir()) && !self.is_conflict(step) {
                by_dir.entry(split(&step.path).0).or_default().push(step);
                count += 1;
            }
        }
        let threads = self.threads_for((count / FILES_A_THREAD).min(by_dir.len()));
        if threads < 2 {
            return by_dir.values().try_for_each(|steps| self.write_some(steps.iter().copied()));
        }
        // Each directory goes to the thread that has least to do.
        let mut shares: Vec<Vec<&Step>> = vec![Vec::new(); threads];
        for steps in by_dir.into_values() {
            if let Some(share) = shares.iter_mut().min_by_key(|share| share.len()) {
                share.extend(steps);
            }
        }
        let parent = &*self;
        let parts = ckpt_fs::in_parallel(shares, |share| {
            let mut part = parent.part();
            let result = part.write_some(share.into_iter());
            (result, part)
        });
        let mut result = Ok(());
        for (part_result, part) in parts {
            self.join(part);
            result = result.and(part_result);
        }
        result
    }

    fn write_some<'s>(&mut self, steps: impl Iterator<Item = &'s Step>) -> Result<()> {
        let mut batch: Vec<Ready<'_>> = Vec::new();
        let (mut bytes, mut dirs) = (0, 0);
        for step in steps {
            let Some(to) = step.to else { continue };
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
            let mut prepared = self.prepare(step, to);
            if matches!(&prepared, Err(Trouble::Fatal(err)) if err.is_full()) && !batch.is_empty() {
                // What is ready makes room by what it replaces.
                self.place_all(&mut batch)?;
                (bytes, dirs) = (0, 0);
                prepared = self.prepare(step, to);
            }
            match prepared {
                Ok((ready, size)) => {
                    bytes += size;
                    dirs += usize::from(batch.last().is_none_or(|last| !Arc::ptr_eq(&last.dir, &ready.dir)));
                    batch.push(ready);
                    if batch.len() > SYNC_SINGLY {
                        batch.iter_mut().for_each(|ready| ready.file = None);
                    }
                }
                Err(trouble) => {
                    if let Err(err) = self.note(step, Err(trouble), true) {
                        batch.iter().for_each(Ready::remove);
                        return Err(err);
                    }
                }
            }
            if batch.len() >= BATCH_FILES || bytes >= BATCH_BYTES || dirs >= ckpt_fs::handles(8, MAX_DIRS) {
                self.place_all(&mut batch)?;
                (bytes, dirs) = (0, 0);
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
        if !step.from.map_or(Ok(false), |from| is_same(&dir, name, from))? {
            return Err(Trouble::Conflict(ConflictReason::Changing));
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
            let written = self.write_content(step, file, to, &dir, victim.as_ref());
            if written.is_err() {
                let _ = dir.remove_file(&tmp);
            }
            let (file, size) = written?;
            (Some(file), size)
        };
        Ok((Ready { step, dir, tmp, file }, size))
    }

    fn write_content(
        &self,
        step: &Step,
        mut file: NewFile,
        to: EntryInfo,
        dir: &Dir,
        victim: Option<&Stat>,
    ) -> Result<(NewFile, u64)> {
        let path = absolute(self.store, &step.path);
        let size = self.objects.stream_blob(to.id, &mut file, &path)?;
        let stat = file.stat().context("look at", &path)?;
        if let Some((uid, gid)) = foreign_owner(dir, victim, &stat) {
            let _ = file.set_owner(uid, gid);
        }
        file.set_mode(u32::from(to.mode)).context("set the mode of", &path)?;
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
            self.note(ready.step, tried, true)?;
        }
        Ok(())
    }

    fn sync_batch(&self, batch: &[Ready<'_>]) -> Result<()> {
        if self.durability == Durability::None {
            return Ok(());
        }
        if batch.len() > SYNC_SINGLY {
            return self.root.sync_file_system(self.durability).context("sync", self.store.worktree.path());
        }
        for ready in batch {
            if let Some(file) = &ready.file {
                file.sync(self.durability).context("sync", absolute(self.store, &ready.step.path))?;
            }
        }
        Ok(())
    }

    fn place(&mut self, ready: &Ready<'_>) -> Tried<()> {
        let (dir, tmp, step) = (&ready.dir, &ready.tmp, ready.step);
        let (_, name) = split(&step.path);
        let expected = match step.from {
            Some(from) if !from.is_dir() => from,
            // Nothing stands there, or nothing any more.
            _ => return self.place_where_nothing_is(ready),
        };
        match dir.exchange(tmp, dir, name) {
            Ok(true) => {
                if is_same(dir, tmp, expected)? {
                    return dir.remove_file(tmp).map_err(|err| self.io("remove the old", &step.path, err));
                }
                self.return_edit(step, dir, tmp)?;
                Err(Trouble::Conflict(ConflictReason::Changing))
            }
            // The file system cannot exchange: first aside, then in.
            Ok(false) => {
                let mut aside = tmp.clone();
                aside.push(b'o');
                if let Err(err) = dir.rename_noreplace(name, dir, &aside) {
                    return Err(self.take_away(ready, "move aside", err));
                }
                if !is_same(dir, &aside, expected)? {
                    let _ = dir.remove_file(tmp);
                    self.return_edit(step, dir, &aside)?;
                    return Err(Trouble::Conflict(ConflictReason::Changing));
                }
                let placed = self.place_where_nothing_is(ready);
                dir.remove_file(&aside).map_err(|err| self.io("remove the old", &step.path, err))?;
                placed
            }
            // Somebody removed it meanwhile: nothing is in the way.
            Err(err) if err.kind() == std::io::ErrorKind::NotFound => self.place_where_nothing_is(ready),
            Err(err) => Err(self.take_away(ready, "put in place", err)),
        }
    }

    fn place_where_nothing_is(&self, ready: &Ready<'_>) -> Tried<()> {
        let placed = ready.dir.rename_noreplace(&ready.tmp, &ready.dir, split(&ready.step.path).1);
        placed.map_err(|err| self.take_away(ready, "put in place", err))
    }

    /// Removes a temporary that is our own writing, since it was never exchanged with anything.
    fn take_away(&self, ready: &Ready<'_>, action: &'static str, err: std::io::Error) -> Trouble {
        ready.remove();
        self.io(action, &ready.step.path, err)
    }
}

fn is_mode_only(step: &Step) -> bool {
    matches!((step.from, step.to), (Some(from), Some(to))
        if from.kind == EntryKind::File && to.kind == EntryKind::File && from.id == to.id)
}
