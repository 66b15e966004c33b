//! What a restore will do to each path: write, delete, keep, or object.
//!
//! A path is overwritten, replaced or deleted only if the safety state holds its present bytes. What the walk left out
//! by a rule but the target needs to overwrite is captured here, whatever the rules say.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use ckpt_fs::{Dir, Entries};
use ckpt_pack::Kind;

use super::present::{Captured, Present, capture, capture_one};
use super::step::Step;
use super::target::Target;
use crate::error::Context;
use crate::path::{is_below, split};
use crate::snapshot::Ingest;
use crate::state::{self, Change};
use crate::store::Inner;
use crate::{Conflict, ConflictReason, EntryKind, Error, LeftAlone, ObjectFault, RepoPath, Result};

/// What will be done, and what will not.
#[derive(Debug, Default)]
pub(crate) struct Planned {
    /// Parents before children, names in byte order.
    pub(crate) steps: Vec<Step>,
    pub(crate) conflicts: Vec<Conflict>,
    pub(crate) left_alone: Vec<LeftAlone>,
    /// Directories that the target lacks but that stay, since something in them does.
    pub(crate) kept_dirs: Vec<Vec<u8>>,
    /// Paths of the conflicts and of what is left alone.
    settled: HashSet<Vec<u8>>,
}

/// Makes the plan from `present` to `target`; `present` gains what has to be captured besides. `refused`: paths of which
/// it is known already that they stay.
pub(crate) fn plan(
    store: &Inner,
    present: &mut Present,
    target: &Target<'_>,
    refused: Vec<Conflict>,
    ingest: &dyn Ingest,
) -> Result<Planned> {
    let mut planned = Planned::default();
    for conflict in refused {
        planned.object(conflict.path.as_bytes(), conflict.reason);
    }
    let mut changes = state::changes(&store.objects, Some(&present.root), Some(&target.state))?;
    if capture_victims(store, present, target, &changes, ingest, &mut planned)? {
        changes = state::changes(&store.objects, Some(&present.root), Some(&target.state))?;
    }
    finish(store, present, target, changes, planned)
}

/// Captures what stands in the way and was left out of the walk. Whether anything was.
fn capture_victims(
    store: &Inner,
    present: &mut Present,
    target: &Target<'_>,
    changes: &[Change],
    ingest: &dyn Ingest,
    planned: &mut Planned,
) -> Result<bool> {
    let mut captured_any = false;
    // Nothing stands below a path at which nothing stands.
    let mut empty_below: Option<&[u8]> = None;
    let root = std::sync::Arc::clone(&present.root_dir);
    for change in changes {
        let path = change.path.as_slice();
        if empty_below.is_some_and(|empty| is_below(path, empty)) || planned.is_settled(path) {
            continue;
        }
        if present.not_held(path).is_some() {
            continue;
        }
        let mut is_whole = true;
        let found = match (change.old, change.new) {
            // A directory gives way to something else only if everything in it is held.
            (Some(old), Some(new)) if old.is_dir() && !new.is_dir() => capture(store, &root, path, ingest)?,
            (None, Some(new)) => {
                let (dir, name) = split(path);
                let opened = root.open_beneath(dir).or_short("open", store.worktree.path())?;
                let seen = opened.ok().and_then(|dir| dir.try_stat(name).ok().flatten());
                match seen {
                    None => {
                        empty_below = Some(path);
                        continue;
                    }
                    Some(_) if target.omits(path)? => {
                        planned.leave(path, crate::LeftAloneReason::OmittedInTarget);
                        continue;
                    }
                    // A directory that is wanted and there: only what is wanted in it can be in the way.
                    Some(stat) if new.is_dir() && stat.kind == ckpt_fs::FileKind::Dir => {
                        is_whole = false;
                        capture_dir(&root, path, ingest)?
                    }
                    Some(_) => capture(store, &root, path, ingest)?,
                }
            }
            _ => continue,
        };
        match found {
            Captured::Nothing => {}
            Captured::Held(entry) => {
                captured_any = true;
                present.put(store, path, entry)?;
                if is_whole {
                    state::unomit(&store.objects, &mut present.root, path)?;
                }
            }
            Captured::NotHeld(reason) => planned.object(path, reason),
        }
    }
    Ok(captured_any)
}

/// A directory by itself, without what is in it.
fn capture_dir(root: &Dir, path: &[u8], ingest: &dyn Ingest) -> Result<Captured> {
    let (dir, name) = split(path);
    match root.open_beneath(dir).or_short("open", OsStr::from_bytes(dir))? {
        Ok(dir) => capture_one(&dir, name, ingest),
        Err(err) if ckpt_fs::is_absence(&err) => Ok(Captured::Nothing),
        Err(_) => Ok(Captured::NotHeld(ConflictReason::Unreadable)),
    }
}

