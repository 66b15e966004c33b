//! `prune`: only what is certainly gone, and only when somebody said yes.

use std::fs;

use crate::sandbox::{Sandbox, Tree, assert_same, operations_of, steps_of};

#[test]
fn prune_gives_a_reason_for_each_store_and_asks_u3() {
    let sandbox = Sandbox::new();
    sandbox.saved_workspace("kept");
    let gone = sandbox.saved_workspace("gone");
    fs::create_dir(sandbox.checkpoint_dir().join("foreign")).unwrap();
    fs::write(sandbox.checkpoint_dir().join("foreign/file"), "not ours").unwrap();
    fs::remove_dir_all(&gone).unwrap();
    let before = Tree::with_identity(&sandbox.checkpoint_dir()).without("locks");
    for words in ["prune", "prune --dry-run"] {
        let plan = sandbox.ckpt(words).ok();
        for word in ["gone", "foreign", "--yes"] {
            assert!(plan.all().contains(word), "{word}: {plan}");
        }
    }
    assert_same(&before, &Tree::with_identity(&sandbox.checkpoint_dir()).without("locks"));
    let output = sandbox.ckpt("prune --yes").ok().says("gone");
    assert!(sandbox.store_of("kept").is_some() && sandbox.store_of("gone").is_none(), "{output}");
    assert!(sandbox.checkpoint_dir().join("foreign/file").exists());
    let _ = sandbox.ckpt("prune --yes").ok();
    assert!(sandbox.store_of("kept").is_some());
    fs::remove_dir_all(sandbox.checkpoint_dir().join("foreign")).unwrap();
}

#[test]
fn prune_keeps_what_cannot_be_seen_now_l25() {
    let sandbox = Sandbox::new();
    let project = sandbox.saved_workspace("volume/project");
    let volume = sandbox.root().join("volume");
    let aside = sandbox.root().join("unmounted");
    // Nothing where the volume was, then an empty directory: its mount point.
    fs::rename(&volume, &aside).unwrap();
    let _ = sandbox.ckpt("prune --yes").ok().says("unmounted");
    assert!(sandbox.store_of("project").is_some());
    fs::create_dir(&volume).unwrap();
    let _ = sandbox.ckpt("prune --yes").ok().says("unmounted");
    assert!(sandbox.store_of("project").is_some());
    fs::remove_dir(&volume).unwrap();
    fs::rename(&aside, &volume).unwrap();
    let _ = sandbox.call(["-w", ".", "status", "--exit-code"]).dir(&project).run().ok();
    fs::remove_dir_all(&project).unwrap();
    let _ = sandbox.ckpt("prune --yes").ok();
    assert!(sandbox.store_of("project").is_none());
}

#[test]
fn prune_keeps_the_history_of_a_moved_workspace() {
    let sandbox = Sandbox::new();
    let old = sandbox.saved_workspace("old");
    let new = sandbox.root().join("new");
    fs::rename(&old, &new).unwrap();
    let _ = sandbox.call(["-w", ".", "save"]).dir(&new).run().ok();
    let _ = sandbox.ckpt("prune --yes").ok().says("moved");
    assert!(sandbox.store_of("old").is_some() && sandbox.store_of("new").is_some());
}

#[test]
fn a_renamed_workspace_is_told_with_and_without_a_store_at_its_new_place() {
    let sandbox = Sandbox::new();
    let old = sandbox.saved_workspace("old");
    let new = sandbox.root().join("new");
    fs::rename(&old, &new).unwrap();
    for words in ["prune", "workspaces -l"] {
        let output = sandbox.ckpt(words).ok().says("moved").says(&format!("is now {}", new.display()));
        let _ = output.says("no store there yet").keeps_quiet_about("of its own");
    }
    let _ = sandbox.call(["-w", ".", "save"]).dir(&new).run().ok();
    for words in ["prune", "workspaces -l"] {
        let _ = sandbox.ckpt(words).ok().says("moved").says("has a store of its own there");
    }
}

#[test]
fn prune_takes_away_what_a_killed_first_save_left() {
    let (output, steps) = steps_of(Sandbox::new().call(["save"]));
    let _ = output.ok();
    let mut left_over = 0;
    for number in 1..=steps {
        let sandbox = Sandbox::new();
        let _ = sandbox.call(["save"]).fault(number, "kill").run().killed();
        let is_begun = |sandbox: &Sandbox| {
            sandbox.stores().iter().any(|store| store.file_name().unwrap().to_string_lossy().starts_with("tmp-"))
        };
        left_over += usize::from(is_begun(&sandbox));
        fs::remove_dir(sandbox.w()).unwrap();
        let output = sandbox.call(["prune", "--yes"]).dir(sandbox.root()).run().ok();
        assert!(sandbox.stores().is_empty(), "step {number}: {:?} {output}", sandbox.stores());
    }
    assert!(left_over > 0, "no kill left anything");
}

#[test]
fn prune_removes_a_store_into_which_somebody_writes_meanwhile() {
    let gone = || {
        let sandbox = Sandbox::new();
        fs::remove_dir_all(sandbox.saved_workspace("gone")).unwrap();
        sandbox
    };
    let counted = gone();
    let (output, operations) = operations_of(counted.call(["prune", "--yes"]), "run:");
    let _ = output.ok();
    // Whoever opened it before it was renamed still writes into it.
    let write =
        "run:for d in $HOME/.fabricatio-checkpoint/tmp-prune-*; do echo late > $d/ckpt/late && echo > $HOME/late; done";
    let removals: Vec<u64> =
        (1..).zip(&operations).filter(|(_, operation)| *operation == "rmdir").map(|(step, _)| step).collect();
    let mut written = 0;
    for &step in &removals {
        let sandbox = gone();
        let _ = sandbox.call(["prune", "--yes"]).fault(step, write).run().ok();
        written += u32::from(sandbox.home().join("late").exists());
        assert!(sandbox.store_of("gone").is_none());
        let left = Tree::of(&sandbox.checkpoint_dir()).without("locks").paths();
        assert!(left.is_empty(), "after step {step}: {left:?}");
    }
    assert!(written > 0, "nobody wrote between {removals:?}");
}
