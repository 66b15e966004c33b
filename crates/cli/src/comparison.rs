//! How `diff` and `show` print what differs: as a patch, as a table of lines, as names, or as a list of changes.

use std::os::unix::ffi::OsStrExt;

use ckpt_service::{ChangeKind, Diff, EntryKind, FileDiff, PathChange};
use serde::Serialize;

use crate::app::App;
use crate::changes;
use crate::errors::Result;
use crate::json::{Change, JsonPatch};
use crate::quoting;
use crate::workspace::Place;

/// The form of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A patch that `git apply` takes.
    Patch,
    /// How many lines changed where.
    Stat,
    /// Paths alone.
    Names {
        /// As they are, each with NUL behind it.
        null: bool,
    },
    /// A word and a path for each change.
    List {
        /// As they are, each with NUL behind it.
        null: bool,
    },
}

/// A path that differs, with its lines.
#[derive(Serialize)]
pub(crate) struct JsonFile {
    #[serde(flatten)]
    change: Change,
    lines_added: u64,
    lines_removed: u64,
    binary: bool,
}

impl From<&FileDiff> for JsonFile {
    fn from(file: &FileDiff) -> Self {
        Self {
            change: (&file.change).into(),
            lines_added: file.lines.added,
            lines_removed: file.lines.removed,
            binary: file.lines.binary,
        }
    }
}

/// The patch for JSON, where it is wanted.
pub(crate) fn json_patch(app: &App, wanted: bool, diff: &Diff) -> Option<JsonPatch> {
    (wanted && app.printer.is_json()).then(|| JsonPatch::of(diff.patch().as_bytes()))
}

/// Prints what differs.
pub(crate) fn print(app: &App, place: &Place, diff: &Diff, form: Form) -> Result<()> {
    let (printer, out) = (&app.printer, app.printer.out());
    match form {
        Form::Patch => {
            printer.data(out.patch(diff.patch().as_bytes()))?;
            tell_unpatchable(app, place, diff);
            Ok(())
        }
        Form::Stat => printer.data(changes::stat(place, out, &diff.files)),
        Form::Names { null: true } => {
            let mut names = Vec::new();
            for file in &diff.files {
                names.extend_from_slice(place.shown(&file.change.path).as_os_str().as_bytes());
                names.push(0);
            }
            printer.data(names)
        }
        Form::Names { null: false } => {
            let name = |file: &FileDiff| quoting::path(place.shown(&file.change.path)) + "\n";
            printer.data(diff.files.iter().map(name).collect::<String>())
        }
        Form::List { null: true } => printer.data(changes::records(place, &list(diff))),
        Form::List { null: false } => printer.data(changes::lines(place, out, &list(diff))),
    }
}

fn list(diff: &Diff) -> Vec<PathChange> {
    diff.files.iter().map(|file| file.change.clone()).collect()
}

/// Names what Git's patch format has no words for: directories, and permission bits other than the executable one.
fn tell_unpatchable(app: &App, place: &Place, diff: &Diff) {
    let is_dir =
        |change: &PathChange| [change.old, change.new].iter().flatten().any(|side| side.kind == EntryKind::Dir);
    // A directory that comes or goes with something in it is said by what is in it, which stands next.
    let is_said = |next: Option<&FileDiff>, change: &PathChange| {
        next.is_some_and(|next| next.change.path.as_path().starts_with(change.path.as_path()))
    };
    let is_lost = |file: &FileDiff, next: Option<&FileDiff>| {
        file.patch.is_empty() && (file.change.change == ChangeKind::Mode || is_dir(&file.change))
            || file.change.change == ChangeKind::Kind && is_dir(&file.change) && !is_said(next, &file.change)
    };
    let with_next = diff.files.iter().enumerate().map(|(at, file)| (file, diff.files.get(at + 1)));
    let lost = with_next.filter(|(file, next)| is_lost(file, *next)).map(|(file, _)| file.change.clone());
    let lost: Vec<_> = lost.collect();
    if !lost.is_empty() {
        app.printer.say("a patch cannot say, and this one does not:");
        for line in changes::lines(place, app.printer.err(), &lost).lines() {
            app.printer.say(format_args!("  {line}"));
        }
    }
}
