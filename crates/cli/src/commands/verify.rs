//! `ckpt verify`.

use std::path::Path;

use ckpt_service::{
    CheckpointStore, Contents, Fault, Holder, Lost, Verification, VerifyOptions, Workspace, WorkspaceState,
};
use serde::Serialize;

use crate::app::App;
use crate::errors::{Exit, Result};
use crate::json::JsonPath;
use crate::paint::Role;
use crate::quoting;
use crate::wording;
use crate::workspace::Place;

const SCHEMA: &str = "ckpt.verify/1";

/// Lost paths that are listed; the object has all.
const MAX_LISTED: usize = 50;

/// Check that everything that was saved is there, and mend what can be mended
///
/// Without options every operation, checkpoint and tree is read, and every file's content looked up. With --full or
/// --sample the contents are read and hashed as well. What is wrong is a line; what can be read nowhere any more is named
/// by checkpoint and path.
///
/// With --repair idx files and files of ckpt itself are written anew, damaged packs are put aside once what is whole in
/// them was copied, and objects that are missing are taken from the workspace or from another store. Nothing is dropped.
/// Where anything is wrong, everything is read first.
///
/// Exit code 3: something is wrong, and was not mended, or something is lost.
#[derive(Debug, clap::Args)]
pub(crate) struct VerifyArgs {
    /// Read and hash all contents
    #[arg(long, conflicts_with = "sample")]
    full: bool,
    /// Read and hash so many percent of the contents; the next call goes on where this one ended
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    sample: Option<f64>,
    /// Hash the files of the workspace too, to see whether the stat cache tells the truth
    #[arg(long)]
    worktree: bool,
    /// Mend what can be mended
    #[arg(long)]
    repair: bool,
    /// Check the stores of all workspaces
    #[arg(short, long)]
    all: bool,
}

/// Takes `5` and `5%`.
fn percent(text: &str) -> std::result::Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse::<f64>().ok();
    number
        .filter(|percent| *percent > 0.0 && *percent <= 100.0)
        .ok_or_else(|| "a share is a number above 0 and at most 100, such as 5 or 0.5%".to_owned())
}

/// The body of `ckpt.verify/1`.
#[derive(Serialize)]
struct Body {
    whole: bool,
    stores: Vec<Row>,
    more: u64,
}

#[derive(Serialize)]
struct Row {
    /// Of the directory, not of the store.
    #[serde(flatten)]
    path: Option<JsonPath>,
    store: JsonPath,
    whole: bool,
    operations: u64,
    checkpoints: u64,
    trees: u64,
    blobs: u64,
    packs: u64,
    read_objects: u64,
    read_bytes: u64,
    faults: Vec<JsonFault>,
    lost: Vec<JsonLost>,
}

#[derive(Serialize)]
struct JsonFault {
    kind: &'static str,
    /// Of the file at fault.
    #[serde(flatten)]
    path: Option<JsonPath>,
    object: Option<String>,
    reason: String,
    mended: Option<String>,
}

#[derive(Serialize)]
struct JsonLost {
    checkpoint: Option<String>,
    operation: Option<String>,
    #[serde(flatten)]
    path: Option<JsonPath>,
    object: String,
}

/// Checks one store, or all.
pub(crate) fn run(app: &App, args: &VerifyArgs) -> Result<Exit> {
    let place = app.place()?;
    let options = options(args);
    let mut rows = Vec::new();
    if args.all {
        let service = place.service();
        for workspace in service.workspaces()? {
            match open(&place, app, &workspace)? {
                Some(store) => rows.push(verify(app, &place, &store, &options)?),
                None => rows.extend(unreadable(app, &workspace)?),
            }
        }
        if rows.is_empty() {
            app.printer.say("no workspace has checkpoints");
        }
    } else {
        let store = place.open_for_work(&app.printer)?;
        app.tell_notices(store.notices());
        rows.push(verify(app, &place, &store, &options)?);
    }
    let whole = rows.iter().all(|row| row.whole);
    app.object(SCHEMA, Body { whole, stores: rows, more: 0 })?;
    Ok(if whole { Exit::Done } else { Exit::Partial })
}

fn options(args: &VerifyArgs) -> VerifyOptions {
    let mut options = VerifyOptions::default();
    options.contents = match (args.full, args.sample) {
        (true, _) => Contents::All,
        (false, Some(percent)) => Contents::Sample(percent),
        (false, None) => Contents::None,
    };
    options.worktree = args.worktree;
    options.repair = args.repair;
    options
}

/// The store of a workspace in the list; `None` where it cannot be opened.
fn open(place: &Place, app: &App, workspace: &Workspace) -> Result<Option<CheckpointStore>> {
    match (&workspace.path, &workspace.state) {
        (None, _) | (_, WorkspaceState::Broken(_) | WorkspaceState::NotOurs) => Ok(None),
        (Some(path), _) => place.open_other(&app.printer, path),
    }
}

