//! Symlink-safe, durable file system work under directory handles, for ckpt.
