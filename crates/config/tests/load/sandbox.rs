//! A temporary directory with a home, a user's configuration directory and a project, and loads in it.

use std::fs;
use std::path::{Path, PathBuf};

use ckpt_config::{Entry, Loader};

/// The directory, which is removed with it.
pub(crate) struct Sandbox {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

impl Sandbox {
    /// An empty home, an empty configuration directory and an empty project.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let root = dir.path().canonicalize().expect("it exists");
        let sandbox = Self { _dir: dir, root };
        for name in ["home", "config", "project"] {
            fs::create_dir(sandbox.path(name)).expect("the sandbox is writable");
        }
        sandbox
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Writes a file with the directories above it.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).expect("the sandbox is writable");
        fs::write(path, text).expect("the sandbox is writable");
    }

    /// Loads from the project, without environment and without worktree.
    pub(crate) fn loader(&self) -> Loader {
        self.loader_at("project")
    }

    pub(crate) fn loader_at(&self, working_dir: &str) -> Loader {
        Loader::new(self.path(working_dir)).home_dir(self.path("home")).user_config_dir(self.path("config"))
    }

    pub(crate) fn entry(&self, loader: &Loader, key: &str) -> Entry {
        let loaded = loader.load().expect("the configuration loads");
        loaded.entries.into_iter().find(|entry| entry.key.name == key).expect("every key has an entry")
    }

    /// Tells a key's value and origin in one line.
    pub(crate) fn show(&self, loader: &Loader, key: &str) -> String {
        let entry = self.entry(loader, key);
        self.mask(&format!("{} ({})", entry.setting, entry.origin))
    }

    /// Replaces the sandbox's own path, which is another in each run.
    pub(crate) fn mask(&self, text: &str) -> String {
        text.replace(&self.root.display().to_string(), "$ROOT")
    }
}
