//! The model test: random trees and random sequences of edits, saves and restores, beside a plain model in memory that
//! says what must stand on disk after each step.
//!
//! The model knows nothing of how the library works: a worktree is a map from path to entry, a checkpoint is what a
//! simple reading of the rules captures of it, a restore is `model/predict.rs`. Edits are not modelled, the disk is read
//! again after them. After every restore the law is checked too: bytes that are gone from the worktree are in the safety
//! checkpoint, as stock git reads it.
//!
//! `CKPT_MODEL_SEQUENCES=20000` makes it look longer. A sequence that fails is made small, printed with its seed, and
//! kept in `model.proptest-regressions`, which is run first.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "model/case.rs"]
mod case;
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
#[path = "model/restore.rs"]
mod restore;
#[path = "model/rules.rs"]
mod rules;
#[path = "model/state.rs"]
mod state;
#[path = "model/world.rs"]
mod world;

use std::sync::atomic::{AtomicU64, Ordering};

use proptest::test_runner::{Config, FileFailurePersistence, TestCaseError, TestError, TestRunner};

/// Sequences without `CKPT_MODEL_SEQUENCES`.
const SEQUENCES: u32 = 500;
/// Tests and threads among which they are shared out: they wait for disks and clocks more than they compute.
const PARTS: u32 = 4;
const THREADS: u32 = 2;
/// Every how many sequences stock git looks through the store that is left.
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

fn run() {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(run_share)).collect();
        let failed = threads.into_iter().filter_map(|thread| thread.join().err()).next_back();
        failed.map(|panic| std::panic::resume_unwind(panic))
    });
}

fn run_share() {
    let wanted = std::env::var("CKPT_MODEL_SEQUENCES").ok().and_then(|text| text.parse().ok());
    let seeds = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/model.proptest-regressions");
    let config = Config {
        cases: wanted.unwrap_or(SEQUENCES).div_ceil(PARTS * THREADS),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(seeds))),
        max_shrink_iters: 4_000,
        max_shrink_time: 40_000,
        ..Config::default()
    };
    let (sequences, steps, restores) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let fewest = AtomicU64::new(u64::MAX);
    let result = TestRunner::new(config).run(&case::case(), |case| {
        let number = sequences.fetch_add(1, Ordering::Relaxed);
        let counts = world::play(&case, number.is_multiple_of(ORACLE_EVERY)).map_err(TestCaseError::fail)?;
        steps.fetch_add(counts.steps, Ordering::Relaxed);
        restores.fetch_add(counts.restores, Ordering::Relaxed);
        fewest.fetch_min(counts.steps, Ordering::Relaxed);
        Ok(())
    });
    match result {
        Ok(()) => {
            let (steps, restores) = (steps.into_inner(), restores.into_inner());
            assert!(
                fewest.into_inner() >= 20 && restores * 10 >= steps * 3,
                "too few: {sequences:?} sequences, {steps} steps, {restores} restores"
            );
        }
        Err(TestError::Fail(reason, _)) => panic!("{reason}"),
        Err(TestError::Abort(reason)) => panic!("given up: {reason}"),
    }
}
