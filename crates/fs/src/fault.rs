//! Fault points: the steps at which a test can stop, break or overtake us.
//!
//! Every function of this crate that changes something calls [`step`] first. Without the feature `faults`, which release
//! builds do not have, a step costs nothing. With it, three variables steer the process:
//!
//! * `CKPT_FAULT_LOG=FILE` appends one line a step: number, operation, name.
//! * `CKPT_FAULT_AT=N[,N…]` names steps, counted from 1.
//! * `CKPT_FAULT_DO=ACTION` says what happens there:
//!
//! | action | what happens |
//! |---|---|
//! | `kill` | SIGKILL to ourselves |
//! | `eio`, `enospc`, `edquot` | the step fails, and changes nothing |
//! | `short` | a write takes half of its bytes; other steps are as ever |
//! | `short-enospc` | so too, and the step after it fails with `ENOSPC`, as on a disk that fills up within a write |
//! | `emfile` | the process has no handle left: with this action the steps are the handles that are opened, and no others |
//! | `run:COMMAND` | a shell command, as another process would come in between |
//! | `write:FILE` | the number of the step, in six digits, becomes the content of a file: an edit that is quicker than a tick |
//!
//! Three more change what the system seems to be: `CKPT_FAULT_NO_OPENAT2=1` is a kernel without `openat2`,
//! `CKPT_FAULT_BOOT_ID=ID` another boot of the machine, `CKPT_FAULT_NETWORK_FS=1` a network file system everywhere.
//!
//! `CKPT_FAULT_RECORD=FILE` appends every change that was made, with all its bytes, so that a test can make each state
//! that a power cut may leave. A record is a line, what it announces, and a line end:
//!
//! ```text
//! <operation> <number> <length of path> <length of other path> <length of bytes>
//! <path><other path><bytes>
//! ```
//!
//! | operation | number | other path | bytes |
//! |---|---|---|---|
//! | `create`, unless it is there; `mkdir` | mode | | |
//! | `symlink` | | | its target |
//! | `link`, `rename`, `exchange` | | the new name | |
//! | `write` | offset | | what was written |
//! | `truncate` | length | | |
//! | `chmod` | mode | | |
//! | `unlink`, `rmdir` | | | |
//! | `fsync`, `fsync-dir`, `syncfs` | 1 where it failed | | |
//!
//! Paths are absolute, as `/proc/self/fd` tells them just after the change: Linux only. The order is that of the changes in
//! a process with one thread. Owners are not recorded.

#[cfg(not(feature = "faults"))]
use std::io;
use std::os::fd::BorrowedFd;

/// A handle and a name below it; an empty name is what the handle is of.
pub(crate) type Place<'a> = (BorrowedFd<'a>, &'a [u8]);

/// Announces one change: `operation` is a word such as `rename`, `name` the entry that is about to change.
///
/// # Errors
/// Only when a test asked for one.
#[cfg(not(feature = "faults"))]
#[inline]
pub fn step(_operation: &str, _name: &[u8]) -> io::Result<()> {
    Ok(())
}

#[cfg(feature = "faults")]
pub use enabled::step;

/// Announces a write of `len` bytes to `name`, and tells how many of them it may take: all, but for a test that asked for
/// a short write.
///
/// # Errors
/// Only when a test asked for one.
#[cfg(not(feature = "faults"))]
#[inline]
pub(crate) fn write_step(_name: &[u8], len: usize) -> io::Result<usize> {
    Ok(len)
}

/// Announces that a handle is about to be opened.
///
/// # Errors
/// Only when a test asked for one.
#[cfg(not(feature = "faults"))]
#[inline]
pub(crate) fn open_step(_name: &[u8]) -> io::Result<()> {
    Ok(())
}

#[cfg(feature = "faults")]
pub(crate) use enabled::{open_step, write_step};

