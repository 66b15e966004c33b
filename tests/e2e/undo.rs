//! `undo` and `redo`: restores taken back, saves never.

use crate::sandbox::{Sandbox, assert_same};

#[test]
fn nothing_to_undo_leaves_edits_alone_l20() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one");
    sandbox.save("first");
    sandbox.write("a", "edited");
    for words in ["undo --json", "redo --json"] {
        let output = sandbox.ckpt(words);
        assert!(output.json().to_string().contains("nothing-to"), "{output}");
        assert_eq!(sandbox.text("a"), "edited");
    }
    sandbox.save("second");
    let _ = sandbox.ckpt("undo").says("nothing");
    assert_eq!(sandbox.text("a"), "edited");
}

#[test]
fn an_edit_comes_back_with_its_mode_l22() {
    let sandbox = Sandbox::new();
    sandbox.write("f", "one");
    let id = sandbox.save("first");
    sandbox.write("f", [0, 159, 146, 150, b'\r', b'\n']);
    sandbox.mode("f", 0o751);
    let edited = sandbox.tree();
    let _ = sandbox.ckpt(&format!("reset {id}")).ok();
    assert_eq!(sandbox.text("f"), "one");
    let _ = sandbox.ckpt("undo").ok();
    assert_same(&edited, &sandbox.tree());
}

#[test]
fn only_what_the_reset_changed_is_taken_back_l42() {
    let sandbox = Sandbox::new();
    for path in ["x", "y", "z"] {
        sandbox.write(path, "one");
    }
    let first = sandbox.save("first");
    sandbox.write("y", "two");
    sandbox.write("z", "two");
    let _ = sandbox.ckpt(&format!("reset {first}")).ok();
    sandbox.write("x", "edited after the reset");
    sandbox.write("z", "edited over the reset");
    let second = sandbox.save("second");
    let output = sandbox.ckpt("undo").ok().says("z");
    assert_eq!(sandbox.text("x"), "edited after the reset", "{output}");
    assert_eq!((sandbox.text("y"), sandbox.text("z")), ("two".to_owned(), "two".to_owned()), "{output}");
    assert_eq!(sandbox.text_in(&second, "z"), "edited over the reset");
    assert!(sandbox.is_held("edited over the reset"));
    let _ = sandbox.ckpt(&format!("reset {second}")).ok();
    assert_eq!(sandbox.text("z"), "edited over the reset");
}

/// One step of a table: a command or an edit, and the content of `f` afterwards.
type Steps = &'static [(&'static str, &'static str)];

/// The eight sequences of the guide. `C1` and `C2` are checkpoints with `one` and `two` in `f`, head is `C2`.
const SEQUENCES: [(&str, Steps); 8] = [
    ("reset, undo", &[("reset C1", "one"), ("undo", "two")]),
    ("reset, undo, redo", &[("reset C1", "one"), ("undo", "two"), ("redo", "one")]),
    ("reset, edit, save, undo", &[("reset C1", "one"), ("edit three", "three"), ("save", "three"), ("undo", "two")]),
    ("rollback, undo", &[("rollback C1 f", "one"), ("undo", "two"), ("redo", "one"), ("undo", "two")]),
    (
        "undo, undo, redo: two back, never to and fro",
        &[
            ("reset C1", "one"),
            ("rollback C2 f", "two"),
            ("undo", "one"),
            ("undo", "two"),
            ("redo", "one"),
            ("redo", "two"),
        ],
    ),
    ("undo on a dirty tree", &[("reset C1", "one"), ("edit dirty", "dirty"), ("undo", "two"), ("redo", "one")]),
    (
        "a save ends redo",
        &[("reset C1", "one"), ("undo", "two"), ("edit three", "three"), ("save", "three"), ("redo fails", "three")],
    ),
    (
        "a new reset ends redo",
        &[("reset C1", "one"), ("undo", "two"), ("reset C1", "one"), ("redo fails", "one"), ("undo", "two")],
    ),
];

