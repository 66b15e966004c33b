//! Several workspaces beside each other under one checkpoint directory, each with its own model.
//!
//! What is done to one of them must not change a byte of the others and of their stores. A workspace may be renamed and
//! worked on at its new place, where it has another store and so another [`World`]; the old one waits until it comes back.

use std::fs;
use std::path::{Path, PathBuf};

use ckpt_core::{CheckpointId, Error, Notice, RevisionFault, WorkspaceFault};

use super::case::{Case, Hand};
use super::deed::{Deed, Look, Step, TownCase};
use super::disk::{Stamps, first_difference, scan, stamps};
use super::world::{Counts, World, ensure};

/// A directory with the places where it may be, of which it is at one.
struct House<'a> {
    home: World<'a>,
    /// Its second place, once it was there.
    away: Option<World<'a>>,
    is_away: bool,
}

struct Town<'a> {
    houses: Vec<House<'a>>,
    counts: Counts,
}

/// Plays the sequence; the error says what was wrong after which step.
pub(crate) fn play(case: &TownCase, ask_git: bool) -> Result<Counts, String> {
    let place = tempfile::tempdir().unwrap();
    let mut town = Town { houses: Vec::new(), counts: Counts::default() };
    for (number, case) in case.houses.iter().enumerate() {
        town.houses.push(House::new(case, place.path(), number)?);
    }
    for (number, step) in case.steps.iter().enumerate().filter(|(_, step)| step.is_done) {
        town.step(step).map_err(|err| format!("step {number}, {:?}: {err}\n{}", step.deed, town.story()))?;
    }
    for world in town.houses.iter_mut().flat_map(House::worlds) {
        world.verify(Look::Full, Hand::Library).map_err(|err| format!("in the end: {err}\n{}", world.story()))?;
        if ask_git {
            world.check_by_git()?;
        }
        town.counts.add(&world.counts);
    }
    Ok(town.counts)
}

impl<'a> House<'a> {
    fn new(case: &'a Case, place: &'a Path, number: usize) -> Result<Self, String> {
        let root = place.join(format!("w{number}"));
        fs::create_dir(&root).unwrap();
        let mut home = World::new(case, place, root);
        home.begin().map_err(|err| format!("{err}\n{}", home.story()))?;
        Ok(Self { home, away: None, is_away: false })
    }

    fn worlds(&mut self) -> impl Iterator<Item = &mut World<'a>> {
        std::iter::once(&mut self.home).chain(&mut self.away)
    }

    /// The world of the place where the directory is.
    fn world(&mut self) -> &mut World<'a> {
        match &mut self.away {
            Some(away) if self.is_away => away,
            _ => &mut self.home,
        }
    }

    /// Renames the directory. At a new place nothing is saved yet, and the first save is told where the history is.
    fn move_over(&mut self) -> Result<(), String> {
        let old = self.world();
        old.save(false, Hand::Library)?;
        let (case, place, from) = (old.case, old.place, old.root.clone());
        let to = if self.is_away { self.home.root.clone() } else { from.with_extension("moved") };
        fs::rename(&from, &to).unwrap();
        self.world().is_missing()?;
        self.is_away = !self.is_away;
        if self.is_away && self.away.is_none() {
            let mut away = World::new(case, place, to);
            let notices = away.store.notices();
            ensure(notices == [Notice::MovedFrom(from)], || format!("it was moved: {notices:?}"))?;
            away.save(true, Hand::Library)?;
            self.away = Some(away);
        }
        Ok(())
    }
}

