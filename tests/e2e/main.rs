//! The `ckpt` command from outside: each test runs the real binary in a sandbox and looks at the disk.
//!
//! A file a subcommand and a concern. A test that stands for a case of docs/cases.md ends in its id. Rules and parsing
//! are tested where they are written; here is only what a person or an agent could see.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod sandbox;

mod config;
mod crash;
mod damage;
mod diff;
mod disk_errors;
mod doctor;
mod hostile;
mod ignored;
mod json;
mod kinds;
mod lost_timeline;
mod mounts;
mod names;
mod output;
mod processes;
mod prune;
mod readme;
mod repair;
mod repositories;
mod reset;
mod rollback;
mod rotten;
mod save;
mod show;
mod space;
mod stat_cache;
mod torture;
mod undo;
mod unreadable;
mod verify;
mod workspaces;
