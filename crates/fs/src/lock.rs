//! A lock between processes: an advisory lock on a file that is never deleted.
//!
//! The kernel frees the lock when its holder ends, however it ends, so there is nothing to unlock by hand. The file
//! says who holds it, for messages only.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};

use crate::{Dir, Stat, fault};

/// A lock that is had within this time was worth no message.
const PATIENCE: Duration = Duration::from_millis(300);

/// Longest pause between two tries: short against what a person notices, long against what a try costs.
const PAUSE_MAX: Duration = Duration::from_millis(20);

/// Bytes of the holder's line that are read: the file is written by whoever holds the lock.
const HOLDER_MAX: u64 = 200;

/// An exclusive lock, held until it is dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

/// Why a lock could not be had.
#[derive(Debug)]
pub enum LockError {
    /// Somebody else held it for the whole time; what the file says about the holder.
    Held(String),
    /// The caller did not want to wait any longer.
    Stopped,
    /// The file could not be opened, written or locked.
    Io(io::Error),
}

impl Lock {
    /// Locks the file `name` in `dir` (created with mode 0600 where missing), waiting at most `timeout`.
    /// `waiting` is called once, with what the file says about the holder, when the lock is not free after 300 ms; `stop`
    /// is asked all the while, and ends the wait when it says true.
    /// On success the file holds `holder`, and its mtime is the file system's time of locking.
    ///
    /// # Errors
    /// [`LockError::Held`] after `timeout`; [`LockError::Stopped`]; [`LockError::Io`] when the file cannot be used.
    pub fn acquire(
        dir: &Dir,
        name: &[u8],
        holder: &str,
        timeout: Duration,
        waiting: &mut dyn FnMut(&str),
        stop: &dyn Fn() -> bool,
    ) -> Result<Self, LockError> {
        let mut lock = Self::open(dir, name, OFlags::CREATE).map_err(LockError::Io)?;
        let start = Instant::now();
        let mut pause = Duration::from_millis(1);
        let mut announced = false;
        loop {
            match lock.file.try_lock() {
                Ok(()) => break,
                Err(std::fs::TryLockError::WouldBlock) => {}
                Err(std::fs::TryLockError::Error(err)) => return Err(LockError::Io(err)),
            }
            if stop() {
                return Err(LockError::Stopped);
            }
            if start.elapsed() >= timeout {
                return Err(LockError::Held(lock.holder()));
            }
            if !announced && start.elapsed() > PATIENCE {
                announced = true;
                waiting(&lock.holder());
            }
            std::thread::sleep(pause.min(timeout.saturating_sub(start.elapsed())));
            pause = (pause * 2).min(PAUSE_MAX);
        }
        lock.write_holder(holder).map_err(LockError::Io)?;
        Ok(lock)
    }

    /// Whether somebody holds the lock now. A missing file is a free lock. Never creates the file.
    ///
    /// # Errors
    /// What opening or locking answers.
    pub fn is_held(dir: &Dir, name: &[u8]) -> io::Result<bool> {
        let lock = match Self::open(dir, name, OFlags::empty()) {
            Ok(lock) => lock,
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(err) => return Err(err),
        };
        match lock.file.try_lock() {
            Ok(()) => Ok(false),
            Err(std::fs::TryLockError::WouldBlock) => Ok(true),
            Err(std::fs::TryLockError::Error(err)) => Err(err),
        }
    }

    /// Who holds the lock now, by what the file says, and since when (nanoseconds since 1970); `None` where nobody does.
    /// Changes nothing, and keeps out no other reader.
    ///
    /// # Errors
    /// What opening or locking answers.
    pub fn holder_of(dir: &Dir, name: &[u8]) -> io::Result<Option<(String, i64)>> {
        fault::open_step(name)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut lock = match rustix::fs::openat(dir, name, flags, Mode::empty()) {
            Ok(fd) => Self { file: File::from(fd) },
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(err) => return Err(err.into()),
        };
        match lock.file.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(std::fs::TryLockError::WouldBlock) => {
                let since_ns = lock.stat()?.mtime_ns;
                Ok(Some((lock.holder(), since_ns)))
            }
            Err(std::fs::TryLockError::Error(err)) => Err(err),
        }
    }

    /// Stat data of the lock file; after [`Lock::acquire`] its mtime is the file system's idea of now.
    ///
    /// # Errors
    /// What `fstat` answers.
    pub fn stat(&self) -> io::Result<Stat> {
        Dir::stat_file(&self.file)
    }

    fn open(dir: &Dir, name: &[u8], flags: OFlags) -> io::Result<Self> {
        fault::open_step(name)?;
        let flags = flags | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(dir, name, flags, Mode::from_raw_mode(0o600))?;
        if flags.contains(OFlags::CREATE) {
            fault::record("create", &[(dir.as_fd(), name)], 0o600, b"")?;
        }
        Ok(Self { file: File::from(fd) })
    }

    /// What the file says about the holder, on one line, cut to a readable length.
    fn holder(&mut self) -> String {
        let mut bytes = Vec::new();
        let read =
            self.file.seek(SeekFrom::Start(0)).and_then(|_| (&self.file).take(HOLDER_MAX).read_to_end(&mut bytes));
        match read {
            Ok(_) => String::from_utf8_lossy(&bytes).lines().next().unwrap_or("").to_owned(),
            Err(_) => String::new(),
        }
    }

    fn write_holder(&mut self, holder: &str) -> io::Result<()> {
        fault::step("lock", holder.as_bytes())?;
        self.file.seek(SeekFrom::Start(0))?;
        self.file.set_len(0)?;
        fault::record("truncate", &[(self.file.as_fd(), b"")], 0, b"")?;
        let line = format!("{holder}\n");
        self.file.write_all(line.as_bytes())?;
        fault::record_append(self.file.as_fd(), line.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_holder_waits_and_is_told_for_whom() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        let second = Duration::from_secs(1);
        let held = Lock::acquire(&dir, b"l", "7 first", second, &mut |_| {}, &|| false).unwrap();
        assert!(Lock::is_held(&dir, b"l").unwrap());
        assert_eq!(Lock::holder_of(&dir, b"l").unwrap().unwrap().0, "7 first");
        let mut told = String::new();
        let mut waiting = |who: &str| told = who.to_owned();
        let failed = Lock::acquire(&dir, b"l", "8 second", Duration::from_millis(400), &mut waiting, &|| false);
        assert!(matches!(failed, Err(LockError::Held(who)) if who == "7 first"));
        assert_eq!(told, "7 first");
        let stopped = Lock::acquire(&dir, b"l", "8 second", second, &mut |_| {}, &|| true);
        assert!(matches!(stopped, Err(LockError::Stopped)));
        drop(held);
        assert!(!Lock::is_held(&dir, b"l").unwrap());
        assert_eq!(Lock::holder_of(&dir, b"l").unwrap(), None);
        assert_eq!(Lock::holder_of(&dir, b"absent").unwrap(), None);
        // What is free needs no wait that could be stopped.
        Lock::acquire(&dir, b"l", "8 second", second, &mut |_| {}, &|| true).unwrap();
        assert_eq!(std::fs::read_to_string(temp.path().join("l")).unwrap(), "8 second\n");
    }
}
