//! `ckpt undo`.

use crate::app::App;
use crate::errors::{Exit, Failure, Result};
use crate::restore::{self, Restored};

/// Take back the last reset or rollback
///
/// The paths that it changed become exactly as before it, and head with them. Twice takes back two; saves are not
/// undone. A path that was edited since is saved first, brought back, and named. `ckpt redo` takes an undo back.
#[derive(Debug, clap::Args)]
pub(crate) struct UndoArgs {
    /// Show what would change, and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// Takes the last reset or rollback back.
pub(crate) fn run(app: &App, args: &UndoArgs) -> Result<Exit> {
    let place = app.place()?;
    let store = place.open_for_work(&app.printer)?;
    app.tell_notices(store.notices());
    let restored = if args.dry_run {
        store.plan_undo()?.map(Restored::from)
    } else {
        restore::answered(app, &place, &store, store.undo())?.map(Restored::from)
    };
    match restored {
        Some(restored) => restored.tell(app, &place, &store),
        None => Err(Failure::new("nothing-to-undo", "nothing to undo: no reset and no rollback is left to take back")
            .hint(format!(
                "files are brought back by reset and rollback; see to what: {}",
                app.invocation.command(["ls", "--all"])
            ))),
    }
}
