//! What is measured, and which edits go before.

use std::fmt;

use super::tree::Changed;

/// One thing that people do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    /// A save where nothing was saved before.
    First,
    /// A save after edits.
    Save(usize),
    /// A question what differs, where nothing does.
    Status,
    /// Patch text of so many files.
    Diff(usize),
    /// One file brought back.
    Rollback,
    /// Everything brought back, over edits.
    Reset(Changed),
    /// A reset taken back.
    Undo(usize),
    /// That undone.
    Redo(usize),
    /// A save with nothing changed in a process that runs already.
    InProcess,
    /// The start of the program.
    Start,
    /// The last 20 checkpoints.
    List,
    /// What one checkpoint is.
    Show,
    /// The last checkpoint.
    Head,
    /// All directories that have checkpoints.
    Workspaces,
}

/// When files are edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    Never,
    /// Once a round, before everybody's turn.
    EachRound(Changed),
    /// Before each turn, because a turn takes the edits away.
    EachTurn(Changed),
}

/// What stands in the tree after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaves {
    /// What was saved last.
    Saved,
    /// What stood there before the turn.
    Edited,
    /// That depends on what went before.
    Anything,
}

/// What is asked of a tree of files, in this order.
pub(crate) const OF_A_TREE: [Verb; 16] = [
    Verb::First,
    Verb::Save(0),
    Verb::Save(1),
    Verb::Save(100),
    Verb::Save(1000),
    Verb::Status,
    Verb::Diff(100),
    Verb::Rollback,
    Verb::Reset(Changed::Files(1)),
    Verb::Reset(Changed::Files(100)),
    Verb::Reset(Changed::Files(1000)),
    Verb::Undo(100),
    Verb::Redo(100),
    Verb::InProcess,
    Verb::Start,
    Verb::Reset(Changed::All),
];

/// What is asked of a long history.
pub(crate) const OF_A_HISTORY: [Verb; 3] = [Verb::List, Verb::Show, Verb::Head];

/// What is asked of many stores.
pub(crate) const OF_MANY_STORES: [Verb; 1] = [Verb::Workspaces];

/// What is asked of one large file.
pub(crate) const OF_A_LARGE_FILE: [Verb; 2] = [Verb::First, Verb::Save(1)];

/// All of them.
pub(crate) fn all() -> impl Iterator<Item = Verb> {
    [&OF_A_TREE[..], &OF_A_HISTORY[..], &OF_MANY_STORES[..], &OF_A_LARGE_FILE[..]].into_iter().flatten().copied()
}

impl Verb {
    pub(crate) fn edit(self) -> Edit {
        match self {
            Self::Save(0) => Edit::Never,
            Self::Save(count) | Self::Diff(count) => Edit::EachRound(Changed::Files(count)),
            Self::Rollback => Edit::EachTurn(Changed::Files(1)),
            Self::Reset(changed) => Edit::EachTurn(changed),
            Self::Undo(count) | Self::Redo(count) => Edit::EachTurn(Changed::Files(count)),
            _ => Edit::Never,
        }
    }

    pub(crate) fn leaves(self) -> Leaves {
        match self {
            Self::First | Self::Save(_) | Self::Rollback | Self::Reset(_) | Self::Redo(_) | Self::InProcess => {
                Leaves::Saved
            }
            Self::Undo(_) => Leaves::Edited,
            _ => Leaves::Anything,
        }
    }

    /// Whether it writes so much that its rounds are few.
    pub(crate) fn is_heavy(self) -> bool {
        matches!(self, Self::First | Self::Reset(Changed::All))
    }
}

/// The name that `--verb` takes and tables show.
impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::First => f.write_str("save-first"),
            Self::Save(count) => write!(f, "save-{count}"),
            Self::Status => f.write_str("status"),
            Self::Diff(count) => write!(f, "diff-{count}"),
            Self::Rollback => f.write_str("rollback-1"),
            Self::Reset(Changed::Files(count)) => write!(f, "reset-{count}"),
            Self::Reset(Changed::All) => f.write_str("reset-all"),
            Self::Undo(count) => write!(f, "undo-{count}"),
            Self::Redo(count) => write!(f, "redo-{count}"),
            Self::InProcess => f.write_str("save-in-process"),
            Self::Start => f.write_str("start"),
            Self::List => f.write_str("ls-20"),
            Self::Show => f.write_str("show"),
            Self::Head => f.write_str("head"),
            Self::Workspaces => f.write_str("workspaces"),
        }
    }
}
