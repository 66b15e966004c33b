//! What all tortures have in common: the two forms, numbers at random, and the count. Crates whose tortures are tests of
//! their own take this file in by its path.

use std::collections::BTreeMap;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// Whether the long form was asked for.
pub(crate) fn is_long() -> bool {
    std::env::var_os("CKPT_TORTURE").is_some_and(|form| form == "long")
}

/// One number for the short form, one for the long.
pub(crate) fn either<T>(short: T, long: T) -> T {
    if is_long() { long } else { short }
}

/// A random number generator of the same numbers each time: splitmix64.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end.max(1)).unwrap()).unwrap()
    }

    pub(crate) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// The count of one torture.
pub(crate) struct Tally {
    name: &'static str,
    kinds: BTreeMap<String, u64>,
    tried: u64,
    failures: Vec<String>,
    begun: Instant,
}

impl Tally {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, kinds: BTreeMap::new(), tried: 0, failures: Vec::new(), begun: Instant::now() }
    }

    /// Tries a case of a kind. What it says went wrong, or panics with, is a loss.
    pub(crate) fn case(&mut self, kind: &str, try_it: impl FnOnce() -> Result<(), String>) {
        self.count(kind, caught(try_it));
    }

    /// Counts a case that was tried elsewhere.
    pub(crate) fn count(&mut self, kind: &str, outcome: Result<(), String>) {
        self.tried += 1;
        *self.kinds.entry(kind.to_owned()).or_default() += 1;
        if let Err(failure) = outcome {
            self.failures.push(format!("{kind}: {failure}"));
        }
    }

    /// Prints the line for the table, and fails if anything was lost.
    pub(crate) fn end(self) {
        let kinds: Vec<String> = self.kinds.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        let lost = self.failures.len() as u64;
        let (name, tried, seconds) = (self.name, self.tried, self.begun.elapsed().as_secs());
        let line = format!("torture\t{name}\t{tried}\t{}\t{lost}\t{seconds} s\t{}\n", tried - lost, kinds.join(", "));
        // Past the test runner, which keeps what a test prints that does not fail.
        std::io::stdout().write_all(line.as_bytes()).unwrap();
        let shown = self.failures.iter().take(10).cloned().collect::<Vec<_>>().join("\n---\n");
        assert!(self.failures.is_empty(), "{name}: {lost} of {tried} lost\n{shown}");
        assert!(self.tried > 0, "{name} tried nothing");
    }
}

/// Tries a case; a panic is what went wrong.
pub(crate) fn caught<T>(try_it: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(try_it)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        Err(text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default())
    })
}
