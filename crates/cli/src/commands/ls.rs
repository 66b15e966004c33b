//! `ckpt ls`.

use ckpt_service::{CheckpointId, CheckpointInfo};
use serde::Serialize;

use crate::app::App;
use crate::errors::{Exit, Result};
use crate::json::{self, Checkpoint};
use crate::paint::{Painter, Role};
use crate::time;
use crate::wording;
use crate::workspace;

const SCHEMA: &str = "ckpt.ls/1";

/// List checkpoints, newest first
///
/// Columns: short id, age, kind, message, number of paths that changed. A * marks head, the checkpoint that the
/// workspace was last saved as or reset to.
///
/// Listed are head and the checkpoints that it was made from. With --all also those of other branches, which are left
/// behind when a save follows a reset, those newer than head, and safety checkpoints, whose kind is auto; a - marks them.
#[derive(Debug, clap::Args)]
pub(crate) struct LsArgs {
    /// How many to list; 0 for all
    #[arg(short = 'n', long = "number", value_name = "N", default_value_t = 20)]
    number: usize,
    /// List also other branches and safety checkpoints
    #[arg(short, long)]
    all: bool,
}

/// The body of `ckpt.ls/1`.
#[derive(Serialize)]
struct Body {
    head: String,
    checkpoints: Vec<Row>,
    more: u64,
    elsewhere: u64,
}

#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    checkpoint: Checkpoint,
    is_head: bool,
    in_lineage: bool,
}

/// Lists checkpoints.
pub(crate) fn run(app: &App, args: &LsArgs) -> Result<Exit> {
    let place = app.place()?;
    let store = place.open()?;
    app.tell_notices(store.notices());
    let limit = (args.number > 0).then_some(args.number);
    let page = if args.all { store.recent_all(limit)? } else { store.recent(limit)? };
    let Some(head) = store.head()? else {
        return Err(workspace::nothing_saved(place.worktree.path()));
    };
    app.printer.data(lines(app.printer.out(), &page.checkpoints, head, time::now_ns()))?;
    tell_rest(app, args, page.more, page.elsewhere);
    let row =
        |info: &CheckpointInfo| Row { checkpoint: info.into(), is_head: info.id == head, in_lineage: is_in_line(info) };
    let checkpoints = page.checkpoints.iter().map(row).collect();
    app.object(SCHEMA, Body { head: head.to_string(), checkpoints, more: page.more, elsewhere: page.elsewhere })?;
    Ok(Exit::Done)
}

fn is_in_line(info: &CheckpointInfo) -> bool {
    info.in_lineage == Some(true)
}

fn lines(painter: Painter, infos: &[CheckpointInfo], head: CheckpointId, now_ns: i64) -> String {
    let ages: Vec<_> = infos.iter().map(|info| time::age(info.time_ns, now_ns)).collect();
    let width = ages.iter().map(String::len).max().unwrap_or(0);
    let mut text = String::new();
    for (info, age) in infos.iter().zip(ages) {
        let mark = match info.id == head {
            true => "*",
            false if !is_in_line(info) => "-",
            false => " ",
        };
        let id = painter.paint(Role::Id, info.id.short());
        let age = painter.paint(Role::Faint, format!("{age:<width$}"));
        let message = match wording::first_line(&info.message) {
            line if line.is_empty() => painter.paint(Role::Faint, "(no message)"),
            line => line,
        };
        let changed = painter.paint(Role::Faint, format!("({} changed)", info.changes.total()));
        text += &format!("{mark} {id}  {age}  {:<6}  {message}  {changed}\n", json::kind_word(info.kind));
    }
    text
}

fn tell_rest(app: &App, args: &LsArgs, more: u64, elsewhere: u64) {
    let all: &[&str] = if args.all { &["--all"] } else { &[] };
    if more > 0 {
        let command = app.invocation.command(["ls", "-n", "0"].iter().chain(all));
        app.printer.say(format_args!("{more} more: {command}"));
    }
    if elsewhere > 0 {
        let command = app.invocation.command(["ls", "--all"]);
        app.printer
            .say(format_args!("{elsewhere} on other branches or newer than head, and safety checkpoints: {command}"));
    }
}
