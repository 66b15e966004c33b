//! Plays a sequence on a real worktree and store, with the model beside them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ckpt_core::{CheckpointId, CheckpointStore, Durability, OperationKind, RuleOptions, StoreOptions};

use super::case::{Act, CacheFile, Case, Hand, Round};
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
    /// What else there was, by its name.
    pub(crate) kinds: BTreeMap<&'static str, u64>,
}

impl Counts {
    pub(crate) fn note(&mut self, kind: &'static str) {
        *self.kinds.entry(kind).or_default() += 1;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.restores += other.restores;
        other.kinds.iter().for_each(|(kind, count)| *self.kinds.entry(kind).or_default() += count);
    }
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
    /// The directory in which the checkpoint directory `c` is, and the worktree.
    pub(crate) place: &'a Path,
    pub(crate) root: PathBuf,
    pub(crate) store: CheckpointStore,
    pub(crate) fate: Arc<Fate>,
    /// All checkpoints, safety ones too.
    pub(crate) checkpoints: Vec<(CheckpointId, Rc<State>)>,
    /// Number of head; meaningless before the first save.
    pub(crate) head: usize,
    /// Number of restores on the timeline.
    pub(crate) operations: usize,
    pub(crate) undo: Vec<Op>,
    pub(crate) redo: Vec<Op>,
    pub(crate) exclude: Vec<&'static str>,
    pub(crate) counts: Counts,
    old_cache: BTreeMap<CacheFile, Vec<u8>>,
    /// The stat cache as it was made unreadable.
    pub(crate) spoilt_cache: Vec<(PathBuf, Vec<u8>)>,
    /// What was done, for people.
    story: String,
}

/// Plays the sequence; the error says what was wrong after which step.
pub(crate) fn play(case: &Case, ask_git: bool) -> Result<Counts, String> {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("w");
    fs::create_dir(&root).unwrap();
    let mut world = World::new(case, place.path(), root);
    let played = world.play_all(ask_git);
    played.map(|()| std::mem::take(&mut world.counts)).map_err(|err| format!("{err}\n{}", world.story()))
}

fn open(place: &Path, root: &Path, case: &Case, exclude: &[&'static str], fate: &Arc<Fate>) -> CheckpointStore {
    let mut rules = RuleOptions::default();
    rules.exclude = exclude.iter().map(|&glob| glob.to_owned()).collect();
    rules.max_file_bytes = case.max_file_bytes;
    let mut options = StoreOptions::default();
    options.durability = Durability::None;
    options.rules = rules;
    options.threads = 1;
    options.observer = Arc::clone(fate) as Arc<dyn ckpt_core::Observer>;
    CheckpointStore::open_or_create(&place.join("c"), root, options).unwrap()
}

/// Fails with a text.
pub(crate) fn ensure(is_so: bool, text: impl FnOnce() -> String) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(text()) }
}

impl<'a> World<'a> {
    /// A directory that exists, and its store.
    pub(crate) fn new(case: &'a Case, place: &'a Path, root: PathBuf) -> Self {
        let fate = Arc::new(Fate::default());
        Self {
            case,
            store: open(place, &root, case, &case.exclude, &fate),
            place,
            root,
            fate,
            checkpoints: Vec::new(),
            head: 0,
            operations: 0,
            undo: Vec::new(),
            redo: Vec::new(),
            exclude: case.exclude.clone(),
            counts: Counts::default(),
            old_cache: BTreeMap::new(),
            spoilt_cache: Vec::new(),
            story: String::new(),
        }
    }

    fn play_all(&mut self, ask_git: bool) -> Result<(), String> {
        self.begin()?;
        for round in self.case.rounds.iter().filter(|round| round.is_played) {
            self.round(round)?;
        }
        if ask_git { self.check_by_git() } else { Ok(()) }
    }

    /// Makes the first tree, and saves it.
    pub(crate) fn begin(&mut self) -> Result<(), String> {
        self.edit(&self.case.tree);
        self.save(true, Hand::Library)
    }

