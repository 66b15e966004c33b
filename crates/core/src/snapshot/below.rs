//! A snapshot of one path: for a rollback, which looks at nothing else.

use std::sync::Arc;

use ckpt_fs::FileKind;

use super::head_view::HeadDir;
use super::looked::Horizon;
use super::rule_files;
use super::walk::{Start, Walk};
use super::{Ingest, assemble, discover_rules, store_inside};
use crate::checkout::present::{Captured, capture_one};
use crate::checkpoint::Checkpoint;
use crate::error::Context;
use crate::path::split;
use crate::state::{self, Entry, Name, Node, judge_name};
use crate::store::Inner;
use crate::{ConflictReason, EntryKind, Notice, ObjectId, Omitted, Reason, RepoPath, Result};

/// What stands at one path.
pub(crate) struct Below {
    pub(crate) entry: Option<Entry>,
    pub(crate) omitted: Vec<Omitted>,
    /// Paths at which something is mounted.
    pub(crate) mounts: Vec<Vec<u8>>,
    pub(crate) notices: Vec<Notice>,
}

/// Looks at `path` and what is below it. No rule leaves out the path itself, but what a tree cannot hold is left out;
/// below it the rules hold. What cannot be read keeps what head has for it.
pub(crate) fn take_below(
    store: &Inner,
    head: Option<&Checkpoint>,
    head_state: Option<&Node>,
    path: &RepoPath,
    ingest: &dyn Ingest,
) -> Result<Below> {
    let mut below = Below { entry: None, omitted: Vec::new(), mounts: Vec::new(), notices: Vec::new() };
    if path.as_bytes().split(|&byte| byte == b'/').any(|name| judge_name(name) != Name::Plain) {
        below.omitted.push(Omitted { path: path.clone(), reason: Reason::ReservedName });
        return Ok(below);
    }
    let root = Arc::new(crate::session::open_worktree(store.worktree.path())?);
    let (dir, name) = split(path.as_bytes());
    let parent = match root.open_beneath(dir).or_short("open", store.worktree.path())? {
        Ok(parent) => parent,
        Err(err) if ckpt_fs::is_absence(&err) => return Ok(below),
        Err(_) => {
            below.keep(store, head_state, path, Reason::Unreadable)?;
            return Ok(below);
        }
    };
    let stat = match parent.try_stat(name) {
        Ok(Some(stat)) => stat,
        Ok(None) => return Ok(below),
        Err(_) => {
            below.keep(store, head_state, path, Reason::Unreadable)?;
            return Ok(below);
        }
    };
    if stat.is_mount_point {
        below.mounts.push(path.as_bytes().to_vec());
    }
    if stat.kind != FileKind::Dir {
        match capture_one(&parent, name, ingest)? {
            Captured::Held(entry) => below.entry = Some(entry),
            Captured::Nothing => {}
            Captured::NotHeld(ConflictReason::Special) => {
                below.omitted.push(Omitted { path: path.clone(), reason: Reason::Special });
            }
            Captured::NotHeld(ConflictReason::Changing) => below.keep(store, head_state, path, Reason::Unstable)?,
            Captured::NotHeld(_) => below.keep(store, head_state, path, Reason::Unreadable)?,
        }
        return Ok(below);
    }
    let rules = discover_rules(store, head, &mut below.notices)?;
    let mut head_dir = HeadDir::root(head_state.cloned());
    for component in path.as_bytes().split(|&byte| byte == b'/') {
        head_dir = head_dir.child(component);
    }
    let (above, notices) = (rules.above_root(), &mut below.notices);
    let above = rule_files::above(&root, store.worktree.path(), above, path.as_bytes(), notices)?;
    let walk = Walk {
        root: Arc::clone(&root),
        root_path: store.worktree.path(),
        objects: &store.objects,
        options: &store.options,
        rule_options: rules.options(),
        above,
        cache: None,
        must_look_up: false,
        cache_knows_head: false,
        ingest,
        horizon: Horizon::Never,
        skip: store_inside(store),
        temporaries: None,
        shortage: Arc::default(),
    };
    let seen = walk.run(Start { path: path.as_bytes().to_vec(), stat, head: head_dir, cached: None })?;
    let kept = seen.omitted.iter().any(|omitted| omitted.path == *path && omitted.reason == Reason::Unreadable);
    if kept {
        below.keep(store, head_state, path, Reason::Unreadable)?;
    } else {
        let mode = u16::try_from(stat.mode & 0o777).unwrap_or(0);
        let node = assemble::state(&seen, None);
        let entry = Entry { name: name.to_vec(), kind: EntryKind::Dir, mode, id: ObjectId::ZERO, dir: Some(node) };
        below.entry = Some(entry);
        below.omitted = seen.omitted;
        below.mounts.extend(seen.mounts);
    }
    below.notices.extend(seen.notices);
    Ok(below)
}

impl Below {
    fn keep(&mut self, store: &Inner, head: Option<&Node>, path: &RepoPath, reason: Reason) -> Result<()> {
        self.omitted.push(Omitted { path: path.clone(), reason });
        if let Some(head) = head {
            self.entry = state::find(&store.objects, head, path.as_bytes())?;
        }
        Ok(())
    }
}
