//! `ckpt save`.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use ckpt_service::{CheckpointStore, Omitted, RepoPath, SaveOptions, SavePlan, Saved};
use serde::Serialize;

use crate::app::App;
use crate::changes;
use crate::errors::{Exit, Failure, Result};
use crate::json::{self, Change, Counts, JsonPath, Message, Reasoned, Recovered};
use crate::paint::Role;
use crate::quoting;
use crate::reasons;
use crate::time;
use crate::wording;
use crate::workspace::{Choice, Place};

const SCHEMA: &str = "ckpt.save/1";

/// Omitted paths that are listed after a save; `ckpt status` lists all.
const MAX_LISTED: usize = 10;

/// Save the workspace as a checkpoint
///
/// Prints the checkpoint's id on stdout, so that `id=$(ckpt save)` works, and what was saved on stderr. Where nothing
/// changed since the last checkpoint no new one is made, and the id is that of the last.
///
/// Everything in the workspace is saved, except what .gitignore and .ckptignore files and the configuration leave out.
/// The first save of a directory also makes the place where its checkpoints are kept.
#[derive(Debug, clap::Args)]
pub(crate) struct SaveArgs {
    /// What the checkpoint is remembered by, as one word; - reads it from stdin
    #[arg(value_name = "MESSAGE")]
    word: Option<OsString>,
    /// Words of a message that was not quoted
    #[arg(hide = true)]
    more_words: Vec<OsString>,
    /// The same as MESSAGE
    #[arg(short, long, value_name = "MESSAGE", allow_hyphen_values = true)]
    message: Option<OsString>,
    /// Make a checkpoint even if nothing changed
    #[arg(long)]
    always: bool,
    /// End with exit code 3 if anything was left out, also by rule
    #[arg(long)]
    strict: bool,
    /// Show what would be saved and left out, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Take the home directory, / or a parent of the checkpoint directory as workspace
    #[arg(long)]
    force_workspace: bool,
}

/// The body of `ckpt.save/1`.
#[derive(Serialize)]
struct Body {
    dry_run: bool,
    id: Option<String>,
    created: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    would_create: Option<bool>,
    #[serde(flatten)]
    message: Message,
    counts: Counts,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Vec<Change>>,
    files: u64,
    size_bytes: u64,
    omitted: Vec<Reasoned>,
    no_longer_tracked: Vec<JsonPath>,
    complete: bool,
    duration_ms: Option<u64>,
    store: Option<JsonPath>,
    store_created: bool,
    recovered: Option<Recovered>,
}

/// Saves, or shows what a save would do.
pub(crate) fn run(app: &App, args: &SaveArgs) -> Result<Exit> {
    let message = message(app, args)?;
    let place = app.place()?;
    if args.dry_run {
        return dry_run(app, args, &place, &message.unwrap_or_default());
    }
    let store = place
        .open_or_create(&app.printer, args.force_workspace)
        .map_err(|failure| hint_at_here(app, &place, failure))?;
    if store.was_created() {
        announce(app, &place, &store);
    }
    app.tell_notices(store.notices());
    let mut options = SaveOptions::from(message.clone().unwrap_or_default());
    options.always = args.always;
    let saved = store.save(options)?;
    app.tell_notices(&saved.notices);
    app.printer.data(format!("{}\n", saved.id))?;
    tell(app, &place, &store, &saved, message.as_deref());
    app.object(SCHEMA, body(&store, &saved))?;
    Ok(exit(args, saved.is_complete(), saved.omitted.is_empty()))
}

/// A repository may be the home directory itself, as with dotfiles; its directories are workspaces all the same.
fn hint_at_here(app: &App, place: &Place, failure: Failure) -> Failure {
    if failure.code == "refused-workspace" && place.choice == Choice::RepositoryRoot && !place.is_here() {
        let here = app.invocation.command_for(".".into(), ["save"]);
        return failure.hint(format!("it is the root of the Git repository; for the current directory alone: {here}"));
    }
    failure
}

