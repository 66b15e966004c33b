//! What was measured.

use std::time::Duration;

use super::statistics::{Sample, Time, ratio};

/// All samples of one verb by one subject on one tree.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// The tree: its number of files, or what it is.
    pub(crate) tree: String,
    pub(crate) verb: String,
    pub(crate) subject: &'static str,
    /// In the order of rounds.
    pub(crate) samples: Vec<Sample>,
    /// What its store takes on the disk after a first save.
    pub(crate) store_bytes: Option<u64>,
}

/// The series of `subject` for a verb on a tree.
pub(crate) fn find<'a>(all: &'a [Series], tree: &str, verb: &str, subject: &str) -> Option<&'a Series> {
    all.iter().find(|series| series.tree == tree && series.verb == verb && series.subject == subject)
}

impl Series {
    /// Its time over that of another subject in the same rounds.
    pub(crate) fn ratio_to(&self, other: &Self) -> Option<f64> {
        ratio(Time::Wall, &self.samples, &other.samples, Duration::ZERO)
    }
}
