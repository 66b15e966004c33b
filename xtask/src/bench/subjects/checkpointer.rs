//! Other programs that keep checkpoints for agents.

use std::path::PathBuf;

use crate::bench::subject::{Place, Script, Subject, TreeUse, with};
use crate::bench::verb::Verb;
use crate::bench::witness::printed;

/// `unedit`, which keeps everything in the tree.
pub(crate) struct Unedit {
    pub(crate) program: PathBuf,
}

impl Subject for Unedit {
    fn name(&self) -> &'static str {
        "unedit"
    }

    fn tree(&self) -> TreeUse {
        TreeUse::Own
    }

    fn script(&self, verb: Verb, place: &Place) -> Option<Script> {
        let run = |args: &[&str]| with(place.command(&self.program), args);
        let save = Script::new([run(&["save", "-m", "save"])]);
        match verb {
            Verb::First => Some(save.after([place.put_away(".unedit")])),
            Verb::Save(_) => Some(save),
            Verb::Diff(_) | Verb::Status => Some(Script::new([run(&["diff"])])),
            Verb::Reset(_) => {
                // Without an id it goes back to the newest, which may be what it put aside in the reset before.
                let list = printed(run(&["list"])).ok()?;
                let saved = list.lines().find(|line| !line.contains("[auto]"))?.split(' ').next()?;
                Some(Script::new([run(&["back", "--yes", saved])]))
            }
            _ => None,
        }
    }
}

/// `chkpt`, which keeps everything below the home directory.
pub(crate) struct Chkpt {
    pub(crate) program: PathBuf,
}

impl Subject for Chkpt {
    fn name(&self) -> &'static str {
        "chkpt"
    }

    fn tree(&self) -> TreeUse {
        TreeUse::Own
    }

    fn script(&self, verb: Verb, place: &Place) -> Option<Script> {
        let run = |args: &[&str]| {
            let mut command = place.command(&self.program);
            command.env("HOME", &place.store).args(args);
            command
        };
        match verb {
            Verb::First | Verb::Save(_) => Some(Script::new([run(&["save"])])),
            Verb::Reset(_) => Some(Script::new([run(&["restore", "latest"])])),
            _ => None,
        }
    }
}
