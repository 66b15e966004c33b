//! What a load found out.

use std::path::PathBuf;

use crate::config::Config;
use crate::key::Key;
use crate::origin::Origin;
use crate::setting::Setting;
use crate::warning::Warning;

/// Holds a configuration and the story of each of its values.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The merged configuration.
    pub config: Config,
    /// An entry for every key, in the order of [`keys`](crate::keys).
    pub entries: Vec<Entry>,
    /// The files that were read, highest precedence first.
    pub files: Vec<PathBuf>,
    /// What was found and not used: environment first, then file by file.
    pub warnings: Vec<Warning>,
    /// Set when a file inside the worktree decides where the stores are: without it they would be elsewhere.
    pub redirect: Option<Redirect>,
}

/// Tells for one key which value holds, and why.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: &'static Key,
    /// Its value.
    pub setting: Setting,
    /// Where the value comes from.
    pub origin: Origin,
    /// The values that it hides, highest precedence first, down to the default.
    pub overridden: Vec<Given>,
}

/// Holds a value and where it was written.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The value.
    pub setting: Setting,
    /// Where it was written.
    pub origin: Origin,
}

/// Tells that a file inside the worktree moves the stores.
///
/// An agent edits the worktree, so it could cut its workspace off from its checkpoints this way. Harmful only if the
/// worktree's store already stands in `from`; the crate knows no stores and leaves that question to its caller.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// The directory that the sources outside the worktree give.
    pub from: PathBuf,
    /// Which of them.
    pub from_origin: Origin,
    /// The directory that holds now; the one in the configuration.
    pub to: PathBuf,
    /// Where it is written: mostly in `file`, elsewhere if `file` only hides a file further up that gives `from`.
    pub to_origin: Origin,
    /// The file inside the worktree that is the cause.
    pub file: PathBuf,
}