/// A store that cannot be opened is one at which something is wrong; what ckpt did not make is none.
fn unreadable(app: &App, workspace: &Workspace) -> Result<Option<Row>> {
    if matches!(workspace.state, WorkspaceState::NotOurs) {
        return Ok(None);
    }
    let reason = match &workspace.state {
        WorkspaceState::Broken(what) => what.clone(),
        _ => "it cannot be opened".to_owned(),
    };
    let store = quoting::path(&workspace.store);
    app.printer.data(format!("{store}\n  {}  {reason}\n", app.printer.out().paint(Role::Problem, "broken-store")))?;
    let path = Some(JsonPath::absolute(&workspace.store));
    let fault = JsonFault { kind: "broken-store", path, object: None, reason, mended: None };
    Ok(Some(Row {
        path: workspace.path.as_deref().map(JsonPath::absolute),
        store: JsonPath::absolute(&workspace.store),
        whole: false,
        operations: 0,
        checkpoints: 0,
        trees: 0,
        blobs: 0,
        packs: 0,
        read_objects: 0,
        read_bytes: 0,
        faults: vec![fault],
        lost: Vec::new(),
    }))
}

fn verify(app: &App, place: &Place, store: &CheckpointStore, options: &VerifyOptions) -> Result<Row> {
    let found = store.verify(options)?;
    app.tell_notices(&found.notices);
    tell(app, place, store.worktree().path(), &found)?;
    let missing = !found.is_whole() && !options.repair;
    if missing {
        let path = store.worktree().path().to_owned();
        // What only a reading of the contents found is mended only by one that reads them.
        let words: &[&str] = match options.contents {
            Contents::None => &["verify", "--repair"],
            _ => &["verify", "--full", "--repair"],
        };
        app.printer.say(format_args!("to mend what can be: {}", app.invocation.command_for(path, words)));
    }
    Ok(row(store, &found))
}

/// What was looked at, what is wrong with it, and what is lost.
fn tell(app: &App, place: &Place, worktree: &Path, found: &Verification) -> Result<()> {
    let out = app.printer.out();
    let mut text = String::new();
    for fault in &found.faults {
        let word = out.paint(if fault.mended.is_some() { Role::Faint } else { Role::Problem }, fault.kind.word());
        text += &format!("{word}  {}\n", fault_text(fault));
    }
    for lost in found.lost.iter().take(MAX_LISTED) {
        text += &format!("{}  {}\n", out.paint(Role::Problem, "lost"), lost_text(place, lost));
    }
    if found.lost.len() > MAX_LISTED {
        text += &format!("and {} more that are lost\n", found.lost.len() - MAX_LISTED);
    }
    app.printer.data(text)?;
    let read = match found.read_objects {
        0 => String::new(),
        objects => format!("; read {}, {}", wording::count(objects, "object"), wording::bytes(found.read_bytes)),
    };
    let verdict = if found.is_whole() { "all is there" } else { "something is wrong" };
    app.printer.say(format_args!(
        "{}: {verdict}: {}, {} (safety checkpoints included), {} in {}{read}",
        quoting::path(worktree),
        wording::count(found.operations, "operation"),
        wording::count(found.checkpoints, "checkpoint"),
        wording::count(found.trees + found.blobs, "object"),
        wording::count(found.packs, "pack"),
    ));
    Ok(())
}

fn fault_text(fault: &Fault) -> String {
    let mut text = String::new();
    if let Some(file) = &fault.file {
        text += &format!("{}: ", quoting::path(file));
    }
    if let Some(object) = &fault.object {
        text += &format!("object {object}: ");
    }
    text += &fault.reason;
    if let Some(mended) = &fault.mended {
        text += &format!(" (mended: {mended})");
    }
    text
}

fn lost_text(place: &Place, lost: &Lost) -> String {
    let holder = match lost.holder {
        Holder::Checkpoint(id) => format!("checkpoint {}", id.short()),
        Holder::Operation(id) => format!("operation {}", &id.to_string()[..12]),
        _ => "somewhere".to_owned(),
    };
    match &lost.path {
        Some(path) => format!("{holder}: {}", place.text(path)),
        None => format!("{holder}: all of it"),
    }
}

fn row(store: &CheckpointStore, found: &Verification) -> Row {
    Row {
        path: Some(JsonPath::absolute(store.worktree().path())),
        store: JsonPath::absolute(store.path()),
        whole: found.is_whole(),
        operations: found.operations,
        checkpoints: found.checkpoints,
        trees: found.trees,
        blobs: found.blobs,
        packs: found.packs,
        read_objects: found.read_objects,
        read_bytes: found.read_bytes,
        faults: found.faults.iter().map(json_fault).collect(),
        lost: found.lost.iter().map(json_lost).collect(),
    }
}

fn json_fault(fault: &Fault) -> JsonFault {
    JsonFault {
        kind: fault.kind.word(),
        path: fault.file.as_deref().map(JsonPath::absolute),
        object: fault.object.map(|id| id.to_string()),
        reason: fault.reason.clone(),
        mended: fault.mended.clone(),
    }
}

fn json_lost(lost: &Lost) -> JsonLost {
    let (checkpoint, operation) = match lost.holder {
        Holder::Checkpoint(id) => (Some(id.to_string()), None),
        Holder::Operation(id) => (None, Some(id.to_string())),
        _ => (None, None),
    };
    JsonLost { checkpoint, operation, path: lost.path.as_ref().map(JsonPath::of), object: lost.object.to_string() }
}
