//! What one run of the bench measures: scenes, and the verbs on each.

use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::printer;

use super::scene::Scene;
use super::series::Series;
use super::subject::Subject;
use super::subjects::ckpt::{Durability, long_history, many_stores};
use super::subjects::{self, Built};
use super::table::heading;
use super::tree::Source;
use super::verb::{self, Verb};

/// Names of the subjects that the history and the stores are made for.
const CKPT: &str = "ckpt";
const CHECKPOINTS: usize = 10_000;
const STORES: usize = 10_000;
/// The tree under a long history: its files are not what is asked about.
const SMALL: usize = 50;
const LARGE_BYTES: u64 = 1 << 30;

/// What to measure, and where.
pub(crate) struct Plan {
    pub(crate) sources: Vec<Source>,
    /// Names of verbs; empty for all.
    pub(crate) verbs: Vec<String>,
    pub(crate) rounds: usize,
    pub(crate) size: Size,
    pub(crate) peers: Peers,
    /// Directory for trees and stores.
    pub(crate) at: PathBuf,
}

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    Usual,
    /// With what takes tens of minutes.
    Large,
}

/// Who takes part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Peers {
    /// Those that are always there.
    None,
    /// All that are installed.
    Installed { python: Option<PathBuf> },
}

impl Plan {
    /// Measures everything.
    pub(crate) fn run(&self, built: &Built) -> Result<Vec<Series>, Failure> {
        let mut all = Vec::new();
        for source in &self.sources {
            all.extend(self.run_verbs(&verb::OF_A_TREE, || self.scene(source, built))?);
        }
        all.extend(self.run_verbs(&verb::OF_A_HISTORY, || self.history(built))?);
        // The scenes that take long are made only when they are asked for.
        if self.size == Size::Large || self.verbs.contains(&Verb::Workspaces.to_string()) {
            all.extend(self.run_verbs(&verb::OF_MANY_STORES, || {
                let mut scene = self.scene(&Source::Made(SMALL), built)?.named("10,000 stores");
                scene.prepare(CKPT, |place| many_stores(&built.ckpt(Durability::None), place, STORES))?;
                Ok(scene)
            })?);
        }
        if self.size == Size::Large {
            let source = Source::OneFile(LARGE_BYTES);
            all.extend(self.run_verbs(&verb::OF_A_LARGE_FILE, || self.scene(&source, built))?);
        }
        Ok(all)
    }

    /// Those of the verbs that are wanted; the scene is made if there are any.
    fn run_verbs(
        &self,
        verbs: &[Verb],
        scene: impl FnOnce() -> Result<Scene, Failure>,
    ) -> Result<Vec<Series>, Failure> {
        let wanted: Vec<Verb> = verbs.iter().copied().filter(|verb| self.wants(*verb)).collect();
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let mut scene = scene()?;
        let mut all = Vec::new();
        for verb in wanted {
            printer::step(&verb.to_string(), &format!("on {}", heading(scene.name())));
            all.extend(scene.measure(verb, self.rounds)?);
        }
        Ok(all)
    }

    /// Whether the verb is asked for.
    pub(crate) fn wants(&self, verb: Verb) -> bool {
        self.verbs.is_empty() || self.verbs.contains(&verb.to_string())
    }

    /// A scene with 10,000 checkpoints.
    pub(crate) fn history(&self, built: &Built) -> Result<Scene, Failure> {
        let mut scene = self.scene(&Source::Made(SMALL), built)?.named("10,000 checkpoints");
        scene.prepare(CKPT, |place| Ok(vec![long_history(&built.many_saves, place, CHECKPOINTS)]))?;
        Ok(scene)
    }

    /// A scene with all who take part.
    pub(crate) fn scene(&self, source: &Source, built: &Built) -> Result<Scene, Failure> {
        Scene::new(&self.at, source, self.subjects(built)?)
    }

    fn subjects(&self, built: &Built) -> Result<Vec<Box<dyn Subject>>, Failure> {
        let mut subjects = subjects::always(built)?;
        if let Peers::Installed { python } = &self.peers {
            subjects.extend(subjects::peers(python.as_deref().map(Path::new)).0);
        }
        Ok(subjects)
    }

    /// Who could take part and is not installed.
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        match &self.peers {
            Peers::None => Vec::new(),
            Peers::Installed { python } => subjects::peers(python.as_deref()).1,
        }
    }
}
