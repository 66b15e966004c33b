//! A project, a service and an agent for the tests, away from the user's own checkpoints.

use std::path::{Path, PathBuf};

use ckpt_capability::{Checkpoint, CheckpointService, CheckpointStore, Config, Durability, MountPoint, Result};
use tempfile::TempDir;

/// A temporary directory with a service of its own.
pub(crate) struct Sandbox {
    temp: TempDir,
    pub(crate) service: CheckpointService,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let mut config = Config::new(temp.path().join("checkpoints"));
        config.durability = Durability::None;
        Self { temp, service: CheckpointService::new(config) }
    }

    /// Another service over the same worktrees, with other stores.
    pub(crate) fn other_service(&self) -> CheckpointService {
        let mut config = self.service.config().clone();
        config.checkpoint_dir = self.temp.path().join("other-checkpoints");
        CheckpointService::new(config)
    }

    /// The agent of the directory `name`, which is made, with a store that is mounted inside.
    pub(crate) fn agent(&self, name: &str) -> Agent {
        let dir = self.temp.path().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        let agent = Agent { dir, mount: MountPoint::new() };
        agent.mount.mount(self.service.store(&agent.dir).unwrap());
        agent
    }
}

/// An agent with a mount point.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) dir: PathBuf,
    pub(crate) mount: MountPoint,
}

impl Agent {
    pub(crate) fn write(&self, text: &str) {
        std::fs::write(self.dir.join("f"), text).unwrap();
    }

    /// A method of its own that saves, as agents of other people have.
    pub(crate) fn save_and_write(&self, text: &str) -> Result<()> {
        self.save_checkpoint("own method")?;
        self.write(text);
        Ok(())
    }

    #[must_use]
    pub(crate) fn read(&self) -> String {
        std::fs::read_to_string(self.dir.join("f")).unwrap_or_default()
    }
}

impl Checkpoint for Agent {
    fn worktree_dir(&self) -> &Path {
        &self.dir
    }

    fn checkpoint_store(&self) -> Result<CheckpointStore> {
        self.mount.store_or_global(&self.dir)
    }
}