    pub(crate) fn round(&mut self, round: &Round) -> Result<(), String> {
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
        Ok(())
    }

    pub(crate) fn edit(&mut self, edits: &[super::case::Edit]) {
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

    /// All that was told, for people.
    pub(crate) fn story(&self) -> String {
        format!("what happened in {}:\n{}", self.root.display(), self.story)
    }

    fn act(&mut self, act: Act) -> Result<(), String> {
        self.counts.steps += 1;
        match act {
            Act::Save => self.save(false, Hand::Library)?,
            Act::SaveAlways => self.save(true, Hand::Library)?,
            Act::SaveTwice => {
                self.save(false, Hand::Library)?;
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
                self.save(false, Hand::Library)?;
            }
            Act::LoseCache(file) => {
                let _ = fs::remove_file(file.of(self.store.path()));
            }
            Act::SpoilCache(file, at) => {
                let cache = file.of(self.store.path());
                if let Some(mut bytes) = fs::read(&cache).ok().filter(|bytes| !bytes.is_empty()) {
                    let length = bytes.len();
                    if at % 4 == 0 {
                        bytes.truncate(usize::from(at) % length);
                    } else {
                        bytes[usize::from(at) % length] ^= 0x55;
                    }
                    fs::write(&cache, &bytes).unwrap();
                    self.spoilt_cache.push((cache, bytes));
                }
            }
            Act::OldCache(file) => {
                let cache = file.of(self.store.path());
                let now = fs::read(&cache).ok();
                if let Some(old) = self.old_cache.remove(&file) {
                    fs::write(cache, old).unwrap();
                }
                self.old_cache.extend(now.map(|now| (file, now)));
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
        self.store = open(self.place, &self.root, self.case, &self.exclude, &self.fate);
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

    /// Checks that the worktree is as expected, that what is unchanged was not touched, where head is, and that the
    /// timeline has each restore once.
    pub(crate) fn check(&self, expected: &super::disk::Files, before: &Disk) -> Result<Disk, String> {
        let found = scan(&self.root);
        if let Some(difference) = difference(expected, &found.files) {
            return Err(difference);
        }
        let touched = found.touched_since(before);
        ensure(touched.is_none(), || format!("touched: {:?}", touched.map(<[u8]>::escape_ascii)))?;
        let head = self.store.head().map_err(text)?;
        ensure(head == Some(self.checkpoints[self.head].0), || format!("head is {head:?}"))?;
        let timeline: Vec<_> = self.store.timeline().map_err(text)?.collect::<Result<_, _>>().map_err(text)?;
        let restores = timeline.iter().filter(|one| !matches!(one.kind, OperationKind::Create | OperationKind::Save));
        let restores = restores.count();
        ensure(restores == self.operations, || format!("{} restores, not {restores}: {timeline:?}", self.operations))?;
        Ok(found)
    }

    /// Has stock git look through the store.
    pub(crate) fn check_by_git(&self) -> Result<(), String> {
        self.git(&["fsck", "--full", "--strict", "--no-dangling", "--no-progress"]).map(drop)
    }

    /// Runs stock git on the store.
    pub(crate) fn git(&self, args: &[&str]) -> Result<Vec<u8>, String> {
        let mut command = std::process::Command::new("git");
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", self.place);
        let output = command.arg("--git-dir").arg(self.store.path()).args(args).output().map_err(text)?;
        ensure(output.status.success(), || format!("git {args:?}: {output:?}"))?;
        Ok(output.stdout)
    }
}

pub(crate) fn text(err: impl std::fmt::Debug) -> String {
    format!("{err:?}")
}

pub(crate) fn omitted(list: &[ckpt_core::Omitted]) -> BTreeMap<Bytes, &'static str> {
    let unique: BTreeSet<_> =
        list.iter().map(|omitted| (omitted.path.as_bytes().to_vec(), omitted.reason.word())).collect();
    unique.into_iter().collect()
}