/// Sorts the changes into steps and what stays.
fn finish(
    store: &Inner,
    present: &Present,
    target: &Target<'_>,
    changes: Vec<Change>,
    mut planned: Planned,
) -> Result<Planned> {
    let mut steps: Vec<Change> = Vec::new();
    // A directory that gives way takes along what is in it, all of which is held.
    let mut gives_way: Option<Vec<u8>> = None;
    for change in changes {
        let path = change.path.as_slice();
        if planned.is_settled(path) {
            continue;
        }
        if let Some((omitted, reason)) = present.not_held(path) {
            let omitted = omitted.as_bytes().to_vec();
            planned.object(&omitted, reason);
            continue;
        }
        if present.is_mount_point(path) && !is_mode_of_dir(&change) {
            planned.object(path, ConflictReason::MountPoint);
            continue;
        }
        if change.old.is_some_and(|old| old.is_dir()) && change.new.is_some_and(|new| !new.is_dir()) {
            gives_way = Some(change.path.clone());
        }
        if change.new.is_none()
            && !gives_way.as_ref().is_some_and(|dir| is_below(&change.path, dir))
            && let Some(old) = change.old
            && let Some(reason) = target.silent_about(path, old.is_dir())?
        {
            planned.leave(path, reason);
            continue;
        }
        steps.push(change);
    }
    // Of what cannot be seen nobody knows whether it differs.
    for (omitted, reason) in present.unknown() {
        let path = omitted.as_bytes();
        if !planned.is_settled(path)
            && !target.omits(path)?
            && state::find(&store.objects, &target.state, path)?.is_some()
        {
            planned.object(path, *reason);
        }
    }
    keep_directories(present, &mut steps, &mut planned)?;
    check_objects(store, &steps)?;
    planned.steps = steps.into_iter().enumerate().map(|(number, change)| Step::new(number, change)).collect();
    Ok(planned)
}

/// Whether a directory stays, and only gets another mode.
fn is_mode_of_dir(change: &Change) -> bool {
    change.old.is_some_and(|old| old.is_dir()) && change.new.is_some_and(|new| new.is_dir())
}

/// Directories that would be deleted stay when anything in them does.
fn keep_directories(present: &Present, steps: &mut Vec<Change>, planned: &mut Planned) -> Result<()> {
    let mut removed: HashSet<Vec<u8>> =
        steps.iter().filter(|step| step.new.is_none()).map(|step| step.path.clone()).collect();
    let mut kept: HashSet<Vec<u8>> = HashSet::new();
    let mut names = Entries::default();
    // Children come after their parents: backwards, what stays below a directory is known when it is asked about.
    for step in steps.iter().rev() {
        let is_dir = step.old.is_some_and(|old| old.is_dir());
        if !is_dir || step.new.is_some() {
            continue;
        }
        let opened = present.root_dir.open_beneath(&step.path).and_then(|dir| dir.read_entries(&mut names));
        let stays = match opened.or_short("open", OsStr::from_bytes(&step.path))? {
            Ok(()) => names.iter().any(|entry| !removed.contains(&crate::path::join(&step.path, entry.name))),
            Err(_) => false,
        };
        if stays {
            removed.remove(&step.path);
            kept.insert(step.path.clone());
        }
    }
    steps.retain(|step| !kept.contains(&step.path));
    planned.kept_dirs = kept.into_iter().collect();
    planned.kept_dirs.sort();
    Ok(())
}

/// Longest target of a link that systems take: PATH_MAX of Linux without the closing NUL.
const MAX_TARGET: usize = 4095;

/// Every blob that will be written must be there, and be what its entry says, before the first write.
fn check_objects(store: &Inner, steps: &[Change]) -> Result<()> {
    for step in steps {
        let Some(new) = step.new.filter(|new| !new.is_dir()) else { continue };
        match store.objects.is_kind(new.id, Kind::Blob)? {
            Some(true) => {}
            Some(false) => {
                return Err(Error::object(new.id, ObjectFault::Damaged("a file's content is no blob".to_owned())));
            }
            None => return Err(Error::object(new.id, ObjectFault::Missing)),
        }
        if new.kind == EntryKind::Link {
            let target = store.objects.read_kind(new.id, Kind::Blob)?;
            if target.is_empty() || target.len() > MAX_TARGET || target.contains(&0) {
                let what = "a link's target is empty, too long, or holds a NUL byte";
                return Err(Error::object(new.id, ObjectFault::Unsafe(what.to_owned())));
            }
        }
    }
    Ok(())
}

impl Planned {
    /// Whether it is decided already that the path, or a directory above it, stays.
    pub(crate) fn is_settled(&self, path: &[u8]) -> bool {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| end);
        !self.settled.is_empty() && ends.chain([path.len()]).any(|end| self.settled.contains(&path[..end]))
    }

    pub(crate) fn object(&mut self, path: &[u8], reason: ConflictReason) {
        let is_new = self.settled.insert(path.to_vec());
        if is_new || !self.conflicts.iter().any(|conflict| conflict.path.as_bytes() == path) {
            self.conflicts.push(Conflict { path: RepoPath::trusted(path.to_vec()), reason });
        }
    }

    fn leave(&mut self, path: &[u8], reason: crate::LeftAloneReason) {
        self.settled.insert(path.to_vec());
        self.left_alone.push(LeftAlone { path: RepoPath::trusted(path.to_vec()), reason });
    }

    /// Paths that keep what stands there although the target differs.
    pub(crate) fn unchanged(&self) -> impl Iterator<Item = &[u8]> {
        let conflicts = self.conflicts.iter().map(|conflict| conflict.path.as_bytes());
        let left = self.left_alone.iter().map(|left| left.path.as_bytes());
        conflicts.chain(left).chain(self.kept_dirs.iter().map(Vec::as_slice))
    }
}