#[test]
fn eight_sequences_do_what_the_guide_says() {
    for (name, steps) in SEQUENCES {
        let sandbox = Sandbox::new();
        sandbox.write("f", "one");
        let first = sandbox.save("one");
        sandbox.write("f", "two");
        let second = sandbox.save("two");
        for (step, expected) in steps {
            if let Some(content) = step.strip_prefix("edit ") {
                sandbox.write("f", content);
            } else if let Some(words) = step.strip_suffix(" fails") {
                let output = sandbox.ckpt(words);
                assert_ne!(output.code, Some(0), "{name}: {output}");
            } else {
                let _ = sandbox.ckpt(&step.replace("C1", &first).replace("C2", &second)).ok();
            }
            assert_eq!(sandbox.text("f"), *expected, "{name}: after {step}");
        }
        assert!(!steps.iter().any(|(step, _)| *step == "edit dirty") || sandbox.is_held("dirty"), "{name}");
    }
}

#[test]
fn undo_dry_run_writes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("f", "one");
    sandbox.write("g", "one");
    let id = sandbox.save("one");
    sandbox.write("f", "two");
    let _ = sandbox.ckpt(&format!("reset {id}")).ok();
    let tip = sandbox.git_in_store(&["rev-parse", "timeline"]);
    let _ = sandbox.ckpt("undo --dry-run").ok().says("f");
    assert_eq!(sandbox.text("f"), "one");
    assert_eq!(tip, sandbox.git_in_store(&["rev-parse", "timeline"]));
}

/// Undo of a restore in which `path` was added and `rule` came in between: the path goes again, and nothing is named
/// that nobody edited.
fn undo_of_an_addition_that_is_ignored_now(rules: &str, rule: &str, path: &str, restore: &str) {
    let sandbox = Sandbox::new();
    sandbox.write(path, "hello");
    sandbox.write("other", "other");
    sandbox.save("first");
    sandbox.write(rules, rule);
    let top = path.split('/').next().unwrap();
    sandbox.remove(top);
    let before = sandbox.tree();
    let _ = sandbox.ckpt(restore).ok();
    let after = sandbox.tree();
    assert_eq!(sandbox.text(path), "hello");
    let undone = sandbox.ckpt("undo --json").ok();
    let what = format!("{rules} with {rule:?}, {restore}: {undone}");
    assert_eq!(before.differences(&sandbox.tree()), "", "{what}");
    let receipt = undone.json();
    assert_eq!(receipt["edited_since"].as_array().map(Vec::len), Some(0), "{what}");
    assert_eq!(receipt["changes"].as_array().map(|changes| !changes.is_empty()), Some(true), "{what}");
    let redone = sandbox.ckpt("redo --json").ok();
    assert_eq!(after.differences(&sandbox.tree()), "", "{what}\n{redone}");
    assert_eq!(redone.json()["edited_since"].as_array().map(Vec::len), Some(0), "{redone}");
    let _ = sandbox.ckpt("undo").ok();
    assert_eq!(before.differences(&sandbox.tree()), "", "{what}");
}

#[test]
fn what_a_restore_added_goes_whatever_the_rules_say_now() {
    for rules in [".gitignore", ".ckptignore"] {
        for (rule, path, restore) in [
            ("/c\n", "c", "rollback HEAD c"),
            ("/c\n", "c", "reset"),
            ("*\n", "d/e/c", "rollback HEAD d"),
            ("*\n", "d/e/c", "reset"),
            ("d/\n", "d/e/c", "reset"),
        ] {
            undo_of_an_addition_that_is_ignored_now(rules, rule, path, restore);
        }
    }
}

#[test]
fn redo_takes_away_again_what_is_too_large_now() {
    let sandbox = Sandbox::new();
    sandbox.write("other", "other");
    let first = sandbox.save("first");
    sandbox.write("large", "0123456789");
    let _ = sandbox.ckpt(&format!("rollback {first} large")).ok();
    let _ = sandbox.ckpt("undo").ok();
    assert_eq!(sandbox.text("large"), "0123456789");
    let redone = sandbox.call(["redo"]).config("MAX_FILE_BYTES", "5").run().ok();
    assert!(!sandbox.has("large"), "{redone}");
    let _ = sandbox.ckpt("undo").ok();
    assert_eq!(sandbox.text("large"), "0123456789");
}

