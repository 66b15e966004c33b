//! One tree and all who are measured on it, in turn, in the same rounds and on the same edits.
//!
//! The tree is shared by all who can share it: one cache of the kernel for all. A subject that takes edits away
//! gets the same edits again on the same files, so that those after it find the tree as it did.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::failure::Failure;
use crate::printer;

use super::disk;
use super::measure::{self, Clock};
use super::series::Series;
use super::statistics::Sample;
use super::subject::{Place, Subject, TreeUse, find_program};
use super::tree::{self, Changed, Source};
use super::verb::{Edit, Leaves, Verb};
use super::witness::Witness;

/// Rounds of verbs that write the whole tree.
const HEAVY_ROUNDS: usize = 3;
/// More than a tick of the kernel's clock of files: what was edited in the tick of a save has to be read again by the
/// next one, and people are not that fast.
const TICK: Duration = Duration::from_millis(30);
/// As many files as any verb but those of all files edits.
const CHOSEN: usize = 1000;

/// Whether a turn is looked at afterwards; it takes as long as a save.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Proof {
    Wanted,
    Omitted,
}

/// A tree and its subjects.
pub(crate) struct Scene {
    base: tempfile::TempDir,
    /// What tables call the tree.
    name: String,
    subjects: Vec<Box<dyn Subject>>,
    witness: Witness,
    has_one_file: bool,
    is_copied: bool,
    files: usize,
    chosen: Vec<PathBuf>,
    /// Each tree, and its id when everybody saved before the verb that is measured. Trees may then differ in edits that
    /// one has taken back and another has not.
    saved: Vec<(PathBuf, String)>,
    /// Stores are never made over: each first save gets new ones. ext4 takes long to make inodes where many were just
    /// deleted, so nothing is deleted before the end.
    generation: usize,
    turn: u64,
}

impl Scene {
    /// Makes the tree, as often as it is needed, below `dir`.
    pub(crate) fn new(dir: &Path, source: &Source, subjects: Vec<Box<dyn Subject>>) -> Result<Self, Failure> {
        let base = tempfile::Builder::new().prefix("ckpt-bench-").tempdir_in(dir);
        let base = base.map_err(|err| Failure::at("create a directory in", dir, err))?;
        let name = match source {
            Source::Made(files) => files.to_string(),
            Source::Copied(dir) => dir.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            Source::OneFile(bytes) => format!("one file of {} MiB", bytes >> 20),
        };
        let git = find_program("git").ok_or_else(|| Failure::new("git is not on PATH").hint("install it"))?;
        let mut scene = Self {
            name,
            subjects,
            witness: Witness::new(git, base.path().join("witness"))?,
            base,
            has_one_file: matches!(source, Source::OneFile(_)),
            is_copied: matches!(source, Source::Copied(_)),
            files: 0,
            chosen: Vec::new(),
            saved: Vec::new(),
            generation: 0,
            turn: 0,
        };
        for root in scene.roots() {
            tree::make(source, &root)?;
        }
        scene.files = tree::count_files(&scene.shared_tree())?;
        scene.chosen = tree::choose_files(&scene.shared_tree(), CHOSEN)?;
        write_homes(&scene.home())?;
        Ok(scene)
    }

    /// What tables call the tree.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Number of files of the tree.
    pub(crate) fn files(&self) -> usize {
        self.files
    }

