//! What a caller should know although nothing failed.

use std::fmt;
use std::path::PathBuf;

use crate::{ObjectId, RepoPath};

/// Something worth saying beside a result. Printing one gives a sentence without a full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// The directory is another one than at the last save (same path, other inode); its history was kept.
    WorktreeReplaced,
    /// Another store belongs to the same directory under an older path: the directory was moved. Its history is there.
    MovedFrom(PathBuf),
    /// Rules from above would ignore the whole worktree, and are not used.
    RulesFromAboveNotUsed(PathBuf),
    /// An ignore file could not be read; the last known rules hold. Of a nested repository none are known, and what is new in a
    /// directory that head knows stays out.
    RulesUnreadable(PathBuf),
    /// A configured exclude is no pattern.
    BadExclude(String),
    /// The directory is not empty, but nothing in it was captured.
    NothingCaptured,
    /// The stat cache was damaged, and is rebuilt; files were read again.
    CacheRebuilt,
    /// This object of head is missing or damaged; the save did not compare with head, and wrote everything again that
    /// the store does not hold.
    HeadDamaged(ObjectId),
    /// A restore is running, or was interrupted and is waiting to be finished.
    InterruptedRestore,
    /// A path was changed twice while it was restored: the newer edit has its place, the older one is kept as this.
    KeptBeside(RepoPath),
}

impl Notice {
    /// Stable word for machines.
    pub fn code(&self) -> &'static str {
        match self {
            Self::WorktreeReplaced => "worktree-replaced",
            Self::MovedFrom(_) => "moved",
            Self::RulesFromAboveNotUsed(_) => "rules-from-above-not-used",
            Self::RulesUnreadable(_) => "rules-unreadable",
            Self::BadExclude(_) => "bad-exclude",
            Self::NothingCaptured => "nothing-captured",
            Self::CacheRebuilt => "cache-rebuilt",
            Self::HeadDamaged(_) => "head-damaged",
            Self::InterruptedRestore => "interrupted-restore",
            Self::KeptBeside(_) => "kept-beside",
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WorktreeReplaced => {
                f.write_str("the directory is another one than at the last save; its history was kept")
            }
            Self::MovedFrom(path) => {
                write!(
                    f,
                    "this directory was saved as {} before; that history is kept under the old path",
                    path.display()
                )
            }
            Self::RulesFromAboveNotUsed(path) => {
                write!(f, "{} would ignore the whole workspace, and is not used", path.display())
            }
            Self::RulesUnreadable(path) => {
                write!(f, "cannot read {}; the rules of the last checkpoint hold, if it has any", path.display())
            }
            Self::BadExclude(glob) => write!(f, "the exclude {glob:?} is no pattern, and is not used"),
            Self::NothingCaptured => f.write_str("the directory is not empty, but nothing in it was captured"),
            Self::CacheRebuilt => f.write_str("the stat cache was damaged; files were read again"),
            Self::HeadDamaged(id) => {
                write!(f, "the last checkpoint is damaged (object {id}); what the workspace holds was saved anew")
            }
            Self::InterruptedRestore => f.write_str(
                "a restore is running, or was interrupted; then the next command on the workspace finishes it",
            ),
            Self::KeptBeside(path) => {
                write!(f, "somebody changed a file twice while it was restored; the older edit is kept as {path}")
            }
        }
    }
}
