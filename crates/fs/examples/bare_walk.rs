//! Walks a directory with two threads and asks for the stat data of every entry, and does nothing else: what looking at
//! the files costs. `tests/real.sh` and `cargo xtask bench` hold a save against it.
//!
//! ```text
//! bare_walk DIR
//! ```

mod walking;

use std::process::ExitCode;

use ckpt_fs::{Dir, Stat};

#[derive(Default)]
struct Count(u64);

impl walking::Visitor for Count {
    fn visit(&mut self, _dir: &Dir, _name: &[u8], _stat: &Stat) {
        self.0 += 1;
    }
}

#[expect(clippy::print_stdout, reason = "an example prints what it found")]
fn main() -> ExitCode {
    let Some(root) = std::env::args_os().nth(1) else { return ExitCode::from(2) };
    let Ok([first, second]) = walking::walk(root.as_ref(), [Count::default(), Count::default()]) else {
        return ExitCode::FAILURE;
    };
    println!("{}", first.0 + second.0);
    ExitCode::SUCCESS
}
