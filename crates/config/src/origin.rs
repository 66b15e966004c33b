//! Where a value was written.

use std::fmt;
use std::path::PathBuf;

/// Names the place that a value comes from, as `ckpt config` and messages show it.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Given by the program itself, under the label it chose, such as `--checkpoint-dir`.
    Explicit(String),
    /// An environment variable, by its name as it was spelled.
    Variable(String),
    /// A line of a file.
    File {
        /// The file as it was found, absolute if the loader's directories are.
        path: PathBuf,
        /// The line of the key, from 1.
        line: usize,
    },
    /// Nobody said anything.
    Default,
}

impl Origin {
    /// Returns a stable word for the kind of place: `explicit`, `variable`, `file` or `default`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Explicit(_) => "explicit",
            Self::Variable(_) => "variable",
            Self::File { .. } => "file",
            Self::Default => "default",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Explicit(name) | Self::Variable(name) => out.write_str(name),
            Self::File { path, line } => write!(out, "{}:{line}", path.display()),
            Self::Default => out.write_str("default"),
        }
    }
}
