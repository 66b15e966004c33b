//! Plays a sequence on a real worktree and store, with the model beside them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ckpt_core::{CheckpointId, CheckpointStore, Durability, RuleOptions, StoreOptions};

use super::case::{Act, Case};
use super::disk::{Bytes, Disk, Entry, difference, scan};
use super::edit;
use super::fate::Fate;
use super::rules::Outside;
use super::state::State;

/// What a sequence consisted of.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) steps: u64,
    pub(crate) restores: u64,
}

/// What a restore changed on disk, and where it was between.
#[derive(Clone)]
pub(crate) struct Op {
    pub(crate) changed: BTreeMap<Bytes, (Option<Entry>, Option<Entry>)>,
    pub(crate) before: Rc<State>,
    pub(crate) after: Rc<State>,
    pub(crate) head_before: usize,
    pub(crate) head_after: usize,
}

pub(crate) struct World<'a> {
    pub(crate) case: &'a Case,
    pub(crate) place: tempfile::TempDir,
    pub(crate) root: PathBuf,
    pub(crate) store: CheckpointStore,
    pub(crate) fate: Arc<Fate>,
    /// All checkpoints, safety ones too.
    pub(crate) checkpoints: Vec<(CheckpointId, Rc<State>)>,
    /// Number of head; meaningless before the first save.
    pub(crate) head: usize,
    pub(crate) undo: Vec<Op>,
    pub(crate) redo: Vec<Op>,
    pub(crate) exclude: Vec<&'static str>,
    pub(crate) counts: Counts,
    old_cache: Option<Vec<u8>>,
    /// What was done, for people.
    story: String,
}

/// Plays the sequence; the error says what was wrong after which step.
pub(crate) fn play(case: &Case, ask_git: bool) -> Result<Counts, String> {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("w");
    fs::create_dir(&root).unwrap();
    let fate = Arc::new(Fate::default());
    let store = open(&place, case, &case.exclude, &fate);
    let mut world = World {
        case,
        root,
        place,
        store,
        fate,
        checkpoints: Vec::new(),
        head: 0,
        undo: Vec::new(),
        redo: Vec::new(),
        exclude: case.exclude.clone(),
        counts: Counts::default(),
        old_cache: None,
        story: String::new(),
    };
    let played = world.play_all(ask_git);
    played.map(|()| world.counts).map_err(|err| format!("{err}\nwhat happened:\n{}", world.story))
}

fn open(place: &tempfile::TempDir, case: &Case, exclude: &[&'static str], fate: &Arc<Fate>) -> CheckpointStore {
    let mut rules = RuleOptions::default();
    rules.exclude = exclude.iter().map(|&glob| glob.to_owned()).collect();
    rules.max_file_bytes = case.max_file_bytes;
    let mut options = StoreOptions::default();
    options.durability = Durability::None;
    options.rules = rules;
    options.threads = 1;
    options.observer = Arc::clone(fate) as Arc<dyn ckpt_core::Observer>;
    CheckpointStore::open_or_create(&place.path().join("c"), &place.path().join("w"), options).unwrap()
}

/// Fails with a text.
pub(crate) fn ensure(is_so: bool, text: impl FnOnce() -> String) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(text()) }
}

