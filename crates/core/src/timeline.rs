//! The timeline: an append-only chain of operations, one compare-and-swap each.
//!
//! Operation number `n` names, besides its parent, the operation whose number is `n` with its lowest set bit cleared
//! (`ckpt-skip`). With it any operation is reached from the tip in about log² steps, so that asking whether a
//! checkpoint belongs to a store of 10,000 does not read 10,000 commits.

use crate::commit::{Commit, MAX_HEADER, percent_encode};
use crate::objects::Objects;
use crate::state::{self, Node};
use crate::{CheckpointId, CheckpointKind, Error, ObjectFault, ObjectId, OperationId, Result, StoreId};

/// Most paths that an operation names; they are for people, what changed is in its tree.
const MAX_PATHS: usize = 100;

/// What an operation did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OperationKind {
    /// Made the store.
    Create,
    /// Saved a checkpoint.
    Save,
    /// Brought the whole worktree back.
    Reset,
    /// Brought some paths back.
    Rollback,
    /// Took back a reset or rollback.
    Undo,
    /// Took back an undo.
    Redo,
    /// Stands where an operation was lost, for `verify` to say so.
    Repair,
}

impl OperationKind {
    /// The word that stands in the store, in output and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Save => "save",
            Self::Reset => "reset",
            Self::Rollback => "rollback",
            Self::Undo => "undo",
            Self::Redo => "redo",
            Self::Repair => "repair",
        }
    }

    fn from_word(word: &[u8]) -> Option<Self> {
        [Self::Create, Self::Save, Self::Reset, Self::Rollback, Self::Undo, Self::Redo, Self::Repair]
            .into_iter()
            .find(|kind| kind.word().as_bytes() == word)
    }
}

/// One entry of the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Operation {
    /// Id of the operation.
    pub id: OperationId,
    /// What it did.
    pub kind: OperationKind,
    /// When it ended, nanoseconds since 1970 UTC.
    pub time_ns: i64,
    /// Place on the timeline, from 0.
    pub seq: u64,
    /// The checkpoint that it made or moved to; `None` for `create`, and for `repair` where the checkpoint was lost.
    pub checkpoint: Option<CheckpointId>,
    /// Kind of that checkpoint.
    pub checkpoint_kind: Option<CheckpointKind>,
    /// Head after it; `None` while nothing was saved by a caller.
    pub head: Option<CheckpointId>,
    /// The checkpoint that holds what stood in the worktree before it; `None` for `create` and `save`.
    pub safety: Option<CheckpointId>,
    /// Paths that the caller named, for a rollback: at most 100, each cut to what a header holds.
    pub paths: Vec<Vec<u8>>,
    /// The operation that it took back, for undo and redo.
    pub target: Option<OperationId>,
    /// Number of checkpoints that callers saved, up to and with this operation.
    pub saved: u64,
    pub(crate) parent: Option<OperationId>,
    pub(crate) skip: Option<OperationId>,
    /// What `undo` would take back after this operation; for a reset or rollback, which is that itself, after it was
    /// taken back.
    pub(crate) undo_next: Option<OperationId>,
    /// The undo that `redo` would take back after this operation; for an undo, which is that itself, after it was taken
    /// back.
    pub(crate) redo_next: Option<OperationId>,
    pub(crate) tree: ObjectId,
    pub(crate) facts_commit: Option<ObjectId>,
    pub(crate) store: StoreId,
}

/// Everything that goes into a new operation.
pub(crate) struct NewOperation<'a> {
    pub(crate) kind: OperationKind,
    pub(crate) parent: Option<&'a Operation>,
    pub(crate) time_ns: i64,
    pub(crate) store: StoreId,
    pub(crate) tree: ObjectId,
    /// Checkpoint, its kind, and its facts commit.
    pub(crate) checkpoint: Option<(CheckpointId, CheckpointKind, ObjectId)>,
    /// Facts of `tree`, where they are not the checkpoint's.
    pub(crate) facts_commit: Option<ObjectId>,
    pub(crate) head: Option<CheckpointId>,
    pub(crate) safety: Option<CheckpointId>,
    pub(crate) paths: &'a [Vec<u8>],
    pub(crate) target: Option<OperationId>,
    pub(crate) undo_next: Option<OperationId>,
    pub(crate) redo_next: Option<OperationId>,
    pub(crate) subject: &'a [u8],
}

