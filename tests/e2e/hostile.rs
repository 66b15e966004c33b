//! Hostile stores, trees and surroundings: nothing runs, nothing outside is read or written.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::process::Command;

use rustix::fs::{Mode, OFlags, mkdirat, openat};

use crate::sandbox::{Forge, NOBODY, Sandbox, Tree, assert_same, is_root};

#[test]
fn a_prepared_store_runs_nothing_and_reads_nothing_outside_s4() {
    let sandbox = Sandbox::new();
    sandbox.expect_damage();
    sandbox.write("a", "one");
    let first = sandbox.save("first");
    let store = sandbox.store();
    let mark = sandbox.root().join("it-ran");
    let script = sandbox.root().join("trap");
    sandbox.trap(&script, &mark);
    for hook in ["reference-transaction", "post-commit", "post-update", "pre-auto-gc", "update"] {
        sandbox.trap(store.join("hooks").join(hook), &mark);
    }
    let victim = sandbox.root().join("victim");
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("a"), "not ours").unwrap();
    let foreign = sandbox.root().join("foreign");
    fs::create_dir(&foreign).unwrap();
    sandbox.git(&foreign, &["init", "-q", "--bare"]);
    let secret = Forge::in_store(&foreign).object("blob", b"secret of another repository");
    fs::create_dir_all(store.join("objects/info")).unwrap();
    fs::write(store.join("objects/info/alternates"), format!("{}\n", foreign.join("objects").display())).unwrap();
    let included = sandbox.root().join("included");
    let config = format!(
        "[core]\n\tworktree = {}\n\tfsmonitor = {1}\n\thooksPath = {2}\n\tpager = {1}\n[include]\n\tpath = {3}\n",
        victim.display(),
        script.display(),
        store.join("hooks").display(),
        included.display()
    );
    fs::write(&included, "[core]\n\tautocrlf = true\n\tattributesFile = /etc/passwd\n").unwrap();
    let own = fs::read_to_string(store.join("config")).unwrap();
    fs::write(store.join("config"), own + &config).unwrap();
    let before = Tree::with_identity(&victim);
    sandbox.write("a", "two\r\n");
    let second = sandbox.save("second");
    let _ = sandbox.ckpt("status").ok();
    let _ = sandbox.ckpt("diff HEAD~1").ok();
    let _ = sandbox.ckpt(&format!("reset {first}")).ok();
    assert_eq!(sandbox.text("a"), "one");
    let _ = sandbox.ckpt(&format!("reset {second}")).ok();
    assert_eq!(sandbox.text("a"), "two\r\n");
    assert_same(&before, &Tree::with_identity(&victim));
    assert!(!mark.exists(), "something ran");
    // A checkpoint whose content is only in the alternate cannot be restored from there.
    let forge = Forge::in_store(&store);
    let tree = forge.tree(&[("100644", b"stolen", &secret)]);
    let forged = forge.replace_newest(&tree);
    let _ = sandbox.ckpt(&format!("reset {forged} --json")).fails_with("damaged-object");
    assert!(!sandbox.has("stolen"));
}

#[test]
fn stores_that_are_not_ours_are_refused_s4() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one");
    sandbox.save("first");
    let store = sandbox.store();
    fs::remove_dir_all(&store).unwrap();
    fs::create_dir(&store).unwrap();
    sandbox.git(&store, &["init", "-q", "--bare"]);
    let before = Tree::with_identity(&store);
    for words in ["save --json", "ls --json", "reset --json", "status --json"] {
        let _ = sandbox.ckpt(words).fails_with("foreign-store");
    }
    assert_same(&before, &Tree::with_identity(&store));
    let _ = sandbox.ckpt("prune --yes").ok();
    assert_same(&before, &Tree::with_identity(&store));
    fs::remove_dir_all(&store).unwrap();
}