impl World<'_> {
    /// Checks that a directory that is gone is an error, and that nothing is made of it.
    pub(crate) fn is_missing(&mut self) -> Result<(), String> {
        let is_missing = |err: &Error| matches!(err, Error::Workspace { reason: WorkspaceFault::Missing, .. });
        let (status, saved) = (self.store.status(), self.store.save("nothing"));
        ensure(status.as_ref().is_err_and(is_missing), || format!("it is missing: {status:?}"))?;
        ensure(saved.as_ref().is_err_and(is_missing), || format!("it is missing: {saved:?}"))?;
        self.refuses(&["save"], "missing-workspace")?;
        ensure(!self.root.exists(), || "it was made again".to_owned())
    }

    /// Puts another, empty directory at the same path. The history stays; it is said until the next save, and not after.
    fn replace(&mut self) -> Result<(), String> {
        let (new, old) = (self.place.join("new"), self.place.join("old"));
        fs::create_dir(&new).unwrap();
        fs::rename(&self.root, &old).unwrap();
        fs::rename(&new, &self.root).unwrap();
        fs::remove_dir_all(old).unwrap();
        self.edit(&self.case.tree[..self.case.tree.len() / 2]);
        let told = |world: &mut Self| {
            world.reopen();
            world.store.notices().to_vec()
        };
        let notices = told(self);
        ensure(notices == [Notice::WorktreeReplaced], || format!("it was replaced: {notices:?}"))?;
        self.save(false, Hand::Library)?;
        let notices = told(self);
        ensure(notices.is_empty(), || format!("it was said: {notices:?}"))
    }

    /// Tries an id of a workspace at `root`.
    fn refuse(&mut self, id: CheckpointId, root: &Path) -> Result<(), String> {
        let is_unknown = |err: &Error| matches!(err, Error::Revision { reason: RevisionFault::Unknown, .. });
        let disk = scan(&self.root);
        let done = [
            self.store.reset(id).map(drop),
            self.store.rollback(id, &["a"]).map(drop),
            self.store.checkpoint(id).map(drop),
        ];
        ensure(done.iter().all(|done| done.as_ref().is_err_and(is_unknown)), || format!("it is not ours: {done:?}"))?;
        let spec = id.to_string();
        let resolved = self.store.resolve(&spec);
        let is_named = |err: &Error| match err {
            Error::Revision { reason: RevisionFault::OtherWorkspace(path), .. } => path == root,
            _ => false,
        };
        ensure(resolved.as_ref().is_err_and(is_named), || format!("it is not ours: {resolved:?}"))?;
        self.refuses(&["reset", &spec], "other-workspace-checkpoint")?;
        self.refuses(&["rollback", &spec, "a"], "other-workspace-checkpoint")?;
        self.check(&disk.files, &disk).map(drop)
    }
}

impl Town<'_> {
    fn step(&mut self, step: &Step) -> Result<(), String> {
        let at = usize::from(step.house) % self.houses.len();
        self.counts.note(step.deed.name());
        let stranger = self.stranger(at, &step.deed);
        let before = self.prints();
        let house = &mut self.houses[at];
        let was_away = house.is_away;
        let world = house.world();
        world.edit(&step.edits);
        world.counts.steps += 1;
        world.tell(&step.deed);
        match &step.deed {
            Deed::Round(round) => world.round(round)?,
            Deed::Save(always, hand) => world.save(*always, *hand)?,
            Deed::Restore(restore, accident) => world.restore(restore, *accident)?,
            Deed::Verify(look, hand) => world.verify(*look, *hand)?,
            Deed::Stranger(_) => {
                let (id, root) = stranger.ok_or("there are other workspaces")?;
                world.refuse(id, &root)?;
            }
            Deed::Move => house.move_over()?,
            Deed::Replace => world.replace()?,
            Deed::ComeBack(number, accident) => world.come_back(*number, *accident)?,
        }
        self.unchanged(at, was_away, &before)
    }

    /// A checkpoint of another workspace than that of house `at`, and where that one is.
    fn stranger(&mut self, at: usize, deed: &Deed) -> Option<(CheckpointId, PathBuf)> {
        let Deed::Stranger(number) = *deed else { return None };
        let number = usize::from(number);
        let count = self.houses.len();
        let other = (at + 1 + number % (count - 1)) % count;
        let others: Vec<_> = self.houses[other].worlds().collect();
        let world = &others[number % others.len()];
        Some((world.checkpoints[number % world.checkpoints.len()].0, world.root.clone()))
    }

    /// What stands on disk of every world: the directory, and the store.
    fn prints(&mut self) -> Vec<Vec<[Stamps; 2]>> {
        let print = |world: &mut World<'_>| [stamps(&world.root), stamps(world.store.path())];
        self.houses.iter_mut().map(|house| house.worlds().map(print).collect()).collect()
    }

    /// Whether nothing of another world changed than of the one that was at work.
    fn unchanged(&mut self, at: usize, was_away: bool, before: &[Vec<[Stamps; 2]>]) -> Result<(), String> {
        let after = self.prints();
        let has_moved = self.houses[at].is_away != was_away;
        for (number, (before, after)) in before.iter().zip(&after).enumerate() {
            for (is_second, (before, after)) in [false, true].into_iter().zip(before.iter().zip(after)) {
                if number == at && (has_moved || is_second == was_away) {
                    continue;
                }
                let changed = before.iter().zip(after).find_map(|(before, after)| first_difference(before, after));
                ensure(changed.is_none(), || format!("{changed:?} of another workspace changed"))?;
            }
        }
        Ok(())
    }

    fn story(&mut self) -> String {
        self.houses.iter_mut().flat_map(House::worlds).map(|world| world.story()).collect()
    }
}

impl Deed {
    fn name(&self) -> &'static str {
        match self {
            Self::Round(_) => "round",
            Self::Save(..) => "save",
            Self::Restore(..) => "restore",
            Self::Verify(..) => "verify",
            Self::Stranger(_) => "id of another workspace",
            Self::Move => "move",
            Self::Replace => "other directory",
            Self::ComeBack(..) => "removed directory",
        }
    }
}
