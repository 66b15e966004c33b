//! Jujutsu, whose repository is in the tree, so it has a tree of its own.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::bench::subject::{Place, Script, Subject, TreeUse, with};
use crate::bench::verb::Verb;

pub(crate) struct Jj {
    pub(crate) program: PathBuf,
}

const CONFIG: &str = "\
[user]
name = \"Bench\"
email = \"bench@example.invalid\"
[git]
colocate = false
[snapshot]
max-new-file-size = 0
";

impl Jj {
    fn command(&self, place: &Place, args: &[&str]) -> Command {
        // Not given as options: their form changed more often than that of the file.
        let config = place.store.join("jj.toml");
        let _ = fs::write(&config, CONFIG);
        let mut command = place.command(&self.program);
        command.env("JJ_CONFIG", config).args(["--no-pager", "--quiet"]).args(args);
        command
    }
}

impl Subject for Jj {
    fn name(&self) -> &'static str {
        "jj"
    }

    fn tree(&self) -> TreeUse {
        TreeUse::Own
    }

    fn script(&self, verb: Verb, place: &Place) -> Option<Script> {
        let run = |args: &[&str]| self.command(place, args);
        let one = |args: &[&str]| Some(Script::new([run(args)]));
        match verb {
            Verb::First => {
                let before = [place.put_away(".jj"), run(&["git", "init"])];
                Some(Script::new([run(&["commit", "-m", "save"])]).after(before))
            }
            Verb::Save(_) => one(&["commit", "-m", "save"]),
            Verb::Status => one(&["status"]),
            Verb::Diff(_) => one(&["diff", "--git"]),
            Verb::Rollback => Some(Script::new([with(run(&["restore"]), [&place.edited])])),
            Verb::Reset(_) => one(&["restore"]),
            Verb::Undo(_) => Some(Script::new([run(&["undo"])]).after([run(&["restore"])])),
            _ => None,
        }
    }
}
