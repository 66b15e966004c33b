//! System calls of a program by what they do, from a log of `strace -f`.

use std::collections::BTreeMap;
use std::fmt;

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Asks what stands there.
    Stat,
    Open,
    /// Lists a directory.
    List,
    Read,
    Write,
    Close,
    /// Makes, moves or removes a name.
    Name,
    /// Waits until one file is on the disk.
    Fsync,
    /// Waits until a file system is on the disk.
    Syncfs,
}

/// How often each, and how much was written.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SystemCalls {
    pub(crate) calls: BTreeMap<Kind, u64>,
    pub(crate) bytes_written: u64,
}

impl Kind {
    pub(crate) const ALL: [Self; 9] = [
        Self::Stat,
        Self::Open,
        Self::List,
        Self::Read,
        Self::Write,
        Self::Close,
        Self::Name,
        Self::Fsync,
        Self::Syncfs,
    ];

    /// `None` for what depends on the allocator, the scheduler or the loader, and for what takes no time.
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "statx" | "stat" | "lstat" | "fstat" | "newfstatat" | "fstatat64" | "access" | "faccessat"
            | "faccessat2" | "readlink" | "readlinkat" => Self::Stat,
            "open" | "openat" | "openat2" | "creat" => Self::Open,
            "getdents64" | "getdents" => Self::List,
            "read" | "pread64" | "readv" | "preadv" => Self::Read,
            "write" | "pwrite64" | "writev" | "pwritev" => Self::Write,
            "close" => Self::Close,
            "rename" | "renameat" | "renameat2" | "link" | "linkat" | "symlink" | "symlinkat" | "unlink"
            | "unlinkat" | "mkdir" | "mkdirat" | "rmdir" => Self::Name,
            "fsync" | "fdatasync" => Self::Fsync,
            "sync" | "syncfs" => Self::Syncfs,
            _ => return None,
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stat => "stat",
            Self::Open => "open",
            Self::List => "list",
            Self::Read => "read",
            Self::Write => "write",
            Self::Close => "close",
            Self::Name => "name",
            Self::Fsync => "fsync",
            Self::Syncfs => "syncfs",
        })
    }
}

impl SystemCalls {
    /// Counts a log. A call that another thread interrupts has two lines, of which the first counts and the second has
    /// the result.
    pub(crate) fn parse(log: &str) -> Self {
        let mut found = Self::default();
        for line in log.lines() {
            // A process id, then the call; the id is missing while there is but one.
            let call = line.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
            let (name, is_first) = match call.strip_prefix("<... ") {
                Some(rest) => (rest.split(' ').next().unwrap_or_default(), false),
                None => (call.split('(').next().unwrap_or_default(), true),
            };
            let Some(kind) = Kind::of(name) else { continue };
            if is_first {
                *found.calls.entry(kind).or_default() += 1;
            }
            if kind == Kind::Write {
                found.bytes_written += result(call).unwrap_or(0);
            }
        }
        found
    }

    /// How often.
    pub(crate) fn count(&self, kind: Kind) -> u64 {
        self.calls.get(&kind).copied().unwrap_or(0)
    }
}

/// What a call answered; `None` for errors and for lines without an answer.
fn result(call: &str) -> Option<u64> {
    call.rsplit_once(" = ")?.1.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_counted() {
        let log = "\
7 openat(AT_FDCWD, \"a\", O_RDONLY) = 3
7 statx(3, \"b = 5\", AT_STATX_SYNC_AS_STAT, STATX_ALL, 0x7) = -1 ENOENT (No such file or directory)
8 write(4, \"x\"..., 100 <unfinished ...>
7 pwrite64(5, \"y\", 1, 0) = 1
8 <... write resumed>)             = 100
7 futex(0x1, FUTEX_WAKE) = 1
8 fdatasync(4) = 0
7 +++ exited with 0 +++
";
        let found = SystemCalls::parse(log);
        let counts = Kind::ALL.map(|kind| found.count(kind));
        assert_eq!((counts, found.bytes_written), ([1, 1, 0, 0, 2, 0, 0, 1, 0], 101));
    }
}
