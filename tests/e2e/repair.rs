//! A repair makes nothing worse: what was whole before it is whole after it, wherever it ends, and every command works again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::damage::{flip, idx_with, lose_pack, with_extension};
use crate::lost_timeline::{drop_objects, operations};
use crate::sandbox::{Sandbox, steps_of};
use crate::verify::{change, three, trees, verify};

fn pack_with(sandbox: &Sandbox, id: &str) -> PathBuf {
    idx_with(&sandbox.store(), id).with_extension("pack")
}

/// The last byte is of the checksum of the pack.
fn spoil_end(pack: &Path) {
    change(pack, |bytes| *bytes.last_mut().unwrap() ^= 0x55);
}

fn blob(sandbox: &Sandbox, id: &str, path: &str) -> String {
    sandbox.git_in_store(&["rev-parse", &format!("{id}:{path}")]).trim().to_owned()
}

/// Where the packed bytes of an object begin.
fn offset(pack: &Path, id: &str) -> usize {
    let list = Command::new("git").args(["verify-pack", "-v"]).arg(pack).output().unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    let line = list.lines().find(|line| line.starts_with(id)).unwrap();
    line.split_whitespace().nth(4).unwrap().parse().unwrap()
}

/// The new pack has the name of the damaged one, whose place it takes.
#[test]
fn a_repair_that_ends_at_any_step_takes_no_pack_away_x4() {
    let begun = || {
        let sandbox = Sandbox::new();
        let ids = three(&sandbox);
        sandbox.expect_damage();
        spoil_end(&pack_with(&sandbox, &ids[1]));
        (sandbox, ids)
    };
    let (sandbox, ids) = begun();
    let (_, steps) = steps_of(sandbox.call(["verify", "--repair"]));
    let expected = trees(&sandbox, &ids);
    for number in 1..=steps {
        for action in ["kill", "eio"] {
            let (sandbox, ids) = begun();
            let _ = sandbox.call(["verify", "--repair"]).fault(number, action).run();
            let repaired = sandbox.ckpt("verify --full --repair").ok();
            assert_eq!(trees(&sandbox, &ids), expected, "{action} at {number}: {repaired}");
        }
    }
}

#[test]
fn what_was_put_aside_before_stays_x4() {
    let sandbox = Sandbox::new();
    let ids = three(&sandbox);
    sandbox.expect_damage();
    let blob = blob(&sandbox, &ids[1], "a");
    let pack = pack_with(&sandbox, &blob);
    spoil_end(&pack);
    let spoiled = fs::read(&pack).unwrap();
    let _ = sandbox.ckpt("verify --full --repair").ok();
    assert_eq!(pack_with(&sandbox, &blob), pack, "it has its name again");
    let (good, at) = (fs::read(&pack).unwrap(), offset(&pack, &blob));
    flip(&pack, &good, at + 5, 0xff);
    let _ = sandbox.ckpt("verify --full --repair").exits(3);
    let aside = sandbox.store().join("ckpt/damaged");
    let names: Vec<_> = with_extension(&aside, "pack").into_iter().chain(with_extension(&aside, "1")).collect();
    assert!(names.iter().any(|file| fs::read(file).unwrap() == spoiled), "{names:?}");
}

/// An idx tells where things are, and a quick look believes it; a repair reads everything before it gives anything up.
#[test]
fn a_bit_in_an_idx_costs_no_checkpoint_x4() {
    for place in ["name", "offset"] {
        let sandbox = Sandbox::new();
        let ids = three(&sandbox);
        let expected = trees(&sandbox, &ids);
        let sandbox = Sandbox::new();
        let ids = three(&sandbox);
        sandbox.expect_damage();
        let idx = idx_with(&sandbox.store(), &ids[1]);
        let id: Vec<u8> = (0..40).step_by(2).map(|at| u8::from_str_radix(&ids[1][at..at + 2], 16).unwrap()).collect();
        change(&idx, |bytes| {
            let at = bytes.windows(20).position(|window| window == id).unwrap();
            let names = 8 + 256 * 4;
            let count = u32::from_be_bytes(bytes[names - 4..names].try_into().unwrap()) as usize;
            // Names of 20 bytes, checksums of 4, offsets of 4.
            let number = (at - names) / 20;
            let place = if place == "name" { at + 19 } else { names + count * 24 + number * 4 + 3 };
            bytes[place] ^= 1;
        });
        let repaired = sandbox.ckpt("verify --repair").ok();
        assert_eq!(trees(&sandbox, &ids), expected, "{place}: {repaired}");
        let _ = sandbox.ckpt("verify --full").ok();
        sandbox.git_in_store(&["fsck", "--full", "--strict"]);
    }
}

