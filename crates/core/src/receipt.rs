//! What a restore will do, and what it did.

use crate::{CheckpointId, EntryKind, Notice, OperationId, OperationKind, RepoPath};

/// How a path changes or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ChangeKind {
    /// It was not there before.
    Added,
    /// Its content differs.
    Modified,
    /// It is gone.
    Deleted,
    /// It is of another kind: file, directory, link.
    Kind,
    /// Only its permission bits differ.
    Mode,
}

impl ChangeKind {
    /// The word in output.
    pub fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
            Self::Kind => "kind",
            Self::Mode => "mode",
        }
    }
}

/// One side of a changed path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EntrySide {
    /// Kind of the entry.
    pub kind: EntryKind,
    /// Permission bits, `mode & 0o777`; 0 for links.
    pub mode: u16,
}

/// A path that differs between two states.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathChange {
    /// The path.
    pub path: RepoPath,
    /// What differs. For a restore: what happens to the path in the worktree.
    pub change: ChangeKind,
    /// What it was before; `None` for [`ChangeKind::Added`].
    pub old: Option<EntrySide>,
    /// What it is after; `None` for [`ChangeKind::Deleted`].
    pub new: Option<EntrySide>,
}

/// Why a restore left a path as it is although the target differs there. The bytes that stand there are not held by the
/// store, so they are not touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConflictReason {
    /// It cannot be read.
    Unreadable,
    /// It changes while it is read or restored.
    Changing,
    /// It is a FIFO, socket or device.
    Special,
    /// It holds a `.git`, whose content is never saved.
    HoldsGit,
    /// A volume was mounted there when it was saved, and is not now.
    Unmounted,
    /// Something is mounted there: the name can neither be removed nor replaced, and a volume is not emptied for it.
    MountPoint,
    /// It holds something of these sorts, or something that is not captured.
    HoldsUncaptured,
    /// Its directory cannot be written, or a step of restoring it failed.
    NotWritable,
    /// Something stands where its directory should be, and cannot give way.
    Blocked,
}

impl ConflictReason {
    /// The word in output.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::Changing => "changing",
            Self::Special => "special",
            Self::HoldsGit => "holds-git",
            Self::Unmounted => "unmounted",
            Self::MountPoint => "mount-point",
            Self::HoldsUncaptured => "holds-uncaptured",
            Self::NotWritable => "not-writable",
            Self::Blocked => "blocked",
        }
    }
}

/// A path that a restore leaves as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conflict {
    /// The path.
    pub path: RepoPath,
    /// Why.
    pub reason: ConflictReason,
}

/// Why a restore leaves a path alone by rule. Unlike a conflict this is what the rules want.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LeftAloneReason {
    /// The target's rules ignore it, so that the target says nothing about it.
    IgnoredInTarget,
    /// The target omitted it, so that the target says nothing about it.
    OmittedInTarget,
    /// It was named, is not in the target, and is nothing that a checkpoint can hold: a FIFO, say.
    NotCaptured,
}

impl LeftAloneReason {
    /// The word in output.
    pub fn word(self) -> &'static str {
        match self {
            Self::IgnoredInTarget => "ignored-in-target",
            Self::OmittedInTarget => "omitted-in-target",
            Self::NotCaptured => "not-captured",
        }
    }
}

/// A path that a restore leaves alone by rule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftAlone {
    /// The path.
    pub path: RepoPath,
    /// Why.
    pub reason: LeftAloneReason,
}

/// What a restore would do. Making one changes nothing in the worktree and nothing in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    /// The verb.
    pub kind: OperationKind,
    /// The checkpoint that the worktree is brought to; for undo and redo the one that the result is nearest to.
    pub to: CheckpointId,
    /// For undo and redo: the operation that is taken back.
    pub target: Option<OperationId>,
    /// What happens to each path, by directory, names in byte order.
    pub changes: Vec<PathChange>,
    /// Paths that differ but stay.
    pub conflicts: Vec<Conflict>,
    /// Paths that the target says nothing about, or that were named and cannot be captured.
    pub left_alone: Vec<LeftAlone>,
    /// Paths among `changes` that were edited since the operation that is taken back (undo and redo only). Their bytes
    /// are in the safety checkpoint.
    pub edited_since: Vec<RepoPath>,
    /// What else should be known.
    pub notices: Vec<Notice>,
}

impl Plan {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.conflicts.is_empty()
    }
}

/// What a restore did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Receipt {
    /// The operation on the timeline; `None` when there was nothing to do and nothing was written.
    pub operation: Option<OperationId>,
    /// The verb.
    pub kind: OperationKind,
    /// The checkpoint that the worktree was brought to; for undo and redo the one that the result is nearest to.
    pub to: CheckpointId,
    /// For undo and redo: the operation that was taken back.
    pub target: Option<OperationId>,
    /// Head afterwards.
    pub head: Option<CheckpointId>,
    /// The checkpoint that holds what stood in the worktree before; head itself where the worktree was clean.
    pub safety: Option<CheckpointId>,
    /// What happened to each path, by directory, names in byte order.
    pub changes: Vec<PathChange>,
    /// Paths that differ from the target but were left as they are.
    pub conflicts: Vec<Conflict>,
    /// Paths that the target says nothing about, or that were named and cannot be captured.
    pub left_alone: Vec<LeftAlone>,
    /// Paths among `changes` that had been edited since the operation that was taken back.
    pub edited_since: Vec<RepoPath>,
    /// An interrupted restore that was finished first.
    pub recovered: Option<Recovery>,
    /// What else should be known.
    pub notices: Vec<Notice>,
}

impl Receipt {
    /// Whether every path that differed is now as the target has it.
    pub fn is_complete(&self) -> bool {
        self.conflicts.is_empty()
    }
}

/// How an interrupted restore was ended by a later command.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// The verb that was interrupted.
    pub kind: OperationKind,
    /// The operation on the timeline that now records it.
    pub operation: OperationId,
    /// Where it was going.
    pub to: CheckpointId,
    /// The checkpoint that holds what stood in the worktree before it.
    pub safety: Option<CheckpointId>,
    /// Paths that were still to do and were done now.
    pub finished: Vec<RepoPath>,
    /// Paths that are neither as before nor as after: somebody else changed them, they were kept.
    pub kept: Vec<RepoPath>,
}
