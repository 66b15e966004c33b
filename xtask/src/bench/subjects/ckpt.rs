//! ckpt itself, once for each durability, and in a process that runs already.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::bench::measure::Clock;
use crate::bench::subject::{Place, Script, Subject, with};
use crate::bench::verb::Verb;
use crate::bench::witness::printed;
use crate::failure::Failure;

/// Saves in one process; the first is left out of the figures.
const SAVES_IN_PROCESS: &str = "22";

/// The command.
pub(crate) struct Ckpt {
    pub(crate) program: PathBuf,
    /// `examples/many_saves` of ckpt-core.
    pub(crate) many_saves: PathBuf,
    pub(crate) durability: Durability,
}

/// The setting of that name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Beside programs that do not wait for the disk either.
    None,
    /// What users have by default.
    Full,
}

impl Ckpt {
    pub(crate) fn command(&self, place: &Place, args: &[&str]) -> Command {
        let durability = match self.durability {
            Durability::None => "none",
            Durability::Full => "full",
        };
        let mut command = place.command(&self.program);
        command
            .env("FABRICATIO_CHECKPOINT__CHECKPOINT_DIR", &place.store)
            .env("FABRICATIO_CHECKPOINT__DURABILITY", durability)
            .env("FABRICATIO_CHECKPOINT__MAX_FILE_BYTES", "0")
            .arg("-qw")
            .arg(&place.tree)
            .args(args);
        command
    }
}

/// Makes a history of so many checkpoints, all of the same files.
pub(crate) fn long_history(many_saves: &Path, place: &Place, checkpoints: usize) -> Command {
    let saves = with(place.command(many_saves), [&place.store, &place.tree]);
    with(saves, [&checkpoints.to_string(), "always"])
}

/// Makes so many directories, each with a store.
pub(crate) fn many_stores(ckpt: &Ckpt, place: &Place, stores: usize) -> Result<Vec<Command>, Failure> {
    let save = |number| {
        let tree = place.home.join(format!("workspaces/{number}"));
        let file = tree.join("file");
        fs::create_dir_all(&tree).map_err(|err| Failure::at("create", &tree, err))?;
        fs::write(&file, b"text\n").map_err(|err| Failure::at("write", &file, err))?;
        Ok(ckpt.command(&Place { tree, ..place.clone() }, &["save"]))
    };
    (0..stores).map(save).collect()
}

impl Subject for Ckpt {
    fn name(&self) -> &'static str {
        match self.durability {
            Durability::None => "ckpt",
            Durability::Full => "ckpt, full",
        }
    }

    fn script(&self, verb: Verb, place: &Place) -> Option<Script> {
        let run = |args: &[&str]| self.command(place, args);
        let one = |args: &[&str]| Some(Script::new([run(args)]));
        match verb {
            Verb::First | Verb::Save(_) => one(&["save"]),
            Verb::Status => one(&["status"]),
            Verb::Diff(_) => one(&["diff"]),
            Verb::Rollback => Some(Script::new([with(run(&["rollback", "HEAD"]), [&place.edited])])),
            Verb::Reset(_) => one(&["reset"]),
            Verb::Undo(_) => Some(Script::new([run(&["undo"])]).after([run(&["reset"])])),
            Verb::Redo(_) => Some(Script::new([run(&["redo"])]).after([run(&["reset"]), run(&["undo"])])),
            _ if self.durability == Durability::Full => None,
            Verb::InProcess => {
                let program = place.command(&self.many_saves);
                let saves = with(with(program, [&place.store, &place.tree]), [SAVES_IN_PROCESS]);
                Some(Script { clock: Clock::Printed, ..Script::new([saves]) })
            }
            Verb::Start => Some(Script::new([with(place.command(&self.program), ["--version"])])),
            Verb::List => one(&["ls", "-n", "20"]),
            Verb::Show => one(&["show"]),
            Verb::Head => one(&["ls", "-n", "1"]),
            Verb::Workspaces => one(&["workspaces"]),
        }
    }

    fn saved_tree(&self, place: &Place) -> Result<Option<String>, Failure> {
        // Not `show`, which lists the files of a first save: a list of all would stay in our memory (see `measure`).
        let json = printed(self.command(place, &["--json", "ls", "-n", "1"]))?;
        let list: Value = serde_json::from_str(&json).map_err(|err| Failure::new("`ckpt ls`: no JSON").because(err))?;
        let id = list["head"].as_str().ok_or_else(|| Failure::new("`ckpt ls` names no head"))?;
        let dirs = fs::read_dir(&place.store).map_err(|err| Failure::at("list", &place.store, err))?;
        let mut stores = dirs.flatten().map(|entry| entry.path()).filter(|path| path.join("HEAD").is_file());
        let store = stores.next().ok_or_else(|| Failure::new("ckpt saved and made no store"))?;
        let git = with(with(Command::new("git"), ["--git-dir"]), [store]);
        let git = with(git, ["rev-parse", &format!("{id}^{{tree}}")]);
        printed(git).map(Some)
    }
}
