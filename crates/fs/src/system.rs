//! Facts about this machine and this process.

use std::io;
use std::os::fd::AsFd;
use std::sync::OnceLock;

use crate::{Dir, fault};

/// Identity of this boot of the machine; `None` where the system does not tell.
pub fn boot_id() -> Option<String> {
    if let Some(id) = fault::pretended("CKPT_FAULT_BOOT_ID") {
        return Some(id);
    }
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let id = text.trim();
    (!id.is_empty()).then(|| id.to_owned())
}

/// Name of this process, for messages; empty where the system does not tell.
pub fn process_name() -> String {
    std::fs::read_to_string("/proc/self/comm").map(|name| name.trim().to_owned()).unwrap_or_default()
}

/// How many handles one part of the program may keep open: a `share`-th of what the process may open, at least 4 and at
/// most `most`.
pub fn handles(share: u64, most: usize) -> usize {
    static LIMIT: OnceLock<u64> = OnceLock::new();
    let limit = *LIMIT.get_or_init(|| {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        limit.current.unwrap_or(u64::MAX)
    });
    usize::try_from(limit / share).unwrap_or(most).clamp(4, most)
}

/// Makes sure that the process can open `count` files more.
///
/// # Errors
/// What `dup` answers when it cannot.
pub fn require_handles(dir: &Dir, count: usize) -> io::Result<()> {
    (0..count).map(|_| dir.try_clone()).collect::<io::Result<Vec<_>>>().map(drop)
}

/// Numeric id of the user on whose behalf this process acts (the effective one).
pub fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Fills `bytes` from the system's random source.
///
/// # Errors
/// What `getrandom` answers.
pub fn random_bytes(bytes: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(())
}

/// A random word of 16 hex digits for names of temporaries.
///
/// # Errors
/// What `getrandom` answers.
pub fn token() -> io::Result<String> {
    let mut bytes = [0; 8];
    random_bytes(&mut bytes)?;
    Ok(format!("{:016x}", u64::from_ne_bytes(bytes)))
}

/// Whether `dir` lies on a file system that is served over a network, where locks and renames promise less. FUSE is not
/// counted: it says nothing about what stands behind it.
///
/// # Errors
/// What `fstatfs` answers.
#[cfg(target_os = "linux")]
pub fn is_network_fs(dir: &Dir) -> io::Result<bool> {
    // Magic numbers from linux/magic.h and the sources of the file systems: NFS, SMB, CIFS, SMB2, AFS (two), Coda,
    // 9P, NCP, Ceph, Lustre, OCFS2, GFS2.
    const MAGIC: [u32; 13] = [
        0x6969,
        0x517b,
        0xff53_4d42,
        0xfe53_4d42,
        0x5346_414f,
        0x6b41_4653,
        0x7375_7245,
        0x0102_1997,
        0x564c,
        0x00c3_6400,
        0x0bd0_0bd0,
        0x7461_636f,
        0x0116_1970,
    ];
    if fault::pretended("CKPT_FAULT_NETWORK_FS").is_some() {
        return Ok(true);
    }
    let magic = rustix::fs::fstatfs(dir.as_fd())?.f_type;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the magic is the low 32 bits")]
    Ok(MAGIC.contains(&(magic as u32)))
}

/// Whether `dir` lies on a network file system. Not known outside Linux: always false.
///
/// # Errors
/// Never.
#[cfg(not(target_os = "linux"))]
pub fn is_network_fs(_dir: &Dir) -> io::Result<bool> {
    Ok(false)
}

/// How much room a file system has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Bytes in all.
    pub total_bytes: u64,
    /// Bytes that this user may still fill.
    pub free_bytes: u64,
    /// Files that this user may still make; `None` where there is no limit.
    pub free_files: Option<u64>,
    /// Whether nothing can be written, however much room there is.
    pub is_read_only: bool,
}

/// How much room there is on the file system of `dir`.
///
/// # Errors
/// What `fstatvfs` answers.
pub fn space(dir: &Dir) -> io::Result<Space> {
    let stat = rustix::fs::fstatvfs(dir.as_fd())?;
    Ok(Space {
        total_bytes: stat.f_blocks.saturating_mul(stat.f_frsize),
        free_bytes: stat.f_bavail.saturating_mul(stat.f_frsize),
        // A file system that makes inodes as they are needed says that it has none.
        free_files: (stat.f_files > 0).then_some(stat.f_favail),
        is_read_only: stat.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_has_room() {
        let space = space(&Dir::open(std::env::temp_dir().as_path()).unwrap()).unwrap();
        assert!(space.total_bytes >= space.free_bytes && space.total_bytes > 0);
    }

    #[test]
    fn tokens_differ_and_are_plain() {
        let (a, b) = (token().unwrap(), token().unwrap());
        assert_ne!(a, b);
        assert!(a.len() == 16 && a.bytes().all(|byte| byte.is_ascii_hexdigit()));
    }
}
