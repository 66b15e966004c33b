//! Ends at any moment: killed between any two steps, or interrupted. What was reported stays; what had begun is finished
//! or taken back; nothing temporary stays.

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::sandbox::{Output, Sandbox, Tree, assert_same, operations_of, steps_of};

/// The state of the checkpoint.
fn old_files(sandbox: &Sandbox) {
    sandbox.write("a", "old a");
    sandbox.write("d/b", "old b");
    sandbox.write("d/gone", "old gone");
    sandbox.write("same", "same");
    sandbox.write("kind", "old kind");
    sandbox.write("run", "old run");
    sandbox.mode("run", 0o755);
}

/// The state of the workspace when a restore begins; no checkpoint has it.
fn new_files(sandbox: &Sandbox) {
    sandbox.write("a", "new a");
    sandbox.write("d/b", "new b");
    sandbox.remove("d/gone");
    sandbox.remove("kind");
    sandbox.link("kind", "a");
    sandbox.mode("run", 0o644);
    sandbox.write("added/new", "new new");
}

/// Steps of a call in a sandbox that `prepare` makes.
fn count_steps(prepare: &dyn Fn(&Sandbox) -> String) -> u64 {
    let sandbox = Sandbox::new();
    let words = prepare(&sandbox);
    let (output, steps) = steps_of(sandbox.call(words.split(' ')));
    let _ = output.ok();
    assert!(steps > 3, "there are {steps} steps");
    steps
}

/// Runs the call that `prepare` names, with something happening at each of its steps in turn.
pub(crate) fn at_each_step(
    action: &str,
    prepare: &dyn Fn(&Sandbox) -> String,
    stride: usize,
    look: &dyn Fn(u64, &Sandbox, Output),
) {
    for number in (1..=count_steps(prepare)).step_by(stride) {
        let sandbox = Sandbox::new();
        let words = prepare(&sandbox);
        let output = sandbox.call(words.split(' ')).fault(number, action).run();
        look(number, &sandbox, output);
    }
}

pub(crate) fn first_save(sandbox: &Sandbox) -> String {
    old_files(sandbox);
    "save -m first".to_owned()
}

pub(crate) fn second_save(sandbox: &Sandbox) -> String {
    old_files(sandbox);
    sandbox.save("first");
    new_files(sandbox);
    "save -m second".to_owned()
}

pub(crate) fn reset(sandbox: &Sandbox) -> String {
    old_files(sandbox);
    let id = sandbox.save("first");
    new_files(sandbox);
    format!("reset {id}")
}

/// Trees before and after the reset of [`reset`].
pub(crate) fn both() -> (Tree, Tree) {
    let sandbox = Sandbox::new();
    old_files(&sandbox);
    let old = sandbox.tree();
    new_files(&sandbox);
    (old, sandbox.tree())
}

/// Every byte that stood there before stands there still, or the store holds it.
pub(crate) fn assert_nothing_lost(before: &Tree, sandbox: &Sandbox, what: &str) {
    let after = sandbox.tree();
    for (path, content) in before.contents() {
        let stands = after.contents().any(|(_, known)| known == content);
        assert!(stands || sandbox.is_held(content), "{} is lost: {what}", path.display());
    }
}

/// After a [`second_save`] that ended at step `number`: another save holds what is there, and both states come back.
pub(crate) fn assert_both_come_back(old: &Tree, new: &Tree, sandbox: &Sandbox, number: u64) {
    let second = sandbox.save("again");
    let _ = sandbox.ckpt("reset HEAD~1").ok();
    assert_eq!(old.differences(&sandbox.tree()), "", "step {number}");
    let _ = sandbox.ckpt(&format!("reset {second}")).ok();
    assert_eq!(new.differences(&sandbox.tree()), "", "step {number}");
}

/// Whether a reset began to change files, and did not come to its end: the move of the timeline.
fn is_interrupted(sandbox: &Sandbox) -> bool {
    let newest = sandbox.git_in_store(&["log", "-1", "--format=%s", "timeline"]);
    sandbox.store().join("ckpt/journal").exists() && !newest.starts_with("reset")
}

/// Runs a command that writes: it removes what a crash left, which readers leave alone.
fn sweep(sandbox: &Sandbox) {
    let _ = sandbox.call(["save", "--always"]).run().ok();
    sandbox.check();
}

