//! Why a configuration cannot be loaded.

use std::error::Error as StdError;
use std::io;
use std::path::PathBuf;

use crate::key;
use crate::origin::Origin;

/// Says why a configuration cannot be loaded, split by what its reader can do about it.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file that was found, or named explicitly, cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is not valid TOML.
    #[error("cannot parse {}:{line}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line where it goes wrong, from 1.
        line: usize,
        /// What is wrong there.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// A value has the wrong type or is out of range.
    #[error("cannot use {found} for {key} ({origin}): expected {expected}")]
    Invalid {
        /// The key with its tables, as it stands in its source.
        key: String,
        /// Where the value is written.
        origin: Origin,
        /// What the value must be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// A path begins with `~`, or is the default in the home directory, and nobody knows the home directory.
    #[error("cannot find the home directory for checkpoint_dir ({origin})")]
    HomeUnknown {
        /// Where the path is written.
        origin: Origin,
    },
}

impl Error {
    /// Returns a stable word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "config-unreadable",
            Self::Malformed { .. } => "config-malformed",
            Self::Invalid { .. } => "config-invalid",
            Self::HomeUnknown { .. } => "home-unknown",
        }
    }

    /// Returns what the reader can do, if there is something to say.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unreadable { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Some("name a file that exists with --config".to_owned())
            }
            Self::Unreadable { .. } => Some("pass --config FILE to read another file instead".to_owned()),
            Self::Malformed { .. } => {
                Some("correct the file, or pass --config FILE to read another one instead".to_owned())
            }
            Self::Invalid { key, origin, .. } => hint_for_value(key, origin),
            Self::HomeUnknown { .. } => Some(
                "set HOME, or name an absolute directory with --checkpoint-dir or FABRICATIO_CHECKPOINT__CHECKPOINT_DIR"
                    .to_owned(),
            ),
        }
    }
}

/// Shows a value that would do, in the form that the value's place wants.
fn hint_for_value(full_name: &str, origin: &Origin) -> Option<String> {
    let name = full_name.rsplit('.').next()?;
    let key = key::find(name)?;
    match origin {
        Origin::File { .. } => Some(format!("write for example: {}", key.example)),
        // A list keeps its quotes; a word or path must not have any.
        Origin::Variable(variable) => {
            let value = key.example.split_once(" = ")?.1;
            Some(format!("set for example: {variable}='{}'", value.trim_matches('"')))
        }
        Origin::Explicit(_) | Origin::Default => None,
    }
}
