//! What cannot be read or saved: named, left alone, never taken for a deletion.

use std::os::unix::net::UnixListener;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::sandbox::{Sandbox, assert_same, is_root};

#[test]
fn save_keeps_unreadable_files_and_directories_c7_l9() {
    let Some(sandbox) = Sandbox::unprivileged() else { return };
    sandbox.write("x", "saved x");
    sandbox.write("d/f", "saved f");
    sandbox.write("d/sub/g", "saved g");
    sandbox.write("a", "1");
    let first = sandbox.save("readable");
    sandbox.write("new", "never read");
    for path in ["x", "d", "new"] {
        sandbox.mode(path, 0);
    }
    sandbox.write("a", "2");
    let output = sandbox.ckpt("save").exits(3).says("unreadable").says("new");
    let second = output.id();
    assert_eq!(sandbox.paths_in(&second), ["a", "d", "d/f", "d/sub", "d/sub/g", "x"]);
    assert_eq!(sandbox.text_in(&second, "a"), "2");
    assert_eq!(sandbox.text_in(&second, "x"), "saved x");
    let status = sandbox.ckpt("status").keeps_quiet_about("deleted");
    assert!(status.all().contains("unreadable"), "{status}");
    let before = sandbox.tree().without("a");
    let output = sandbox.ckpt(&format!("reset {first}"));
    assert_eq!(sandbox.text("a"), "1", "{output}");
    assert_same(&before, &sandbox.tree().without("a"));
    for (path, mode) in [("x", 0o644), ("d", 0o755), ("new", 0o644)] {
        sandbox.mode(path, mode);
    }
    assert_eq!((sandbox.text("x"), sandbox.text("d/f")), ("saved x".to_owned(), "saved f".to_owned()));
    assert_eq!(sandbox.text("new"), "never read");
}

#[test]
fn a_workspace_of_unreadable_files_is_an_error_c9() {
    let Some(sandbox) = Sandbox::unprivileged() else { return };
    sandbox.write("a", "1");
    sandbox.write("d/b", "2");
    let first = sandbox.save("readable");
    sandbox.mode("a", 0);
    sandbox.mode("d", 0);
    let _ = sandbox.ckpt("save --json").fails_with("nothing-readable");
    assert_eq!(sandbox.git_in_store(&["rev-parse", "timeline^2"]).trim(), first);
    sandbox.mode("d", 0o755);
}

#[test]
fn special_files_are_left_out_and_never_opened_s8_l9() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.fifo("fifo");
    let _socket = UnixListener::bind(sandbox.at("socket")).unwrap();
    if is_root() {
        let mode = Mode::from_raw_mode(0o600);
        mknodat(CWD, sandbox.at("device"), FileType::CharacterDevice, mode, rustix::fs::makedev(1, 3)).unwrap();
    }
    let output = sandbox.ckpt("save").ok().says("fifo").says("socket").says("special");
    let id = output.id();
    assert_eq!(sandbox.paths_in(&id), ["a"]);
    sandbox.write("a", "2");
    let before = sandbox.tree().without("a");
    let _ = sandbox.ckpt(&format!("reset {id}")).ok();
    assert_eq!(sandbox.text("a"), "1");
    assert_same(&before, &sandbox.tree().without("a"));
}

#[test]
fn reset_leaves_what_it_cannot_hold_l38() {
    let Some(sandbox) = Sandbox::unprivileged() else { return };
    for path in ["unreadable", "fifo", "repository", "plain", "deep/er/fifo"] {
        sandbox.write(path, format!("saved {path}"));
    }
    let id = sandbox.save("files");
    sandbox.write("unreadable", "edited and closed");
    sandbox.mode("unreadable", 0);
    for path in ["fifo", "repository", "deep/er/fifo"] {
        sandbox.remove(path);
    }
    sandbox.write("repository/.git/HEAD", "ref: refs/heads/main\n");
    sandbox.write("repository/inner", "inner");
    sandbox.fifo("fifo");
    sandbox.fifo("deep/er/fifo");
    sandbox.write("plain", "edited");
    let before = sandbox.tree().without("plain");
    let plan = sandbox.ckpt(&format!("reset {id} --dry-run"));
    for word in ["unreadable", "fifo", "repository"] {
        assert!(plan.all().contains(word), "{word}: {plan}");
    }
    let output = sandbox.ckpt(&format!("reset {id}")).exits(3).says("FIFO").says("cannot be read").says("holds a .git");
    assert_eq!(sandbox.text("plain"), "saved plain", "{output}");
    let after = sandbox.tree().without("plain");
    assert_eq!(before.differences(&after), "", "{output}");
    sandbox.mode("unreadable", 0o644);
    assert_eq!(sandbox.text("unreadable"), "edited and closed");
}