/// Tells that a change was made. The opening of this module lists the operations and what comes with each.
///
/// # Errors
/// Only when a test asked for a record that cannot be written.
#[cfg(not(feature = "faults"))]
#[inline]
pub(crate) fn record(_operation: &str, _places: &[Place<'_>], _number: u64, _bytes: &[u8]) -> io::Result<()> {
    Ok(())
}

/// Tells that `bytes` were written to `file` just before its position.
///
/// # Errors
/// Only when a test asked for a record that cannot be written.
#[cfg(not(feature = "faults"))]
#[inline]
pub(crate) fn record_append(_file: BorrowedFd<'_>, _bytes: &[u8]) -> io::Result<()> {
    Ok(())
}

#[cfg(feature = "faults")]
pub(crate) use enabled::{record, record_append};

/// Whether a test asked to do without `openat2`.
#[cfg(not(feature = "faults"))]
#[inline]
pub(crate) fn without_openat2() -> bool {
    false
}

/// What a test wants the system to be in place of what it is; `None` where it asked for nothing.
#[cfg(not(feature = "faults"))]
#[inline]
pub(crate) fn pretended(_variable: &str) -> Option<String> {
    None
}

#[cfg(feature = "faults")]
pub(crate) use enabled::{pretended, without_openat2};

#[cfg(feature = "faults")]
mod enabled {
    use std::fs::{File, OpenOptions};
    use std::io::{self, Write};
    use std::os::fd::{AsRawFd, BorrowedFd};
    use std::os::unix::ffi::OsStringExt;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::Place;

    const SHORT: &str = "short";
    const SHORT_AND_FULL: &str = "short-enospc";
    const NO_HANDLES: &str = "emfile";

    static COUNT: AtomicU64 = AtomicU64::new(0);

    struct Plan {
        at: Vec<u64>,
        action: String,
        log: Option<String>,
    }

    fn plan() -> &'static Plan {
        static PLAN: OnceLock<Plan> = OnceLock::new();
        PLAN.get_or_init(|| Plan {
            at: std::env::var("CKPT_FAULT_AT").unwrap_or_default().split(',').filter_map(|n| n.parse().ok()).collect(),
            action: std::env::var("CKPT_FAULT_DO").unwrap_or_default(),
            log: std::env::var("CKPT_FAULT_LOG").ok(),
        })
    }

    pub(crate) fn without_openat2() -> bool {
        static OFF: OnceLock<bool> = OnceLock::new();
        *OFF.get_or_init(|| std::env::var_os("CKPT_FAULT_NO_OPENAT2").is_some())
    }

    pub(crate) fn pretended(variable: &str) -> Option<String> {
        std::env::var(variable).ok()
    }

    /// Tells that a change was made. The opening of this module lists the operations and what comes with each.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub(crate) fn record(operation: &str, places: &[Place<'_>], number: u64, bytes: &[u8]) -> io::Result<()> {
        static FILE: OnceLock<Option<File>> = OnceLock::new();
        let open = |path| OpenOptions::new().append(true).create(true).open(path).ok();
        let file = FILE.get_or_init(|| std::env::var_os("CKPT_FAULT_RECORD").and_then(open));
        let Some(mut file) = file.as_ref() else { return Ok(()) };
        let paths = places.iter().map(|place| path_of(*place)).collect::<io::Result<Vec<_>>>()?;
        let length = |at: usize| paths.get(at).map_or(0, Vec::len);
        let line = format!("{operation} {number} {} {} {}\n", length(0), length(1), bytes.len());
        file.write_all(&[line.as_bytes(), &paths.concat(), bytes, b"\n"].concat())
    }

    /// Tells that `bytes` were written to `file` just before its position.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub(crate) fn record_append(file: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<()> {
        let end = rustix::fs::tell(file)?;
        record("write", &[(file, b"")], end.saturating_sub(bytes.len() as u64), bytes)
    }

    /// Where a place is now.
    fn path_of((handle, name): Place<'_>) -> io::Result<Vec<u8>> {
        let mut path = std::fs::read_link(format!("/proc/self/fd/{}", handle.as_raw_fd()))?.into_os_string().into_vec();
        if !name.is_empty() {
            path.push(b'/');
            path.extend_from_slice(name);
        }
        Ok(path)
    }

    /// Announces one change, and does there what the environment asked for.
    ///
    /// # Errors
    /// Only when a test asked for one.
    pub fn step(operation: &str, name: &[u8]) -> io::Result<()> {
        if plan().action == NO_HANDLES {
            return Ok(());
        }
        let number = count(operation, name)?;
        let plan = plan();
        let is_at = |number| plan.at.contains(&number);
        match plan.action.as_str() {
            SHORT_AND_FULL if number.checked_sub(1).is_some_and(is_at) => Err(rustix::io::Errno::NOSPC.into()),
            _ if !is_at(number) => Ok(()),
            "kill" => {
                rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)?;
                Ok(())
            }
            "eio" => Err(rustix::io::Errno::IO.into()),
            "enospc" => Err(rustix::io::Errno::NOSPC.into()),
            "edquot" => Err(rustix::io::Errno::DQUOT.into()),
            action => {
                if let Some(command) = action.strip_prefix("run:") {
                    std::process::Command::new("sh").arg("-c").arg(command).env_remove("CKPT_FAULT_AT").status()?;
                } else if let Some(file) = action.strip_prefix("write:") {
                    OpenOptions::new().write(true).open(file)?.write_all(format!("{number:06}").as_bytes())?;
                }
                Ok(())
            }
        }
    }

    /// Announces a write of `len` bytes to `name`, and tells how many of them it may take.
    ///
    /// # Errors
    /// Only when a test asked for one.
    pub(crate) fn write_step(name: &[u8], len: usize) -> io::Result<usize> {
        step("write", name)?;
        let plan = plan();
        let is_short =
            [SHORT, SHORT_AND_FULL].contains(&plan.action.as_str()) && plan.at.contains(&COUNT.load(Ordering::SeqCst));
        Ok(if is_short { len.div_ceil(2) } else { len })
    }

    /// Announces that a handle is about to be opened.
    ///
    /// # Errors
    /// Only when a test asked for one.
    pub(crate) fn open_step(name: &[u8]) -> io::Result<()> {
        let plan = plan();
        if plan.action == NO_HANDLES && plan.at.contains(&count("open", name)?) {
            return Err(rustix::io::Errno::MFILE.into());
        }
        Ok(())
    }

    /// Counts a step and writes it down; its number, 0 where nobody asked.
    fn count(operation: &str, name: &[u8]) -> io::Result<u64> {
        let plan = plan();
        if plan.at.is_empty() && plan.log.is_none() {
            return Ok(0);
        }
        let number = COUNT.fetch_add(1, Ordering::SeqCst) + 1;
        if let Some(log) = &plan.log {
            let line = format!("{number} {operation} {}\n", String::from_utf8_lossy(name));
            OpenOptions::new().append(true).create(true).open(log)?.write_all(line.as_bytes())?;
        }
        Ok(number)
    }
}
