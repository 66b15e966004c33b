//! Prints the reference of the configuration, the content of `docs/config.md`.

use std::io::{self, Write};

fn main() -> io::Result<()> {
    io::stdout().write_all(ckpt_config::reference_markdown().as_bytes())
}
