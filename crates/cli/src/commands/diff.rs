//! `ckpt diff`.

use std::ffi::OsString;
use std::path::PathBuf;

use ckpt_service::{CheckpointStore, Compare};
use clap::ValueHint;
use serde::Serialize;

use crate::app::App;
use crate::args;
use crate::comparison::{self, Form, JsonFile};
use crate::errors::{Exit, Result};
use crate::json::{self, JsonPatch, JsonPath, Recovered};
use crate::reasons;
use crate::workspace::Place;

const SCHEMA: &str = "ckpt.diff/1";

/// Paths that are listed as no longer tracked; the object has all.
const MAX_LISTED: usize = 20;

/// Compare checkpoints and the workspace
///
/// Without revisions: from head to the workspace, what changed since the last save. With one: from that checkpoint to
/// the workspace. With two: from the first to the second. Prints a patch that `git apply` takes in the workspace. A
/// restore that was interrupted is finished before the workspace is compared.
#[derive(Debug, clap::Args)]
pub(crate) struct DiffArgs {
    /// Checkpoint to compare from: an id, the beginning of one, HEAD or HEAD~n
    #[arg(value_name = "FROM", value_parser = args::revision)]
    from: Option<String>,
    /// Checkpoint to compare with, in place of the workspace
    #[arg(value_name = "TO", value_parser = args::revision)]
    to: Option<String>,
    /// Compare only these, and what is below them
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath, last = true)]
    paths: Vec<PathBuf>,
    /// Show how many lines changed where
    #[arg(long, conflicts_with = "name_only")]
    stat: bool,
    /// Show only the names of paths that differ
    #[arg(long)]
    name_only: bool,
    /// Put the patch into the JSON object too
    #[arg(long, conflicts_with_all = ["stat", "name_only", "null"])]
    patch: bool,
    /// With --name-only: end each name with NUL, with nothing quoted; alone: word, blank, path and NUL
    #[arg(short = 'z', long = "null", conflicts_with = "stat")]
    null: bool,
    /// End with exit code 4 if anything differs
    #[arg(long)]
    exit_code: bool,
}

/// The body of `ckpt.diff/1`.
#[derive(Serialize)]
struct Body {
    from: Option<String>,
    to: Option<String>,
    changes: Vec<JsonFile>,
    not_captured: Vec<JsonPath>,
    no_longer_tracked: Vec<JsonPath>,
    more: u64,
    #[serde(flatten)]
    patch: Option<JsonPatch>,
    recovered: Option<Recovered>,
}

/// Compares two states.
pub(crate) fn run(app: &App, args: &DiffArgs) -> Result<Exit> {
    let place = app.place()?;
    let store = place.open_for_work(&app.printer)?;
    app.tell_notices(store.notices());
    let compare = compare(app, args, &place, &store)?;
    let mut paths = Vec::new();
    for typed in &args.paths {
        match place.repo_path(typed)? {
            Some(path) => paths.push(path),
            // The workspace itself stands for everything.
            None => {
                paths.clear();
                break;
            }
        }
    }
    let diff = store.diff(compare, &paths)?;
    app.tell_notices(&diff.notices);
    comparison::print(app, &place, &diff, form(args))?;
    for path in &diff.not_captured {
        app.printer.say(format_args!("not compared, because a rule leaves it out: {}", place.text(path)));
    }
    if !diff.no_longer_tracked.is_empty() {
        app.printer.say("no longer tracked, and so no difference:");
        for line in
            reasons::limited(&diff.no_longer_tracked, Some(MAX_LISTED), |path| format!("  {}", place.text(path)))
        {
            app.printer.say(line);
        }
    }
    let patch = comparison::json_patch(app, args.patch, &diff);
    app.object(
        SCHEMA,
        Body {
            from: diff.from.map(|id| id.to_string()),
            to: diff.to.map(|id| id.to_string()),
            changes: diff.files.iter().map(JsonFile::from).collect(),
            not_captured: json::paths(&diff.not_captured),
            no_longer_tracked: json::paths(&diff.no_longer_tracked),
            more: 0,
            patch,
            recovered: diff.recovered.as_ref().map(Recovered::from),
        },
    )?;
    Ok(if args.exit_code && !diff.files.is_empty() { Exit::Differs } else { Exit::Done })
}

fn form(args: &DiffArgs) -> Form {
    match args {
        DiffArgs { stat: true, .. } => Form::Stat,
        DiffArgs { name_only: true, null, .. } => Form::Names { null: *null },
        DiffArgs { null: true, .. } => Form::List { null: true },
        _ => Form::Patch,
    }
}

fn compare(app: &App, args: &DiffArgs, place: &Place, store: &CheckpointStore) -> Result<Compare> {
    let resolve = |revision: &String| app.resolve_or_correct(store, place, revision, &corrected(args));
    Ok(match (&args.from, &args.to) {
        (None, _) => Compare::ToWorktree(app.resolve(store, "HEAD")?),
        (Some(from), None) => Compare::ToWorktree(resolve(from)?),
        // A second word that is a path leaves the first one what it is.
        (Some(from), Some(to)) => {
            let from_id = app.resolve_or_correct(store, place, from, &corrected(args))?;
            let words = words(Some(from), [to.into()].into_iter().chain(args.paths.iter().map(OsString::from)));
            Compare::Between(from_id, app.resolve_or_correct(store, place, to, &words)?)
        }
    })
}

/// The command with everything that is no option taken for paths.
fn corrected(args: &DiffArgs) -> Vec<OsString> {
    let given = [&args.from, &args.to].into_iter().flatten().map(OsString::from);
    words(None, given.chain(args.paths.iter().map(OsString::from)))
}

fn words(from: Option<&String>, paths: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let head = ["diff".into()].into_iter().chain(from.map(OsString::from));
    head.chain(["--".into()]).chain(paths).collect()
}
