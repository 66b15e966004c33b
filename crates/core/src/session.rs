//! The lock guard: who holds a [`Session`] may change the store, and the worktree.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{MutexGuard, PoisonError};

use ckpt_fs::{Dir, Entries, Lock, LockError};

use crate::error::Context;
use crate::git_config::{config_is_whole, config_text};
use crate::layout::{LOCKS, Layout, OWN, TMP, WORKTREE, WorktreeRecord};
use crate::objects::pack_error;
use crate::store::Inner;
use crate::{Error, Event, OperationId, Result, StoreFault, StoreOptions, Worktree, refs, registry};

/// Exclusive use of one store, between threads and between processes. Freed when dropped, or when the process ends.
pub(crate) struct Session<'a> {
    pub(crate) store: &'a Inner,
    /// Goes into the names of all temporaries of this session.
    pub(crate) token: String,
    /// The file system's time at which the lock was taken, nanoseconds since 1970.
    pub(crate) locked_ns: i64,
    /// Device of the file system that told that time.
    pub(crate) device: u64,
    /// The record of the worktree as it was when the session began; `None` where it was lost.
    pub(crate) record: Option<WorktreeRecord>,
    packs: AtomicU32,
    _lock: Lock,
    _threads: MutexGuard<'a, ()>,
}

impl<'a> Session<'a> {
    /// Takes the lock, makes sure that the store is still the one that was opened, sweeps what a crash left, and forgets what
    /// was read before.
    pub(crate) fn begin(store: &'a Inner) -> Result<Self> {
        let threads = store.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let lock = lock(&store.layout, &store.worktree, &store.options)?;
        let record = check_identity(store)?;
        let stat = lock.stat().context("look at", store.layout.checkpoint_dir.join(LOCKS))?;
        let token = ckpt_fs::token().context("name", &store.path)?;
        sweep(store, &token)?;
        store.objects.refresh()?;
        store.objects.recent().forget();
        Ok(Self {
            store,
            token,
            locked_ns: stat.mtime_ns,
            device: stat.device,
            record,
            packs: AtomicU32::new(0),
            _lock: lock,
            _threads: threads,
        })
    }

    /// A number for the next pack of this session.
    pub(crate) fn pack_number(&self) -> u32 {
        self.packs.fetch_add(1, Ordering::Relaxed)
    }

    /// Name of a temporary in `ckpt/`.
    pub(crate) fn tmp_name(&self, what: &str) -> Vec<u8> {
        format!("{TMP}{}-{what}", self.token).into_bytes()
    }

    /// Replaces one of our own files.
    pub(crate) fn write_own(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.store
            .own
            .write_atomic(&self.tmp_name(name), name.as_bytes(), bytes, self.store.options.durability)
            .context("write", self.store.path.join(OWN).join(name))
    }

    /// Moves the timeline from `old` to `new`, whatever the caller's observer says meanwhile: after a restore, what the
    /// operation tells has happened.
    pub(crate) fn move_timeline(&self, old: OperationId, new: OperationId) -> Result<()> {
        self.ref_move(&|| false).run(Some(old.0), new.0)
    }

    /// The same while nothing has happened yet: a wait for stock git ends when the observer asks to stop.
    pub(crate) fn move_timeline_or_stop(&self, old: OperationId, new: OperationId) -> Result<()> {
        self.ref_move(&|| self.store.options.observer.interrupted()).run(Some(old.0), new.0)
    }

    fn ref_move<'s>(&'s self, stop: &'s dyn Fn() -> bool) -> refs::RefMove<'s> {
        ref_move(self.store, &self.token, stop)
    }

    /// Writes down where the worktree is now, if that changed, and mends our configuration where it was damaged.
    pub(crate) fn update_record(&self) -> Result<()> {
        let forced = self.store.options.force_worktree || self.record.as_ref().is_some_and(|record| record.forced);
        let now = WorktreeRecord::of(self.store.id, &self.store.worktree, forced);
        // A directory that was made again may have the inode of the one before: only the age of the record tells them apart.
        let is_known = self.record.as_ref() == Some(&now)
            && registry::was_here_before(self.store.worktree.path(), &self.store.path);
        if !is_known {
            self.write_own(WORKTREE, &now.encode())?;
        }
        let durability = self.store.options.durability;
        if !config_is_whole(&self.store.dir, &self.store.path)? {
            self.store
                .dir
                .write_atomic(&self.tmp_name("config"), b"config", config_text().as_bytes(), durability)
                .context("write", self.store.path.join("config"))?;
        }
        let head = format!("ref: {}\n", refs::TIMELINE);
        let path = self.store.path.join("HEAD");
        if self.store.dir.read_file(b"HEAD", 1024).context("read", &path)?.as_deref() != Some(head.as_bytes()) {
            self.store
                .dir
                .write_atomic(&self.tmp_name("HEAD"), b"HEAD", head.as_bytes(), durability)
                .context("write", path)?;
        }
        Ok(())
    }
}

