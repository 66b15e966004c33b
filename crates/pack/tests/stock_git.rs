//! Packs as stock git sees them. Needs `git` on the PATH.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ckpt_fs::{Dir, Durability};
use ckpt_pack::{
    Encoder, Error, Found, Header, KEEP_TEXT, Kind, Object, ObjectId, PackSet, PackWriter, Streamed, hash_object,
    keep_merged, merge, plan_merge, publish_all, remove_orphans, remove_packs,
};

/// A bare repository with a directory for temporary files.
struct Repo {
    temp: tempfile::TempDir,
}

impl Repo {
    fn new() -> Self {
        let repo = Self { temp: tempfile::tempdir().unwrap() };
        std::fs::create_dir(repo.temp.path().join("tmp")).unwrap();
        repo.git(&["init", "-q", "--bare", "repo"]);
        repo
    }

    fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    fn pack_path(&self) -> PathBuf {
        self.path("repo/objects/pack")
    }

    fn pack_dir(&self) -> Dir {
        Dir::open(&self.pack_path()).unwrap()
    }

    fn tmp_dir(&self) -> Dir {
        Dir::open(&self.path("tmp")).unwrap()
    }

    fn set(&self) -> PackSet {
        PackSet::open(self.pack_dir()).unwrap()
    }

    fn writer(&self) -> PackWriter {
        PackWriter::create(&self.tmp_dir(), "token", 1).unwrap()
    }

    /// Publishes one pack with these objects.
    fn save(&self, objects: &[(Kind, Vec<u8>)]) -> ObjectId {
        let mut writer = self.writer();
        let mut encoder = Encoder::new();
        for (kind, content) in objects {
            writer.add(&encoder.encode(hash_object(*kind, content).unwrap(), *kind, content)).unwrap();
        }
        let pack = writer.finish(KEEP_TEXT, Durability::Full).unwrap();
        pack.publish(&self.pack_dir(), Durability::Full).unwrap().name
    }

    /// Runs git without any configuration, in the temporary directory, and expects success.
    #[track_caller]
    fn git(&self, args: &[&str]) -> Vec<u8> {
        let output = git(self.temp.path()).args(args).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    /// All that stock git has to say about the packs, whose idx must be byte for byte what git would write.
    #[track_caller]
    fn check(&self) {
        for info in self.set().packs() {
            let pack = self.pack_path().join(format!("pack-{}.pack", info.name));
            let pack = pack.to_str().unwrap();
            let idx = self.path("git.idx");
            self.git(&["index-pack", "--strict", "-o", idx.to_str().unwrap(), pack]);
            self.git(&["verify-pack", "-v", pack]);
            let ours = std::fs::read(pack.replace(".pack", ".idx")).unwrap();
            assert!(ours == std::fs::read(&idx).unwrap(), "the idx of {pack} differs from git's");
            std::fs::remove_file(idx).unwrap();
        }
        self.git(&["--git-dir=repo", "fsck", "--full", "--strict"]);
        assert_eq!(std::fs::read_dir(self.path("tmp")).unwrap().count(), 0);
    }

    #[track_caller]
    fn check_object(&self, set: &PackSet, id: ObjectId, kind: Kind, content: &[u8]) {
        assert!(set.contains(&id).unwrap());
        let header = Header { kind, size: content.len() as u64 };
        assert_eq!(set.header(&id).unwrap(), Some(Found::Whole(header)));
        let read = set.read(&id).unwrap();
        assert!(read == Some(Found::Whole(Object { kind, content: content.to_vec() })), "{id} reads differently");
        let mut streamed = Vec::new();
        assert_eq!(set.stream(&id, &mut streamed).unwrap(), Some(Found::Whole(header)));
        assert!(streamed == content, "{id} streams differently");
        let git = self.git(&["--git-dir=repo", "cat-file", kind.as_str(), &id.to_string()]);
        assert!(git == content, "git reads {id} differently");
    }
}

fn git(dir: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(dir).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", dir).stdin(Stdio::null());
    command
}

/// Bytes that nothing compresses, the same in every run.
fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed * 2 + 1;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.wrapping_mul(0x2545_f491_4f6c_dd1d).to_be_bytes());
    }
    bytes.truncate(len);
    bytes
}

