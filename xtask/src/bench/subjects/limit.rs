//! The limits: programs that do only what cannot be left out.

use std::path::PathBuf;

use crate::bench::subject::{Place, Script, Subject, with};
use crate::bench::verb::Verb;

/// One limit.
pub(crate) struct Limit {
    pub(crate) program: PathBuf,
    pub(crate) work: Work,
}

/// What it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Looks at every file, with two threads.
    Walk,
    /// Reads and hashes every file as well.
    Hash,
    /// Deflates all that into one file.
    Deflate,
    /// What people have at hand: `tar` through `zstd -1`.
    TarZstd,
    /// Starts.
    Empty,
    /// Starts ckpt.
    Version,
}

impl Subject for Limit {
    fn name(&self) -> &'static str {
        match self.work {
            Work::Walk => "bare walk",
            Work::Hash => "walk, read, SHA-1",
            Work::Deflate => "walk, read, SHA-1, deflate",
            Work::TarZstd => "tar, zstd -1",
            Work::Empty => "empty program",
            Work::Version => "ckpt --version",
        }
    }

    fn script(&self, verb: Verb, place: &Place) -> Option<Script> {
        let is_asked = match self.work {
            Work::Walk => {
                !matches!(verb, Verb::Rollback | Verb::Start | Verb::List | Verb::Show | Verb::Head | Verb::Workspaces)
            }
            Work::Hash | Work::Deflate | Work::TarZstd => verb == Verb::First,
            Work::Empty => verb == Verb::Start,
            Work::Version => matches!(verb, Verb::Rollback | Verb::List | Verb::Show | Verb::Head | Verb::Workspaces),
        };
        let run = || place.command(&self.program);
        let into = place.store.join("stored");
        let command = match self.work {
            Work::Walk | Work::Hash => with(run(), [&place.tree]),
            Work::Deflate => with(run(), [&place.tree, &into]),
            Work::TarZstd => with(with(run(), ["-I", "zstd -1", "-cf"]), [into.as_os_str(), ".".as_ref()]),
            Work::Empty => run(),
            Work::Version => with(run(), ["--version"]),
        };
        is_asked.then(|| Script::new([command]))
    }

    fn restores(&self) -> bool {
        false
    }
}
