//! Who is measured: ckpt, the programs that people use in its place, and the limits of the machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;

use super::measure::Clock;
use super::verb::Verb;

/// One that takes its turn.
pub(crate) trait Subject {
    /// The name in tables.
    fn name(&self) -> &'static str;

    /// Where its files are. Default: in the tree that all share.
    fn tree(&self) -> TreeUse {
        TreeUse::Shared
    }

    /// What it runs for `verb`; `None` where it has no such thing.
    fn script(&self, verb: Verb, place: &Place) -> Option<Script>;

    /// Id of the Git tree that it saved last, asked without saving. Default: none, because most have no such ids.
    ///
    /// # Errors
    /// Its programs failed.
    fn saved_tree(&self, place: &Place) -> Result<Option<String>, Failure> {
        let _ = place;
        Ok(None)
    }

    /// Whether a reset of it brings back what was saved. Default: it does.
    fn restores(&self) -> bool {
        true
    }

    /// Whether its store is a Git repository with the blobs of all files. Default: it is not.
    fn lends_objects(&self) -> bool {
        false
    }
}

/// Whether a subject needs a tree of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TreeUse {
    /// It keeps everything outside, and a restore of it writes only what differs.
    Shared,
    /// It keeps its store inside, where the others would see it, or writes files anew that are as they should be, which
    /// the others would have to read again.
    Own,
}

/// Where a turn takes place.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The tree.
    pub(crate) tree: PathBuf,
    /// A directory of the subject's own, empty before its first save.
    pub(crate) store: PathBuf,
    /// The home directory that programs see.
    pub(crate) home: PathBuf,
    /// One of the edited files, relative to the tree.
    pub(crate) edited: PathBuf,
    /// Another number in each turn.
    pub(crate) turn: u64,
}

impl Place {
    /// A program in the tree, which sees nothing of the environment of whoever measures.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env_clear().env("PATH", path).env("HOME", &self.home).env("LC_ALL", "C.UTF-8").current_dir(&self.tree);
        command
    }

    /// Moves what a first save left in the tree into the store, where it is deleted with all else at the end.
    pub(crate) fn put_away(&self, name: &str) -> Command {
        let script = "test ! -e \"$1\" || mv \"$1\" \"$2\"";
        with(with(self.command(Path::new("sh")), ["-c", script, "sh", name]), [self.store.join("put-away")])
    }
}

/// The commands of one turn.
#[derive(Debug, Default)]
pub(crate) struct Script {
    /// Run before, and not measured.
    pub(crate) before: Vec<Command>,
    /// Measured together.
    pub(crate) measured: Vec<Command>,
    pub(crate) clock: Clock,
}

impl Script {
    pub(crate) fn new(measured: impl IntoIterator<Item = Command>) -> Self {
        Self { measured: measured.into_iter().collect(), ..Self::default() }
    }

    pub(crate) fn after(self, before: impl IntoIterator<Item = Command>) -> Self {
        Self { before: before.into_iter().collect(), ..self }
    }
}

/// Adds arguments to a command that stands in an expression.
pub(crate) fn with<S: AsRef<std::ffi::OsStr>>(mut command: Command, args: impl IntoIterator<Item = S>) -> Command {
    command.args(args);
    command
}

/// The program of that name on `PATH`.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|path| path.is_file())
}