fn exit(args: &SaveArgs, is_complete: bool, is_nothing_omitted: bool) -> Exit {
    if is_complete && (is_nothing_omitted || !args.strict) { Exit::Done } else { Exit::Partial }
}

/// The message, if one was given. Several words are a message that was not quoted.
fn message(app: &App, args: &SaveArgs) -> Result<Option<Vec<u8>>> {
    let words: Vec<&OsString> = args.message.iter().chain(&args.word).chain(&args.more_words).collect();
    let given = match words.as_slice() {
        [] => return Ok(None),
        [word] => (*word).clone(),
        words => {
            let mut command = vec!["save".into()];
            for (is_given, option) in [
                (args.always, "--always"),
                (args.strict, "--strict"),
                (args.dry_run, "--dry-run"),
                (args.force_workspace, "--force-workspace"),
            ] {
                command.extend(is_given.then(|| option.into()));
            }
            let words: Vec<_> = words.iter().map(|word| word.as_os_str()).collect();
            let message = words.join(" ".as_ref());
            command.extend(message.as_bytes().starts_with(b"-").then(|| "--".into()));
            command.push(message);
            return Err(app.meant("a message is one word to the shell, and needs quotes", &command));
        }
    };
    if given != "-" {
        return Ok(Some(given.into_vec()));
    }
    let mut bytes = Vec::new();
    std::io::stdin()
        .read_to_end(&mut bytes)
        .map_err(|err| Failure::new("io", "cannot read the message from stdin").because(&err))?;
    // What wrote it ended its line; the message has no line to end.
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    Ok(Some(bytes))
}

/// Says that a directory is protected from now on, and where its checkpoints are.
fn announce(app: &App, place: &Place, store: &CheckpointStore) {
    let printer = &app.printer;
    let strong = |path| printer.err().paint(Role::Strong, quoting::path(path));
    printer.say(format_args!("new workspace {}", strong(place.worktree.path())));
    if place.choice == Choice::RepositoryRoot && !place.is_here() {
        let here = app.invocation.command_for(".".into(), ["save"]);
        printer.say(format_args!("  the root of the Git repository; for the current directory alone: {here}"));
    }
    printer.say(format_args!("  its checkpoints are kept in {}", quoting::path(store.path())));
}

/// Says what was saved.
fn tell(app: &App, place: &Place, store: &CheckpointStore, saved: &Saved, message: Option<&[u8]>) {
    let (printer, err) = (&app.printer, app.printer.err());
    let id = err.paint(Role::Id, saved.id.short());
    let quoted = wording::quoted_message(&saved.message);
    if saved.created {
        printer.say(format_args!(
            "saved {id} {quoted}: {}, {}, {}, in {}",
            changes::signs(saved.changes.into()),
            wording::count(saved.files, "file"),
            wording::bytes(saved.bytes),
            time::duration(saved.duration)
        ));
    } else {
        let age = store.checkpoint(saved.id).map(|info| time::age(info.time_ns, time::now_ns()));
        let age = age.map_or(String::new(), |age| format!(" {age},"));
        printer.say(format_args!("nothing changed; {id} {quoted},{age} holds it"));
        if let Some(message) = message.filter(|message| !message.is_empty() && *message != saved.message) {
            let quoted = wording::quoted_message(message);
            printer.warn(
                "message-not-recorded",
                format_args!("the message {quoted} was not recorded; --always makes a checkpoint all the same"),
            );
        }
    }
    tell_omitted(app, place, &saved.omitted, &saved.no_longer_tracked);
}

