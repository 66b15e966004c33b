//! Racing editors: files are rewritten, grown, cut, exchanged, removed, and become links and directories, in the same
//! size, within one tick of the clock, with times set back, while everything is saved, reset, rolled back and undone in a
//! loop.
//!
//! No version is lost: each stands in the workspace, or was taken away by its own editor, or the store holds it. No save
//! reports a mixture: what it does not call unstable is what the file was at some moment. And nothing outside changes,
//! although links lead there.
//!
//! Writers through a mapping are not tried: making one needs `unsafe`, and docs/guarantees.md promises nothing of them.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::hash::{Hash, Hasher};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};

use super::{Random, Tally, either};
use crate::sandbox::{Output, Sandbox, Tree, assert_no_temporaries, git_command};

const EDITORS: usize = 3;
/// Files of each editor; the last is that of a directory which is a link at times.
const FILES: [&str; 4] = ["f0", "f1", "f2", "d/x"];
/// How long a command may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// What stands outside the workspace, where links lead.
const OUTSIDE: &str = "not ours\n";
/// Shorter contents are not cut: one line, which tells the version, stays whole.
const LINE_MAX: usize = 64;

/// A content, as far as it has to be told from others.
fn hash(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

/// Changes an open file of a name, given what is in it; what it is then.
type Change<E> = fn(&mut E, &str, &mut File, &[u8]) -> io::Result<Vec<u8>>;

/// What all editors know together.
#[derive(Default)]
struct Books {
    /// Everything that a file was at any moment, with its path.
    states: HashMap<u64, String>,
    /// Versions that certainly stood under their path when their editor was done.
    written: HashMap<u64, String>,
    /// Contents that editors took away.
    taken: HashSet<u64>,
}

/// A save that was reported.
struct Saved {
    id: String,
    /// Paths that it said it could not read as they were at one moment.
    unstable: BTreeSet<String>,
}

struct Editor<'a> {
    books: &'a Mutex<Books>,
    /// The path of its directory within the workspace.
    name: String,
    dir: PathBuf,
    /// A directory of its own outside, on the same file system.
    aside: PathBuf,
    canary: PathBuf,
    random: Random,
    number: u64,
}

