//! What `rollback`, `reset`, `undo` and `redo` share: how a plan or a receipt is told.

use ckpt_service::{
    CheckpointId, CheckpointStore, Conflict, LeftAlone, Notice, Operation, OperationId, OperationKind, PathChange,
    Plan, Receipt, Recovery, RepoPath, StoreError, WorkspaceFault,
};
use serde::Serialize;

use crate::app::App;
use crate::changes;
use crate::errors::{Exit, Failure, Result};
use crate::hints;
use crate::json::{self, Change, Counts, JsonPath, Reasoned, Recovered};
use crate::paint::Role;
use crate::quoting;
use crate::reasons;
use crate::wording;
use crate::workspace::Place;

type StoreResult<T> = std::result::Result<T, StoreError>;

/// Paths that are named on stderr; the receipt in JSON has all.
const MAX_LISTED: usize = 10;

/// What a restore did, or would do.
pub(crate) struct Restored {
    is_plan: bool,
    kind: OperationKind,
    operation: Option<OperationId>,
    to: CheckpointId,
    target: Option<OperationId>,
    head: Option<CheckpointId>,
    safety: Option<CheckpointId>,
    changes: Vec<PathChange>,
    conflicts: Vec<Conflict>,
    left_alone: Vec<LeftAlone>,
    edited_since: Vec<RepoPath>,
    recovered: Option<Recovery>,
    notices: Vec<Notice>,
}

impl From<Plan> for Restored {
    fn from(plan: Plan) -> Self {
        Self {
            is_plan: true,
            kind: plan.kind,
            operation: None,
            to: plan.to,
            target: plan.target,
            head: None,
            safety: None,
            changes: plan.changes,
            conflicts: plan.conflicts,
            left_alone: plan.left_alone,
            edited_since: plan.edited_since,
            recovered: None,
            notices: plan.notices,
        }
    }
}

impl From<Receipt> for Restored {
    fn from(receipt: Receipt) -> Self {
        Self {
            is_plan: false,
            kind: receipt.kind,
            operation: receipt.operation,
            to: receipt.to,
            target: receipt.target,
            head: receipt.head,
            safety: receipt.safety,
            changes: receipt.changes,
            conflicts: receipt.conflicts,
            left_alone: receipt.left_alone,
            edited_since: receipt.edited_since,
            recovered: receipt.recovered,
            notices: receipt.notices,
        }
    }
}

/// Takes what a restore answered; of a failure it says what there is to do, which is not what other commands would say.
pub(crate) fn answered<T>(app: &App, place: &Place, store: &CheckpointStore, result: StoreResult<T>) -> Result<T> {
    result.map_err(|err| {
        let hint = match &err {
            StoreError::Workspace { path, reason: WorkspaceFault::Missing } => Some(format!(
                "it may be on a volume that is not mounted; if it is gone for good, make it and try again: mkdir -p {}",
                quoting::shell(path)
            )),
            StoreError::Interrupted => None,
            _ if store.is_restore_pending().unwrap_or(false) => {
                Some(hints::for_pending(&err, &app.invocation, &place.whereabouts()))
            }
            _ => None,
        };
        let failure = Failure::from(err);
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    })
}

/// The body of `ckpt.rollback/1`, `ckpt.reset/1`, `ckpt.undo/1` and `ckpt.redo/1`.
#[derive(Serialize)]
struct Body {
    dry_run: bool,
    operation: Option<String>,
    to: String,
    target: Option<String>,
    head: Option<String>,
    safety: Option<String>,
    counts: Counts,
    changes: Vec<Change>,
    conflicts: Vec<Reasoned>,
    left_alone: Vec<Reasoned>,
    edited_since: Vec<JsonPath>,
    more: u64,
    complete: bool,
    take_back: Option<String>,
    recovered: Option<Recovered>,
}

impl Restored {
    /// Tells it, and how the command ends: with 3 if a path stays that should have changed.
    pub(crate) fn tell(&self, app: &App, place: &Place, store: &CheckpointStore) -> Result<Exit> {
        app.tell_notices(&self.notices);
        let out = app.printer.out();
        let mut text = changes::lines(place, out, &self.changes);
        for conflict in &self.conflicts {
            let word = out.paint(Role::Problem, format!("{:<9}", "conflict"));
            let reason = format!("({}: {})", conflict.reason.word(), reasons::conflict(conflict.reason));
            let reason = out.paint(Role::Faint, reason);
            text += &format!("{word} {} {reason}\n", place.text(&conflict.path));
        }
        app.printer.data(text)?;
        self.say_what(app, store);
        self.say_head(app, store);
        self.say_besides(app, place);
        app.object(&format!("ckpt.{}/1", self.kind.word()), self.body(app))?;
        Ok(if self.conflicts.is_empty() { Exit::Done } else { Exit::Partial })
    }

    /// The sentence about the whole.
    fn say_what(&self, app: &App, store: &CheckpointStore) {
        let printer = &app.printer;
        let mut to = printer.err().paint(Role::Id, self.to.short());
        // It is done: that the message cannot be read is no reason to say that it failed.
        if let Ok(info) = store.checkpoint(self.to) {
            to += &format!(" {}", wording::quoted_message(&info.message));
        }
        let what = match (self.kind, self.target.and_then(|target| word_of(store, target))) {
            (OperationKind::Undo | OperationKind::Redo, Some(verb)) => {
                format!("{} back the last {verb}", if self.is_plan { "would take" } else { "took" })
            }
            (OperationKind::Rollback, _) => {
                format!("{} back to {to}", if self.is_plan { "would roll" } else { "rolled" })
            }
            (kind, _) => format!("{}{} to {to}", if self.is_plan { "would " } else { "" }, kind.word()),
        };
        if self.changes.is_empty() && self.conflicts.is_empty() {
            printer.say(format_args!("{what}: nothing to change, no file differs"));
        } else {
            let signs = changes::signs(Counts::of(&self.changes));
            printer.say(format_args!("{what}: {signs}{}", if self.is_plan { "; nothing was written" } else { "" }));
        }
    }

