//! Restores: what the model makes of each.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::rc::Rc;

use ckpt_core::{CheckpointId, Error, PathFault};

use super::attempt::Order;
use super::case::{Accident, Pick, Restore};
use super::disk::{Bytes, Disk, Entry, Files, above, is_in, join, remove, scan};
use super::edit::is_git;
use super::outcome::Kept;
use super::state::{State, is_reserved};
use super::world::{Op, World, ensure, text};

/// A restore before it is done.
pub(crate) struct Wanted {
    pub(crate) target: Files,
    pub(crate) reference: Rc<State>,
    /// The worktree as the safety checkpoint shall hold it, but for what the restore captures besides.
    pub(crate) present: State,
    /// Paths that are looked at; `None`: all.
    pub(crate) scope: Option<Vec<Bytes>>,
    pub(crate) head_after: usize,
    pub(crate) edited: BTreeSet<Bytes>,
    /// What is taken back, whatever the rules say; `None` for a reset or rollback.
    pub(crate) taken_back: Option<TakenBack>,
}

/// What an undo or redo takes back.
pub(crate) struct TakenBack {
    /// Its paths at which something stands that cannot be held.
    pub(crate) refused: BTreeSet<Bytes>,
}

impl World<'_> {
    pub(crate) fn restore(&mut self, restore: &Restore, accident: Accident) -> Result<(), String> {
        self.counts.steps += 1;
        self.counts.restores += 1;
        let disk = scan(&self.root);
        let tip = self.tip();
        match restore {
            Restore::Reset(number) => {
                let (id, wanted) = self.reset_to(*number, &disk);
                let plan = self.store.plan_reset(id).map_err(text)?;
                self.unmoved(&tip)?;
                match self.attempt(accident, &disk, Some(&plan), &Order::Reset(id))? {
                    Some(ended) => self.after(&disk, &wanted, Some(&plan), &ended, Kept::New),
                    None => Ok(()),
                }
            }
            Restore::Rollback(number, picks) => self.rollback(*number, picks, accident, &disk, &tip),
            Restore::Undo | Restore::Redo => {
                let is_undo = matches!(restore, Restore::Undo);
                let plan = if is_undo { self.store.plan_undo() } else { self.store.plan_redo() }.map_err(text)?;
                self.unmoved(&tip)?;
                let op = if is_undo { self.undo.last() } else { self.redo.last() }.cloned();
                ensure(plan.is_some() == op.is_some(), || format!("is there something? {}", op.is_some()))?;
                let (Some(plan), Some(op)) = (plan, op) else {
                    let done = if is_undo { self.store.undo() } else { self.store.redo() }.map_err(text)?;
                    return ensure(done.is_none(), || format!("there was nothing: {done:?}"));
                };
                let wanted = self.take_back(&op, is_undo, &disk);
                let order = if is_undo { Order::Undo } else { Order::Redo };
                let Some(ended) = self.attempt(accident, &disk, Some(&plan), &order)? else { return Ok(()) };
                let _ = if is_undo { self.undo.pop() } else { self.redo.pop() };
                let kept = if is_undo { Kept::Undone(op) } else { Kept::Redone(op) };
                self.after(&disk, &wanted, Some(&plan), &ended, kept)
            }
        }
    }

    fn rollback(
        &mut self,
        number: u16,
        picks: &[(u16, Pick)],
        accident: Accident,
        disk: &Disk,
        tip: &[u8],
    ) -> Result<(), String> {
        let to = self.pick_checkpoint(number);
        let (id, state) = self.checkpoints[to].clone();
        let mut scope: Vec<Bytes> = picks.iter().filter_map(|pick| self.pick_path(*pick, disk, &state)).collect();
        if scope.is_empty() {
            return Ok(());
        }
        let names = scope.iter().map(|path| path.escape_ascii().to_string()).collect::<Vec<_>>();
        self.tell(&format_args!("to checkpoint {to} of {}: {names:?}", self.checkpoints.len()));
        let paths: Vec<_> = scope.iter().map(|path| PathBuf::from(OsStr::from_bytes(path))).collect();
        let plan = self.store.plan_rollback(id, &paths);
        self.unmoved(tip)?;
        scope.sort();
        let all = scope.clone();
        scope.retain(|path| !all.iter().any(|other| other != path && is_in(path, other)));
        scope.dedup();
        let known = |path: &Bytes| disk.files.contains_key(path) || state.entries.contains_key(path);
        if !scope.iter().all(known) {
            let is_unknown = |err: &Error| matches!(err, Error::Path { reason: PathFault::Unknown, .. });
            let done = self.store.rollback(id, &paths);
            ensure(plan.as_ref().is_err_and(is_unknown) && done.as_ref().is_err_and(is_unknown), || {
                format!("an unknown path should be an error: {done:?}")
            })?;
            self.unmoved(tip)?;
            return self.check(&disk.files, disk).map(drop);
        }
        let wanted = Wanted {
            target: state.entries.clone(),
            present: self.present_at(disk, &scope),
            reference: state,
            scope: Some(scope),
            head_after: self.head,
            edited: BTreeSet::new(),
            taken_back: None,
        };
        let plan = plan.map_err(text)?;
        match self.attempt(accident, disk, Some(&plan), &Order::Rollback(id, paths))? {
            Some(ended) => self.after(disk, &wanted, Some(&plan), &ended, Kept::New),
            None => Ok(()),
        }
    }

    /// The workspace goes as a whole, and comes back by a reset. Nothing else works meanwhile.
    pub(crate) fn come_back(&mut self, number: u16, accident: Accident) -> Result<(), String> {
        fs::remove_dir_all(&self.root).unwrap();
        self.is_missing()?;
        let disk = Disk::default();
        let (id, wanted) = self.reset_to(number, &disk);
        let order = Order::Reset(id);
        let ended = match self.attempt(accident, &disk, None, &order)? {
            Some(ended) => ended,
            None => self.attempt(Accident::Nothing, &disk, None, &order)?.ok_or("nobody stopped it")?,
        };
        self.after(&disk, &wanted, None, &ended, Kept::New)
    }

    fn reset_to(&mut self, number: u16, disk: &Disk) -> (CheckpointId, Wanted) {
        let to = self.pick_checkpoint(number);
        let (id, state) = self.checkpoints[to].clone();
        self.tell(&format_args!("to checkpoint {to} of {}", self.checkpoints.len()));
        let wanted = Wanted {
            target: state.entries.clone(),
            reference: state,
            present: self.present(disk),
            scope: None,
            head_after: to,
            edited: BTreeSet::new(),
            taken_back: None,
        };
        (id, wanted)
    }

    /// Where an undo or redo goes: the paths that the operation changed, as they were on one of its sides.
    fn take_back(&self, op: &Op, is_undo: bool, disk: &Disk) -> Wanted {
        let mut present = self.present(disk);
        let side = |sides: &(Option<Entry>, Option<Entry>)| {
            if is_undo { sides.clone() } else { (sides.1.clone(), sides.0.clone()) }
        };
        let changes: BTreeMap<_, _> = op.changed.iter().map(|(path, sides)| (path.clone(), side(sides))).collect();
        let reference = if is_undo { &op.before } else { &op.after };
        let mut refused = BTreeSet::new();
        for path in changes.keys().filter(|path| !is_git(path)) {
            match disk.files.get(path) {
                _ if present.entries.contains_key(path) => {}
                None => {}
                Some(Entry::Special) => {
                    refused.insert(path.clone());
                }
                Some(entry) => {
                    for dir in above(path) {
                        present.entries.entry(dir.to_vec()).or_insert_with(|| disk.files[dir].clone());
                    }
                    if !entry.is_dir() {
                        present.omitted.remove(path);
                    }
                    present.entries.insert(path.clone(), entry.clone());
                }
            }
        }
        let mut target = present.entries.clone();
        for (path, _) in changes.iter().rev().filter(|(_, (old, _))| old.is_none()) {
            let stays = target.get(path).is_some_and(Entry::is_dir)
                && target.keys().any(|known| known != path && is_in(known, path));
            if !stays {
                target.remove(path);
            }
        }
        for (path, (old, _)) in &changes {
            let Some(old) = old else { continue };
            for dir in above(path) {
                if !target.get(dir).is_some_and(Entry::is_dir) {
                    let known = reference.entries.get(dir).filter(|entry| entry.is_dir()).cloned();
                    target.insert(dir.to_vec(), known.unwrap_or(Entry::Dir { mode: 0o755 }));
                }
            }
            if !old.is_dir() {
                remove(&mut target, path);
            }
            target.insert(path.clone(), old.clone());
        }
        let edited = changes.iter().filter(|(path, (old, new))| {
            let now = present.entries.get(*path);
            now != new.as_ref() && now != old.as_ref()
        });
        Wanted {
            edited: edited.map(|(path, _)| path.clone()).collect(),
            target,
            reference: Rc::clone(reference),
            present,
            scope: None,
            taken_back: Some(TakenBack { refused }),
            head_after: if is_undo { op.head_before } else { op.head_after },
        }
    }

    /// The whole worktree as a checkpoint of now would have it.
    fn present(&self, disk: &Disk) -> State {
        State::capture(&disk.files, &self.outside(), Some(self.head_state()), b"")
    }

    /// Head with the paths of `scope` as they stand.
    fn present_at(&self, disk: &Disk, scope: &[Bytes]) -> State {
        let mut present = self.head_state().clone();
        present.outside = self.outside();
        for path in scope {
            let nothing = State::default();
            let mut on_way = true;
            for dir in above(path) {
                if dir.split(|&byte| byte == b'/').any(is_reserved) {
                    break;
                }
                let (is_dir, known) = (disk.files.get(dir).is_some_and(Entry::is_dir), present.entries.get(dir));
                if is_dir && known.is_some_and(Entry::is_dir) {
                    continue;
                }
                present.take(&nothing, dir);
                match disk.files.get(dir) {
                    Some(Entry::Special) | None => on_way = false,
                    Some(entry) => {
                        present.entries.insert(dir.to_vec(), entry.clone());
                        on_way = is_dir;
                    }
                }
                if !on_way {
                    break;
                }
            }
            if !on_way {
                continue;
            }
            let mut below = State::default();
            let is_left_out = path.split(|&byte| byte == b'/').any(is_reserved);
            match disk.files.get(path) {
                None => {}
                Some(_) if above(path).into_iter().any(|dir| !present.entries.contains_key(dir)) => {}
                Some(_) if is_left_out => {
                    below.omitted.insert(path.clone(), "reserved-name");
                }
                Some(Entry::Special) => {
                    below.omitted.insert(path.clone(), "special");
                }
                Some(entry) => {
                    if entry.is_dir() {
                        below = State::capture(&disk.files, &present.outside, Some(self.head_state()), path);
                    }
                    below.entries.insert(path.clone(), entry.clone());
                }
            }
            present.take(&below, path);
        }
        present
    }

    fn pick_checkpoint(&self, number: u16) -> usize {
        let count = self.checkpoints.len();
        let back = usize::from(number) % if number < 40_000 { count.min(4) } else { count };
        count - 1 - back
    }

    fn pick_path(&self, (number, pick): (u16, Pick), disk: &Disk, saved: &State) -> Option<Bytes> {
        let files = match pick {
            Pick::Present => &disk.files,
            Pick::Saved => &saved.entries,
            Pick::Any => return Some(join(if number % 2 == 0 { b"" } else { b"d" }, &self.case.name(number / 2))),
        };
        let paths: Vec<&Bytes> = files.keys().filter(|path| !is_git(path)).collect();
        (!paths.is_empty()).then(|| paths[usize::from(number) % paths.len()].clone())
    }

    fn tip(&self) -> Vec<u8> {
        fs::read(self.store.path().join("refs/heads/timeline")).unwrap()
    }

    fn unmoved(&self, tip: &[u8]) -> Result<(), String> {
        ensure(self.tip() == tip, || "a plan moved the timeline".to_owned())
    }
}
