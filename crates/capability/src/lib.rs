//! The [`Checkpoint`] trait: an agent type that names its directory can save it and bring it back.
//!
//! One method is required. The others save, compare and restore through the store that the process's
//! [`CheckpointService`] has for that directory, or through one that is mounted. This crate is all that an agent's
//! author needs: every type in a signature is re-exported.
//!
//! ```
//! use std::io;
//! use std::path::{Path, PathBuf};
//!
//! use ckpt_capability::{AttemptError, Checkpoint, CheckpointExt};
//!
//! struct MyAgent {
//!     dir: PathBuf,
//! }
//!
//! impl Checkpoint for MyAgent {
//!     fn worktree_dir(&self) -> &Path {
//!         &self.dir
//!     }
//! }
//!
//! impl MyAgent {
//!     fn edit(&self, file: &str, text: &str) -> io::Result<()> {
//!         std::fs::write(self.dir.join(file), text)
//!     }
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//! #   let temp = tempfile::tempdir()?;
//! #   let dir = temp.path().join("project");
//! #   std::fs::create_dir(&dir)?;
//! #   std::fs::write(dir.join("config.toml"), "v1")?;
//! #   let config = ckpt_capability::Config::new(temp.path().join("checkpoints"));
//! #   ckpt_capability::CheckpointService::init_global(config)?;
//!     let mut agent = MyAgent { dir }.mount_checkpoint_store()?;
//!
//!     // Save, edit, and take one file back.
//!     let before = agent.save_checkpoint("before editing")?.id;
//!     agent.edit("config.toml", "v2")?;
//!     agent.rollback(before, "config.toml".as_ref())?;
//!     assert_eq!(std::fs::read_to_string(agent.worktree_dir().join("config.toml"))?, "v1");
//!
//!     // Try something; when it fails, everything is as it was.
//!     let done = agent.checkpointed("before refactor", |agent| {
//!         agent.edit("config.toml", "broken")?;
//!         Err::<(), _>(io::Error::other("tests fail"))
//!     });
//!     assert!(matches!(done, Err(AttemptError::Restored { .. })));
//!     assert_eq!(std::fs::read_to_string(agent.worktree_dir().join("config.toml"))?, "v1");
//!
//!     let _agent: MyAgent = agent.unmount_checkpoint_store();
//!     Ok(())
//! }
//! ```
//!
//! Which store an agent uses:
//!
//! * by default that of [`CheckpointService::global`], made from the same configuration as the `ckpt` command, so that
//!   `ckpt -w DIR ls` shows what the agent saved;
//! * [`Mounted`] carries a store around an agent of somebody else;
//! * a [`MountPoint`] is a field for agents that call their own checkpoint methods: what is mounted there is seen from
//!   inside, from outside and through `dyn Checkpoint`.
//!
//! A [`CheckpointGuard`] brings files back when it is dropped: on an early `?`, a panic, a cancelled future.

mod attempt;
mod capability;
mod forward;
mod guard;
mod mount_point;
mod mounted;

pub use attempt::{AttemptError, CheckpointExt};
pub use capability::Checkpoint;
pub use ckpt_service::{
    ChangeCounts, ChangeKind, CheckpointId, CheckpointInfo, CheckpointKind, CheckpointService, CheckpointStore, Clock,
    Compare, Config, ConfigError, Conflict, ConflictReason, Diff, Durability, EntryKind, EntrySide, Error, Event,
    FileDiff, LeftAlone, LeftAloneReason, LineCounts, Notice, ObjectFault, ObjectId, Observer, Omitted, Operation,
    OperationId, OperationKind, Page, Patch, PathChange, PathFault, Plan, Reason, Receipt, Recovery, RepoPath,
    Resolved, Result, RevisionFault, RuleOptions, SaveOptions, SavePlan, Saved, ServiceBuilder, Silent, Status,
    StoreDurability, StoreError, StoreFault, StoreId, StoreOptions, SystemClock, WorkspaceFault, Worktree,
};
pub use guard::{CheckpointGuard, FailedRestore};
pub use mount_point::MountPoint;
pub use mounted::Mounted;

/// The programs of the page for people who come from Python, so that they are compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/from-fabricatio.md")]
struct FromFabricatio;

/// The program of the README, so that it is compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The programs of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide.md")]
struct Guide;
