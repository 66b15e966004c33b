//! Objects that rotted in their packs: what is whole elsewhere stands in for them, and nothing else does.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::damage::{flip, idx_with, noise, rot, with_extension};
use crate::sandbox::{Sandbox, assert_same, git_command};

/// Id, offset and length of each entry of a pack.
fn entries_of(pack: &Path) -> Vec<(String, usize, usize)> {
    let shown = git_command().args(["verify-pack", "-v"]).arg(pack.with_extension("idx")).output().unwrap();
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    let words = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    // Id, kind, size, size in the pack, offset.
    words
        .filter(|words| words.len() == 5 && words[0].len() == 40)
        .map(|words| (words[0].to_owned(), words[4].parse().unwrap(), words[3].parse().unwrap()))
        .collect()
}

/// Flips `bits` in one object, so far from its beginning in its pack; from its end, if that is negative.
fn rot_object(store: &Path, id: &str, at: isize, bits: u8) {
    let pack = idx_with(store, id).with_extension("pack");
    let entries = entries_of(&pack);
    let (_, offset, length) = entries.iter().find(|(found, ..)| found == id).unwrap();
    let at = if at < 0 { offset + length } else { *offset }.checked_add_signed(at).unwrap();
    flip(&pack, &fs::read(&pack).unwrap(), at, bits);
}

/// Everything that is known of head by its facts is rotten: its modes, its rules, what was left out.
#[test]
fn rotten_facts_of_head_keep_nobody_from_saving_and_leaving_x4_l45() {
    for is_reset in [false, true] {
        for of_facts in ["^@", "^:facts", "^:rules"] {
            if is_reset && of_facts == "^:rules" {
                // The first checkpoint has the same, and needs them.
                continue;
            }
            let sandbox = Sandbox::new();
            sandbox.expect_damage();
            sandbox.write("a", "one");
            sandbox.mode("a", 0o600);
            let first = sandbox.save("first");
            sandbox.write("b", "two");
            sandbox.mode("b", 0o640);
            sandbox.write(".ckptignore", "c");
            let second = sandbox.save("second");
            let object = sandbox.git_in_store(&["rev-parse", &format!("{second}{of_facts}")]).trim().to_owned();
            rot_object(&sandbox.store(), &object, -6, 0x10);
            // Rules of head would hold in place of these.
            sandbox.mkdir(".git/info");
            sandbox.link(".git/info/exclude", "exclude");
            sandbox.write("b", "three");
            let tree = sandbox.tree();
            let what = format!("{of_facts}, reset {is_reset}");
            if is_reset {
                let _ = sandbox.ckpt(&format!("reset {first}")).ok();
                assert!(!sandbox.has("b"), "{what}");
                let _ = sandbox.ckpt("undo").ok();
                assert_eq!(tree.differences(&sandbox.tree()), "", "{what}");
            } else {
                let third = sandbox.ckpt("save").ok().id();
                let _ = sandbox.ckpt(&format!("reset {first}")).ok();
                let _ = sandbox.ckpt(&format!("reset {third}")).ok();
                assert_eq!(tree.differences(&sandbox.tree()), "", "{what}");
            }
        }
    }
}

#[test]
fn what_a_restore_takes_away_is_read_from_the_store_first() {
    for restore in ["reset HEAD~1", "rollback HEAD~1 f"] {
        let sandbox = Sandbox::new();
        sandbox.expect_damage();
        sandbox.write("f", "one");
        sandbox.save("first");
        sandbox.write("f", noise());
        sandbox.save("second");
        let before = sandbox.tree();
        rot(&sandbox);
        let _ = sandbox.ckpt(restore).ok();
        assert_eq!(sandbox.text("f"), "one");
        let _ = sandbox.ckpt("undo").ok();
        assert_same(&before, &sandbox.tree());
    }
}

/// A bit of the kind in the header of an entry makes a delta of a whole object, also where stock git repacked it.
#[test]
fn what_seems_to_be_a_delta_is_read_before_a_restore_takes_it_away_x4() {
    for is_repacked in [false, true] {
        for restore in ["reset HEAD~1", "rollback HEAD~1 f"] {
            let sandbox = Sandbox::new();
            sandbox.expect_damage();
            sandbox.write("f", "one");
            sandbox.save("first");
            sandbox.write("f", "precious");
            sandbox.save("second");
            let before = sandbox.tree();
            let store = sandbox.store();
            let id = sandbox.git_in_store(&["rev-parse", "timeline:f"]).trim().to_owned();
            if is_repacked {
                for keep in with_extension(&store.join("objects/pack"), "keep") {
                    fs::remove_file(keep).unwrap();
                }
                sandbox.git_in_store(&["repack", "-adfq"]);
            }
            rot_object(&store, &id, 0, 0x40);
            let _ = sandbox.ckpt(restore).ok();
            assert_eq!(sandbox.text("f"), "one");
            let _ = sandbox.ckpt("undo").ok();
            assert_same(&before, &sandbox.tree());
        }
    }
}

