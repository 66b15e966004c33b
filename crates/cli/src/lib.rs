//! The `ckpt` command: what people and agents type, and what they read.
//!
//! A command is a file in `commands`. It finds its workspace, calls the store, and hands facts to the printer, the only
//! place that writes to stdout and stderr. What goes wrong becomes a code, a sentence and a hint in `errors` and `hints`.
//!
//! The library exists for the binary beside it and for the generated reference; nothing in it is promised to anybody.

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

mod app;
mod args;
mod changes;
mod codes;
mod commands;
mod comparison;
mod errors;
mod hints;
mod json;
mod object;
mod paint;
mod printer;
mod programs;
mod progress;
mod quoting;
mod reasons;
mod reference;
mod remedies;
mod restore;
mod schemas;
mod signals;
mod time;
mod usage;
mod wording;
mod workspace;

/// Runs the command line of this process.
pub fn run() -> ExitCode {
    let argv: Vec<OsString> = env::args_os().collect();
    let exit = match args::Cli::try_parse_from(usage::understood(&argv)) {
        Ok(cli) => {
            let app = app::App::new(&cli.global);
            app.finish(commands::run(&app, &cli.command))
        }
        Err(refusal) => usage::answer(&argv, refusal),
    };
    exit.into()
}

/// Writes the content of `docs/cli.md`, without a line break at the end.
#[doc(hidden)]
pub fn reference_markdown() -> String {
    reference::markdown()
}
