//! `verify`: what is damaged is named, what can be mended is, what is lost is told by checkpoint and path.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::damage::{noise, with_extension};
use crate::sandbox::{Output, Sandbox, Tree, assert_same, steps_of};

/// Three checkpoints: `a` changes, `d/kept` does not, `gone` is in the first only. Their ids, oldest first.
pub(crate) fn three(sandbox: &Sandbox) -> Vec<String> {
    sandbox.write("a", noise());
    sandbox.write("d/kept", "kept");
    sandbox.write("gone", "only in the first");
    let first = sandbox.save("first");
    sandbox.write("a", "two");
    sandbox.remove("gone");
    let second = sandbox.save("second");
    sandbox.write("a", "three");
    vec![first, second, sandbox.save("third")]
}

pub(crate) fn verify(sandbox: &Sandbox, words: &str) -> (Output, Value) {
    let output = sandbox.ckpt(&format!("verify --json {words}"));
    assert!(matches!(output.code, Some(0 | 3)), "{output}");
    let store = output.json()["stores"][0].clone();
    (output, store)
}

pub(crate) fn kinds(store: &Value) -> Vec<String> {
    let faults = store["faults"].as_array().unwrap();
    let mut kinds: Vec<String> = faults.iter().map(|fault| fault["kind"].as_str().unwrap().to_owned()).collect();
    kinds.dedup();
    kinds
}

fn largest_pack(sandbox: &Sandbox) -> PathBuf {
    let packs = with_extension(&sandbox.store().join("objects/pack"), "pack");
    packs.into_iter().max_by_key(|pack| fs::metadata(pack).unwrap().len()).unwrap()
}

pub(crate) fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

fn rot(path: &Path) {
    change(path, |bytes| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x55;
    });
}

/// The trees that the checkpoints restore to; `None` where one cannot be.
pub(crate) fn trees(sandbox: &Sandbox, ids: &[String]) -> Vec<Option<Tree>> {
    let restored = ids.iter().map(|id| {
        let output = sandbox.ckpt(&format!("reset {id}"));
        (output.code == Some(0)).then(|| sandbox.tree())
    });
    restored.collect()
}

#[test]
fn a_whole_store_is_whole() {
    let sandbox = Sandbox::new();
    three(&sandbox);
    let before = Tree::of(&sandbox.store());
    for words in ["", "--full", "--worktree", "--all", "--full --worktree --all"] {
        let (output, store) = verify(&sandbox, words);
        assert_eq!(output.code, Some(0), "{output}");
        assert_eq!((store["operations"].as_u64(), store["checkpoints"].as_u64()), (Some(4), Some(3)), "{output}");
        assert_eq!(store["read_objects"].as_u64() > Some(0), words.contains("--full"), "{output}");
        assert_same(&before, &Tree::of(&sandbox.store()));
    }
    let _ = sandbox.ckpt("verify --repair --full").ok().says("all is there");
    let _ = sandbox.ckpt("verify --sample 101").exits(2);
}

#[test]
fn samples_reach_everything() {
    let sandbox = Sandbox::new();
    three(&sandbox);
    let (_, all) = verify(&sandbox, "--full");
    let read = |words: &str| verify(&sandbox, words).1["read_objects"].as_u64().unwrap();
    let parts: Vec<u64> = (0..4).map(|_| read("--sample 25%")).collect();
    assert_eq!(parts.iter().sum::<u64>(), all["read_objects"].as_u64().unwrap(), "{parts:?}");
    sandbox.expect_damage();
    rot(&largest_pack(&sandbox));
    let found = (0..4).filter(|_| !verify(&sandbox, "--sample 25").1["whole"].as_bool().unwrap()).count();
    assert_eq!(found, 1, "one part has it");
}

