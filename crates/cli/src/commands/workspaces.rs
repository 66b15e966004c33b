//! `ckpt workspaces`.

use std::path::Path;

use ckpt_service::{Workspace, WorkspaceDetails, WorkspaceState};
use serde::Serialize;

use crate::app::App;
use crate::errors::{Exit, Result};
use crate::json::{Checkpoint, JsonPath};
use crate::paint::Role;
use crate::quoting;
use crate::time;
use crate::wording;

const SCHEMA: &str = "ckpt.workspaces/1";

/// List the directories that have checkpoints
///
/// With -l each line has also the state of the directory, how many checkpoints there are, how much space they take, head
/// with its age, and where they are kept. A store that cannot be read is a line like any other.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkspacesArgs {
    /// Show head, number of checkpoints, size, state and store of each
    #[arg(short, long)]
    long: bool,
}

/// The body of `ckpt.workspaces/1`.
#[derive(Serialize)]
struct Body {
    checkpoint_dir: JsonPath,
    workspaces: Vec<Row>,
    more: u64,
}

#[derive(Serialize)]
struct Row {
    /// Of the directory, not of the store.
    #[serde(flatten)]
    path: Option<JsonPath>,
    store: JsonPath,
    state: &'static str,
    reason: Option<String>,
    #[serde(flatten)]
    details: Option<Details>,
}

#[derive(Serialize)]
struct Details {
    head: Option<Checkpoint>,
    checkpoints: u64,
    size_bytes: u64,
    fault: Option<Fault>,
}

#[derive(Serialize)]
struct Fault {
    code: &'static str,
    message: String,
}

/// Lists workspaces.
pub(crate) fn run(app: &App, args: &WorkspacesArgs) -> Result<Exit> {
    let place = app.place_of_settings()?;
    let service = place.service();
    let checkpoint_dir = &service.config().checkpoint_dir;
    let workspaces = service.workspaces()?;
    let mut rows = Vec::new();
    for workspace in &workspaces {
        let details = args.long.then(|| service.workspace_details(workspace));
        app.printer.data(line(app, workspace, details.as_ref()))?;
        rows.push(row(workspace, details));
    }
    if workspaces.is_empty() {
        app.printer.say(format_args!("no workspace has checkpoints in {}", quoting::path(checkpoint_dir)));
    }
    if args.long {
        app.printer.say(format_args!("checkpoints are kept in {}", quoting::path(checkpoint_dir)));
    }
    app.object(SCHEMA, Body { checkpoint_dir: JsonPath::absolute(checkpoint_dir), workspaces: rows, more: 0 })?;
    Ok(Exit::Done)
}

/// The path alone, or everything about it.
fn line(app: &App, workspace: &Workspace, details: Option<&WorkspaceDetails>) -> String {
    let out = app.printer.out();
    let path = shown_path(workspace);
    let Some(details) = details else { return path + "\n" };
    let state = state_word(workspace, Some(details));
    let role = if state == WorkspaceState::Valid.word() { Role::Faint } else { Role::Problem };
    let mut text = format!(
        "{path}\n  {}, {}, {}\n",
        out.paint(role, state),
        wording::count(details.checkpoints, "checkpoint"),
        wording::bytes(details.bytes)
    );
    if let Some(head) = &details.head {
        let age = time::age(head.time_ns, time::now_ns());
        let id = out.paint(Role::Id, head.id.short());
        text += &format!("  head {id} {}, {age}\n", wording::quoted_message(&head.message));
    }
    if let Some(reason) = reason(&workspace.state).or(details.fault.as_ref().map(ToString::to_string)) {
        text += &format!("  {}\n", out.paint(Role::Problem, reason));
    }
    text + &format!("  {}\n", out.paint(Role::Faint, quoting::path(&workspace.store)))
}

/// The word for the state of the directory, or that its store turned out to be broken when it was opened.
fn state_word(workspace: &Workspace, details: Option<&WorkspaceDetails>) -> &'static str {
    let is_broken = details.is_some_and(|details| details.fault.is_some());
    match &workspace.state {
        WorkspaceState::Valid if is_broken => "broken",
        state => state.word(),
    }
}

/// The directory; the store in brackets where that is all that is known.
fn shown_path(workspace: &Workspace) -> String {
    match &workspace.path {
        Some(path) => quoting::path(path),
        None => format!("({})", quoting::path(&workspace.store)),
    }
}

/// What there is to say about a state besides its word.
pub(crate) fn reason(state: &WorkspaceState) -> Option<String> {
    let at = |path: &Path| quoting::path(path);
    match state {
        WorkspaceState::Valid => None,
        WorkspaceState::Gone => Some("the directory is gone, its parent is there".to_owned()),
        WorkspaceState::Moved { to, store } => {
            let store = if store.is_some() { "has a store of its own there" } else { "has no store there yet" };
            Some(format!("the directory is now {}, and {store}", at(to)))
        }
        WorkspaceState::Obstructed => Some("something that is no directory stands at its place".to_owned()),
        WorkspaceState::Unmounted => Some("the directory and its parent cannot be seen, as if not mounted".to_owned()),
        WorkspaceState::Broken(what) => Some(what.clone()),
        WorkspaceState::NotOurs => Some("ckpt did not make it".to_owned()),
        _ => Some("its state is not known to this version".to_owned()),
    }
}

fn row(workspace: &Workspace, details: Option<WorkspaceDetails>) -> Row {
    Row {
        path: workspace.path.as_deref().map(JsonPath::absolute),
        store: JsonPath::absolute(&workspace.store),
        state: state_word(workspace, details.as_ref()),
        reason: reason(&workspace.state),
        details: details.map(|details| Details {
            head: details.head.as_ref().map(Checkpoint::from),
            checkpoints: details.checkpoints,
            size_bytes: details.bytes,
            fault: details.fault.map(|err| Fault { code: err.code(), message: err.to_string() }),
        }),
    }
}