#[test]
fn stores_that_others_can_write_are_refused_s4() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one");
    sandbox.save("first");
    let store = sandbox.store();
    fs::set_permissions(&store, fs::Permissions::from_mode(0o777)).unwrap();
    let _ = sandbox.ckpt("save --json").fails_with("unsafe-store");
    let _ = sandbox.ckpt("reset --json").fails_with("unsafe-store");
    fs::set_permissions(&store, fs::Permissions::from_mode(0o700)).unwrap();
    if is_root() {
        chown(&store, Some(NOBODY), Some(NOBODY)).unwrap();
        let _ = sandbox.ckpt("save --json").fails_with("unsafe-store");
        chown(&store, Some(0), Some(0)).unwrap();
    }
    let _ = sandbox.ckpt("save").ok();
}

/// Forges a checkpoint with the tree that `make` writes; expects that no command restores it or writes anything.
fn expect_refused(what: &str, make: impl Fn(&Forge) -> String) {
    let sandbox = Sandbox::new();
    sandbox.expect_damage();
    sandbox.write("a", "one");
    sandbox.write("d/f", "one");
    sandbox.save("first");
    sandbox.write("a", "two");
    sandbox.save("second");
    let forge = Forge::in_store(&sandbox.store());
    let forged = forge.replace_newest(&make(&forge));
    sandbox.write("edited", "since");
    let before = Tree::with_identity(sandbox.root()).without("home");
    for words in [format!("reset {forged}"), "reset HEAD".to_owned(), format!("rollback {forged} .")] {
        let output = sandbox.ckpt(&words);
        assert_eq!(output.code, Some(1), "{what}: {output}");
        assert!(
            before.differences(&Tree::with_identity(sandbox.root()).without("home")).is_empty(),
            "{what}: {output}"
        );
        let json = sandbox.ckpt(&format!("{words} --json"));
        let code = json.json()["error"]["code"].as_str().unwrap().to_owned();
        assert!(["unsafe-tree", "damaged-object"].contains(&code.as_str()), "{what}: {json}");
    }
    // An honest checkpoint beside it still restores.
    let _ = sandbox.ckpt("reset HEAD~1").ok();
    assert_eq!(sandbox.text("a"), "one", "{what}");
}

#[test]
fn crafted_names_are_refused_before_the_first_write_s6() {
    let names: [&[u8]; 14] = [
        b"..",
        b".",
        b"",
        b"a/b",
        b".git",
        b".GIT",
        b".Git ",
        b"git~1",
        b".git.",
        b".git:stream",
        ".g\u{200c}it".as_bytes(),
        b"x\\..\\.git",
        b"../../etc/x",
        b"/etc/x",
    ];
    for name in names {
        expect_refused(&format!("{:?}", String::from_utf8_lossy(name)), |forge| {
            let blob = forge.object("blob", b"evil");
            forge.tree(&[("100644", name, &blob)])
        });
    }
}

#[test]
fn crafted_shapes_are_refused_before_the_first_write_s6() {
    expect_refused("two entries of one name", |forge| {
        let (one, two) = (forge.object("blob", b"one"), forge.object("blob", b"two"));
        forge.tree(&[("100644", b"x", &one), ("100644", b"x", &two)])
    });
    expect_refused("a file and a directory of one name", |forge| {
        let blob = forge.object("blob", b"one");
        let tree = forge.tree(&[("100644", b"f", &blob)]);
        forge.tree(&[("100644", b"x", &blob), ("40000", b"x", &tree)])
    });
    expect_refused("a link and a directory of one name", |forge| {
        let link = forge.object("blob", b"/tmp");
        let blob = forge.object("blob", b"one");
        let tree = forge.tree(&[("100644", b"f", &blob)]);
        forge.tree(&[("120000", b"x", &link), ("40000", b"x", &tree)])
    });
    expect_refused("a tree where a blob is named", |forge| {
        let tree = forge.tree(&[]);
        forge.tree(&[("100644", b"x", &tree)])
    });
    expect_refused("an entry of an unknown mode", |forge| {
        let blob = forge.object("blob", b"x");
        forge.tree(&[("170000", b"x", &blob)])
    });
    expect_refused("a submodule", |forge| forge.tree(&[("160000", b"x", &"1".repeat(40))]));
    expect_refused("half a tree", |forge| forge.object("tree", b"100644 x\0only ten"));
}

