//! `ckpt completions`.

use clap::CommandFactory;
use clap_complete::Shell;
use serde::Serialize;

use crate::app::App;
use crate::args::Cli;
use crate::errors::{Exit, Result};

/// Print a script that completes commands and options in a shell
///
/// For bash: `source <(ckpt completions bash)` in ~/.bashrc. For zsh: `ckpt completions zsh` into a file called _ckpt in
/// a directory of $fpath. For fish: into ~/.config/fish/completions/ckpt.fish.
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// The body of `ckpt.completions/1`.
#[derive(Serialize)]
struct Body {
    shell: String,
    script: String,
}

/// Prints the script.
pub(crate) fn run(app: &App, args: &CompletionsArgs) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ckpt", &mut script);
    app.printer.data(&script)?;
    let script = String::from_utf8_lossy(&script).into_owned();
    app.object("ckpt.completions/1", Body { shell: args.shell.to_string(), script })?;
    Ok(Exit::Done)
}
