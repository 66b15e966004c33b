//! Programs that the chores start: cargo, git, and the `ckpt` that was just built.
//!
//! Standard input is closed for all of them, so that none can wait for an answer.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::failure::Failure;

/// A program with its arguments, run in the workspace's root.
pub(crate) struct Program {
    command: Command,
}

/// What a program said, and how it ended.
pub(crate) struct Output {
    pub(crate) success: bool,
    pub(crate) text: String,
}

impl Program {
    /// Any program, by name or path.
    pub(crate) fn new(program: impl AsRef<OsStr>, root: &Path) -> Self {
        let mut command = Command::new(program);
        command.current_dir(root).stdin(Stdio::null());
        Self { command }
    }

    /// The cargo that runs this chore.
    pub(crate) fn cargo(root: &Path) -> Self {
        Self::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), root)
    }

    /// Adds arguments.
    pub(crate) fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.command.args(args);
        self
    }

    /// Sets a variable of the program's environment.
    pub(crate) fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(key, value);
        self
    }

    /// Runs it with our stdout and stderr; anything but success is a failure that shows the command.
    pub(crate) fn run(mut self) -> Result<(), Failure> {
        let status = self.command.status().map_err(|err| self.not_started(&err))?;
        if status.success() { Ok(()) } else { Err(Failure::new(format!("`{}` ended with {status}", self.shown()))) }
    }

    /// Runs it and returns what it wrote to stdout; its stderr is ours.
    pub(crate) fn stdout(mut self) -> Result<Vec<u8>, Failure> {
        let output = self.command.stderr(Stdio::inherit()).output().map_err(|err| self.not_started(&err))?;
        if output.status.success() {
            Ok(output.stdout)
        } else {
            Err(Failure::new(format!("`{}` ended with {}", self.shown(), output.status)))
        }
    }

    /// Runs it and returns its stdout as text without the last line end.
    pub(crate) fn text(self) -> Result<String, Failure> {
        let shown = self.shown();
        let text = String::from_utf8(self.stdout()?)
            .map_err(|err| Failure::new(format!("`{shown}` printed what is not UTF-8")).because(err))?;
        Ok(text.trim_end_matches('\n').to_owned())
    }

    /// Runs it and returns what it wrote to stdout and stderr, whether it succeeded or not.
    pub(crate) fn output_of(mut self) -> Result<Output, Failure> {
        let output = self.command.output().map_err(|err| self.not_started(&err))?;
        let text = [&*output.stdout, &*output.stderr].map(String::from_utf8_lossy).concat();
        Ok(Output { success: output.status.success(), text })
    }

    /// Whether it runs and succeeds; what it prints is dropped.
    pub(crate) fn succeeds(mut self) -> bool {
        self.command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    }

    fn not_started(&self, err: &std::io::Error) -> Failure {
        Failure::new(format!("cannot run `{}`", self.shown())).because(err)
    }

    fn shown(&self) -> String {
        let program = Path::new(self.command.get_program()).file_name().unwrap_or_default().to_string_lossy();
        let args = self.command.get_args().map(OsStr::to_string_lossy);
        std::iter::once(program).chain(args).collect::<Vec<_>>().join(" ")
    }
}
