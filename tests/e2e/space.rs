//! What a save costs: system calls, bytes, packs.

use std::fs;
use std::process::Command;

use crate::sandbox::{Call, Sandbox, Tree, assert_same, skip};

fn has_strace() -> bool {
    let works = Command::new("strace").args(["-f", "true"]).output().is_ok_and(|output| output.status.success());
    if !works {
        skip("strace is not installed, or may not trace");
    }
    works
}

/// Runs a call under strace, which notes the system calls `calls`; its lines.
fn traced(call: Call<'_>, calls: &str) -> Vec<String> {
    let log = tempfile::NamedTempFile::new().unwrap();
    let trace = format!("trace={calls}");
    let strace = ["strace", "-f", "-qq", "-y", "-e", &trace, "-o", log.path().to_str().unwrap()];
    let _ = call.through(strace).run().ok();
    fs::read_to_string(log.path()).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_second_save_costs_one_stat_a_file_p1_p3() {
    if !has_strace() {
        return;
    }
    let sandbox = Sandbox::new();
    for number in 0..2000 {
        sandbox.write(format!("d{:02}/f{number}", number % 40), "x");
    }
    std::thread::sleep(std::time::Duration::from_millis(50));
    sandbox.save("first");
    let w = sandbox.w().to_string_lossy().into_owned();
    let stats = traced(sandbox.call(["save"]), "statx,newfstatat,lstat,stat,fstat");
    let stats = stats.iter().filter(|line| line.contains(&w)).count();
    assert!((1900..2300).contains(&stats), "{stats} stats for 2,000 files and 40 directories");
    let opened = traced(sandbox.call(["save"]), "open,openat,openat2");
    let files = opened.iter().filter(|line| line.contains("\"f") && line.contains(&w)).count();
    assert_eq!(files, 0, "no file is opened");
    let written = traced(sandbox.call(["save"]), "write,pwrite64,rename,renameat,renameat2,linkat");
    let packs: Vec<_> = written.iter().filter(|line| line.contains("objects/") || line.contains("refs/")).collect();
    assert!(packs.is_empty(), "nothing is written: {packs:?}");
}

#[test]
fn many_checkpoints_are_listed_and_saved_quickly_p16() {
    let sandbox = Sandbox::new();
    for number in 0..120 {
        sandbox.write("counter", number.to_string());
        sandbox.save(&format!("save {number}"));
    }
    let listed = sandbox.ckpt("ls").ok();
    assert!(listed.out().contains("save 119") && listed.out().contains("save 100"), "{listed}");
    assert!(!listed.out().contains("save 99"), "20 are listed: {listed}");
    assert!(listed.all().contains("100"), "and how many more there are: {listed}");
    assert_eq!(sandbox.ckpt("ls -n 0").ok().out().matches("save ").count(), 120);
    assert_eq!(sandbox.ckpt("ls -n 3").ok().out().matches("save ").count(), 3);
    let packs = fs::read_dir(sandbox.store().join("objects/pack")).unwrap();
    let packs =
        packs.filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|ext| ext == "pack")).count();
    assert!(packs <= 34, "{packs} packs");
    let _ = sandbox.ckpt("reset HEAD~119").ok();
    assert_eq!(sandbox.text("counter"), "0");
}

#[test]
fn unchanged_content_is_stored_once() {
    let sandbox = Sandbox::new();
    let mut noise = vec![0_u8; 300_000];
    let mut seed = 1_u32;
    for byte in &mut noise {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = (seed >> 24) as u8;
    }
    sandbox.write("large", &noise);
    sandbox.write("copy", &noise);
    for round in 0..10 {
        sandbox.write("small", format!("{round}"));
        sandbox.save("round");
    }
    let bytes: usize = Tree::of(&sandbox.store()).contents().map(|(_, bytes)| bytes.len()).sum();
    assert!(bytes < 400_000, "{bytes} bytes");
}