#[test]
fn a_killed_save_leaves_no_trace_d1_l30() {
    let (old, new) = both();
    at_each_step("kill", &first_save, 1, &|number, sandbox, output| {
        let _ = output.killed();
        let id = sandbox.save("again");
        let _ = sandbox.ckpt("ls").ok();
        new_files(sandbox);
        let _ = sandbox.ckpt(&format!("reset {id}")).ok();
        assert_eq!(old.differences(&sandbox.tree()), "", "step {number}");
        sandbox.check();
    });
    at_each_step("kill", &second_save, 1, &|number, sandbox, output| {
        let _ = output.killed();
        let listed = sandbox.ckpt("ls").ok();
        assert!(listed.out().contains("first"), "step {number}: {listed}");
        assert_both_come_back(&old, &new, sandbox, number);
    });
}

#[test]
fn a_save_that_was_killed_costs_no_more_p11() {
    let filled = || {
        let sandbox = Sandbox::new();
        for number in 0..300 {
            sandbox.write(format!("d{}/f{number}", number % 9), format!("content {number} ").repeat(100));
        }
        sandbox
    };
    let sandbox = filled();
    let bytes =
        |sandbox: &Sandbox| -> usize { Tree::of(&sandbox.store()).contents().map(|(_, bytes)| bytes.len()).sum() };
    let (output, steps) = steps_of(sandbox.call(["save"]));
    let _ = output.ok();
    let whole = bytes(&sandbox);
    for number in [steps / 3, steps / 2, steps - 2] {
        let other = filled();
        let _ = other.call(["save"]).fault(number, "kill").run().killed();
        other.save("again");
        assert!(bytes(&other) < whole + whole / 10 + 5_000, "{} and {whole} bytes", bytes(&other));
    }
}

/// A save that is large publishes what it has now and then.
#[test]
fn what_a_killed_save_had_published_is_used_by_the_next_p11() {
    let block: Vec<u8> = crate::damage::noise().repeat(25);
    let filled = || {
        let sandbox = Sandbox::new();
        sandbox.write("first", "first");
        sandbox.save("first");
        for number in 0..70 {
            // Deflate looks back by 32 KiB, and the noise comes again after 40.
            sandbox.write(format!("d{}/f{number}", number % 9), [number.to_string().as_bytes(), &block].concat());
        }
        sandbox
    };
    let sandbox = filled();
    let (output, operations) = operations_of(sandbox.call(["save"]), "");
    let _ = output.ok();
    let large = |sandbox: &Sandbox| {
        let packs = crate::damage::with_extension(&sandbox.store().join("objects/pack"), "pack").into_iter();
        packs.filter(|pack| pack.metadata().unwrap().len() > 60 << 20).collect::<Vec<_>>()
    };
    assert_eq!(large(&sandbox).len(), 1, "{:?}", large(&sandbox));
    let renamed = operations.iter().position(|operation| operation == "rename").unwrap();
    let killed = filled();
    // The third of its three files has its name.
    let _ = killed.call(["save"]).fault(renamed as u64 + 6, "kill").run().killed();
    let published = large(&killed);
    assert_eq!(published.len(), 1);
    let before = fs::metadata(&published[0]).unwrap();
    let saved = killed.save("again");
    assert_eq!(large(&killed), published);
    let after = fs::metadata(&published[0]).unwrap();
    assert_eq!((before.ino(), before.mtime_nsec()), (after.ino(), after.mtime_nsec()));
    let tree = killed.tree();
    killed.remove("d1");
    let _ = killed.ckpt(&format!("reset {saved}")).ok();
    assert_same(&tree, &killed.tree());
}

#[test]
fn a_killed_reset_is_finished_or_never_began_l30() {
    let (old, new) = both();
    at_each_step("kill", &reset, 1, &|number, sandbox, output| {
        let _ = output.killed();
        assert_nothing_lost(&new, sandbox, &format!("step {number}"));
        let had_begun = is_interrupted(sandbox);
        let next = sandbox.ckpt(["status", "save", "diff"][usize::try_from(number % 3).unwrap()]);
        let next = next.ok();
        let expected = if had_begun { &old } else { &new };
        if had_begun {
            assert!(next.all().contains("interrupted"), "step {number}: {next}");
        }
        let now = sandbox.tree();
        // A kill after the end of the restore proper leaves no journal and the new state.
        assert!(
            expected.differences(&now).is_empty() || old == now,
            "step {number}: {}\n{next}",
            expected.differences(&now)
        );
        assert_nothing_lost(&new, sandbox, &format!("step {number}, after the next command"));
        sweep(sandbox);
    });
}

