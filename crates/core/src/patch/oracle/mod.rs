//! Patches held against stock git: byte for byte with its own, and applied by it in both directions.

mod cases;
mod random;
mod repo;

use std::collections::{BTreeMap, BTreeSet};

use ckpt_pack::ObjectId;

use self::repo::Repo;
use super::{LineCounts, Side, write_patch};

const FILE: u32 = 0o100_644;
const EXECUTABLE: u32 = 0o100_755;
const LINK: u32 = 0o120_000;

const PATCH: &[&str] = &["--full-index", "--binary"];
const APPLY: &[&str] = &["apply", "--whitespace=nowarn"];
const APPLY_REVERSE: &[&str] = &["apply", "--whitespace=nowarn", "-R"];

/// A file or link: mode and content.
type Entry = (u32, Vec<u8>);

/// Files of a directory by path.
type Files = BTreeMap<Vec<u8>, Entry>;

fn file(content: impl AsRef<[u8]>) -> Option<Entry> {
    Some((FILE, content.as_ref().to_vec()))
}

fn executable(content: impl AsRef<[u8]>) -> Option<Entry> {
    Some((EXECUTABLE, content.as_ref().to_vec()))
}

fn link(target: impl AsRef<[u8]>) -> Option<Entry> {
    Some((LINK, target.as_ref().to_vec()))
}

/// Two states of a directory.
#[derive(Default)]
struct Change {
    old: Files,
    new: Files,
}

impl Change {
    fn path(&mut self, path: impl AsRef<[u8]>, old: Option<Entry>, new: Option<Entry>) {
        let path = path.as_ref();
        self.old.extend(old.map(|entry| (path.to_vec(), entry)));
        self.new.extend(new.map(|entry| (path.to_vec(), entry)));
    }

    /// The same change the other way round.
    fn back(&self) -> Self {
        Self { old: self.new.clone(), new: self.old.clone() }
    }

    /// Our patch of all paths in Git's order, with the counts that each path got.
    fn patch(&self) -> (Vec<u8>, BTreeMap<Vec<u8>, LineCounts>) {
        let mut out = Vec::new();
        let mut counts = BTreeMap::new();
        let paths: BTreeSet<_> = self.old.keys().chain(self.new.keys()).collect();
        for path in paths {
            let old = self.old.get(path).map(side);
            let new = self.new.get(path).map(side);
            let counted = write_patch(&mut out, path, old.as_ref(), new.as_ref()).unwrap();
            counts.insert(path.clone(), counted);
        }
        (out, counts)
    }

    /// Has git apply our patch, ours of the way back, and ours in reverse.
    ///
    /// Git 2.47 applies a deletion in reverse as a plain file, whatever was deleted (its own patches too). So in
    /// reverse ours has to do what Git's own does; the patch of the way back has to be exact.
    fn assert_applies(&self) {
        let (patch, _) = self.patch();
        let (back, _) = self.back().patch();
        let repo = Repo::new();
        repo.write(&self.old);
        repo.git(APPLY, &patch);
        assert_same(&repo.read(), &self.new);
        repo.git(APPLY, &back);
        assert_same(&repo.read(), &self.old);

        let repo = Repo::new();
        let gits = repo.diff(self, PATCH);
        repo.git(APPLY_REVERSE, &gits);
        let expected = repo.read();
        repo.replace(&self.new);
        repo.git(APPLY_REVERSE, &patch);
        assert_same(&repo.read(), &expected);
        for (path, entry) in &self.old {
            assert!(expected[path].1 == entry.1, "{} differs", String::from_utf8_lossy(path));
        }
    }

    /// Compares our patch with that of `git diff`.
    fn assert_same_text(&self) {
        let (ours, _) = self.patch();
        let theirs = Repo::new().diff(self, PATCH);
        if ours != theirs {
            let (ours, theirs) = (String::from_utf8_lossy(&ours), String::from_utf8_lossy(&theirs));
            let line = ours.lines().zip(theirs.lines()).position(|(a, b)| a != b).unwrap_or(0);
            panic!("line {line} of our patch differs from git's\n--- ours\n{ours}\n--- git's\n{theirs}");
        }
    }

    /// Compares our counts with those of `git diff --numstat`.
    fn assert_same_counts(&self) {
        let (_, ours) = self.patch();
        let theirs = Repo::new().diff(self, &["--numstat", "-z"]);
        for line in theirs.split(|&byte| byte == 0).filter(|line| !line.is_empty()) {
            let fields: Vec<_> = line.splitn(3, |&byte| byte == b'\t').collect();
            let number = |field: &[u8]| String::from_utf8_lossy(field).parse().unwrap_or(0);
            let path = fields[2];
            // Git says "binary" also of a binary file that changed its mode only.
            let differs = self.old.get(path).map(content) != self.new.get(path).map(content);
            let expected = LineCounts {
                added: number(fields[0]),
                removed: number(fields[1]),
                binary: fields[0] == b"-" && differs,
            };
            assert_eq!(ours[path], expected, "{}", String::from_utf8_lossy(path));
        }
    }
}

fn content((_, content): &Entry) -> &[u8] {
    content
}

fn side((mode, content): &Entry) -> Side<'_> {
    let id = git2::Oid::hash_object(git2::ObjectType::Blob, content).unwrap();
    Side { mode: *mode, id: ObjectId::from_bytes(id.as_bytes().try_into().unwrap()), content }
}

fn assert_same(found: &Files, expected: &Files) {
    let names = |files: &Files| files.keys().map(|path| String::from_utf8_lossy(path).into_owned()).collect::<Vec<_>>();
    assert_eq!(names(found), names(expected));
    for (path, entry) in expected {
        assert!(found[path] == *entry, "{} differs", String::from_utf8_lossy(path));
    }
}
