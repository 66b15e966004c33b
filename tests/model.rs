//! The model test: random trees and random sequences of edits, saves and restores, beside a plain model in memory that
//! says what must stand on disk after each step.
//!
//! The model knows nothing of how the library works: a worktree is a map from path to entry, a checkpoint is what a
//! simple reading of the rules captures of it, a restore is `model/predict.rs`. Edits are not modelled, the disk is read
//! again after them. After every restore the law is checked too: bytes that are gone from the worktree are in the safety
//! checkpoint, as stock git reads it.
//!
//! Four tests play one workspace each, through the library. The fifth plays towns, `model/town.rs`: several workspaces,
//! which are also renamed, replaced, removed and verified, through the library and through the real binary, which is
//! killed on its way as often as not. That one is a torture, and `CKPT_TORTURE=long` makes it look at many more.
//!
//! `CKPT_MODEL_SEQUENCES=20000` makes all of them look longer. A sequence that fails is made small, printed with its seed,
//! and kept in `model.proptest-regressions` or `model.town.proptest-regressions`, which are run first.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "model/attempt.rs"]
mod attempt;
#[path = "model/case.rs"]
mod case;
#[path = "model/deed.rs"]
mod deed;
#[path = "model/disk.rs"]
mod disk;
#[path = "model/edit.rs"]
mod edit;
#[path = "model/fate.rs"]
mod fate;
#[path = "model/outcome.rs"]
mod outcome;
#[path = "model/predict.rs"]
mod predict;
#[path = "model/process.rs"]
mod process;
#[path = "model/restore.rs"]
mod restore;
#[path = "model/rules.rs"]
mod rules;
#[path = "model/save.rs"]
mod save;
#[path = "model/state.rs"]
mod state;
#[path = "model/town.rs"]
mod town;
#[path = "model/verify.rs"]
mod verify;
#[path = "model/world.rs"]
mod world;

use std::cell::RefCell;
use std::io::Write;
use std::time::Instant;

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, FileFailurePersistence, TestCaseError, TestError, TestRunner};

use world::Counts;

/// Sequences without `CKPT_MODEL_SEQUENCES`.
const SEQUENCES: u32 = 500;
/// Tests and threads among which they are shared out: they wait for disks and clocks more than they compute.
const PARTS: u32 = 4;
const THREADS: u32 = 2;
const SEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/model.proptest-regressions");
const TOWN_SEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/model.town.proptest-regressions");
/// Sequences in towns, and in the long form of the torture that they are.
const TOWNS: u32 = 80;
const TOWNS_LONG: u32 = 10_000;
/// Every how many sequences stock git looks through the stores that are left.
const ORACLE_EVERY: u64 = 10;

#[test]
fn worktree_is_as_the_model_says_part_1() {
    run();
}

#[test]
fn worktree_is_as_the_model_says_part_2() {
    run();
}

#[test]
fn worktree_is_as_the_model_says_part_3() {
    run();
}

#[test]
fn worktree_is_as_the_model_says_part_4() {
    run();
}

#[test]
fn towns_are_as_the_model_says_c15_l32_l39_l30() {
    let is_long = std::env::var_os("CKPT_TORTURE").is_some_and(|form| form == "long");
    let wanted = sequences().unwrap_or(if is_long { TOWNS_LONG } else { TOWNS });
    let begun = Instant::now();
    let played = shared(|| play(wanted.div_ceil(PARTS), TOWN_SEEDS, &deed::town(), town::play), PARTS);
    let tried: u64 = played.iter().map(|played| played.sequences).sum();
    let lost = played.iter().filter(|played| played.failure.is_some()).count() as u64;
    let mut counts = Counts::default();
    played.iter().for_each(|played| counts.add(&played.counts));
    let kinds: Vec<_> = counts.kinds.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    let (steps, seconds, kinds) = (counts.steps, begun.elapsed().as_secs(), kinds.join(", "));
    let line = format!("torture\tmodel\t{tried}\t{}\t{lost}\t{seconds} s\tstep {steps}, {kinds}\n", tried - lost);
    // Past the test runner, as the other tortures do.
    std::io::stdout().write_all(line.as_bytes()).unwrap();
    played.into_iter().for_each(Played::expect_none_failed);
    let rare = ["restore finished", "restore killed before it began", "save killed before its end"];
    assert!(
        wanted < TOWNS || rare.iter().all(|kind| counts.kinds.contains_key(kind)),
        "too little: {:?}",
        counts.kinds
    );
}

fn run() {
    let share = sequences().unwrap_or(SEQUENCES).div_ceil(PARTS * THREADS);
    for played in shared(|| play(share, SEEDS, &case::case(10..14), world::play), THREADS) {
        let (sequences, fewest) = (played.sequences, played.fewest);
        let (steps, restores) = (played.counts.steps, played.counts.restores);
        played.expect_none_failed();
        assert!(
            fewest >= 20 && restores * 10 >= steps * 3,
            "too few: {sequences} sequences, {steps} steps, {restores} restores"
        );
    }
}

fn sequences() -> Option<u32> {
    std::env::var("CKPT_MODEL_SEQUENCES").ok().and_then(|text| text.parse().ok())
}

/// Does it in several threads at once.
fn shared<T: Send>(act: impl Fn() -> T + Sync, threads: u32) -> Vec<T> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(&act)).collect();
        threads.into_iter().map(|thread| thread.join().expect("what fails is caught")).collect()
    })
}

/// Sequences that were played.
struct Played {
    sequences: u64,
    counts: Counts,
    /// Steps of the shortest one.
    fewest: u64,
    failure: Option<String>,
}

impl Played {
    fn expect_none_failed(self) {
        if let Some(failure) = self.failure {
            panic!("{failure}");
        }
    }
}

/// Plays random sequences until one fails, which is made small then. `seeds`: the file of those that failed.
fn play<S: Strategy>(
    sequences: u32,
    seeds: &'static str,
    strategy: &S,
    play: impl Fn(&S::Value, bool) -> Result<Counts, String>,
) -> Played {
    let config = Config {
        cases: sequences,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(seeds))),
        max_shrink_iters: 4_000,
        max_shrink_time: 40_000,
        ..Config::default()
    };
    let played = RefCell::new(Played { sequences: 0, counts: Counts::default(), fewest: u64::MAX, failure: None });
    let result = TestRunner::new(config).run(strategy, |case| {
        let number = played.borrow().sequences;
        played.borrow_mut().sequences += 1;
        let counts = play(&case, number.is_multiple_of(ORACLE_EVERY)).map_err(TestCaseError::fail)?;
        let mut played = played.borrow_mut();
        played.fewest = played.fewest.min(counts.steps);
        played.counts.add(&counts);
        Ok(())
    });
    let mut played = played.into_inner();
    played.failure = match result {
        Ok(()) => None,
        Err(TestError::Fail(reason, _)) => Some(reason.to_string()),
        Err(TestError::Abort(reason)) => Some(format!("given up: {reason}")),
    };
    played
}