#[test]
fn a_killed_reset_can_be_taken_back_l30() {
    let (old, new) = both();
    at_each_step("kill", &reset, 1, &|number, sandbox, output| {
        let _ = output.killed();
        let undone = sandbox.ckpt("undo");
        assert_eq!(new.differences(&sandbox.tree()), "", "step {number}: {undone}");
        let _ = sandbox.ckpt("reset").ok();
        assert_eq!(old.differences(&sandbox.tree()), "", "step {number}");
    });
}

#[test]
fn a_killed_undo_or_rollback_is_finished_or_never_began_l30() {
    let (old, new) = both();
    let undo = |sandbox: &Sandbox| {
        let words = reset(sandbox);
        let _ = sandbox.ckpt(&words).ok();
        "undo".to_owned()
    };
    at_each_step("kill", &undo, 2, &|number, sandbox, output| {
        let _ = output.killed();
        let _ = sandbox.ckpt("status").ok();
        let now = sandbox.tree();
        assert!(now == old || now == new, "step {number}: {}", old.differences(&now));
        assert_nothing_lost(&new, sandbox, &format!("step {number}"));
        sweep(sandbox);
    });
    let rollback = |sandbox: &Sandbox| reset(sandbox).replace("reset", "rollback") + " a d";
    at_each_step("kill", &rollback, 2, &|number, sandbox, output| {
        let _ = output.killed();
        let _ = sandbox.ckpt("status").ok();
        let (now, others) = (sandbox.tree(), |tree: Tree| tree.without("a").without("d"));
        assert_same(&others(new.clone()), &others(now.clone()));
        let is = |tree: &Tree, path| now.clone().only(path) == tree.clone().only(path);
        assert!((is(&old, "a") && is(&old, "d")) || (is(&new, "a") && is(&new, "d")), "step {number}");
        assert_nothing_lost(&new, sandbox, &format!("step {number}"));
        sweep(sandbox);
    });
}

#[test]
fn nothing_is_foretold_of_a_half_done_reset() {
    at_each_step("kill", &reset, 7, &|number, sandbox, output| {
        let _ = output.killed();
        let before = sandbox.tree();
        let is_pending = sandbox.store().join("ckpt/journal").exists();
        for words in ["save --dry-run", "reset --dry-run", "rollback HEAD a --dry-run"] {
            let output = sandbox.ckpt(&format!("{words} --json"));
            if is_pending {
                let _ = output.fails_with("interrupted-restore").says("status");
            }
            assert_eq!(before.differences(&sandbox.tree()), "", "step {number}, {words}");
        }
        let _ = sandbox.ckpt("status").ok();
        let _ = sandbox.ckpt("save --dry-run").ok();
        sweep(sandbox);
    });
}

#[test]
fn a_repair_by_hand_after_a_crash_is_kept_l41() {
    let (_, new) = both();
    at_each_step("kill", &reset, 1, &|number, sandbox, output| {
        let _ = output.killed();
        if !sandbox.store().join("ckpt/journal").exists() {
            return sweep(sandbox);
        }
        sandbox.write("d/b", "repaired by hand");
        let next = sandbox.ckpt("status");
        let is_there = sandbox.has("d/b") && sandbox.text("d/b") == "repaired by hand";
        assert!(is_there || sandbox.is_held("repaired by hand"), "step {number}: {next}");
        assert!(next.all().contains("d/b") || !is_there, "it says so; step {number}: {next}");
        for path in ["a", "same", "run"] {
            assert!(sandbox.text(path).contains(path), "step {number}: {next}");
        }
        let undone = sandbox.ckpt("undo");
        let stays = sandbox.has("d/b") && sandbox.text("d/b") == "repaired by hand";
        let is_named = undone.all().contains("d/b");
        assert!(stays || !is_there || is_named, "step {number}: {next}{undone}");
        let others = |tree: &Tree| tree.clone().without("d");
        assert_eq!(others(&new).differences(&others(&sandbox.tree())), "", "step {number}: {undone}");
        sweep(sandbox);
    });
}

