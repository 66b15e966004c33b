//! The commit object of a checkpoint: its headers, its facts, its lineage.

use crate::commit::Commit;
use crate::objects::Objects;
use crate::state::{self, Node};
use crate::{CheckpointId, Error, ObjectFault, ObjectId, Result, StoreId};

/// Why a checkpoint was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CheckpointKind {
    /// A caller asked for it.
    Manual,
    /// Made before a restore, so that the restore can be taken back.
    Auto,
}

/// How many paths differ from the checkpoint before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangeCounts {
    /// Paths that were not there before.
    pub added: u64,
    /// Paths whose content, kind or permission bits differ.
    pub modified: u64,
    /// Paths that are gone.
    pub deleted: u64,
}

impl ChangeCounts {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.added + self.modified + self.deleted
    }
}

/// What a checkpoint says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckpointInfo {
    /// Id of the checkpoint.
    pub id: CheckpointId,
    /// Why it was made.
    pub kind: CheckpointKind,
    /// Exactly what the caller gave; any bytes but NUL, possibly empty.
    pub message: Vec<u8>,
    /// When it was made, nanoseconds since 1970 UTC.
    pub time_ns: i64,
    /// Place on the timeline; grows, never reused.
    pub seq: u64,
    /// The checkpoint it was made from; `None` for the first.
    pub previous: Option<CheckpointId>,
    /// Length of its lineage, itself included.
    pub depth: u64,
    /// Differences from `previous`.
    pub changes: ChangeCounts,
    /// Number of files and links in it; `None` where only some paths were looked at (a rollback's safety checkpoint).
    pub files: Option<u64>,
    /// Size of these in bytes, before compression.
    pub bytes: Option<u64>,
    /// Number of paths that were seen but not captured.
    pub omitted: u64,
    /// Whether only some paths were looked at, the rest being taken from `previous`.
    pub partial: bool,
    /// Whether it is head or in head's lineage. `None` from methods that look at one checkpoint and not at the history.
    pub in_lineage: Option<bool>,
}

/// A checkpoint as the store holds it.
#[derive(Clone, Debug)]
pub(crate) struct Checkpoint {
    pub(crate) info: CheckpointInfo,
    pub(crate) tree: ObjectId,
    pub(crate) facts_commit: ObjectId,
    /// Permission bits of the worktree itself. Not part of the state: nobody works on them, but a worktree that is made
    /// again must not be more open than it was.
    pub(crate) root_mode: Option<u16>,
    /// The checkpoint that it is a copy of, which a repair found without a place on the timeline.
    pub(crate) again: Option<CheckpointId>,
}

/// Everything that goes into a new checkpoint.
pub(crate) struct NewCheckpoint<'a> {
    pub(crate) tree: ObjectId,
    pub(crate) facts_commit: ObjectId,
    pub(crate) kind: CheckpointKind,
    pub(crate) message: &'a [u8],
    pub(crate) time_ns: i64,
    pub(crate) seq: u64,
    pub(crate) previous: Option<&'a CheckpointInfo>,
    pub(crate) store: StoreId,
    pub(crate) changes: ChangeCounts,
    pub(crate) totals: Option<(u64, u64)>,
    pub(crate) omitted: u64,
    pub(crate) partial: bool,
    pub(crate) root_mode: Option<u16>,
}