#[test]
fn one_save_writes_in_the_order_that_a_power_cut_needs() {
    if !has_strace() {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.save("first");
    sandbox.write("a", "2");
    let lines = traced(sandbox.call(["save"]).durable(), "fsync,fdatasync,renameat2,renameat,rename");
    let place = |what: &dyn Fn(&str) -> bool| lines.iter().position(|line| what(line));
    let renamed = |suffix: &'static str| move |line: &str| line.contains("rename") && line.contains(suffix);
    let keep = place(&renamed(".keep\"")).unwrap_or_else(|| panic!("{lines:#?}"));
    let pack = place(&renamed(".pack\"")).unwrap_or_else(|| panic!("{lines:#?}"));
    let idx = place(&renamed(".idx\"")).unwrap_or_else(|| panic!("{lines:#?}"));
    let timeline = place(&renamed("timeline\"")).unwrap_or_else(|| panic!("{lines:#?}"));
    assert!(keep < pack && pack < idx && idx < timeline, "{lines:#?}");
    let synced = |from: usize, to: usize| lines[from..to].iter().any(|line| line.contains("sync("));
    assert!(synced(0, pack), "the pack is synced before it has its name: {lines:#?}");
    assert!(synced(idx, timeline), "the directory is synced before the ref moves: {lines:#?}");
    assert!(synced(timeline, lines.len()), "the ref's directory is synced before the answer: {lines:#?}");
}

#[test]
fn few_file_descriptors_are_enough_or_it_says_so() {
    let sandbox = Sandbox::new();
    for number in 0..150 {
        sandbox.write(format!("d{number}/e/f"), number.to_string());
    }
    let first = sandbox.save("first");
    let before = sandbox.tree();
    for number in 0..150 {
        sandbox.write(format!("d{number}/e/f"), format!("now {number}"));
    }
    let edited = sandbox.tree();
    let limited = |limit: u32, words: &str| {
        let words: Vec<&str> = words.split_whitespace().collect();
        sandbox.call(words).through(["sh", "-c", &format!("ulimit -n {limit}; exec \"$@\""), "sh"]).run()
    };
    let _ = limited(64, "save").ok();
    let _ = limited(64, &format!("reset {first}")).ok();
    assert_same(&before, &sandbox.tree());
    let _ = limited(64, "undo").ok();
    assert_same(&edited, &sandbox.tree());
    for limit in 5..40 {
        for words in ["status", "save --always", "reset HEAD", &format!("reset {first}"), "undo"] {
            let output = limited(limit, words);
            assert!(matches!(output.code, Some(0 | 1)), "{limit}: {output}");
            let now = sandbox.tree();
            assert!(now == before || now == edited, "{limit}: {output}");
            // What cannot be opened for want of descriptors is not called unreadable.
            assert!(!output.all().contains("unreadable"), "{limit}: {output}");
            assert!(!sandbox.store().join("ckpt/journal").exists(), "{limit}: {output}");
            if output.code == Some(1) {
                assert!(output.all().contains("open files") || output.all().contains("nothing to undo"), "{output}");
            }
        }
    }
}

/// Where a user may start no more threads, the one that is there does it all.
#[test]
fn no_threads_to_be_had_is_no_failure() {
    let Some(sandbox) = Sandbox::unprivileged() else { return };
    let alone = |words: &str| {
        let call = sandbox.call(words.split(' ')).config("threads", "4");
        call.through(["prlimit", "--nproc=1"]).run()
    };
    if Command::new("prlimit").arg("--version").output().is_err() {
        skip("no prlimit, so no limit of threads");
        return;
    }
    for number in 0..1200 {
        sandbox.write(format!("d{}/f{number}", number % 40), number.to_string());
    }
    let first = alone("save first").ok().id();
    let before = sandbox.tree();
    for number in 0..1200 {
        sandbox.write(format!("d{}/f{number}", number % 40), "edited");
    }
    let edited = sandbox.tree();
    let _ = alone("save second").ok();
    for words in ["status --exit-code", "verify --full", "verify --full --repair"] {
        let _ = alone(words).ok();
    }
    let _ = alone(&format!("reset {first}")).ok();
    assert_same(&before, &sandbox.tree());
    let _ = alone("undo").ok();
    assert_same(&edited, &sandbox.tree());
}
