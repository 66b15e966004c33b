//! The walk: the only reader of the worktree. Which directory is looked at by whom, and when the walk ends.
//!
//! Directories are jobs on a stack that threads share, so that few directory handles are open at once. What a job does
//! with a directory is in `directory`; what the directories together are is in `assemble`.

use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use ckpt_fs::{Dir, Stat};

use super::directory::Worker;
use super::head_view::HeadDir;
use super::ingest::Ingest;
use super::looked::Horizon;
use super::outcome::Outcome;
use super::rules::{DirRules, RuleOptions};
use super::stat_cache::StatCache;
use crate::objects::Objects;
use crate::{Error, Notice, ObjectId, Omitted, Result, StoreOptions};

/// Directories that the caller's thread looks at before it asks for help: small trees are done by then.
const ALONE: usize = 24;
/// Handles that waiting jobs may hold together, at most a quarter of what the process may open; further jobs open their
/// directory from the root.
const MAX_HANDLES: usize = 128;

/// Everything that a walk goes by.
pub(crate) struct Walk<'a> {
    pub(crate) root: Arc<Dir>,
    pub(crate) root_path: &'a std::path::Path,
    pub(crate) objects: &'a Objects,
    pub(crate) options: &'a StoreOptions,
    pub(crate) rule_options: &'a RuleOptions,
    /// Rules of the parent of the directory where it begins.
    pub(crate) above: Arc<DirRules>,
    pub(crate) cache: Option<&'a StatCache>,
    /// Whether an id in the cache has to be looked up before it is reused.
    pub(crate) must_look_up: bool,
    /// Whether the cache was made when head was what it is now.
    pub(crate) cache_knows_head: bool,
    pub(crate) ingest: &'a dyn Ingest,
    /// What changed later may change again without a new stat.
    pub(crate) horizon: Horizon,
    /// A directory that is not entered: the checkpoint directory, where it lies inside a worktree by force.
    pub(crate) skip: Option<(u64, u64)>,
    /// Begin of names that are passed over: temporaries of a restore that is running or was interrupted.
    pub(crate) temporaries: Option<Vec<u8>>,
    pub(crate) shortage: Arc<Shortage>,
}

/// An error of somebody who could not hand it on, and had to answer all the same: the walk is worth nothing then.
#[derive(Default)]
pub(crate) struct Shortage(Mutex<Option<Error>>);

impl Shortage {
    pub(super) fn tell(&self, err: Error) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(err);
    }
}

/// A directory to be looked at.
pub(super) struct Job {
    pub(super) slot: u32,
    /// Handle of the parent; `None` when too many are open.
    pub(super) parent: Option<Arc<Handle>>,
    /// Path from the root; empty for the root.
    pub(super) path: Vec<u8>,
    pub(super) depth: usize,
    pub(super) rules: Arc<DirRules>,
    pub(super) cached: Option<u32>,
    /// As the parent's entry showed it.
    pub(super) stat: Stat,
    pub(super) parent_device: u64,
    /// Whether another volume was mounted here at the last checkpoint.
    pub(super) was_mount: bool,
    pub(super) head: Arc<HeadDir>,
}

/// An open directory that waiting jobs share, counted.
pub(super) struct Handle {
    pub(super) dir: Dir,
    count: Arc<AtomicUsize>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What a walk saw.
#[derive(Default)]
pub(crate) struct Seen {
    /// By slot; the root is slot 0, children have higher slots than their parents.
    pub(super) outcomes: Vec<Outcome>,
    pub(crate) omitted: Vec<Omitted>,
    /// Captured paths at which something is mounted.
    pub(crate) mounts: Vec<Vec<u8>>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) counts: Counts,
}

impl Seen {
    /// Number of slots.
    pub(super) fn slots(&self) -> usize {
        self.outcomes.len()
    }
}

/// Sums over the walk.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Captured files and links.
    pub(crate) files: u64,
    /// Their size.
    pub(crate) bytes: u64,
    /// Entries that were seen, `.git` apart.
    pub(crate) entries: u64,
    /// Files that were read.
    pub(crate) read_files: u64,
    /// Their size.
    pub(crate) read_bytes: u64,
}

impl Counts {
    pub(super) fn add(&mut self, other: Self) {
        self.files += other.files;
        self.bytes += other.bytes;
        self.entries += other.entries;
        self.read_files += other.read_files;
        self.read_bytes += other.read_bytes;
    }
}

/// What threads share.
pub(super) struct Shared<'a> {
    pub(super) walk: &'a Walk<'a>,
    queue: Mutex<Queue>,
    wake: Condvar,
    stop: AtomicBool,
    handles: Arc<AtomicUsize>,
}

struct Queue {
    jobs: Vec<Job>,
    /// Jobs that were taken and are not done.
    running: usize,
    slots: u32,
    error: Option<Error>,
}

