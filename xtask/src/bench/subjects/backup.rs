//! Programs that make backups: they save all, and bring it back another day.

use std::path::PathBuf;

use crate::bench::subject::{Place, Script, Subject, with};
use crate::bench::verb::Verb;

pub(crate) struct Restic {
    pub(crate) program: PathBuf,
}

impl Subject for Restic {
    fn name(&self) -> &'static str {
        "restic"
    }

    fn script(&self, verb: Verb, place: &Place) -> Option<Script> {
        let run = |args: &[&str]| {
            let mut command = place.command(&self.program);
            command.env("RESTIC_REPOSITORY", place.store.join("repo")).env("RESTIC_PASSWORD", "bench");
            command.env("RESTIC_CACHE_DIR", place.store.join("cache"));
            with(with(command, ["--quiet"]), args)
        };
        let save = Script::new([run(&["backup", "."])]);
        match verb {
            Verb::First => Some(save.after([run(&["init"])])),
            Verb::Save(_) => Some(save),
            _ => None,
        }
    }
}

pub(crate) struct Borg {
    pub(crate) program: PathBuf,
}

impl Subject for Borg {
    fn name(&self) -> &'static str {
        "borg"
    }

    fn script(&self, verb: Verb, place: &Place) -> Option<Script> {
        let run = |args: &[&str]| {
            let mut command = place.command(&self.program);
            command.env("BORG_REPO", place.store.join("repo")).env("BORG_BASE_DIR", &place.store);
            command.env("BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK", "yes").args(args);
            command
        };
        let save = Script::new([run(&["create", &format!("::{}", place.turn), "."])]);
        match verb {
            Verb::First => Some(save.after([run(&["init", "--encryption", "none"])])),
            Verb::Save(_) => Some(save),
            _ => None,
        }
    }
}
