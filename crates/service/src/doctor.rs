//! Whether anything is wrong with the checkpoint directory, its stores and their places, without opening more than needed.
//! What objects hold is for [`verify`](ckpt_core::CheckpointStore::verify).

use std::path::{Path, PathBuf};

use ckpt_core::{
    CheckpointStore, Checkup, DirFacts, Leftover, Space, StoreCheckup, Worktree, check_up, is_on_network_fs,
};

use crate::workspaces::{Workspace, WorkspaceState, workspace};
use crate::{CheckpointService, Error, Result, StoreError};

/// Less room than this is worth a word: a few saves of an ordinary project.
const LITTLE_BYTES: u64 = 1 << 30;
/// With less than this the next save may not fit.
const NO_BYTES: u64 = 16 << 20;
/// A save makes a handful of files.
const NO_FILES: u64 = 100;
/// A lock that is held for longer is worth a word: saves take seconds.
const LONG_NS: i64 = 10 * 60 * 1_000_000_000;
/// What stock git leaves is nobody's when it is older than this, as for the timeline's lock.
const STALE_NS: i64 = 60 * 60 * 1_000_000_000;
/// A time that is further ahead than this was not written by a clock that agrees with ours.
const AHEAD_NS: i64 = 60 * 1_000_000_000;

/// What was looked at, and what of it is not as it should be.
#[derive(Debug)]
#[non_exhaustive]
pub struct Diagnosis {
    /// What is under the checkpoint directory; `None` where that does not exist, or cannot be read, which is a finding.
    pub checkup: Option<Checkup>,
    /// What is not as it should be, check by check.
    pub findings: Vec<Finding>,
}

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Check {
    /// The checkpoint directory: whose it is, who may read and write it.
    CheckpointDir,
    /// Room on its file system.
    Disk,
    /// Kind of the file systems.
    FileSystem,
    /// The stores: whether they can be used, and what became of their workspaces.
    Stores,
    /// Whether stores and workspaces lie in each other.
    Nesting,
    /// Who works on which workspace.
    Locks,
    /// Restores that came to no end.
    Restores,
    /// What crashes and repairs left.
    Leftovers,
    /// Times in the future.
    Clock,
}

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Level {
    /// Nothing to do, and worth knowing.
    Fine,
    /// It works; something should be done about it.
    Warning,
    /// Something does not work, or the next command will have to mend it.
    Problem,
}

/// Something that is not as it should be, or is worth knowing.
#[derive(Debug)]
#[non_exhaustive]
pub enum Finding {
    /// The checkpoint directory cannot be read.
    Unreadable(Error),
    /// A directory belongs to another user.
    Foreign(DirFacts),
    /// Others may write to the checkpoint directory.
    Writable(DirFacts),
    /// Others may read what is saved.
    Open(DirFacts),
    /// The file system of the checkpoint directory cannot be written.
    ReadOnly(PathBuf),
    /// Little room is left on the file system of the checkpoint directory.
    LittleRoom {
        /// The checkpoint directory.
        path: PathBuf,
        /// How much is left.
        space: Space,
    },
    /// A directory lies on a network file system.
    NetworkFs {
        /// The checkpoint directory or a workspace.
        path: PathBuf,
        /// Whether the configuration takes that.
        is_allowed: bool,
    },
    /// A store whose workspace is not at its place, or that is broken.
    Store(Workspace),
    /// A store that cannot be used, or not be read whole.
    Unusable {
        /// The workspace.
        workspace: Workspace,
        /// Why not.
        error: Error,
    },
    /// The checkpoint directory lies inside a workspace: whoever removes the one loses the other.
    StoreInWorkspace {
        /// The workspace.
        worktree: PathBuf,
        /// The checkpoint directory.
        checkpoint_dir: PathBuf,
    },
    /// A workspace lies inside the checkpoint directory, where it cannot be one.
    WorkspaceInStore {
        /// The workspace.
        worktree: PathBuf,
        /// The checkpoint directory.
        checkpoint_dir: PathBuf,
    },
    /// Somebody works on a workspace.
    Locked {
        /// The workspace.
        workspace: Workspace,
        /// Process id and name.
        holder: String,
        /// Since when, nanoseconds since 1970.
        since_ns: i64,
        /// Whether that is longer than anything should take.
        is_long: bool,
    },
    /// A restore was interrupted.
    Interrupted {
        /// The workspace, which is half-way between two states.
        workspace: Workspace,
        /// When the restore began, nanoseconds since 1970.
        since_ns: i64,
    },
    /// Temporaries that a crash of ckpt left in a store.
    Temporaries {
        /// The workspace.
        workspace: Workspace,
        /// All of them.
        files: Vec<Leftover>,
    },
    /// A store that was being made or deleted by somebody who is gone.
    HalfStore(Leftover),
    /// Temporaries and locks of a stock git that is gone.
    GitFiles {
        /// The workspace.
        workspace: Workspace,
        /// All of them.
        files: Vec<Leftover>,
    },
    /// Packs without idx, and idx files without pack.
    Halves {
        /// The workspace.
        workspace: Workspace,
        /// All of them.
        files: Vec<PathBuf>,
    },
    /// What a repair put aside, and nobody looked after since.
    PutAside {
        /// The workspace.
        workspace: Workspace,
        /// The directory.
        dir: Leftover,
    },
    /// A file of a store was written in what is the future now.
    Ahead {
        /// The file.
        path: PathBuf,
        /// Its mtime, nanoseconds since 1970.
        time_ns: i64,
    },
}

