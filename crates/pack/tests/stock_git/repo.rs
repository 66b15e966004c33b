//! A bare repository for one test, its oracle, and contents to put in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ckpt_fs::{Dir, Durability};
use ckpt_pack::{Encoder, Found, Header, KEEP_TEXT, Kind, Object, ObjectId, PackSet, PackWriter, hash_object};

/// A bare repository with a directory for temporary files.
pub(crate) struct Repo {
    pub(crate) temp: tempfile::TempDir,
}

impl Repo {
    pub(crate) fn new() -> Self {
        let repo = Self { temp: tempfile::tempdir().unwrap() };
        std::fs::create_dir(repo.temp.path().join("tmp")).unwrap();
        repo.git(&["init", "-q", "--bare", "repo"]);
        repo
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    pub(crate) fn pack_path(&self) -> PathBuf {
        self.path("repo/objects/pack")
    }

    pub(crate) fn pack_dir(&self) -> Dir {
        Dir::open(&self.pack_path()).unwrap()
    }

    pub(crate) fn tmp_dir(&self) -> Dir {
        Dir::open(&self.path("tmp")).unwrap()
    }

    pub(crate) fn set(&self) -> PackSet {
        PackSet::open(self.pack_dir()).unwrap()
    }

    pub(crate) fn writer(&self) -> PackWriter {
        PackWriter::create(&self.tmp_dir(), "token", 1).unwrap()
    }

    /// Publishes one pack with these objects.
    pub(crate) fn save(&self, objects: &[(Kind, Vec<u8>)]) -> ObjectId {
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
    pub(crate) fn git(&self, args: &[&str]) -> Vec<u8> {
        let output = git(self.temp.path()).args(args).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    /// All that stock git has to say about the packs, whose idx must be byte for byte what git would write.
    #[track_caller]
    pub(crate) fn check(&self) {
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
    pub(crate) fn check_object(&self, set: &PackSet, id: ObjectId, kind: Kind, content: &[u8]) {
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

pub(crate) fn git(dir: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(dir).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", dir).stdin(Stdio::null());
    command
}

/// Bytes that nothing compresses, the same in every run.
pub(crate) fn noise(seed: u64, len: usize) -> Vec<u8> {
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
pub(crate) fn text(len: usize) -> Vec<u8> {
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
pub(crate) fn all_kinds(content: &[u8]) -> Vec<(Kind, Vec<u8>)> {
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
