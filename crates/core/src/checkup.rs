//! A look at everything under a checkpoint directory from outside: files, modes, locks and leftovers, not what the
//! objects say, which is for [`verify`](crate::CheckpointStore::verify). Opens no store, takes no lock, changes nothing.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ckpt_fs::{Dir, Entries, FileKind, Lock, Space, Stat};

use crate::checkout::journal::JOURNAL;
use crate::error::Context;
use crate::layout::{DAMAGED, LOCKS, OWN, TMP};
use crate::registry::{self, StoreEntry, StoreState};
use crate::removal::REMOVED;
use crate::{Error, Result};

/// What was found under a checkpoint directory.
#[derive(Debug)]
#[non_exhaustive]
pub struct Checkup {
    /// The directory itself.
    pub dir: DirFacts,
    /// Room on its file system.
    pub space: Space,
    /// Whether it lies on a network file system.
    pub is_network_fs: bool,
    /// What a crash left beside the stores: stores that were being made or deleted, and whose lock is free.
    pub leftovers: Vec<Leftover>,
    /// All that stands in it, sorted by name.
    pub stores: Vec<StoreCheckup>,
}

/// Whose a directory is, and who may do what with it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DirFacts {
    /// The directory.
    pub path: PathBuf,
    /// Permission bits.
    pub mode: u32,
    /// Numeric owner.
    pub owner: u32,
    /// Whether that is the user of this process.
    pub is_own: bool,
}

/// A file or directory that nobody needs any more.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leftover {
    /// Where it is.
    pub path: PathBuf,
    /// When it was written last, nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Bytes that it takes, with all that is below it.
    pub bytes: u64,
}

/// What was found in one store.
#[derive(Debug)]
#[non_exhaustive]
pub struct StoreCheckup {
    /// Where it is, and what it is.
    pub entry: StoreEntry,
    /// Its directory; `None` where that cannot be opened, or is none.
    pub dir: Option<DirFacts>,
    /// Bytes that its files take.
    pub bytes: u64,
    /// Number of packs that readers see.
    pub packs: u64,
    /// What its holder wrote into the lock, a process id and a name, and when; `None` while nobody holds it.
    pub holder: Option<(String, i64)>,
    /// When the journal of a restore was written; the restore runs while the lock is held, else it was interrupted.
    pub journal_ns: Option<i64>,
    /// Temporaries of ours. Whoever holds the lock needs them.
    pub temporaries: Vec<Leftover>,
    /// Temporaries and locks of stock git.
    pub git_files: Vec<Leftover>,
    /// Packs that have lost their idx, and idx files that have lost their pack.
    pub halves: Vec<PathBuf>,
    /// What `verify --repair` put aside.
    pub put_aside: Option<Leftover>,
    /// The file with the newest mtime, and that time.
    pub newest: Option<(PathBuf, i64)>,
    /// Why something of this could not be found out; what is not known is empty or 0.
    pub fault: Option<Error>,
}

/// Looks at everything under `checkpoint_dir`; `None` where there is no such directory.
///
/// # Errors
/// [`Error::Io`] when the directory cannot be read. What cannot be read of a store is told by its
/// [`fault`](StoreCheckup::fault).
pub fn check_up(checkpoint_dir: &Path) -> Result<Option<Checkup>> {
    let root = match Dir::open(checkpoint_dir) {
        Ok(root) => root,
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(err) => return Err(err).context("open", checkpoint_dir),
    };
    let locks = root.open_dir(LOCKS.as_bytes()).ok();
    let mut entries = Entries::default();
    root.read_entries(&mut entries).context("read", checkpoint_dir)?;
    let mut leftovers = Vec::new();
    for entry in entries.iter().filter(|entry| entry.name.starts_with(TMP.as_bytes())) {
        let path = checkpoint_dir.join(OsStr::from_bytes(entry.name));
        // Whoever makes or removes a store holds its lock until it is done.
        if holder(locks.as_ref(), key_of_temporary(entry.name)).context("look at", &path)?.is_none() {
            leftovers.extend(leftover(&root, entry.name, path)?);
        }
    }
    let facts = facts(&root, checkpoint_dir)?;
    let stores = registry::stores(checkpoint_dir)?.into_iter().map(|entry| look_at(&root, locks.as_ref(), entry));
    Ok(Some(Checkup {
        dir: facts,
        space: ckpt_fs::space(&root).context("look at", checkpoint_dir)?,
        is_network_fs: ckpt_fs::is_network_fs(&root).context("look at", checkpoint_dir)?,
        leftovers,
        stores: stores.collect(),
    }))
}

/// Whether the directory at `path` lies on a network file system; false where that cannot be told.
pub fn is_on_network_fs(path: &Path) -> bool {
    Dir::open(path).and_then(|dir| ckpt_fs::is_network_fs(&dir)).unwrap_or(false)
}

fn facts(dir: &Dir, path: &Path) -> Result<DirFacts> {
    let stat = dir.stat_self().context("look at", path)?;
    let is_own = stat.uid == ckpt_fs::user_id();
    Ok(DirFacts { path: path.to_owned(), mode: stat.mode & 0o777, owner: stat.uid, is_own })
}

/// The key in `tmp-<key>-<token>` and `tmp-prune-<key>-<token>`.
fn key_of_temporary(name: &[u8]) -> Option<&str> {
    let rest = std::str::from_utf8(name).ok()?.strip_prefix(TMP)?;
    rest.strip_prefix(REMOVED).unwrap_or(rest).split('-').next()
}

