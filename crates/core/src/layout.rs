//! Where the store of a worktree lives: its name, its lock, its record of what it belongs to.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use ckpt_fs::{Dir, FileKind};

use crate::commit::{percent_decode, percent_encode};
use crate::{StoreId, Worktree};

/// Version of everything that a store holds on disk.
pub(crate) const FORMAT: u32 = 1;
/// Directory of the locks, in the checkpoint directory.
pub(crate) const LOCKS: &str = "locks";
/// Directory of our own files, in a store.
pub(crate) const OWN: &str = "ckpt";
/// Record of the worktree, in [`OWN`].
pub(crate) const WORKTREE: &str = "worktree";
/// Directory of what a repair put aside, in [`OWN`].
pub(crate) const DAMAGED: &str = "damaged";
/// Prefix of our temporaries, in [`OWN`] and, before a store has its name, in the checkpoint directory.
pub(crate) const TMP: &str = "tmp-";
/// Largest record of a worktree: a path of 4,096 bytes, encoded, and some lines.
const MAX_RECORD: u64 = 64 * 1024;

/// Names that follow from a worktree's real path.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) checkpoint_dir: PathBuf,
    /// 16 hex digits.
    pub(crate) key: String,
    /// `<basename>_<key>`.
    pub(crate) store_name: String,
}

impl Layout {
    pub(crate) fn new(checkpoint_dir: &Path, worktree: &Worktree) -> Self {
        let key = key(worktree.path());
        let store_name = format!("{}_{key}", plain_name(worktree.path().file_name().unwrap_or_default()));
        Self { checkpoint_dir: checkpoint_dir.to_owned(), key, store_name }
    }

    pub(crate) fn store_path(&self) -> PathBuf {
        self.checkpoint_dir.join(&self.store_name)
    }

    pub(crate) fn lock_name(&self) -> String {
        format!("{}.lock", self.key)
    }
}

/// Key of the store of the worktree at `path`: 16 hex digits.
pub(crate) fn key(path: &Path) -> String {
    blake3::hash(path.as_os_str().as_bytes()).to_hex()[..16].to_owned()
}

/// At most 100 bytes; every byte outside `[A-Za-z0-9._-]` becomes `_`.
fn plain_name(name: &OsStr) -> String {
    let plain = |&byte: &u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-' => char::from(byte),
        _ => '_',
    };
    let text: String = name.as_bytes().iter().take(100).map(plain).collect();
    if text.is_empty() { "root".to_owned() } else { text }
}

/// What a store knows about its worktree: the file `ckpt/worktree`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorktreeRecord {
    pub(crate) id: StoreId,
    /// Real path at the last save.
    pub(crate) path: PathBuf,
    /// Device and inode of the directory; `None` while it does not exist.
    pub(crate) inode: Option<(u64, u64)>,
    /// Device and inode of its parent.
    pub(crate) parent: Option<(u64, u64)>,
    /// Whether the worktree was the root of a mounted volume.
    pub(crate) mounted: bool,
    /// Whether the user insisted on a directory that is refused otherwise.
    pub(crate) forced: bool,
}

