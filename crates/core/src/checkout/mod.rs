//! A state becomes the worktree.

pub(crate) mod recover;
