//! An agent with a store of its own around it.

use std::ops::{Deref, DerefMut};
use std::path::Path;

use ckpt_service::{CheckpointStore, Result};

use crate::Checkpoint;

/// An agent together with the store that its checkpoints go to. Made by
/// [`Checkpoint::mount_checkpoint_store`] or [`Checkpoint::mount_store`]; works as the agent in everything else.
///
/// The checkpoint methods of this value use the mounted store, those that the agent has of its own do not: a method in
/// which it calls `self.save_checkpoint()` still goes to the store that it had. Agents that do so need a
/// [`MountPoint`](crate::MountPoint).
#[derive(Clone, Debug)]
pub struct Mounted<A> {
    agent: A,
    store: CheckpointStore,
}

impl<A> Mounted<A> {
    pub(crate) fn new(agent: A, store: CheckpointStore) -> Self {
        Self { agent, store }
    }

    /// Gives the agent back; its checkpoints go where they went before.
    pub fn unmount_checkpoint_store(self) -> A {
        self.agent
    }
}

impl<A: Checkpoint> Checkpoint for Mounted<A> {
    fn worktree_dir(&self) -> &Path {
        self.agent.worktree_dir()
    }

    fn checkpoint_store(&self) -> Result<CheckpointStore> {
        Ok(self.store.clone())
    }
}

impl<A> Deref for Mounted<A> {
    type Target = A;

    fn deref(&self) -> &A {
        &self.agent
    }
}

impl<A> DerefMut for Mounted<A> {
    fn deref_mut(&mut self) -> &mut A {
        &mut self.agent
    }
}