#[test]
fn kills_at_random_moments_of_a_reset_over_500_files_x6() {
    let rounds: usize = std::env::var("CKPT_E2E_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(100);
    let sandbox = Sandbox::new();
    let fill = |what: &str| {
        for number in 0..500 {
            sandbox.write(format!("d{}/f{number}", number % 20), format!("{what} {number}"));
        }
    };
    fill("one");
    sandbox.write("only-one", "x");
    let one = sandbox.tree();
    let first = sandbox.save("one");
    sandbox.remove("only-one");
    fill("two");
    let two = sandbox.tree();
    let second = sandbox.save("two");
    let start = std::time::Instant::now();
    let _ = sandbox.ckpt(&format!("reset {first}")).ok();
    let whole = start.elapsed();
    let (mut seed, mut finished) = (0x5eed_u64, 0);
    for round in 0..rounds {
        let (from, to, target) = if sandbox.tree() == one { (&one, &two, &second) } else { (&two, &one, &first) };
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let wait = whole.mul_f64((seed >> 11) as f64 / (1_u64 << 53) as f64);
        let tip = sandbox.git_in_store(&["rev-parse", "timeline"]);
        let mut child = sandbox.call(["reset", target]).spawn();
        std::thread::sleep(wait);
        let _ = child.kill();
        let _ = child.wait_with_output().unwrap();
        let had_begun = sandbox.store().join("ckpt/journal").exists();
        let is_recorded = sandbox.git_in_store(&["rev-parse", "timeline"]) != tip;
        let next = sandbox.ckpt("status").ok();
        let now = sandbox.tree();
        assert!(now == *from || now == *to, "round {round}, after {wait:?}: {next}\n{}", to.differences(&now));
        if had_begun && !is_recorded {
            assert!(next.all().contains("interrupted"), "round {round}: {next}");
            finished += 1;
        }
    }
    assert!(finished > 0, "no kill met a reset at work");
}

#[test]
fn an_interrupt_takes_a_reset_back() {
    let (old, new) = both();
    at_each_step("run:kill -INT $PPID", &reset, 1, &|number, sandbox, output| {
        let now = sandbox.tree();
        match output.code {
            Some(130) => assert_eq!(new.differences(&now), "", "step {number}: {output}"),
            Some(0) => assert_eq!(old.differences(&now), "", "step {number}: {output}"),
            _ => panic!("step {number}: {output}"),
        }
        assert_nothing_lost(&new, sandbox, &format!("step {number}"));
        assert!(!sandbox.store().join("ckpt/journal").exists(), "step {number}: {output}");
    });
}

#[test]
fn who_looks_at_the_files_finishes_a_killed_reset_and_nobody_else() {
    let killed = |number: u64| {
        let sandbox = Sandbox::new();
        let words = reset(&sandbox);
        let _ = sandbox.call(words.split(' ')).fault(number, "kill").run();
        sandbox
    };
    // The last step at which there is something to finish: the timeline was not moved yet.
    let number = (1..=count_steps(&reset)).rev().find(|number| {
        let sandbox = killed(*number);
        sandbox.expect_damage();
        is_interrupted(&sandbox)
    });
    let number = number.unwrap();
    for words in ["save", "status", "diff", "diff HEAD", "reset", "rollback HEAD a", "undo", "verify --repair"] {
        let sandbox = killed(number);
        let _ = sandbox.ckpt(words).ok().says("was finished first");
        assert!(!is_interrupted(&sandbox), "{words}");
    }
    let sandbox = killed(number);
    let before = sandbox.tree();
    let readers =
        ["ls", "show", "diff HEAD HEAD", "verify", "workspaces", "workspaces -l", "config", "prune", "doctor"];
    let plans = ["save --dry-run", "reset --dry-run", "rollback HEAD a --dry-run", "undo --dry-run"];
    for words in readers.into_iter().chain(plans) {
        let _ = sandbox.ckpt(words).keeps_quiet_about("was finished first");
        assert!(is_interrupted(&sandbox), "{words}");
        assert_same(&before, &sandbox.tree());
    }
    let _ = sandbox.ckpt("status").ok().says("was finished first");
}

/// The step at which an operation comes for the `number`th time, counted from 0.
fn step_of(operations: &[String], wanted: &str, number: usize) -> u64 {
    let mut places = (1..).zip(operations).filter(|(_, operation)| *operation == wanted).map(|(step, _)| step);
    places.nth(number).unwrap_or_else(|| panic!("no {wanted} {number} in {operations:?}"))
}

fn one_edit() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one");
    sandbox.save("first");
    sandbox.write("a", "two");
    sandbox
}

