//! Packs read from end to end, whole and damaged, ours and those of stock git. Needs `git` on the PATH.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use ckpt_fs::{Dir, Durability};
use ckpt_pack::{Encoder, Found, KEEP_TEXT, Kind, ObjectId, PackSet, PackWriter, Scan, hash_object, pack_names};

struct Repo(tempfile::TempDir);

impl Repo {
    fn new() -> Self {
        let repo = Self(tempfile::tempdir().unwrap());
        fs::create_dir(repo.0.path().join("tmp")).unwrap();
        repo.git(&["init", "-q", "--bare", "."]);
        repo
    }

    fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git").arg("--git-dir=.").args(args).current_dir(self.0.path()).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn dir(&self, path: &str) -> Dir {
        Dir::open(&self.0.path().join(path)).unwrap()
    }

    fn packs(&self) -> Dir {
        self.dir("objects/pack")
    }

    fn file(&self, name: &ObjectId, extension: &str) -> PathBuf {
        self.0.path().join(format!("objects/pack/pack-{name}.{extension}"))
    }

    /// Publishes a pack of `count` blobs that resemble each other.
    fn save(&self, count: usize) -> (ObjectId, Vec<ObjectId>) {
        let mut writer = PackWriter::create(&self.dir("tmp"), "token", 1).unwrap();
        let mut encoder = Encoder::new();
        let mut ids = Vec::new();
        for number in 0..count {
            let line = |line: usize| format!("line {line} of all of them, {}\n", line * line * 7919 % 10_007);
            let content = (0..200 + number).map(line).collect::<String>();
            let id = hash_object(Kind::Blob, content.as_bytes()).unwrap();
            writer.add(&encoder.encode(id, Kind::Blob, content.as_bytes())).unwrap();
            ids.push(id);
        }
        let pack =
            writer.finish(KEEP_TEXT, Durability::Full).unwrap().publish(&self.packs(), Durability::Full).unwrap();
        (pack.name, ids)
    }

    /// Lets stock git make a pack with deltas of everything, and only that.
    fn repack(&self) -> ObjectId {
        for name in pack_names(&self.packs()).unwrap() {
            let _ = fs::remove_file(self.file(&name, "keep"));
        }
        let tree: String = PackSet::open(self.packs())
            .unwrap()
            .packs()
            .iter()
            .flat_map(|pack| PackSet::open(self.packs()).unwrap().ids(&pack.name).unwrap().collect::<Vec<_>>())
            .map(|id| format!("100644 blob {id}\tf{id}\n"))
            .collect();
        fs::write(self.0.path().join("tree"), tree).unwrap();
        let tree = Command::new("sh")
            .args(["-c", "git --git-dir=. mktree < tree"])
            .current_dir(self.0.path())
            .output()
            .unwrap();
        let tree = String::from_utf8(tree.stdout).unwrap();
        let who = ["-c", "user.name=a", "-c", "user.email=b", "commit-tree", "-m", "all", tree.trim()];
        let commit = self.git(&who);
        self.git(&["update-ref", "refs/heads/main", commit.trim()]);
        self.git(&["repack", "-q", "-a", "-d", "-f", "--depth=50"]);
        let names = pack_names(&self.packs()).unwrap();
        assert_eq!(names.len(), 1);
        names[0]
    }

    fn scan(&self, name: ObjectId) -> Scan {
        Scan::of(&self.packs(), name, 2, &|_| None).unwrap()
    }

    /// Copies everything that a scan finds into a new pack, and leaves only that.
    fn salvage(&self, scan: &Scan, old: ObjectId) -> ObjectId {
        let mut writer = PackWriter::create(&self.dir("tmp"), "token", 2).unwrap();
        scan.copy_into(&mut writer, &|_| true, &|_| None).unwrap();
        let pack = writer.finish(KEEP_TEXT, Durability::Full).unwrap();
        for extension in ["idx", "pack", "keep", "rev"] {
            let _ = fs::remove_file(self.file(&old, extension));
        }
        pack.publish(&self.packs(), Durability::Full).unwrap().name
    }
}

fn sorted(ids: impl IntoIterator<Item = ObjectId>) -> BTreeSet<ObjectId> {
    ids.into_iter().collect()
}

