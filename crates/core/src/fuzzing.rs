//! Every reader of bytes that somebody else may have written, as functions of these bytes: for the fuzzers, and no part of
//! what this crate promises.
//!
//! A target panics when a reader does, or when what it read does not survive being written and read again. Whether an
//! input is refused is not its business. `fuzz/` holds the targets of cargo-fuzz and inputs to begin with, `fuzz.rs` a
//! harness with a seed that every run of the tests includes.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use ckpt_fs::{Dir, Durability};
use ckpt_pack::{Found, ObjectId, PackSet, PackWriter, Scan, hash_object};

use crate::checkout::journal::Journal;
use crate::checkpoint::Checkpoint;
use crate::commit::{Commit, percent_decode, percent_encode};
use crate::layout::WorktreeRecord;
use crate::snapshot::rules::{DirRules, RuleContent, RuleFile, RuleFiles, Rules};
use crate::snapshot::stat_cache::StatCache;
use crate::state::{self, Name, judge_name};
use crate::{CheckpointStore, Operation, RepoPath, StoreOptions};

/// A reader: takes any bytes.
pub type Target = fn(&[u8]);

/// All of them, by name; inputs to begin with are in `fuzz/corpus/<name>`.
pub const TARGETS: [(&str, Target); 9] = [
    ("pack", pack),
    ("stat-cache", stat_cache),
    ("journal", journal),
    ("record", record),
    ("commit", commit),
    ("tree", tree),
    ("rules", rules),
    ("ignore", ignore),
    ("revision", revision),
];

/// Objects of a pack that are looked up.
const MAX_LOOKUPS: usize = 200;

/// A pack and its idx. The first byte says which checksums are put right before they are read, the next four how long
/// the pack is.
pub fn pack(bytes: &[u8]) {
    let Some((&[mend, a, b, c, d], rest)) = bytes.split_first_chunk() else { return };
    let len = usize::try_from(u32::from_le_bytes([a, b, c, d])).unwrap_or(usize::MAX).min(rest.len());
    let (mut pack, mut idx) = (rest[..len].to_vec(), rest[len..].to_vec());
    if mend & 1 != 0 {
        seal(&mut pack);
    }
    if let (true, Some(trailer), Some(at)) = (mend & 2 != 0, pack.last_chunk::<20>(), idx.len().checked_sub(40)) {
        idx[at..at + 20].copy_from_slice(trailer);
    }
    if mend & 4 != 0 {
        seal(&mut idx);
    }
    let Some(name) = pack.last_chunk().map(|trailer| ObjectId::from_bytes(*trailer)) else { return };
    let Ok((base, own)) = own_dir() else { return };
    let write = |dir: &Dir, extension: &str, bytes: &[u8]| {
        let name = format!("pack-{name}.{extension}").into_bytes();
        dir.write_atomic(b"tmp", &name, bytes, Durability::None)
    };
    let made = base.create_dir(&own, 0o700).and_then(|()| base.open_dir(&own));
    if let Ok(dir) = made
        && write(&dir, "pack", &pack).and_then(|()| write(&dir, "idx", &idx)).is_ok()
    {
        read_pack(&dir, name);
    }
    let _ = base.remove_tree(&own);
}

fn read_pack(dir: &Dir, name: ObjectId) {
    let sane = |dir: &Dir| {
        let Ok(set) = dir.try_clone().map_err(drop).and_then(|dir| PackSet::open(dir).map_err(drop)) else { return };
        for id in set.ids(&name).into_iter().flatten().take(MAX_LOOKUPS) {
            let _ = set.header(&id);
            if let Ok(Some(Found::Whole(object))) = set.read(&id) {
                assert_eq!(hash_object(object.kind, &object.content).ok(), Some(id), "wrong bytes");
            }
        }
    };
    sane(dir);
    let Ok(scan) = Scan::of(dir, name, 1, &|_| None) else { return };
    let ids: Vec<ObjectId> = scan.ids().collect();
    let Ok(mut writer) = PackWriter::create(dir, "token", 1) else { return };
    let copied = scan.copy_into(&mut writer, &|_| true, &|_| None);
    assert!(copied.is_ok_and(|copied| copied as usize <= ids.len()), "what was read cannot be copied");
    drop(writer);
    if scan.pack_damage().is_empty() {
        assert!(scan.write_idx(dir, dir, "token", 2, Durability::None).is_ok(), "a whole pack has no idx");
        let set = dir.try_clone().map_err(drop).and_then(|dir| PackSet::open(dir).map_err(drop));
        for id in ids.iter().take(MAX_LOOKUPS) {
            let found = set.as_ref().map(|set| set.read(id));
            assert!(matches!(found, Ok(Ok(Some(_)))), "{id} of a whole pack cannot be read: {found:?}");
        }
    }
    sane(dir);
}