impl WorktreeRecord {
    pub(crate) fn of(id: StoreId, worktree: &Worktree, forced: bool) -> Self {
        Self {
            id,
            path: worktree.path().to_owned(),
            inode: dir_identity(worktree.path()),
            parent: worktree.path().parent().and_then(dir_identity),
            mounted: is_mount_point(worktree.path()),
            forced,
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let path = String::from_utf8_lossy(&percent_encode(self.path.as_os_str().as_bytes())).into_owned();
        let mut text = format!("ckpt-worktree {FORMAT}\nid {}\npath {path}\n", self.id);
        for (name, pair) in [("inode", self.inode), ("parent", self.parent)] {
            if let Some((device, inode)) = pair {
                text += &format!("{name} {device} {inode}\n");
            }
        }
        if self.mounted {
            text += "mounted\n";
        }
        if self.forced {
            text += "forced\n";
        }
        text += &format!("end {}\n", checksum(text.as_bytes()));
        text.into_bytes()
    }

    /// Reads a record; `Err` says what is wrong with it.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, RecordFault> {
        let text = std::str::from_utf8(bytes).map_err(|_| RecordFault::Damaged)?;
        // Not `lines`, which takes a carriage return for a part of the line end.
        let mut lines = text.split_terminator('\n');
        let version = lines.next().and_then(|line| line.strip_prefix("ckpt-worktree ")).ok_or(RecordFault::Damaged)?;
        if version != FORMAT.to_string() {
            return Err(RecordFault::Newer(version.to_owned()));
        }
        let (mut id, mut path, mut inode, mut parent) = (None, None, None, None);
        let (mut mounted, mut forced, mut ended) = (false, false, false);
        for line in lines {
            match line.split_once(' ').unwrap_or((line, "")) {
                ("id", value) => id = StoreId::parse(value),
                ("path", value) => path = percent_decode(value.as_bytes()),
                ("inode", value) => inode = parse_pair(value),
                ("parent", value) => parent = parse_pair(value),
                ("mounted", _) => mounted = true,
                ("forced", _) => forced = true,
                ("end", value) => {
                    let before = bytes.strip_suffix(format!("end {value}\n").as_bytes());
                    ended = before.is_some_and(|before| checksum(before) == value);
                }
                // A later version of this format may add lines, never change these.
                _ => {}
            }
        }
        match (id, path, ended) {
            (Some(id), Some(path), true) => {
                let path = PathBuf::from(std::ffi::OsString::from_vec(path));
                Ok(Self { id, path, inode, parent, mounted, forced })
            }
            _ => Err(RecordFault::Damaged),
        }
    }

    /// Reads the record of the store at `store`.
    pub(crate) fn read(store: &Dir) -> std::io::Result<Result<Self, RecordFault>> {
        let own = match store.open_dir(OWN.as_bytes()) {
            Ok(own) => own,
            Err(err) if err.kind() == std::io::ErrorKind::NotFound => return Ok(Err(RecordFault::Missing)),
            Err(err) => return Err(err),
        };
        Ok(match own.read_file(WORKTREE.as_bytes(), MAX_RECORD)? {
            Some(bytes) => Self::decode(&bytes),
            None => Err(RecordFault::Missing),
        })
    }
}

/// The first 16 hex digits of the BLAKE3 of what stands before the last line.
fn checksum(before: &[u8]) -> String {
    blake3::hash(before).to_hex()[..16].to_owned()
}

/// What is wrong with a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RecordFault {
    Missing,
    Damaged,
    Newer(String),
}

fn parse_pair(text: &str) -> Option<(u64, u64)> {
    let (device, inode) = text.split_once(' ')?;
    Some((device.parse().ok()?, inode.parse().ok()?))
}

/// Whether something is mounted at `path`.
pub(crate) fn is_mount_point(path: &Path) -> bool {
    Dir::open(path).and_then(|dir| dir.stat_self()).is_ok_and(|stat| stat.is_mount_point)
}

/// Device and inode of the directory at `path`; `None` where there is none.
pub(crate) fn dir_identity(path: &Path) -> Option<(u64, u64)> {
    // Without a handle, of which there may be none left.
    let stat = Dir::stat_path(path).ok()?;
    (stat.kind == FileKind::Dir).then_some((stat.device, stat.inode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_short() {
        assert_eq!(plain_name(OsStr::new("my proj/é")), "my_proj___");
        assert_eq!(plain_name(OsStr::new(&"x".repeat(300))).len(), 100);
        assert_eq!(plain_name(OsStr::new("")), "root");
    }

    #[test]
    fn records_round_trip_and_damage_is_seen() {
        let record = WorktreeRecord {
            id: StoreId::from_bytes([1; 16]),
            path: PathBuf::from(OsStr::from_bytes(b"/a b\n/\xff")),
            inode: Some((1, 2)),
            parent: None,
            mounted: true,
            forced: true,
        };
        let bytes = record.encode();
        assert_eq!(WorktreeRecord::decode(&bytes), Ok(record));
        for cut in 0..bytes.len() - 1 {
            assert!(WorktreeRecord::decode(&bytes[..cut]).is_err(), "cut at {cut}");
        }
        assert_eq!(WorktreeRecord::decode(b"ckpt-worktree 2\n"), Err(RecordFault::Newer("2".into())));
        assert_eq!(WorktreeRecord::decode(&[0; 50]), Err(RecordFault::Damaged));
    }
}
