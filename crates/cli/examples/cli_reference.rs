//! Prints the reference of the command line, the content of `docs/cli.md`.

use std::io::{self, Write};

fn main() -> io::Result<()> {
    io::stdout().write_all((ckpt_cli::reference_markdown() + "\n").as_bytes())
}