/// Text of about the entropy of a source file.
fn text(len: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(len + 64);
    for number in 0_u64.. {
        if bytes.len() >= len {
            break;
        }
        bytes.extend_from_slice(format!("let line_{number} = {:x};\n", number.wrapping_mul(0x9e37_79b9)).as_bytes());
    }
    bytes.truncate(len);
    bytes
}

/// A tree with one file, a commit of it, and a tag of that: one object of each kind, and all complete.
fn all_kinds(content: &[u8]) -> Vec<(Kind, Vec<u8>)> {
    let blob = hash_object(Kind::Blob, content).unwrap();
    let mut tree = b"100644 file\0".to_vec();
    tree.extend_from_slice(blob.as_bytes());
    let who = "ckpt <ckpt@localhost> 1700000000 +0000";
    let commit =
        format!("tree {}\nauthor {who}\ncommitter {who}\n\nmessage\n", hash_object(Kind::Tree, &tree).unwrap());
    let commit_id = hash_object(Kind::Commit, commit.as_bytes()).unwrap();
    let tag = format!("object {commit_id}\ntype commit\ntag v1\ntagger {who}\n\nmessage\n");
    vec![
        (Kind::Blob, content.to_vec()),
        (Kind::Tree, tree),
        (Kind::Commit, commit.into_bytes()),
        (Kind::Tag, tag.into_bytes()),
    ]
}

#[test]
fn objects_of_all_kinds_and_sizes_come_back() {
    let repo = Repo::new();
    let mut objects = all_kinds(b"content\n");
    objects.push((Kind::Tree, Vec::new()));
    for content in [Vec::new(), b"x".to_vec(), noise(1, 100), noise(2, 70_000), text(1 << 20), noise(3, 1 << 20)] {
        objects.push((Kind::Blob, content));
    }
    repo.save(&objects);
    repo.check();
    let set = repo.set();
    for (kind, content) in &objects {
        repo.check_object(&set, hash_object(*kind, content).unwrap(), *kind, content);
    }
    let absent = hash_object(Kind::Blob, b"absent").unwrap();
    assert!(!set.contains(&absent).unwrap());
    assert_eq!(set.header(&absent).unwrap(), None);
    assert_eq!(set.read(&absent).unwrap(), None);
    assert_eq!(set.stream(&absent, &mut io::sink()).unwrap(), None);
    let pack = set.packs()[0];
    assert_eq!(set.ids(&pack.name).unwrap().collect::<BTreeSet<_>>().len(), objects.len());
    assert!(pack.ours && pack.objects as usize == objects.len());
}

#[test]
fn large_content_is_streamed_and_comes_back() {
    let repo = Repo::new();
    let (mib, limit) = (1 << 20, 20 << 20);
    let half = [text(2 * mib), noise(9, 3 * mib)].concat();
    let contents =
        [noise(7, limit), text(limit + 1), half, text(mib), noise(8, mib + 1), text(2 * mib), Vec::new(), text(5)];
    let mut writer = repo.writer();
    for content in &contents {
        let id = hash_object(Kind::Blob, content).unwrap();
        let size = content.len() as u64;
        let mut reader = content.as_slice();
        assert_eq!(writer.add_stream(Kind::Blob, size, Some(id), &mut reader).unwrap(), Streamed::Written(id));
        assert!(writer.contains(&id));
        // A second time, unknown and known: nothing is added.
        let (objects, bytes) = (writer.len(), writer.bytes());
        let again = writer.add_stream(Kind::Blob, size, None, &mut content.as_slice()).unwrap();
        let known = writer.add_stream(Kind::Blob, size, Some(id), &mut io::empty()).unwrap();
        assert_eq!((again, known), (Streamed::Written(id), Streamed::Written(id)));
        assert_eq!((writer.len(), writer.bytes()), (objects, bytes));
    }
    let pack = writer.finish(KEEP_TEXT, Durability::None).unwrap();
    assert_eq!(pack.objects(), contents.len());
    let published = pack.publish(&repo.pack_dir(), Durability::None).unwrap();
    repo.check();
    let file = repo.pack_path().join(format!("pack-{}.pack", published.name));
    let meta = std::fs::metadata(file).unwrap();
    assert_eq!((meta.len(), meta.permissions().mode() & 0o7777), (published.bytes, 0o600));
    let set = repo.set();
    for content in &contents {
        repo.check_object(&set, hash_object(Kind::Blob, content).unwrap(), Kind::Blob, content);
    }
}

