//! What one `statx` tells about an entry.

use rustix::fs::FileType;

/// Kind of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileKind {
    /// Regular file.
    File,
    /// Directory.
    Dir,
    /// Symbolic link.
    Link,
    /// FIFO, socket, block or character device.
    Special,
}

impl FileKind {
    pub(crate) fn from_type(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Dir,
            FileType::Symlink => Self::Link,
            _ => Self::Special,
        }
    }
}

/// Stat data of one entry, taken without following a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Kind of the entry.
    pub kind: FileKind,
    /// Permission bits with setuid, setgid and sticky: `mode & 0o7777`.
    pub mode: u32,
    /// Size in bytes; for a link the length of its target.
    pub size: u64,
    /// Time of the last change of content, nanoseconds since 1970 (clamped to the range of `i64`: 1677 to 2262).
    pub mtime_ns: i64,
    /// Time of the last change of content or inode, nanoseconds since 1970.
    pub ctime_ns: i64,
    /// Inode number.
    pub inode: u64,
    /// Number of the device that holds the inode. Changes over reboots.
    pub device: u64,
    /// Number of hard links.
    pub links: u32,
    /// Numeric owner.
    pub uid: u32,
    /// Numeric group.
    pub gid: u32,
    /// Whether a volume, or a single file, is mounted here: the name cannot be removed or replaced. Known on Linux since
    /// 5.8 (`STATX_ATTR_MOUNT_ROOT`); `false` elsewhere.
    pub is_mount_point: bool,
}

/// Joins seconds and nanoseconds, clamped to what `i64` nanoseconds can hold.
fn nanoseconds(seconds: i64, nanos: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

impl Stat {
    #[cfg(target_os = "linux")]
    pub(crate) fn from_statx(stat: &rustix::fs::Statx) -> Self {
        Self {
            kind: FileKind::from_type(FileType::from_raw_mode(u32::from(stat.stx_mode))),
            mode: u32::from(stat.stx_mode) & 0o7777,
            size: stat.stx_size,
            mtime_ns: nanoseconds(stat.stx_mtime.tv_sec, i64::from(stat.stx_mtime.tv_nsec)),
            ctime_ns: nanoseconds(stat.stx_ctime.tv_sec, i64::from(stat.stx_ctime.tv_nsec)),
            inode: stat.stx_ino,
            device: rustix::fs::makedev(stat.stx_dev_major, stat.stx_dev_minor),
            links: stat.stx_nlink,
            uid: stat.stx_uid,
            gid: stat.stx_gid,
            is_mount_point: stat.stx_attributes.contains(rustix::fs::StatxAttributes::MOUNT_ROOT),
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn from_stat(stat: &rustix::fs::Stat) -> Self {
        Self {
            kind: FileKind::from_type(FileType::from_raw_mode(stat.st_mode)),
            mode: u32::from(stat.st_mode) & 0o7777,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mtime_ns: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
            ctime_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
            inode: stat.st_ino,
            device: u64::from(stat.st_dev.cast_unsigned()),
            links: u32::from(stat.st_nlink),
            uid: stat.st_uid,
            gid: stat.st_gid,
            is_mount_point: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::nanoseconds;

    #[test]
    fn absurd_times_are_clamped() {
        assert_eq!(nanoseconds(i64::MAX, 0), i64::MAX);
        assert_eq!(nanoseconds(i64::MIN, 0), i64::MIN);
        assert_eq!(nanoseconds(2, 5), 2_000_000_005);
    }
}