impl Shared<'_> {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next job; `None` when the walk is over. `try_only`: also `None` when none is waiting just now.
    fn take(&self, try_only: bool) -> Option<Job> {
        let mut queue = self.lock();
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(job) = queue.jobs.pop() {
                queue.running += 1;
                return Some(job);
            }
            if queue.running == 0 || try_only {
                return None;
            }
            queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn done(&self, result: Result<()>) {
        let mut queue = self.lock();
        queue.running -= 1;
        if let Err(err) = result {
            queue.error.get_or_insert(err);
            self.stop.store(true, Ordering::Relaxed);
        }
        if queue.running == 0 && queue.jobs.is_empty() || self.stop.load(Ordering::Relaxed) {
            self.wake.notify_all();
        }
    }

    /// Gives slots to `children` of one directory, in order, and puts them on the stack. The first slot.
    pub(super) fn push(&self, mut children: Vec<Job>) -> u32 {
        let mut queue = self.lock();
        let first = queue.slots;
        for (job, slot) in children.iter_mut().zip(first..) {
            job.slot = slot;
        }
        queue.slots += u32::try_from(children.len()).unwrap_or(u32::MAX - first);
        let many = children.len() > 1;
        // The last one pushed is the first one taken: names in order.
        queue.jobs.extend(children.into_iter().rev());
        drop(queue);
        if many {
            self.wake.notify_all();
        } else {
            self.wake.notify_one();
        }
        first
    }

    /// Opens the directory of `job`.
    pub(super) fn open(&self, job: &Job) -> std::io::Result<Dir> {
        match &job.parent {
            Some(parent) => parent.dir.open_dir(crate::path::split(&job.path).1),
            None => self.walk.root.open_beneath(&job.path),
        }
    }

    /// The error of a directory that could not be opened for want of something: nothing is known about it.
    pub(super) fn shortage(&self, path: &[u8], source: std::io::Error) -> Error {
        let path = self.walk.root_path.join(std::ffi::OsStr::from_bytes(path));
        Error::Io { action: "open", path, source }
    }

    /// A handle for the children of `dir`; `None` when enough are open.
    pub(super) fn share(&self, dir: Dir) -> Option<Arc<Handle>> {
        if self.handles.fetch_add(1, Ordering::Relaxed) >= ckpt_fs::handles(4, MAX_HANDLES) {
            self.handles.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        Some(Arc::new(Handle { dir, count: Arc::clone(&self.handles) }))
    }
}

/// Where a walk begins.
pub(crate) struct Start {
    /// Path from the root; empty for the root.
    pub(crate) path: Vec<u8>,
    pub(crate) stat: Stat,
    pub(crate) head: Arc<HeadDir>,
    /// Its number in the cache, where there is one.
    pub(crate) cached: Option<u32>,
}

impl Walk<'_> {
    /// Looks at the directory `start` and everything below it.
    pub(crate) fn run(&self, start: Start) -> Result<Seen> {
        let depth = start.path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()).count();
        let root = Job {
            slot: 0,
            parent: None,
            depth,
            rules: Arc::clone(&self.above),
            cached: start.cached,
            stat: start.stat,
            parent_device: start.stat.device,
            was_mount: false,
            head: start.head,
            path: start.path,
        };
        let shared = Shared {
            walk: self,
            queue: Mutex::new(Queue { jobs: vec![root], running: 0, slots: 1, error: None }),
            wake: Condvar::new(),
            stop: AtomicBool::new(false),
            handles: Arc::default(),
        };
        let mut workers = vec![Worker::default()];
        for _ in 0..ALONE {
            match shared.take(true) {
                Some(job) => shared.done(workers[0].look(&shared, &job)),
                None => break,
            }
        }
        let left = !shared.lock().jobs.is_empty();
        if left {
            workers.resize_with(self.options.thread_count(), Worker::default);
            std::thread::scope(|scope| {
                let mut workers = workers.iter_mut();
                let own = workers.next();
                for worker in workers {
                    // Without another thread there is this one.
                    let _ = std::thread::Builder::new().spawn_scoped(scope, || work(&shared, worker));
                }
                if let Some(own) = own {
                    work(&shared, own);
                }
            });
        }
        let queue = shared.queue.into_inner().unwrap_or_else(PoisonError::into_inner);
        let short = self.shortage.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(err) = queue.error.or(short) {
            return Err(err);
        }
        Ok(gather(workers, queue.slots as usize))
    }

    /// Whether the store holds `id`, which the cache says it does.
    pub(super) fn is_held(&self, id: &ObjectId) -> Result<bool> {
        if self.must_look_up { self.objects.contains(id) } else { Ok(true) }
    }
}

fn work(shared: &Shared<'_>, worker: &mut Worker) {
    while let Some(job) = shared.take(false) {
        let interrupted = shared.walk.options.observer.interrupted();
        let result = if interrupted { Err(Error::Interrupted) } else { worker.look(shared, &job) };
        shared.done(result);
    }
}

fn gather(workers: Vec<Worker>, slots: usize) -> Seen {
    let mut seen = Seen::default();
    seen.outcomes.resize_with(slots, || Outcome::Vanished);
    for worker in workers {
        for (slot, outcome) in worker.outcomes {
            seen.outcomes[slot as usize] = outcome;
        }
        seen.omitted.extend(worker.omitted);
        seen.mounts.extend(worker.mounts);
        seen.notices.extend(worker.notices);
        seen.counts.add(worker.counts);
    }
    seen.omitted.sort();
    seen
}
