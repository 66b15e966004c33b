//! Merging and removing packs: no object goes, and no pack that is not ours.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::Stdio;

use ckpt_fs::Durability;
use ckpt_pack::{
    Error, Found, KEEP_TEXT, Kind, ObjectId, PackSet, hash_object, merge, plan_merge, remove_packs, settle_orphans,
};

use crate::repo::{Repo, all_kinds, git, noise, text};

#[test]
fn merged_packs_hold_all_objects_and_replace_the_others() {
    let repo = Repo::new();
    let mut all = Vec::new();
    for number in 0..9_u64 {
        let mut objects = all_kinds(&text(1000 * (number as usize + 1)));
        objects.push((Kind::Blob, noise(number, 5000)));
        // One object that is in every pack.
        objects.push((Kind::Tree, Vec::new()));
        repo.save(&objects);
        all.extend(objects);
    }
    let set = repo.set();
    let (reader, searcher) = (repo.set(), repo.set());
    let plan = plan_merge(&set.packs());
    assert_eq!(plan.len(), 9);
    let merged = merge(&set, &plan, &repo.tmp_dir(), "m", 0, Durability::Full).unwrap();
    let merged = merged.publish(&repo.pack_dir(), Durability::Full).unwrap();
    assert_eq!(merged.objects, 9 * 5 + 1);
    repo.check();
    assert_eq!(repo.set().merged().unwrap().len(), 9);
    assert_eq!(remove_packs(&repo.pack_dir(), &plan, Durability::Full).unwrap(), plan);
    repo.check();
    // `reader` knew only the packs that are gone.
    for (kind, content) in &all {
        repo.check_object(&reader, hash_object(*kind, content).unwrap(), *kind, content);
    }
    assert_eq!(reader.packs().len(), 1);
    assert_eq!(searcher.ids_where(|_| true).unwrap().len(), merged.objects);
    set.refresh().unwrap();
    // Merging with a further pack keeps the names of all.
    let more = repo.save(&[(Kind::Blob, b"more".to_vec())]);
    set.refresh().unwrap();
    let names = [merged.name, more];
    let second = merge(&set, &names, &repo.tmp_dir(), "m", 1, Durability::Full).unwrap();
    let second = second.publish(&repo.pack_dir(), Durability::Full).unwrap();
    assert_eq!(remove_packs(&repo.pack_dir(), &names, Durability::Full).unwrap(), names);
    assert_eq!(repo.set().merged().unwrap().len(), 11);
    set.refresh().unwrap();
    assert_eq!(set.packs().iter().map(|pack| pack.name).collect::<Vec<_>>(), [second.name]);
    repo.check();
}

/// Merging a pack with one whose objects it holds makes a pack of the same content, hence of the same name.
#[test]
fn a_merge_that_gives_one_of_its_sources_does_not_remove_it() {
    let repo = Repo::new();
    let large = repo.save(&[(Kind::Blob, b"one".to_vec()), (Kind::Blob, b"two".to_vec())]);
    let small = repo.save(&[(Kind::Blob, b"one".to_vec())]);
    let set = repo.set();
    let names = [large, small];
    let merged = merge(&set, &names, &repo.tmp_dir(), "m", 0, Durability::Full).unwrap();
    let merged = merged.publish(&repo.pack_dir(), Durability::Full).unwrap();
    assert_eq!(merged.name, large);
    assert_eq!(remove_packs(&repo.pack_dir(), &names, Durability::Full).unwrap(), [small]);
    assert_eq!(repo.set().packs().len(), 1);
    // Saving the same content once more does not forget what the pack replaced.
    repo.save(&[(Kind::Blob, b"one".to_vec()), (Kind::Blob, b"two".to_vec())]);
    assert_eq!(repo.set().merged().unwrap(), [small]);
    repo.check();
}