impl NewCheckpoint<'_> {
    pub(crate) fn commit(&self) -> Commit {
        let mut headers = Vec::new();
        let mut header = |name: &str, value: String| headers.push((name.to_owned(), value.into_bytes()));
        header("ckpt-kind", kind_word(self.kind).to_owned());
        if let Some(previous) = self.previous {
            header("ckpt-previous", previous.id.to_string());
        }
        header("ckpt-seq", self.seq.to_string());
        header("ckpt-depth", (self.previous.map_or(0, |previous| previous.depth) + 1).to_string());
        header("ckpt-time", self.time_ns.to_string());
        header("ckpt-store", self.store.to_string());
        header("ckpt-added", self.changes.added.to_string());
        header("ckpt-modified", self.changes.modified.to_string());
        header("ckpt-deleted", self.changes.deleted.to_string());
        if let Some((files, bytes)) = self.totals {
            header("ckpt-files", files.to_string());
            header("ckpt-bytes", bytes.to_string());
        }
        header("ckpt-omitted", self.omitted.to_string());
        if let Some(mode) = self.root_mode {
            header("ckpt-root-mode", format!("{mode:o}"));
        }
        if self.partial {
            header("ckpt-scope", "paths".to_owned());
        }
        Commit {
            tree: self.tree,
            parents: vec![self.facts_commit],
            seconds: self.time_ns.div_euclid(1_000_000_000),
            headers,
            message: self.message.to_vec(),
        }
    }
}

fn kind_word(kind: CheckpointKind) -> &'static str {
    match kind {
        CheckpointKind::Manual => "manual",
        CheckpointKind::Auto => "auto",
    }
}

impl Checkpoint {
    /// Reads the checkpoint `id`; `None` when the object is a commit of another sort (an operation, facts), or of
    /// another store.
    pub(crate) fn read(objects: &Objects, id: ObjectId, store: StoreId) -> Result<Option<Self>> {
        let (kind, bytes) = objects.read(id)?;
        if kind != ckpt_pack::Kind::Commit {
            return Ok(None);
        }
        let Some(commit) = Commit::decode(&bytes) else { return Ok(None) };
        Ok(Self::from_commit(id, commit).filter(|(_, of)| *of == store).map(|(checkpoint, _)| checkpoint))
    }

    /// Reads a checkpoint that the timeline names.
    pub(crate) fn require(objects: &Objects, id: CheckpointId, store: StoreId) -> Result<Self> {
        let damaged = || Error::object(id.0, ObjectFault::Damaged("it is no checkpoint of this store".to_owned()));
        Self::read(objects, id.0, store)?.ok_or_else(damaged)
    }

    /// The checkpoint in a commit, with the store that it names; `None` when it is none.
    pub(crate) fn from_commit(id: ObjectId, commit: Commit) -> Option<(Self, StoreId)> {
        let kind = match commit.header("ckpt-kind")? {
            b"manual" => CheckpointKind::Manual,
            b"auto" => CheckpointKind::Auto,
            _ => return None,
        };
        let &[facts_commit] = commit.parents.as_slice() else { return None };
        let store = StoreId::parse(std::str::from_utf8(commit.header("ckpt-store")?).ok()?)?;
        let root_mode = commit
            .header("ckpt-root-mode")
            .and_then(|mode| u16::from_str_radix(std::str::from_utf8(mode).ok()?, 8).ok())
            .map(|mode| mode & 0o777);
        let again = commit.parsed("ckpt-again").map(CheckpointId);
        let info = CheckpointInfo {
            id: CheckpointId(id),
            kind,
            time_ns: commit.parsed("ckpt-time")?,
            seq: commit.number("ckpt-seq")?,
            previous: commit.parsed("ckpt-previous").map(CheckpointId),
            depth: commit.number("ckpt-depth").unwrap_or(1),
            changes: ChangeCounts {
                added: commit.number("ckpt-added").unwrap_or(0),
                modified: commit.number("ckpt-modified").unwrap_or(0),
                deleted: commit.number("ckpt-deleted").unwrap_or(0),
            },
            files: commit.number("ckpt-files"),
            bytes: commit.number("ckpt-bytes"),
            omitted: commit.number("ckpt-omitted").unwrap_or(0),
            partial: commit.header("ckpt-scope").is_some(),
            in_lineage: None,
            message: commit.message,
        };
        Some((Self { info, tree: commit.tree, facts_commit, root_mode, again }, store))
    }

    /// The state that the checkpoint holds.
    pub(crate) fn state(&self, objects: &Objects) -> Result<Node> {
        state::stored(objects, self.tree, self.facts_commit)
    }
}
