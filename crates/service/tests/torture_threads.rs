//! Many threads in one process: they save, restore, compare, verify, prune and visit, through two services that keep
//! fewer stores open than there are workspaces, and through handles that outlive their eviction. Counted like the
//! tortures of `tests/e2e/torture`, whose other half this is: there the same is done by processes, of which some are killed.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../../../tests/e2e/torture/tally.rs"]
mod tally;

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ckpt_service::{
    CheckpointId, CheckpointService, CheckpointStore, Compare, Config, Contents, Durability, Error, PruneOutcome,
    RepoPath, StoreError, StoreFault, VerifyOptions,
};
use tally::{Random, Tally, caught, either, is_long};

const WORKSPACES: usize = 4;
const SAVERS: usize = 7;
/// How long a call may take, with all the others beside it.
const PATIENCE: Duration = Duration::from_secs(120);

/// A checkpoint, and the version of `<dir>/f` that it holds.
#[derive(Clone)]
struct Known {
    workspace: usize,
    dir: String,
    id: CheckpointId,
    version: u64,
}

struct Stage {
    temp: tempfile::TempDir,
    services: [CheckpointService; 2],
    tally: Mutex<Tally>,
    known: Mutex<Vec<Known>>,
    until: Instant,
}

/// Each line tells the file and its version.
fn content(dir: &str, version: u64) -> String {
    let lines = if version.is_multiple_of(13) { 3000 } else { 1 + version * 7 % 90 };
    (0..lines).map(|line| format!("{dir}/f version {version} line {line} of {lines}\n")).collect()
}

/// Stores of one service are closed while others use them; a handle is taken anew, or kept from before.
struct Hand<'a> {
    stage: &'a Stage,
    random: Random,
    kept: Vec<Option<CheckpointStore>>,
}

impl<'a> Hand<'a> {
    fn new(stage: &'a Stage, seed: u64) -> Self {
        Self { stage, random: Random::new(seed), kept: vec![None; WORKSPACES] }
    }

    fn store(&mut self, workspace: usize) -> CheckpointStore {
        let kept = &mut self.kept[workspace];
        if let Some(store) = kept.as_ref().filter(|_| self.random.below(3) > 0) {
            return store.clone();
        }
        let store = self.random.pick(&self.stage.services).store(&self.stage.w(workspace)).unwrap();
        kept.insert(store).clone()
    }

    /// One of the checkpoints that are known.
    fn known(&mut self) -> Option<Known> {
        let all = self.stage.known.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(self.random.below(all.len())).cloned()
    }
}

