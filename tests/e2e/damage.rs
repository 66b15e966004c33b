//! Damaged stores: what is broken is named, what can be made again is, and nothing else stands in for it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::sandbox::{Sandbox, Tree, assert_same, git_command};

/// Turns all packs of a store into loose objects.
pub(crate) fn unpack(store: &Path) {
    let packs = store.join("objects/pack");
    let aside = store.join("aside");
    fs::rename(&packs, &aside).unwrap();
    fs::create_dir(&packs).unwrap();
    for pack in with_extension(&aside, "pack") {
        let input = fs::File::open(&pack).unwrap();
        let status = git_command().arg("--git-dir").arg(store).args(["unpack-objects", "-q"]).stdin(input).status();
        assert!(status.unwrap().success());
    }
    fs::remove_dir_all(aside).unwrap();
}

/// Deletes a loose object.
pub(crate) fn remove_loose(store: &Path, id: &str) {
    fs::remove_file(store.join("objects").join(&id[..2]).join(&id[2..])).unwrap();
}

pub(crate) fn with_extension(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|known| known == extension));
    paths.sort();
    paths
}

/// The index of the pack that holds an object.
pub(crate) fn idx_with(store: &Path, id: &str) -> PathBuf {
    let packs = with_extension(&store.join("objects/pack"), "idx");
    let holds = |idx: &PathBuf| {
        let output = git_command()
            .args(["show-index", "--object-format=sha1"])
            .stdin(fs::File::open(idx).unwrap())
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).contains(id)
    };
    packs.into_iter().find(holds).unwrap()
}

/// Damages a file as a power cut does: its length is there, and its bytes are not.
pub(crate) fn nul(path: &Path) {
    let len = fs::metadata(path).unwrap().len();
    let _ = fs::remove_file(path);
    fs::write(path, vec![0; usize::try_from(len).unwrap()]).unwrap();
}

/// Damages a file as a power cut does: its name is there, and nothing in it.
pub(crate) fn cut(path: &Path) {
    let _ = fs::remove_file(path);
    fs::write(path, "").unwrap();
}

/// Removes a pack with all its files, by the name of its idx or of any other.
pub(crate) fn lose_pack(file: &Path) {
    for extension in ["idx", "keep", "pack"] {
        fs::remove_file(file.with_extension(extension)).unwrap();
    }
}

/// Damages a file by its loss.
pub(crate) fn lose(path: &Path) {
    fs::remove_file(path).unwrap();
}

#[test]
fn own_files_are_made_again_c36_x4() {
    for file in ["ckpt/stat-cache", "ckpt/stat-cache-changes", "ckpt/worktree", "config", "HEAD"] {
        for damage in [nul, cut, lose] {
            let sandbox = Sandbox::new();
            sandbox.write("a", "one");
            sandbox.write("d/b", "one");
            let before = sandbox.tree();
            let first = sandbox.save("first");
            sandbox.write("a", "two");
            let second = sandbox.save("second");
            damage(&sandbox.store().join(file));
            let listed = sandbox.ckpt("ls").ok();
            assert!(listed.out().contains("first") && listed.out().contains("second"), "{file}: {listed}");
            assert!(sandbox.is_clean(), "{file}");
            sandbox.write("a", "three");
            let third = sandbox.save("third");
            assert_eq!(sandbox.text_in(&third, "a"), "three", "{file}");
            let _ = sandbox.ckpt(&format!("reset {second}")).ok();
            assert_eq!(sandbox.text("a"), "two", "{file}");
            let _ = sandbox.ckpt(&format!("reset {first}")).ok();
            assert_same(&before, &sandbox.tree());
        }
    }
}

#[test]
fn a_lost_directory_of_own_files_is_made_again_c36() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one");
    let first = sandbox.save("first");
    fs::remove_dir_all(sandbox.store().join("ckpt")).unwrap();
    sandbox.write("a", "two");
    sandbox.save("second");
    let _ = sandbox.ckpt(&format!("reset {first}")).ok();
    assert_eq!(sandbox.text("a"), "one");
    assert_eq!(sandbox.ckpt("ls").ok().out().matches("first").count(), 1);
}

#[test]
fn a_damaged_journal_stops_nobody_c36() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one");
    let first = sandbox.save("first");
    fs::write(sandbox.store().join("ckpt/journal"), [0; 500]).unwrap();
    sandbox.write("a", "two");
    sandbox.save("second");
    let _ = sandbox.ckpt(&format!("reset {first}")).ok();
    assert_eq!(sandbox.text("a"), "one");
}

