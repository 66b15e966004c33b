//! What ckpt has to keep to, as ratios to what is always there: the limits, and stock git.
//!
//! Where a row here is missed, the code is to be made faster; a row is loosened only with a reason in the commit.

use super::tree::Changed;
use super::verb::Verb;

/// One row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) verb: Verb,
    pub(crate) bound: Bound,
}

/// What is bounded, and by what.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    /// The time, as a multiple of another's in the same rounds, above so many microseconds.
    Time { of: &'static str, at_most: f64, above_us: u64 },
    /// What the store takes, as a multiple of another's.
    Store { of: &'static str, at_most: f64 },
    /// The memory of the process: so many MiB, and so many bytes a file.
    Peak { mebibytes: u64, bytes_per_file: u64 },
}

const WALK: &str = "bare walk";
const WRITE_TREE: &str = "git write-tree";
const COMMIT: &str = "git add+commit";
const VERSION: &str = "ckpt --version";

const fn time(verb: Verb, of: &'static str, at_most: f64) -> Target {
    Target { verb, bound: Bound::Time { of, at_most, above_us: 0 } }
}

/// Bytes of the stat cache for each file, which a save has in memory.
const STAT_CACHE: u64 = 96;

/// On a large tree.
pub(crate) const OF_A_TREE: [Target; 26] = [
    time(Verb::First, "walk, read, SHA-1, deflate", 1.10),
    time(Verb::First, "tar, zstd -1", 1.0),
    time(Verb::First, WRITE_TREE, 0.14),
    Target { verb: Verb::First, bound: Bound::Store { of: WRITE_TREE, at_most: 0.42 } },
    Target { verb: Verb::First, bound: Bound::Peak { mebibytes: 128, bytes_per_file: 60 } },
    time(Verb::Save(0), WALK, 1.15),
    time(Verb::Save(0), WRITE_TREE, 0.40),
    time(Verb::Save(0), COMMIT, 0.33),
    Target { verb: Verb::Save(0), bound: Bound::Peak { mebibytes: 16, bytes_per_file: STAT_CACHE } },
    time(Verb::Save(1), WALK, 1.20),
    time(Verb::Save(1), WRITE_TREE, 0.40),
    time(Verb::Save(100), WALK, 1.30),
    time(Verb::Save(1000), WALK, 1.60),
    time(Verb::Save(1000), WRITE_TREE, 0.20),
    time(Verb::Status, WALK, 1.15),
    time(Verb::Status, WRITE_TREE, 0.40),
    time(Verb::Reset(Changed::Files(1)), WALK, 1.40),
    time(Verb::Reset(Changed::Files(1)), COMMIT, 0.30),
    time(Verb::Reset(Changed::Files(100)), WALK, 1.80),
    time(Verb::Reset(Changed::Files(100)), COMMIT, 0.35),
    time(Verb::Reset(Changed::Files(1000)), WALK, 3.20),
    time(Verb::Reset(Changed::Files(1000)), COMMIT, 0.45),
    time(Verb::Undo(100), WALK, 1.80),
    time(Verb::Redo(100), WALK, 1.80),
    time(Verb::Rollback, VERSION, 3.0),
    time(Verb::Start, "empty program", 3.0),
];

/// On a tree of 1,000 files, where the start of a process would be all that is seen.
pub(crate) const OF_A_SMALL_TREE: [Target; 1] =
    [Target { verb: Verb::InProcess, bound: Bound::Time { of: WALK, at_most: 1.10, above_us: 500 } }];

/// After 10,000 checkpoints.
pub(crate) const OF_A_HISTORY: [Target; 3] =
    [time(Verb::List, VERSION, 2.0), time(Verb::Show, VERSION, 2.0), time(Verb::Head, VERSION, 2.0)];