/// Fails after its bytes.
struct Failing<'a>(&'a [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(io::Error::other("unplugged")),
            read => Ok(read),
        }
    }
}

#[test]
fn content_that_changed_is_taken_back() {
    let repo = Repo::new();
    let first = (Kind::Blob, text(9 << 20));
    let mut writer = repo.writer();
    let (kind, content) = &first;
    writer.add_stream(*kind, content.len() as u64, None, &mut content.as_slice()).unwrap();
    let before = (writer.len(), writer.bytes());
    for content in [noise(1, 10 << 20), text(12 << 20), text(1000)] {
        let len = content.len() as u64;
        let id = hash_object(Kind::Blob, &content).unwrap();
        let mut stream = |size: u64, expected, reader: &mut dyn Read| {
            let outcome = writer.add_stream(Kind::Blob, size, expected, reader);
            assert_eq!((writer.len(), writer.bytes()), before);
            outcome
        };
        let early = stream(len + 1, Some(id), &mut content.as_slice()).unwrap();
        assert_eq!(early, Streamed::Changed { bytes: len, id: None });
        let late = stream(len - 1, None, &mut content.as_slice()).unwrap();
        assert_eq!(late, Streamed::Changed { bytes: len, id: None });
        let other = stream(len, Some(ObjectId::ZERO), &mut content.as_slice()).unwrap();
        assert_eq!(other, Streamed::Changed { bytes: len, id: Some(id) });
        let failed = stream(len + 1, None, &mut Failing(&content)).unwrap_err();
        assert!(matches!(failed, Error::Source { source } if source.to_string() == "unplugged"));
    }
    // What comes after is written over what was taken back.
    let small = text(3000);
    let small_id = hash_object(Kind::Blob, &small).unwrap();
    writer.add(&Encoder::new().encode(small_id, Kind::Blob, &small)).unwrap();
    writer.finish(KEEP_TEXT, Durability::Full).unwrap().publish(&repo.pack_dir(), Durability::Full).unwrap();
    repo.check();
    let set = repo.set();
    repo.check_object(&set, small_id, Kind::Blob, &small);
    repo.check_object(&set, hash_object(Kind::Blob, content).unwrap(), Kind::Blob, content);
}

#[test]
fn what_is_not_published_leaves_nothing() {
    let repo = Repo::new();
    let content = noise(4, 9 << 20);
    for way in 0..3 {
        let mut writer = repo.writer();
        writer.add_stream(Kind::Blob, content.len() as u64, None, &mut content.as_slice()).unwrap();
        match way {
            0 => drop(writer),
            1 => drop(writer.finish(KEEP_TEXT, Durability::None).unwrap()),
            _ => writer.finish(KEEP_TEXT, Durability::None).unwrap().discard().unwrap(),
        }
        repo.check();
        assert_eq!(std::fs::read_dir(repo.pack_path()).unwrap().count(), 0);
    }
}

#[test]
fn an_empty_pack_is_a_pack() {
    let repo = Repo::new();
    let name = repo.save(&[]);
    assert_eq!(repo.set().packs().len(), 1);
    assert_eq!(repo.set().ids(&name).unwrap().count(), 0);
    repo.check();
}

