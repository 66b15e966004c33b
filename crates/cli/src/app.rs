//! What every command has at hand: the global options, the printer, the workspace.

use std::cell::OnceCell;
use std::path::Path;

use ckpt_service::{CheckpointId, CheckpointStore, Notice, StoreError};
use serde::Serialize;

use crate::args::{GlobalArgs, Invocation};
use crate::errors::{Exit, Failure, Result};
use crate::hints::Whereabouts;
use crate::printer::{Printer, Verbosity};
use crate::quoting;
use crate::workspace::{self, Place};

/// One run of the program.
pub(crate) struct App {
    pub(crate) global: GlobalArgs,
    pub(crate) printer: Printer,
    pub(crate) invocation: Invocation,
    /// Known as soon as it is found, so that a later failure names it.
    at: OnceCell<Whereabouts>,
}

impl App {
    /// Makes what a run needs from its options.
    pub(crate) fn new(global: &GlobalArgs) -> Self {
        let verbosity = match (global.quiet, global.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        };
        Self {
            global: global.clone(),
            printer: Printer::new(global.json, verbosity, global.color),
            invocation: Invocation::of(global),
            at: OnceCell::new(),
        }
    }

    /// Ends a run: tells the failure, if it is one, and says how the process ends.
    pub(crate) fn finish(&self, result: Result<Exit>) -> Exit {
        result.unwrap_or_else(|failure| {
            let failure = failure.with_default_hint(&self.invocation, self.at.get());
            self.printer.failure(&failure, self.workspace());
            failure.exit
        })
    }

    /// Finds the workspace, to work on it.
    pub(crate) fn place(&self) -> Result<Place> {
        let place = self.place_of_settings()?;
        place.tell_which(&self.printer);
        Ok(place)
    }

    /// Finds the workspace for its configuration alone.
    pub(crate) fn place_of_settings(&self) -> Result<Place> {
        let place = self.place_untold()?;
        place.tell_warnings(&self.printer);
        Ok(place)
    }

    /// The same, without a word about what the configuration has to warn of.
    pub(crate) fn place_untold(&self) -> Result<Place> {
        let place = Place::find(&self.global)?;
        let _ = self.at.set(place.whereabouts());
        Ok(place)
    }

    /// Prints the object of a command, with `--json`.
    pub(crate) fn object<T: Serialize>(&self, schema: &str, body: T) -> Result<()> {
        self.printer.object(schema, self.workspace(), body)
    }

    fn workspace(&self) -> Option<&Path> {
        self.at.get().map(|at| at.workspace.as_path())
    }

    /// Passes on what the library found worth saying.
    pub(crate) fn tell_notices(&self, notices: &[Notice]) {
        for notice in notices {
            match notice {
                Notice::MovedFrom(path) => {
                    let command = self.invocation.command_for(path.clone(), ["ls"]);
                    self.printer.warn(notice.code(), format_args!("{notice}; to see it: {command}"));
                }
                _ => self.printer.warn(notice.code(), notice),
            }
        }
    }

    /// Finds the checkpoint that a revision names.
    pub(crate) fn resolve(&self, store: &CheckpointStore, revision: &str) -> Result<CheckpointId> {
        if store.head()?.is_none() && revision.starts_with("HEAD") {
            return Err(workspace::nothing_saved(store.worktree().path()));
        }
        let resolved = store.resolve(revision)?;
        if resolved.operation.is_some() {
            let revision = quoting::line(revision.as_bytes());
            let text = format!("{revision} is an operation; it stands for the checkpoint {}", resolved.id.short());
            self.printer.warn("operation-id", text);
        }
        Ok(resolved.id)
    }

    /// The same, where a path may have been typed by mistake; `corrected` are the words that were meant then.
    pub(crate) fn resolve_or_correct(
        &self,
        store: &CheckpointStore,
        place: &Place,
        revision: &str,
        corrected: &[std::ffi::OsString],
    ) -> Result<CheckpointId> {
        self.resolve(store, revision).map_err(|failure| {
            let is_no_revision = matches!(failure.store_error(), Some(StoreError::Revision { .. }));
            if is_no_revision && is_path(store, place, revision) {
                failure.hint(format!("it is a path: {}", self.invocation.command(corrected.iter().cloned())))
            } else {
                failure
            }
        })
    }

    /// A usage error whose hint is the command as it was meant.
    pub(crate) fn meant(&self, message: impl Into<String>, words: &[std::ffi::OsString]) -> Failure {
        Failure::usage(message).hint(self.invocation.command(words.iter().cloned()))
    }
}

/// Whether a word names something in the worktree or in head.
pub(crate) fn is_path(store: &CheckpointStore, place: &Place, word: &str) -> bool {
    if place.exists(word.as_ref()) {
        return true;
    }
    let Ok(Some(path)) = place.repo_path(word.as_ref()) else { return false };
    let Ok(Some(head)) = store.head() else { return false };
    // Only a file that is gone can differ here, and then it was in head.
    let compare = ckpt_service::Compare::ToWorktree(head);
    store.diff(compare, &[path]).is_ok_and(|diff| !diff.files.is_empty())
}
