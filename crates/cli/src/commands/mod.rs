//! The commands, a file each: options whose documentation is the help, and one function.

pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod ls;
pub(crate) mod man;
pub(crate) mod prune;
pub(crate) mod redo;
pub(crate) mod reset;
pub(crate) mod rollback;
pub(crate) mod save;
pub(crate) mod show;
pub(crate) mod status;
pub(crate) mod undo;
pub(crate) mod verify;
pub(crate) mod workspaces;

use crate::app::App;
use crate::args::Command;
use crate::errors::{Exit, Result};

/// Runs a command.
pub(crate) fn run(app: &App, command: &Command) -> Result<Exit> {
    match command {
        Command::Save(args) => save::run(app, args),
        Command::Ls(args) => ls::run(app, args),
        Command::Show(args) => show::run(app, args),
        Command::Status(args) => status::run(app, args),
        Command::Diff(args) => diff::run(app, args),
        Command::Rollback(args) => rollback::run(app, args),
        Command::Reset(args) => reset::run(app, args),
        Command::Undo(args) => undo::run(app, args),
        Command::Redo(args) => redo::run(app, args),
        Command::Workspaces(args) => workspaces::run(app, args),
        Command::Prune(args) => prune::run(app, args),
        Command::Verify(args) => verify::run(app, args),
        Command::Doctor(args) => doctor::run(app, args),
        Command::Config(args) => config::run(app, args),
        Command::Completions(args) => completions::run(app, args),
        Command::Man(args) => man::run(app, args),
    }
}