#[test]
fn several_packs_are_published_in_order_and_the_same_twice() {
    let repo = Repo::new();
    let mut packs = Vec::new();
    for number in 0..3_u32 {
        let mut writer = PackWriter::create(&repo.tmp_dir(), "t", number).unwrap();
        let content = number.to_be_bytes();
        let id = hash_object(Kind::Blob, &content).unwrap();
        writer.add(&Encoder::new().encode(id, Kind::Blob, &content)).unwrap();
        packs.push(writer.finish(KEEP_TEXT, Durability::Full).unwrap());
    }
    let published = publish_all(packs, &repo.pack_dir(), Durability::Full).unwrap();
    let blob = (Kind::Blob, 1_u32.to_be_bytes().to_vec());
    assert_eq!(repo.save(std::slice::from_ref(&blob)), published[1].name);
    assert_eq!(repo.set().packs().len(), 3);
    // A damaged pack is replaced by a good one of the same name.
    let path = repo.pack_path().join(format!("pack-{}.pack", published[1].name));
    std::fs::write(&path, b"").unwrap();
    assert_eq!(repo.set().packs().len(), 2);
    repo.save(&[blob]);
    assert_eq!(repo.set().packs().len(), 3);
    repo.check();
}

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
    let reader = repo.set();
    let plan = plan_merge(&set.packs());
    assert_eq!(plan.len(), 9);
    let merged = merge(&set, &plan, &repo.tmp_dir(), "m", 0, Durability::Full).unwrap();
    let merged = merged.publish(&repo.pack_dir(), Durability::Full).unwrap();
    assert_eq!(merged.objects, 9 * 5 + 1);
    repo.check();
    assert_eq!(keep_merged(&repo.pack_dir()).unwrap().len(), 9);
    assert_eq!(remove_packs(&repo.pack_dir(), &plan, Durability::Full).unwrap(), plan);
    repo.check();
    // `reader` knew only the packs that are gone.
    for (kind, content) in &all {
        repo.check_object(&reader, hash_object(*kind, content).unwrap(), *kind, content);
    }
    assert_eq!(reader.packs().len(), 1);
    set.refresh().unwrap();
    // Merging with a further pack keeps the names of all.
    let more = repo.save(&[(Kind::Blob, b"more".to_vec())]);
    set.refresh().unwrap();
    let names = [merged.name, more];
    let second = merge(&set, &names, &repo.tmp_dir(), "m", 1, Durability::Full).unwrap();
    let second = second.publish(&repo.pack_dir(), Durability::Full).unwrap();
    assert_eq!(remove_packs(&repo.pack_dir(), &names, Durability::Full).unwrap(), names);
    assert_eq!(keep_merged(&repo.pack_dir()).unwrap().len(), 11);
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
    assert_eq!(keep_merged(&repo.pack_dir()).unwrap(), [small]);
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
fn a_damaged_pack_is_absent_or_says_so() {
    let repo = Repo::new();
    let content = noise(5, 50_000);
    let id = hash_object(Kind::Blob, &content).unwrap();
    let name = repo.save(&[(Kind::Blob, content)]);
    let path = repo.pack_path().join(format!("pack-{name}.pack"));
    let good = std::fs::read(&path).unwrap();

    // A flipped bit in the middle: seen when the object is read, and when it is merged.
    let mut flipped = good.clone();
    flipped[20_000] ^= 1;
    std::fs::write(&path, &flipped).unwrap();
    let set = repo.set();
    let is_damaged =
        |err: &Error| matches!(err, Error::Damaged { pack, id: Some(at), .. } if (*pack, *at) == (name, id));
    assert!(set.contains(&id).unwrap());
    assert!(is_damaged(&set.read(&id).unwrap_err()));
    assert!(is_damaged(&set.stream(&id, &mut io::sink()).unwrap_err()));
    assert!(is_damaged(&merge(&set, &[name], &repo.tmp_dir(), "m", 0, Durability::None).unwrap_err()));
    assert_eq!(std::fs::read_dir(repo.path("tmp")).unwrap().count(), 0);

    // Another good copy is the answer.
    std::fs::write(&path, &good).unwrap();
    let content = noise(5, 50_000);
    repo.save(&[(Kind::Blob, content.clone()), (Kind::Blob, b"other".to_vec())]);
    std::fs::write(&path, &flipped).unwrap();
    let set = repo.set();
    assert_eq!(set.packs().len(), 2);
    assert!(set.read(&id).unwrap() == Some(Found::Whole(Object { kind: Kind::Blob, content })));

    // Cut short, or gone, or an idx of nonsense: the pack is not there.
    let idx = path.with_extension("idx");
    for damage in 0..4 {
        std::fs::write(&path, &good).unwrap();
        match damage {
            0 => std::fs::write(&path, &good[..good.len() - 1]).unwrap(),
            1 => std::fs::write(&path, &good[..10]).unwrap(),
            2 => std::fs::remove_file(&path).unwrap(),
            _ => std::fs::write(&idx, [0; 2000]).unwrap(),
        }
        let set = repo.set();
        assert_eq!(set.packs().len(), 1, "damage {damage}");
        assert_eq!(set.damaged().iter().map(|problem| problem.name).collect::<Vec<_>>(), [name]);
        assert!(!set.damaged()[0].reason.is_empty());
    }
}