    /// Where head is now, if an undo or redo moved it; and that checkpoints are out of line now.
    fn say_head(&self, app: &App, store: &CheckpointStore) {
        let moved = if self.is_plan { self.planned_head(store) } else { self.head }.zip(self.head_before(store));
        let Some((head, before)) = moved else { return };
        if head == before {
            return;
        }
        let printer = &app.printer;
        let rest = match is_before(store, before, head) {
            Some(false) => Some(app.invocation.command(["ls", "--all"])),
            _ => None,
        };
        if self.kind == OperationKind::Reset {
            if let Some(command) = rest {
                printer.say(format_args!("the checkpoints that were saved after it stay; to see them: {command}"));
            }
            return;
        }
        let id = printer.err().paint(Role::Id, head.short());
        let message = store.checkpoint(head).map(|info| wording::quoted_message(&info.message)).unwrap_or_default();
        let rest = rest.map_or(String::new(), |command| {
            format!("; the checkpoints that are out of line now stay; to see them: {command}")
        });
        let is = if self.is_plan { "would be" } else { "is now" };
        printer.say(format_args!("head {is} {id} {message}{rest}"));
    }

    /// Head before it was done, or is.
    fn head_before(&self, store: &CheckpointStore) -> Option<CheckpointId> {
        match self.operation {
            Some(done) => since(store, done)?.nth(1)?.head,
            None if self.is_plan => store.head().ok()?,
            None => None,
        }
    }

    /// Head as it would be.
    fn planned_head(&self, store: &CheckpointStore) -> Option<CheckpointId> {
        match self.kind {
            OperationKind::Reset => Some(self.to),
            OperationKind::Undo => since(store, self.target?)?.nth(1)?.head,
            OperationKind::Redo => {
                let undone = since(store, self.target?)?.next()?.target?;
                since(store, undone)?.next()?.head
            }
            _ => None,
        }
    }

    /// What stayed, where the old bytes are, and how to take it back.
    fn say_besides(&self, app: &App, place: &Place) {
        let printer = &app.printer;
        if !self.conflicts.is_empty() {
            let stays = if self.is_plan { "would stay" } else { "stayed" };
            let count = wording::count(wording::length(&self.conflicts), "path");
            let what = if self.conflicts.len() == 1 { "it is" } else { "they are" };
            printer.say(format_args!("{count} {stays} as {what}, each for the reason beside it"));
        }
        let section = |title: String, lines: Vec<String>| {
            if !lines.is_empty() {
                printer.say(format_args!("{title}:\n{}", lines.join("\n")));
            }
        };
        let left = reasons::limited(&self.left_alone, Some(MAX_LISTED), |left| {
            format!("  {} ({}: {})", place.text(&left.path), left.reason.word(), reasons::left_alone(left.reason))
        });
        section("left alone".to_owned(), left);
        let edited = reasons::limited(&self.edited_since, Some(MAX_LISTED), |path| format!("  {}", place.text(path)));
        let kept = self.safety.map_or(String::new(), |id| format!("; the edits are in {}", id.short()));
        section(format!("edited since{kept}"), edited);
        if let (Some(command), Some(safety)) = (self.take_back(app), self.safety) {
            printer.say(format_args!("what was there before is in {}; to take this back: {command}", safety.short()));
        } else if let Some(command) = self.take_back(app) {
            printer.say(format_args!("to take this back: {command}"));
        }
    }

    /// The command that takes it back, where something was done.
    fn take_back(&self, app: &App) -> Option<String> {
        let verb = if self.kind == OperationKind::Undo { "redo" } else { "undo" };
        self.operation.map(|_| app.invocation.command([verb]))
    }

    fn body(&self, app: &App) -> Body {
        let id = |id: CheckpointId| id.to_string();
        Body {
            dry_run: self.is_plan,
            operation: self.operation.map(|id| id.to_string()),
            to: id(self.to),
            target: self.target.map(|id| id.to_string()),
            head: self.head.map(id),
            safety: self.safety.map(id),
            counts: Counts::of(&self.changes),
            changes: self.changes.iter().map(Change::from).collect(),
            conflicts: self.conflicts.iter().map(|it| Reasoned::new(&it.path, it.reason.word())).collect(),
            left_alone: self.left_alone.iter().map(|it| Reasoned::new(&it.path, it.reason.word())).collect(),
            edited_since: json::paths(&self.edited_since),
            more: 0,
            complete: self.conflicts.is_empty(),
            take_back: self.take_back(app),
            recovered: self.recovered.as_ref().map(Recovered::from),
        }
    }
}

/// The timeline from an operation back, that operation first.
fn since(store: &CheckpointStore, id: OperationId) -> Option<impl Iterator<Item = Operation>> {
    let timeline = store.timeline().ok()?;
    Some(timeline.map_while(Result::ok).skip_while(move |operation| operation.id != id))
}

/// Whether `head` was made from `old`, at whatever distance.
fn is_before(store: &CheckpointStore, old: CheckpointId, head: CheckpointId) -> Option<bool> {
    let old = store.checkpoint(old).ok()?;
    let mut at = store.checkpoint(head).ok()?;
    while at.depth > old.depth {
        at = store.checkpoint(at.previous?).ok()?;
    }
    Some(at.id == old.id)
}

/// The verb of an operation.
fn word_of(store: &CheckpointStore, target: OperationId) -> Option<&'static str> {
    since(store, target)?.next().map(|operation| operation.kind.word())
}
