//! Many at once: workspaces under one checkpoint directory in which processes save, restore, prune, verify and read, of
//! which some are killed at any moment. What was reported as saved is there at the end, no reader ever sees other bytes,
//! nothing hangs, and no lock and no temporary stays.
//!
//! Contents prove themselves: each line tells the file and its version. Every saver owns a directory, so that it knows
//! what its checkpoint holds of it. In the first workspace somebody restores a directory of its own meanwhile, in the
//! second the whole workspace, where a saver knows its content only if no restore ran; in the third nobody restores.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Random, Tally, either};
use crate::sandbox::{Output, Sandbox, git_command};

/// Workspaces that savers work in.
const WORKSPACES: usize = 3;
/// In this one a whole workspace is restored, with the files of savers in it.
const WHOLE: usize = 1;
const SAVERS: usize = 8;
/// Files that each saver owns, below its directory.
const FILES: [&str; 3] = ["a", "b", "d/c"];
/// How long a command may take, with all the others beside it.
const PATIENCE: Duration = Duration::from_secs(180);
/// Where files are written before they are renamed into a workspace.
const ASIDE: &str = "aside";

/// The versions of the files of a directory; one that is not named is absent.
type Versions = BTreeMap<&'static str, u64>;

/// A checkpoint that was reported as saved.
#[derive(Clone)]
struct Acknowledged {
    workspace: usize,
    id: String,
    dir: String,
    /// What it holds of `dir`; `None` where a restore ran beside it.
    versions: Option<Versions>,
}

struct Stage<'a> {
    sandbox: &'a Sandbox,
    tally: Mutex<Tally>,
    acknowledged: Mutex<Vec<Acknowledged>>,
    /// Rises when a restore of a whole workspace begins, and again when it has ended: odd while one runs.
    restores: AtomicU64,
    until: Instant,
}

/// The content of a version of a file, each line of which says whose it is.
fn content(dir: &str, file: &str, version: u64) -> String {
    // Some are longer than a page, some than what a pack keeps in one piece.
    let lines = if version.is_multiple_of(11) { 3000 } else { 1 + version * 7 % 90 };
    (0..lines).map(|line| format!("{dir}/{file} version {version} line {line} of {lines}\n")).collect()
}

/// Whether a content is one version, whole, of the file that it is said to be.
fn proves_itself(dir: &str, file: &str, found: &[u8]) -> bool {
    let text = String::from_utf8_lossy(found);
    let version = text.split(' ').nth(2).and_then(|version| version.parse().ok());
    version.is_some_and(|version| content(dir, file, version).as_bytes() == found)
}