#[test]
fn what_is_rotten_comes_back_from_the_workspace() {
    let sandbox = Sandbox::new();
    let ids = three(&sandbox);
    let _ = sandbox.ckpt(&format!("reset {}", ids[0])).ok();
    let expected = trees(&sandbox, &ids);
    let _ = sandbox.ckpt(&format!("reset {}", ids[0])).ok();
    sandbox.expect_damage();
    rot(&largest_pack(&sandbox));
    let (output, store) = verify(&sandbox, "");
    assert_eq!(output.code, Some(0), "a quick look reads no contents: {store}");
    let (output, store) = verify(&sandbox, "--full");
    assert_eq!((output.code, kinds(&store)), (Some(3), vec!["damaged-pack".to_owned(), "missing-object".to_owned()]));
    assert!(store["lost"].to_string().contains("\"a\""), "{store}");
    let (output, store) = verify(&sandbox, "--full --repair");
    assert_eq!(output.code, Some(0), "{store}");
    assert!(store["faults"].as_array().unwrap().iter().all(|fault| fault["mended"].is_string()), "{store}");
    assert!(!with_extension(&sandbox.store().join("ckpt/damaged"), "pack").is_empty());
    sandbox.git_in_store(&["fsck", "--full", "--strict"]);
    assert_eq!(trees(&sandbox, &ids), expected);
    assert_eq!(verify(&sandbox, "--full").0.code, Some(0));
}

#[test]
fn what_is_lost_is_named_and_the_rest_is_kept() {
    let sandbox = Sandbox::new();
    let ids = three(&sandbox);
    let expected = trees(&sandbox, &ids);
    sandbox.expect_damage();
    rot(&largest_pack(&sandbox));
    for words in ["--full --repair", "--full", ""] {
        let (output, store) = verify(&sandbox, words);
        assert_eq!(output.code, Some(3), "{words}: {store}");
        let lost = store["lost"].as_array().unwrap();
        assert_eq!(lost.len(), 1, "{words}: {store}");
        assert_eq!((&lost[0]["checkpoint"], &lost[0]["path"]), (&ids[0].clone().into(), &"a".into()), "{store}");
    }
    let now = trees(&sandbox, &ids);
    assert_eq!(now[1..], expected[1..]);
    assert_eq!(now[0], None, "it cannot be restored as a whole, and is not in part");
    let _ = sandbox.ckpt(&format!("rollback {} gone d", ids[0])).ok();
    assert_eq!(sandbox.text("gone"), "only in the first");
}

#[test]
fn an_idx_is_made_again_x4() {
    let spoils: [fn(&Path); 4] = [
        |path| fs::remove_file(path).unwrap(),
        |path| change(path, Vec::clear),
        |path| change(path, |bytes| bytes.fill(0)),
        |path| change(path, |bytes| bytes[1040] ^= 1),
    ];
    for (number, spoil) in spoils.into_iter().enumerate() {
        let sandbox = Sandbox::new();
        let ids = three(&sandbox);
        let expected = trees(&sandbox, &ids);
        let before = Tree::of(&sandbox.store().join("objects"));
        for pack in with_extension(&sandbox.store().join("objects/pack"), "idx") {
            spoil(&pack);
        }
        let (output, store) = verify(&sandbox, "--full --repair");
        assert_eq!(output.code, Some(0), "{number}: {store}");
        assert!(kinds(&store).contains(&"damaged-idx".to_owned()), "{number}: {store}");
        assert_same(&before, &Tree::of(&sandbox.store().join("objects")));
        assert_eq!(trees(&sandbox, &ids), expected, "{number}");
    }
}

