//! Torture: every reader of foreign bytes, fed with valid inputs that were changed at random, always from the same seed.
//! No panic, no endless loop, no memory for what a header only claims, and what was read survives being written.

#[path = "../../../tests/e2e/torture/tally.rs"]
mod tally;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use tally::{Random, Tally, either};

use crate::fuzzing::{TARGETS, Target};

/// No input takes longer, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);

/// Address space that all inputs of one target may add, in KiB.
const MEMORY_KIB: u64 = 1 << 20;

/// Numbers at which readers go wrong.
const ODD_NUMBERS: [u64; 10] = [0, 1, 0x7f, 0x80, 0xff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 62, u64::MAX];

/// The inputs to begin with.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let mut paths: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Changes a few places of an input.
fn mutate(bytes: &mut Vec<u8>, others: &[Vec<u8>], random: &mut Random) {
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() + 1);
        let end = at + random.below(bytes.len() - at + 1).min(1 + random.below(64));
        match random.below(10) {
            0 if !bytes.is_empty() => bytes[at.min(end.saturating_sub(1))] ^= 1 << random.below(8),
            1 => bytes.truncate(at),
            2 => drop(bytes.drain(at..end)),
            3 => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            4 => {
                let other = random.pick(others);
                let from = random.below(other.len() + 1);
                let piece = other[from..(from + random.below(256)).min(other.len())].to_vec();
                bytes.splice(at..end, piece);
            }
            5 => {
                let most = 1 << random.below(14);
                let piece = vec![u8::try_from(random.below(256)).unwrap(); random.below(most)];
                bytes.splice(at..at, piece);
            }
            6 => {
                let number = *random.pick(&ODD_NUMBERS);
                let width = *random.pick(&[1, 2, 4, 8]);
                let piece = if random.below(2) == 0 {
                    number.to_be_bytes()[8 - width..].to_vec()
                } else {
                    number.to_le_bytes()[..width].to_vec()
                };
                let end = (at + width).min(bytes.len());
                bytes.splice(at..end, piece);
            }
            7 => {
                // A number in text.
                let piece = random.pick(&ODD_NUMBERS).to_string().into_bytes();
                let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                bytes.splice(at..at + digits, piece);
            }
            8 => {
                let word: &[u8] = random.pick::<&[u8]>(&[
                    b"\n", b"\0", b" ", b"/", b"..", b".git", b"%2", b"**", b"[", b"\\", b"HEAD~", b"-", b"+",
                ]);
                bytes.splice(at..at, word.to_vec());
            }
            _ => bytes
                .splice(at..end, (at..end).map(|_| u8::try_from(random.below(256)).unwrap()).collect::<Vec<_>>())
                .for_each(drop),
        }
    }
}

/// Most address space that this process had, in KiB.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmPeak:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[test]
fn no_bytes_break_a_reader_s4_s6() {
    let mut tally = Tally::new("fuzz");
    let mut targets: Vec<(&str, Target)> = TARGETS.to_vec();
    targets.push(("config", config));
    let budget = Duration::from_millis(either(700, 60_000));
    for (name, target) in targets {
        let seeds = corpus(name);
        assert!(!seeds.is_empty(), "no inputs for {name}");
        let before = peak_kib();
        for seed in &seeds {
            tally.case(name, || try_one(target, seed));
        }
        let begun = Instant::now();
        let mut random = Random::new(8);
        // In a slow build at least so many.
        let mut count = 0;
        while begun.elapsed() < budget || count < 50 {
            let mut input = random.pick(&seeds).clone();
            mutate(&mut input, &seeds, &mut random);
            tally.case(name, || try_one(target, &input));
            count += 1;
        }
        let grown = peak_kib().saturating_sub(before);
        if grown > MEMORY_KIB {
            tally.count(name, Err(format!("the readers asked for {grown} KiB")));
        }
    }
    tally.end();
}

/// A failure is told with the input, so that it can be made a test.
fn try_one(target: Target, input: &[u8]) -> Result<(), String> {
    let begun = Instant::now();
    let panicked = std::panic::catch_unwind(|| target(input)).err();
    let shown = || format!("{} bytes: {}", input.len(), input[..input.len().min(1500)].escape_ascii());
    if let Some(panic) = panicked {
        let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
        return Err(format!("{text}\n{}", shown()));
    }
    if begun.elapsed() > PATIENCE {
        return Err(format!("it took {:?}\n{}", begun.elapsed(), shown()));
    }
    Ok(())
}

/// A configuration file.
fn config(bytes: &[u8]) {
    let dir = tempfile::tempdir_in(if Path::new("/dev/shm").is_dir() { "/dev/shm" } else { "/tmp" }).unwrap();
    fs::write(dir.path().join("fabricatio.toml"), bytes).unwrap();
    let load = || ckpt_config::Loader::new(dir.path()).home_dir("/home/nobody").load();
    assert_eq!(load().is_ok(), load().is_ok());
}
