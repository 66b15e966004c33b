//! Stock git as judge of what a turn left: a fast save that saved nothing would win every table.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;

use super::subject::{Place, with};

/// What subjects keep in their trees; it is not of the tree.
const KEPT_IN_TREES: &str = "/.jj/\n/.unedit/\n";

/// A repository beside those that are measured, with an index of its own.
pub(crate) struct Witness {
    git: PathBuf,
    repo: PathBuf,
}

impl Witness {
    /// Makes the repository.
    pub(crate) fn new(git: PathBuf, repo: PathBuf) -> Result<Self, Failure> {
        printed(with(with(Command::new(&git), ["init", "-q", "--bare"]), [&repo]))?;
        let exclude = repo.join("info/exclude");
        fs::write(&exclude, KEPT_IN_TREES).map_err(|err| Failure::at("write", &exclude, err))?;
        Ok(Self { git, repo })
    }

    /// Id of the tree that stands in the worktree. Objects that `lender`, another repository, holds are not stored
    /// again.
    pub(crate) fn tree(&self, place: &Place, lender: &Path) -> Result<String, Failure> {
        let run = |args: &[&str]| {
            let mut command = place.command(&self.git);
            command.env("GIT_DIR", &self.repo).env("GIT_WORK_TREE", &place.tree).env("GIT_CONFIG_NOSYSTEM", "1");
            // An index for each tree: that of another would have every file read again.
            let name = place.tree.file_name().unwrap_or_default().to_string_lossy();
            command.env("GIT_INDEX_FILE", self.repo.join(format!("index-{name}")));
            command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", lender.join("objects"));
            printed(with(command, args))
        };
        run(&["-c", "core.looseCompression=0", "add", "-A"])?;
        // The lender of an earlier round is no longer asked.
        run(&["write-tree", "--missing-ok"])
    }
}

/// What a command prints, without the last line end.
pub(crate) fn printed(mut command: Command) -> Result<String, Failure> {
    let output = command.output().map_err(|err| Failure::new(format!("cannot run {command:?}")).because(err))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
        return Err(Failure::new(format!("{command:?} ended with {}", output.status)).because(said));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}
