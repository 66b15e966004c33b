//! `--counts`: what is the same on every machine, and in a busy one: system calls, bytes written, waits for the disk.
//!
//! The program is that of the tests and not the released one, which takes minutes to build and calls the same.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::failure::Failure;
use crate::printer;
use crate::program::Program;
use crate::workspace::Workspace;

use super::subject::{Place, find_program};
use super::subjects::ckpt::{Ckpt, Durability};
use super::system_calls::{Kind, SystemCalls};
use super::tree::{self, Source};
use super::witness::printed;

const FILES: usize = 1000;
/// How long nobody has touched what a first save saves.
const QUIET: Duration = Duration::from_secs(11);

/// The counts of one verb.
struct Counted {
    verb: &'static str,
    found: SystemCalls,
}

/// What was counted when the table below was written, in the order of [`Kind::ALL`].
struct Known {
    verb: &'static str,
    calls: [u64; 9],
    bytes_written: u64,
}

/// The table of the last count, for those who come to write it anew: `cargo xtask bench --counts` prints these figures.
const KNOWN: [Known; 9] = [
    Known { verb: "save-first", calls: [2148, 1149, 118, 1045, 21, 1152, 30, 23, 0], bytes_written: 2_339_694 },
    Known { verb: "save-0", calls: [1127, 96, 112, 46, 2, 96, 4, 0, 0], bytes_written: 52 },
    Known { verb: "status", calls: [1108, 82, 104, 34, 0, 79, 0, 0, 0], bytes_written: 0 },
    Known { verb: "save-1", calls: [1140, 111, 114, 60, 10, 111, 8, 5, 0], bytes_written: 10_506 },
    Known { verb: "save-100", calls: [1345, 213, 114, 166, 10, 214, 9, 5, 0], bytes_written: 316_526 },
    Known { verb: "rollback-1", calls: [118, 88, 12, 102, 9, 122, 14, 10, 1], bytes_written: 23_664 },
    Known { verb: "reset-100", calls: [1866, 488, 114, 644, 112, 520, 214, 9, 3], bytes_written: 856_104 },
    Known { verb: "undo-100", calls: [1871, 485, 114, 878, 107, 517, 209, 7, 3], bytes_written: 540_666 },
    Known { verb: "redo-100", calls: [1879, 494, 114, 893, 112, 526, 214, 9, 3], bytes_written: 627_381 },
];

/// What is wanted and not yet so everywhere: at most so many calls of these kinds together. Missing it is said and fails
/// nothing, because the bounds above keep what is reached.
const WANTED: [(&str, &[Kind], u64); 4] = [
    // Five a file and four a directory, and what every save needs.
    ("save-first", &[Kind::Stat, Kind::Open, Kind::List, Kind::Read, Kind::Close], 5 * FILES as u64 + 750),
    // One a file and four a directory.
    ("save-0", &[Kind::Stat, Kind::Open, Kind::List, Kind::Read, Kind::Close], FILES as u64 + 750),
    // Nine fsyncs and two syncfs were asked for. A lone file has an fsync of its own instead of the first syncfs, which
    // would wait for whatever else its file system has to write.
    ("rollback-1", &[Kind::Fsync, Kind::Syncfs], 9 + 2),
    ("rollback-1", &[Kind::Syncfs], 2),
];

/// Counts, prints a table, and fails if a bound is broken.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Failure> {
    let Some(strace) = find_program("strace") else {
        printer::note("strace is not installed, so system calls are not counted here");
        return Ok(());
    };
    if !Program::new(&strace, workspace.root()).args(["-f", "-o", "/dev/null", "true"]).succeeds() {
        printer::note("strace may not look into programs here, so system calls are not counted");
        return Ok(());
    }
    Program::cargo(workspace.root()).args(["build", "--locked", "--quiet", "-p", "ckpt-cli"]).run()?;
    let all = count(&strace, &workspace.target_dir().join("debug/ckpt"))?;
    printer::say(&table(&all));
    for (verb, kinds, at_most) in WANTED {
        let found = all.iter().filter(|counted| counted.verb == verb);
        let count: u64 = found.flat_map(|counted| kinds.iter().map(|kind| counted.found.count(*kind))).sum();
        if count > at_most {
            let kinds: Vec<String> = kinds.iter().map(ToString::to_string).collect();
            printer::note(&format!("{verb}: {count} calls ({}), wanted are at most {at_most}", kinds.join(", ")));
        }
    }
    let broken: Vec<String> = KNOWN.iter().flat_map(|known| known.compare(&all)).collect();
    if broken.is_empty() {
        return Ok(());
    }
    let hint = "a count that grew for a good reason gets its new bound in xtask/src/bench/counts.rs";
    Err(Failure::new("counts grew").because(broken.join("; ")).hint(hint))
}