impl World<'_> {
    fn play_all(&mut self, ask_git: bool) -> Result<(), String> {
        self.edit(&self.case.tree);
        self.save(true)?;
        for round in self.case.rounds.iter().filter(|round| round.is_played) {
            if !round.edits.is_empty() {
                self.edit(&round.edits);
                self.counts.steps += 1;
            }
            self.tell(&round.act);
            self.act(round.act)?;
            for (restore, accident) in &round.restores {
                self.tell(restore);
                self.restore(restore, *accident)?;
            }
        }
        if ask_git {
            self.git(&["fsck", "--full", "--strict", "--no-dangling", "--no-progress"])?;
        }
        Ok(())
    }

    fn edit(&mut self, edits: &[super::case::Edit]) {
        for edit in edits.iter().filter(|edit| edit.is_made) {
            let before = scan(&self.root);
            edit::apply(self.case, *edit, &self.root, &before);
            let lines = difference(&before.files, &scan(&self.root).files);
            self.tell(&format_args!("{:?}\n{}", edit.kind, lines.unwrap_or_default()));
        }
    }

    pub(crate) fn tell(&mut self, what: &dyn std::fmt::Debug) {
        self.story += &format!("- {what:?}\n");
    }

    fn act(&mut self, act: Act) -> Result<(), String> {
        self.counts.steps += 1;
        let cache = self.store.path().join("ckpt/stat-cache");
        match act {
            Act::Save => self.save(false)?,
            Act::SaveAlways => self.save(true)?,
            Act::SaveTwice => {
                self.save(false)?;
                let again = self.store.save("again").map_err(text)?;
                ensure(!again.created, || "the second save made a checkpoint".to_owned())?;
            }
            Act::Status => {
                let now = State::capture(&scan(&self.root).files, &self.outside(), Some(self.head_state()), b"");
                let status = self.store.status().map_err(text)?;
                let is_clean = now.as_tracked(self.head_state()).entries == self.head_state().entries;
                ensure(status.is_clean() == is_clean, || format!("clean should be {is_clean}: {status:?}"))?;
                let told = now.told(Some(self.head_state()));
                ensure(omitted(&status.omitted) == told, || format!("omitted should be {told:?}: {status:?}"))?;
            }
            Act::WaitAndSave => {
                // More than the grain of the clock that the stat cache reckons with.
                std::thread::sleep(Duration::from_millis(25));
                self.save(false)?;
            }
            Act::LoseCache => {
                let _ = fs::remove_file(cache);
            }
            Act::SpoilCache(at) => {
                if let Some(mut bytes) = fs::read(&cache).ok().filter(|bytes| !bytes.is_empty()) {
                    let length = bytes.len();
                    if at % 4 == 0 {
                        bytes.truncate(usize::from(at) % length);
                    } else {
                        bytes[usize::from(at) % length] ^= 0x55;
                    }
                    fs::write(cache, bytes).unwrap();
                }
            }
            Act::OldCache => {
                let now = fs::read(&cache).ok();
                if let Some(old) = self.old_cache.take() {
                    fs::write(cache, old).unwrap();
                }
                self.old_cache = now;
            }
            Act::Reopen(with_exclude) => {
                self.exclude = if with_exclude { self.case.exclude.clone() } else { Vec::new() };
                self.reopen();
            }
        }
        Ok(())
    }

    /// Takes a new handle, as another process would.
    pub(crate) fn reopen(&mut self) {
        self.store = open(&self.place, self.case, &self.exclude, &self.fate);
    }

    pub(crate) fn outside(&self) -> Outside {
        Outside {
            exclude: self.exclude.clone(),
            max_file_bytes: self.case.max_file_bytes,
            root_exclude: fs::read(self.root.join(".git/info/exclude")).ok(),
        }
    }

    pub(crate) fn head_state(&self) -> &State {
        &self.checkpoints[self.head].1
    }

    pub(crate) fn is_as_head(&self, now: &State) -> bool {
        now.is_same(self.head_state()) || now.as_tracked(self.head_state()).is_same(self.head_state())
    }

    /// Saves, and checks what the save says and that it touched nothing.
    fn save(&mut self, always: bool) -> Result<(), String> {
        let before = scan(&self.root);
        let head = self.checkpoints.get(self.head).map(|(_, state)| Rc::clone(state));
        let now = State::capture(&before.files, &self.outside(), head.as_deref(), b"");
        let expected = always || head.is_none() || !self.is_as_head(&now);
        let mut options = ckpt_core::SaveOptions::from("m");
        options.always = always;
        let saved = self.store.save(options).map_err(text)?;
        ensure(saved.created == expected, || {
            let from = head.as_ref().and_then(|head| difference(&head.entries, &now.entries));
            format!(
                "created should be {expected}: {saved:?}\nhead has {:?}\n{from:?}",
                head.as_ref().map(|h| h.omitted.clone())
            )
        })?;
        let told = now.told(head.as_deref());
        ensure(omitted(&saved.omitted) == told, || format!("omitted should be {told:?}: {saved:?}"))?;
        if saved.created {
            self.checkpoints.push((saved.id, Rc::new(now)));
            self.head = self.checkpoints.len() - 1;
            self.redo.clear();
        }
        ensure(saved.id == self.checkpoints[self.head].0, || format!("head is another: {saved:?}"))?;
        self.check(&before.files, &before)?;
        let status = self.store.status().map_err(text)?;
        ensure(status.is_clean(), || format!("not clean after a save: {status:?}"))
    }

    /// Checks that the worktree is as expected, that what is unchanged was not touched, and where head is.
    pub(crate) fn check(&self, expected: &super::disk::Files, before: &Disk) -> Result<Disk, String> {
        let found = scan(&self.root);
        if let Some(difference) = difference(expected, &found.files) {
            return Err(difference);
        }
        let touched = found.touched_since(before);
        ensure(touched.is_none(), || format!("touched: {:?}", touched.map(<[u8]>::escape_ascii)))?;
        let head = self.store.head().map_err(text)?;
        ensure(head == Some(self.checkpoints[self.head].0), || format!("head is {head:?}"))?;
        Ok(found)
    }

    /// Runs stock git on the store.
    pub(crate) fn git(&self, args: &[&str]) -> Result<Vec<u8>, String> {
        let mut command = std::process::Command::new("git");
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", self.place.path());
        let output = command.arg("--git-dir").arg(self.store.path()).args(args).output().map_err(text)?;
        ensure(output.status.success(), || format!("git {args:?}: {output:?}"))?;
        Ok(output.stdout)
    }
}

pub(crate) fn text(err: impl std::fmt::Debug) -> String {
    format!("{err:?}")
}

fn omitted(list: &[ckpt_core::Omitted]) -> BTreeMap<Bytes, &'static str> {
    let unique: BTreeSet<_> =
        list.iter().map(|omitted| (omitted.path.as_bytes().to_vec(), omitted.reason.word())).collect();
    unique.into_iter().collect()
}
