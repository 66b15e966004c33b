//! What is tracked: every workspace that has a store, and what there is to say about one.

use std::path::PathBuf;

use ckpt_core::{CheckpointInfo, CheckpointStore, StoreEntry, StoreFault, StoreState};

use crate::{CheckpointService, Error, Result, StoreError};

/// A directory with a store, as the store's record tells.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Workspace {
    /// Real path of the worktree at the last save; `None` where the store is too broken to tell.
    pub path: Option<PathBuf>,
    /// Directory of the store.
    pub store: PathBuf,
    /// Whether the worktree is there.
    pub state: WorkspaceState,
}

/// What can be said about a directory under the checkpoint directory without opening it as a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkspaceState {
    /// A store whose worktree is there.
    Valid,
    /// A store whose worktree is gone: where it was, its parent still is. Only such stores are pruned.
    Gone,
    /// A store whose worktree stands under another path now.
    Moved {
        /// That path.
        to: PathBuf,
        /// The store that it has under that path, if one was made there.
        store: Option<PathBuf>,
    },
    /// A store whose worktree cannot be seen: its parent is missing or another one, as when a volume is not mounted.
    Unmounted,
    /// Something that is no directory stands at its place.
    Obstructed,
    /// A store whose record is damaged, of a newer version, or not that of its name; and what is wrong.
    Broken(String),
    /// A directory that ckpt did not make.
    NotOurs,
}

impl WorkspaceState {
    /// The word in output.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Gone => "gone",
            Self::Moved { .. } => "moved",
            Self::Unmounted => "unmounted",
            Self::Obstructed => "obstructed",
            Self::Broken(_) => "broken",
            Self::NotOurs => "not-ours",
        }
    }
}

/// What a store tells about a workspace when it is opened.
#[derive(Debug)]
#[non_exhaustive]
pub struct WorkspaceDetails {
    /// The workspace.
    pub workspace: Workspace,
    /// The checkpoint that the worktree was last saved as or reset to; `None` while nothing is saved.
    pub head: Option<CheckpointInfo>,
    /// Number of checkpoints that callers saved, safety checkpoints not counted.
    pub checkpoints: u64,
    /// Number of bytes that the files of the store take.
    pub bytes: u64,
    /// Why something of this could not be found out; what is not known is `None` or 0.
    pub fault: Option<Error>,
}

impl CheckpointService {
    /// Lists all workspaces that have a store, sorted by path, those that cannot tell theirs at the end. Reads a small
    /// file of each store and looks at the worktree's place.
    ///
    /// # Errors
    /// [`Error::Store`] when the checkpoint directory cannot be read. A missing one holds nothing; a broken store is an
    /// entry.
    pub fn workspaces(&self) -> Result<Vec<Workspace>> {
        let stores = ckpt_core::stores(&self.config().checkpoint_dir)?;
        let ours = stores.into_iter().map(workspace).filter(|workspace| workspace.state != WorkspaceState::NotOurs);
        let mut workspaces: Vec<_> = ours.collect();
        workspaces.sort_by(|a, b| (a.path.is_none(), &a.path, &a.store).cmp(&(b.path.is_none(), &b.path, &b.store)));
        Ok(workspaces)
    }

    /// Opens the store of a workspace and tells what is in it. Writes nothing and keeps nothing open. What cannot be
    /// read is told by [`fault`](WorkspaceDetails::fault).
    pub fn workspace_details(&self, workspace: &Workspace) -> WorkspaceDetails {
        let mut details =
            WorkspaceDetails { workspace: workspace.clone(), head: None, checkpoints: 0, bytes: 0, fault: None };
        details.fault = self.fill(&mut details).err();
        match ckpt_core::store_bytes(&workspace.store) {
            Ok(bytes) => details.bytes = bytes,
            Err(err) => details.fault = details.fault.or(Some(err.into())),
        }
        details
    }

    fn fill(&self, details: &mut WorkspaceDetails) -> Result<()> {
        let fault = |reason| Error::from(StoreError::Store { path: details.workspace.store.clone(), reason });
        let path = match (&details.workspace.path, &details.workspace.state) {
            (Some(path), _) => path,
            (None, WorkspaceState::Broken(what)) => return Err(fault(StoreFault::Broken(what.clone()))),
            (None, _) => return Err(fault(StoreFault::NotOurs)),
        };
        let store = CheckpointStore::open(&self.config().checkpoint_dir, path, self.store_options().clone())?
            .ok_or_else(|| fault(StoreFault::Absent))?;
        details.checkpoints = store.saved_count()?;
        details.head = store.head()?.map(|id| store.checkpoint(id)).transpose()?;
        Ok(())
    }
}

impl From<StoreEntry> for Workspace {
    fn from(entry: StoreEntry) -> Self {
        workspace(entry)
    }
}

/// A directory under the checkpoint directory as a workspace, even if it is none.
pub(crate) fn workspace(entry: StoreEntry) -> Workspace {
    let (path, state) = told_apart(entry.state);
    Workspace { path, store: entry.path, state }
}

/// The worktree that a store's state names, and what it says of it.
pub(crate) fn told_apart(state: StoreState) -> (Option<PathBuf>, WorkspaceState) {
    match state {
        StoreState::Valid { worktree } => (Some(worktree), WorkspaceState::Valid),
        StoreState::Gone { worktree } => (Some(worktree), WorkspaceState::Gone),
        StoreState::Moved { worktree, to, store } => (Some(worktree), WorkspaceState::Moved { to, store }),
        StoreState::Unmounted { worktree } => (Some(worktree), WorkspaceState::Unmounted),
        StoreState::Obstructed { worktree } => (Some(worktree), WorkspaceState::Obstructed),
        StoreState::Broken { what } => (None, WorkspaceState::Broken(what)),
        // Whatever a later version tells apart, it is nothing to remove.
        _ => (None, WorkspaceState::NotOurs),
    }
}
