//! The transcript in the README, run: what people read first is what they get.
//!
//! A fenced block marked `console` is one session of a shell in the project of a person `ada`. Lines that begin with
//! `$ ` are run in order, each with stdout and stderr together; the lines below are what it prints. Ids, times and the
//! places of the sandbox are compared by their order of appearance.

use std::path::Path;
use std::process::Command;

use crate::sandbox::{Sandbox, redact};

/// Where the README puts its home directory, and its project.
const HOME: &str = "/home/ada";
const PROJECT: &str = "/home/ada/demo";

#[test]
fn the_transcript_of_the_readme_is_what_the_command_prints() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md"))
        .expect("the README stands at the root of the workspace");
    let transcripts = console_blocks(&readme);
    assert!(!transcripts.is_empty(), "the README has no transcript");
    for expected in transcripts {
        let sandbox = Sandbox::new();
        let project = sandbox.root().join("demo");
        sandbox.write(project.join("config.toml"), "level = 1\n");
        sandbox.write(project.join("src/main.rs"), "fn main() {}\n");
        let root = sandbox.root().to_string_lossy();
        let expected =
            expected.replace(PROJECT, &format!("{root}/demo")).replace(HOME, &sandbox.home().to_string_lossy());
        let mut actual = String::new();
        for line in expected.lines().filter_map(|line| line.strip_prefix("$ ")) {
            actual += &format!("$ {line}\n{}", shell(&sandbox, &project, line));
        }
        pretty_assert(&redact(&expected, sandbox.root()), &redact(&actual, sandbox.root()));
    }
}

/// The contents of the blocks that are marked as a session.
fn console_blocks(text: &str) -> Vec<String> {
    text.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default().to_owned()).collect()
}

/// What a line prints in a shell that knows `ckpt`.
fn shell(sandbox: &Sandbox, dir: &Path, line: &str) -> String {
    let bin = sandbox.binary().parent().expect("a binary stands in a directory").to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::iter::once(bin).chain(std::env::split_paths(&path));
    let output = Command::new("sh")
        .arg("-c")
        .arg(format!("exec 2>&1\n{line}"))
        .env_clear()
        .env("PATH", std::env::join_paths(dirs).expect("no directory on the path holds a colon"))
        .env("HOME", sandbox.home())
        .env("FABRICATIO_CHECKPOINT__DURABILITY", "none")
        .current_dir(dir)
        .output()
        .expect("there is a shell");
    assert!(output.status.success(), "`{line}`: {}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Shows both sides whole, since one is pasted over the other.
fn pretty_assert(expected: &str, actual: &str) {
    assert!(expected == actual, "the README says\n\n{expected}\n\nand the command prints\n\n{actual}");
}