impl Finding {
    /// Stable word for machines.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable(error) | Self::Unusable { error, .. } => error.code(),
            Self::Foreign(_) => "foreign-directory",
            Self::Writable(_) => "writable-by-others",
            Self::Open(_) => "readable-by-others",
            Self::ReadOnly(_) => "read-only",
            Self::LittleRoom { .. } => "little-room",
            Self::NetworkFs { .. } => "network-fs",
            Self::Store(workspace) => match workspace.state {
                WorkspaceState::Gone => "workspace-gone",
                WorkspaceState::Moved { .. } => "workspace-moved",
                WorkspaceState::Unmounted => "workspace-unmounted",
                WorkspaceState::Obstructed => "workspace-obstructed",
                WorkspaceState::NotOurs => "not-ours",
                _ => "broken-store",
            },
            Self::StoreInWorkspace { .. } | Self::WorkspaceInStore { .. } => "nested-store",
            Self::Locked { .. } => "locked",
            Self::Interrupted { .. } => "interrupted-restore",
            Self::Temporaries { .. } => "temporaries",
            Self::HalfStore(_) => "half-store",
            Self::GitFiles { .. } => "git-leftovers",
            Self::Halves { .. } => "half-pack",
            Self::PutAside { .. } => "put-aside",
            Self::Ahead { .. } => "future-time",
        }
    }

    /// What was looked at.
    pub fn check(&self) -> Check {
        match self {
            Self::Unreadable(_) | Self::Foreign(_) | Self::Writable(_) | Self::Open(_) => Check::CheckpointDir,
            Self::ReadOnly(_) | Self::LittleRoom { .. } => Check::Disk,
            Self::NetworkFs { .. } => Check::FileSystem,
            Self::Store(_) | Self::Unusable { .. } | Self::Halves { .. } => Check::Stores,
            Self::StoreInWorkspace { .. } | Self::WorkspaceInStore { .. } => Check::Nesting,
            Self::Locked { .. } => Check::Locks,
            Self::Interrupted { .. } => Check::Restores,
            Self::Temporaries { .. } | Self::HalfStore(_) | Self::GitFiles { .. } | Self::PutAside { .. } => {
                Check::Leftovers
            }
            Self::Ahead { .. } => Check::Clock,
        }
    }

    /// How bad it is.
    pub fn level(&self) -> Level {
        match self {
            Self::Unreadable(_)
            | Self::Foreign(_)
            | Self::Writable(_)
            | Self::ReadOnly(_)
            | Self::Unusable { .. }
            | Self::WorkspaceInStore { .. }
            | Self::Interrupted { .. }
            | Self::Halves { .. } => Level::Problem,
            Self::LittleRoom { space, .. } if is_full(space) => Level::Problem,
            Self::NetworkFs { is_allowed: false, .. } => Level::Problem,
            Self::Store(workspace) => match workspace.state {
                WorkspaceState::Broken(_) => Level::Problem,
                WorkspaceState::NotOurs => Level::Fine,
                _ => Level::Warning,
            },
            Self::Locked { is_long: false, .. } => Level::Fine,
            _ => Level::Warning,
        }
    }
}

fn is_full(space: &Space) -> bool {
    space.free_bytes < NO_BYTES || space.free_files.is_some_and(|files| files < NO_FILES)
}

impl CheckpointService {
    /// Looks at the checkpoint directory, at every store, and at the place of its workspace; and at that of `worktree`,
    /// which may have no store yet. Changes nothing, and waits for nobody.
    ///
    /// # Errors
    /// [`Error::Store`] when `worktree` cannot be located. Anything else that cannot be looked at is a finding.
    pub fn diagnose(&self, worktree: Option<&Path>) -> Result<Diagnosis> {
        let worktree = worktree.map(Worktree::locate).transpose()?;
        let configured = &self.config().checkpoint_dir;
        let checkpoint_dir =
            Worktree::locate(configured).map_or_else(|_| configured.clone(), |dir| dir.path().to_owned());
        let mut findings = Vec::new();
        let mut checkup = match check_up(&checkpoint_dir) {
            Ok(checkup) => checkup,
            Err(err) => {
                findings.push(Finding::Unreadable(err.into()));
                None
            }
        };
        let mut worktrees: Vec<_> = worktree.into_iter().map(|worktree| worktree.path().to_owned()).collect();
        if let Some(checkup) = &mut checkup {
            self.of_dir(checkup, &mut findings);
            for store in &mut checkup.stores {
                let workspace = workspace(store.entry.clone());
                if workspace.state == WorkspaceState::Valid {
                    worktrees.extend(workspace.path.clone());
                }
                self.of_store(store, &workspace, &mut findings);
            }
        }
        worktrees.sort();
        worktrees.dedup();
        for worktree in worktrees {
            self.of_place(&worktree, &checkpoint_dir, &mut findings);
        }
        findings.sort_by_key(Finding::check);
        Ok(Diagnosis { checkup, findings })
    }

