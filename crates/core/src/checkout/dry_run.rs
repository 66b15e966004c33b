//! What a restore would do, without doing it.

use super::{Restore, interrupted, is_to_be_made, path_changes, prepare};
use crate::differences::{to_path_change, visible};
use crate::session::check_identity;
use crate::snapshot::HashUntilStopped;
use crate::state;
use crate::store::Inner;
use crate::{Plan, Result};

/// Tells what a restore would do.
pub(crate) fn plan<'a>(store: &'a Inner, restore: &Restore<'a>) -> Result<Plan> {
    interrupted::require_none(store)?;
    if is_to_be_made(store, check_identity(store)?.as_ref()) {
        return plan_anew(store, restore);
    }
    let tip = store.tip()?;
    let head = store.head(&tip)?;
    let prepared = prepare(store, restore, &tip, head.as_ref(), None, &HashUntilStopped(&*store.options.observer))?;
    Ok(Plan {
        kind: restore.kind,
        to: restore.to.info.id,
        target: restore.target,
        changes: path_changes(&prepared.planned.steps),
        conflicts: prepared.planned.conflicts,
        left_alone: prepared.planned.left_alone,
        edited_since: prepared.edited_since,
        notices: prepared.present.notices,
    })
}

/// Tells what a restore into a worktree that is gone would do: there is nothing there that it could meet.
fn plan_anew(store: &Inner, restore: &Restore<'_>) -> Result<Plan> {
    let nothing = state::empty();
    let (aim, edited_since) = (restore.aim)(&nothing)?;
    let changes = visible(state::changes(&store.objects, Some(&nothing), Some(&aim))?);
    Ok(Plan {
        kind: restore.kind,
        to: restore.to.info.id,
        target: restore.target,
        changes: changes.iter().map(to_path_change).collect(),
        conflicts: Vec::new(),
        left_alone: Vec::new(),
        edited_since,
        notices: Vec::new(),
    })
}