#[test]
fn what_an_interrupted_publish_or_removal_left_is_removed_and_nothing_else() {
    let repo = Repo::new();
    let whole = repo.save(&[(Kind::Blob, b"whole".to_vec())]);
    let orphan = repo.save(&[(Kind::Blob, b"orphan".to_vec())]);
    let bare_keep = repo.save(&[(Kind::Blob, b"keep".to_vec())]);
    let file = |name: ObjectId, extension: &str| repo.pack_path().join(format!("pack-{name}.{extension}"));
    std::fs::remove_file(file(orphan, "idx")).unwrap();
    std::fs::remove_file(file(bare_keep, "idx")).unwrap();
    std::fs::remove_file(file(bare_keep, "pack")).unwrap();
    let strangers = [(ObjectId::ZERO, "pack"), (ObjectId::EMPTY_TREE, "pack"), (ObjectId::EMPTY_TREE, "keep")];
    for (name, extension) in strangers {
        std::fs::write(file(name, extension), "receive-pack 7 on host\n").unwrap();
    }
    assert_eq!(remove_orphans(&repo.pack_dir(), Durability::Full).unwrap().len(), 2);
    assert_eq!(remove_orphans(&repo.pack_dir(), Durability::Full).unwrap().len(), 0);
    assert_eq!(std::fs::read_dir(repo.pack_path()).unwrap().count(), 3 + strangers.len());
    assert_eq!(repo.set().packs()[0].name, whole);
}

/// Any single wrong byte in an idx or pack is an answer or an error: never a panic, never wrong content.
#[test]
fn no_wrong_byte_gives_wrong_content() {
    let repo = Repo::new();
    let content = text(300);
    let id = hash_object(Kind::Blob, &content).unwrap();
    let name = repo.save(&[(Kind::Blob, content.clone()), (Kind::Tree, Vec::new())]);
    for extension in ["idx", "pack"] {
        let path = repo.pack_path().join(format!("pack-{name}.{extension}"));
        let good = std::fs::read(&path).unwrap();
        let stop = good.len();
        // Of the fanout, a sample: 256 equal counts.
        for at in (0..stop).filter(|at| extension == "pack" || !(40..1000).contains(at)) {
            for value in [0x00, 0x7f, 0xff, good[at] ^ 1] {
                let mut wrong = good.clone();
                wrong[at] = value;
                std::fs::write(&path, &wrong).unwrap();
                let set = repo.set();
                if let Ok(Some(found)) = set.read(&id) {
                    let whole = Found::Whole(Object { kind: Kind::Blob, content: content.clone() });
                    assert!(found == whole || found == Found::Deltified, "byte {at} of {extension}");
                }
                let mut streamed = Vec::new();
                if let Ok(Some(Found::Whole(_))) = set.stream(&id, &mut streamed) {
                    assert_eq!(streamed, content);
                }
                let _ = merge(&set, &[name], &repo.tmp_dir(), "m", 0, Durability::None);
            }
        }
        std::fs::write(&path, &good).unwrap();
    }
    repo.check();
}
