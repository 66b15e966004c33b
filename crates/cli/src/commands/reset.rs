//! `ckpt reset`.

use crate::app::App;
use crate::args;
use crate::errors::{Exit, Result};
use crate::restore::{self, Restored};

/// Bring the whole workspace back to a checkpoint
///
/// All files become as they were at REV, which becomes head; files made since go. Ignored files that the checkpoint does
/// not hold, and what it left out, are not touched. What stands there now is saved first, so that `ckpt undo` takes it
/// back. Without REV the workspace goes back to the last checkpoint.
///
/// Prints what changed on stdout. A path that cannot be brought back is a conflict, stays as it is, and makes the exit
/// code 3.
#[derive(Debug, clap::Args)]
pub(crate) struct ResetArgs {
    /// An id, the beginning of one, HEAD or HEAD~n
    #[arg(value_name = "REV", default_value = "HEAD", value_parser = args::revision)]
    revision: String,
    /// Show what would change, and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// Brings the workspace back.
pub(crate) fn run(app: &App, args: &ResetArgs) -> Result<Exit> {
    let place = app.place()?;
    let store = place.open_for_work(&app.printer)?;
    app.tell_notices(store.notices());
    let corrected = ["rollback", "HEAD", &args.revision].map(Into::into);
    let id = app.resolve_or_correct(&store, &place, &args.revision, &corrected)?;
    let restored: Restored = if args.dry_run {
        store.plan_reset(id)?.into()
    } else {
        restore::answered(app, &place, &store, store.reset(id))?.into()
    };
    restored.tell(app, &place, &store)
}
