//! What can go wrong, split by what a caller can do about it.

use std::io;
use std::path::{Path, PathBuf};

use crate::{CheckpointId, ObjectId};

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Failure of an operation. Unless a variant says otherwise, nothing in the worktree was changed and every checkpoint
/// that was reported as saved is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The directory cannot be a workspace as it was named.
    #[error("cannot use {} as a workspace: {reason}", path.display())]
    Workspace {
        /// Directory, absolute where that could be found out.
        path: PathBuf,
        /// Why not.
        reason: WorkspaceFault,
    },
    /// The store of the workspace cannot be used.
    #[error("cannot use the store {}: {reason}", path.display())]
    Store {
        /// Directory of the store, absolute.
        path: PathBuf,
        /// Why not.
        reason: StoreFault,
    },
    /// A revision names no checkpoint of this store, or more than one.
    #[error("cannot find the checkpoint {spec:?}: {reason}")]
    Revision {
        /// What was given.
        spec: String,
        /// Why not.
        reason: RevisionFault,
    },
    /// A path does not name something inside the worktree.
    #[error("cannot use the path {}: {reason}", path.display())]
    Path {
        /// What was given.
        path: PathBuf,
        /// Why not.
        reason: PathFault,
    },
    /// Another process works on the same store, and did so until the timeout ended.
    #[error("cannot lock the workspace {}: held by {holder}", path.display())]
    Locked {
        /// Directory of the worktree.
        path: PathBuf,
        /// Process id and command of the holder, as it wrote them.
        holder: String,
    },
    /// An object that a checkpoint needs is missing or damaged.
    #[error("cannot read object {id}: {reason}")]
    Object {
        /// Id of the object.
        id: ObjectId,
        /// Why not.
        reason: ObjectFault,
    },
    /// A value that the caller gave cannot be stored.
    #[error("cannot take the {what}: {reason}")]
    Input {
        /// Which value, such as `message`.
        what: &'static str,
        /// Why not.
        reason: &'static str,
    },
    /// The operating system refused.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// Verb, such as `read`.
        action: &'static str,
        /// What it was done to.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The caller's observer asked to stop. A restore that had begun was taken back.
    #[error("cannot go on: interrupted")]
    Interrupted,
}

/// Why a directory cannot be a workspace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceFault {
    /// Nothing stands there.
    #[error("no such directory")]
    Missing,
    /// Something else than a directory stands there.
    #[error("not a directory")]
    NotADirectory,
    /// The caller listed it as refused: the home directory, the root of the file system, a parent of the stores.
    #[error("it is too large or too private to be protected by accident")]
    Refused,
    /// The checkpoint directory lies inside the worktree, or the worktree inside the checkpoint directory.
    #[error("it and the checkpoint directory {} lie inside each other", .0.display())]
    Nested(PathBuf),
    /// It lies on a network file system.
    #[error("it lies on a network file system, where locks and renames promise too little")]
    NetworkFs,
    /// Nothing in it could be read, and a checkpoint of nothing would look like a deletion.
    #[error("nothing in it could be read ({0} entries)")]
    Unreadable(usize),
    /// A volume was mounted at this place, the worktree itself or in it, at the last save or when a restore began, and is not
    /// now.
    #[error("a volume was mounted at {}, and is not now", .0.display())]
    Unmounted(PathBuf),
    /// A restore could neither go on nor be taken back, for this reason. Every byte is held; the next command that can
    /// finishes it.
    #[error("a restore of it is half done: {0}")]
    HalfRestored(String),
}

/// Why a store cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreFault {
    /// No store exists for the worktree.
    #[error("nothing is saved yet")]
    Absent,
    /// The directory was not made by ckpt.
    #[error("it was not made by ckpt")]
    NotOurs,
    /// It was made by a newer version.
    #[error("its format is {0}, newer than this version reads (1)")]
    Newer(String),
    /// It belongs to another user, or others may write to it.
    #[error("{0}")]
    Unsafe(String),
    /// It belongs to another worktree.
    #[error("it belongs to the workspace {}", .0.display())]
    OtherWorktree(PathBuf),
    /// Something in it is missing or unreadable.
    #[error("{0}")]
    Broken(String),
    /// It was removed or replaced while a handle was open.
    #[error("it was removed or replaced since it was opened")]
    Replaced,
    /// A lock file of Git stands in the way.
    #[error("{} is held by another process", .0.display())]
    RefLocked(PathBuf),
    /// A restore was interrupted, or is running: what a command would do cannot be told before it has ended.
    #[error("a restore was interrupted, or is running")]
    InterruptedRestore,
    /// The timeline moved although we hold the lock.
    #[error("its timeline was moved by another program")]
    TimelineMoved,
}

/// Why a revision could not be resolved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RevisionFault {
    /// No checkpoint has this id.
    #[error("no checkpoint of this workspace has that id")]
    Unknown,
    /// More than one checkpoint has this prefix; oldest first.
    #[error("it is the beginning of {} ids", .0.len())]
    Ambiguous(Vec<CheckpointId>),
    /// A prefix needs at least four digits.
    #[error("a prefix needs at least 4 hex digits")]
    TooShort,
    /// It is neither an id, a prefix, `HEAD` nor `HEAD~n`.
    #[error("a revision is an id, the beginning of one, HEAD or HEAD~n")]
    Malformed,
    /// `HEAD` where nothing is saved yet, or `HEAD~n` beyond the first checkpoint of a lineage of that many.
    #[error("it goes back further than the first checkpoint; the lineage has {0}")]
    BeyondLineage(usize),
    /// The id is that of another workspace's checkpoint.
    #[error("it belongs to the workspace {}", .0.display())]
    OtherWorkspace(PathBuf),
}

