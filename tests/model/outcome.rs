//! What a restore did, compared with the model, and the law.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use ckpt_core::{CheckpointId, Operation, Plan, Receipt, Recovery, RepoPath};
use ckpt_pack::{Kind, hash_object};
use serde_json::Value;

use super::disk::{Bytes, Disk, Entry, Files, is_in};
use super::predict::{Goal, Prediction};
use super::process::Answer;
use super::restore::Wanted;
use super::state::State;
use super::world::{Op, World, ensure, text};

/// How a restore ended.
pub(crate) struct Ended {
    has_operation: bool,
    safety: Option<CheckpointId>,
    story: String,
}

impl Ended {
    /// It did what its plan says.
    pub(crate) fn by_itself(plan: Option<&Plan>, receipt: &Receipt) -> Result<Self, String> {
        ensure(receipt.recovered.is_none(), || format!("nothing was interrupted: {receipt:?}"))?;
        let is_as_planned = plan.is_none_or(|plan| {
            (&plan.changes, &plan.conflicts, &plan.left_alone, &plan.edited_since)
                == (&receipt.changes, &receipt.conflicts, &receipt.left_alone, &receipt.edited_since)
        });
        ensure(is_as_planned, || format!("planned {plan:?}\ndone {receipt:?}"))?;
        Ok(Self { has_operation: receipt.operation.is_some(), safety: receipt.safety, story: format!("{receipt:?}") })
    }

    /// The next command finished it.
    pub(crate) fn by_recovery(recovery: &Recovery) -> Result<Self, String> {
        ensure(recovery.kept.is_empty(), || format!("nobody was there: {recovery:?}"))?;
        Ok(Self { has_operation: true, safety: recovery.safety, story: format!("{recovery:?}") })
    }

    /// The binary did it.
    pub(crate) fn by_binary(answer: &Answer) -> Result<Self, String> {
        let body = &answer.json;
        ensure(body["recovered"].is_null(), || format!("nothing was interrupted: {answer:?}"))?;
        let has_conflicts = body["conflicts"].as_array().is_some_and(|conflicts| !conflicts.is_empty());
        ensure(answer.code == if has_conflicts { 3 } else { 0 }, || format!("it failed: {answer:?}"))?;
        Self::by_json(body)
    }

    /// It stands in JSON, in a receipt or as what was finished.
    pub(crate) fn by_json(body: &Value) -> Result<Self, String> {
        let safety = body["safety"].as_str().map(|id| id.parse().map_err(text)).transpose()?;
        Ok(Self { has_operation: body["operation"].is_string(), safety, story: body.to_string() })
    }

    /// It is on the timeline, and nobody was left to tell.
    pub(crate) fn by_record(operation: &Operation) -> Self {
        Self { has_operation: true, safety: operation.safety, story: format!("{operation:?}") }
    }
}

impl World<'_> {
    /// Compares what a restore did with the model, and takes it down.
    pub(crate) fn after(
        &mut self,
        disk: &Disk,
        wanted: &Wanted,
        plan: Option<&Plan>,
        ended: &Ended,
        kept: Kept,
    ) -> Result<(), String> {
        let story = &ended.story;
        let goal = Goal {
            target: &wanted.target,
            reference: &wanted.reference,
            captured: &wanted.present.entries,
            taken_back: wanted.taken_back.as_ref(),
        };
        let mut expected = Prediction::new(&disk.files);
        match &wanted.scope {
            None => goal.visit_all(b"", &mut expected),
            Some(scope) => scope.iter().for_each(|path| goal.visit_named(path, &mut expected)),
        }
        let head_before = std::mem::replace(&mut self.head, wanted.head_after);
        self.operations += usize::from(ended.has_operation);
        let after = self.check(&expected.files, disk).map_err(|err| format!("{err}\n{story}"))?;
        expected.check_plan(plan, &wanted.edited).map_err(|err| format!("{err}: {story}"))?;
        let changed = changes(&disk.files, &after.files);
        let is_nothing = changed.is_empty() && head_before == self.head && matches!(kept, Kept::New);
        ensure(ended.has_operation != is_nothing, || format!("is there nothing to do? {is_nothing} {story}"))?;
        if is_nothing {
            return Ok(());
        }
        self.check_law(&changed, ended)?;
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
            ensure(ended.safety == Some(self.checkpoints[head_before].0), || format!("head holds it all: {story}"))?;
        } else {
            let id = ended.safety.ok_or("no safety checkpoint")?;
            ensure(self.checkpoints.iter().all(|(known, _)| *known != id), || format!("an old safety: {story}"))?;
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
    fn check_law(&self, changed: &Changed, ended: &Ended) -> Result<(), String> {
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
        let safety = ended.safety.ok_or("no safety checkpoint")?;
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
                format!("lost: {} {}\n{}", path.escape_ascii(), old.escape_ascii(), ended.story)
            })?;
        }
        Ok(())
    }
}

impl Prediction {
    /// Whether the plan names what stays and what was edited. Without one there was nothing that could.
    fn check_plan(&self, plan: Option<&Plan>, edited: &BTreeSet<Bytes>) -> Result<(), String> {
        let conflicts = paths(plan.iter().flat_map(|plan| plan.conflicts.iter().map(|conflict| &conflict.path)));
        ensure(conflicts == self.conflicts, || format!("conflicts should be {:?}", self.conflicts))?;
        let stays = |path: &Bytes| self.conflicts.iter().any(|conflict| is_in(path, conflict));
        let edited: BTreeSet<Bytes> = edited.iter().filter(|path| !stays(path)).cloned().collect();
        let named = paths(plan.iter().flat_map(|plan| &plan.edited_since));
        ensure(named == edited, || format!("edited since should be {edited:?}"))
    }
}

/// What becomes of the operation.
pub(crate) enum Kept {
    New,
    Undone(Op),
    Redone(Op),
}

fn paths<'a>(paths: impl Iterator<Item = &'a RepoPath>) -> BTreeSet<Bytes> {
    paths.map(|path| path.as_bytes().to_vec()).collect()
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
