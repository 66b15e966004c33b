//! A small agent that works through a task file, checks its own work after each edit, and is brought back when a check
//! fails.
//!
//! ```sh
//! cargo run --example agent -- PROJECT CHECKPOINTS
//! ```
//!
//! `PROJECT/task.txt` has one edit a line: a file, a colon, the new text. The agent's check is that every `.toml` file of
//! the project has nothing but `name = value` lines.

use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ckpt_capability::{AttemptError, Checkpoint, CheckpointExt, CheckpointService, Config};

struct Agent {
    dir: PathBuf,
}

/// The one method that makes the agent's directory safe.
impl Checkpoint for Agent {
    fn worktree_dir(&self) -> &Path {
        &self.dir
    }
}

impl Agent {
    /// Writes the file, and the diary, which shows that an attempt may change more than one.
    fn edit(&self, file: &str, text: &str) -> io::Result<()> {
        let path = self.dir.join(file);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, format!("{text}\n"))?;
        let mut diary = std::fs::OpenOptions::new().create(true).append(true).open(self.dir.join("diary.txt"))?;
        writeln!(diary, "edited {file}")
    }

    fn check(&self) -> io::Result<()> {
        for entry in std::fs::read_dir(&self.dir)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "toml")
                && let Some(line) = std::fs::read_to_string(&path)?.lines().find(|line| !line.contains(" = "))
            {
                return Err(io::Error::other(format!("{}: cannot read {line:?}", path.display())));
            }
        }
        Ok(())
    }
}

/// Works through the task of the project in `dir`, with checkpoints in `checkpoint_dir`.
pub(crate) fn run(dir: &Path, checkpoint_dir: &Path, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let task = dir.join("task.txt");
    let task = std::fs::read_to_string(&task).map_err(|err| format!("cannot read {}: {err}", task.display()))?;
    // An agent that takes the user's own configuration leaves these lines out and mounts nothing.
    let store = CheckpointService::new(Config::new(checkpoint_dir)).store(dir)?;
    let mut agent = Agent { dir: dir.to_owned() }.mount_store(store)?;

    let start = agent.save_checkpoint("before the task")?.id;
    for (file, text) in task.lines().filter_map(|line| line.split_once(": ")) {
        let attempt = agent.checkpointed(&format!("before editing {file}"), |agent| {
            agent.edit(file, text)?;
            agent.check()
        });
        match attempt {
            Ok(()) => writeln!(out, "done: {file}")?,
            Err(AttemptError::Restored { cause, receipt }) => {
                writeln!(out, "taken back: {file} ({} paths): {cause}", receipt.changes.len())?;
            }
            Err(other) => return Err(other.into()),
        }
    }
    agent.save_checkpoint("after the task")?;
    let patch = agent.file_diff(start, "diary.txt".as_ref())?;
    writeln!(out, "the diary since the start:\n{patch}")?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    match (arguments.next(), arguments.next()) {
        (Some(dir), Some(checkpoint_dir)) => run(&dir, &checkpoint_dir, &mut io::stdout()),
        _ => Err("usage: agent PROJECT CHECKPOINTS".into()),
    }
}
