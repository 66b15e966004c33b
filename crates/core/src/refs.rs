//! The one mutable thing of a store: `refs/heads/timeline`, read and moved by Git's own protocol.
//!
//! A move takes `timeline.lock` (created so that it fails if it is there), checks the old value, syncs the new one and
//! renames. The lock file is a second name of a temporary of ours in `ckpt/`, so that what a crash of ours left can be
//! told from a lock that stock git holds: sweeping by name alone loses acknowledged refs beside `git pack-refs`.
//!
//! The temporary goes when the directory is synced, and not before: one that is the same file as the ref marks a move that
//! a power cut may still undo. Nothing may be reported on the strength of it, so the next session moves the ref anew.

use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use ckpt_fs::{Dir, Durability};

use crate::error::Context;
use crate::layout::TMP;
use crate::{Error, ObjectId, Result, StoreFault};

/// Full name of the ref.
pub(crate) const TIMELINE: &str = "refs/heads/timeline";
const NAME: &[u8] = b"timeline";
const LOCK: &[u8] = b"timeline.lock";
/// A lock or temporary of stock git that is older than this belongs to nobody any more.
const STALE: Duration = Duration::from_secs(3600);
/// Largest packed-refs that we read: a store has one ref of ours, and those that people add.
const MAX_PACKED: u64 = 64 << 20;