    /// Another name than that of the tree, where something else is what matters.
    pub(crate) fn named(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// Brings the store of one subject to where its verbs are measured.
    pub(crate) fn prepare(
        &mut self,
        subject: &str,
        commands: impl Fn(&Place) -> Result<Vec<Command>, Failure>,
    ) -> Result<(), Failure> {
        self.bring_up_to_date()?;
        let numbers = (0..self.subjects.len()).filter(|number| self.subjects[*number].name() == subject);
        for number in numbers {
            measure::run(&mut commands(&self.place(number))?, Clock::Processes, &self.log())?;
        }
        Ok(())
    }

    /// Measures one verb by everybody who has it.
    pub(crate) fn measure(&mut self, verb: Verb, rounds: usize) -> Result<Vec<Series>, Failure> {
        if verb != Verb::First {
            self.bring_up_to_date()?;
            let saved = |number| Ok((self.tree_of(number), self.witnessed(number)?));
            self.saved = (0..self.subjects.len()).map(saved).collect::<Result<_, Failure>>()?;
        }
        let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); self.subjects.len()];
        let (rounds, warm_ups) = if verb.is_heavy() { (rounds.min(HEAVY_ROUNDS), 0) } else { (rounds, 1) };
        for round in 0..rounds + warm_ups {
            if verb == Verb::First {
                self.next_generation()?;
            }
            if let Edit::EachRound(changed) = verb.edit() {
                self.edit(changed)?;
            }
            for place in 0..self.subjects.len() {
                // Nobody is always the one who comes after the same other.
                let number = (place + round) % self.subjects.len();
                let proof = if round + 1 == rounds + warm_ups { Proof::Wanted } else { Proof::Omitted };
                if let Some(sample) = self.take_turn(number, verb, proof)?
                    && round >= warm_ups
                {
                    samples[number].push(sample);
                }
            }
        }
        let measured = self.subjects.iter().zip(samples).enumerate().filter(|(_, (_, samples))| !samples.is_empty());
        let series = measured.map(|(number, (subject, samples))| Series {
            tree: self.name.clone(),
            verb: verb.to_string(),
            subject: subject.name(),
            samples,
            store_bytes: (verb == Verb::First).then(|| disk::bytes(&self.store(number))),
        });
        Ok(series.collect())
    }

    fn take_turn(&mut self, number: usize, verb: Verb, proof: Proof) -> Result<Option<Sample>, Failure> {
        self.turn += 1;
        let Some(mut script) = self.subjects[number].script(verb, &self.place(number)) else { return Ok(None) };
        if let Edit::EachTurn(changed) = verb.edit() {
            self.edit(changed)?;
        }
        let wants_edited = proof == Proof::Wanted && verb.leaves() == Leaves::Edited;
        let edited = if wants_edited { Some(self.witnessed(number)?) } else { None };
        if verb.is_heavy() {
            disk::settle();
        }
        measure::run(&mut script.before, Clock::Processes, &self.log())?;
        let sample = measure::run(&mut script.measured, script.clock, &self.log())?;
        if proof == Proof::Wanted {
            self.prove(number, verb, edited.as_deref())?;
        }
        Ok(Some(sample))
    }

    /// Everybody has saved what stands there now; who has not saved at all does it for the first time.
    fn bring_up_to_date(&mut self) -> Result<(), Failure> {
        let verb = if self.generation == 0 { Verb::First } else { Verb::Save(0) };
        if self.generation == 0 {
            self.next_generation()?;
        }
        std::thread::sleep(TICK);
        for number in 0..self.subjects.len() {
            self.take_turn(number, verb, Proof::Omitted)?;
        }
        disk::settle();
        Ok(())
    }

    fn next_generation(&mut self) -> Result<(), Failure> {
        self.generation += 1;
        for number in 0..self.subjects.len() {
            let store = self.store(number);
            fs::create_dir_all(&store).map_err(|err| Failure::at("create", &store, err))?;
        }
        Ok(())
    }

    fn edit(&mut self, changed: Changed) -> Result<(), Failure> {
        self.turn += 1;
        for root in self.roots() {
            match changed {
                Changed::Files(_) if self.has_one_file => tree::edit_middle(&root.join(&self.chosen[0]), self.turn)?,
                Changed::Files(count) => {
                    for path in evenly(&self.chosen, count) {
                        tree::edit(&root.join(path), self.turn)?;
                    }
                }
                Changed::All => tree::visit_files(&root, |path| tree::edit(path, self.turn))?,
            }
        }
        std::thread::sleep(TICK);
        Ok(())
    }

    /// Fails if a turn did not do what it was measured for: what stands in the tree is what was saved, or after an
    /// undo what was edited.
    fn prove(&self, number: usize, verb: Verb, edited: Option<&str>) -> Result<(), Failure> {
        let saved = match verb.leaves() {
            Leaves::Saved => match self.subjects[number].saved_tree(&self.place(number))? {
                None if matches!(verb, Verb::Reset(_)) && self.subjects[number].restores() => {
                    let tree = self.tree_of(number);
                    self.saved.iter().find(|(root, _)| *root == tree).map(|(_, saved)| saved.clone())
                }
                saved => saved,
            },
            Leaves::Edited => edited.map(str::to_owned),
            Leaves::Anything => None,
        };
        let Some(expected) = saved else { return Ok(()) };
        let present = self.witnessed(number)?;
        if present == expected {
            return Ok(());
        }
        let subject = self.subjects[number].name();
        let fact = format!("{verb} of {subject} on {}: the tree is {present} and not {expected}", self.name);
        // Rules of a real directory, empty directories and nested repositories are not the same to everybody.
        if self.is_copied {
            printer::note(&fact);
            return Ok(());
        }
        Err(Failure::new(fact).hint("what was measured did not happen; the figures mean nothing"))
    }

    fn witnessed(&self, number: usize) -> Result<String, Failure> {
        let lender = self.subjects.iter().position(|subject| subject.lends_objects()).map(|number| self.store(number));
        self.witness.tree(&self.place(number), lender.as_deref().unwrap_or(Path::new("")))
    }

    fn place(&self, number: usize) -> Place {
        let edited = self.chosen.first().cloned().unwrap_or_default();
        Place { tree: self.tree_of(number), store: self.store(number), home: self.home(), edited, turn: self.turn }
    }

    fn shared_tree(&self) -> PathBuf {
        self.base.path().join("tree")
    }

    fn tree_of(&self, number: usize) -> PathBuf {
        match self.subjects[number].tree() {
            TreeUse::Shared => self.shared_tree(),
            TreeUse::Own => self.base.path().join(format!("tree-{number}")),
        }
    }

    fn roots(&self) -> Vec<PathBuf> {
        let mut roots: Vec<PathBuf> = (0..self.subjects.len()).map(|number| self.tree_of(number)).collect();
        roots.push(self.shared_tree());
        roots.sort();
        roots.dedup();
        roots
    }

    fn store(&self, number: usize) -> PathBuf {
        self.base.path().join(format!("stores/{}/{number}", self.generation))
    }

    fn home(&self) -> PathBuf {
        self.base.path().join("home")
    }

    fn log(&self) -> PathBuf {
        self.base.path().join("log")
    }
}

/// `count` of `all`, spread over them.
fn evenly<T>(all: &[T], count: usize) -> impl Iterator<Item = &T> {
    let count = count.min(all.len());
    (0..count).map(move |place| &all[place * all.len() / count])
}

/// Configuration of programs that want to know who saves.
fn write_homes(home: &Path) -> Result<(), Failure> {
    let git = "[user]\nname = Bench\nemail = bench@example.invalid\n[gc]\nauto = 0\n[maintenance]\nauto = false\n";
    fs::create_dir_all(home).map_err(|err| Failure::at("create", home, err))?;
    let path = home.join(".gitconfig");
    fs::write(&path, git).map_err(|err| Failure::at("write", &path, err))
}
