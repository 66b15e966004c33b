//! `rollback`: some paths as they were, the others left alone.

use std::fs;

use crate::sandbox::{Sandbox, Tree, assert_same};

#[test]
fn rollback_touches_the_named_paths_alone_l43() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one");
    sandbox.write("b", "one");
    let id = sandbox.save("first");
    sandbox.write("a", "two");
    sandbox.write("b", "two");
    let b = Tree::with_identity(&sandbox.w()).only("b");
    let _ = sandbox.ckpt(&format!("rollback {id} a")).ok().says("ckpt undo");
    assert_eq!(sandbox.text("a"), "one");
    let _ = sandbox.ckpt("undo").ok();
    assert_eq!(sandbox.text("a"), "two");
    assert_same(&b, &Tree::with_identity(&sandbox.w()).only("b"));
}

#[test]
fn rollback_keeps_head_and_shows_the_paths_as_modified() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one");
    let first = sandbox.save("first");
    sandbox.write("a", "two");
    sandbox.write("d/new", "two");
    sandbox.save("second");
    let _ = sandbox.ckpt(&format!("rollback {first} a d")).ok();
    assert_eq!(sandbox.tree().paths(), ["a"]);
    let status = sandbox.ckpt("status --exit-code").exits(4);
    assert_eq!(status.out().lines().collect::<Vec<_>>(), ["modified  a", "deleted   d/new"], "{status}");
    let _ = sandbox.ckpt("reset").ok();
    assert_eq!((sandbox.text("a"), sandbox.text("d/new")), ("two".to_owned(), "two".to_owned()));
}

#[test]
fn rollback_takes_directories_and_what_is_below_them() {
    let sandbox = Sandbox::new();
    sandbox.write("d/keep", "one");
    sandbox.write("d/sub/f", "one");
    sandbox.write("e/f", "one");
    let before = sandbox.tree();
    let id = sandbox.save("first");
    sandbox.remove("d");
    sandbox.write("d", "a file now");
    sandbox.write("e/f", "two");
    let _ = sandbox.ckpt(&format!("rollback {id} d")).ok();
    assert_same(&before.clone().only("d"), &sandbox.tree().only("d"));
    assert_eq!(sandbox.text("e/f"), "two");
    let _ = sandbox.ckpt(&format!("rollback {id} .")).ok();
    assert_same(&before, &sandbox.tree());
}

#[test]
fn a_path_means_one_thing_however_it_is_written_c13() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one");
    sandbox.write("sub/b", "one");
    let id = sandbox.save("first");
    let link = sandbox.root().join("link");
    std::os::unix::fs::symlink(sandbox.w(), &link).unwrap();
    let absolute = sandbox.at("a");
    let through_link = link.join("a");
    let spellings: [(&str, &str); 7] = [
        ("sub", "../a"),
        ("", "a"),
        ("", "./a"),
        ("", "sub/../a"),
        ("sub", "./..//a"),
        ("sub", absolute.to_str().unwrap()),
        ("", through_link.to_str().unwrap()),
    ];
    for (dir, path) in spellings {
        sandbox.write("a", "two");
        let output = sandbox.call(["rollback", &id, path]).dir(dir).run().ok();
        assert_eq!(sandbox.text("a"), "one", "{path} in {dir}: {output}");
    }
    // With -w a path is relative to the workspace.
    sandbox.write("a", "two");
    let w = sandbox.w();
    let _ = sandbox.call(["rollback", &id, "a", "-w"]).arg(&w).dir("sub").run().ok();
    assert_eq!(sandbox.text("a"), "one");
    let _ = sandbox.call(["rollback", &id, "a", "--json"]).dir("sub").run().fails_with("unknown-path");
}

#[test]
fn paths_outside_are_refused_s1_c13() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one");
    sandbox.link("way-out", sandbox.root());
    let outside = sandbox.root().join("outside");
    fs::write(&outside, "not ours").unwrap();
    let id = sandbox.save("first");
    let absolute = outside.to_str().unwrap().to_owned();
    for path in ["../../etc/x", "../outside", &absolute, "/etc/passwd", "..", "sub/../../outside", "way-out/outside"] {
        let output = sandbox.call(["rollback", &id, path, "--json"]).run();
        assert!(matches!(output.code, Some(1 | 2)), "{path}: {output}");
        let code = output.json()["error"]["code"].as_str().unwrap().to_owned();
        assert!(code == "outside-worktree" || (path.starts_with("way") && code == "unknown-path"), "{path}: {output}");
    }
    let _ = sandbox.call(["rollback", &id, ".git/config", "--json"]).run().fails_with("dot-git");
    assert_eq!(fs::read_to_string(&outside).unwrap(), "not ours");
}

#[test]
fn a_missing_object_is_no_deletion_l12() {
    let sandbox = Sandbox::new();
    sandbox.expect_damage();
    sandbox.write("a", "the object of a");
    sandbox.write("b", "the object of b");
    let id = sandbox.save("first");
    sandbox.write("a", "two");
    sandbox.save("second");
    let store = sandbox.store();
    crate::damage::unpack(&store);
    crate::damage::remove_loose(&store, sandbox.git_in_store(&["rev-parse", &format!("{id}:a")]).trim());
    for words in ["rollback ID a --json", "reset ID --json"] {
        let output = sandbox.ckpt(&words.replace("ID", &id));
        let _ = output.fails_with("missing-object");
        assert_eq!(sandbox.text("a"), "two");
        assert_eq!(sandbox.text("b"), "the object of b");
    }
    let _ = sandbox.ckpt(&format!("rollback {id} a")).exits(1).says("missing");
}

#[test]
fn unknown_paths_are_an_error_and_nothing_is_written() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one");
    let id = sandbox.save("first");
    sandbox.write("a", "two");
    let _ = sandbox.call(["rollback", &id, "a", "no-such", "--json"]).run().fails_with("unknown-path");
    assert_eq!(sandbox.text("a"), "two");
    let _ = sandbox.ckpt("rollback HEAD").exits(2);
}

#[test]
fn rollback_dry_run_writes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one");
    let id = sandbox.save("first");
    sandbox.write("a", "two");
    sandbox.write("b", "two");
    let objects = Tree::with_identity(&sandbox.store().join("objects"));
    let plan = sandbox.ckpt(&format!("rollback {id} a --dry-run")).ok().says("a");
    assert!(!plan.all().lines().any(|line| line.ends_with(" b")), "{plan}");
    assert_eq!(sandbox.text("a"), "two");
    assert_same(&objects, &Tree::with_identity(&sandbox.store().join("objects")));
}

#[test]
fn a_named_path_that_no_checkpoint_can_hold_is_named_as_left_alone() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let first = sandbox.save("without");
    sandbox.fifo("fifo");
    sandbox.save("second");
    for (to, word) in [("HEAD", "omitted-in-target"), (&first, "not-captured")] {
        for words in ["--dry-run", "--json --dry-run", "", "--json"] {
            let output = sandbox.ckpt(&format!("rollback {to} fifo a {words}")).ok();
            let _ = output.says("fifo").says(word);
        }
    }
    assert!(sandbox.has("fifo"));
}