/// Reads the ref; `None` when it does not exist.
pub(crate) fn read(store: &Dir, path: &Path) -> Result<Option<ObjectId>> {
    // Between the two reads `git pack-refs` may move the value from one file to the other: look at the loose file
    // again before saying that there is none.
    for _ in 0..3 {
        if let Some(id) = read_loose(store, path)? {
            return Ok(Some(id));
        }
        if let Some(id) = read_packed(store, path)? {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

fn read_loose(store: &Dir, path: &Path) -> Result<Option<ObjectId>> {
    let heads = match store.open_beneath(b"refs/heads") {
        Ok(heads) => heads,
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(err) => return Err(err).context("open", path.join("refs/heads")),
    };
    let file = path.join(TIMELINE);
    let Some(bytes) = heads.read_file(NAME, 1024).context("read", &file)? else { return Ok(None) };
    let text = std::str::from_utf8(&bytes).ok().map(str::trim_end);
    match text.and_then(|text| text.parse().ok()) {
        Some(id) => Ok(Some(id)),
        None => Err(Error::broken(path, format!("{TIMELINE} does not hold an id"))),
    }
}

fn read_packed(store: &Dir, path: &Path) -> Result<Option<ObjectId>> {
    let bytes = store.read_file(b"packed-refs", MAX_PACKED).context("read", path.join("packed-refs"))?;
    Ok(bytes.and_then(|bytes| {
        bytes.split(|&byte| byte == b'\n').find_map(|line| {
            let (id, name) = line.split_at_checked(40)?;
            (name == [b" ", TIMELINE.as_bytes()].concat()).then(|| std::str::from_utf8(id).ok()?.parse().ok()).flatten()
        })
    }))
}

/// What a move needs to know about its store.
pub(crate) struct RefMove<'a> {
    pub(crate) store: &'a Dir,
    pub(crate) own: &'a Dir,
    pub(crate) path: &'a Path,
    pub(crate) token: &'a str,
    pub(crate) durability: Durability,
    pub(crate) timeout: Duration,
    /// Asked while a lock of stock git is waited for.
    pub(crate) stop: &'a dyn Fn() -> bool,
}

impl RefMove<'_> {
    /// Moves the ref from `old` to `new`. After `Ok` the move is durable; after `Err` the ref is as it was, or, where the
    /// sync failed, moved and marked so that [`settle`] moves it anew.
    pub(crate) fn run(&self, old: Option<ObjectId>, new: ObjectId) -> Result<()> {
        let heads = self.store.open_beneath(b"refs/heads").context("open", self.path.join("refs/heads"))?;
        let tmp = format!("{TMP}{}-ref", self.token).into_bytes();
        let written = self.write_new(&tmp, new).context("write", self.path.join("ckpt"));
        let locked = written.and_then(|()| self.take_lock(&heads, &tmp));
        let renamed = locked.and_then(|()| {
            let renamed = self.check_and_rename(&heads, old);
            if renamed.is_err() {
                // The ref was not moved; whoever waits for the lock may go on. A failure here leaves a lock that the
                // next sweep recognises by its second name.
                let _ = heads.remove_file(LOCK);
            }
            renamed
        });
        if renamed.is_ok() {
            heads.sync(self.durability).context("sync", self.path.join("refs/heads"))?;
        }
        let _ = self.own.remove_file(&tmp);
        renamed
    }

    fn write_new(&self, tmp: &[u8], new: ObjectId) -> io::Result<()> {
        let mut file = match self.own.create_new(tmp, 0o600) {
            // An earlier move of this session could not remove it.
            Err(err) if err.kind() == io::ErrorKind::AlreadyExists => {
                self.own.remove_file(tmp)?;
                self.own.create_new(tmp, 0o600)?
            }
            created => created?,
        };
        file.set_mode(0o600)?;
        file.write_all(format!("{new}\n").as_bytes())?;
        file.sync(self.durability)
    }

    fn take_lock(&self, heads: &Dir, tmp: &[u8]) -> Result<()> {
        let start = Instant::now();
        loop {
            match self.own.hard_link(tmp, heads, LOCK) {
                Ok(()) => return Ok(()),
                Err(err) if err.kind() == io::ErrorKind::AlreadyExists => {
                    if remove_stale(heads, self.path)? {
                        continue;
                    }
                    if (self.stop)() {
                        return Err(Error::Interrupted);
                    }
                    if start.elapsed() >= self.timeout {
                        let lock = self.path.join("refs/heads/timeline.lock");
                        return Err(Error::store(self.path, StoreFault::RefLocked(lock)));
                    }
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(err) => return Err(err).context("lock", self.path.join(TIMELINE)),
            }
        }
    }

    fn check_and_rename(&self, heads: &Dir, old: Option<ObjectId>) -> Result<()> {
        if read(self.store, self.path)? != old {
            return Err(Error::store(self.path, StoreFault::TimelineMoved));
        }
        heads.rename(LOCK, heads, NAME).context("move", self.path.join(TIMELINE))
    }

    /// Settles what moves that did not come to their end left, each with its temporary in `ckpt/`, one of `tmps`. One is the
    /// same file as the lock, which goes; one is the same file as the ref, which is then written once more. The caller
    /// removes them.
    pub(crate) fn settle(&self, tmps: &[&[u8]]) -> Result<()> {
        let heads = self.store.open_beneath(b"refs/heads").context("open", self.path.join("refs/heads"))?;
        let identity = |dir: &Dir, name: &[u8]| {
            let stat = dir.try_stat(name).context("look at", self.path.join(TIMELINE))?;
            Ok::<_, Error>(stat.map(|stat| (stat.device, stat.inode)))
        };
        let is_one_of_them = |name: &[u8]| {
            let Some(standing) = identity(&heads, name)? else { return Ok(false) };
            let mut is_one = false;
            for tmp in tmps {
                is_one |= identity(self.own, tmp)? == Some(standing);
            }
            Ok::<_, Error>(is_one)
        };
        // The lock first, for which moving the ref would wait.
        if is_one_of_them(LOCK)? {
            heads.remove_file(LOCK).context("remove", self.path.join("refs/heads/timeline.lock"))?;
        }
        if is_one_of_them(NAME)? {
            // Not a sync of what stands there: after one that failed, another may succeed and have written nothing.
            match read(self.store, self.path) {
                Ok(None) => {}
                Ok(moved @ Some(id)) => self.run(moved, id)?,
                // Damaged since: nobody can say what was reported, and a repair finds the timeline again.
                Err(Error::Store { .. }) => {}
                Err(err) => return Err(err),
            }
        }
        Ok(())
    }
}

/// Removes a lock of stock git that is older than an hour.
fn remove_stale(heads: &Dir, store: &Path) -> Result<bool> {
    let path = || store.join("refs/heads/timeline.lock");
    let Some(stat) = heads.try_stat(LOCK).context("look at", path())? else { return Ok(true) };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let age = i128::try_from(now.as_nanos()).unwrap_or(0) - i128::from(stat.mtime_ns);
    if age < i128::try_from(STALE.as_nanos()).unwrap_or(i128::MAX) {
        return Ok(false);
    }
    heads.remove_file(LOCK).context("remove", path())?;
    Ok(true)
}