fn count(strace: &Path, program: &Path) -> Result<Vec<Counted>, Failure> {
    let base = tempfile::tempdir().map_err(|err| Failure::new("cannot create a temporary directory").because(err))?;
    let place = |name: &str| base.path().join(name);
    let (tree, store, home) = (place("tree"), place("store"), place("home"));
    tree::make(&Source::Made(FILES), &tree)?;
    fs::create_dir(&home).map_err(|err| Failure::at("create", &home, err))?;
    let chosen = tree::choose_files(&tree, 100)?;
    let edited = chosen[0].clone();
    let edit = |count: usize, turn: u64| {
        let places = (0..count).map(|number| &chosen[number * chosen.len() / count]);
        places.into_iter().try_for_each(|path| tree::edit(&tree.join(path), turn))
    };
    let place = Place { tree: tree.clone(), store, home, edited: edited.clone(), turn: 0 };
    let log = base.path().join("log");
    let ckpt = Ckpt { program: program.to_owned(), many_saves: program.to_owned(), durability: Durability::Full };
    let traced = |verb: &'static str, args: &[&str]| {
        // Files that were written in the tick of a save would have to be read again by the next one.
        std::thread::sleep(Duration::from_millis(50));
        printed(under(strace, &log, &ckpt.command(&place, args)))?;
        let text = fs::read_to_string(&log).map_err(|err| Failure::at("read", &log, err))?;
        Ok::<_, Failure>(Counted { verb, found: SystemCalls::parse(&text) })
    };
    let edited = edited.to_string_lossy();
    // Somebody may still be writing into a file that was changed lately, and looking for that takes calls.
    std::thread::sleep(QUIET);
    let mut all = vec![traced("save-first", &["save"])?, traced("save-0", &["save"])?, traced("status", &["status"])?];
    edit(1, 1)?;
    all.push(traced("save-1", &["save"])?);
    edit(100, 2)?;
    all.push(traced("save-100", &["save"])?);
    edit(1, 3)?;
    all.push(traced("rollback-1", &["rollback", "HEAD", &edited])?);
    edit(100, 4)?;
    all.extend([traced("reset-100", &["reset"])?, traced("undo-100", &["undo"])?, traced("redo-100", &["redo"])?]);
    Ok(all)
}

/// The same command under strace, with the same environment.
fn under(strace: &Path, log: &Path, command: &Command) -> Command {
    let mut traced = Command::new(strace);
    traced.args(["-f", "-qq", "-s", "0", "-o"]).arg(log).arg(command.get_program()).args(command.get_args());
    traced.env_clear().envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
    // As many on every machine.
    traced.env("FABRICATIO_CHECKPOINT__THREADS", "2").current_dir(command.get_current_dir().unwrap_or(Path::new(".")));
    traced
}

fn table(all: &[Counted]) -> String {
    let kinds = Kind::ALL.map(|kind| kind.to_string());
    let mut text = format!("| | {} | bytes written |\n|---|{}\n", kinds.join(" | "), "---|".repeat(kinds.len() + 1));
    for counted in all {
        let counts = Kind::ALL.map(|kind| counted.found.count(kind).to_string());
        text += &format!("| {} | {} | {} |\n", counted.verb, counts.join(" | "), counted.found.bytes_written);
    }
    text
}

impl Known {
    /// What grew, in words; what shrank is noted.
    fn compare(&self, all: &[Counted]) -> Vec<String> {
        let Some(Counted { found, .. }) = all.iter().find(|counted| counted.verb == self.verb) else {
            return vec![format!("{} was not counted", self.verb)];
        };
        let mut pairs: Vec<(String, u64, u64, u64)> = Vec::new();
        for (kind, known) in Kind::ALL.into_iter().zip(self.calls) {
            let slack = if matches!(kind, Kind::Fsync | Kind::Syncfs) { 0 } else { slack(known) };
            pairs.push((format!("calls of kind {kind}"), found.count(kind), known, slack));
        }
        let bytes = self.bytes_written;
        pairs.push(("bytes written".to_owned(), found.bytes_written, bytes, slack(bytes)));
        for (what, count, known, _) in pairs.iter().filter(|(_, count, known, slack)| count + slack < *known) {
            printer::note(&format!("{}: {count} {what}, no longer {known}; write that down", self.verb));
        }
        let grown = pairs.into_iter().filter(|(_, count, known, slack)| *count > known + slack);
        grown.map(|(what, count, known, _)| format!("{}: {count} {what}, not {known}", self.verb)).collect()
    }
}

/// Random names deflate a little differently, threads meet directories in another order, and loaders differ.
fn slack(known: u64) -> u64 {
    known / 50 + 24
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grew_is_named_and_waits_have_no_slack() {
        let known = Known { verb: "save", calls: [1000, 0, 0, 0, 0, 0, 0, 5, 0], bytes_written: 10_000 };
        let counted = |stats: u64, fsyncs: u64, bytes_written: u64| {
            let calls = [(Kind::Stat, stats), (Kind::Fsync, fsyncs)].into_iter().collect();
            vec![Counted { verb: "save", found: SystemCalls { calls, bytes_written } }]
        };
        assert!(known.compare(&counted(1044, 5, 10_200)).is_empty());
        let grown = known.compare(&counted(1045, 6, 10_300));
        assert_eq!(
            grown,
            [
                "save: 1045 calls of kind stat, not 1000",
                "save: 6 calls of kind fsync, not 5",
                "save: 10300 bytes written, not 10000"
            ]
        );
    }
}
