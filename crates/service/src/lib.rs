//! One checkpoint service per process: open stores, workspaces, prune.
//!
//! A [`CheckpointService`] gives the store of any directory, keeps the ones that were used last open, lists what is
//! tracked, and removes the stores whose directory is gone. [`CheckpointService::global`] is the one of the process, from
//! the configuration that the `ckpt` command reads too; [`CheckpointService::new`] makes as many others as wanted.
//!
//! Only [`CheckpointService::global`] and [`CheckpointService::init_global`] look at the environment, at the working and
//! at the home directory. Whoever needs a store and nothing else uses `ckpt-core`; it is re-exported here as a whole.
//!
//! ```
//! use ckpt_service::{CheckpointService, Config};
//!
//! # let temp = tempfile::tempdir()?;
//! # let (project, checkpoints) = (temp.path().join("project"), temp.path().join("checkpoints"));
//! # std::fs::create_dir(&project)?;
//! let service = CheckpointService::new(Config::new(checkpoints));
//!
//! let store = service.store(&project)?;
//! std::fs::write(project.join("main.py"), "print('v1')\n")?;
//! let before = store.save("before refactor")?.id;
//!
//! std::fs::write(project.join("main.py"), "print('v2')\n")?;
//! store.rollback(before, &["main.py"])?;
//! assert_eq!(std::fs::read_to_string(project.join("main.py"))?, "print('v1')\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod builder;
mod cache;
mod doctor;
mod error;
mod global;
mod prune;
mod redirect;
mod service;
mod workspaces;

pub use builder::ServiceBuilder;
pub use ckpt_config::{Config, Durability, Error as ConfigError, Loaded, Loader, Origin, Redirect, Setting};
pub use ckpt_core::{
    ChangeCounts, ChangeKind, CheckpointId, CheckpointInfo, CheckpointKind, CheckpointStore, Checkup, Clock, Compare,
    Conflict, ConflictReason, Contents, Diff, DirFacts, Durability as StoreDurability, EntryKind, EntrySide,
    Error as StoreError, Event, Fault, FaultKind, FileDiff, Holder, LeftAlone, LeftAloneReason, Leftover, LineCounts,
    Lost, Notice, ObjectFault, ObjectId, Observer, Omitted, Operation, OperationId, OperationKind, Page, Patch,
    PathChange, PathFault, Plan, Reason, Receipt, Recovery, Removal, RepoPath, Resolved, RevisionFault, RuleOptions,
    SaveOptions, SavePlan, Saved, Silent, Space, Status, StoreCheckup, StoreEntry, StoreFault, StoreId, StoreOptions,
    StoreState, SystemClock, Verification, VerifyOptions, WorkspaceFault, Worktree, moved_from, remove_store,
    store_bytes, stores, sweep_removed,
};
pub use doctor::{Check, Diagnosis, Finding, Level};
pub use error::{Error, Result};
pub use prune::{InvalidStore, PruneOutcome, PrunePlan, PrunedStore, prune_stores};
pub use redirect::check_redirect;
pub use service::CheckpointService;
pub use workspaces::{Workspace, WorkspaceDetails, WorkspaceState};