/// Puts the SHA-1 at the end right.
fn seal(bytes: &mut [u8]) {
    if let Some((body, trailer)) = bytes.split_last_chunk_mut::<20>() {
        let mut hasher = sha1dc::Hasher::default();
        hasher.update(body);
        *trailer = hasher.finalize().unwrap_or_else(|collision| collision.digest()).to_bytes();
    }
}

/// Where temporary files are quick.
fn base() -> &'static Path {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory } else { Path::new("/tmp") }
}

/// A name for a directory of this thread's own, and the directory that may hold it.
fn own_dir() -> std::io::Result<(Dir, Vec<u8>)> {
    Ok((Dir::open(base())?, format!("ckpt-fuzz-{}", ckpt_fs::token()?).into_bytes()))
}

/// A stat cache, and a file of its changes. The first byte says whether checksums and lengths are put right (1) and
/// whether there are changes (2), which are then made to be of the cache; the next two how long the cache is.
pub fn stat_cache(bytes: &[u8]) {
    let Some((&[mend, a, b], rest)) = bytes.split_first_chunk() else { return };
    let len = if mend & 2 != 0 { usize::from(u16::from_le_bytes([a, b])).min(rest.len()) } else { rest.len() };
    let (mut base, mut changes) = (rest[..len].to_vec(), rest[len..].to_vec());
    let put_right = |bytes: &mut Vec<u8>| {
        if mend & 1 != 0 && bytes.len() >= 24 {
            let len = bytes.len() as u64;
            bytes[16..24].copy_from_slice(&len.to_le_bytes());
            let crc = crc32fast::hash(&bytes[16..]);
            bytes[12..16].copy_from_slice(&crc.to_le_bytes());
        }
    };
    put_right(&mut base);
    let len = rest.len();
    let Some(mut cache) = StatCache::decode(base.clone(), None) else { return };
    if mend & 2 != 0 {
        if changes.len() >= 172 {
            // Its checksum, its time and its operation.
            changes[140..144].copy_from_slice(&base[12..16]);
            changes[144..152].copy_from_slice(&base[24..32]);
            changes[152..172].copy_from_slice(&base[72..92]);
        }
        put_right(&mut changes);
        let _ = cache.change(changes, None);
    }
    assert!(cache.basis().packs.len() <= len / 28, "more packs than bytes");
    for number in (0..1000).chain(u32::MAX - 2..=u32::MAX) {
        if let Some(dir) = cache.dir(number) {
            for entry in (dir.first..dir.first + dir.count).take(1000) {
                let _ = cache.entry(entry);
            }
        }
        let _ = (cache.entry(number), cache.is_changed(number));
    }
}

/// A journal.
pub fn journal(bytes: &[u8]) {
    if let Some(journal) = Journal::decode(bytes) {
        let written = journal.encode();
        assert_eq!(Journal::decode(&written), Some(journal), "it changes when it is written");
    }
}

/// The record of a worktree. The first byte says whether its checksum is put right.
pub fn record(bytes: &[u8]) {
    let Some((&mend, rest)) = bytes.split_first() else { return };
    let mut bytes = rest.to_vec();
    if mend & 1 != 0 && bytes.ends_with(b"\n") {
        let before = bytes[..bytes.len() - 1].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let checksum = blake3::hash(&bytes[..before]).to_hex();
        bytes.truncate(before);
        bytes.extend_from_slice(format!("end {}\n", &checksum[..16]).as_bytes());
    }
    if let Ok(record) = WorktreeRecord::decode(&bytes) {
        assert_eq!(WorktreeRecord::decode(&record.encode()), Ok(record), "it changes when it is written");
    }
}