impl Stage<'_> {
    fn count(&self, kind: &str, outcome: Result<(), String>) {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner).count(kind, outcome);
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    fn w(&self, workspace: usize) -> PathBuf {
        self.sandbox.root().join(if workspace == 0 { "w".to_owned() } else { format!("w{workspace}") })
    }

    fn store(&self, workspace: usize) -> Option<PathBuf> {
        self.sandbox.store_of(&self.w(workspace).file_name().unwrap().to_string_lossy())
    }

    /// Runs a command, and kills it after `kill` if it still runs then. Counts whether it hung or panicked.
    fn run(&self, dir: &PathBuf, args: &[&str], kill: Option<Duration>) -> Output {
        let call = self.sandbox.call(args).dir(dir).config("lock_timeout", "150s");
        let files = [tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap()];
        let [out, err] = files.each_ref().map(|file| file.try_clone().unwrap());
        let mut child = call.command().stdin(Stdio::null()).stdout(out).stderr(err).spawn().unwrap();
        let begun = Instant::now();
        let mut outcome = Ok(());
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            let hangs = begun.elapsed() > PATIENCE;
            if hangs || kill.is_some_and(|kill| begun.elapsed() >= kill) {
                child.kill().unwrap();
                if hangs {
                    outcome = Err(format!("{args:?} hung"));
                }
                break child.wait().unwrap();
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let [stdout, stderr] = files.map(read_again);
        let args: Vec<_> = args.iter().map(Into::into).collect();
        let output = Output::new(&args, std::process::Output { status, stdout, stderr });
        if output.err().contains("panicked at") {
            outcome = Err(format!("it panicked: {output}"));
        }
        if output.signal.is_some() || outcome.is_err() {
            self.count("killed", outcome);
        }
        output
    }

    /// Runs a command that nobody kills, and that must end with one of these codes.
    fn expect(&self, kind: &str, dir: &PathBuf, args: &[&str], codes: &[i32]) -> Option<Output> {
        let output = self.run(dir, args, None);
        let is_expected = output.code.is_some_and(|code| codes.contains(&code));
        self.count(kind, if is_expected { Ok(()) } else { Err(format!("in {}: {output}", dir.display())) });
        is_expected.then_some(output)
    }

    /// One of those that were reported, with a known content.
    fn known(&self, random: &mut Random) -> Option<(Acknowledged, Versions)> {
        let all = self.acknowledged.lock().unwrap();
        let one = all.get(random.below(all.len()))?.clone();
        let versions = one.versions.clone()?;
        Some((one, versions))
    }

    /// Notes a checkpoint if its id was printed: then it is durable, even if the process was killed before its end.
    fn note(&self, output: &Output, workspace: usize, dir: &str, versions: Option<Versions>) -> Option<String> {
        let id = output.out().strip_suffix('\n').filter(|id| id.len() == 40)?.to_owned();
        let new = Acknowledged { workspace, id: id.clone(), dir: dir.to_owned(), versions };
        self.acknowledged.lock().unwrap().push(new);
        Some(id)
    }

    /// Writes a version of a file. By a rename where readers must never see a part of it.
    fn write(&self, workspace: usize, dir: &str, file: &str, version: u64, by_rename: bool) -> std::io::Result<()> {
        let path = self.w(workspace).join(dir).join(file);
        fs::create_dir_all(path.parent().unwrap())?;
        let text = content(dir, file, version);
        if !by_rename {
            return fs::write(path, text);
        }
        let aside = self.sandbox.root().join(ASIDE).join(dir);
        fs::write(&aside, text)?;
        fs::rename(aside, path)
    }

    /// Writes a new version of each file of a directory, or removes it.
    fn edit(&self, workspace: usize, dir: &str, version: u64, random: &mut Random) -> std::io::Result<Versions> {
        let mut versions = Versions::new();
        for file in FILES {
            let path = self.w(workspace).join(dir).join(file);
            if random.below(7) == 0 {
                match fs::remove_file(path) {
                    Err(err) if err.kind() != std::io::ErrorKind::NotFound => return Err(err),
                    _ => {}
                }
            } else {
                self.write(workspace, dir, file, version, workspace == WHOLE || random.below(2) == 0)?;
                versions.insert(file, version);
            }
        }
        Ok(versions)
    }

    /// What stands in a directory, where it is what is expected or one of several.
    fn stands(&self, workspace: usize, dir: &str, expected: &[&Versions]) -> Result<(), String> {
        let read = |file: &str| fs::read(self.w(workspace).join(dir).join(file)).ok();
        let found: Vec<_> = FILES.iter().map(|file| read(file)).collect();
        let is_as = |versions: &Versions| {
            FILES.iter().zip(&found).all(|(file, found)| {
                let wanted = versions.get(file).map(|version| content(dir, file, *version).into_bytes());
                wanted == *found
            })
        };
        if expected.iter().any(|versions| is_as(versions)) {
            return Ok(());
        }
        let show = |found: &Option<Vec<u8>>| {
            found.as_ref().map(|found| String::from_utf8_lossy(&found[..found.len().min(60)]).into_owned())
        };
        Err(format!("{dir} should be one of {expected:?} and is {:?}", found.iter().map(show).collect::<Vec<_>>()))
    }

    fn save(&self, number: usize) {
        let workspace = number % WORKSPACES;
        let (dir, w) = (format!("s{number}"), self.w(workspace));
        let mut random = Random::new(100 + number as u64);
        let mut version = 0;
        while !self.is_over() {
            version += 1;
            let restores = self.restores.load(Ordering::SeqCst);
            let edited = self.edit(workspace, &dir, version, &mut random);
            if edited.is_err() && workspace != WHOLE {
                self.count("save", Err(format!("the saver cannot write: {edited:?}")));
                return;
            }
            let kill = (random.below(6) == 0).then(|| Duration::from_millis(random.next() % 150));
            let message = format!("{dir} {version}");
            let mut args = vec!["save", "-m", &message];
            if random.below(3) == 0 {
                args.push("--always");
            }
            let output = self.run(&w, &args, kill);
            let is_alone =
                workspace != WHOLE || restores.is_multiple_of(2) && restores == self.restores.load(Ordering::SeqCst);
            let noted = self.note(&output, workspace, &dir, edited.ok().filter(|_| is_alone));
            if output.signal.is_none() {
                // 3: a file that another saver was writing.
                let is_saved = matches!(output.code, Some(0 | 3)) && noted.is_some();
                self.count("save", if is_saved { Ok(()) } else { Err(output.to_string()) });
            }
        }
    }

    /// Restores a directory of its own, again and again, in a workspace in which others save.
    fn restore_own(&self, workspace: usize) {
        let (dir, w) = ("r".to_owned(), self.w(workspace));
        let mut random = Random::new(7);
        let mut saved: Vec<(String, Versions)> = Vec::new();
        let mut version = 0;
        while !self.is_over() {
            version += 1;
            let now = self.edit(workspace, &dir, version, &mut random).unwrap();
            let Some(output) = self.expect("save", &w, &["save"], &[0, 3]) else { continue };
            if let Some(id) = self.note(&output, workspace, &dir, Some(now.clone())) {
                saved.push((id, now.clone()));
            }
            let (id, then) = random.pick(&saved).clone();
            if then == now {
                continue;
            }
            for (words, from, to) in
                [(["rollback", &id, &dir].as_slice(), &now, &then), (&["undo"], &then, &now), (&["redo"], &now, &then)]
            {
                let kill = (random.below(5) == 0).then(|| Duration::from_millis(random.next() % 100));
                let output = self.run(&w, words, kill);
                if output.signal.is_some() {
                    // Whoever takes the lock next ends it, or it never began; a status would not wait for the lock.
                    if let Some(output) = self.expect("save", &w, &["save"], &[0, 3]) {
                        self.note(&output, workspace, &dir, None);
                    }
                    self.count(words[0], self.stands(workspace, &dir, &[from, to]));
                    break;
                }
                // A save of somebody else ends what can be redone.
                if words[0] == "redo" && output.all().contains("nothing to redo") {
                    self.count("redo", self.stands(workspace, &dir, &[from]));
                    break;
                }
                let stands = self.stands(workspace, &dir, &[to]).map_err(|err| format!("{err}: {output}"));
                let is_done = output.code == Some(0);
                self.count(words[0], if is_done { stands } else { Err(output.to_string()) });
                if !is_done {
                    break;
                }
            }
        }
    }

    /// Restores a whole workspace in which others write and save.
    fn restore_whole(&self) {
        let w = self.w(WHOLE);
        let mut random = Random::new(8);
        while !self.is_over() {
            let ids: Vec<String> = {
                let all = self.acknowledged.lock().unwrap();
                all.iter().filter(|one| one.workspace == WHOLE).map(|one| one.id.clone()).collect()
            };
            if ids.is_empty() {
                std::thread::sleep(Duration::from_millis(100));
                continue;
            }
            self.restores.fetch_add(1, Ordering::SeqCst);
            let id = random.pick(&ids);
            for words in [["reset", id].as_slice(), &["undo"], &["redo"]] {
                let kill = (random.below(4) == 0).then(|| Duration::from_millis(random.next() % 150));
                let output = self.run(&w, words, kill);
                if output.signal.is_some() {
                    break;
                }
                // 3: what a saver wrote meanwhile stays. A save ends what can be redone.
                let is_done = matches!(output.code, Some(0 | 3)) || output.all().contains("nothing to redo");
                self.count(words[0], if is_done { Ok(()) } else { Err(output.to_string()) });
            }
            // What was interrupted is finished here, and not by a saver after we said that it has ended.
            self.expect("save", &w, &["save"], &[0, 3]);
            self.restores.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(random.next() % 1500));
        }
    }

    fn read(&self, seed: u64) {
        let mut random = Random::new(seed);
        while !self.is_over() {
            let workspace = random.below(WORKSPACES);
            let w = self.w(workspace);
            let before: Vec<String> = {
                let all = self.acknowledged.lock().unwrap();
                all.iter().filter(|one| one.workspace == workspace).map(|one| one.id.clone()).collect()
            };
            if before.is_empty() {
                std::thread::sleep(Duration::from_millis(50));
                continue;
            }
            match random.below(12) {
                0 => {
                    self.expect("status", &w, &["status"], &[0]);
                }
                1 => {
                    // By the beginning of its id, which is looked for in every pack.
                    let id = &random.pick(&before)[..12];
                    self.expect("show", &w, &["show", id], &[0]);
                }
                2 => {
                    let Some(output) = self.expect("ls", &w, &["ls", "--all", "-n", "0", "--json"], &[0]) else {
                        continue;
                    };
                    let listed = output.out();
                    let missing: Vec<_> = before.iter().filter(|id| !listed.contains(*id)).collect();
                    let outcome = if missing.is_empty() { Ok(()) } else { Err(format!("not listed: {missing:?}")) };
                    self.count("ls", outcome);
                }
                3 => {
                    // Looks at nothing that is known, but must not fail either.
                    self.expect("diff", &w, &["diff", "HEAD", "--stat"], &[0]);
                }
                4..8 => self.export(&mut random),
                _ => self.compare(&mut random),
            }
        }
    }

    /// A file of a checkpoint, as stock git reads it.
    fn export(&self, random: &mut Random) {
        let Some((one, versions)) = self.known(random) else { return };
        let Some((file, version)) = versions.iter().nth(random.below(versions.len())) else { return };
        let Some(store) = self.store(one.workspace) else { return };
        let path = format!("{}:{}/{file}", one.id, one.dir);
        let output = git_command().arg("--git-dir").arg(store).args(["cat-file", "blob", &path]).output().unwrap();
        let is_right = output.stdout == content(&one.dir, file, *version).as_bytes();
        let fail = || format!("{path} is not version {version}: {}", String::from_utf8_lossy(&output.stderr));
        self.count("export", if is_right { Ok(()) } else { Err(fail()) });
    }

    /// The patch between two checkpoints: every line of the one goes, every line of the other comes.
    fn compare(&self, random: &mut Random) {
        let Some((old, from)) = self.known(random) else { return };
        let same_dir = {
            let all = self.acknowledged.lock().unwrap();
            all.iter().filter(|one| one.workspace == old.workspace && one.dir == old.dir).cloned().collect::<Vec<_>>()
        };
        let new = random.pick(&same_dir);
        let Some(to) = &new.versions else { return };
        let file = *random.pick(&FILES);
        let path = format!("{}/{file}", old.dir);
        if !from.contains_key(file) && !to.contains_key(file) {
            return;
        }
        let w = self.w(old.workspace);
        let Some(output) = self.expect("diff", &w, &["diff", &old.id, &new.id, "--", &path], &[0]) else { return };
        let patch = output.out();
        let side = |mark: char, head: &str| -> String {
            let lines = patch.lines().filter(|line| !line.starts_with(head));
            lines.filter_map(|line| line.strip_prefix(mark)).map(|line| format!("{line}\n")).collect()
        };
        let (is, was) = (to.get(file), from.get(file));
        let text = |version: Option<&u64>| match version {
            Some(version) if is != was => content(&old.dir, file, *version),
            _ => String::new(),
        };
        let is_right = side('-', "--- ") == text(was) && side('+', "+++ ") == text(is);
        let head: String = patch.chars().take(500).collect();
        let fail = || format!("{path} from {} to {} is not version {was:?} to {is:?}: {head}", old.id, new.id);
        self.count("diff", if is_right { Ok(()) } else { Err(fail()) });
    }

    fn verify(&self) {
        let mut random = Random::new(9);
        while !self.is_over() {
            let workspace = random.below(WORKSPACES);
            let w = self.w(workspace);
            if !self.acknowledged.lock().unwrap().iter().any(|one| one.workspace == workspace) {
                std::thread::sleep(Duration::from_millis(100));
                continue;
            }
            let args = *random.pick(&[&["verify"][..], &["verify", "--full"], &["verify", "--sample", "30"]]);
            let kill = (random.below(5) == 0).then(|| Duration::from_millis(random.next() % 300));
            let output = self.run(&w, args, kill);
            if output.signal.is_none() {
                self.count("verify", if output.code == Some(0) { Ok(()) } else { Err(output.to_string()) });
            }
        }
    }

    /// Makes a workspace, saves in it and deletes it, while others prune.
    fn visit(&self, number: u64) {
        let dir = format!("v{number}");
        let w = self.sandbox.root().join(&dir);
        let mut random = Random::new(20 + number);
        let mut version = 0;
        while !self.is_over() {
            version += 1;
            fs::create_dir(&w).unwrap();
            let text = content(&dir, "f", version);
            fs::write(w.join("f"), &text).unwrap();
            let kill = (random.below(4) == 0).then(|| Duration::from_millis(random.next() % 100));
            let output = self.run(&w, &["-w", ".", "save"], kill);
            if output.signal.is_none() {
                // The store of the directory that stood here before may be pruned while the save waits for it.
                let is_pruned = output.err().contains("was removed or replaced");
                self.count("visit", if output.code == Some(0) || is_pruned { Ok(()) } else { Err(output.to_string()) });
            }
            if output.code == Some(0) {
                let id = output.id();
                fs::write(w.join("f"), "spoilt").unwrap();
                let output = self.run(&w, &["-w", ".", "rollback", &id, "f"], None);
                let found = fs::read_to_string(w.join("f")).unwrap_or_default();
                let is_right = output.code == Some(0) && found == text;
                self.count("visit", if is_right { Ok(()) } else { Err(output.to_string()) });
            }
            fs::remove_dir_all(&w).unwrap();
            std::thread::sleep(Duration::from_millis(random.next() % 200));
        }
    }

    fn prune(&self) {
        let mut random = Random::new(10);
        while !self.is_over() {
            let kill = (random.below(4) == 0).then(|| Duration::from_millis(random.next() % 60));
            let output = self.run(&self.w(0), &["prune", "--yes"], kill);
            if output.signal.is_none() {
                self.count("prune", if output.code == Some(0) { Ok(()) } else { Err(output.to_string()) });
            }
            std::thread::sleep(Duration::from_millis(random.next() % 300));
        }
    }

    /// Everything that was acknowledged is there, byte for byte.
    fn look_at_all(&self) {
        let all = self.acknowledged.lock().unwrap().clone();
        for workspace in 0..WORKSPACES {
            let store = self.store(workspace).unwrap();
            let of_it: Vec<_> = all.iter().filter(|one| one.workspace == workspace).collect();
            let names: Vec<_> = of_it.iter().flat_map(|one| FILES.map(|file| (*one, file))).collect();
            let mut asked = tempfile::tempfile().unwrap();
            for (one, file) in &names {
                std::io::Write::write_all(&mut asked, format!("{}:{}/{file}\n", one.id, one.dir).as_bytes()).unwrap();
            }
            asked.seek(SeekFrom::Start(0)).unwrap();
            let mut git = git_command();
            let output = git.arg("--git-dir").arg(store).args(["cat-file", "--batch"]).stdin(asked).output().unwrap();
            let mut rest = output.stdout.as_slice();
            for (one, file) in names {
                let found = next_of_batch(&mut rest);
                let is_right = match (&one.versions, &found) {
                    (Some(versions), found) => {
                        let wanted = versions.get(file).map(|version| content(&one.dir, file, *version).into_bytes());
                        wanted == *found
                    }
                    (None, Some(found)) => proves_itself(&one.dir, file, found),
                    (None, None) => true,
                };
                let fail = || format!("{}:{}/{file} should be {:?}", one.id, one.dir, one.versions);
                self.count("checkpoint", if is_right { Ok(()) } else { Err(fail()) });
            }
        }
        let mut random = Random::new(11);
        for _ in 0..either(15, 300) {
            let Some((one, versions)) = self.known(&mut random) else { continue };
            let w = self.w(one.workspace);
            // A directory that the checkpoint does not hold goes.
            if self.expect("restore", &w, &["rollback", &one.id, &one.dir], &[0]).is_some() {
                self.count("restore", self.stands(one.workspace, &one.dir, &[&versions]));
            }
        }
    }
}

