//! One run of the binary, and what it answered.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::Sandbox;

/// A run that is still to come. Its environment holds `PATH`, `HOME`, and what a test adds.
#[must_use = "a call does nothing until it is run"]
pub(crate) struct Call<'a> {
    sandbox: &'a Sandbox,
    args: Vec<OsString>,
    env: Vec<(String, OsString)>,
    dir: PathBuf,
    input: Option<Vec<u8>>,
    through: Vec<OsString>,
}

impl<'a> Call<'a> {
    pub(super) fn new<I: AsRef<OsStr>>(sandbox: &'a Sandbox, args: impl IntoIterator<Item = I>) -> Self {
        Self {
            sandbox,
            args: args.into_iter().map(|arg| arg.as_ref().to_owned()).collect(),
            env: vec![("FABRICATIO_CHECKPOINT__DURABILITY".to_owned(), "none".into())],
            dir: sandbox.w(),
            input: None,
            through: Vec::new(),
        }
    }

    /// One more argument.
    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Sets a variable.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Sets a key of the configuration: `config("exclude", "[\"*.log\"]")`.
    pub(crate) fn config(self, key: &str, value: &str) -> Self {
        self.env(&format!("FABRICATIO_CHECKPOINT__{}", key.to_ascii_uppercase()), value)
    }

    /// Flushes to disk, as outside of tests.
    pub(crate) fn durable(self) -> Self {
        self.config("durability", "full")
    }

    /// Runs somewhere else; relative to the workspace.
    pub(crate) fn dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.dir = self.sandbox.at(dir);
        self
    }

    /// What it reads from its standard input, which is empty otherwise.
    pub(crate) fn input(mut self, input: impl AsRef<[u8]>) -> Self {
        self.input = Some(input.as_ref().to_owned());
        self
    }

    /// Runs it under another program, such as `strace`, whose arguments stand before the binary.
    pub(crate) fn through<I: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = I>) -> Self {
        self.through = words.into_iter().map(|word| word.as_ref().to_owned()).collect();
        self
    }

    /// Does something at the step `number` of the file system: one of the actions of `crates/fs/src/fault.rs`. One thread,
    /// so that steps have the same numbers each time.
    pub(crate) fn fault(self, number: u64, action: &str) -> Self {
        self.config("threads", "1").env("CKPT_FAULT_AT", number.to_string()).env("CKPT_FAULT_DO", action)
    }

    /// The command that it runs.
    pub(crate) fn command(&self) -> Command {
        let binary = self.sandbox.binary();
        let mut command = match self.through.split_first() {
            Some((program, words)) => {
                let mut command = Command::new(program);
                command.args(words).arg(binary);
                command
            }
            None => Command::new(binary),
        };
        command
            .args(&self.args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.sandbox.home())
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.dir);
        if let Some(user) = self.sandbox.user() {
            command.uid(user).gid(user);
        }
        command
    }

    /// Starts it and does not wait.
    pub(crate) fn spawn(&self) -> Child {
        self.command()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary can be started")
    }

    /// Runs it to its end.
    pub(crate) fn run(self) -> Output {
        let mut command = self.command();
        command.stdin(if self.input.is_some() { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary can be started");
        if let Some(input) = &self.input {
            // It may end without reading.
            let _ = child.stdin.take().expect("stdin is a pipe").write_all(input);
        }
        let output = child.wait_with_output().expect("a child can be waited for");
        let output = Output::new(&self.args, output);
        assert!(!output.err().contains("panicked at"), "it panicked: {output}");
        output
    }
}

/// What a run answered.
#[must_use = "an output that nobody looks at proves nothing"]
#[derive(Clone, Debug)]
pub(crate) struct Output {
    args: Vec<OsString>,
    /// `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

impl Output {
    pub(crate) fn new(args: &[OsString], output: std::process::Output) -> Self {
        Self {
            args: args.to_owned(),
            code: output.status.code(),
            signal: output.status.signal(),
            stdout: output.stdout,
            stderr: output.stderr,
        }
    }

    /// Expects exit code 0.
    pub(crate) fn ok(self) -> Self {
        self.exits(0)
    }

    /// Expects an exit code.
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "exit code {code} is expected: {self}");
        self
    }

    /// Expects that the fault point ended it.
    pub(crate) fn killed(self) -> Self {
        assert_eq!(self.signal, Some(9), "it should have been killed: {self}");
        self
    }

    /// Expects words on stdout or stderr.
    pub(crate) fn says(self, words: &str) -> Self {
        assert!(self.all().contains(words), "`{words}` is expected: {self}");
        self
    }

    /// Expects that words are neither on stdout nor on stderr.
    pub(crate) fn keeps_quiet_about(self, words: &str) -> Self {
        assert!(!self.all().contains(words), "`{words}` is not expected: {self}");
        self
    }

    /// Expects a failure in JSON, with a code.
    pub(crate) fn fails_with(self, code: &str) -> Self {
        assert!(matches!(self.code, Some(1 | 2)), "a failure is expected: {self}");
        assert_eq!(self.json()["error"]["code"], code, "{self}");
        self
    }

    /// Stdout as text.
    pub(crate) fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Stderr as text.
    pub(crate) fn err(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// Both.
    pub(crate) fn all(&self) -> String {
        self.out() + &self.err()
    }

    /// Stdout, which must be one id and nothing else.
    pub(crate) fn id(&self) -> String {
        let out = self.out();
        let id = out.strip_suffix('\n').unwrap_or(&out);
        assert!(id.len() == 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "an id is expected: {self}");
        id.to_owned()
    }

    /// Stdout, which must be one line of JSON; stderr must be empty.
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.out().lines().count(), 1, "one line of JSON is expected: {self}");
        assert!(self.stderr.is_empty(), "nothing on stderr is expected: {self}");
        serde_json::from_slice(&self.stdout).unwrap_or_else(|err| panic!("{err}: {self}"))
    }
}

impl std::fmt::Display for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let args: Vec<_> = self.args.iter().map(|arg| arg.to_string_lossy()).collect();
        writeln!(f, "ckpt {}\nexit {:?}, signal {:?}", args.join(" "), self.code, self.signal)?;
        writeln!(f, "stdout:\n{}\nstderr:\n{}", self.out(), self.err())
    }
}
