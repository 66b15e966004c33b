//! Chores of the workspace: `cargo xtask ci`, `tidy`, `docs`, `torture`, `bench`, `dist` and `release`.
//!
//! Each chore is one module with one `run`. Nothing here ships: a chore may print, write files and start programs,
//! which the crates may not.

mod bench;
mod ci;
mod dist;
mod docs;
mod failure;
mod manifest;
mod printer;
mod program;
mod release;
mod tidy;
mod torture;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::failure::Failure;
use crate::workspace::Workspace;

/// Chores of the ckpt workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Run every check that CI runs, in order; the first that fails ends the run.
    Ci(ci::Args),
    /// Check the invariants that text can check.
    Tidy,
    /// Regenerate docs/config.md and docs/cli.md, and the tests of docs/cases.md.
    Docs(docs::Args),
    /// Run every torture and print what was tried and what survived.
    Torture(torture::Args),
    /// Measure ckpt beside other programs and the limits of the machine.
    Bench(bench::Args),
    /// Build the release archive and its SHA-256 file in target/dist.
    Dist(dist::Args),
    /// Set one version everywhere and say how to publish it; publishes nothing.
    Release(release::Args),
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            printer::failure(&failure);
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<(), Failure> {
    let workspace = Workspace::find()?;
    match &cli.chore {
        Chore::Ci(args) => ci::run(&workspace, args),
        Chore::Tidy => tidy::run(&workspace),
        Chore::Docs(args) => docs::run(&workspace, args),
        Chore::Torture(args) => torture::run(&workspace, args),
        Chore::Bench(args) => bench::run(&workspace, args),
        Chore::Dist(args) => dist::run(&workspace, args),
        Chore::Release(args) => release::run(&workspace, args),
    }
}