impl NewOperation<'_> {
    /// The commit object.
    pub(crate) fn commit(&self, objects: &Objects) -> Result<Commit> {
        let seq = self.parent.map_or(0, |parent| parent.seq + 1);
        let mut headers: Vec<(String, Vec<u8>)> = Vec::new();
        let mut header = |name: &str, value: &dyn std::fmt::Display| {
            headers.push((name.to_owned(), value.to_string().into_bytes()));
        };
        header("ckpt-operation", &self.kind.word());
        header("ckpt-seq", &seq);
        header("ckpt-time", &self.time_ns);
        header("ckpt-store", &self.store);
        let new = u64::from(
            self.kind == OperationKind::Save && matches!(self.checkpoint, Some((_, CheckpointKind::Manual, _))),
        );
        header("ckpt-saved", &(self.parent.map_or(0, |parent| parent.saved) + new));
        if let Some((_, CheckpointKind::Auto, _)) = self.checkpoint {
            header("ckpt-checkpoint", &"auto");
        }
        let optional: [(&str, Option<ObjectId>); 5] = [
            ("ckpt-head", self.head.map(|id| id.0)),
            ("ckpt-safety", self.safety.map(|id| id.0)),
            ("ckpt-target", self.target.map(|id| id.0)),
            ("ckpt-undo", self.undo_next.map(|id| id.0)),
            ("ckpt-redo", self.redo_next.map(|id| id.0)),
        ];
        for (name, id) in optional {
            if let Some(id) = id {
                header(name, &id);
            }
        }
        if let Some(parent) = self.parent {
            header("ckpt-skip", &skip_of(objects, parent, seq)?);
        }
        for path in self.paths.iter().take(MAX_PATHS) {
            headers.push(("ckpt-path".to_owned(), cut(path)));
        }
        let mut parents: Vec<ObjectId> = self.parent.iter().map(|parent| parent.id.0).collect();
        if let Some((id, _, facts)) = self.checkpoint {
            parents.push(id.0);
            parents.extend(self.facts_commit.filter(|own| *own != facts));
        }
        let mut message = self.kind.word().as_bytes().to_vec();
        if let Some((id, ..)) = self.checkpoint {
            let subject = self.subject.split(|&byte| byte == b'\n').next().unwrap_or_default();
            if !subject.is_empty() {
                message.extend_from_slice(b": ");
                message.extend_from_slice(subject);
            }
            message.extend_from_slice(format!(" ({})", id.short()).as_bytes());
        }
        message.push(b'\n');
        let seconds = self.time_ns.div_euclid(1_000_000_000);
        Ok(Commit { tree: self.tree, parents, seconds, headers, message })
    }
}

/// As much of `path` as fits into a header.
fn cut(path: &[u8]) -> Vec<u8> {
    let mut path = path.to_vec();
    while percent_encode(&path).len() > MAX_HEADER {
        path.truncate(path.len() * 3 / 4);
    }
    path
}

/// Id of the operation whose number is `seq` with its lowest set bit cleared, from the one before `seq`.
fn skip_of(objects: &Objects, parent: &Operation, seq: u64) -> Result<OperationId> {
    let wanted = seq & (seq - 1);
    let mut at = parent.clone();
    while at.seq > wanted {
        let next = at.skip.ok_or_else(|| damaged(at.id.0, "it has no skip"))?;
        at = Operation::read(objects, next)?;
    }
    Ok(at.id)
}

fn damaged(id: ObjectId, what: &str) -> Error {
    Error::object(id, ObjectFault::Damaged(what.to_owned()))
}

impl Operation {
    /// Reads the operation `id`.
    pub(crate) fn read(objects: &Objects, id: OperationId) -> Result<Self> {
        let bytes = objects.read_kind(id.0, ckpt_pack::Kind::Commit)?;
        let commit = Commit::decode(&bytes).ok_or_else(|| damaged(id.0, "it is no commit of ours"))?;
        Self::from_commit(id.0, &commit).ok_or_else(|| damaged(id.0, "it is no operation"))
    }

