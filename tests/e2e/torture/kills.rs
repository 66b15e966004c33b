//! Every verb, killed at every step, or given an error there: afterwards it was done or it was not, the next command
//! settles which, and no byte is gone.

use super::verbs::settles;
use super::{Tally, VERBS, Verb, is_long};
use crate::sandbox::{Sandbox, steps_of};

/// Steps between two that are tried, in the short form.
const STRIDE: u64 = 9;

#[test]
fn every_verb_killed_at_every_step_d1_l30_x6() {
    let mut tally = Tally::new("kills");
    for verb in VERBS {
        each_step(verb, &mut tally, "kill");
    }
    tally.end();
}

#[test]
fn every_verb_with_an_error_at_every_step_l35() {
    let mut tally = Tally::new("errors");
    for verb in VERBS {
        for error in ["eio", "enospc"] {
            each_step(verb, &mut tally, error);
        }
    }
    tally.end();
}

fn each_step(verb: &Verb, tally: &mut Tally, fault: &str) {
    let sandbox = Sandbox::new();
    let (words, _) = (verb.prepare)(&sandbox);
    let (output, steps) = steps_of(sandbox.call(words.split(' ')));
    let _ = output.ok();
    let stride = if is_long() { 1 } else { STRIDE };
    // Another remainder for each, so that the short forms together try more than one of them.
    let first = 1 + verb.name.len() as u64 % stride + u64::from(fault == "enospc");
    for number in (first..=steps).step_by(usize::try_from(stride).unwrap()) {
        tally.case(&format!("{} {fault}", verb.name), || one(verb, number, fault));
    }
}

fn one(verb: &Verb, number: u64, fault: &str) -> Result<(), String> {
    let sandbox = Sandbox::new();
    let (words, expected) = (verb.prepare)(&sandbox);
    let before = sandbox.tree();
    let output = sandbox.call(words.split(' ')).fault(number, fault).run();
    let what = format!("{words}, {fault} at step {number}: {output}");
    settles(verb, &sandbox, &before, &expected, output.code, &what)
}
