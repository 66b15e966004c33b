//! The one place where failures become a code, a sentence, a hint and an exit code.

use std::error::Error as StdError;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ckpt_service::{Error, StoreError};

use crate::args::Invocation;
use crate::hints::{self, Whereabouts};
use crate::object::ErrorBody;

/// Result of a command's parts.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done, also when paths were left out by rule.
    Done,
    /// Could not be done.
    Failed,
    /// The command line is wrong, whatever the state of things.
    Usage,
    /// Done, but something that the rules want was not captured or not restored.
    Partial,
    /// There are differences, and `--exit-code` asked.
    Differs,
    /// Stopped by Ctrl-C.
    Interrupted,
}

impl Exit {
    /// The number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Partial => 3,
            Self::Differs => 4,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Why a command could not do what it should, ready to be told. One pointer wide, since every result has room for it.
#[derive(Debug)]
pub(crate) struct Failure(Box<Told>);

/// What is told of a failure.
#[derive(Debug)]
pub(crate) struct Told {
    /// Stable word for programs; one of [`codes::ERRORS`](crate::codes::ERRORS).
    pub(crate) code: &'static str,
    /// What could not be done: "cannot …", without a full stop.
    pub(crate) message: String,
    /// Why, outermost cause first.
    pub(crate) causes: Vec<String>,
    /// What to do. Where it is a command, it works when pasted.
    pub(crate) hint: Option<String>,
    /// File, directory or store that it is about.
    pub(crate) path: Option<PathBuf>,
    /// How the process ends.
    pub(crate) exit: Exit,
    /// The error of the library, for its hint.
    source: Option<Box<Error>>,
}

impl Failure {
    /// Makes a failure of the command itself.
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self(Box::new(Told {
            code,
            message: message.into(),
            causes: Vec::new(),
            hint: None,
            path: None,
            exit: Exit::Failed,
            source: None,
        }))
    }

    /// Makes a failure of whoever wrote the command line.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        let mut failure = Self::new("usage", message);
        failure.exit = Exit::Usage;
        failure
    }

    /// Adds a cause, with its own.
    pub(crate) fn because(mut self, cause: &dyn StdError) -> Self {
        let mut next = Some(cause);
        while let Some(cause) = next {
            self.causes.push(cause.to_string());
            next = cause.source();
        }
        self
    }

    /// Sets what to do.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Sets what it is about.
    pub(crate) fn at(mut self, path: &Path) -> Self {
        self.path = Some(path.to_owned());
        self
    }

    /// The store's own error, if it is one.
    pub(crate) fn store_error(&self) -> Option<&StoreError> {
        match self.source.as_deref() {
            Some(Error::Store(err)) => Some(err),
            _ => None,
        }
    }

    /// Fills in the hint that belongs to the code, unless the command had a better one.
    pub(crate) fn with_default_hint(mut self, invocation: &Invocation, at: Option<&Whereabouts>) -> Self {
        if self.hint.is_none() && self.code == "nothing-saved" {
            self.hint = Some(format!("make a first checkpoint: {}", invocation.command(["save"])));
        } else if self.hint.is_none() {
            self.hint = self.source.as_deref().and_then(|err| hints::for_error(err, invocation, at));
        }
        self
    }

    /// The part of the JSON object that is about the failure.
    pub(crate) fn body(&self) -> ErrorBody<'_> {
        ErrorBody::of(self)
    }
}

impl Deref for Failure {
    type Target = Told;

    fn deref(&self) -> &Told {
        &self.0
    }
}

impl DerefMut for Failure {
    fn deref_mut(&mut self) -> &mut Told {
        &mut self.0
    }
}

impl From<Error> for Failure {
    fn from(err: Error) -> Self {
        let mut failure = Self::new(err.code(), err.to_string());
        if let Some(cause) = err.source() {
            failure = failure.because(cause);
        }
        failure.path = err.path().map(Path::to_owned);
        if matches!(err, Error::Store(StoreError::Interrupted)) {
            failure.exit = Exit::Interrupted;
        }
        failure.source = Some(Box::new(err));
        failure
    }
}

impl From<StoreError> for Failure {
    fn from(err: StoreError) -> Self {
        Error::from(err).into()
    }
}

impl From<ckpt_config::Error> for Failure {
    fn from(err: ckpt_config::Error) -> Self {
        Error::from(err).into()
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn a_library_error_keeps_code_chain_and_path() {
        let source = io::Error::from(io::ErrorKind::PermissionDenied);
        let err = StoreError::Io { action: "read", path: "/x".into(), source };
        let failure = Failure::from(err);
        assert_eq!(failure.code, "permission-denied");
        assert_eq!(failure.message, "cannot read /x");
        assert_eq!(failure.causes, ["permission denied"]);
        assert_eq!(failure.path.as_deref(), Some(Path::new("/x")));
        assert_eq!(failure.exit, Exit::Failed);
    }

    #[test]
    fn an_interruption_has_its_own_exit_code() {
        assert_eq!(Failure::from(StoreError::Interrupted).exit.code(), 130);
        assert_eq!(Failure::usage("x").exit.code(), 2);
    }
}
