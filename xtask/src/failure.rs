//! Why a chore could not be done.
//!
//! One message for a person at a terminal; nobody matches on it, so there are no variants.

use std::fmt;
use std::path::Path;

/// A chore that stopped: what could not be done, why, and what to do about it.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    cause: Option<String>,
    hint: Option<String>,
}

impl Failure {
    /// A failure with nothing more to say than its message.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), cause: None, hint: None }
    }

    /// Work on `path` failed: the message is "cannot", the action, and the path.
    pub(crate) fn at(action: &str, path: &Path, cause: impl fmt::Display) -> Self {
        Self::new(format!("cannot {action} {}", path.display())).because(cause)
    }

    /// Adds what lies beneath.
    pub(crate) fn because(self, cause: impl fmt::Display) -> Self {
        Self { cause: Some(cause.to_string()), ..self }
    }

    /// Adds what the reader can do.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        if let Some(cause) = &self.cause {
            write!(f, "\ncaused by: {cause}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}
