//! Little of what a process needs: file descriptors, address space, stack, and files that may only grow so far. A command
//! does its work or says what it lacks, and nothing is lost.

use std::io::{Read, Write};
use std::path::Path;

use super::verbs::settles;
use super::{Random, Tally, VERBS, Verb, either, is_long};
use crate::sandbox::{Call, Output, Sandbox, skip};

/// File descriptors with which every command must work.
const ENOUGH_DESCRIPTORS: usize = 64;

/// Address space that a file may need besides what a run needs anyway, in KiB.
const MARGIN_KIB: u64 = 64 * 1024;

/// Commands that only look.
const LOOKS: [&str; 6] = ["status", "ls -a", "show", "diff HEAD~1", "workspaces", "verify --full"];

#[test]
fn few_file_descriptors_lose_nothing() {
    let mut tally = Tally::new("descriptors");
    let counts: &[usize] = either(&[64, 11], &[64, 48, 32, 24, 20, 16, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4]);
    for &count in counts {
        for verb in VERBS {
            tally.case(&format!("{count} descriptors"), || {
                limited_verb(verb, &format!("ulimit -n {count}"), count >= ENOUGH_DESCRIPTORS)
            });
        }
        tally.case(&format!("{count} descriptors"), || looks(&format!("ulimit -n {count}"), count >= 16));
    }
    tally.end();
}

#[test]
fn a_small_stack_or_small_files_lose_nothing() {
    let mut tally = Tally::new("limits");
    for verb in VERBS {
        // A main thread of 256 KiB is enough.
        tally.case("stack", || limited_verb(verb, "ulimit -s 256", true));
        // In units of 512 bytes. A file that may grow no more is a disk that is full for it alone.
        for blocks in either(&[0_u32, 1][..], &[0, 1, 2, 3, 4, 6, 8, 12, 16]) {
            tally.case("file size", || limited_verb(verb, &format!("trap '' XFSZ; ulimit -f {blocks}"), false));
        }
    }
    tally.end();
}

#[test]
fn a_large_file_needs_little_memory() {
    let mut tally = Tally::new("memory");
    let needed = needed_kib();
    for (kind, mebibytes) in [("mixed", either(256, 1024)), ("noise", either(128, 1024))] {
        tally.case(&format!("{kind} {mebibytes} MiB"), || large_file(kind, mebibytes, needed + MARGIN_KIB));
    }
    if is_long() {
        // With less and less: it works, or it says so, or it is ended; nothing is lost.
        for verb in VERBS {
            for less in [1, 2, 4, 8, 16, 32] {
                let limit = format!("ulimit -v {}", needed / 32 * (32 - less + 1));
                tally.case("little memory", || limited_verb(verb, &limit, false));
            }
        }
    }
    tally.end();
}

/// A call under a limit of the shell.
fn limited<'a>(call: Call<'a>, limit: &str) -> Call<'a> {
    call.through(["sh", "-c", &format!("{limit}; exec \"$0\" \"$@\"")])
}

/// Runs a verb under a limit.
fn limited_verb(verb: &Verb, limit: &str, must_work: bool) -> Result<(), String> {
    let sandbox = Sandbox::new();
    let (words, expected) = (verb.prepare)(&sandbox);
    let before = sandbox.tree();
    let output = limited(sandbox.call(words.split(' ')), limit).run();
    let what = format!("{words}, {limit}: {output}");
    if must_work && output.code != Some(0) {
        return Err(format!("it does not work: {what}"));
    }
    says_why(&output)?;
    settles(verb, &sandbox, &before, &expected, output.code, &what)
}

/// Whoever fails says so, unless the system ended it.
fn says_why(output: &Output) -> Result<(), String> {
    let is_told = match output.code {
        Some(0) => true,
        // 127: the loader or the shell could not begin.
        Some(127) => output.stdout.is_empty(),
        Some(1 | 3) => output.err().contains("error: ") || output.err().contains("warning: "),
        // An allocation that fails ends a Rust program.
        None => output.err().contains("memory allocation of") || output.err().is_empty(),
        Some(_) => false,
    };
    if is_told { Ok(()) } else { Err(format!("it ended without a word: {output}")) }
}