    fn of_dir(&self, checkup: &Checkup, findings: &mut Vec<Finding>) {
        let path = || checkup.dir.path.clone();
        if !checkup.dir.is_own {
            findings.push(Finding::Foreign(checkup.dir.clone()));
        } else if checkup.dir.mode & 0o002 != 0 {
            findings.push(Finding::Writable(checkup.dir.clone()));
        } else if checkup.dir.mode & 0o077 != 0 {
            findings.push(Finding::Open(checkup.dir.clone()));
        }
        let space = checkup.space;
        if space.is_read_only {
            findings.push(Finding::ReadOnly(path()));
        } else if is_full(&space) || space.free_bytes < LITTLE_BYTES {
            findings.push(Finding::LittleRoom { path: path(), space });
        }
        if checkup.is_network_fs {
            findings.push(Finding::NetworkFs { path: path(), is_allowed: self.config().allow_network_fs });
        }
        findings.extend(checkup.leftovers.iter().cloned().map(Finding::HalfStore));
    }

    fn of_store(&self, found: &mut StoreCheckup, workspace: &Workspace, findings: &mut Vec<Finding>) {
        let now_ns = self.store_options().clock.now_ns();
        let workspace = || workspace.clone();
        if workspace().state != WorkspaceState::Valid {
            findings.push(Finding::Store(workspace()));
        }
        if workspace().state == WorkspaceState::NotOurs {
            return;
        }
        if let Some(error) = self.fault_of(found.fault.take(), &workspace()) {
            findings.push(Finding::Unusable { workspace: workspace(), error });
        }
        if let Some(dir) = found.dir.as_ref().filter(|dir| dir.is_own && dir.mode & 0o055 != 0) {
            findings.push(Finding::Open(dir.clone()));
        }
        if let Some((holder, since_ns)) = found.holder.clone() {
            let is_long = now_ns.saturating_sub(since_ns) > LONG_NS;
            findings.push(Finding::Locked { workspace: workspace(), holder, since_ns, is_long });
        } else {
            // Whoever holds the lock needs these.
            if let Some(since_ns) = found.journal_ns {
                findings.push(Finding::Interrupted { workspace: workspace(), since_ns });
            }
            if !found.temporaries.is_empty() {
                findings.push(Finding::Temporaries { workspace: workspace(), files: found.temporaries.clone() });
            } else if !found.halves.is_empty() {
                // Beside temporaries they are what a crash between two renames left, which goes with those.
                findings.push(Finding::Halves { workspace: workspace(), files: found.halves.clone() });
            }
        }
        let is_stale = |file: &&Leftover| now_ns.saturating_sub(file.mtime_ns) > STALE_NS;
        let files: Vec<_> = found.git_files.iter().filter(is_stale).cloned().collect();
        if !files.is_empty() {
            findings.push(Finding::GitFiles { workspace: workspace(), files });
        }
        if let Some(dir) = found.put_aside.clone() {
            findings.push(Finding::PutAside { workspace: workspace(), dir });
        }
        if let Some((path, time_ns)) = found.newest.clone().filter(|(_, time)| time.saturating_sub(now_ns) > AHEAD_NS) {
            findings.push(Finding::Ahead { path, time_ns });
        }
    }

    /// Why a store cannot be used, if its record does not say so already.
    fn fault_of(&self, fault: Option<StoreError>, workspace: &Workspace) -> Option<Error> {
        let path = match (&workspace.path, &workspace.state) {
            (None, _) | (_, WorkspaceState::Broken(_) | WorkspaceState::NotOurs) => return None,
            (Some(path), _) => path,
        };
        let opened = CheckpointStore::open(&self.config().checkpoint_dir, path, self.store_options().clone());
        match opened.and_then(|store| store.map_or(Ok(()), |store| store.head().map(drop))) {
            // It says so itself, by another word.
            Err(StoreError::Workspace { .. }) => None,
            Err(err) => Some(err.into()),
            Ok(()) => fault.map(Error::from),
        }
    }

    fn of_place(&self, worktree: &Path, checkpoint_dir: &Path, findings: &mut Vec<Finding>) {
        let (worktree_path, checkpoint_path) = (worktree.to_owned(), checkpoint_dir.to_owned());
        if worktree.starts_with(checkpoint_dir) {
            findings.push(Finding::WorkspaceInStore { worktree: worktree_path, checkpoint_dir: checkpoint_path });
        } else if checkpoint_dir.starts_with(worktree) {
            findings.push(Finding::StoreInWorkspace { worktree: worktree_path, checkpoint_dir: checkpoint_path });
        }
        if is_on_network_fs(worktree) {
            let is_allowed = self.config().allow_network_fs;
            findings.push(Finding::NetworkFs { path: worktree.to_owned(), is_allowed });
        }
    }
}