/// A commit: of a checkpoint, an operation, or facts.
pub fn commit(bytes: &[u8]) {
    let Some(commit) = Commit::decode(bytes) else { return };
    let again = Commit::decode(&commit.encode());
    let expected = Commit { seconds: commit.seconds.max(0), ..commit.clone() };
    assert_eq!(again, Some(expected), "it changes when it is written");
    if let Some((checkpoint, _)) = Checkpoint::from_commit(ObjectId::ZERO, commit.clone()) {
        let info = &checkpoint.info;
        let _ = (info.changes.total(), info.depth + 1, info.seq + 1, info.time_ns.div_euclid(1_000_000_000));
    }
    if let Some(operation) = Operation::from_commit(ObjectId::ZERO, &commit) {
        let _ = (operation.seq + 1, operation.saved + 1, operation.top_undo(), operation.top_redo());
    }
}

/// A tree and the facts of its directory, which end at the first NUL.
pub fn tree(bytes: &[u8]) {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    let (facts, tree) = (&bytes[..end], bytes.get(end + 1..).unwrap_or_default());
    for entry in state::tree_entries(tree).flatten() {
        let _ = judge_name(entry.1);
    }
    let Some(listing) = state::read_and_write(facts, tree) else { return };
    for pair in listing.entries.windows(2) {
        assert!(pair[0].name < pair[1].name, "not sorted, or twice");
    }
    for entry in &listing.entries {
        assert_eq!(judge_name(&entry.name), Name::Plain, "a reserved name");
        assert!(entry.mode <= 0o777 && RepoPath::new(entry.name.clone()).is_ok(), "{entry:?}");
    }
}

/// The rules that a checkpoint keeps.
pub fn rules(bytes: &[u8]) {
    if let Ok(rules) = Rules::decode(bytes) {
        assert_eq!(rules.encode(), bytes, "it changes when it is written");
        judge(&rules.above_root(), b"some/path/here");
    }
    if let Some(decoded) = percent_decode(bytes) {
        assert_eq!(percent_decode(&percent_encode(&decoded)), Some(decoded), "it changes when it is written");
    }
}

/// A path in the first line, and the ignore file that decides about it.
pub fn ignore(bytes: &[u8]) {
    let end = bytes.iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len());
    let file = RuleFile { id: ObjectId::ZERO, content: RuleContent::Bytes(bytes[end..].to_vec()) };
    let Ok(none) = Rules::decode(b"ckpt-rules 1\nlimit 0\ncache-dirs skip\n") else { return };
    let files = RuleFiles { gitignore: Some(file), ..RuleFiles::default() };
    judge(&none.above_root().enter(b"", files), &bytes[..end]);
}

fn judge(rules: &Arc<DirRules>, path: &[u8]) {
    let mut rules = Arc::clone(rules);
    for name in path.split(|&byte| byte == b'/').take(20) {
        for is_dir in [false, true] {
            assert_eq!(rules.judge(name, is_dir), rules.judge(name, is_dir));
        }
        rules = rules.enter(name, RuleFiles::default());
    }
}

/// What a person types for a checkpoint, asked of an empty store.
pub fn revision(bytes: &[u8]) {
    static STORE: OnceLock<Option<CheckpointStore>> = OnceLock::new();
    // Of a fixed name, so that no more than one ever stays behind; processes that meet in it only read.
    const NAME: &str = "ckpt-fuzz-revision";
    let store = STORE.get_or_init(|| {
        let (dir, _) = own_dir().ok()?;
        let path = base().join(NAME);
        let _ = dir.create_dir(NAME.as_bytes(), 0o700);
        let _ = dir.open_dir(NAME.as_bytes()).ok()?.create_dir(b"w", 0o700);
        let options = StoreOptions { durability: Durability::None, ..StoreOptions::default() };
        CheckpointStore::open_or_create(&path.join("checkpoints"), &path.join("w"), options).ok()
    });
    if let (Some(store), Ok(text)) = (store, std::str::from_utf8(bytes)) {
        assert!(store.resolve(text).is_err(), "an empty store knows {text:?}");
    }
}
