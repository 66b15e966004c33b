//! `ckpt status`.

use ckpt_service::Status;
use serde::Serialize;

use crate::app::App;
use crate::changes;
use crate::errors::{Exit, Result};
use crate::json::{self, Change, Checkpoint, Counts, JsonPath, Reasoned, Recovered};
use crate::paint::Role;
use crate::reasons;
use crate::time;
use crate::wording;
use crate::workspace::Place;

const SCHEMA: &str = "ckpt.status/1";

/// Show how the workspace differs from its last checkpoint
///
/// Each path that differs is a line: added, modified, deleted, kind (a file became a directory, say) or mode (only its
/// permissions differ). Below are the paths that a save would leave out, each with its reason, and those that are no
/// longer tracked: saved before, and left out by a rule now. A restore that was interrupted is finished first.
#[derive(Debug, clap::Args)]
pub(crate) struct StatusArgs {
    /// End with exit code 4 if anything differs
    #[arg(long)]
    exit_code: bool,
    /// Print only what differs, as word, blank, path and NUL, with nothing quoted
    #[arg(short = 'z', long = "null")]
    null: bool,
}

/// The body of `ckpt.status/1`.
#[derive(Serialize)]
struct Body {
    head: Option<Checkpoint>,
    clean: bool,
    counts: Counts,
    changes: Vec<Change>,
    omitted: Vec<Reasoned>,
    no_longer_tracked: Vec<JsonPath>,
    more: u64,
    recovered: Option<Recovered>,
}

/// Shows how the workspace differs from head.
pub(crate) fn run(app: &App, args: &StatusArgs) -> Result<Exit> {
    let place = app.place()?;
    let store = place.open_for_work(&app.printer)?;
    app.tell_notices(store.notices());
    let status = store.status()?;
    app.tell_notices(&status.notices);
    if args.null {
        app.printer.data(changes::records(&place, &status.changes))?;
    } else {
        tell_head(app, &status);
        if status.is_clean() {
            app.printer.say("nothing changed");
        }
        app.printer.data(text(app, &place, &status))?;
    }
    app.object(SCHEMA, body(&status))?;
    Ok(if args.exit_code && !status.is_clean() { Exit::Differs } else { Exit::Done })
}

fn tell_head(app: &App, status: &Status) {
    match &status.head {
        Some(head) => app.printer.say(format_args!(
            "head is {} {}, {}",
            app.printer.err().paint(Role::Id, head.id.short()),
            wording::quoted_message(&head.message),
            time::age(head.time_ns, time::now_ns())
        )),
        None => app.printer.say(format_args!("nothing is saved yet: {}", app.invocation.command(["save"]))),
    }
}

fn text(app: &App, place: &Place, status: &Status) -> String {
    let out = app.printer.out();
    let mut text = changes::lines(place, out, &status.changes);
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            text += &format!("{title}:\n{}\n", lines.join("\n"));
        }
    };
    let (omitted, dropped) = reasons::told_apart(&status.omitted, &status.no_longer_tracked);
    section("omitted", reasons::omitted_lines(place, out, &omitted, None));
    section("no longer tracked", reasons::omitted_lines(place, out, &dropped, None));
    text
}

fn body(status: &Status) -> Body {
    Body {
        head: status.head.as_ref().map(Checkpoint::from),
        clean: status.is_clean(),
        counts: Counts::of(&status.changes),
        changes: status.changes.iter().map(Change::from).collect(),
        omitted: status.omitted.iter().map(Reasoned::from).collect(),
        no_longer_tracked: json::paths(&status.no_longer_tracked),
        more: 0,
        recovered: status.recovered.as_ref().map(Recovered::from),
    }
}