/// Two packs have the object: one is rotten there, the other one is damaged elsewhere.
#[test]
fn the_last_whole_copy_is_not_put_aside_x4() {
    let sandbox = Sandbox::new();
    let ids = three(&sandbox);
    sandbox.write("a", "precious, and long enough to be deflated: 0123456789 0123456789 0123456789");
    let precious = sandbox.save("precious");
    sandbox.expect_damage();
    let blob = blob(&sandbox, &precious, "a");
    let pack = pack_with(&sandbox, &blob);
    let good = fs::read(&pack).unwrap();
    flip(&pack, &good, offset(&pack, &blob) + 12, 0xff);
    // Its safety checkpoint has what stands there, and finds the copy rotten.
    sandbox.write("d/kept", "changed");
    let _ = sandbox.ckpt(&format!("reset {}", ids[0])).ok();
    let other = with_extension(&sandbox.store().join("objects/pack"), "pack").into_iter().find(|other| {
        let list = Command::new("git").args(["verify-pack", "-v"]).arg(other).output().unwrap();
        *other != pack && String::from_utf8_lossy(&list.stdout).contains(&blob)
    });
    spoil_end(&other.unwrap());
    let repaired = sandbox.ckpt("verify --repair").ok();
    let _ = sandbox.ckpt(&format!("reset {precious}")).ok();
    assert!(sandbox.text("a").starts_with("precious"), "{repaired}");
    let _ = sandbox.ckpt("verify --full").ok();
}

/// Whatever is lost beside a restore that did not end, nobody is locked out of the store.
#[test]
fn a_restore_that_did_not_end_locks_nobody_out_x4() {
    let begun = || {
        let sandbox = Sandbox::new();
        let ids = three(&sandbox);
        sandbox.write("a", "edited");
        sandbox.write("b", "new");
        (sandbox, ids)
    };
    let (sandbox, ids) = begun();
    let (_, steps) = steps_of(sandbox.call(["reset", &ids[0]]));
    let target = sandbox.tree();
    let has_journal = |at: &u64| {
        let (sandbox, ids) = begun();
        let _ = sandbox.call(["reset", &ids[0]]).fault(*at, "kill").run();
        let is_there = sandbox.store().join("ckpt/journal").exists();
        let _ = sandbox.ckpt("save").ok();
        is_there
    };
    let pending: Vec<u64> = (1..=steps).filter(has_journal).collect();
    for at in [pending[0], pending[pending.len() / 2], pending[pending.len() - 2], pending[pending.len() - 1]] {
        for lost in ["nothing", "ref", "tip", "operation", "safety", "target", "old ref", "ref and operation"] {
            let (sandbox, ids) = begun();
            let before = sandbox.tree();
            let timeline = sandbox.store().join("refs/heads/timeline");
            let old = operations(&sandbox)[1].clone();
            let _ = sandbox.call(["reset", &ids[0]]).fault(at, "kill").run().killed();
            let journal = fs::read_to_string(sandbox.store().join("ckpt/journal")).unwrap();
            let named = |what: &str| {
                let line = journal.lines().find(|line| line.starts_with(what)).unwrap();
                line.split(' ').nth(1).unwrap().to_owned()
            };
            sandbox.expect_damage();
            let dropped = match lost {
                "tip" => vec![named("tip ")],
                "operation" | "ref and operation" => vec![named("operation ")],
                "safety" => vec![named("safety ")],
                "target" => vec![blob(&sandbox, &ids[0], "gone")],
                _ => Vec::new(),
            };
            let held = named("safety ");
            if !dropped.is_empty() {
                drop_objects(&sandbox, &dropped.iter().map(String::as_str).collect::<Vec<_>>());
            }
            if lost.starts_with("ref") {
                fs::write(&timeline, "").unwrap();
            } else if lost == "old ref" {
                fs::write(&timeline, format!("{old}\n")).unwrap();
                let _ = sandbox.ckpt("save early").exits(1).says("--repair");
            }
            let what = format!("{lost}, killed at {at}");
            let repaired = sandbox.ckpt("verify --full --repair");
            assert!(matches!(repaired.code, Some(0 | 3)), "{what}: {repaired}");
            // With these it can be finished.
            if matches!(lost, "nothing" | "ref" | "old ref" | "tip") {
                assert_eq!(sandbox.tree(), target, "{what}: {repaired}");
            }
            for words in ["ls", "ls -a", "status", "save afterwards", "undo --dry-run", "reset", "undo"] {
                let output = sandbox.ckpt(words);
                let nothing = words.starts_with("undo") && output.err().contains("nothing to undo");
                assert!(output.code == Some(0) || nothing, "{what}: {output}{repaired}");
            }
            if lost != "safety" {
                let _ = sandbox.ckpt(&format!("reset {held}")).ok();
                assert_eq!(sandbox.tree(), before, "{what}: {repaired}");
            }
        }
    }
}