fn tell_omitted(app: &App, place: &Place, omitted: &[Omitted], dropped: &[RepoPath]) {
    let printer = &app.printer;
    let (omitted, dropped) = reasons::told_apart(omitted, dropped);
    let section = |title: &str, list: &[&Omitted]| {
        if !list.is_empty() {
            printer.say(format_args!("{title} {}:", wording::count(wording::length(list), "path")));
        }
        for line in reasons::omitted_lines(place, printer.err(), list, Some(MAX_LISTED)) {
            printer.say(line);
        }
    };
    section("omitted", &omitted);
    section("no longer tracked, but in older checkpoints,", &dropped);
}

fn body(store: &CheckpointStore, saved: &Saved) -> Body {
    Body {
        dry_run: false,
        id: Some(saved.id.to_string()),
        created: saved.created,
        would_create: None,
        message: Message::of(&saved.message),
        counts: saved.changes.into(),
        changes: None,
        files: saved.files,
        size_bytes: saved.bytes,
        omitted: saved.omitted.iter().map(Reasoned::from).collect(),
        no_longer_tracked: json::paths(&saved.no_longer_tracked),
        complete: saved.is_complete(),
        duration_ms: Some(time::milliseconds(saved.duration)),
        store: Some(JsonPath::absolute(store.path())),
        store_created: store.was_created(),
        recovered: saved.recovered.as_ref().map(Recovered::from),
    }
}

/// Shows what a save would do. A workspace that has no store yet gets none by this.
fn dry_run(app: &App, args: &SaveArgs, place: &Place, message: &[u8]) -> Result<Exit> {
    let store = place.open_to_plan(&app.printer)?;
    let plan = match &store {
        Some(store) => {
            app.tell_notices(store.notices());
            store.plan_save()?
        }
        None => {
            let plan = place
                .plan_first_save(&app.printer, args.force_workspace)
                .map_err(|failure| hint_at_here(app, place, failure))?;
            let path = quoting::path(place.worktree.path());
            app.printer.say(format_args!("{path} would be a new workspace"));
            plan
        }
    };
    app.tell_notices(&plan.notices);
    app.printer.data(changes::lines(place, app.printer.out(), &plan.changes))?;
    let would_create = args.always || !plan.is_same;
    if would_create {
        let signs = changes::signs(Counts::of(&plan.changes));
        let (files, bytes) = (wording::count(plan.files, "file"), wording::bytes(plan.bytes));
        app.printer.say(format_args!("would save {signs}, {files}, {bytes}; nothing was written"));
    } else {
        let head = store.as_ref().and_then(|store| store.checkpoint(store.head().ok()??).ok());
        let held = head.map_or(String::new(), |head| {
            let id = app.printer.err().paint(Role::Id, head.id.short());
            format!(", {id} {} holds it", wording::quoted_message(&head.message))
        });
        app.printer.say(format_args!("nothing changed{held}; no checkpoint would be made"));
    }
    tell_omitted(app, place, &plan.omitted, &plan.no_longer_tracked);
    let is_complete = !plan.omitted.iter().any(|omitted| omitted.reason.is_failure());
    let is_nothing_omitted = plan.omitted.is_empty();
    app.object(SCHEMA, plan_body(store.as_ref(), &plan, message, would_create, is_complete))?;
    Ok(exit(args, is_complete, is_nothing_omitted))
}

fn plan_body(
    store: Option<&CheckpointStore>,
    plan: &SavePlan,
    message: &[u8],
    would_create: bool,
    complete: bool,
) -> Body {
    Body {
        dry_run: true,
        id: None,
        created: false,
        would_create: Some(would_create),
        message: Message::of(message),
        counts: Counts::of(&plan.changes),
        changes: Some(plan.changes.iter().map(Change::from).collect()),
        files: plan.files,
        size_bytes: plan.bytes,
        omitted: plan.omitted.iter().map(Reasoned::from).collect(),
        no_longer_tracked: json::paths(&plan.no_longer_tracked),
        complete,
        duration_ms: None,
        store: store.map(|store| JsonPath::absolute(store.path())),
        store_created: false,
        recovered: None,
    }
}