#[test]
fn a_whole_pack_is_whole_and_an_idx_is_made_again() {
    for repacked in [false, true] {
        let repo = Repo::new();
        let (mut name, mut ids) = repo.save(100);
        if repacked {
            name = repo.repack();
            ids = PackSet::open(repo.packs()).unwrap().ids(&name).unwrap().collect();
            assert!(
                repo.git(&["verify-pack", "-v", &format!("objects/pack/pack-{name}.idx")]).contains("chain length")
            );
        }
        let scan = repo.scan(name);
        assert_eq!((scan.pack_damage(), scan.idx_damage()), (&[][..], &[][..]));
        assert_eq!(sorted(scan.ids()), sorted(ids.iter().copied()));
        let before = fs::read(repo.file(&name, "idx")).unwrap();
        for spoil in ["missing", "cut", "flipped"] {
            let mut idx = before.clone();
            fs::set_permissions(repo.file(&name, "idx"), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
            match spoil {
                "missing" => fs::remove_file(repo.file(&name, "idx")).unwrap(),
                "cut" => fs::write(repo.file(&name, "idx"), &idx[..700]).unwrap(),
                _ => {
                    idx[1100] ^= 4;
                    fs::write(repo.file(&name, "idx"), &idx).unwrap();
                }
            }
            let scan = repo.scan(name);
            assert!(scan.pack_damage().is_empty(), "{spoil}: {:?}", scan.pack_damage());
            assert_eq!(scan.idx_damage().len(), 1, "{spoil}: {:?}", scan.idx_damage());
            scan.write_idx(&repo.packs(), &repo.dir("tmp"), "token", 3, Durability::Full).unwrap();
            assert_eq!(fs::read(repo.file(&name, "idx")).unwrap(), before, "{spoil}");
            // With deltas it is stock git's, and is read as such.
            assert_eq!(repo.file(&name, "keep").exists(), !repacked);
            let set = PackSet::open(repo.packs()).unwrap();
            for id in &ids {
                let found = set.read(id).unwrap();
                let is_read = match found {
                    Some(Found::Whole(_)) => true,
                    Some(Found::Deltified) => repacked,
                    None => false,
                };
                assert!(is_read, "{spoil}: {id}");
            }
            repo.git(&["fsck", "--full", "--strict"]);
        }
    }
}

#[test]
fn damage_to_one_entry_hides_no_other() {
    for (repacked, with_idx) in [(false, true), (false, false), (true, true), (true, false)] {
        let repo = Repo::new();
        let (mut name, mut ids) = repo.save(60);
        if repacked {
            name = repo.repack();
            ids = PackSet::open(repo.packs()).unwrap().ids(&name).unwrap().collect();
        }
        let mut bytes = fs::read(repo.file(&name, "pack")).unwrap();
        // In a pack with deltas the bases come first: what is damaged at the end is a base for few.
        let at = bytes.len() - 200;
        bytes[at] ^= 0x10;
        fs::remove_file(repo.file(&name, "pack")).unwrap();
        fs::write(repo.file(&name, "pack"), &bytes).unwrap();
        if !with_idx {
            fs::remove_file(repo.file(&name, "idx")).unwrap();
        }
        let scan = repo.scan(name);
        let what = format!("repacked {repacked}, idx {with_idx}: {:?}", scan.pack_damage());
        assert!(scan.pack_damage().len() >= 2, "an entry and the checksum; {what}");
        let found = sorted(scan.ids());
        assert!(found.is_subset(&sorted(ids.iter().copied())), "{what}");
        assert!(found.len() + 3 >= ids.len() && found.len() < ids.len(), "{} of {}; {what}", found.len(), ids.len());
        let named = scan.pack_damage().iter().filter(|damage| damage.id.is_some()).count();
        assert_eq!(named > 0, with_idx, "{what}");
        let salvaged = repo.salvage(&scan, name);
        assert_eq!(sorted(PackSet::open(repo.packs()).unwrap().ids(&salvaged).unwrap()), found, "{what}");
        repo.git(&["verify-pack", &format!("objects/pack/pack-{salvaged}.idx")]);
    }
}

#[test]
fn a_cut_or_zeroed_pack_gives_what_is_left() {
    for spoil in ["cut", "zero", "empty", "head"] {
        let repo = Repo::new();
        let (name, ids) = repo.save(40);
        let mut bytes = fs::read(repo.file(&name, "pack")).unwrap();
        let half = bytes.len() / 2;
        match spoil {
            "cut" => bytes.truncate(half),
            "zero" => bytes[half..].fill(0),
            "empty" => bytes.clear(),
            _ => bytes[..12].fill(0),
        }
        fs::remove_file(repo.file(&name, "pack")).unwrap();
        fs::write(repo.file(&name, "pack"), &bytes).unwrap();
        for with_idx in [true, false] {
            if !with_idx {
                fs::remove_file(repo.file(&name, "idx")).unwrap();
            }
            let scan = repo.scan(name);
            assert!(!scan.pack_damage().is_empty(), "{spoil}");
            let found = scan.ids().count();
            let expected = match spoil {
                "empty" => 0..=0,
                "head" => ids.len()..=ids.len(),
                _ => 10..=30,
            };
            assert!(expected.contains(&found), "{spoil}, idx {with_idx}: {found}");
            assert!(sorted(scan.ids()).is_subset(&sorted(ids.iter().copied())), "{spoil}");
        }
    }
}

#[test]
fn a_whole_copy_is_streamed_before_a_damaged_one() {
    let repo = Repo::new();
    let (first, ids) = repo.save(3);
    repo.save(2);
    let set = PackSet::open(repo.packs()).unwrap();
    let mut bytes = fs::read(repo.file(&first, "pack")).unwrap();
    bytes[60] ^= 0x10;
    fs::remove_file(repo.file(&first, "pack")).unwrap();
    fs::write(repo.file(&first, "pack"), &bytes).unwrap();
    set.refresh().unwrap();
    assert_eq!(set.packs()[0].name, first, "it is asked first");
    let mut content = Vec::new();
    set.stream(&ids[0], &mut content).unwrap().unwrap();
    assert_eq!(hash_object(Kind::Blob, &content).unwrap(), ids[0]);
}
