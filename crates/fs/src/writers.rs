//! Waiting for whoever is just writing into a file.
//!
//! A `write` changes the times of its file when it begins, and the content afterwards, page by page; a reader meanwhile
//! sees some of both, between two looks at the times that find nothing. The kernel holds the inode's lock for as long as
//! the write lasts, and ext4, btrfs, f2fs and tmpfs take it to look for a hole as well, so that such a look comes back
//! when the write is over. On xfs a single read does not overlap with a write in the first place.

use std::fs::File;
use std::io;

use rustix::fs::SeekFrom;
use rustix::io::Errno;

/// Waits for the end of a `write` that is in progress on `file`, as far as the file system lets us. `size` is what a stat
/// tells. Where the file stands afterwards is not said.
///
/// # Errors
/// [`io::ErrorKind::NotSeekable`] for a FIFO or socket, from which nothing was read.
pub fn wait_for_writer(file: &File, size: u64) -> io::Result<()> {
    match rustix::fs::seek(file, SeekFrom::Hole(size.saturating_sub(1))) {
        Err(Errno::SPIPE) => Err(Errno::SPIPE.into()),
        // Whether there is a hole does not matter, nor whether the file system knows about holes.
        _ => Ok(()),
    }
}