    /// The operation in a commit; `None` when it is none.
    pub(crate) fn from_commit(id: ObjectId, commit: &Commit) -> Option<Self> {
        let kind = OperationKind::from_word(commit.header("ckpt-operation")?)?;
        let (parent, checkpoint, facts_commit) = match (kind, commit.parents.as_slice()) {
            (OperationKind::Create, []) => (None, None, None),
            (OperationKind::Create, _) => return None,
            (OperationKind::Repair, &[parent]) => (Some(parent), None, None),
            (_, &[parent, checkpoint]) => (Some(parent), Some(checkpoint), None),
            (_, &[parent, checkpoint, facts]) => (Some(parent), Some(checkpoint), Some(facts)),
            _ => return None,
        };
        let is_auto = commit.header("ckpt-checkpoint") == Some(b"auto");
        let checkpoint_kind = if is_auto { CheckpointKind::Auto } else { CheckpointKind::Manual };
        Some(Self {
            id: OperationId(id),
            kind,
            time_ns: commit.parsed("ckpt-time")?,
            seq: commit.number("ckpt-seq")?,
            checkpoint: checkpoint.map(CheckpointId),
            checkpoint_kind: checkpoint.map(|_| checkpoint_kind),
            head: commit.parsed("ckpt-head").map(CheckpointId),
            safety: commit.parsed("ckpt-safety").map(CheckpointId),
            paths: commit.header_values("ckpt-path").map(<[u8]>::to_vec).collect(),
            target: commit.parsed("ckpt-target").map(OperationId),
            saved: commit.number("ckpt-saved").unwrap_or(0),
            parent: parent.map(OperationId),
            skip: commit.parsed("ckpt-skip").map(OperationId),
            undo_next: commit.parsed("ckpt-undo").map(OperationId),
            redo_next: commit.parsed("ckpt-redo").map(OperationId),
            tree: commit.tree,
            facts_commit,
            store: StoreId::parse(std::str::from_utf8(commit.header("ckpt-store")?).ok()?)?,
        })
    }

    /// What `undo` takes back when this is the newest operation.
    pub(crate) fn top_undo(&self) -> Option<OperationId> {
        match self.kind {
            OperationKind::Reset | OperationKind::Rollback => Some(self.id),
            _ => self.undo_next,
        }
    }

    /// The undo that `redo` takes back when this is the newest operation.
    pub(crate) fn top_redo(&self) -> Option<OperationId> {
        match self.kind {
            OperationKind::Undo => Some(self.id),
            _ => self.redo_next,
        }
    }

    /// The state of the files that the operation stands for.
    pub(crate) fn state(&self, objects: &Objects) -> Result<Node> {
        let facts_commit = match (self.facts_commit, self.checkpoint) {
            (Some(facts), _) => facts,
            (None, Some(checkpoint)) => {
                crate::checkpoint::Checkpoint::require(objects, checkpoint, self.store)?.facts_commit
            }
            (None, None) => return Ok(state::without_facts(self.tree)),
        };
        state::stored(objects, self.tree, facts_commit)
    }

    /// The operation number `seq` at or before this one.
    pub(crate) fn at_seq(&self, objects: &Objects, seq: u64) -> Result<Option<Self>> {
        let mut at = self.clone();
        while at.seq > seq {
            let skip_seq = at.seq & (at.seq - 1);
            let next = if skip_seq >= seq { at.skip } else { at.parent };
            let Some(next) = next else { return Ok(None) };
            at = Self::read(objects, next)?;
        }
        Ok((at.seq == seq).then_some(at))
    }

    /// This operation and those before it, newest first. Ends after the first error.
    pub(crate) fn back<'a>(&self, objects: &'a Objects) -> impl Iterator<Item = Result<Self>> + use<'a> {
        let mut next = Some(Ok(self.clone()));
        std::iter::from_fn(move || {
            let current = next.take()?;
            if let Ok(operation) = &current {
                next = operation.parent.map(|parent| Self::read(objects, parent));
            }
            Some(current)
        })
    }
}
