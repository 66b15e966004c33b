//! Packs as stock git sees them. Needs `git` on the PATH.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "stock_git/damage.rs"]
mod damage;
#[path = "stock_git/merging.rs"]
mod merging;
#[path = "stock_git/objects.rs"]
mod objects;
#[path = "stock_git/repo.rs"]
mod repo;
