//! `ckpt man`.

use std::path::{Path, PathBuf};

use clap::CommandFactory;
use clap_mangen::Man;
use serde::Serialize;

use crate::app::App;
use crate::args::Cli;
use crate::errors::{Exit, Failure, Result};
use crate::json::JsonPath;
use crate::quoting;

/// The program that the pages are about.
const SOURCE: &str = concat!("ckpt ", env!("CARGO_PKG_VERSION"));

/// Print the manual page, or write the pages of all commands
///
/// To read it: `ckpt man | man -l -`. To have all of them: `ckpt man --dir ~/.local/share/man/man1`.
#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// Write ckpt.1 and a page for each command into this directory, which must exist
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// The body of `ckpt.man/1`.
#[derive(Serialize)]
struct Body {
    page: Option<String>,
    files: Vec<JsonPath>,
    more: u64,
}

/// Prints the page, or writes all of them.
pub(crate) fn run(app: &App, args: &ManArgs) -> Result<Exit> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let body = match &args.dir {
        None => {
            let mut page = Vec::new();
            Man::new(command)
                .source(SOURCE)
                .manual("ckpt manual")
                .render(&mut page)
                .map_err(|err| Failure::new("internal", "cannot make the page").because(&err))?;
            app.printer.data(&page)?;
            Body { page: Some(String::from_utf8_lossy(&page).into_owned()), files: Vec::new(), more: 0 }
        }
        Some(dir) => {
            let mut files = vec![write(&command, dir)?];
            for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
                files.push(write(sub, dir)?);
            }
            app.printer.say(format_args!("wrote {} pages to {}", files.len(), quoting::path(dir)));
            Body { page: None, files: files.iter().map(|file| JsonPath::absolute(file)).collect(), more: 0 }
        }
    };
    app.object("ckpt.man/1", body)?;
    Ok(Exit::Done)
}

/// Writes the page of one command, and answers its file.
fn write(command: &clap::Command, dir: &Path) -> Result<PathBuf> {
    let page = Man::new(command.clone()).source(SOURCE).manual("ckpt manual");
    page.generate_to(dir).map_err(|err| {
        Failure::new("io", format!("cannot write manual pages to {}", quoting::path(dir)))
            .because(&err)
            .at(dir)
            .hint(format!("make the directory: mkdir -p {}", quoting::shell(dir)))
    })
}
