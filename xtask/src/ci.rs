//! `cargo xtask ci`: what CI runs, here.
//!
//! The order is from cheap to dear within a kind, and the tests stand early enough that their result is not lost
//! behind the checks of documents.

use clap::ValueEnum;

use crate::failure::Failure;
use crate::printer;
use crate::program::Program;
use crate::workspace::Workspace;
use crate::{bench, docs, tidy};

/// What to leave out.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Leave a step out; may be given several times.
    #[arg(long, value_name = "STEP")]
    skip: Vec<Step>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Step {
    /// Formatting of all Rust files.
    Fmt,
    /// Lints of all targets, warnings denied.
    Clippy,
    /// The test command of the README.
    Test,
    /// API documentation, warnings denied.
    Doc,
    /// Invariants that text can check.
    Tidy,
    /// Generated references are up to date.
    Docs,
    /// System calls, bytes written and waits for the disk are no more than they were.
    Counts,
    /// Bans, licences and sources of dependencies.
    Deny,
}

impl Step {
    fn name(self) -> &'static str {
        match self {
            Self::Fmt => "fmt",
            Self::Clippy => "clippy",
            Self::Test => "test",
            Self::Doc => "doc",
            Self::Tidy => "tidy",
            Self::Docs => "docs",
            Self::Counts => "counts",
            Self::Deny => "deny",
        }
    }

    fn does(self) -> &'static str {
        match self {
            Self::Fmt => "cargo fmt --all --check",
            Self::Clippy => "cargo clippy --workspace --all-targets -- -D warnings",
            Self::Test => "cargo test --workspace",
            Self::Doc => "RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps",
            Self::Tidy => "cargo xtask tidy",
            Self::Docs => "cargo xtask docs --check",
            Self::Counts => "cargo xtask bench --counts",
            Self::Deny => "cargo deny check bans licenses sources",
        }
    }

    fn run(self, workspace: &Workspace) -> Result<(), Failure> {
        let cargo = || Program::cargo(workspace.root());
        match self {
            Self::Fmt => cargo().args(["fmt", "--all", "--check"]).run(),
            Self::Clippy => {
                cargo().args(["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"]).run()
            }
            Self::Test => cargo().args(["test", "--locked", "--workspace"]).run(),
            Self::Doc => {
                cargo().args(["doc", "--locked", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings").run()
            }
            Self::Tidy => tidy::run(workspace),
            Self::Docs => docs::check(workspace),
            Self::Counts => bench::counts(workspace),
            Self::Deny => deny(workspace),
        }
    }
}

/// Runs the steps in order; the first that fails ends the run and is named.
pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<(), Failure> {
    for step in Step::value_variants() {
        if args.skip.contains(step) {
            printer::step(step.name(), "skipped, as asked");
            continue;
        }
        printer::step(step.name(), step.does());
        step.run(workspace).map_err(|failure| {
            printer::failure(&failure);
            Failure::new(format!("step `{}` failed", step.name())).hint(format!("run it alone: {}", step.does()))
        })?;
    }
    printer::say("\nci: every step that ran is good");
    Ok(())
}

/// Advisories are left out: their database has to be fetched, and many machines that build this cannot.
fn deny(workspace: &Workspace) -> Result<(), Failure> {
    if !Program::cargo(workspace.root()).args(["deny", "--version"]).succeeds() {
        printer::note(
            "cargo-deny is not installed, so deny.toml is not checked here; `cargo install cargo-deny` adds it",
        );
        return Ok(());
    }
    Program::cargo(workspace.root()).args(["deny", "--locked", "check", "bans", "licenses", "sources"]).run()
}
