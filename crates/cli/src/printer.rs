//! The only place that prints. Data goes to stdout, everything else to stderr.
//!
//! With `--json` stdout gets one object and nothing else, and stderr stays empty unless `-v` is given: commands say all
//! they have to say, and this decides what of it is seen. A reader of stdout that goes away is no error; what is printed
//! to stderr is never one.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::errors::Failure;
use crate::object::{Envelope, Warning};
use crate::paint::{ColorChoice, Painter, Role};

/// What is printed besides data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    /// Warnings and errors.
    Quiet,
    /// Sentences about what was done.
    Normal,
    /// Also what was decided on the way.
    Verbose,
}

/// Prints. Clones share everything.
#[derive(Clone)]
pub(crate) struct Printer(Arc<Inner>);

struct Inner {
    is_json: bool,
    verbosity: Verbosity,
    out: Painter,
    err: Painter,
    warnings: Mutex<Vec<Warning>>,
    bar: Mutex<Option<ProgressBar>>,
}

impl Printer {
    /// Makes the printer of a process.
    pub(crate) fn new(is_json: bool, verbosity: Verbosity, color: ColorChoice) -> Self {
        Self(Arc::new(Inner {
            is_json,
            verbosity,
            out: Painter::new(color.is_on(io::stdout().is_terminal())),
            err: Painter::new(color.is_on(io::stderr().is_terminal())),
            warnings: Mutex::default(),
            bar: Mutex::default(),
        }))
    }

    /// Whether stdout gets one object and no text.
    pub(crate) fn is_json(&self) -> bool {
        self.0.is_json
    }

    /// Colours what goes to stdout.
    pub(crate) fn out(&self) -> Painter {
        self.0.out
    }

    /// Colours what goes to stderr.
    pub(crate) fn err(&self) -> Painter {
        self.0.err
    }

    /// Prints data, as it is.
    pub(crate) fn data(&self, bytes: impl AsRef<[u8]>) -> Result<(), Failure> {
        if self.0.is_json { Ok(()) } else { self.write(bytes.as_ref()) }
    }

    /// Prints the one object of a command.
    pub(crate) fn object<T: Serialize>(&self, schema: &str, workspace: Option<&Path>, body: T) -> Result<(), Failure> {
        if !self.0.is_json {
            return Ok(());
        }
        let warnings = lock(&self.0.warnings);
        let mut line = serde_json::to_vec(&Envelope::new(schema, workspace, &warnings, body))
            .map_err(|err| Failure::new("internal", "cannot write JSON").because(&err))?;
        drop(warnings);
        line.push(b'\n');
        self.write(&line)
    }

    /// Prints a line about what was done.
    pub(crate) fn say(&self, line: impl fmt::Display) {
        let wanted = if self.0.is_json { Verbosity::Verbose } else { Verbosity::Normal };
        if self.0.verbosity >= wanted {
            self.note(format_args!("{line}\n"));
        }
    }

    /// Prints a line about what was decided on the way.
    pub(crate) fn detail(&self, line: impl fmt::Display) {
        if self.0.verbosity == Verbosity::Verbose {
            let line = self.0.err.paint(Role::Faint, line.to_string());
            self.note(format_args!("{line}\n"));
        }
    }

    /// Warns, in the object as well.
    pub(crate) fn warn(&self, code: &'static str, message: impl fmt::Display) {
        let message = message.to_string();
        if !self.0.is_json || self.0.verbosity == Verbosity::Verbose {
            self.note(format_args!("{} {message}\n", self.0.err.paint(Role::Warning, "warning:")));
        }
        let mut warnings = lock(&self.0.warnings);
        let warning = Warning { code, message };
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    /// Tells why a command could not do what it should.
    pub(crate) fn failure(&self, failure: &Failure, workspace: Option<&Path>) {
        if self.0.is_json {
            // A failure to say that something failed has no place left to go.
            let _ = self.object("ckpt.error/1", workspace, failure.body());
            return;
        }
        let err = self.0.err;
        let mut text = format!("{} {}\n", err.paint(Role::Error, "error:"), failure.message);
        for cause in &failure.causes {
            text += &format!("  caused by: {cause}\n");
        }
        if let Some(hint) = &failure.hint {
            text += &format!("{} {hint}\n", err.paint(Role::Hint, "hint:"));
        }
        self.note(format_args!("{text}"));
    }

    /// Prints what clap wrote, which has its own colours: a usage error, or help where none was asked for.
    pub(crate) fn usage(&self, text: &clap::builder::StyledStr) {
        if self.0.err.is_on() {
            self.note(format_args!("{}", text.ansi()));
        } else {
            self.note(format_args!("{text}"));
        }
    }

    /// Asks a person a question that is answered with yes or no; `None` where nobody is there to answer.
    pub(crate) fn confirm(&self, question: &str) -> Option<bool> {
        if self.0.is_json || !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            return None;
        }
        self.note(format_args!("{question} [y/N] "));
        let mut answer = String::new();
        io::stdin().read_line(&mut answer).ok()?;
        Some(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
    }

    /// Whether anybody sees how far a long operation is: on a terminal only.
    pub(crate) fn shows_progress(&self) -> bool {
        !self.0.is_json && self.0.verbosity != Verbosity::Quiet && io::stderr().is_terminal()
    }

    /// Shows how far a long operation is. It disappears before the next line is printed.
    pub(crate) fn progress(&self, position: Option<(u64, u64)>, text: impl FnOnce() -> String) {
        let mut bar = lock(&self.0.bar);
        let bar = bar.get_or_insert_with(|| new_bar(position.map(|(_, total)| total)));
        if let Some((done, _)) = position {
            bar.set_position(done);
        }
        bar.set_message(text());
    }

    fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        self.clear_progress();
        let mut out = io::stdout().lock();
        match out.write_all(bytes).and_then(|()| out.flush()) {
            Err(err) if err.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failure::new("io", "cannot write to stdout").because(&err))
            }
            // Whoever reads has read enough.
            _ => Ok(()),
        }
    }

    fn note(&self, text: fmt::Arguments<'_>) {
        self.clear_progress();
        let _ = io::stderr().lock().write_all(text.to_string().as_bytes());
    }

    fn clear_progress(&self) {
        if let Some(bar) = lock(&self.0.bar).take() {
            bar.finish_and_clear();
        }
    }
}

/// A bar where the total is known, else a spinner; drawn to stderr.
fn new_bar(total: Option<u64>) -> ProgressBar {
    let (bar, template) = match total {
        Some(total) => (ProgressBar::new(total), "{msg} {wide_bar} {pos}/{len}"),
        None => (ProgressBar::new_spinner(), "{spinner} {msg}"),
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