impl Editor<'_> {
    /// A content that there never was before. Of the given size, or of any.
    fn version(&mut self, file: &str, size: Option<usize>) -> Vec<u8> {
        self.number += 1;
        let line = format!("{}/{file} version {}\n", self.name, self.number);
        let size = size.unwrap_or_else(|| match self.random.below(300) {
            // More than is read in one piece.
            0 => 9 << 20,
            1..30 => 100_000 + self.random.below(400_000),
            _ => LINE_MAX + self.random.below(10_000),
        });
        let mut content = line.repeat(size / line.len() + 1).into_bytes();
        content.truncate(size);
        content
    }

    /// Notes what a file is about to be.
    fn will_be(&self, file: &str, content: &[u8]) {
        self.books.lock().unwrap().states.insert(hash(content), format!("{}/{file}", self.name));
    }

    fn is(&self, file: &str, content: &[u8]) {
        self.books.lock().unwrap().written.insert(hash(content), format!("{}/{file} {}", self.name, content.len()));
    }

    fn take(&self, content: &[u8]) {
        self.books.lock().unwrap().taken.insert(hash(content));
    }

    /// Edits until it is over.
    fn run(mut self, until: Instant) {
        while Instant::now() < until {
            let file = *self.random.pick(&FILES);
            // What a restore does meanwhile makes some edits impossible.
            let _ = self.edit(file);
            if self.random.below(3) > 0 {
                std::thread::sleep(Duration::from_micros(self.random.next() % 6000));
            }
        }
    }

    fn edit(&mut self, file: &str) -> io::Result<()> {
        fs::create_dir_all(&self.dir)?;
        let (handle, base, name) = match file.split_once('/') {
            None => (None, self.dir.clone(), file),
            Some((dir, name)) => {
                if self.random.below(6) == 0 {
                    return self.replace_dir(dir, name);
                }
                // A restore may have put a link there: it is not followed.
                let flags = (OFlags::NOFOLLOW | OFlags::DIRECTORY).bits().cast_signed();
                let handle = OpenOptions::new().read(true).custom_flags(flags).open(self.dir.join(dir))?;
                let base = PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()));
                (Some(handle), base, name)
            }
        };
        let path = base.join(name);
        let done = match self.random.below(10) {
            0..3 => self.exchange(file, &path),
            3 => self.in_place(file, &path, Self::rewrite),
            4 | 5 => self.in_place(file, &path, Self::same_size),
            6 => self.in_place(file, &path, Self::grow),
            7 => self.in_place(file, &path, Self::cut),
            8 => self.remove(&path),
            _ if handle.is_none() => self.replace_by_kind(file, &path),
            _ => self.exchange(file, &path),
        };
        drop(handle);
        done
    }

    /// Puts what stands under `new` in the place of what is at `path`, which goes to the trash.
    fn swap(&mut self, new: &Path, path: &Path) -> io::Result<()> {
        for _ in 0..3 {
            match renameat_with(CWD, new, CWD, path, RenameFlags::NOREPLACE) {
                Ok(()) => return Ok(()),
                Err(rustix::io::Errno::EXIST) => {}
                Err(err) => return Err(err.into()),
            }
            match renameat_with(CWD, new, CWD, path, RenameFlags::EXCHANGE) {
                Ok(()) => return self.discard(new),
                Err(rustix::io::Errno::NOENT) => {}
                Err(err) => return Err(err.into()),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// What the editor took away: files are noted. Directories are kept, since a restore may still be at work in them.
    fn discard(&mut self, out: &Path) -> io::Result<()> {
        let kind = fs::symlink_metadata(out)?.file_type();
        if kind.is_dir() {
            self.number += 1;
            return fs::rename(out, self.aside.join(format!("trash-{}", self.number)));
        }
        if kind.is_file() {
            self.take(&fs::read(out)?);
        }
        fs::remove_file(out)
    }

    /// As editors do that write another file first: old and new have different inodes.
    fn exchange(&mut self, file: &str, path: &Path) -> io::Result<()> {
        let old = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file);
        let same = old.filter(|old| old.len() >= LINE_MAX as u64 && self.random.below(2) == 0);
        let content = self.version(file, same.as_ref().map(|old| usize::try_from(old.len()).unwrap()));
        let new = self.aside.join("new");
        fs::write(&new, &content)?;
        if let Some(old) = same {
            File::options().write(true).open(&new)?.set_modified(old.modified()?)?;
        }
        self.will_be(file, &content);
        let done = self.swap(&new, path);
        match done {
            Ok(()) => self.is(file, &content),
            Err(_) => fs::remove_file(&new)?,
        }
        done
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        let out = self.aside.join("out");
        renameat_with(CWD, path, CWD, &out, RenameFlags::NOREPLACE)?;
        self.discard(&out)
    }

    fn replace_by_kind(&mut self, file: &str, path: &Path) -> io::Result<()> {
        let new = self.aside.join("other");
        if self.random.below(2) == 0 {
            symlink(self.canary.join("x"), &new)?;
            let done = self.swap(&new, path);
            if done.is_err() {
                fs::remove_file(&new)?;
            }
            return done;
        }
        self.put_dir(file, "x", path)
    }

    fn replace_dir(&mut self, dir: &str, name: &str) -> io::Result<()> {
        let path = self.dir.join(dir);
        if self.random.below(2) == 0 {
            let new = self.aside.join("other");
            symlink(&self.canary, &new)?;
            let done = self.swap(&new, &path);
            if done.is_err() {
                fs::remove_file(&new)?;
            }
            return done;
        }
        self.put_dir(dir, name, &path)
    }

    /// A new directory with one file in it.
    fn put_dir(&mut self, dir: &str, name: &str, path: &Path) -> io::Result<()> {
        let new = self.aside.join("other");
        let file = format!("{dir}/{name}");
        let content = self.version(&file, None);
        fs::create_dir(&new)?;
        fs::write(new.join(name), &content)?;
        self.will_be(&file, &content);
        let done = self.swap(&new, path);
        match done {
            Ok(()) => self.is(&file, &content),
            Err(_) => fs::remove_dir_all(&new)?,
        }
        done
    }

    /// Changes a file in its place. What it was is taken away by that; what it is then counts as written if it still
    /// stands under its name, for a writer into a file that was replaced meanwhile writes into the old one.
    fn in_place(&mut self, file: &str, path: &Path, change: Change<Self>) -> io::Result<()> {
        let flags = OFlags::NOFOLLOW.bits().cast_signed();
        let mut open = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?;
        let before = open.metadata()?;
        let mut old = Vec::new();
        open.read_to_end(&mut old)?;
        let new = change(self, file, &mut open, &old)?;
        if self.random.below(3) == 0 {
            open.set_modified(before.modified()?)?;
        }
        self.take(&old);
        if fs::symlink_metadata(path).is_ok_and(|now| (now.dev(), now.ino()) == (before.dev(), before.ino())) {
            self.is(file, &new);
        }
        Ok(())
    }

    fn rewrite(&mut self, file: &str, open: &mut File, _: &[u8]) -> io::Result<Vec<u8>> {
        let new = self.version(file, None);
        self.will_be(file, b"");
        open.set_len(0)?;
        open.seek(SeekFrom::Start(0))?;
        let first = if self.random.below(2) == 0 { self.random.below(new.len()) } else { new.len() };
        self.will_be(file, &new[..first]);
        self.will_be(file, &new);
        open.write_all(&new[..first])?;
        open.write_all(&new[first..])?;
        Ok(new)
    }

    fn same_size(&mut self, file: &str, open: &mut File, old: &[u8]) -> io::Result<Vec<u8>> {
        if old.len() < LINE_MAX {
            return self.rewrite(file, open, old);
        }
        let new = self.version(file, Some(old.len()));
        self.will_be(file, &new);
        open.seek(SeekFrom::Start(0))?;
        open.write_all(&new)?;
        Ok(new)
    }

    fn grow(&mut self, file: &str, open: &mut File, old: &[u8]) -> io::Result<Vec<u8>> {
        if old.len() > 10 << 20 {
            return self.rewrite(file, open, old);
        }
        let more = self.version(file, None);
        let new = [old, &more].concat();
        self.will_be(file, &new);
        open.seek(SeekFrom::End(0))?;
        open.write_all(&more)?;
        Ok(new)
    }

    fn cut(&mut self, file: &str, open: &mut File, old: &[u8]) -> io::Result<Vec<u8>> {
        if old.len() < 2 * LINE_MAX {
            return self.rewrite(file, open, old);
        }
        let new = old[..LINE_MAX + self.random.below(old.len() - LINE_MAX)].to_vec();
        self.will_be(file, &new);
        open.set_len(new.len() as u64)?;
        Ok(new)
    }
}

/// Saves and restores until it is over. The saves that it made.
fn save_and_restore(sandbox: &Sandbox, seed: u64, until: Instant, tally: &Mutex<Tally>) -> Vec<Saved> {
    let mut random = Random::new(seed);
    let mut saved: Vec<Saved> = Vec::new();
    while Instant::now() < until {
        let id = saved.get(random.below(saved.len())).map(|saved| saved.id.clone());
        let dir = format!("e{}", random.below(EDITORS));
        let words = match (random.below(10), id) {
            (0..5, _) | (_, None) => "save".to_owned(),
            (5, Some(id)) => format!("rollback {id} {dir}"),
            (6, Some(id)) => format!("reset {id}"),
            (7, _) => "undo".to_owned(),
            (8, _) => "redo".to_owned(),
            _ => "reset".to_owned(),
        };
        let begun = Instant::now();
        let output = sandbox.ckpt(&format!("{words} --json"));
        let is_done = matches!(output.code, Some(0 | 3))
            || output.out().contains("\"nothing-to-")
            // A save may have met nothing of that directory, and nothing of it stands there now.
            || output.out().contains("\"unknown-path\"");
        let is_done = is_done && begun.elapsed() < PATIENCE;
        let outcome = if is_done { Ok(()) } else { Err(format!("{:?}: {output}", begun.elapsed())) };
        if is_done && words == "save" {
            saved.push(saved_of(&output));
        }
        let kind = words.split(' ').next().unwrap_or_default();
        tally.lock().unwrap().count(kind, outcome);
    }
    saved
}

fn saved_of(output: &Output) -> Saved {
    let json = output.json();
    let omitted = json["omitted"].as_array().unwrap().iter();
    let unstable = omitted.filter(|omitted| omitted["reason"] == "unstable");
    Saved {
        id: json["id"].as_str().unwrap().to_owned(),
        unstable: unstable.map(|omitted| omitted["path"].as_str().unwrap().to_owned()).collect(),
    }
}

/// Every blob that the timeline reaches, by its id.
fn held(sandbox: &Sandbox) -> HashMap<String, u64> {
    let store = sandbox.store();
    let list = git_command()
        .arg("--git-dir")
        .arg(&store)
        .args(["rev-list", "--all", "--objects", "--no-object-names"])
        .output()
        .unwrap();
    let mut asked = tempfile::tempfile().unwrap();
    asked.write_all(&list.stdout).unwrap();
    asked.seek(SeekFrom::Start(0)).unwrap();
    let mut git = git_command();
    git.arg("--git-dir").arg(&store).args(["cat-file", "--batch", "--buffer"]);
    let mut child = git.stdin(asked).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = io::BufReader::new(child.stdout.take().unwrap());
    let mut held = HashMap::new();
    let mut head = String::new();
    while io::BufRead::read_line(&mut out, &mut head).unwrap() > 0 {
        let mut words = head.split_whitespace();
        let (id, kind, size) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
        let mut content = vec![0; size.parse::<usize>().unwrap() + 1];
        out.read_exact(&mut content).unwrap();
        if kind == "blob" {
            held.insert(id.to_owned(), hash(&content[..content.len() - 1]));
        }
        head.clear();
    }
    assert!(child.wait().unwrap().success());
    held
}

/// The files of a checkpoint: path and blob.
fn files_of(sandbox: &Sandbox, id: &str) -> Vec<(String, String)> {
    let listed = sandbox.git_in_store(&["ls-tree", "-r", "-z", id]);
    let entry = |line: &str| {
        let (head, path) = line.split_once('\t')?;
        let words: Vec<&str> = head.split(' ').collect();
        (words[0] != "120000").then(|| (path.to_owned(), words[2].to_owned()))
    };
    listed.split_terminator('\0').filter_map(entry).collect()
}

/// Whether a save took each file as it was at some moment.
fn no_mixture(
    files: &[(String, String)],
    saved: &Saved,
    held: &HashMap<String, u64>,
    books: &mut Books,
) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, id) in files {
        let content = held[id];
        if saved.unstable.contains(path) {
            // From now on a restore may make it the content of that file.
            books.states.entry(content).or_insert_with(|| path.clone());
            continue;
        }
        match books.states.get(&content) {
            // An edit that found its place taken has another name.
            Some(known) if known == path || path.contains(".ckpt-kept") => {}
            Some(_) if content == hash(b"") => {}
            Some(known) => wrong.push(format!("{path} in {} is {known}", saved.id)),
            None => wrong.push(format!("{path} in {} ({id}) is what it never was", saved.id)),
        }
    }
    wrong
}

