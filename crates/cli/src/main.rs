//! The `ckpt` command. All of it is in the library beside this file, so that the reference can be generated from it.

use std::process::ExitCode;

fn main() -> ExitCode {
    ckpt_cli::run()
}