#[test]
fn a_damaged_timeline_is_named_and_others_go_on_x4() {
    for damage in [nul, cut, lose] {
        let sandbox = Sandbox::new();
        sandbox.expect_damage();
        sandbox.write("a", "one");
        sandbox.save("first");
        let store = sandbox.store();
        let other = sandbox.saved_workspace("other");
        damage(&store.join("refs/heads/timeline"));
        sandbox.write("a", "two");
        for words in ["save --json", "ls --json", "status --json", "reset --json"] {
            let _ = sandbox.ckpt(words).fails_with("broken-store");
        }
        assert_eq!(sandbox.text("a"), "two");
        let _ = sandbox.call(["-w", ".", "status", "--exit-code"]).dir(&other).run().ok();
        let _ = sandbox.ckpt("workspaces -l").ok().says("other").says(&sandbox.w().to_string_lossy());
    }
}

#[test]
fn an_unreadable_checkpoint_is_an_error_x7_x4() {
    for damage in [nul, cut, lose] {
        let sandbox = Sandbox::new();
        sandbox.expect_damage();
        sandbox.write("a", "one");
        let first = sandbox.save("first");
        sandbox.write("a", "two");
        let second = sandbox.save("second");
        let store = sandbox.store();
        unpack(&store);
        let object = store.join("objects").join(&first[..2]).join(&first[2..]);
        damage(&object);
        sandbox.write("a", "three");
        for words in
            [format!("reset {first} --json"), format!("rollback {first} a --json"), format!("show {first} --json")]
        {
            let output = sandbox.ckpt(&words);
            assert_eq!(output.code, Some(1), "{output}");
            let code = output.json()["error"]["code"].as_str().unwrap().to_owned();
            assert!(["missing-object", "damaged-object"].contains(&code.as_str()), "{output}");
            assert_eq!(sandbox.text("a"), "three");
        }
        let output = sandbox.ckpt("reset HEAD~1 --json");
        assert_eq!(output.code, Some(1), "never the next best one: {output}");
        let _ = sandbox.ckpt(&format!("reset {second}")).ok();
        assert_eq!(sandbox.text("a"), "two");
    }
}

#[test]
fn a_damaged_blob_is_named_before_the_first_write_x4_x7() {
    let sandbox = Sandbox::new();
    sandbox.expect_damage();
    for number in 0..20 {
        sandbox.write(format!("f{number:02}"), format!("one {number}"));
    }
    let first = sandbox.save("first");
    for number in 0..20 {
        sandbox.write(format!("f{number:02}"), format!("two {number}"));
    }
    sandbox.save("second");
    let before = Tree::with_identity(&sandbox.w());
    let store = sandbox.store();
    unpack(&store);
    remove_loose(&store, sandbox.git_in_store(&["rev-parse", &format!("{first}:f19")]).trim());
    let _ = sandbox.ckpt(&format!("reset {first} --json")).fails_with("missing-object");
    assert_same(&before, &Tree::with_identity(&sandbox.w()));
}

#[test]
fn a_save_without_changes_mends_what_the_store_lost_l45() {
    for damage in [nul, cut, lose] {
        let sandbox = Sandbox::new();
        for number in 0..10 {
            sandbox.write(format!("d{}/f{number}", number % 3), format!("content {number}"));
        }
        let before = sandbox.tree();
        std::thread::sleep(std::time::Duration::from_millis(50));
        let first = sandbox.save("first");
        let store = sandbox.store();
        let blob = sandbox.git_in_store(&["rev-parse", "timeline:d0/f0"]).trim().to_owned();
        let idx = idx_with(&store, &blob);
        damage(&idx.with_extension("pack"));
        assert_eq!(sandbox.ckpt("save").ok().id(), first);
        for path in ["d0", "d1", "d2"] {
            sandbox.remove(path);
        }
        let _ = sandbox.ckpt("reset").ok();
        assert_same(&before, &sandbox.tree());
        // The new pack takes the old one's place if it has its name, that is, its content. If not, stock git says of the
        // old one that it is damaged, whatever else holds its objects.
        let is_mended = fs::read(idx.with_extension("pack")).is_ok_and(|bytes| bytes.starts_with(b"PACK"));
        for extension in ["pack", "keep", "idx"].iter().filter(|_| !is_mended) {
            let _ = fs::remove_file(idx.with_extension(extension));
        }
    }
}

#[test]
fn three_workspaces_one_broken_c24() {
    let sandbox = Sandbox::new();
    sandbox.expect_damage();
    for name in ["one", "two", "three"] {
        sandbox.saved_workspace(name);
    }
    let store = sandbox.store_of("two").unwrap();
    for entry in fs::read_dir(&store).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { nul(&path) }
    }
    fs::write(store.join("config"), "[ckpt]\n\tformatVersion = 1\n").unwrap();
    let listed = sandbox.ckpt("workspaces").ok();
    assert!(listed.all().contains("one") && listed.all().contains("three"), "{listed}");
    let listed = sandbox.ckpt("workspaces -l").ok().says("broken").says(&store.file_name().unwrap().to_string_lossy());
    assert!(listed.all().contains("one") && listed.all().contains("three"), "{listed}");
    for name in ["one", "three"] {
        let dir = sandbox.root().join(name);
        let _ = sandbox.call(["-w", ".", "status", "--exit-code"]).dir(&dir).run().ok();
    }
    let output = sandbox.call(["-w", ".", "save"]).dir(sandbox.root().join("two")).run().exits(1);
    assert!(output.err().contains("two"), "{output}");
}

