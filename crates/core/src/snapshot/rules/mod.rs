//! Which entries of the worktree are captured, as far as names decide.
//!
//! [`Rules`] are those from outside the tree, [`DirRules`] those that stand in one directory; [`DirRules::judge`] gives
//! the [`Verdict`]. The first of these that says anything decides:
//!
//! 1. the `.ckptignore` files, deepest first;
//! 2. the `.gitignore` files, deepest first, up to the root of the enclosing Git repository, which may lie above the
//!    worktree; the `info/exclude` of a repository ranks just below the `.gitignore` of its root.
//!
//! What these do not ignore is still left out by the configured `exclude` globs. Within a file the last line that
//! matches decides. Lines are what they are to Git, to the byte; `tests.rs` compares with it.
//!
//! Left to the walk: `.git` entries, sizes, cache directories (the options are kept here since a checkpoint records
//! them with the rules), reading the rule files of the tree, and not to ask about what is below an ignored directory.
//! The machine-wide excludes and the config of a repository are never read.

mod chain;
mod dir_rules;
mod discover;
mod encoding;
mod files;
mod glob;
mod outside;
mod pattern;
mod repository;
#[cfg(test)]
mod tests;

pub(crate) use dir_rules::DirRules;
pub(crate) use discover::RuleNotice;
pub(crate) use files::{RuleContent, RuleFile, RuleFiles};
pub(crate) use outside::Rules;
pub(crate) use repository::read_repo_exclude;

/// What the rules say about an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is captured, if nothing else speaks against it.
    Captured,
    /// An ignore file leaves it out.
    Ignored,
    /// A configured `exclude` glob leaves it out.
    Excluded,
}

/// What is left out of checkpoints besides what the ignore files name.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleOptions {
    /// Globs in the syntax of `.gitignore`, as if written in one at the worktree's root: the last that matches decides,
    /// `!` takes back what an earlier one excludes. They outrank the `!` of every ignore file. Default: none.
    pub exclude: Vec<String>,
    /// Size in bytes above which a file is left out; 0 is no limit. Default: 100 MiB.
    pub max_file_bytes: u64,
    /// Whether directories with a valid `CACHEDIR.TAG` are left out. Default: yes.
    pub skip_cache_dirs: bool,
}

impl Default for RuleOptions {
    fn default() -> Self {
        Self { exclude: Vec::new(), max_file_bytes: 100 << 20, skip_cache_dirs: true }
    }
}

/// The first eight bytes of a hash: enough to see a change, and small in the stat cache.
fn digest(hasher: &blake3::Hasher) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *hasher.finalize().as_bytes();
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}
