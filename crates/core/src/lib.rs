//! Shadow Git repository of one directory: save, compare and bring back its states.
//!
//! A [`CheckpointStore`] binds a directory, the worktree, to a bare Git repository outside it. `save` turns the files
//! into a checkpoint, `reset` and `rollback` turn a checkpoint into files, and the timeline records every action, so
//! that `undo` takes a restore back.
//!
//! **Nothing is lost.** No call overwrites, replaces or deletes a byte of the worktree that the store does not hold at
//! that moment. No failure, crash, full disk or second process makes a checkpoint unreadable that was reported as saved.
//!
//! The user's own repository is never written, and its configuration decides about nothing. This crate reads neither
//! the environment nor configuration files, prints nothing, and knows no home directory: callers pass what it needs.
//!
//! ```
//! use ckpt_core::{CheckpointStore, StoreOptions};
//!
//! # let temp = tempfile::tempdir()?;
//! # let (project, checkpoints) = (temp.path().join("project"), temp.path().join("checkpoints"));
//! # std::fs::create_dir(&project)?;
//! let store = CheckpointStore::open_or_create(&checkpoints, &project, StoreOptions::default())?;
//! std::fs::write(project.join("main.py"), "print('v1')\n")?;
//! let before = store.save("before refactor")?.id;
//!
//! std::fs::write(project.join("main.py"), "print('v2')\n")?;
//! let receipt = store.reset(before)?;
//! assert!(receipt.conflicts.is_empty());
//! assert_eq!(std::fs::read_to_string(project.join("main.py"))?, "print('v1')\n");
//!
//! // `None` where there is nothing to take back.
//! assert!(store.undo()?.is_some());
//! assert_eq!(std::fs::read_to_string(project.join("main.py"))?, "print('v2')\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod checkout;
mod checkpoint;
mod checkup;
mod clock;
mod commit;
mod create;
mod diff;
mod differences;
mod error;
#[cfg(test)]
mod fuzz;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod git_config;
mod id;
mod layout;
mod log;
mod notice;
mod objects;
mod observer;
mod omitted;
mod options;
mod patch;
mod path;
mod receipt;
mod recent;
mod record;
mod refs;
mod registry;
mod removal;
mod reset;
mod revision;
mod rollback;
mod save;
mod session;
mod snapshot;
mod state;
mod status;
mod store;
mod timeline;
mod undo;
mod verify;

pub use checkpoint::{ChangeCounts, CheckpointInfo, CheckpointKind};
pub use checkup::{Checkup, DirFacts, Leftover, StoreCheckup, check_up, is_on_network_fs};
pub use ckpt_fs::{Durability, Space};
pub use ckpt_pack::ObjectId;
pub use clock::{Clock, SystemClock};
pub use diff::{Compare, Diff, FileDiff, Patch};
pub use error::{Error, ObjectFault, PathFault, Result, RevisionFault, StoreFault, WorkspaceFault};
pub use id::{CheckpointId, OperationId, StoreId};
pub use log::Page;
pub use notice::Notice;
pub use observer::{Event, Observer, Silent};
pub use omitted::{Omitted, Reason};
pub use options::StoreOptions;
pub use patch::LineCounts;
pub use path::{RepoPath, Worktree};
pub use receipt::{
    ChangeKind, Conflict, ConflictReason, EntrySide, LeftAlone, LeftAloneReason, PathChange, Plan, Receipt, Recovery,
};
pub use registry::{StoreEntry, StoreState, moved_from, store_bytes, stores};
pub use removal::{Removal, remove_store, sweep_removed};
pub use revision::Resolved;
pub use save::{SaveOptions, SavePlan, Saved};
pub use snapshot::rules::RuleOptions;
pub use state::EntryKind;
pub use status::Status;
pub use store::CheckpointStore;
pub use timeline::{Operation, OperationKind};
pub use verify::{Contents, Fault, FaultKind, Holder, Lost, Verification, VerifyOptions};
