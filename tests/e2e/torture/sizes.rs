//! What is large: files beyond 4 GiB, paths beyond 4,096 bytes, 2,000 levels and more, directories of very many entries.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::process::Command;

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, statat, unlinkat};

use super::limits::{generate, is_generated};
use super::{Tally, either, free_bytes, is_long};
use crate::sandbox::{Sandbox, skip};

#[test]
fn what_is_large_comes_back_whole() {
    let mut tally = Tally::new("sizes");
    for &(levels, name) in either(&[(30, 200), (2000, 1)][..], &[(30, 200), (2000, 1), (1999, 30), (500, 255)]) {
        tally.case("deep", || deep(levels, name));
    }
    for levels in either(&[10_000][..], &[2001, 2002, 3000, 5000, 10_000]) {
        tally.case("too deep", || too_deep(*levels));
    }
    for count in either(&[5_000][..], &[100_000, 1_000_000]) {
        tally.case("many entries", || many_entries(*count));
    }
    if is_long() {
        tally.case("sparse 5 GiB", || five_gibibytes("sparse"));
        tally.case("noise 5 GiB", || five_gibibytes("noise"));
    }
    tally.end();
}

fn open_dir(at: impl std::os::fd::AsFd, name: &str) -> Option<OwnedFd> {
    openat(at, name, OFlags::DIRECTORY | OFlags::NOFOLLOW, Mode::empty()).ok()
}

/// Levels between two that have a file, which says how deep it lies.
const STEP: usize = 10;

/// Makes directories in each other, with a file `f` in some.
fn make_chain(sandbox: &Sandbox, levels: usize, name: &str) {
    let mut at = OwnedFd::from(File::open(sandbox.w()).unwrap());
    for level in 1..=levels {
        mkdirat(&at, name, Mode::from_raw_mode(0o755)).unwrap();
        at = open_dir(&at, name).unwrap();
        if level.is_multiple_of(STEP) || level == levels {
            write_at(&at, "f", level.to_string().as_bytes());
        }
    }
}

fn write_at(at: &OwnedFd, name: &str, content: &[u8]) {
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::TRUNC;
    File::from(openat(at, name, flags, Mode::from_raw_mode(0o644)).unwrap()).write_all(content).unwrap();
}

/// How many levels of the chain stand; those that have a file have theirs.
fn chain(sandbox: &Sandbox, name: &str) -> usize {
    let mut at = OwnedFd::from(File::open(sandbox.w()).unwrap());
    let mut level = 0_usize;
    while let Some(next) = open_dir(&at, name) {
        at = next;
        level += 1;
        let file = openat(&at, "f", OFlags::RDONLY, Mode::empty());
        assert!(file.is_ok() || !level.is_multiple_of(STEP), "no file at {level}");
        if let Ok(file) = file {
            let mut text = String::new();
            File::from(file).read_to_string(&mut text).unwrap();
            assert_eq!(text, level.to_string(), "the wrong file");
        }
    }
    level
}

/// Removes the chain from its end, which `remove_dir_all` would do with a handle for each level.
fn remove_chain(sandbox: &Sandbox, name: &str) {
    let mut handles = vec![OwnedFd::from(File::open(sandbox.w()).unwrap())];
    loop {
        // By steps of 1,000 levels, so that few handles are open: what is below goes up.
        let mut depth = 0;
        while depth < 1000
            && let Some(next) = open_dir(handles.last().unwrap(), name)
        {
            let _ = unlinkat(&next, "f", AtFlags::empty());
            handles.push(next);
            depth += 1;
        }
        let is_whole = statat(handles.last().unwrap(), name, AtFlags::SYMLINK_NOFOLLOW).is_err();
        if !is_whole {
            rustix::fs::renameat(handles.last().unwrap(), name, &handles[0], "below").unwrap();
        }
        while handles.len() > 1 {
            handles.pop();
            unlinkat(handles.last().unwrap(), name, AtFlags::REMOVEDIR).unwrap();
        }
        if is_whole {
            return;
        }
        rustix::fs::renameat(&handles[0], "below", &handles[0], name).unwrap();
    }
}

/// Saved, removed, brought back; changed at the bottom, rolled back; with a small stack.
fn deep(levels: usize, name_bytes: usize) -> Result<(), String> {
    let sandbox = Sandbox::new();
    let name = "d".repeat(name_bytes);
    make_chain(&sandbox, levels, &name);
    let bottom = format!("{name}/").repeat(levels);
    let run = |words: &[&str]| {
        let output = sandbox.call(words).through(["sh", "-c", "ulimit -s 512; exec \"$0\" \"$@\""]).run();
        if output.code == Some(0) { Ok(output) } else { Err(format!("{levels} levels: {output}")) }
    };
    let id = run(&["save"])?.id();
    remove_chain(&sandbox, &name);
    let _ = run(&["status"])?;
    let _ = run(&["reset", &id])?;
    if chain(&sandbox, &name) != levels {
        return Err(format!("{} of {levels} levels came back", chain(&sandbox, &name)));
    }
    let mut at = OwnedFd::from(File::open(sandbox.w()).unwrap());
    for _ in 0..levels {
        at = open_dir(&at, &name).unwrap();
    }
    write_at(&at, "f", b"changed");
    // An argument may have 128 KiB.
    if bottom.len() < 100_000 {
        let _ = run(&["diff", &id])?;
        let _ = run(&["rollback", &id, &format!("{bottom}f")])?;
    } else {
        let _ = run(&["rollback", &id, &name])?;
    }
    if chain(&sandbox, &name) != levels {
        return Err("the rollback did not reach the bottom".to_owned());
    }
    let _ = run(&["verify", "--full"])?;
    let whole = chain(&sandbox, &name) == levels;
    remove_chain(&sandbox, &name);
    if whole { Ok(()) } else { Err("the last reset left something".to_owned()) }
}

