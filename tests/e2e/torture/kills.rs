//! Every verb, killed at every step, or given an error there: afterwards it was done or it was not, the next command
//! settles which, and no byte is gone.

use super::verbs::settles;
use super::{Tally, VERBS, Verb, either};
use crate::sandbox::{Output, SYNCS, Sandbox, operations_of};

/// Something that happens at a step.
struct Fault {
    name: &'static str,
    /// The action of the fault point.
    action: &'static str,
    /// Operations at which it happens; none: at all.
    operations: &'static [&'static str],
    /// Steps between two that are tried, in the short form.
    stride: usize,
    /// What the run must answer, besides what holds for all.
    answers: fn(&Output) -> bool,
}

const KILL: Fault = Fault { name: "kill", action: "kill", operations: &[], stride: 9, answers: |_| true };

const ERRORS: &[Fault] = &[
    Fault { name: "eio", action: "eio", operations: &[], stride: 9, answers: |_| true },
    Fault { name: "enospc", action: "enospc", operations: &[], stride: 9, answers: |_| true },
    // Quotas of the kernel do not bind root, and tmpfs has them only where it was built so.
    Fault { name: "quota", action: "edquot", operations: &[], stride: 27, answers: |_| true },
    // A shortage says nothing about a file: no answer leaves one out.
    Fault {
        name: "emfile",
        action: "emfile",
        operations: &[],
        stride: 60,
        answers: |output| output.code == Some(0) || is_told(output, "Too many open files"),
    },
    Fault {
        name: "short",
        action: "short",
        operations: &["write"],
        stride: 3,
        answers: |output| output.code == Some(0),
    },
    Fault { name: "short-enospc", action: "short-enospc", operations: &["write"], stride: 3, answers: |_| true },
    Fault {
        name: "fsync",
        action: "eio",
        operations: &SYNCS,
        stride: 1,
        answers: |output| is_told(output, "Input/output error"),
    },
];

fn is_told(output: &Output, reason: &str) -> bool {
    output.code == Some(1) && output.err().contains(reason)
}

#[test]
fn every_verb_killed_at_every_step_d1_l30_x6() {
    let mut tally = Tally::new("kills");
    for verb in VERBS {
        each_step(verb, &mut tally, &KILL);
    }
    tally.end();
}

#[test]
fn every_verb_with_an_error_at_every_step_l35() {
    let mut tally = Tally::new("errors");
    for verb in VERBS {
        for fault in ERRORS {
            each_step(verb, &mut tally, fault);
        }
    }
    tally.end();
}

fn each_step(verb: &Verb, tally: &mut Tally, fault: &Fault) {
    let sandbox = Sandbox::new();
    let (words, _) = (verb.prepare)(&sandbox);
    let (output, operations) = operations_of(sandbox.call(words.split(' ')).durable(), fault.action);
    let _ = output.ok();
    let is_meant = |operation: &str| fault.operations.is_empty() || fault.operations.contains(&operation);
    let steps: Vec<u64> =
        (1..).zip(&operations).filter(|(_, operation)| is_meant(operation)).map(|(at, _)| at).collect();
    let stride = either(fault.stride, 1);
    // Another remainder for each, so that the short forms together try more than one of them.
    let first = (verb.name.len() + fault.name.len()) % stride.min(steps.len().max(1));
    for &number in steps.iter().skip(first).step_by(stride) {
        let is_late = number > verb.last_step_of_answer(&operations);
        tally.case(&format!("{} {}", verb.name, fault.name), || one(verb, number, fault, is_late));
    }
}

/// `is_late`: whether the step comes after the answer.
fn one(verb: &Verb, number: u64, fault: &Fault, is_late: bool) -> Result<(), String> {
    let sandbox = Sandbox::new();
    let (words, expected) = (verb.prepare)(&sandbox);
    let before = sandbox.tree();
    let output = sandbox.call(words.split(' ')).durable().fault(number, fault.action).run();
    let what = format!("{words}, {} at step {number}: {output}", fault.name);
    if !((fault.answers)(&output) || is_late && output.code == Some(0)) {
        return Err(format!("it should have answered otherwise: {what}"));
    }
    settles(verb, &sandbox, &before, &expected, output.code, &what)
}
