//! `reset`, `rollback`, `undo`, `redo` through the library: what is on disk afterwards.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod edges;
mod place;
mod there_and_back;
