//! Errors of the disk at any step: nothing half-made is recorded, nothing is lost, and the next try works.

use std::cell::Cell;
use std::path::Path;

use crate::crash::{assert_both_come_back, assert_nothing_lost, at_each_step, both, first_save, reset, second_save};
use crate::sandbox::{Sandbox, Tree, assert_same};

#[test]
fn an_error_at_any_step_of_a_save_records_nothing_l11() {
    let (old, _) = both();
    for action in ["eio", "enospc"] {
        at_each_step(action, &first_save, 1, &|number, sandbox, output| {
            if output.code == Some(0) {
                // The step was one that a save can do without.
                let _ = sandbox.ckpt(&format!("show {}", output.id())).ok();
            } else {
                assert_eq!((output.code, output.stdout.len()), (Some(1), 0), "step {number}: {output}");
                let reset = sandbox.ckpt("reset --json");
                assert_eq!(reset.code, Some(1), "step {number}: {reset}");
                let code = reset.json()["error"]["code"].as_str().unwrap().to_owned();
                assert!(["nothing-saved", "beyond-lineage"].contains(&code.as_str()), "step {number}: {reset}");
            }
            assert_same(&old, &sandbox.tree());
            sandbox.save("again");
        });
    }
}

#[test]
fn an_error_at_any_step_of_a_later_save_keeps_the_first_l11_l30() {
    let (old, new) = both();
    at_each_step("enospc", &second_save, 1, &|number, sandbox, output| {
        assert!(matches!(output.code, Some(0 | 1)), "step {number}: {output}");
        assert_same(&new, &sandbox.tree());
        let count = sandbox.git_in_store(&["rev-list", "--count", "--first-parent", "timeline"]);
        assert_eq!(count.trim(), if output.code == Some(0) { "3" } else { "2" }, "step {number}: {output}");
        assert_both_come_back(&old, &new, sandbox, number);
    });
}

#[test]
fn an_error_at_any_step_of_a_reset_loses_nothing_l35() {
    let (old, new) = both();
    for action in ["enospc", "eio"] {
        at_each_step(action, &reset, 1, &|number, sandbox, output| {
            assert!(matches!(output.code, Some(0 | 1 | 3)), "step {number}: {output}");
            assert_nothing_lost(&new, sandbox, &format!("step {number}: {output}"));
            let now = sandbox.tree();
            if output.code == Some(0) {
                assert_eq!(old.differences(&now), "", "step {number}: {output}");
            }
            let _ = sandbox.ckpt("status");
            let _ = sandbox.ckpt("reset HEAD").ok();
            assert_eq!(old.differences(&sandbox.tree()), "", "step {number}: {output}");
        });
    }
}

#[test]
fn a_store_that_cannot_be_written_stops_a_reset_before_the_first_write_l35() {
    let Some(sandbox) = Sandbox::unprivileged() else { return };
    let words = reset(&sandbox);
    let before = Tree::with_identity(&sandbox.w());
    let packs = sandbox.store().join("objects/pack");
    for dir in [packs.clone(), sandbox.store().join("ckpt"), sandbox.store().join("refs/heads")] {
        let set = |mode| std::fs::set_permissions(&dir, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        set(0o500);
        let output = sandbox.ckpt(&format!("{words} --json"));
        let _ = output.fails_with("permission-denied");
        assert_same(&before, &Tree::with_identity(&sandbox.w()));
        set(0o700);
    }
    let _ = sandbox.ckpt(&words).ok();
    assert_eq!(sandbox.text("a"), "old a");
}

#[test]
fn a_full_disk_names_the_path_and_the_disk_l35() {
    let (in_workspace, in_store) = (Cell::new(0), Cell::new(0));
    at_each_step("enospc", &reset, 1, &|number, sandbox, output| {
        let err = output.err();
        // What an earlier command could not remove, the next one that writes does.
        let sweep = || sandbox.ckpt("save").ok();
        if output.code != Some(1) {
            let _ = sweep();
            return;
        }
        assert!(err.contains("No space left on device"), "step {number}: it is about something else: {err}");
        let (message, hint) = (err.lines().next().unwrap(), err.lines().last().unwrap());
        // What is said about the files is so.
        let is_pending = sandbox.store().join("ckpt/journal").exists();
        assert_eq!(hint.contains("ckpt status"), is_pending, "step {number}: {err}");
        let is_in = |dir: &Path| message.contains(&format!(" {}", dir.display()));
        let (count, dir) = if is_in(&sandbox.w()) {
            assert!(!hint.contains("--checkpoint-dir"), "step {number}: {err}");
            (&in_workspace, sandbox.w())
        } else {
            assert!(is_in(&sandbox.checkpoint_dir()), "step {number}: {err}");
            // Elsewhere nobody could finish what was begun.
            assert_eq!(hint.contains("--checkpoint-dir"), !is_pending, "step {number}: {err}");
            (&in_store, sandbox.checkpoint_dir())
        };
        assert!(hint.contains(&format!("df -h {}", dir.display())), "step {number}: {err}");
        count.set(count.get() + 1);
        let _ = sweep();
    });
    assert!(in_workspace.get() > 3 && in_store.get() > 3, "{} and {}", in_workspace.get(), in_store.get());
}
