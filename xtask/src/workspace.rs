//! Where the workspace and its parts are.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The checkout that the chores work on, by its absolute root.
#[derive(Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// Finds the root from the manifest that cargo runs, else from the current directory upwards.
    ///
    /// The directory is asked for at run time: compiled in, it would be wrong in a copy of the checkout that shares a
    /// target directory.
    pub(crate) fn find() -> Result<Self, Failure> {
        let start = match env::var_os("CARGO_MANIFEST_DIR") {
            Some(dir) => PathBuf::from(dir),
            None => env::current_dir().map_err(|err| Failure::new("cannot find the current directory").because(err))?,
        };
        let root = start
            .ancestors()
            .find(|dir| dir.join("xtask/Cargo.toml").is_file())
            .ok_or_else(|| Failure::new(format!("no ckpt workspace at or above {}", start.display())))?;
        Ok(Self { root: root.to_path_buf() })
    }

    /// The workspace whose root is known.
    pub(crate) fn at(root: PathBuf) -> Self {
        Self { root }
    }

    /// The directory of the root manifest.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A path of the workspace, given relative to its root.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// Where cargo builds: `CARGO_TARGET_DIR`, else `target`.
    pub(crate) fn target_dir(&self) -> PathBuf {
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| self.path("target"), |dir| self.root.join(dir))
    }

    /// Reads a file of the workspace, given relative to its root.
    pub(crate) fn read(&self, relative: &str) -> Result<String, Failure> {
        let path = self.path(relative);
        fs::read_to_string(&path).map_err(|err| Failure::at("read", &path, err))
    }

    /// Writes a file of the workspace, given relative to its root.
    pub(crate) fn write(&self, relative: &str, text: &str) -> Result<(), Failure> {
        let path = self.path(relative);
        fs::write(&path, text).map_err(|err| Failure::at("write", &path, err))
    }
}

/// Removes a directory with all that is in it; a missing one is no failure.
pub(crate) fn remove_dir(dir: &Path) -> Result<(), Failure> {
    match fs::remove_dir_all(dir) {
        Err(err) if err.kind() != std::io::ErrorKind::NotFound => Err(Failure::at("remove", dir, err)),
        _ => Ok(()),
    }
}