/// What is deeper than 2,000 levels is named and left alone, and the rest comes back.
fn too_deep(levels: usize) -> Result<(), String> {
    let sandbox = Sandbox::new();
    make_chain(&sandbox, levels, "d");
    sandbox.write("a", "1");
    let run = |words: &str| {
        let call = sandbox.call(words.split(' '));
        let output = call.through(["sh", "-c", "ulimit -s 512; exec \"$0\" \"$@\""]).run();
        if output.code == Some(0) { Ok(output) } else { Err(format!("{levels} levels: {output}")) }
    };
    let output = run("save --json")?;
    let omitted = output.json()["omitted"].to_string();
    if !omitted.contains("too-deep") {
        return Err(format!("nothing is said of it: {omitted}"));
    }
    sandbox.write("a", "2");
    let _ = run("reset")?;
    if chain(&sandbox, "d") != levels || sandbox.text("a") != "1" {
        return Err(format!("{} of {levels} levels stand", chain(&sandbox, "d")));
    }
    remove_chain(&sandbox, "d");
    let _ = run("reset")?;
    let back = chain(&sandbox, "d");
    remove_chain(&sandbox, "d");
    if back == 2000 { Ok(()) } else { Err(format!("{back} levels came back")) }
}

fn many_entries(count: usize) -> Result<(), String> {
    let sandbox = Sandbox::new();
    sandbox.mkdir("many/x");
    let dir = sandbox.at("many");
    for number in 0..count {
        let name = dir.join(format!("{number:07}"));
        // Most are empty: one object for all of them.
        if number % 100 == 0 { fs::write(name, number.to_string()) } else { File::create(name).map(drop) }.unwrap();
    }
    let names = || fs::read_dir(&dir).unwrap().count();
    let run = |words: &str| {
        let output = sandbox.ckpt(words);
        if output.code == Some(0) { Ok(output) } else { Err(format!("{count} entries: {output}")) }
    };
    let id = run("save")?.id();
    let _ = run("status --exit-code")?;
    for number in (0..count).step_by(2) {
        fs::remove_file(dir.join(format!("{number:07}"))).unwrap();
    }
    let _ = run(&format!("reset -q {id}"))?;
    if names() != count + 1 {
        return Err(format!("{} of {count} came back", names()));
    }
    let last = (count - 1) / 100 * 100;
    if fs::read_to_string(dir.join(format!("{last:07}"))).unwrap() != last.to_string() {
        return Err("other bytes came back".to_owned());
    }
    let _ = run("undo -q")?;
    if names() == count / 2 + 1 { Ok(()) } else { Err(format!("undo left {}", names())) }
}

/// Offsets and sizes of more than 32 bits.
fn five_gibibytes(kind: &str) -> Result<(), String> {
    const SIZE: u64 = 5 << 30;
    let sandbox = Sandbox::new();
    if free_bytes(sandbox.root()) < SIZE * 4 {
        skip("there is no room for a file of 5 GiB");
        return Ok(());
    }
    let path = sandbox.at("large");
    let edges = [0, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, SIZE - 1];
    if kind == "noise" {
        generate(&path, kind, SIZE >> 20);
    } else {
        let mut file = File::create(&path).unwrap();
        for at in edges {
            file.seek(SeekFrom::Start(at)).unwrap();
            file.write_all(b"x").unwrap();
        }
    }
    // Beside it, so that entries come after it in the pack.
    sandbox.write("z", "after");
    let run = |words: &str| {
        let output = sandbox.call(words.split(' ')).config("max_file_bytes", "0").run();
        if output.code == Some(0) { Ok(output) } else { Err(format!("{output}")) }
    };
    let id = run("save")?.id();
    fs::remove_file(&path).unwrap();
    sandbox.write("z", "changed");
    let _ = run(&format!("reset {id}"))?;
    let is_back = if kind == "noise" {
        is_generated(&path, kind, SIZE >> 20)
    } else {
        let sparse = sandbox.root().join("expected");
        let mut file = File::create(&sparse).unwrap();
        for at in edges {
            file.seek(SeekFrom::Start(at)).unwrap();
            file.write_all(b"x").unwrap();
        }
        Command::new("cmp").arg(&sparse).arg(&path).status().unwrap().success()
    };
    let _ = run("status --exit-code")?;
    let _ = run("verify --full")?;
    if is_back && sandbox.text("z") == "after" { Ok(()) } else { Err("other bytes came back".to_owned()) }
}
