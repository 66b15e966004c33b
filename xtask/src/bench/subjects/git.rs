//! Stock git with a repository outside of the tree, in the two ways in which agents use it.

use std::path::PathBuf;
use std::process::Command;

use crate::bench::subject::{Place, Script, Subject, with};
use crate::bench::verb::Verb;
use crate::bench::witness::printed;
use crate::failure::Failure;

/// git, in one of its ways.
pub(crate) struct Git {
    pub(crate) program: PathBuf,
    pub(crate) way: Way,
}

/// How a state is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// `git add -A && git commit`.
    Commit,
    /// `git add -A && git write-tree`.
    WriteTree,
}

impl Git {
    fn command(&self, place: &Place, args: &[&str]) -> Command {
        let mut command = place.command(&self.program);
        command
            .env("GIT_DIR", &place.store)
            .env("GIT_WORK_TREE", &place.tree)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .args(args);
        command
    }

    fn save(&self, place: &Place) -> Script {
        let keep: &[&str] = match self.way {
            Way::Commit => &["commit", "-q", "--allow-empty", "-m", "save"],
            Way::WriteTree => &["write-tree"],
        };
        Script::new([self.command(place, &["add", "-A"]), self.command(place, keep)])
    }
}

impl Subject for Git {
    fn name(&self) -> &'static str {
        match self.way {
            Way::Commit => "git add+commit",
            Way::WriteTree => "git write-tree",
        }
    }

    fn script(&self, verb: Verb, place: &Place) -> Option<Script> {
        let run = |args: &[&str]| self.command(place, args);
        match verb {
            Verb::First => Some(self.save(place).after([run(&["init", "-q"])])),
            Verb::Save(_) => Some(self.save(place)),
            // Who has trees and no commits asks by making another tree.
            Verb::Status if self.way == Way::WriteTree => Some(self.save(place)),
            _ if self.way == Way::WriteTree => None,
            Verb::Status => Some(Script::new([run(&["status", "--porcelain"])])),
            Verb::Diff(_) => Some(Script::new([run(&["diff"])])),
            Verb::Rollback => Some(Script::new([with(run(&["checkout", "-q", "HEAD", "--"]), [&place.edited])])),
            Verb::Reset(_) => Some(Script::new([run(&["reset", "-q", "--hard"]), run(&["clean", "-fdq"])])),
            _ => None,
        }
    }

    fn saved_tree(&self, place: &Place) -> Result<Option<String>, Failure> {
        let rev = match self.way {
            Way::Commit => self.command(place, &["rev-parse", "HEAD^{tree}"]),
            Way::WriteTree => self.command(place, &["write-tree"]),
        };
        printed(rev).map(Some)
    }

    fn lends_objects(&self) -> bool {
        true
    }
}
