//! The Python package that ckpt follows. A process for each save, so that its start counts, as that of ckpt does; the
//! service inside a process that runs already is faster.

use std::path::PathBuf;

use crate::bench::subject::{Place, Script, Subject, TreeUse, with};
use crate::bench::verb::Verb;

pub(crate) struct Original {
    /// A Python that has the package.
    pub(crate) python: PathBuf,
}

/// Only the compiled part is loaded; the package around it loads a framework for agents.
const PROGRAM: &str = "\
import sys
from fabricatio_checkpoint.rust import CheckpointService
store = CheckpointService(sys.argv[1], 1).get_store(sys.argv[2])
store.save('save') if sys.argv[3] == 'save' else store.reset(store.head())
";

impl Subject for Original {
    fn name(&self) -> &'static str {
        "fabricatio-checkpoint"
    }

    fn tree(&self) -> TreeUse {
        TreeUse::Own
    }

    fn script(&self, verb: Verb, place: &Place) -> Option<Script> {
        let word = match verb {
            Verb::First | Verb::Save(_) => "save",
            Verb::Reset(_) => "reset",
            _ => return None,
        };
        let python = with(place.command(&self.python), ["-c", PROGRAM]);
        Some(Script::new([with(with(python, [&place.store, &place.tree]), [word])]))
    }
}
