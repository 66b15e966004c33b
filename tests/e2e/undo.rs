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
