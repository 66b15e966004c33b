//! Kinds and modes: links, hard links, executables, directories, and each turned into each other.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};

use crate::sandbox::{Sandbox, Tree, assert_same, is_root, skip};

#[test]
fn every_byte_value_comes_back_l33() {
    let sandbox = Sandbox::new();
    let bytes: Vec<u8> = (0..=255).collect();
    sandbox.write("bytes", &bytes);
    let id = sandbox.save("bytes");
    sandbox.write("bytes", "edited");
    let _ = sandbox.ckpt(&format!("rollback {id} bytes")).ok();
    assert_eq!(sandbox.read("bytes"), bytes);
    assert!(sandbox.is_held("edited"));
}

#[test]
fn a_link_comes_back_and_its_target_stays_l34() {
    let sandbox = Sandbox::new();
    sandbox.write("shared/real", "real");
    sandbox.write("shared/other", "other");
    sandbox.link("cfg", "shared/real");
    let id = sandbox.save("link");
    sandbox.remove("cfg");
    sandbox.link("cfg", "shared/other");
    let identity = Tree::with_identity(&sandbox.at("shared"));
    let _ = sandbox.ckpt(&format!("reset {id}")).ok();
    assert_eq!(fs::read_link(sandbox.at("cfg")).unwrap().to_str(), Some("shared/real"));
    assert_same(&identity, &Tree::with_identity(&sandbox.at("shared")));
}

#[test]
fn links_are_kept_as_links_and_not_walked_c6_c40() {
    let sandbox = Sandbox::new();
    let outside = sandbox.root().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("private"), "not ours").unwrap();
    sandbox.git(&outside, &["init", "-q"]);
    sandbox.write("a", "1");
    sandbox.link("repository", &outside);
    sandbox.link("up", "..");
    sandbox.link("self", ".");
    sandbox.link("dangling", "no/such/thing");
    sandbox.link("absolute", "/etc/passwd");
    sandbox.link("loop", "loop");
    let before = sandbox.tree();
    let outside_before = Tree::with_identity(&outside);
    let id = sandbox.save("links");
    assert_eq!(sandbox.paths_in(&id), ["a", "absolute", "dangling", "loop", "repository", "self", "up"]);
    for name in ["repository", "up", "self", "dangling", "absolute", "loop"] {
        sandbox.remove(name);
        sandbox.write(name, "a file now");
    }
    let _ = sandbox.ckpt(&format!("reset {id}")).ok();
    assert_same(&before, &sandbox.tree());
    assert_same(&outside_before, &Tree::with_identity(&outside));
}

const KINDS: [&str; 7] = ["absent", "file", "executable", "link", "empty", "directory", "private"];

fn make(sandbox: &Sandbox, path: &str, kind: &str) {
    if sandbox.has(path) {
        sandbox.remove(path);
    }
    match kind {
        "absent" => {}
        "link" => sandbox.link(path, "target"),
        "empty" => sandbox.mkdir(path),
        "directory" => {
            sandbox.write(format!("{path}/x"), "in a directory");
            sandbox.write(format!("{path}/sub/y"), "further down");
        }
        kind => {
            sandbox.write(path, format!("I am {kind}"));
            let mode = match kind {
                "executable" => 0o755,
                "private" => 0o600,
                _ => 0o644,
            };
            sandbox.mode(path, mode);
        }
    }
}

#[test]
fn every_kind_turns_into_every_other_c41() {
    let sandbox = Sandbox::new();
    let pairs = || KINDS.iter().flat_map(|from| KINDS.iter().map(move |to| (*from, *to)));
    for (from, to) in pairs() {
        make(&sandbox, &format!("{from}-{to}"), from);
    }
    let old = sandbox.tree();
    let first = sandbox.save("from");
    for (from, to) in pairs() {
        make(&sandbox, &format!("{from}-{to}"), to);
    }
    let new = sandbox.tree();
    let second = sandbox.save("to");
    let _ = sandbox.ckpt(&format!("reset {first}")).ok();
    assert_same(&old, &sandbox.tree());
    assert!(sandbox.is_clean());
    let _ = sandbox.ckpt(&format!("reset {second}")).ok();
    assert_same(&new, &sandbox.tree());
    let _ = sandbox.ckpt("undo").ok();
    assert_same(&old, &sandbox.tree());
    let _ = sandbox.ckpt("redo").ok();
    assert_same(&new, &sandbox.tree());
    for (from, to) in pairs() {
        let output = sandbox.ckpt(&format!("rollback {first} {from}-{to}"));
        if (from, to) == ("absent", "absent") {
            let _ = output.exits(1);
        } else {
            let _ = output.ok();
        }
    }
    assert_same(&old, &sandbox.tree());
}