#[test]
fn a_pack_that_lost_its_idx_is_never_removed_x4() {
    let sandbox = Sandbox::new();
    sandbox.expect_damage();
    sandbox.write("a", "the only copy");
    sandbox.save("first");
    let blob = sandbox.git_in_store(&["rev-parse", "timeline:a"]).trim().to_owned();
    // No later save needs it, so that all of them come to their end.
    sandbox.write("a", "another");
    sandbox.save("second");
    let idx = idx_with(&sandbox.store(), &blob);
    let bytes = fs::read(idx.with_extension("pack")).unwrap();
    lose(&idx);
    // Merges, and the sweep after a crash, remove what has no idx for a reason.
    for number in 0..40 {
        sandbox.write("b", number.to_string());
        sandbox.save("later");
    }
    let packs = with_extension(&sandbox.store().join("objects/pack"), "idx");
    assert!(packs.len() < 40, "packs were merged: {packs:#?}");
    sandbox.write("b", "killed");
    let _ = sandbox.call(["save"]).fault(2, "kill").run().killed();
    let _ = sandbox.call(["save", "--always"]).run().ok();
    assert_eq!(fs::read(idx.with_extension("pack")).unwrap(), bytes);
}

/// Flips bits in the middle of the largest pack: in a file's content.
pub(crate) fn rot(sandbox: &Sandbox) {
    let packs = with_extension(&sandbox.store().join("objects/pack"), "pack");
    let pack = packs.into_iter().max_by_key(|pack| fs::metadata(pack).unwrap().len()).unwrap();
    let mut bytes = fs::read(&pack).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    fs::remove_file(&pack).unwrap();
    fs::write(pack, bytes).unwrap();
}

/// Writes `good` to a file, with flipped `bits` in the byte `at`.
pub(crate) fn flip(file: &Path, good: &[u8], at: usize, bits: u8) {
    let mut bytes = good.to_vec();
    bytes[at] ^= bits;
    fs::remove_file(file).unwrap();
    fs::write(file, bytes).unwrap();
}

pub(crate) fn noise() -> Vec<u8> {
    let mut state = 1_u32;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    (0..40_000).map(next).collect()
}

#[test]
fn every_byte_of_the_record_and_the_configuration_counts_c36() {
    let sandbox = Sandbox::new();
    sandbox.write("f", "one");
    let first = sandbox.save("first");
    for (file, save) in [("ckpt/worktree", "ls"), ("config", "save --always")] {
        let path = sandbox.store().join(file);
        let before = fs::read(&path).unwrap();
        for at in 0..before.len() {
            let mut bytes = before.clone();
            bytes[at] ^= 1;
            fs::write(&path, &bytes).unwrap();
            let output = sandbox.ckpt(save);
            // A version that is not ours cannot be told from a newer one.
            if output.code != Some(0) {
                assert!(output.all().contains("newer"), "{file}, byte {at}: {output}");
                fs::write(&path, &before).unwrap();
                continue;
            }
            let _ = sandbox.ckpt(&format!("show {first}")).ok();
            let _ = sandbox.ckpt("save --always").ok();
            assert_eq!(fs::read(&path).unwrap(), before, "{file}, byte {at}");
        }
    }
}

/// libgit2, which reads what our reader does not, goes to wherever an idx sends it, and died of a signal there.
#[test]
fn no_bit_of_an_idx_kills_a_reader_x4_s4() {
    let sandbox = Sandbox::new();
    sandbox.expect_damage();
    sandbox.write("a", "one");
    sandbox.save("first");
    sandbox.write("a", "two");
    sandbox.save("second");
    let patch = sandbox.ckpt("diff HEAD~1 HEAD").ok().stdout;
    for idx in with_extension(&sandbox.store().join("objects/pack"), "idx") {
        let good = fs::read(&idx).unwrap();
        let change = |bytes: &[u8]| {
            fs::remove_file(&idx).unwrap();
            fs::write(&idx, bytes).unwrap();
        };
        // Of the counts a few: most are the same. Of all else every byte.
        for at in (0..1032).step_by(97).chain(1032..good.len()) {
            let mut bytes = good.clone();
            bytes[at] ^= 1 << (at % 8);
            change(&bytes);
            let output = sandbox.ckpt("diff HEAD~1 HEAD");
            let is_right = match output.code {
                Some(0) => output.stdout == patch,
                code => code == Some(1),
            };
            assert!(is_right, "byte {at} of {}: {output}", idx.display());
        }
        change(&good);
    }
    assert_eq!(sandbox.ckpt("diff HEAD~1 HEAD").ok().stdout, patch);
}
