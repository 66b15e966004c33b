//! `ckpt prune`.

use std::path::PathBuf;

use ckpt_service::{PruneOutcome, PrunedStore, WorkspaceState};
use serde::Serialize;

use crate::app::App;
use crate::commands::workspaces;
use crate::errors::{Exit, Result};
use crate::json::JsonPath;
use crate::paint::{Painter, Role};
use crate::quoting;
use crate::wording;

const SCHEMA: &str = "ckpt.prune/1";

/// Remove the checkpoints of directories that are gone
///
/// Lists everything in the checkpoint directory that has no workspace, each with what would happen to it and why. Only a
/// store whose directory is certainly gone is removed: where it was, its parent still is. What was moved, is on a volume
/// that is not mounted, is broken, or was not made by ckpt is kept.
///
/// Nothing is removed without --yes or a yes at the terminal.
#[derive(Debug, clap::Args)]
pub(crate) struct PruneArgs {
    /// Remove without asking
    #[arg(short, long)]
    yes: bool,
    /// Show what would be removed, and neither ask nor remove
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
}

/// The body of `ckpt.prune/1`.
#[derive(Serialize)]
struct Body {
    checkpoint_dir: JsonPath,
    dry_run: bool,
    stores: Vec<Row>,
    removed_bytes: u64,
    more: u64,
}

#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    path: Option<JsonPath>,
    store: JsonPath,
    /// `remove` and `keep` in a plan, `removed`, `kept` and `failed` afterwards.
    action: &'static str,
    state: &'static str,
    reason: Option<String>,
}

/// Lists what has no workspace, and removes what is gone if somebody says so.
pub(crate) fn run(app: &App, args: &PruneArgs) -> Result<Exit> {
    let place = app.place_of_settings()?;
    let service = place.service();
    let checkpoint_dir = service.config().checkpoint_dir.clone();
    let plan = service.invalid()?;
    let out = app.printer.out();
    let mut rows = Vec::new();
    for store in &plan.stores {
        let action = if store.is_removable() { "remove" } else { "keep" };
        let row = row(store.path.as_ref(), &store.store, action, &store.reason);
        app.printer.data(line(out, &row))?;
        rows.push(row);
    }
    let removable = plan.stores.iter().filter(|store| store.is_removable()).count() as u64;
    let mut body = Body {
        checkpoint_dir: JsonPath::absolute(&checkpoint_dir),
        dry_run: true,
        stores: rows,
        removed_bytes: 0,
        more: 0,
    };
    if removable == 0 {
        if args.yes {
            // What was left of a removal, or of making a store, that was interrupted goes without being asked for.
            service.prune(plan)?;
        }
        app.printer.say(format_args!("nothing to remove in {}", quoting::path(&checkpoint_dir)));
        app.object(SCHEMA, body)?;
        return Ok(Exit::Done);
    }
    let question = format!("remove {} for good?", wording::count(removable, "store"));
    if !args.yes && (args.dry_run || app.printer.confirm(&question) != Some(true)) {
        let command = app.invocation.command(["prune", "--yes"]);
        app.printer.say(format_args!("nothing was removed; to remove {removable}: {command}"));
        app.object(SCHEMA, body)?;
        return Ok(Exit::Done);
    }
    let pruned = service.prune(plan)?;
    let exit = tell(app, &pruned)?;
    body.dry_run = false;
    body.removed_bytes = pruned.iter().map(removed_bytes).sum();
    body.stores = pruned.iter().map(outcome_row).collect();
    app.object(SCHEMA, body)?;
    Ok(exit)
}

/// Says what was removed, and of what should have been why it was not.
fn tell(app: &App, pruned: &[PrunedStore]) -> Result<Exit> {
    let is_removed = |store: &&PrunedStore| matches!(store.outcome, PruneOutcome::Removed { .. });
    let removed = pruned.iter().filter(is_removed).count() as u64;
    let bytes = pruned.iter().map(removed_bytes).sum();
    app.printer.say(format_args!("removed {}, {}", wording::count(removed, "store"), wording::bytes(bytes)));
    let mut exit = Exit::Done;
    for store in pruned {
        if let PruneOutcome::Failed(err) = &store.outcome {
            app.printer.warn(err.code(), format_args!("{} was not removed: {err}", quoting::path(&store.store)));
            exit = Exit::Failed;
        }
    }
    Ok(exit)
}

fn removed_bytes(store: &PrunedStore) -> u64 {
    match store.outcome {
        PruneOutcome::Removed { bytes } => bytes,
        _ => 0,
    }
}

fn outcome_row(pruned: &PrunedStore) -> Row {
    let path = pruned.path.as_ref();
    match &pruned.outcome {
        PruneOutcome::Removed { .. } => row(path, &pruned.store, "removed", &WorkspaceState::Gone),
        PruneOutcome::Kept(state) => row(path, &pruned.store, "kept", state),
        PruneOutcome::Failed(err) => {
            Row { reason: Some(err.to_string()), ..row(path, &pruned.store, "failed", &WorkspaceState::Gone) }
        }
        // Whatever a later version does besides, it says so itself.
        _ => row(path, &pruned.store, "kept", &WorkspaceState::Gone),
    }
}

fn row(path: Option<&PathBuf>, store: &std::path::Path, action: &'static str, state: &WorkspaceState) -> Row {
    Row {
        path: path.map(|path| JsonPath::absolute(path)),
        store: JsonPath::absolute(store),
        action,
        state: state.word(),
        reason: workspaces::reason(state),
    }
}

/// What happens, why, and of which directory; the store is named below.
fn line(painter: Painter, row: &Row) -> String {
    let role = if row.action == "remove" { Role::Deleted } else { Role::Faint };
    let action = painter.paint(role, format!("{:<6}", row.action));
    let path = row.path.as_ref().unwrap_or(&row.store).text();
    let mut text = format!("{action}  {path}\n        {}", row.state);
    if let Some(reason) = &row.reason {
        text += &format!(": {reason}");
    }
    text.push('\n');
    if row.path.is_some() {
        text += &format!("        {}\n", painter.paint(Role::Faint, row.store.text()));
    }
    text
}
