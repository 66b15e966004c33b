//! `cargo xtask torture`: every torture, and one table of what was tried, what survived, and what was lost.
//!
//! A torture is a test that writes a line `torture<TAB>name<TAB>tried<TAB>survived<TAB>lost<TAB>time<TAB>kinds`. Here they
//! are only found, run and added up; what each does stands in `tests/e2e/torture`, `crates/core/src/fuzz.rs`, `tests/model` and the tests of crates.

use crate::failure::Failure;
use crate::printer;
use crate::program::Program;
use crate::workspace::Workspace;

/// Which form, and which tortures.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The form that `cargo test` runs too; this is the default.
    #[arg(long, conflicts_with = "long")]
    short: bool,
    /// The long form: hours on two cores.
    #[arg(long)]
    long: bool,
    /// Only tests whose names contain this.
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

/// Where tortures are: a package, what `cargo test` calls their binary, and what their names begin with.
const PLACES: [(&str, &[&str], &str); 4] = [
    ("ckpt-cli", &["--test", "e2e"], "torture::"),
    ("ckpt-cli", &["--test", "model"], "towns_"),
    ("ckpt-service", &["--test", "torture_threads"], "threads_"),
    ("ckpt-core", &["--lib"], "fuzz::"),
];

/// Begins the line of a torture.
const MARK: &str = "torture\t";

/// Runs them one after the other, and fails if one failed or lost anything.
pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<(), Failure> {
    let form = if args.long { "long" } else { "short" };
    let mut lines = Vec::new();
    let mut failed = Vec::new();
    for (package, binary, begin) in PLACES {
        printer::step(package, &format!("the {form} form of the tortures of {package}"));
        let test = || {
            let cargo = Program::cargo(workspace.root()).args(["test", "--locked", "--release", "-p", package]);
            cargo.args(binary).args(["--"])
        };
        let names = test().args(["--list", "--format", "terse", begin]).text()?;
        for name in names.lines().filter_map(|line| line.strip_suffix(": test")) {
            if args.name.as_ref().is_some_and(|part| !name.contains(part)) {
                continue;
            }
            printer::say(name);
            let output = test().args(["--exact", name, "--nocapture"]).env("CKPT_TORTURE", form).output_of()?;
            lines.extend(output.text.lines().filter_map(|line| line.strip_prefix(MARK)).map(str::to_owned));
            if !output.success {
                printer::say(&output.text);
                failed.push(name.to_owned());
            }
        }
    }
    printer::say(&table(&lines));
    if failed.is_empty() { Ok(()) } else { Err(Failure::new(format!("these tortures failed: {}", failed.join(", ")))) }
}

/// The lines as a table of Markdown, as docs/guarantees.md has it.
fn table(lines: &[String]) -> String {
    let mut text = String::from("| torture | tried | survived | lost | time | kinds |\n|---|---|---|---|---|---|\n");
    for line in lines {
        text += &format!("| {} |\n", line.replace('\t', " | "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_becomes_a_row() {
        let text = table(&["kills\t7\t7\t0\t3 s\tsave kill 7".to_owned()]);
        assert!(text.ends_with("| kills | 7 | 7 | 0 | 3 s | save kill 7 |\n"), "{text}");
    }
}
