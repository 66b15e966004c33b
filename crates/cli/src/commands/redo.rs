//! `ckpt redo`.

use crate::app::App;
use crate::errors::{Exit, Failure, Result};
use crate::restore::{self, Restored};

/// Take back the last undo
///
/// The paths become exactly as after the reset or rollback that was undone. A save that makes a checkpoint, and a new
/// reset or rollback, end what can be redone.
#[derive(Debug, clap::Args)]
pub(crate) struct RedoArgs {
    /// Show what would change, and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// Takes the last undo back.
pub(crate) fn run(app: &App, args: &RedoArgs) -> Result<Exit> {
    let place = app.place()?;
    let store = place.open_for_work(&app.printer)?;
    app.tell_notices(store.notices());
    let restored = if args.dry_run {
        store.plan_redo()?.map(Restored::from)
    } else {
        restore::answered(app, &place, &store, store.redo())?.map(Restored::from)
    };
    match restored {
        Some(restored) => restored.tell(app, &place, &store),
        None => Err(Failure::new("nothing-to-redo", "nothing to redo: no undo is left to take back")
            .hint(format!("see which checkpoints there are: {}", app.invocation.command(["ls", "--all"])))),
    }
}