#[test]
fn racing_editors_lose_no_version_and_see_no_mixture_l44_c28_s2() {
    let sandbox = Sandbox::new();
    let canary = sandbox.root().join("canary");
    fs::create_dir(&canary).unwrap();
    for name in ["x", "f0", "f1", "f2", "d"] {
        fs::write(canary.join(name), OUTSIDE).unwrap();
    }
    let outside = Tree::with_identity(&canary);
    let mut tally = Mutex::new(Tally::new("racing editors"));
    let books = Mutex::new(Books::default());
    let until = Instant::now() + Duration::from_secs(either(20, 600));
    let saved: Vec<Saved> = std::thread::scope(|scope| {
        for number in 0..EDITORS {
            let name = format!("e{number}");
            let aside = sandbox.root().join(format!("aside{number}"));
            fs::create_dir(&aside).unwrap();
            let (dir, canary) = (sandbox.at(&name), canary.clone());
            let random = Random::new(40 + number as u64);
            let editor = Editor { books: &books, name, dir, aside, canary, random, number: 0 };
            scope.spawn(move || editor.run(until));
        }
        let (sandbox, tally) = (&sandbox, &tally);
        let loops: Vec<_> =
            [50, 51].map(|seed| scope.spawn(move || save_and_restore(sandbox, seed, until, tally))).into();
        loops.into_iter().flat_map(|done| done.join().unwrap()).collect()
    });
    let tally_of = tally.get_mut().unwrap();
    let mut books = books.into_inner().unwrap();
    let held = held(&sandbox);
    tally_of.case("outside", || {
        let differences = outside.differences(&Tree::with_identity(&canary));
        let is_read = held.values().any(|content| *content == hash(OUTSIDE.as_bytes()));
        if differences.is_empty() && !is_read { Ok(()) } else { Err(format!("read: {is_read}, {differences}")) }
    });
    // In the order in which they were made, since a mixture that was told may come back.
    let order = sandbox.ckpt("ls --all -n 0 --json").ok().json()["checkpoints"].as_array().unwrap().clone();
    let order: Vec<&str> = order.iter().rev().map(|one| one["id"].as_str().unwrap()).collect();
    let mut saved: Vec<(usize, Saved)> =
        saved.into_iter().map(|saved| (order.iter().position(|id| *id == saved.id).unwrap(), saved)).collect();
    saved.sort_by_key(|(number, _)| *number);
    for (_, saved) in &saved {
        let wrong = no_mixture(&files_of(&sandbox, &saved.id), saved, &held, &mut books);
        tally_of.count("saved", if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) });
    }
    let mut there: HashSet<u64> = held.values().copied().collect();
    there.extend(sandbox.tree().contents().map(|(_, content)| hash(content)));
    for number in 0..EDITORS {
        let aside = Tree::of(&sandbox.root().join(format!("aside{number}")));
        there.extend(aside.contents().map(|(_, content)| hash(content)));
    }
    for (content, what) in &books.written {
        let is_kept = there.contains(content) || books.taken.contains(content);
        tally_of.count("version", if is_kept { Ok(()) } else { Err(format!("lost: {what}")) });
    }
    assert_no_temporaries(&sandbox.w());
    tally.into_inner().unwrap().end();
}

/// Written by one call each time, so that every moment between two calls shows one letter and nothing else.
#[test]
fn a_file_under_a_writer_is_saved_as_it_was_at_one_moment_c28() {
    let sandbox = Sandbox::new();
    let mut file = File::create(sandbox.at("f")).unwrap();
    file.write_all(&[b'a'; 100_000]).unwrap();
    let mut stable = 0;
    let mut tally = Tally::new("one writer");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for letter in (b'a'..=b'z').cycle() {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                file.write_all_at(&[letter; 100_000], 0).unwrap();
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        for _ in 0..either(400, 10_000) {
            let output = sandbox.ckpt("save --always --json");
            let saved = saved_of(&output);
            let content = sandbox.text_in(&saved.id, "f");
            let is_one = content.bytes().all(|byte| byte == content.as_bytes()[0]) && content.len() == 100_000;
            let kind = if saved.unstable.is_empty() { "stable" } else { "unstable" };
            stable += u32::from(kind == "stable");
            let is_right = is_one || kind == "unstable";
            tally.count(kind, if is_right { Ok(()) } else { Err(format!("a mixture in {}", saved.id)) });
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(stable > 0, "no save was stable");
    tally.end();
}