fn looks(limit: &str, must_work: bool) -> Result<(), String> {
    let sandbox = Sandbox::new();
    super::verbs::old(&sandbox);
    sandbox.save("first");
    super::verbs::new(&sandbox);
    sandbox.save("second");
    sandbox.write("a", "since");
    for words in LOOKS {
        let plain = sandbox.ckpt(words);
        let output = limited(sandbox.call(words.split(' ')), limit).run();
        says_why(&output)?;
        if must_work && (output.code, &output.stdout) != (plain.code, &plain.stdout) {
            return Err(format!("{limit}: {output}"));
        }
        if output.code == Some(0) && output.stdout != plain.stdout {
            return Err(format!("{limit} makes it say something else: {output}{plain}"));
        }
    }
    Ok(())
}

/// What saving and restoring a few small files needs in address space: found by trying.
fn needed_kib() -> u64 {
    let works = |kib: u64| {
        let sandbox = Sandbox::new();
        super::verbs::old(&sandbox);
        let limit = format!("ulimit -v {kib}");
        let run = |words: &str| {
            let call = sandbox.call(words.split(' ')).config("threads", "2");
            limited(call, &limit).run().code == Some(0)
        };
        let saved = run("save");
        super::verbs::new(&sandbox);
        let works = saved && run("reset");
        sandbox.expect_damage();
        works
    };
    let (mut fails, mut enough) = (0, 8 << 20);
    assert!(works(enough), "8 GiB are enough for a few small files");
    while enough - fails > 8 * 1024 {
        let middle = fails.midpoint(enough);
        if works(middle) { enough = middle } else { fails = middle }
    }
    enough
}

/// Saves a file, changes it, and brings it back, in so much address space.
fn large_file(kind: &str, mebibytes: u64, kib: u64) -> Result<(), String> {
    let sandbox = Sandbox::new();
    if super::free_bytes(sandbox.root()) < (mebibytes * 5) << 20 {
        skip("there is no room for a large file");
        return Ok(());
    }
    let path = sandbox.at("large");
    generate(&path, kind, mebibytes);
    let limit = format!("ulimit -v {kib}");
    let run = |words: &str| {
        let call = sandbox.call(words.split(' ')).config("threads", "2").config("max_file_bytes", "0");
        let output = limited(call, &limit).run();
        if output.code == Some(0) { Ok(output) } else { Err(format!("in {kib} KiB: {output}")) }
    };
    let first = run("save -m large")?.id();
    sandbox.write("large", "small");
    let _ = run("status")?;
    let _ = run(&format!("reset {first}"))?;
    if !is_generated(&path, kind, mebibytes) {
        return Err("other bytes came back".to_owned());
    }
    // Now the safety checkpoint takes the large one, and a look at all of the store reads it.
    let _ = run("undo")?;
    let _ = run("verify --full")?;
    if sandbox.text("large") == "small" { Ok(()) } else { Err("undo gave something else".to_owned()) }
}

/// Content number `number`, of 1 MiB.
fn piece(kind: &str, number: u64, noise: &[u8]) -> Vec<u8> {
    let mut piece = if kind == "noise" || number.is_multiple_of(16) { noise.to_vec() } else { vec![0; noise.len()] };
    piece[..8].copy_from_slice(&number.to_le_bytes());
    piece
}

fn noise() -> Vec<u8> {
    let mut random = Random::new(9);
    (0..1 << 17).flat_map(|_| random.next().to_le_bytes()).collect()
}

/// Writes a file of that many MiB that no compressor makes smaller, or one that is mostly zeros.
pub(super) fn generate(path: &Path, kind: &str, mebibytes: u64) {
    let noise = noise();
    let mut file = std::fs::File::create(path).unwrap();
    for number in 0..mebibytes {
        file.write_all(&piece(kind, number, &noise)).unwrap();
    }
}

pub(super) fn is_generated(path: &Path, kind: &str, mebibytes: u64) -> bool {
    let noise = noise();
    let mut file = std::fs::File::open(path).unwrap();
    let mut found = vec![0; noise.len()];
    (0..mebibytes).all(|number| file.read_exact(&mut found).is_ok() && found == piece(kind, number, &noise))
        && file.read(&mut found).unwrap() == 0
}