/// A save that reads a content, or makes a tree, of which the store has a rotten copy, does not rest on that copy.
#[test]
fn what_a_save_meets_is_packed_again_where_the_store_rotted_l45_x4() {
    let sandbox = Sandbox::new();
    sandbox.expect_damage();
    sandbox.write("a", "one");
    sandbox.write("d/b", "two");
    sandbox.mode("a", 0o600);
    sandbox.save("first");
    let tree = sandbox.tree();
    for name in ["stat-cache", "stat-cache-changes"] {
        let _ = fs::remove_file(sandbox.store().join("ckpt").join(name));
    }
    let (home, whole) = (sandbox.home(), sandbox.root().join("home.whole"));
    let copy = |from: &Path, to: &Path| {
        let _ = fs::remove_dir_all(to);
        assert!(Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success());
    };
    copy(&home, &whole);
    let mut saved = 0;
    for pack in with_extension(&sandbox.store().join("objects/pack"), "pack") {
        let good = fs::read(&pack).unwrap();
        // Of the header of each entry the bits of its kind, which may make a delta of it; of all else every fifth byte.
        let kinds = entries_of(&pack).into_iter().flat_map(|(_, at, _)| [(at, 0x10), (at, 0x20), (at, 0x40)]);
        let others = (12..good.len() - 20).step_by(5).map(|at| (at, 1 << (at % 8)));
        for (at, bits) in kinds.chain(others) {
            copy(&whole, &home);
            flip(&pack, &good, at, bits);
            let output = sandbox.ckpt("save --always");
            if output.code == Some(1) {
                continue;
            }
            saved += 1;
            for path in ["a", "d"] {
                sandbox.remove(path);
            }
            let restored = sandbox.ckpt(&format!("reset {}", output.id()));
            let differences = tree.differences(&sandbox.tree());
            assert!(
                restored.code == Some(0) && differences.is_empty(),
                "byte {at}, {bits:#x} of {}: {output}{restored}",
                pack.display()
            );
        }
    }
    assert!(saved > 20, "{saved}");
}

/// Stock git's own copy of an object, in a store whose pack of ours has a rotten one.
fn give_loose(store: &Path, id: &str) {
    let script = format!(
        "export GIT_DIR='{0}/../loose.git'; rm -rf $GIT_DIR; git init -q --bare $GIT_DIR
        git unpack-objects -q < '{1}'; name=$(echo {id} | cut -c1-2)
        mkdir -p '{0}/objects/'$name; cp $GIT_DIR/objects/$name/$(echo {id} | cut -c3-) '{0}/objects/'$name; rm -rf $GIT_DIR",
        store.display(),
        idx_with(store, id).with_extension("pack").display()
    );
    assert!(Command::new("sh").args(["-euc", &script]).status().unwrap().success());
}

/// What was looked through before the rotten pack was put aside shall not hide what stands beside it.
#[test]
fn a_repair_finds_the_loose_copy_of_what_rotted_x4() {
    for (revision, at) in [("timeline", 6), ("timeline^2^{tree}", 2), ("timeline^2:f", 2)] {
        let sandbox = Sandbox::new();
        sandbox.expect_damage();
        for text in ["one", "two", "precious precious"] {
            sandbox.write("f", text);
            sandbox.save(text);
        }
        let last = sandbox.ckpt("show HEAD --json").ok().json()["checkpoint"]["id"].as_str().unwrap().to_owned();
        let store = sandbox.store();
        let id = sandbox.git_in_store(&["rev-parse", revision]).trim().to_owned();
        give_loose(&store, &id);
        rot_object(&store, &id, at, 0x10);
        sandbox.write("f", "lost by somebody");
        let _ = sandbox.ckpt("verify --full --repair").ok().keeps_quiet_about("lost");
        let _ = sandbox.ckpt(&format!("reset {last}")).ok();
        assert_eq!(sandbox.text("f"), "precious precious", "{revision}");
    }
}

/// A backup that stock git made, copied back, has as a delta what rotted in a pack of ours.
#[test]
fn a_delta_mends_a_rotten_copy_x4() {
    let sandbox = Sandbox::new();
    sandbox.expect_damage();
    let text = |last: &str| (0..400).map(|line| format!("line {line}\n")).collect::<String>() + last;
    for last in ["one", "two", "three"] {
        sandbox.write("f", text(last));
        sandbox.save(last);
    }
    let store = sandbox.store();
    let backup = sandbox.root().join("backup.git");
    let script = format!(
        "git clone -q --bare --no-local '{1}' '{0}'; git --git-dir='{0}' repack -adfq; cp '{0}'/objects/pack/*.pack '{0}'/objects/pack/*.idx '{1}/objects/pack/'",
        backup.display(),
        store.display()
    );
    assert!(Command::new("sh").args(["-euc", &script]).status().unwrap().success());
    for revision in ["timeline~1^2:f", "timeline^2:f", "timeline~2^2:f"] {
        let id = sandbox.git_in_store(&["rev-parse", revision]).trim().to_owned();
        let packs = with_extension(&store.join("objects/pack"), "pack").into_iter();
        let ours = packs.filter(|pack| pack.with_extension("keep").exists());
        let Some((pack, at)) = ours
            .flat_map(|pack| entries_of(&pack).into_iter().map(move |entry| (pack.clone(), entry)))
            .find_map(|(pack, (found, at, _))| (found == id).then_some((pack, at)))
        else {
            panic!("{revision} is in no pack of ours")
        };
        flip(&pack, &fs::read(&pack).unwrap(), at + 6, 0x10);
    }
    // libgit2, which reads deltas, may meet the rotten copy first: that is an error, and changes nothing.
    let before = sandbox.tree();
    for steps in [1, 2] {
        let output = sandbox.ckpt(&format!("reset HEAD~{steps}"));
        if output.code == Some(0) {
            let _ = sandbox.ckpt("undo").ok();
        }
        assert_same(&before, &sandbox.tree());
    }
    let _ = sandbox.ckpt("verify --full --repair").ok().keeps_quiet_about("lost");
    for (steps, last) in [(2, "one"), (1, "two")] {
        let _ = sandbox.ckpt(&format!("reset HEAD~{steps}")).ok();
        assert_eq!(sandbox.text("f"), text(last));
        let _ = sandbox.ckpt("undo").ok();
        assert_eq!(sandbox.text("f"), text("three"));
    }
}