/// Killed just after the timeline has moved, and before that was synced.
fn moved_and_killed() -> Sandbox {
    let (output, operations) = operations_of(one_edit().call(["save"]), "kill");
    let _ = output.ok();
    let sandbox = one_edit();
    let _ = sandbox.call(["save"]).fault(step_of(&operations, "link", 0) + 2, "kill").run().killed();
    sandbox
}

#[test]
fn two_kills_of_one_move_lock_nobody_out_l30() {
    // The names of temporaries are random, and their order matters.
    for _ in 0..8 {
        let (counted, sandbox) = (moved_and_killed(), moved_and_killed());
        let (output, operations) = operations_of(counted.call(["save"]), "kill");
        let _ = output.ok();
        let _ = sandbox.call(["save"]).fault(step_of(&operations, "link", 0) + 1, "kill").run().killed();
        let id = sandbox.call(["save", "--always"]).config("lock_timeout", "2s").run().ok().id();
        assert_eq!(sandbox.text_in(&id, "a"), "two");
    }
}

#[test]
fn a_timeline_that_is_damaged_after_a_kill_is_mended_x4() {
    let sandbox = moved_and_killed();
    fs::write(sandbox.store().join("refs/heads/timeline"), "").unwrap();
    let _ = sandbox.ckpt("verify --repair").ok();
    let _ = sandbox.ckpt("verify --full").ok();
    let _ = sandbox.ckpt("save").ok();
}

#[test]
fn an_error_while_a_pack_is_published_leaves_no_half_of_it_l35() {
    let (output, operations) = operations_of(one_edit().call(["save"]), "enospc");
    let _ = output.ok();
    for number in 0..3 {
        let sandbox = one_edit();
        let _ = sandbox.call(["save"]).fault(step_of(&operations, "rename", number), "enospc").run().exits(1);
        let id = sandbox.ckpt("save").ok().id();
        assert_eq!(sandbox.text_in(&id, "a"), "two");
        let _ = sandbox.ckpt("verify --full").ok().says("all is there");
        let packs = Tree::of(&sandbox.store().join("objects/pack")).paths();
        assert_eq!(packs.len() % 3, 0, "after rename {number}: {packs:?}");
    }
}

#[test]
fn a_shortage_while_a_killed_reset_is_finished_leaves_no_temporary_l30() {
    let killed = || {
        let operations = operations_of(one_edit().call(["reset", "HEAD"]), "kill").1;
        let sandbox = one_edit();
        let after_exchange = step_of(&operations, "exchange", 0) + 1;
        let _ = sandbox.call(["reset", "HEAD"]).fault(after_exchange, "kill").run().killed();
        assert!(sandbox.tree().paths().len() > 1, "nothing is left over");
        sandbox
    };
    let openings = operations_of(killed().call(["status"]), "emfile").1.len() as u64;
    for at in 1..=openings {
        let sandbox = killed();
        let output = sandbox.call(["status"]).fault(at, "emfile").run();
        let _ = sandbox.ckpt("status").ok();
        assert_eq!(sandbox.text("a"), "one", "opening {at}: {output}");
        assert_eq!(sandbox.tree().paths(), ["a"], "opening {at}: {output}");
    }
}

/// A reader that keeps its place in a sample writes without the lock.
#[test]
fn a_temporary_that_goes_while_it_is_swept_is_swept() {
    let left = || {
        let sandbox = one_edit();
        fs::write(sandbox.store().join("ckpt/tmp-0123456789abcdef-verify-sample"), "half").unwrap();
        sandbox
    };
    let (output, operations) = operations_of(left().call(["save"]), "run:");
    let _ = output.ok();
    let sandbox = left();
    let remove = "run:rm $HOME/.fabricatio-checkpoint/*/ckpt/tmp-0123456789abcdef-verify-sample";
    let id = sandbox.call(["save"]).fault(step_of(&operations, "unlink", 0), remove).run().ok().id();
    assert_eq!(sandbox.text_in(&id, "a"), "two");
}