#[test]
fn modes_and_empty_directories_come_back_whatever_the_umask_c42() {
    let sandbox = Sandbox::new();
    for (path, mode) in [("private", 0o600), ("readonly", 0o444), ("shared", 0o775), ("all", 0o777), ("plain", 0o644)] {
        sandbox.write(path, path);
        sandbox.mode(path, mode);
    }
    sandbox.mkdir("d700/inner");
    sandbox.mode("d700", 0o700);
    sandbox.mode("d700/inner", 0o775);
    let before = sandbox.tree();
    let id = sandbox.save("modes");
    for path in before.paths().iter().filter(|path| !path.contains('/')) {
        sandbox.remove(path);
    }
    let umask = ["sh", "-c", "umask 077; exec \"$0\" \"$@\""];
    let _ = sandbox.call(["reset", &id]).through(umask).run().ok();
    assert_same(&before, &sandbox.tree());
    assert!(sandbox.is_clean());
}

#[test]
fn chmod_alone_is_a_change_c42() {
    let sandbox = Sandbox::new();
    sandbox.write("f", "x");
    sandbox.mode("f", 0o644);
    sandbox.mkdir("d");
    let first = sandbox.save("first");
    sandbox.mode("f", 0o600);
    sandbox.mode("d", 0o700);
    let status = sandbox.ckpt("status --exit-code").exits(4);
    let expected = ["mode      d/ (0755 -> 0700)", "mode      f (0644 -> 0600)"];
    assert_eq!(status.out().lines().collect::<Vec<_>>(), expected, "{status}");
    let second = sandbox.save("second");
    assert_ne!(first, second);
    let _ = sandbox.ckpt(&format!("reset {first}")).ok();
    assert_eq!(sandbox.at("f").metadata().unwrap().mode() & 0o777, 0o644);
    assert_eq!(sandbox.at("d").metadata().unwrap().mode() & 0o777, 0o755);
    let _ = sandbox.ckpt(&format!("reset {second}")).ok();
    assert_eq!(sandbox.at("f").metadata().unwrap().mode() & 0o777, 0o600);
}

#[test]
fn other_names_of_a_file_are_not_touched_c45() {
    let sandbox = Sandbox::new();
    let other = sandbox.root().join("store-of-pnpm");
    for (name, mode) in [("content", 0o644), ("mode", 0o644)] {
        sandbox.write(name, "one");
        sandbox.mode(name, mode);
    }
    let id = sandbox.save("first");
    sandbox.write("content", "two");
    sandbox.mode("mode", 0o600);
    fs::create_dir(&other).unwrap();
    for name in ["content", "mode"] {
        fs::hard_link(sandbox.at(name), other.join(name)).unwrap();
    }
    let before = Tree::with_identity(&other);
    let _ = sandbox.ckpt(&format!("reset {id}")).ok();
    assert_eq!(sandbox.text("content"), "one");
    assert_eq!(sandbox.at("mode").metadata().unwrap().mode() & 0o777, 0o644);
    assert_same(&before, &Tree::with_identity(&other));
}

#[test]
fn restored_files_keep_their_owner_c47() {
    if !is_root() {
        return skip("only root can restore another user's files");
    }
    let sandbox = Sandbox::new();
    sandbox.write("d/f", "one");
    sandbox.write("d/gone", "one");
    for path in ["", "d", "d/f", "d/gone"] {
        chown(sandbox.at(path), Some(1234), Some(1234)).unwrap();
    }
    let id = sandbox.save("first");
    sandbox.write("d/f", "two");
    sandbox.remove("d/gone");
    let _ = sandbox.ckpt(&format!("reset {id}")).ok();
    let owner = |path: &str| sandbox.at(path).metadata().unwrap().uid();
    assert_eq!((sandbox.text("d/f"), owner("d/f"), owner("d")), ("one".to_owned(), 1234, 1234));
    assert_eq!(owner("d/gone"), 1234, "a new file belongs to its directory's owner");
}