/// Why a path cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathFault {
    /// It lies outside the worktree.
    #[error("it lies outside the workspace")]
    Outside,
    /// It names something inside a `.git`, which is never saved.
    #[error("a .git is neither saved nor restored")]
    DotGit,
    /// It exists neither in the checkpoint nor in the worktree.
    #[error("it exists neither in the checkpoint nor in the workspace")]
    Unknown,
    /// It is no path at all: empty, or with a NUL byte.
    #[error("it is empty or holds a NUL byte")]
    Malformed,
}

/// Why an object could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectFault {
    /// The store does not hold it.
    #[error("the object is missing from the store")]
    Missing,
    /// The store holds something else under its id.
    #[error("the object is damaged: {0}")]
    Damaged(String),
    /// Its content cannot be restored safely: names such as `..`, two entries of one name, too many levels.
    #[error("the tree cannot be restored: {0}")]
    Unsafe(String),
}

impl Error {
    /// Stable word for machines; see `docs/cli.md` for the list.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Workspace { reason, .. } => match reason {
                WorkspaceFault::Missing => "missing-workspace",
                WorkspaceFault::NotADirectory => "not-a-directory",
                WorkspaceFault::Refused => "refused-workspace",
                WorkspaceFault::Nested(_) => "nested-store",
                WorkspaceFault::NetworkFs => "network-fs",
                WorkspaceFault::Unreadable(_) => "nothing-readable",
                WorkspaceFault::Unmounted(_) => "unmounted-workspace",
                WorkspaceFault::HalfRestored(_) => "half-restored",
            },
            Self::Store { reason, .. } => match reason {
                StoreFault::Absent => "nothing-saved",
                StoreFault::NotOurs => "foreign-store",
                StoreFault::Newer(_) => "newer-store",
                StoreFault::Unsafe(_) => "unsafe-store",
                StoreFault::OtherWorktree(_) => "other-workspace-store",
                StoreFault::Broken(_) => "broken-store",
                StoreFault::Replaced => "replaced-store",
                StoreFault::RefLocked(_) => "ref-locked",
                StoreFault::InterruptedRestore => "interrupted-restore",
                StoreFault::TimelineMoved => "timeline-moved",
            },
            Self::Revision { reason, .. } => match reason {
                RevisionFault::Unknown => "unknown-checkpoint",
                RevisionFault::Ambiguous(_) => "ambiguous-revision",
                RevisionFault::TooShort | RevisionFault::Malformed => "malformed-revision",
                RevisionFault::BeyondLineage(_) => "beyond-lineage",
                RevisionFault::OtherWorkspace(_) => "other-workspace-checkpoint",
            },
            Self::Path { reason, .. } => match reason {
                PathFault::Outside => "outside-worktree",
                PathFault::DotGit => "dot-git",
                PathFault::Unknown => "unknown-path",
                PathFault::Malformed => "malformed-path",
            },
            Self::Locked { .. } => "locked",
            Self::Object { reason, .. } => match reason {
                ObjectFault::Missing => "missing-object",
                ObjectFault::Damaged(_) => "damaged-object",
                ObjectFault::Unsafe(_) => "unsafe-tree",
            },
            Self::Input { .. } => "invalid-input",
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "disk-full",
                io::ErrorKind::PermissionDenied => "permission-denied",
                io::ErrorKind::ReadOnlyFilesystem => "read-only",
                _ => "io",
            },
            Self::Interrupted => "interrupted",
        }
    }

    /// Whether it came from a disk that is full.
    pub(crate) fn is_full(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};

        matches!(self, Self::Io { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded))
    }

    /// File, directory or store that the error is about.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Workspace { path, .. }
            | Self::Store { path, .. }
            | Self::Path { path, .. }
            | Self::Locked { path, .. }
            | Self::Io { path, .. } => Some(path),
            _ => None,
        }
    }

    pub(crate) fn store(path: &Path, reason: StoreFault) -> Self {
        Self::Store { path: path.to_owned(), reason }
    }

    pub(crate) fn broken(path: &Path, what: impl Into<String>) -> Self {
        Self::store(path, StoreFault::Broken(what.into()))
    }

    pub(crate) fn workspace(path: &Path, reason: WorkspaceFault) -> Self {
        Self::Workspace { path: path.to_owned(), reason }
    }

    pub(crate) fn revision(spec: &str, reason: RevisionFault) -> Self {
        Self::Revision { spec: spec.to_owned(), reason }
    }

    pub(crate) fn object(id: ObjectId, reason: ObjectFault) -> Self {
        Self::Object { id, reason }
    }
}

/// Names what was done, and to which path, when the system refused.
pub(crate) trait Context<T>: Sized {
    /// `action` is a verb such as `read`.
    fn context(self, action: &'static str, path: impl AsRef<Path>) -> Result<T>;

    /// The same result, unless the process ran short of something: that says nothing about the path, and must not be taken
    /// for an absence or a refusal.
    fn or_short(self, action: &'static str, path: impl AsRef<Path>) -> Result<io::Result<T>>;
}

impl<T> Context<T> for io::Result<T> {
    fn context(self, action: &'static str, path: impl AsRef<Path>) -> Result<T> {
        self.map_err(|source| Error::Io { action, path: path.as_ref().to_owned(), source })
    }

    fn or_short(self, action: &'static str, path: impl AsRef<Path>) -> Result<Self> {
        match self {
            Err(source) if ckpt_fs::is_shortage(&source) => Err(source).context(action, path),
            other => Ok(other),
        }
    }
}