#[test]
fn only_what_was_edited_is_called_edited() {
    let sandbox = Sandbox::new();
    sandbox.write("c", "1");
    sandbox.save("first");
    sandbox.write(".gitignore", "*\n");
    sandbox.write("c", "2");
    let _ = sandbox.ckpt("reset").ok();
    assert_eq!(sandbox.text("c"), "1");
    let undone = sandbox.ckpt("undo --json").ok();
    assert_eq!(sandbox.text("c"), "2", "{undone}");
    assert_eq!(undone.json()["edited_since"].as_array().map(Vec::len), Some(0), "{undone}");
}

#[test]
fn a_path_that_is_as_wanted_is_not_called_edited() {
    let sandbox = Sandbox::new();
    for content in ["1", "2", "3", "4"] {
        sandbox.write("a", content);
        sandbox.save(content);
    }
    let _ = sandbox.ckpt("reset HEAD~3").ok();
    sandbox.write("a", "edited");
    let _ = sandbox.ckpt("reset HEAD").ok();
    let _ = sandbox.ckpt("undo").ok();
    assert_eq!(sandbox.text("a"), "edited");
    let undone = sandbox.ckpt("undo --json").ok();
    assert_eq!(undone.json()["edited_since"].as_array().map(Vec::len), Some(1), "{undone}");
    for _ in 0..2 {
        let redone = sandbox.ckpt("redo --json").ok();
        assert_eq!(sandbox.text("a"), "1");
        assert_eq!(redone.json()["edited_since"].as_array().map(Vec::len), Some(0), "{redone}");
    }
}

#[test]
fn what_replaced_an_addition_and_cannot_be_held_is_named_and_stays() {
    let sandbox = Sandbox::new();
    sandbox.write("c", "hello");
    sandbox.save("first");
    sandbox.remove("c");
    let _ = sandbox.ckpt("reset").ok();
    sandbox.remove("c");
    sandbox.fifo("c");
    let undone = sandbox.ckpt("undo --json").exits(3);
    assert!(undone.json()["conflicts"].to_string().contains("special"), "{undone}");
    assert!(sandbox.has("c"), "{undone}");
    assert_eq!(undone.json()["edited_since"].as_array().map(Vec::len), Some(0), "{undone}");
}

#[test]
fn a_head_that_moves_past_saves_is_told() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let first = sandbox.save("C1");
    sandbox.write("a", "2");
    let second = sandbox.save("C2");
    for words in ["reset --dry-run", "reset"] {
        let reset = sandbox.ckpt(&format!("{words} {first}")).ok();
        let _ = reset.says("were saved after it").says("ckpt ls --all");
    }
    sandbox.write("b", "mine");
    sandbox.save("C3");
    let plan = sandbox.ckpt("undo --dry-run").ok();
    let _ = plan.says(&format!("head would be {} \"C2\"", &second[..12])).says("ckpt ls --all");
    let undone = sandbox.ckpt("undo").ok();
    let _ = undone.says(&format!("head is now {} \"C2\"", &second[..12])).says("ckpt ls --all");
    let plan = sandbox.ckpt("redo --dry-run").ok();
    let _ = plan.says(&format!("head would be {} \"C1\"", &first[..12])).says("ckpt ls --all");
    let redone = sandbox.ckpt("redo").ok();
    let _ = redone.says(&format!("head is now {} \"C1\"", &first[..12])).says("ckpt ls --all");
    // Forward again: nothing is left behind; and a rollback moves no head.
    let _ = sandbox.ckpt("undo").ok().says("head is now").keeps_quiet_about("ls --all");
    let _ = sandbox.ckpt(&format!("rollback {first} a")).ok().keeps_quiet_about("head is now");
    let _ = sandbox.ckpt("undo --dry-run").ok().keeps_quiet_about("head would be");
    let _ = sandbox.ckpt("undo").ok().keeps_quiet_about("head is now");
}