fn holder(locks: Option<&Dir>, key: Option<&str>) -> io::Result<Option<(String, i64)>> {
    match (locks, key) {
        (Some(locks), Some(key)) => Lock::holder_of(locks, format!("{key}.lock").as_bytes()),
        _ => Ok(None),
    }
}

/// `None` where it went away meanwhile.
fn leftover(dir: &Dir, name: &[u8], path: PathBuf) -> Result<Option<Leftover>> {
    let Some(stat) = dir.try_stat(name).context("look at", &path)? else { return Ok(None) };
    let bytes = if stat.kind == FileKind::Dir { registry::store_bytes(&path)? } else { stat.size };
    Ok(Some(Leftover { path, mtime_ns: stat.mtime_ns, bytes }))
}

fn look_at(root: &Dir, locks: Option<&Dir>, entry: StoreEntry) -> StoreCheckup {
    let mut found = StoreCheckup {
        entry,
        dir: None,
        bytes: 0,
        packs: 0,
        holder: None,
        journal_ns: None,
        temporaries: Vec::new(),
        git_files: Vec::new(),
        halves: Vec::new(),
        put_aside: None,
        newest: None,
        fault: None,
    };
    found.fault = found.fill(root, locks).err();
    found
}

/// Names of packs and of their idx files, without what comes after the dot.
#[derive(Default)]
struct Names {
    packs: Vec<String>,
    idx: Vec<String>,
}

impl Names {
    fn halves(&self, dir: &Path) -> Vec<PathBuf> {
        let alone = |stems: &[String], others: &[String], extension: &str| -> Vec<PathBuf> {
            let alone = stems.iter().filter(|stem| !others.contains(stem));
            alone.map(|stem| dir.join(format!("{stem}.{extension}"))).collect()
        };
        [alone(&self.packs, &self.idx, "pack"), alone(&self.idx, &self.packs, "idx")].concat()
    }
}

impl StoreCheckup {
    fn fill(&mut self, root: &Dir, locks: Option<&Dir>) -> Result<()> {
        let path = self.entry.path.clone();
        let name = path.file_name().unwrap_or_default().as_bytes();
        let dir = match root.open_dir(name) {
            Ok(dir) => dir,
            // A file or a link is no store.
            Err(_) if self.entry.state == StoreState::NotOurs => return Ok(()),
            Err(err) => return Err(err).context("open the store", &path),
        };
        self.dir = Some(facts(&dir, &path)?);
        if self.entry.state == StoreState::NotOurs {
            return Ok(());
        }
        self.holder = holder(locks, registry::key_of(name).as_deref()).context("look at the lock of", &path)?;
        self.bytes = registry::store_bytes(&path)?;
        let mut names = Names::default();
        for below in ["", OWN, "refs/heads", "objects", "objects/pack"] {
            each(&dir, &path, below, &mut |name, stat, path| self.take(below, name, stat, path, &mut names))?;
        }
        for file in self.temporaries.iter_mut().chain(&mut self.put_aside).filter(|file| file.path.is_dir()) {
            file.bytes = registry::store_bytes(&file.path)?;
        }
        self.packs = names.packs.iter().filter(|stem| names.idx.contains(stem)).count() as u64;
        self.halves = names.halves(&path.join("objects/pack"));
        Ok(())
    }

    fn take(&mut self, below: &str, name: &str, stat: &Stat, path: &Path, names: &mut Names) {
        let file = || Leftover { path: path.to_owned(), mtime_ns: stat.mtime_ns, bytes: stat.size };
        if stat.kind == FileKind::File && self.newest.as_ref().is_none_or(|(_, newest)| *newest < stat.mtime_ns) {
            self.newest = Some((path.to_owned(), stat.mtime_ns));
        }
        match (below, name) {
            ("" | OWN, _) if name.starts_with(TMP) => self.temporaries.push(file()),
            (OWN, JOURNAL) => self.journal_ns = Some(stat.mtime_ns),
            (OWN, DAMAGED) => self.put_aside = Some(file()),
            ("objects/pack", _) if name.ends_with(".pack") => {
                names.packs.push(name.trim_end_matches(".pack").to_owned());
            }
            ("objects/pack", _) if name.ends_with(".idx") => names.idx.push(name.trim_end_matches(".idx").to_owned()),
            ("objects" | "objects/pack", _) if name.starts_with("tmp_") => self.git_files.push(file()),
            // One of ours has a second name, among the temporaries.
            ("" | "refs/heads", _) if name.ends_with(".lock") && stat.links == 1 => self.git_files.push(file()),
            _ => {}
        }
    }
}

/// Calls `each` with name, stat data and path of what stands in one directory of a store. A missing directory is empty.
fn each(store: &Dir, path: &Path, below: &str, each: &mut dyn FnMut(&str, &Stat, &Path)) -> Result<()> {
    let path = path.join(below);
    let dir = match store.open_beneath(below.as_bytes()) {
        Ok(dir) => dir,
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(err) => return Err(err).context("open", path),
    };
    let mut entries = Entries::default();
    dir.read_entries(&mut entries).context("read", &path)?;
    for entry in entries.iter() {
        let at = path.join(OsStr::from_bytes(entry.name));
        let Some(stat) = dir.try_stat(entry.name).context("look at", &at)? else { continue };
        // Names of ours and of git are plain; what is not is neither.
        each(&String::from_utf8_lossy(entry.name), &stat, &at);
    }
    Ok(())
}