/// What a child wrote into a file.
fn read_again(mut file: File) -> Vec<u8> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0)).unwrap();
    file.read_to_end(&mut bytes).unwrap();
    bytes
}

/// The next answer of `git cat-file --batch`; `None` where there is no such object.
fn next_of_batch(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let end = rest.iter().position(|&byte| byte == b'\n').expect("git answers each line");
    let head = String::from_utf8_lossy(&rest[..end]).into_owned();
    *rest = &rest[end + 1..];
    let size: usize = head.rsplit_once(" blob ")?.1.parse().unwrap();
    let found = rest[..size].to_vec();
    *rest = &rest[size + 1..];
    Some(found)
}

#[test]
fn many_at_once_lose_nothing_x1_x6() {
    let sandbox = Sandbox::new();
    let stage = Stage {
        sandbox: &sandbox,
        tally: Mutex::new(Tally::new("many at once")),
        acknowledged: Mutex::default(),
        restores: AtomicU64::new(0),
        until: Instant::now() + Duration::from_secs(either(25, 600)),
    };
    fs::create_dir(sandbox.root().join(ASIDE)).unwrap();
    for workspace in 0..WORKSPACES {
        fs::create_dir_all(stage.w(workspace)).unwrap();
        fs::write(stage.w(workspace).join("base"), "base").unwrap();
    }
    std::thread::scope(|scope| {
        let stage = &stage;
        for number in 0..SAVERS {
            scope.spawn(move || stage.save(number));
        }
        scope.spawn(|| stage.restore_own(0));
        scope.spawn(|| stage.restore_whole());
        for seed in [31, 32] {
            scope.spawn(move || stage.read(seed));
        }
        scope.spawn(|| stage.verify());
        for number in [1, 2] {
            scope.spawn(move || stage.visit(number));
        }
        scope.spawn(|| stage.prune());
    });
    for workspace in 0..WORKSPACES {
        let w = stage.w(workspace);
        // Nobody holds a lock any more: what has to wait at all fails.
        for words in ["status", "save", "ls", "verify --full"] {
            let output = sandbox.call(words.split(' ')).dir(&w).config("lock_timeout", "100ms").run();
            stage.count("afterwards", if output.code == Some(0) { Ok(()) } else { Err(output.to_string()) });
        }
    }
    stage.look_at_all();
    for workspace in 0..WORKSPACES {
        let w = stage.w(workspace);
        stage.expect("afterwards", &w, &["save", "--always", "-m", "the last"], &[0]);
        stage.expect("afterwards", &w, &["verify", "--full"], &[0]);
        crate::sandbox::assert_no_temporaries(&w);
    }
    stage.expect("afterwards", &stage.w(0), &["prune", "--yes"], &[0]);
    sandbox.check();
    stage.tally.into_inner().unwrap().end();
}