#[test]
fn a_read_only_directory_is_never_left_half_done_l24() {
    let Some(sandbox) = Sandbox::unprivileged() else { return };
    sandbox.write("d/f", "one");
    sandbox.write("d/g", "one");
    sandbox.write("other", "one");
    let id = sandbox.save("first");
    sandbox.write("d/f", "two");
    sandbox.write("d/new", "new");
    sandbox.remove("d/g");
    sandbox.write("other", "two");
    sandbox.mode("d", 0o555);
    let output = sandbox.ckpt(&format!("reset {id}"));
    assert_eq!(sandbox.text("other"), "one", "{output}");
    match output.code {
        Some(0) => assert_eq!(sandbox.tree().paths(), ["d", "d/f", "d/g", "other"], "{output}"),
        Some(3) => {
            assert_eq!(sandbox.text("d/f"), "two", "{output}");
            assert_eq!(sandbox.text("d/new"), "new", "{output}");
            assert!(output.all().contains("cannot be written"), "{output}");
            sandbox.mode("d", 0o755);
            let _ = sandbox.ckpt(&format!("reset {id}")).ok();
        }
        _ => panic!("{output}"),
    }
    assert_eq!(sandbox.text("d/f"), "one");
    assert!(sandbox.is_held("two") && sandbox.is_held("new"));
}

#[test]
fn a_restore_needs_nothing_readable() {
    let Some(sandbox) = Sandbox::unprivileged() else { return };
    let empty = sandbox.save("empty");
    sandbox.write("a", "work");
    sandbox.write("secret", "s");
    sandbox.mode("secret", 0o000);
    let _ = sandbox.ckpt(&format!("reset {empty}"));
    assert!(!sandbox.has("a"));
    let _ = sandbox.ckpt("undo").exits(0);
    assert_eq!(sandbox.text("a"), "work");
    sandbox.mode("secret", 0o600);
}

#[test]
fn below_a_directory_that_cannot_be_searched_nothing_is_called_absent() {
    for mode in [0o300, 0o000] {
        let Some(sandbox) = Sandbox::unprivileged() else { return };
        sandbox.write("d/a", "1");
        sandbox.write("b", "1");
        let first = sandbox.save("first");
        sandbox.write("d/a", "2");
        sandbox.write("b", "2");
        sandbox.save("second");
        let _ = sandbox.ckpt(&format!("reset {first}")).ok();
        sandbox.write("d/a", "mine");
        sandbox.write(".gitignore", "d\n");
        sandbox.mode("d", mode);
        let plan = sandbox.ckpt("undo --dry-run --json");
        let done = sandbox.ckpt("undo --json");
        sandbox.mode("d", 0o755);
        assert_eq!((sandbox.text("b"), sandbox.has("d/a")), ("2".to_owned(), true), "{done}");
        let is_named = |json: serde_json::Value, list: &str| json[list].to_string().contains("d/a");
        let is_conflict = |json: serde_json::Value| json["conflicts"].to_string().contains("\"d");
        assert_eq!(plan.code, done.code, "{plan}{done}");
        assert_eq!(is_conflict(plan.json()), is_conflict(done.json()), "{plan}{done}");
        let stands = sandbox.text("d/a") == "mine";
        assert!(stands || sandbox.is_held("mine"), "{done}");
        assert!(!is_named(done.json(), "edited_since") || sandbox.is_held("mine"), "{done}");
    }
}
