//! `ckpt rollback`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::ValueHint;

use crate::app::{self, App};
use crate::args;
use crate::errors::{Exit, Failure, Result};
use crate::restore::{self, Restored};

/// Bring files or directories back as they were at a checkpoint
///
/// Each PATH, with all that is below it, becomes as it was at REV; what did not exist there goes. Nothing else changes,
/// and head stays. What stood there is saved first, so that `ckpt undo` takes it back.
///
/// Prints what changed on stdout. A path that cannot be brought back is a conflict, stays as it is, and makes the exit
/// code 3.
#[derive(Debug, clap::Args)]
#[command(override_usage = "ckpt rollback [OPTIONS] <REV> <PATH>...")]
pub(crate) struct RollbackArgs {
    /// An id, the beginning of one, HEAD or HEAD~n
    #[arg(value_name = "REV", value_parser = args::revision)]
    revision: String,
    /// What to bring back; after -- also names that look like options
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    paths: Vec<PathBuf>,
    /// Show what would change, and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// The words that were meant when a path stands where the revision belongs: with the revision that stands among the
/// paths, or else HEAD.
fn corrected(args: &RollbackArgs) -> Vec<OsString> {
    let is_head = |path: &&PathBuf| path.to_str().is_some_and(|path| path == "HEAD" || path.starts_with("HEAD~"));
    let revision = args.paths.iter().find(is_head).map_or_else(|| "HEAD".into(), OsString::from);
    let mut words = vec!["rollback".into(), revision, OsString::from(&args.revision)];
    words.extend(args.paths.iter().filter(|path| !is_head(path)).map(OsString::from));
    words
}

/// Brings paths back.
pub(crate) fn run(app: &App, args: &RollbackArgs) -> Result<Exit> {
    let place = app.place()?;
    let store = place.open_for_work(&app.printer)?;
    app.tell_notices(store.notices());
    let corrected = corrected(args);
    if args.paths.is_empty() {
        if app::is_path(&store, &place, &args.revision) {
            return Err(app.meant("a revision is missing before the path", &corrected));
        }
        let whole = app.invocation.command(["reset", &args.revision]);
        return Err(Failure::usage("a path is missing behind the revision").hint(format!("for all of it: {whole}")));
    }
    let id = app.resolve_or_correct(&store, &place, &args.revision, &corrected)?;
    let mut paths = Vec::new();
    for typed in &args.paths {
        let inside = place.repo_path(typed)?;
        paths.push(inside.map_or_else(|| place.worktree.path().to_owned(), |path| path.as_path().to_owned()));
    }
    let restored: Restored = if args.dry_run {
        store.plan_rollback(id, &paths)?.into()
    } else {
        restore::answered(app, &place, &store, store.rollback(id, &paths))?.into()
    };
    restored.tell(app, &place, &store)
}