/// Takes the lock of a worktree's store.
pub(crate) fn lock(layout: &Layout, worktree: &Worktree, options: &StoreOptions) -> Result<Lock> {
    let locks = locks_dir(layout)?;
    let holder = format!("{} {}", std::process::id(), ckpt_fs::process_name());
    let name = layout.lock_name();
    let mut waiting = |holder: &str| options.observer.event(Event::Waiting { holder });
    let stop = || options.observer.interrupted();
    let locked = Lock::acquire(&locks, name.as_bytes(), holder.trim(), options.lock_timeout, &mut waiting, &stop);
    locked.map_err(|err| match err {
        LockError::Held(holder) => Error::Locked { path: worktree.path().to_owned(), holder },
        LockError::Stopped => Error::Interrupted,
        LockError::Io(source) => {
            let path = layout.checkpoint_dir.join(LOCKS).join(&name);
            Error::Io { action: "lock", path, source }
        }
    })
}

/// The directory of the locks; made where it is missing.
pub(crate) fn locks_dir(layout: &Layout) -> Result<Dir> {
    let root = Dir::open(&layout.checkpoint_dir).context("open", &layout.checkpoint_dir)?;
    let path = layout.checkpoint_dir.join(LOCKS);
    match root.create_dir(LOCKS.as_bytes(), 0o700) {
        Ok(()) => {}
        Err(err) if err.kind() == std::io::ErrorKind::AlreadyExists => {}
        // Read-only stores can still be read; whoever locks will fail on the lock file itself.
        Err(err) if root.try_stat(LOCKS.as_bytes()).is_ok_and(|stat| stat.is_none()) => {
            return Err(err).context("create", path);
        }
        Err(_) => {}
    }
    root.open_dir(LOCKS.as_bytes()).context("open", path)
}

/// The store at the path must be the directory that was opened, with the id that was read.
pub(crate) fn check_identity(store: &Inner) -> Result<Option<WorktreeRecord>> {
    let replaced = || Error::store(&store.path, StoreFault::Replaced);
    let now = crate::layout::dir_identity(&store.path).ok_or_else(replaced)?;
    let opened = store.dir.stat_self().context("look at", &store.path)?;
    if now != (opened.device, opened.inode) {
        return Err(replaced());
    }
    let path = || store.path.join(OWN).join(WORKTREE);
    match WorktreeRecord::read(&store.dir).context("read", path())? {
        Ok(record) if record.id == store.id => Ok(Some(record)),
        Ok(_) => Err(replaced()),
        Err(_) => Ok(None),
    }
}

/// Removes temporaries of sessions that ended without doing so, and settles what these stood for. We hold the lock: nobody
/// else has any.
fn sweep(store: &Inner, token: &str) -> Result<()> {
    let swept = || store.path.join(OWN);
    let mut entries = Entries::default();
    store.own.read_entries(&mut entries).context("sweep", swept())?;
    let is_tmp = |entry: &ckpt_fs::Entry<'_>| entry.name.starts_with(TMP.as_bytes());
    // A crash while a pack was published leaves its idx here, and the pack without it beside the others; one while packs
    // were removed leaves nothing here.
    let packs = store.dir.open_beneath(b"objects/pack").context("open", store.path.join("objects/pack"))?;
    ckpt_pack::settle_orphans(&packs, &store.own, store.options.durability)
        .map_err(|err| pack_error(&store.path.join("objects/pack"), err))?;
    let moves: Vec<&[u8]> =
        entries.iter().filter(is_tmp).map(|entry| entry.name).filter(|name| name.ends_with(b"-ref")).collect();
    if !moves.is_empty() {
        ref_move(store, token, &|| store.options.observer.interrupted()).settle(&moves)?;
    }
    for entry in entries.iter().filter(is_tmp) {
        store.own.remove_tree(entry.name).context("sweep", swept())?;
    }
    registry::sweep(&store.dir, TMP.as_bytes()).context("sweep", &store.path)
}

fn ref_move<'s>(store: &'s Inner, token: &'s str, stop: &'s dyn Fn() -> bool) -> refs::RefMove<'s> {
    refs::RefMove {
        store: &store.dir,
        own: &store.own,
        path: &store.path,
        token,
        durability: store.options.durability,
        timeout: store.options.lock_timeout,
        stop,
    }
}

/// A handle of the worktree's root.
pub(crate) fn open_worktree(path: &Path) -> Result<Dir> {
    match Dir::open(path) {
        Ok(dir) => Ok(dir),
        Err(err) => Err(match err.kind() {
            std::io::ErrorKind::NotFound => Error::workspace(path, crate::WorkspaceFault::Missing),
            std::io::ErrorKind::NotADirectory => Error::workspace(path, crate::WorkspaceFault::NotADirectory),
            _ => Error::Io { action: "open", path: path.to_owned(), source: err },
        }),
    }
}
