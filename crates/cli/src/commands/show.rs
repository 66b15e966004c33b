//! `ckpt show`.

use ckpt_service::{CheckpointId, CheckpointInfo, Compare, Omitted};
use serde::Serialize;

use crate::app::App;
use crate::args;
use crate::comparison::{self, Form, JsonFile};
use crate::errors::{Exit, Result};
use crate::json::{self, Checkpoint, JsonPatch, Reasoned};
use crate::paint::{Painter, Role};
use crate::quoting;
use crate::reasons;
use crate::time;
use crate::wording;
use crate::workspace::Place;

const SCHEMA: &str = "ckpt.show/1";

/// Omitted paths that are listed; the object has all.
const MAX_LISTED: usize = 20;

/// Show a checkpoint and what it changed
///
/// Below the headers are the paths that the checkpoint was made without, each with its reason, at most 20 of them; with
/// --json all.
#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// An id, the beginning of one, HEAD or HEAD~n
    #[arg(value_name = "REV", default_value = "HEAD", value_parser = args::revision)]
    revision: String,
    /// Show the changes as a patch; with --json put it into the object
    #[arg(short, long, conflicts_with = "stat")]
    patch: bool,
    /// Show how many lines changed where
    #[arg(long)]
    stat: bool,
}

/// The body of `ckpt.show/1`.
#[derive(Serialize)]
struct Body {
    checkpoint: Checkpoint,
    is_head: bool,
    omitted: Vec<Reasoned>,
    changes: Vec<JsonFile>,
    more: u64,
    #[serde(flatten)]
    patch: Option<JsonPatch>,
}

/// Shows a checkpoint.
pub(crate) fn run(app: &App, args: &ShowArgs) -> Result<Exit> {
    let place = app.place()?;
    let store = place.open()?;
    app.tell_notices(store.notices());
    let id = app.resolve(&store, &args.revision)?;
    let info = store.checkpoint(id)?;
    let is_head = store.head()? == Some(id);
    let omitted = store.omitted(id)?;
    let diff = store.diff(Compare::ToPrevious(id), &[])?;
    app.tell_notices(&diff.notices);
    app.printer.data(headers(app.printer.out(), &place, &info, is_head, &omitted))?;
    let form = match args {
        ShowArgs { patch: true, .. } => Form::Patch,
        ShowArgs { stat: true, .. } => Form::Stat,
        _ => Form::List { null: false },
    };
    comparison::print(app, &place, &diff, form)?;
    let patch = comparison::json_patch(app, args.patch, &diff);
    let changes = diff.files.iter().map(JsonFile::from).collect();
    let omitted = omitted.iter().map(Reasoned::from).collect();
    app.object(SCHEMA, Body { checkpoint: (&info).into(), is_head, omitted, changes, more: 0, patch })?;
    Ok(Exit::Done)
}

fn headers(painter: Painter, place: &Place, info: &CheckpointInfo, is_head: bool, omitted: &[Omitted]) -> String {
    let mut text = format!("checkpoint {}\n", painter.paint(Role::Id, info.id.to_string()));
    let mut header = |name: &str, value: String| text += &format!("{name:<10} {value}\n");
    let kind = json::kind_word(info.kind);
    header("kind", if is_head { format!("{kind}, head") } else { kind.to_owned() });
    let age = time::age(info.time_ns, time::now_ns());
    header("made", format!("{} ({age})", time::for_people(info.time_ns)));
    header("previous", info.previous.map_or("none, it is the first".to_owned(), |id: CheckpointId| id.to_string()));
    match (info.files, info.bytes) {
        (Some(files), Some(bytes)) => {
            header("holds", format!("{}, {}", wording::count(files, "file"), wording::bytes(bytes)));
        }
        _ => header("holds", "what a rollback replaced; the rest as in the previous one".to_owned()),
    }
    // What kept changing while it was read is counted, and not written down.
    let unstable = info.omitted.saturating_sub(wording::length(omitted));
    if info.omitted > 0 || !omitted.is_empty() {
        header("omitted", wording::count(wording::length(omitted) + unstable, "path"));
    }
    let omitted: Vec<_> = omitted.iter().collect();
    for line in reasons::omitted_lines(place, painter, &omitted, Some(MAX_LISTED)) {
        text += &format!("{line}\n");
    }
    if unstable > 0 {
        text += &format!("  and {} that kept changing\n", wording::count(unstable, "path"));
    }
    text.push('\n');
    for line in info.message.trim_ascii_end().split(|&byte| byte == b'\n').filter(|_| !info.message.is_empty()) {
        text += format!("    {}", quoting::line(line)).trim_end();
        text.push('\n');
    }
    if !info.message.is_empty() {
        text.push('\n');
    }
    text
}
