//! Every verb that writes, with a workspace in which it has something to do.

use std::sync::OnceLock;

use crate::crash::assert_nothing_lost;
use crate::sandbox::{Sandbox, Tree};

/// A verb on its way: how the workspace is made ready, what is then called.
pub(crate) struct Verb {
    pub(crate) name: &'static str,
    /// Makes a workspace ready. The words to call, and the tree that stands in the workspace when they are done.
    pub(crate) prepare: fn(&Sandbox) -> (String, Tree),
}

impl Verb {
    /// The last of its steps on which its answer rests: packs are merged after a save has been reported, which is when the
    /// move of the timeline is synced, and an error then is none.
    pub(crate) fn last_step_of_answer(&self, operations: &[String]) -> u64 {
        let moved = operations.iter().rposition(|operation| operation == "link").filter(|_| self.name == "merge");
        // The rename and the sync come after the link.
        moved.map_or(u64::MAX, |link| link as u64 + 3)
    }
}

/// All of them. A new verb that writes is one more line.
pub(crate) const VERBS: &[Verb] = &[
    Verb { name: "create", prepare: create },
    Verb { name: "save", prepare: save },
    Verb { name: "no change", prepare: no_change },
    Verb { name: "merge", prepare: merge },
    Verb { name: "reset", prepare: reset },
    Verb { name: "rollback", prepare: rollback },
    Verb { name: "undo", prepare: undo },
    Verb { name: "redo", prepare: redo },
    Verb { name: "finish", prepare: finish },
    Verb { name: "repair", prepare: repair },
];

/// After a verb that was disturbed: it was done or it was not, the next command settles which, no byte is gone, and what
/// is saved then comes back.
pub(crate) fn settles(
    verb: &Verb,
    sandbox: &Sandbox,
    before: &Tree,
    expected: &Tree,
    code: Option<i32>,
    what: &str,
) -> Result<(), String> {
    assert_nothing_lost(before, sandbox, what);
    // A repair that stopped is begun again.
    if verb.name == "repair" {
        let _ = sandbox.ckpt("verify --repair").ok();
    }
    let next = sandbox.ckpt("status");
    let now = sandbox.tree();
    if now != *before && now != *expected {
        return Err(format!("neither old nor new: {}{what}{next}", before.differences(&now)));
    }
    if code == Some(0) && now != *expected {
        return Err(format!("it said that it was done: {}{what}", expected.differences(&now)));
    }
    assert_nothing_lost(before, sandbox, what);
    let id = sandbox.save("afterwards");
    sandbox.write("a", "later");
    let _ = sandbox.ckpt(&format!("reset {id}")).ok();
    let restored = sandbox.tree();
    sandbox.check();
    if restored == now { Ok(()) } else { Err(format!("{}{what}", now.differences(&restored))) }
}

/// Files of several sorts.
pub(crate) fn old(sandbox: &Sandbox) {
    sandbox.write("a", "old a");
    sandbox.write("same", "same");
    sandbox.write("d/b", "old b");
    sandbox.write("d/gone", "old gone");
    sandbox.write("run", "old run");
    sandbox.mode("run", 0o755);
    sandbox.link("link", "a");
    sandbox.mkdir("empty");
}

/// The same after a day's work: changed, removed, added, and of other kinds.
pub(crate) fn new(sandbox: &Sandbox) {
    sandbox.write("a", "new a");
    sandbox.write("d/b", "new b");
    sandbox.remove("d/gone");
    sandbox.write("d/new/c", "new c");
    sandbox.mode("run", 0o644);
    sandbox.remove("link");
    sandbox.write("link/is/a", "directory now");
    sandbox.remove("empty");
    sandbox.write("empty", "a file now");
}

fn create(sandbox: &Sandbox) -> (String, Tree) {
    old(sandbox);
    ("save -m first".to_owned(), sandbox.tree())
}

fn save(sandbox: &Sandbox) -> (String, Tree) {
    saved(sandbox);
    new(sandbox);
    ("save -m second".to_owned(), sandbox.tree())
}

fn no_change(sandbox: &Sandbox) -> (String, Tree) {
    saved(sandbox);
    ("save".to_owned(), sandbox.tree())
}

fn saved(sandbox: &Sandbox) {
    old(sandbox);
    sandbox.save("first");
}

fn reset(sandbox: &Sandbox) -> (String, Tree) {
    saved(sandbox);
    let tree = sandbox.tree();
    new(sandbox);
    ("reset".to_owned(), tree)
}

fn rollback(sandbox: &Sandbox) -> (String, Tree) {
    saved(sandbox);
    let before = sandbox.tree();
    new(sandbox);
    let mut tree = sandbox.tree();
    for path in ["a", "d"] {
        tree = tree.with(&before, path);
    }
    ("rollback HEAD a d".to_owned(), tree)
}

fn undo(sandbox: &Sandbox) -> (String, Tree) {
    let (words, _) = reset(sandbox);
    let tree = sandbox.tree();
    let _ = sandbox.ckpt(&words).ok();
    ("undo".to_owned(), tree)
}

fn redo(sandbox: &Sandbox) -> (String, Tree) {
    undo(sandbox);
    let tree = sandbox.tree();
    let _ = sandbox.ckpt("undo").ok();
    ("redo".to_owned(), tree)
}

/// A reset that was killed half-way, which the next command finishes.
fn finish(sandbox: &Sandbox) -> (String, Tree) {
    static STEP: OnceLock<u64> = OnceLock::new();
    let is_begun = |sandbox: &Sandbox| sandbox.store().join("ckpt/journal").exists();
    // In the middle of the steps at which there is something to finish.
    let step = *STEP.get_or_init(|| {
        let mut begun = Vec::new();
        for step in 1.. {
            let probe = Sandbox::new();
            let (words, _) = reset(&probe);
            if probe.call([words]).fault(step, "kill").run().code.is_some() {
                break;
            }
            probe.expect_damage();
            if is_begun(&probe) {
                begun.push(step);
            }
        }
        begun[begun.len() / 2]
    });
    let (words, tree) = reset(sandbox);
    let _ = sandbox.call([words]).fault(step, "kill").run().killed();
    assert!(is_begun(sandbox), "there is something to finish");
    ("status".to_owned(), tree)
}

/// The store has seven packs, and with that of the next save so many that they are merged.
fn merge(sandbox: &Sandbox) -> (String, Tree) {
    old(sandbox);
    for number in 0..5 {
        sandbox.write("a", number.to_string());
        sandbox.save(&number.to_string());
    }
    let packs = crate::damage::with_extension(&sandbox.store().join("objects/pack"), "pack");
    assert_eq!(packs.len(), 7, "the next save merges");
    sandbox.write("a", "merges");
    ("save -m merges".to_owned(), sandbox.tree())
}

/// A store of which an idx and the ref are lost.
fn repair(sandbox: &Sandbox) -> (String, Tree) {
    saved(sandbox);
    new(sandbox);
    sandbox.save("second");
    let packs = crate::damage::with_extension(&sandbox.store().join("objects/pack"), "idx");
    std::fs::remove_file(&packs[0]).unwrap();
    std::fs::remove_file(sandbox.store().join("refs/heads/timeline")).unwrap();
    ("verify --repair".to_owned(), sandbox.tree())
}