#[test]
fn packs_of_stock_git_are_mended_too() {
    for spoil_idx in [true, false] {
        let sandbox = Sandbox::new();
        for number in 0..40 {
            sandbox.write("log", (0..2000 + number).map(|line| format!("line {}\n", line * 7919)).collect::<String>());
            sandbox.save(&number.to_string());
        }
        let ids: Vec<String> = sandbox.ckpt("ls -q").ok().out().lines().map(str::to_owned).collect();
        for keep in with_extension(&sandbox.store().join("objects/pack"), "keep") {
            fs::remove_file(keep).unwrap();
        }
        sandbox.git_in_store(&["repack", "-q", "-a", "-d", "-f"]);
        let expected = trees(&sandbox, &ids);
        let pack = largest_pack(&sandbox);
        sandbox.expect_damage();
        if spoil_idx {
            fs::remove_file(pack.with_extension("idx")).unwrap();
        } else {
            // The trailer alone: all objects are whole, and move to a pack of ours.
            change(&pack, |bytes| *bytes.last_mut().unwrap() ^= 1);
        }
        let (output, store) = verify(&sandbox, "--full --repair");
        assert_eq!(output.code, Some(0), "{store}");
        sandbox.git_in_store(&["fsck", "--full", "--strict"]);
        assert_eq!(trees(&sandbox, &ids), expected);
    }
}

#[test]
fn what_another_store_has_is_taken_from_there() {
    let sandbox = Sandbox::new();
    let ids = three(&sandbox);
    let other = sandbox.root().join("other");
    let status = std::process::Command::new("cp").arg("-a").arg(sandbox.w()).arg(&other).status().unwrap();
    assert!(status.success());
    let _ = sandbox.ckpt(&format!("reset {}", ids[0])).ok();
    let expected = trees(&sandbox, &ids);
    fs::write(other.join("a"), noise()).unwrap();
    let _ = sandbox.call(["-w", other.to_str().unwrap(), "save"]).run().ok();
    sandbox.expect_damage();
    let store =
        sandbox.stores().into_iter().find(|store| store.file_name().unwrap().to_str().unwrap().starts_with("w_"));
    let packs = with_extension(&store.unwrap().join("objects/pack"), "pack");
    rot(&packs.into_iter().max_by_key(|pack| fs::metadata(pack).unwrap().len()).unwrap());
    let (output, store) = verify(&sandbox, "--full --repair");
    assert_eq!(output.code, Some(0), "{store}");
    assert_eq!(trees(&sandbox, &ids), expected);
}

/// CRC-32 (IEEE), bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

#[test]
fn a_stat_cache_that_lies_is_seen() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "the one");
    sandbox.write("b", "another");
    std::thread::sleep(std::time::Duration::from_millis(60));
    sandbox.save("first");
    let cache = sandbox.store().join("ckpt/stat-cache");
    let id = |path: &str| -> Vec<u8> {
        let id = sandbox.git_in_store(&["hash-object", sandbox.at(path).to_str().unwrap()]);
        let id = id.trim();
        (0..20).map(|at| u8::from_str_radix(&id[2 * at..2 * at + 2], 16).unwrap()).collect()
    };
    let (a, b) = (id("a"), id("b"));
    change(&cache, |bytes| {
        let at = bytes.windows(20).position(|window| window == a).unwrap();
        bytes[at..at + 20].copy_from_slice(&b);
        let crc = crc32(&bytes[16..]);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    });
    let _ = sandbox.ckpt("verify --full").ok();
    // Where nothing in a directory changed its tree counts, and not its entries.
    sandbox.write("c", "new");
    let (output, store) = verify(&sandbox, "--worktree");
    assert_eq!((output.code, kinds(&store)), (Some(3), vec!["stale-cache".to_owned()]), "{store}");
    assert!(store["faults"][0]["path"].as_str().unwrap().ends_with("/a"), "{store}");
    let (output, _) = verify(&sandbox, "--worktree --repair");
    assert_eq!(output.code, Some(0), "{output}");
    let id = sandbox.save("second");
    assert_eq!(sandbox.text_in(&id, "a"), "the one");
}