/// What all checkpoints share is made again: the commit of the facts has no date.
#[test]
fn facts_that_are_lost_are_made_again_x4() {
    for whole_pack in [false, true] {
        let sandbox = Sandbox::new();
        let ids = three(&sandbox);
        let expected = trees(&sandbox, &ids[1..]);
        sandbox.expect_damage();
        let facts = sandbox.git_in_store(&["rev-parse", &format!("{}^", ids[1])]).trim().to_owned();
        if whole_pack {
            lose_pack(&idx_with(&sandbox.store(), &facts));
        } else {
            drop_objects(&sandbox, &[&facts]);
        }
        let repaired = sandbox.ckpt("verify --repair");
        assert_eq!(repaired.code, Some(if whole_pack { 3 } else { 0 }), "{repaired}");
        let restored = trees(&sandbox, &ids[1..]);
        // The pack had `d/kept` as well, which stands in the workspace.
        assert_eq!(restored, expected, "{repaired}");
    }
}

/// What a checkpoint lacks is looked for and named though its operation is lost too.
#[test]
fn what_is_lost_with_an_operation_is_found_at_once_x4() {
    for stands in [true, false] {
        let sandbox = Sandbox::new();
        let ids = three(&sandbox);
        sandbox.expect_damage();
        let (tip, lost) = (operations(&sandbox).pop().unwrap(), blob(&sandbox, &ids[2], "a"));
        drop_objects(&sandbox, &[&tip, &lost]);
        if !stands {
            sandbox.write("a", "something else");
        }
        let (output, store) = verify(&sandbox, "--repair");
        assert_eq!(output.code, Some(if stands { 0 } else { 3 }), "{output}");
        assert_eq!(store["lost"].as_array().unwrap().len(), usize::from(!stands), "{output}");
        let (again, _) = verify(&sandbox, "--repair");
        assert_eq!(again.code, output.code, "{again}");
    }
}

/// Nothing is left to protect, and saves go on.
#[test]
fn a_store_without_a_pack_can_be_saved_into_again_x4() {
    let sandbox = Sandbox::new();
    three(&sandbox);
    sandbox.expect_damage();
    for file in fs::read_dir(sandbox.store().join("objects/pack")).unwrap() {
        fs::remove_file(file.unwrap().path()).unwrap();
    }
    let (output, store) = verify(&sandbox, "--full --repair");
    assert_eq!((output.code, store["lost"].as_array().unwrap().len()), (Some(3), 1), "{output}");
    let _ = sandbox.ckpt("verify --full").ok();
    let saved = sandbox.save("from the beginning");
    sandbox.write("a", "changed");
    let _ = sandbox.ckpt(&format!("reset {saved}")).ok();
    assert_eq!(sandbox.text("d/kept"), "kept");
    sandbox.git_in_store(&["fsck", "--full", "--strict"]);
}

/// It is told as lost, and the pack comes back: from a backup, or from a disk that could not be read for a while.
#[test]
fn a_checkpoint_that_comes_back_has_its_place_again_x4() {
    let sandbox = Sandbox::new();
    let ids = three(&sandbox);
    sandbox.expect_damage();
    let idx = idx_with(&sandbox.store(), &ids[1]);
    let files: Vec<_> = ["idx", "pack", "keep"].map(|extension| idx.with_extension(extension)).into();
    let contents: Vec<_> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    lose_pack(&idx);
    let _ = sandbox.ckpt("verify --full --repair").exits(3);
    assert!(!sandbox.ckpt("ls -a").ok().out().contains("second"));
    for (file, content) in files.iter().zip(contents) {
        fs::write(file, content).unwrap();
    }
    let _ = sandbox.ckpt("verify").exits(3);
    let _ = sandbox.ckpt("verify --repair").ok();
    let listed = sandbox.ckpt("ls -q").ok().out();
    let places: Vec<_> = ids.iter().rev().map(|id| listed.find(&id[..12])).collect();
    assert!(places.is_sorted() && places[0].is_some(), "{listed}");
    let _ = sandbox.ckpt(&format!("reset {}", ids[1])).ok();
    assert_eq!(sandbox.text("a"), "two");
    let _ = sandbox.ckpt("verify --full").ok();
}
