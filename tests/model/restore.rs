//! Restores, with what the model says of them and the law.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::rc::Rc;

use ckpt_core::{Error, PathFault, Plan, Receipt};
use ckpt_pack::{Kind, hash_object};

use super::case::{Pick, Restore};
use super::disk::{Bytes, Disk, Entry, Files, above, is_in, join, remove, scan};
use super::edit::is_git;
use super::predict::{Goal, Prediction};
use super::state::{State, is_reserved};
use super::world::{Op, World, ensure, text};

/// A restore before it is done.
struct Wanted {
    target: Files,
    reference: Rc<State>,
    /// The worktree as the safety checkpoint shall hold it, but for what the restore captures besides.
    present: State,
    /// Paths that are looked at; `None`: all.
    scope: Option<Vec<Bytes>>,
    head_after: usize,
    edited: BTreeSet<Bytes>,
}

impl World<'_> {
    pub(crate) fn restore(&mut self, restore: &Restore) -> Result<(), String> {
        self.counts.steps += 1;
        self.counts.restores += 1;
        let disk = scan(&self.root);
        let before_tip = self.tip();
        match restore {
            Restore::Reset(number) => {
                let to = self.pick_checkpoint(*number);
                let (id, state) = self.checkpoints[to].clone();
                self.tell(&format_args!("to checkpoint {to} of {}", self.checkpoints.len()));
                let wanted = Wanted {
                    target: state.entries.clone(),
                    reference: state,
                    present: self.present(&disk),
                    scope: None,
                    head_after: to,
                    edited: BTreeSet::new(),
                };
                let plan = self.store.plan_reset(id).map_err(text)?;
                self.unmoved(&before_tip)?;
                let receipt = self.store.reset(id).map_err(text)?;
                self.after(&disk, &wanted, &plan, &receipt, Kept::New)
            }
            Restore::Rollback(number, picks) => self.rollback(*number, picks, &disk, &before_tip),
            Restore::Undo | Restore::Redo => {
                let is_undo = matches!(restore, Restore::Undo);
                let plan = if is_undo { self.store.plan_undo() } else { self.store.plan_redo() }.map_err(text)?;
                self.unmoved(&before_tip)?;
                let receipt = if is_undo { self.store.undo() } else { self.store.redo() }.map_err(text)?;
                let op = if is_undo { self.undo.pop() } else { self.redo.pop() };
                ensure(plan.is_some() == op.is_some() && receipt.is_some() == op.is_some(), || {
                    format!("should there be something to take back? {}", op.is_some())
                })?;
                let (Some(plan), Some(receipt), Some(op)) = (plan, receipt, op) else { return Ok(()) };
                let wanted = self.take_back(&op, is_undo, &disk);
                self.after(&disk, &wanted, &plan, &receipt, if is_undo { Kept::Undone(op) } else { Kept::Redone(op) })
            }
        }
    }

    fn rollback(&mut self, number: u16, picks: &[(u16, Pick)], disk: &Disk, tip: &[u8]) -> Result<(), String> {
        let to = self.pick_checkpoint(number);
        let (id, state) = self.checkpoints[to].clone();
        let mut scope: Vec<Bytes> = picks.iter().filter_map(|pick| self.pick_path(*pick, disk, &state)).collect();
        if scope.is_empty() {
            return Ok(());
        }
        let names = scope.iter().map(|path| path.escape_ascii().to_string()).collect::<Vec<_>>();
        self.tell(&format_args!("to checkpoint {to} of {}: {names:?}", self.checkpoints.len()));
        let paths: Vec<_> = scope.iter().map(|path| std::path::Path::new(std::ffi::OsStr::from_bytes(path))).collect();
        let (plan, done) = (self.store.plan_rollback(id, &paths), self.store.rollback(id, &paths));
        scope.sort();
        let all = scope.clone();
        scope.retain(|path| !all.iter().any(|other| other != path && is_in(path, other)));
        scope.dedup();
        let known = |path: &Bytes| disk.files.contains_key(path) || state.entries.contains_key(path);
        if !scope.iter().all(known) {
            let is_unknown = |err: &Error| matches!(err, Error::Path { reason: PathFault::Unknown, .. });
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
        };
        self.after(disk, &wanted, &plan.map_err(text)?, &done.map_err(text)?, Kept::New)
    }

    /// Where an undo or redo goes: the paths that the operation changed, as they were on one of its sides.
    fn take_back(&self, op: &Op, is_undo: bool, disk: &Disk) -> Wanted {
        let present = self.present(disk);
        let side = |sides: &(Option<Entry>, Option<Entry>)| {
            if is_undo { sides.clone() } else { (sides.1.clone(), sides.0.clone()) }
        };
        let changes: BTreeMap<_, _> = op.changed.iter().map(|(path, sides)| (path.clone(), side(sides))).collect();
        let reference = if is_undo { &op.before } else { &op.after };
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
        let edited = changes.iter().filter(|(path, (_, new))| present.entries.get(*path) != new.as_ref());
        Wanted {
            edited: edited.map(|(path, _)| path.clone()).collect(),
            target,
            reference: Rc::clone(reference),
            present,
            scope: None,
            head_after: if is_undo { op.head_before } else { op.head_after },
        }
    }

    /// Compares what a restore did with the model, and takes it down.
    fn after(
        &mut self,
        disk: &Disk,
        wanted: &Wanted,
        plan: &Plan,
        receipt: &Receipt,
        kept: Kept,
    ) -> Result<(), String> {
        ensure(receipt.recovered.is_none(), || format!("nothing was interrupted: {receipt:?}"))?;
        ensure(
            (&plan.changes, &plan.conflicts, &plan.left_alone, &plan.edited_since)
                == (&receipt.changes, &receipt.conflicts, &receipt.left_alone, &receipt.edited_since),
            || format!("planned {plan:?}\ndone {receipt:?}"),
        )?;
        let goal = Goal { target: &wanted.target, reference: &wanted.reference, captured: &wanted.present.entries };
        let mut expected = Prediction::new(&disk.files);
        match &wanted.scope {
            None => goal.visit_all(b"", &mut expected),
            Some(scope) => scope.iter().for_each(|path| goal.visit_named(path, &mut expected)),
        }
        let head_before = std::mem::replace(&mut self.head, wanted.head_after);
        let after = self.check(&expected.files, disk).map_err(|err| format!("{err}\n{receipt:?}"))?;
        let conflicts: BTreeSet<_> =
            receipt.conflicts.iter().map(|conflict| conflict.path.as_bytes().to_vec()).collect();
        ensure(conflicts == expected.conflicts, || {
            format!("conflicts should be {:?}: {receipt:?}", expected.conflicts)
        })?;
        let edited: BTreeSet<_> = receipt.edited_since.iter().map(|path| path.as_bytes().to_vec()).collect();
        ensure(edited == wanted.edited, || format!("edited since should be {:?}: {receipt:?}", wanted.edited))?;
        let changed = changes(&disk.files, &after.files);
        let is_nothing = changed.is_empty() && head_before == self.head && matches!(kept, Kept::New);
        ensure(receipt.operation.is_none() == is_nothing, || {
            format!("is there nothing to do? {is_nothing} {receipt:?}")
        })?;
        if is_nothing {
            return Ok(());
        }
        self.check_law(&changed, receipt)?;
        let mut before = wanted.present.clone();
        for (path, entry) in expected.held {
            // A directory that stays one is held with what is wanted in it only.
            if !(entry.is_dir() && wanted.target.get(&path).is_some_and(Entry::is_dir)) {
                before.omitted.remove(&path);
            }
            before.entries.insert(path, entry);
        }
        // Where head holds it all it is the safety checkpoint, with the rules from outside that it was made by.
        let is_held = before.is_same(&self.checkpoints[head_before].1);
        let before = if is_held { Rc::clone(&self.checkpoints[head_before].1) } else { Rc::new(before) };
        if is_held {
            ensure(receipt.safety == Some(self.checkpoints[head_before].0), || {
                format!("head holds it all: {receipt:?}")
            })?;
        } else {
            let id = receipt.safety.ok_or("no safety checkpoint")?;
            ensure(self.checkpoints.iter().all(|(known, _)| *known != id), || format!("an old safety: {receipt:?}"))?;
            self.checkpoints.push((id, Rc::clone(&before)));
        }
        match kept {
            Kept::Undone(op) => self.redo.push(op),
            Kept::Redone(op) => self.undo.push(op),
            Kept::New => {
                let after = Rc::new(after_state(wanted, &before, &after.files));
                self.undo.push(Op { changed, before, after, head_before, head_after: self.head });
                self.redo.clear();
            }
        }
        Ok(())
    }

    /// The law: every file's bytes that are gone from their path are in the safety checkpoint.
    fn check_law(&self, changed: &Changed, receipt: &Receipt) -> Result<(), String> {
        let content = |entry: &Option<Entry>| match entry {
            Some(Entry::File { bytes, .. } | Entry::Link { target: bytes }) => Some(Rc::clone(bytes)),
            _ => None,
        };
        let gone: Vec<_> = changed
            .iter()
            .filter_map(|(path, (old, new))| Some((path, content(old)?, content(new))))
            .filter(|(_, old, new)| new.as_ref() != Some(old))
            .collect();
        if gone.is_empty() {
            return Ok(());
        }
        let safety = receipt.safety.ok_or("no safety checkpoint")?;
        let listing = self.git(&["ls-tree", "-r", "-z", "--full-tree", &safety.to_string()])?;
        let held: BTreeMap<&[u8], &[u8]> = listing
            .split(|&byte| byte == 0)
            .filter_map(|line| {
                let tab = line.iter().position(|&byte| byte == b'\t')?;
                Some((&line[tab + 1..], line[..tab].rsplit(|&byte| byte == b' ').next()?))
            })
            .collect();
        for (path, old, _) in gone {
            let id = hash_object(Kind::Blob, &old).map_err(text)?.to_string();
            ensure(held.get(path.as_slice()) == Some(&id.as_bytes()), || {
                format!("lost: {} {}\n{receipt:?}", path.escape_ascii(), old.escape_ascii())
            })?;
        }
        Ok(())
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

/// What becomes of the operation.
enum Kept {
    New,
    Undone(Op),
    Redone(Op),
}

type Changed = BTreeMap<Bytes, (Option<Entry>, Option<Entry>)>;

fn changes(before: &Files, after: &Files) -> Changed {
    let paths = before.keys().chain(after.keys());
    let sides = paths.map(|path| (path.clone(), (before.get(path).cloned(), after.get(path).cloned())));
    sides.filter(|(_, (old, new))| old != new).collect()
}

/// The state that the operation stands for.
fn after_state(wanted: &Wanted, before: &State, disk: &Files) -> State {
    let in_scope = |path: &Bytes| {
        wanted.scope.as_ref().is_none_or(|scope| scope.iter().any(|at| is_in(path, at) || is_in(at, path)))
    };
    let mut after = State { outside: wanted.reference.outside.clone(), ..State::default() };
    for path in before.entries.keys().chain(wanted.target.keys().filter(|path| in_scope(path))) {
        let entry = if in_scope(path) { disk.get(path) } else { before.entries.get(path) };
        if let Some(entry) = entry {
            after.entries.insert(path.clone(), entry.clone());
        }
    }
    after.omitted = wanted.reference.omitted.clone();
    after
}
