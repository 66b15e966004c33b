//! Symlink-safe, durable file system work under directory handles.
//!
//! Every change that ckpt makes to a file, a directory or a link goes through this crate, and so does every question
//! that the standard library cannot ask (one `statx` an entry, `getdents`, `openat2`). Names are bytes; a name is one
//! component unless a function says otherwise; no function here follows a symlink in the part of a path that it is
//! given relative to a [`Dir`]. Errors are plain [`std::io::Error`]s: the caller knows which path it meant and adds it.
//!
//! What this crate leaves to others: which file to change, and in what order.

#[cfg(not(unix))]
compile_error!("ckpt keeps checkpoints on Linux and macOS only: it needs directory handles and symlink-safe opens");

mod beneath;
mod dir;
mod durable;
mod entries;
pub mod fault;
mod lock;
mod new_file;
mod parallel;
mod stat;
mod system;
mod writers;

pub use beneath::{is_absence, is_shortage, is_unsupported};
pub use dir::Dir;
pub use durable::Durability;
pub use entries::{Entries, Entry};
pub use lock::{Lock, LockError};
pub use new_file::NewFile;
pub use parallel::{beside, in_parallel};
pub use stat::{FileKind, Stat};
pub use system::{
    Space, boot_id, handles, is_network_fs, process_name, random_bytes, require_handles, space, token, user_id,
};
pub use writers::wait_for_writer;
