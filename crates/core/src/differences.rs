//! How a walked worktree differs from head, as people count it: what a rule leaves out now is not a difference.

use crate::objects::Objects;
use crate::snapshot::Snapshot;
use crate::state::{self, Change, EntryInfo, HashOnly, Node, find, replace, unomit};
use crate::{
    ChangeCounts, ChangeKind, EntrySide, ObjectId, Omitted, PathChange, Reason, RepoPath, Result, StoreOptions,
};

/// The worktree beside head.
pub(crate) struct Differences {
    /// As [`visible`] has them.
    pub(crate) changes: Vec<Change>,
    /// Paths of head that a rule leaves out now, sorted.
    pub(crate) no_longer_tracked: Vec<RepoPath>,
    /// Whether a checkpoint of the worktree would be the same as head.
    pub(crate) is_same: bool,
}

impl Differences {
    /// The omitted paths that there is something to say of: one that is ignored now is news only while head has it, and
    /// afterwards ignored as any other, although the facts go on to name it.
    pub(crate) fn told(&self, omitted: Vec<Omitted>) -> Vec<Omitted> {
        let is_told = |omitted: &Omitted| {
            omitted.reason != Reason::IgnoredInHead || self.no_longer_tracked.binary_search(&omitted.path).is_ok()
        };
        omitted.into_iter().filter(is_told).collect()
    }
}

/// Ids of head's tree and facts.
#[derive(Clone, Copy)]
pub(crate) struct HeadIds {
    pub(crate) tree: ObjectId,
    pub(crate) facts: Option<ObjectId>,
}

/// Compares what a walk saw with head.
pub(crate) fn differences(
    objects: &Objects,
    head: &Node,
    head_ids: HeadIds,
    snapshot: &Snapshot,
    options: &StoreOptions,
) -> Result<Differences> {
    let Snapshot { root: now, encoded, omitted, .. } = snapshot;
    if encoded.is_same(head_ids.tree, head_ids.facts) {
        return Ok(Differences { changes: Vec::new(), no_longer_tracked: Vec::new(), is_same: true });
    }
    let (as_tracked, no_longer_tracked) = as_tracked(objects, head, now, omitted)?;
    let changes =
        state::changes_with(objects, &|slot, stored| snapshot.before(slot, stored), Some(head), Some(&as_tracked))?;
    let is_same = !no_longer_tracked.is_empty()
        && changes.is_empty()
        && state::encode(&as_tracked, objects, &HashOnly, options)?.is_same(head_ids.tree, head_ids.facts);
    Ok(Differences { changes: visible(changes), no_longer_tracked, is_same })
}

/// The state `now` with head's entries where a rule that head did not know leaves them out, and the paths of these.
pub(crate) fn as_tracked(
    objects: &Objects,
    head: &Node,
    now: &Node,
    omitted: &[Omitted],
) -> Result<(Node, Vec<RepoPath>)> {
    let mut tracked = now.clone();
    let mut paths = Vec::new();
    for omitted in omitted.iter().filter(|omitted| omitted.reason.is_untracking()) {
        let path = omitted.path.as_bytes();
        if let Some(entry) = find(objects, head, path)? {
            replace(objects, &mut tracked, path, entry, &|_| 0o755)?;
            unomit(objects, &mut tracked, path)?;
            paths.push(omitted.path.clone());
        }
    }
    Ok((tracked, paths))
}

/// The changes without the directories that are named by what is in them: a new or deleted one is told only if it is
/// empty.
pub(crate) fn visible(changes: Vec<Change>) -> Vec<Change> {
    let mut visible: Vec<Change> = Vec::with_capacity(changes.len());
    for change in changes {
        if let Some(last) = visible.last() {
            let one_sided = |side: Option<EntryInfo>, other: Option<EntryInfo>| {
                other.is_none() && side.is_some_and(|side| side.is_dir())
            };
            let is_dir_alone = one_sided(last.old, last.new) || one_sided(last.new, last.old);
            if is_dir_alone && crate::path::is_below(&change.path, &last.path) {
                visible.pop();
            }
        }
        visible.push(change);
    }
    visible
}

/// What kind of change it is.
fn kind(change: &Change) -> ChangeKind {
    match (change.old, change.new) {
        (None, _) => ChangeKind::Added,
        (_, None) => ChangeKind::Deleted,
        (Some(old), Some(new)) if old.kind != new.kind => ChangeKind::Kind,
        (Some(old), Some(new)) if !old.is_dir() && old.id != new.id => ChangeKind::Modified,
        _ => ChangeKind::Mode,
    }
}

pub(crate) fn to_path_change(change: &Change) -> PathChange {
    let side = |info: Option<EntryInfo>| info.map(|info| EntrySide { kind: info.kind, mode: info.mode });
    PathChange {
        path: RepoPath::trusted(change.path.clone()),
        change: kind(change),
        old: side(change.old),
        new: side(change.new),
    }
}

/// Sums of visible changes.
pub(crate) fn count(changes: &[Change]) -> ChangeCounts {
    let mut counts = ChangeCounts::default();
    for change in changes {
        match kind(change) {
            ChangeKind::Added => counts.added += 1,
            ChangeKind::Deleted => counts.deleted += 1,
            _ => counts.modified += 1,
        }
    }
    counts
}
