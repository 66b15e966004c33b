//! What a save knows from before: it is believed only where the store and the stat data bear it out, and no command fails for
//! want of it.

use std::fs;

use crate::damage::{cut, idx_with, lose, lose_pack, nul, with_extension};
use crate::mounts::with_mounts;
use crate::sandbox::{Sandbox, skip};

#[test]
fn lost_objects_are_written_again_although_the_cache_knows_them_l45() {
    // The pack itself, or the one into which it was merged since.
    for (damage, is_merged) in [nul, cut, lose].into_iter().flat_map(|damage| [(damage, false), (damage, true)]) {
        let sandbox = Sandbox::new();
        sandbox.expect_damage();
        for number in 0..10 {
            sandbox.write(format!("d{}/f{number}", number % 3), format!("content {number}"));
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
        sandbox.save("first");
        let store = sandbox.store();
        // The pack of the first save's files, not the one of its commits.
        let blob = sandbox.git_in_store(&["rev-parse", "timeline:d0/f0"]).trim().to_owned();
        let mut idx = idx_with(&store, &blob);
        if is_merged {
            let merged = idx.with_file_name(format!("pack-{}.idx", "a".repeat(40)));
            for extension in ["pack", "idx"] {
                fs::rename(idx.with_extension(extension), merged.with_extension(extension)).unwrap();
            }
            fs::remove_file(idx.with_extension("keep")).unwrap();
            let name = idx.file_stem().unwrap().to_str().unwrap().strip_prefix("pack-").unwrap();
            fs::write(merged.with_extension("keep"), format!("ckpt merged {name}\n")).unwrap();
            idx = merged;
        }
        damage(&idx.with_extension("pack"));
        // With an edit, with none but on demand, with none.
        let what = idx.display();
        for (edit, words) in [(true, "save"), (false, "save --always"), (false, "save")] {
            if edit {
                sandbox.write("new", "new");
            }
            let before = sandbox.tree();
            let second = sandbox.ckpt(words).ok().id();
            for path in ["d0", "d1", "d2"] {
                sandbox.remove(path);
            }
            let output = sandbox.ckpt(&format!("reset {second}")).ok();
            assert_eq!(before.differences(&sandbox.tree()), "", "{what}, {words}: {output}");
        }
    }
}

/// The file of changes is not looked at when the stat cache is written as a whole.
#[test]
fn a_new_stat_cache_ends_damage_to_the_changes_of_the_old_one_c36() {
    let sandbox = Sandbox::new();
    let edit_all = |content: &str| {
        for number in 0..160 {
            sandbox.write(format!("d{}/f{number}", number % 8), content);
        }
    };
    edit_all("one");
    // What is young is not trusted, and would be changed by the next save.
    std::thread::sleep(std::time::Duration::from_millis(60));
    sandbox.save("first");
    sandbox.write("d0/f0", "two");
    sandbox.save("second");
    let changes = sandbox.store().join("ckpt/stat-cache-changes");
    nul(&changes);
    edit_all("three");
    let third = sandbox.ckpt("save -m third").ok();
    assert!(third.err().contains("stat cache"), "{third}");
    let status = sandbox.ckpt("status").ok();
    assert!(!status.err().contains("stat cache"), "{status}");
    let _ = sandbox.ckpt("verify").ok();
    assert!(!changes.exists());
}

/// What differs from head only by what a rule leaves out is no checkpoint, and its trees are packed by nobody.
#[test]
fn a_save_that_packs_nothing_leaves_no_cache_of_what_it_saw_l45() {
    let sandbox = Sandbox::new();
    for number in 0..300 {
        sandbox.write(format!("a/f{number}"), "x");
    }
    sandbox.write("b/y", "y");
    sandbox.write("b/z", "z");
    sandbox.write(".gitignore", ".ckptignore\n");
    sandbox.save("first");
    sandbox.write(".ckptignore", "b/z\n");
    for number in 0..300 {
        sandbox.write(format!("a/f{number}"), "x");
    }
    std::thread::sleep(std::time::Duration::from_millis(60));
    let same = sandbox.ckpt("save -m second").ok();
    assert!(same.err().contains("nothing changed"), "{same}");
    let _ = sandbox.ckpt("status").ok();
    sandbox.write("b/y", "why");
    let _ = sandbox.ckpt("diff").ok();
    let third = sandbox.save("third");
    assert_eq!(sandbox.paths_in(&third).iter().filter(|path| path.starts_with("b/")).count(), 1);
}

/// The way from the tip to the operation that the cache was written for leads over one that is lost.
#[test]
fn a_lost_operation_costs_nobody_more_than_the_cache_c36() {
    let sandbox = Sandbox::new();
    sandbox.expect_damage();
    sandbox.write("n", "0");
    sandbox.write("d/f", "f");
    sandbox.save("first");
    sandbox.write("n", "1");
    let second = sandbox.save("second");
    let packs = || with_extension(&sandbox.store().join("objects/pack"), "pack");
    let mut of_second = Vec::new();
    // None of these writes a stat cache.
    for number in 2..5 {
        sandbox.write("n", number.to_string());
        let before = packs();
        let _ = sandbox.ckpt(&format!("rollback {second} n")).ok();
        if number == 3 {
            of_second = packs();
            of_second.retain(|pack| !before.contains(pack));
        }
    }
    for pack in of_second {
        lose_pack(&pack);
    }
    sandbox.write("d/new", "new");
    let status = sandbox.ckpt("status").ok();
    assert!(status.out().contains("d/new"), "{status}");
    let third = sandbox.save("third");
    sandbox.remove("d");
    let _ = sandbox.ckpt(&format!("reset {third}")).ok();
    assert_eq!((sandbox.text("d/f"), sandbox.text("d/new")), ("f".to_owned(), "new".to_owned()));
}

#[test]
fn a_directory_in_place_of_the_cache_is_mended_x4() {
    for name in ["stat-cache", "stat-cache-changes"] {
        let sandbox = Sandbox::new();
        for number in 0..20 {
            sandbox.write(format!("f{number}"), "one");
        }
        std::thread::sleep(std::time::Duration::from_millis(60));
        sandbox.save("first");
        sandbox.write("f0", "two");
        sandbox.save("second");
        let path = sandbox.store().join("ckpt").join(name);
        let _ = fs::remove_file(&path);
        fs::create_dir_all(path.join("below")).unwrap();
        let found = sandbox.ckpt("verify --repair").ok();
        assert!(found.out().contains(name), "{found}");
        assert!(!path.is_dir(), "{found}");
        let _ = sandbox.ckpt("verify").ok();
    }
}

/// A volume in the worktree may stamp its files in whole seconds while the disk of the store does not.
#[test]
fn an_edit_on_a_volume_with_a_coarse_clock_is_seen_c28() {
    let sandbox = Sandbox::new();
    let script = "
        mkdir w/m
        dd if=/dev/zero of=image bs=1M count=4 2> dd
        mke2fs -q -t ext2 -I 128 -F image > made 2>&1 || exit 0
        mount -o loop image w/m || exit 0
        rmdir w/m/lost+found
        for try in 1 2 3 4 5; do
            while [ $(date +%N | cut -c 1) != 1 ]; do sleep 0.02; done
            printf aaaa > w/m/f
            sleep 0.1
            $CKPT -w w save -q > saved
            before=$(stat -c %Y w/m/f)
            printf bbbb | dd of=w/m/f conv=notrunc 2> dd
            if [ $before = $(stat -c %Y w/m/f) ]; then break; fi
        done
        id=$($CKPT -w w save -q)
        rm w/m/f
        $CKPT -w w reset -q $id > restored
        cat w/m/f";
    match with_mounts(&sandbox, script).as_deref() {
        None => {}
        Some("") => skip("no file system with whole seconds can be made here"),
        Some(text) => assert_eq!(text, "bbbb"),
    }
}