impl Stage {
    fn w(&self, workspace: usize) -> PathBuf {
        self.temp.path().join(format!("w{workspace}"))
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    /// Tries something, and looks whether it took too long.
    fn case<T>(&self, kind: &str, try_it: impl FnOnce() -> Result<T, String>) -> Option<T> {
        let begun = Instant::now();
        let tried = caught(try_it).and_then(|done| match begun.elapsed() {
            took if took > PATIENCE => Err(format!("it took {took:?}")),
            _ => Ok(done),
        });
        let (done, outcome) = match tried {
            Ok(done) => (Some(done), Ok(())),
            Err(failure) => (None, Err(failure)),
        };
        self.tally.lock().unwrap_or_else(PoisonError::into_inner).count(kind, outcome);
        done
    }

    /// Writes a version and saves it; nobody else writes that file.
    fn save(&self, store: &CheckpointStore, workspace: usize, dir: &str, version: u64) -> Option<Known> {
        self.case("save", || {
            let at = self.w(workspace).join(dir);
            fs::create_dir_all(&at).map_err(text)?;
            fs::write(at.join("f"), content(dir, version)).map_err(text)?;
            let id = store.save(format!("{dir} {version}")).map_err(text)?.id;
            let known = Known { workspace, dir: dir.to_owned(), id, version };
            self.known.lock().unwrap_or_else(PoisonError::into_inner).push(known.clone());
            Ok(known)
        })
    }

    fn savers(&self, number: usize) {
        let mut hand = Hand::new(self, 60 + number as u64);
        let workspace = number % WORKSPACES;
        for version in 1.. {
            if self.is_over() {
                return;
            }
            let store = hand.store(workspace);
            let _ = self.save(&store, workspace, &format!("s{number}"), version);
        }
    }

    fn restorer(&self, workspace: usize) {
        let mut hand = Hand::new(self, 70 + workspace as u64);
        let dir = "r";
        let mut saved: Vec<Known> = Vec::new();
        for version in 1.. {
            if self.is_over() {
                return;
            }
            let store = hand.store(workspace);
            saved.extend(self.save(&store, workspace, dir, version));
            let Some(to) = saved.get(hand.random.below(saved.len())).filter(|to| to.version != version) else {
                continue;
            };
            let stands = |version: u64| {
                let found = fs::read_to_string(self.w(workspace).join(dir).join("f")).map_err(text)?;
                if found == content(dir, version) { Ok(()) } else { Err(format!("{dir} is not version {version}")) }
            };
            self.case("rollback", || {
                let receipt = store.rollback(to.id, &[dir]).map_err(text)?;
                if receipt.is_complete() { stands(to.version) } else { Err(format!("{receipt:?}")) }
            });
            // By another handle, at times.
            let store = hand.store(workspace);
            self.case("undo", || {
                store.undo().map_err(text)?.ok_or("nothing to undo")?;
                stands(version)
            });
            let redone = |receipt: Option<_>| if receipt.is_some() { stands(to.version) } else { stands(version) };
            // A save of somebody else ends what can be redone.
            self.case("redo", || store.redo().map_err(text).and_then(redone));
        }
    }

    fn reader(&self, seed: u64) {
        let mut hand = Hand::new(self, seed);
        while !self.is_over() {
            let Some(old) = hand.known() else { continue };
            let store = hand.store(old.workspace);
            match hand.random.below(6) {
                0 => {
                    self.case("ls", || {
                        let all = store.checkpoints().map_err(text)?;
                        let is_listed = all.iter().any(|info| info.id == old.id);
                        if is_listed { Ok(()) } else { Err(format!("{} is not listed", old.id)) }
                    });
                }
                1 => {
                    self.case("status", || store.status().map_err(text));
                }
                2 => {
                    let mut options = VerifyOptions::default();
                    options.contents = if hand.random.below(2) == 0 { Contents::None } else { Contents::All };
                    self.case("verify", || {
                        let found = store.verify(&options).map_err(text)?;
                        if found.is_whole() { Ok(()) } else { Err(format!("{found:?}")) }
                    });
                }
                _ => {
                    let Some(new) = hand.known().filter(|new| (&new.dir, new.workspace) == (&old.dir, old.workspace))
                    else {
                        continue;
                    };
                    self.case("diff", || compare(&store, &old, &new));
                }
            }
        }
    }

    /// Makes a workspace, saves and restores in it, and deletes it.
    fn visitor(&self) {
        let mut random = Random::new(80);
        let w = self.temp.path().join("visited");
        let mut version = 0;
        while !self.is_over() {
            version += 1;
            fs::create_dir(&w).unwrap();
            self.case("visit", || {
                fs::write(w.join("f"), content("v", version)).map_err(text)?;
                let saved = random.pick(&self.services).store(&w).and_then(|store| Ok((store.save("v")?, store)));
                let (saved, store) = match saved {
                    // The store of the directory that stood here before was pruned meanwhile.
                    Err(Error::Store(StoreError::Store { reason: StoreFault::Replaced, .. })) => return Ok(()),
                    saved => saved.map_err(text)?,
                };
                fs::write(w.join("f"), "spoilt").map_err(text)?;
                store.rollback(saved.id, &["f"]).map_err(text)?;
                let found = fs::read_to_string(w.join("f")).map_err(text)?;
                if found == content("v", version) { Ok(()) } else { Err(format!("version {version} is {found:.50}")) }
            });
            fs::remove_dir_all(&w).unwrap();
            std::thread::sleep(Duration::from_millis(random.next() % 30));
        }
    }

    fn pruner(&self) {
        let mut random = Random::new(81);
        while !self.is_over() {
            self.case("prune", || {
                let pruned = random.pick(&self.services).prune_invalid().map_err(text)?;
                let failed = pruned.iter().find(|pruned| matches!(pruned.outcome, PruneOutcome::Failed(_)));
                failed.map_or(Ok(()), |failed| Err(format!("{failed:?}")))
            });
            std::thread::sleep(Duration::from_millis(random.next() % 20));
        }
    }
}

/// The patch from one version to another: every line goes, and every line comes.
fn compare(store: &CheckpointStore, old: &Known, new: &Known) -> Result<(), String> {
    let path = RepoPath::new(format!("{}/f", old.dir).as_bytes()).map_err(text)?;
    let diff = store.diff(Compare::Between(old.id, new.id), &[path]).map_err(text)?;
    let patch = diff.patch().to_string();
    let side = |mark: char, head: &str| -> String {
        let lines = patch.lines().filter(|line| !line.starts_with(head));
        lines.filter_map(|line| line.strip_prefix(mark)).map(|line| format!("{line}\n")).collect()
    };
    let text =
        |known: &Known| if old.version == new.version { String::new() } else { content(&known.dir, known.version) };
    let is_right = side('-', "--- ") == text(old) && side('+', "+++ ") == text(new);
    if is_right { Ok(()) } else { Err(format!("{} to {}: {patch:.300}", old.version, new.version)) }
}

/// An error with its causes.
fn text(err: impl std::error::Error) -> String {
    let mut text = err.to_string();
    let mut cause = err.source();
    while let Some(err) = cause {
        text += &format!(": {err}");
        cause = err.source();
    }
    text
}

fn git(store: &Path, args: &[&str]) -> Result<(), String> {
    let output = std::process::Command::new("git").arg("--git-dir").arg(store).args(args).output().map_err(text)?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

#[test]
fn threads_of_two_services_lose_nothing_x1() {
    let temp = tempfile::tempdir().unwrap();
    let service = || {
        let mut config = Config::new(temp.path().join("checkpoints"));
        config.durability = Durability::None;
        config.cache_size = NonZeroUsize::new(2).unwrap();
        config.lock_timeout = PATIENCE;
        CheckpointService::new(config)
    };
    let services = [service(), service()];
    let until = Instant::now() + Duration::from_secs(either(10, 600));
    let tally = Mutex::new(Tally::new("threads"));
    let stage = Stage { temp, services, tally, known: Mutex::default(), until };
    for workspace in 0..WORKSPACES {
        fs::create_dir(stage.w(workspace)).unwrap();
    }
    std::thread::scope(|scope| {
        let stage = &stage;
        for number in 0..SAVERS {
            scope.spawn(move || stage.savers(number));
        }
        for workspace in 0..2 {
            scope.spawn(move || stage.restorer(workspace));
        }
        for seed in [90, 91] {
            scope.spawn(move || stage.reader(seed));
        }
        scope.spawn(|| stage.visitor());
        scope.spawn(|| stage.pruner());
    });
    // A service that has opened nothing yet finds everything.
    let service = service_of(&stage);
    let mut random = Random::new(99);
    let known = stage.known.lock().unwrap().clone();
    for one in &known {
        if is_long() && random.below(10) > 0 {
            continue;
        }
        stage.case("checkpoint", || {
            let store = service.store(&stage.w(one.workspace)).map_err(text)?;
            let path = stage.w(one.workspace).join(&one.dir).join("f");
            fs::write(&path, "spoilt").map_err(text)?;
            store.rollback(one.id, &[&one.dir]).map_err(text)?;
            let found = fs::read_to_string(path).map_err(text)?;
            if found == content(&one.dir, one.version) { Ok(()) } else { Err(format!("{} {}", one.dir, one.version)) }
        });
    }
    for workspace in 0..WORKSPACES {
        let store = service.store(&stage.w(workspace)).unwrap();
        stage.tally.lock().unwrap().case("afterwards", || {
            store.save("the last").map_err(text)?;
            let mut options = VerifyOptions::default();
            options.contents = Contents::All;
            let found = store.verify(&options).map_err(text)?;
            if found.is_whole() {
                git(store.path(), &["fsck", "--full", "--strict"])
            } else {
                Err(format!("{found:?}"))
            }
        });
    }
    stage.tally.into_inner().unwrap().end();
}

/// Another service of the same directory, which waits for nobody.
fn service_of(stage: &Stage) -> CheckpointService {
    let mut config = stage.services[0].config().clone();
    config.lock_timeout = Duration::from_millis(100);
    CheckpointService::new(config)
}