#[test]
fn files_of_our_own_are_written_anew_x4() {
    for file in ["HEAD", "config", "ckpt/worktree", "ckpt/stat-cache", "ckpt/stat-cache-changes"] {
        let spoils: [fn(&Path); 3] = [
            |path| fs::remove_file(path).unwrap(),
            |path| change(path, Vec::clear),
            |path| change(path, |bytes| bytes.fill(0)),
        ];
        for (number, spoil) in spoils.into_iter().enumerate() {
            let sandbox = Sandbox::new();
            let ids = three(&sandbox);
            let path = sandbox.store().join(file);
            let before = fs::read(&path).unwrap();
            spoil(&path);
            let is_cache = file.starts_with("ckpt/stat-cache");
            if !is_cache {
                let (output, store) = verify(&sandbox, "");
                assert_eq!((output.code, kinds(&store)), (Some(3), vec!["damaged-file".to_owned()]), "{file} {number}");
            }
            let (output, store) = verify(&sandbox, "--repair");
            assert_eq!(output.code, Some(0), "{file} {number}: {store}");
            assert!(is_cache || fs::read(&path).unwrap() == before, "{file} {number}");
            let _ = sandbox.ckpt(&format!("reset {}", ids[0])).ok();
        }
    }
}

#[test]
fn one_broken_store_hides_no_other_c24() {
    let sandbox = Sandbox::new();
    three(&sandbox);
    let other = sandbox.root().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("f"), "f").unwrap();
    let _ = sandbox.call(["-w", other.to_str().unwrap(), "save"]).run().ok();
    let broken = sandbox.stores().into_iter().find(|store| store.to_str().unwrap().contains("other_")).unwrap();
    sandbox.expect_damage();
    fs::write(broken.join("ckpt/worktree"), "").unwrap();
    let output = sandbox.ckpt("verify --all --json").exits(3);
    let json = output.json();
    let whole: Vec<bool> = json["stores"].as_array().unwrap().iter().map(|store| store["whole"] == true).collect();
    assert_eq!(whole.iter().filter(|whole| **whole).count(), 1, "{output}");
    assert_eq!(whole.len(), 2, "{output}");
}

#[test]
fn a_store_is_whole_wherever_a_save_was_killed() {
    let prepare = || {
        let sandbox = Sandbox::new();
        // So many packs that the next save merges some.
        for number in 0..11 {
            sandbox.write("a", number.to_string());
            sandbox.save(&number.to_string());
        }
        sandbox.write("a", "merges");
        sandbox
    };
    let sandbox = prepare();
    let (output, steps) = steps_of(sandbox.call(["save"]));
    let _ = output.ok();
    for number in 1..=steps {
        let sandbox = prepare();
        let _ = sandbox.call(["save"]).fault(number, "kill").run().killed();
        for words in ["verify", "verify --full"] {
            let output = sandbox.ckpt(words);
            assert_eq!(output.code, Some(0), "step {number}: {output}");
        }
        sandbox.save("afterwards");
    }
}

#[test]
fn a_repair_that_is_killed_at_any_step_removes_no_pack_x4() {
    let prepare = |sandbox: &Sandbox| {
        three(sandbox);
        for idx in with_extension(&sandbox.store().join("objects/pack"), "idx") {
            fs::remove_file(idx).unwrap();
        }
        "verify --repair".to_owned()
    };
    crate::crash::at_each_step("kill", &prepare, 1, &|number, sandbox, output| {
        let _ = output.killed();
        let repaired = sandbox.ckpt("verify --repair");
        assert_eq!(repaired.code, Some(0), "step {number}: {repaired}");
        let _ = sandbox.ckpt("reset HEAD~2").ok();
        assert_eq!(sandbox.text("gone"), "only in the first", "step {number}");
    });
}

/// Readers know the empty tree without looking, and stock `git fsck` does not.
#[test]
fn a_lost_empty_tree_is_named_and_packed_again_x4() {
    let sandbox = Sandbox::new();
    sandbox.expect_damage();
    sandbox.write("d/a", "a");
    sandbox.save("first");
    sandbox.write("d/b", "b");
    sandbox.save("second");
    let store = sandbox.store();
    let idx = crate::damage::idx_with(&store, "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
    crate::damage::lose_pack(&idx);
    let _ = sandbox.ckpt("verify --repair");
    let _ = sandbox.ckpt("verify --full").ok();
    sandbox.git_in_store(&["fsck", "--full", "--strict"]);
}