#[test]
fn crafted_links_are_refused_before_the_first_write_s6() {
    for target in [&b""[..], b"a\0b", &[b'x'; 5000]] {
        expect_refused(&format!("a link to {:?}", String::from_utf8_lossy(&target[..target.len().min(9)])), |forge| {
            let link = forge.object("blob", target);
            forge.tree(&[("120000", b"x", &link)])
        });
    }
}

#[test]
fn a_crafted_depth_is_refused_s6() {
    expect_refused("10,000 levels", |forge| {
        let blob = forge.object("blob", b"x");
        forge.nested(&blob, 10_000)
    });
}

#[test]
fn what_is_too_deep_to_restore_is_not_saved_s6() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let mut at = rustix::fs::open(sandbox.w(), OFlags::DIRECTORY, Mode::empty()).unwrap();
    for _ in 0..2100 {
        mkdirat(&at, "d", Mode::from_raw_mode(0o755)).unwrap();
        at = openat(&at, "d", OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    drop(at);
    let output = sandbox.ckpt("save").ok().says("too-deep");
    let id = output.id();
    sandbox.write("a", "2");
    let _ = sandbox.ckpt(&format!("reset {id}")).ok();
    assert_eq!(sandbox.text("a"), "1");
    let status = Command::new("rm").args(["-rf", "d"]).current_dir(sandbox.w()).status();
    assert!(status.unwrap().success());
    let _ = sandbox.ckpt(&format!("reset {id}")).ok();
    assert!(sandbox.has("d/d"), "what is not too deep comes back");
    let _ = sandbox.ckpt(&format!("show {id}")).ok();
    let status = Command::new("rm").args(["-rf", "d"]).current_dir(sandbox.w()).status();
    assert!(status.unwrap().success());
}

#[test]
fn content_that_fsck_dislikes_does_not_break_the_oracle_c46() {
    let sandbox = Sandbox::new();
    let odd = "[submodule \"../../x\"]\n\tpath = -x\n\turl = --upload-pack=touch\n\tupdate = !touch x\n[submodule \"y\"]\n\tpath = \0\n";
    sandbox.write(".gitmodules", odd);
    sandbox.write("sub/.gitmodules", "not [ a config");
    sandbox.write(".gitattributes", format!("{} text\n", "x".repeat(5000)));
    sandbox.link("linked/.gitmodules", "/etc/passwd");
    sandbox.link("linked/.gitattributes", "../a");
    for name in ["git~1", ".git ", ".git.", ".git:x", "back\\.git", ".g\u{200c}it", ".GIT", "gi7eba~1"] {
        sandbox.write(format!("names/{name}"), name);
    }
    sandbox.write("a", "1");
    let output = sandbox.ckpt("save").ok().says("reserved-name").says("git~1");
    let id = output.id();
    let before = sandbox.tree();
    let saved = sandbox.paths_in(&id);
    assert!(saved.contains(&".gitmodules".to_owned()) && !saved.contains(&"names/git~1".to_owned()), "{saved:?}");
    for path in saved.iter().filter(|path| !sandbox.at(path).is_dir()) {
        sandbox.remove(path);
    }
    let _ = sandbox.ckpt(&format!("reset {id}")).ok();
    assert_same(&before, &sandbox.tree());
}

#[test]
fn the_umask_opens_nothing_s7() {
    let sandbox = Sandbox::new();
    sandbox.write("secret", "s");
    let umask = ["sh", "-c", "umask 000; exec \"$0\" \"$@\""];
    let first = sandbox.call(["save"]).through(umask).run().ok().id();
    sandbox.write("secret", "t");
    let _ = sandbox.call(["reset", &first]).through(umask).run().ok();
    let mut waiting = vec![sandbox.checkpoint_dir()];
    while let Some(path) = waiting.pop() {
        let meta = fs::symlink_metadata(&path).unwrap();
        let expected = if meta.is_dir() { 0o700 } else { 0o600 };
        let mode = meta.mode() & 0o777;
        assert!(mode == expected || (meta.is_file() && mode == 0o400), "{mode:o}: {}", path.display());
        if meta.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
}