#[test]
fn packs_of_others_are_read_and_neither_merged_nor_removed() {
    let repo = Repo::new();
    // Stock git makes deltas of these.
    let base = text(20_000);
    let contents: Vec<Vec<u8>> = (0..4).map(|n| [&base[..], format!("end {n}\n").as_bytes()].concat()).collect();
    let mut ids = String::new();
    for content in &contents {
        let mut child = git(repo.temp.path())
            .args(["--git-dir=repo", "hash-object", "-w", "--stdin"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(content).unwrap();
        ids += std::str::from_utf8(&child.wait_with_output().unwrap().stdout).unwrap();
    }
    let mut child = git(repo.temp.path())
        .args(["--git-dir=repo", "pack-objects", "-q", "repo/objects/pack/pack"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(ids.as_bytes()).unwrap();
    let name = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let name: ObjectId = name.trim().parse().unwrap();
    let set = repo.set();
    let ids: Vec<ObjectId> = ids.lines().map(|id| id.parse().unwrap()).collect();
    let answers: Vec<_> = ids.iter().map(|id| set.read(id).unwrap().unwrap()).collect();
    assert_eq!(answers.iter().filter(|answer| **answer == Found::Deltified).count(), 3);
    assert!(ids.iter().all(|id| set.contains(id).unwrap()));
    let merge = |set: &PackSet| merge(set, &[name], &repo.tmp_dir(), "m", 0, Durability::None);
    assert!(matches!(merge(&set), Err(Error::Unmergeable { .. })));
    assert!(!set.packs()[0].ours);
    assert_eq!(remove_packs(&repo.pack_dir(), &[name], Durability::None).unwrap(), []);
    // Even one that somebody gave our mark cannot be copied entry by entry.
    std::fs::write(repo.pack_path().join(format!("pack-{name}.keep")), KEEP_TEXT).unwrap();
    assert!(matches!(merge(&repo.set()), Err(Error::Unmergeable { .. })));
    assert_eq!(remove_packs(&repo.pack_dir(), &[name], Durability::None).unwrap(), []);
    assert!(matches!(set.ids(&ObjectId::ZERO).map(|_| ()), Err(Error::UnknownPack { .. })));
}

#[test]
fn what_an_interrupted_publish_or_removal_left_is_settled_and_nothing_else() {
    let repo = Repo::new();
    let whole = repo.save(&[(Kind::Blob, b"whole".to_vec())]);
    let orphan = repo.save(&[(Kind::Blob, b"orphan".to_vec())]);
    let bare_keep = repo.save(&[(Kind::Blob, b"keep".to_vec())]);
    let torn_keep = repo.save(&[(Kind::Blob, b"torn".to_vec())]);
    let file = |name: ObjectId, extension: &str| repo.pack_path().join(format!("pack-{name}.{extension}"));
    std::fs::rename(file(orphan, "idx"), repo.path("tmp/tmp-token-9.idx")).unwrap();
    let lost_its_idx = repo.save(&[(Kind::Blob, b"the only copy".to_vec())]);
    // Begun anew by a repair, which did not come to its end.
    std::fs::rename(file(lost_its_idx, "idx"), repo.path("tmp/tmp-token-9.idx-again")).unwrap();
    for name in [bare_keep, torn_keep] {
        std::fs::remove_file(file(name, "idx")).unwrap();
        std::fs::remove_file(file(name, "pack")).unwrap();
    }
    std::fs::write(file(torn_keep, "keep"), "ck").unwrap();
    let strangers = [(ObjectId::ZERO, "pack"), (ObjectId::EMPTY_TREE, "pack"), (ObjectId::EMPTY_TREE, "keep")];
    for (name, extension) in strangers {
        std::fs::write(file(name, extension), "receive-pack 7 on host\n").unwrap();
    }
    let removed = settle_orphans(&repo.pack_dir(), &repo.tmp_dir(), Durability::Full).unwrap();
    assert_eq!(BTreeSet::from_iter(removed), BTreeSet::from([bare_keep, torn_keep]));
    assert_eq!(settle_orphans(&repo.pack_dir(), &repo.tmp_dir(), Durability::Full).unwrap(), []);
    let wholes =
        [whole, orphan].into_iter().flat_map(|name| ["keep", "pack", "idx"].map(|extension| (name, extension)));
    let lost = ["keep", "pack"].map(|extension| (lost_its_idx, extension));
    for (name, extension) in wholes.chain(lost).chain(strangers) {
        assert!(file(name, extension).exists(), "{name}.{extension}");
    }
    assert_eq!(std::fs::read_dir(repo.pack_path()).unwrap().count(), 8 + strangers.len());
    let readable: BTreeSet<_> = repo.set().packs().iter().map(|pack| pack.name).collect();
    assert_eq!(readable, BTreeSet::from([whole, orphan]));
}

#[test]
fn a_removal_goes_on_where_a_power_cut_tore_the_keep_x4() {
    for torn in [&b""[..], b"ck", b"\0\0\0\0\0"] {
        let repo = Repo::new();
        let old = [repo.save(&[(Kind::Blob, b"one".to_vec())]), repo.save(&[(Kind::Blob, b"two".to_vec())])];
        let merged = merge(&repo.set(), &old, &repo.tmp_dir(), "m", 0, Durability::None).unwrap();
        let merged = merged.publish(&repo.pack_dir(), Durability::None).unwrap().name;
        let file = |extension: &str| repo.pack_path().join(format!("pack-{}.{extension}", old[0]));
        std::fs::remove_file(file("idx")).unwrap();
        std::fs::write(file("keep"), torn).unwrap();
        assert_eq!(settle_orphans(&repo.pack_dir(), &repo.tmp_dir(), Durability::Full).unwrap(), [old[0]], "{torn:?}");
        assert!(!file("pack").exists() && !file("keep").exists());
        let readable: BTreeSet<_> = repo.set().packs().iter().map(|pack| pack.name).collect();
        assert_eq!(readable, BTreeSet::from([merged, old[1]]));
    }
}

#[test]
fn a_removal_does_not_go_on_where_what_holds_all_of_it_is_damaged_x4() {
    let damages: [fn(&mut Vec<u8>); 3] = [|pack| pack.truncate(100), |pack| pack[20] ^= 1, |pack| pack[0] = 0];
    for damage in damages {
        let repo = Repo::new();
        let old = [repo.save(&[(Kind::Blob, text(500))]), repo.save(&[(Kind::Blob, b"two".to_vec())])];
        let merged = merge(&repo.set(), &old, &repo.tmp_dir(), "m", 0, Durability::None).unwrap();
        let merged = merged.publish(&repo.pack_dir(), Durability::None).unwrap().name;
        let file = |name: ObjectId, extension: &str| repo.pack_path().join(format!("pack-{name}.{extension}"));
        std::fs::remove_file(file(old[0], "idx")).unwrap();
        let mut pack = std::fs::read(file(merged, "pack")).unwrap();
        damage(&mut pack);
        std::fs::remove_file(file(merged, "pack")).unwrap();
        std::fs::write(file(merged, "pack"), pack).unwrap();
        assert_eq!(settle_orphans(&repo.pack_dir(), &repo.tmp_dir(), Durability::Full).unwrap(), []);
        assert!(file(old[0], "pack").exists() && file(old[0], "keep").exists());
    }
}
