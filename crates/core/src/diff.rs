//! `diff`: what differs between two states, as paths and as a patch.

use std::path::Path;

use ckpt_fs::Dir;
use ckpt_pack::Kind;

use crate::checkout::recover;
use crate::checkpoint::Checkpoint;
use crate::differences::{as_tracked, to_path_change, visible};
use crate::patch::{self, LineCounts, Side};
use crate::path::{is_below, split};
use crate::state::{self, Change, EntryInfo, HashOnly, Node, ObjectSink};
use crate::{
    CheckpointId, CheckpointStore, EntryKind, Error, Notice, ObjectFault, ObjectId, PathChange, PathFault, Recovery,
    RepoPath, Result, Worktree,
};

/// What to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compare {
    /// From a checkpoint to the worktree as it is now.
    ToWorktree(CheckpointId),
    /// From one checkpoint to another.
    Between(CheckpointId, CheckpointId),
    /// From the checkpoint before it (nothing, for the first) to a checkpoint: what it changed.
    ToPrevious(CheckpointId),
}

/// What differs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diff {
    /// The older side; `None` is nothing at all.
    pub from: Option<CheckpointId>,
    /// The newer side; `None` is the worktree.
    pub to: Option<CheckpointId>,
    /// Paths that differ, by directory, names in byte order.
    pub files: Vec<FileDiff>,
    /// Paths that were asked for and stand in the worktree, but are in neither side: left out by a rule, and not
    /// compared.
    pub not_captured: Vec<RepoPath>,
    /// Paths of the older side that a rule left out of the newer one, sorted: no differences, and not among `files`.
    pub no_longer_tracked: Vec<RepoPath>,
    /// An interrupted restore that was finished first.
    pub recovered: Option<Recovery>,
    /// What else should be known.
    pub notices: Vec<Notice>,
}

impl Diff {
    /// The patches of all files, one after the other: `git apply` takes it. Directories and permission bits other than
    /// the executable one have no form in a patch; they are in `files`.
    pub fn patch(&self) -> Patch {
        Patch(self.files.iter().flat_map(|file| file.patch.0.iter().copied()).collect())
    }
}

/// What differs at one path.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileDiff {
    /// The path and the kind of change.
    pub change: PathChange,
    /// Lines added and removed.
    pub lines: LineCounts,
    /// Patch of this path; empty for directories and for changes of permission bits alone.
    pub patch: Patch,
}

/// Text of a patch in Git's form, in bytes: the lines of files are in it as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch(pub(crate) Vec<u8>);

impl Patch {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether nothing differs that a patch can tell.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl std::fmt::Display for Patch {
    /// The text with bytes that are not UTF-8 replaced; for people only.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl CheckpointStore {
    /// Compares two states; only the given paths and what is below them, or everything where none are given.
    ///
    /// # Errors
    /// [`Error::Revision`](crate::Error::Revision) for ids that are not of this store; [`PathFault::Unknown`] for a path
    /// that is in neither state and not in the worktree; errors of reading.
    pub fn diff(&self, compare: Compare, paths: &[RepoPath]) -> Result<Diff> {
        let mut diff = Diff {
            from: None,
            to: None,
            files: Vec::new(),
            not_captured: Vec::new(),
            no_longer_tracked: Vec::new(),
            recovered: None,
            notices: Vec::new(),
        };
        let objects = &self.0.objects;
        // What a rule leaves out of the newer side is no difference.
        let (old, mut new) = match compare {
            Compare::Between(from, to) => {
                diff.from = Some(from);
                diff.to = Some(to);
                (Some(self.require_checkpoint(from)?.state(objects)?), self.require_checkpoint(to)?.state(objects)?)
            }
            Compare::ToPrevious(id) => {
                let checkpoint = self.require_checkpoint(id)?;
                diff.from = checkpoint.info.previous;
                diff.to = Some(id);
                let previous = diff.from.map(|id| Checkpoint::require(objects, id, self.0.id)).transpose()?;
                let old = previous.map(|previous| previous.state(objects)).transpose()?;
                (old, checkpoint.state(objects)?)
            }
            Compare::ToWorktree(from) => {
                let old = self.require_checkpoint(from)?.state(objects)?;
                let (recovered, pending) = recover::finish_first(&self.0)?;
                diff.recovered = recovered;
                diff.from = Some(from);
                let (_, snapshot, _) = self.compare_with_head()?;
                diff.notices = snapshot.notices;
                diff.notices.extend(pending);
                let (now, no_longer_tracked) = as_tracked(objects, &old, &snapshot.root, &snapshot.omitted)?;
                diff.no_longer_tracked = no_longer_tracked;
                return self.fill(diff, Some(&old), &now, Some(&snapshot.root_dir), paths);
            }
        };
        if let (Some(old), Some(id)) = (&old, diff.to) {
            (new, diff.no_longer_tracked) = as_tracked(objects, old, &new, &self.omitted(id)?)?;
        }
        self.fill(diff, old.as_ref(), &new, None, paths)
    }

    fn fill(
        &self,
        mut diff: Diff,
        old: Option<&Node>,
        new: &Node,
        worktree: Option<&Dir>,
        paths: &[RepoPath],
    ) -> Result<Diff> {
        let objects = &self.0.objects;
        let is_in = |state: Option<&Node>, path: &RepoPath| -> Result<bool> {
            Ok(state.map(|state| state::find(objects, state, path.as_bytes())).transpose()?.flatten().is_some())
        };
        for path in paths {
            if is_in(old, path)? || is_in(Some(new), path)? {
                continue;
            }
            if !stands(self.worktree(), path) {
                return Err(Error::Path { path: path.as_path().to_owned(), reason: PathFault::Unknown });
            }
            diff.not_captured.push(path.clone());
        }
        let mut changes = state::changes(objects, old, Some(new))?;
        let is_wanted = |change: &Change| paths.iter().any(|path| is_below(&change.path, path.as_bytes()));
        changes.retain(|change| paths.is_empty() || is_wanted(change));
        let touches =
            |a: &RepoPath, b: &RepoPath| is_below(a.as_bytes(), b.as_bytes()) || is_below(b.as_bytes(), a.as_bytes());
        let is_asked_for = |dropped: &RepoPath| paths.iter().any(|path| touches(path, dropped));
        diff.no_longer_tracked.retain(|dropped| paths.is_empty() || is_asked_for(dropped));
        for change in visible(changes) {
            diff.files.extend(self.file_diff_of(change, worktree)?);
        }
        Ok(diff)
    }

    /// `None` where nothing differs any more: what stood in the worktree went while it was compared.
    fn file_diff_of(&self, mut change: Change, worktree: Option<&Dir>) -> Result<Option<FileDiff>> {
        let objects = &self.0.objects;
        let stored = |info: Option<EntryInfo>| -> Result<Option<Content>> {
            info.filter(|info| !info.is_dir())
                .map(|info| {
                    Ok(Content { mode: git_mode(info), id: info.id, bytes: objects.read_kind(info.id, Kind::Blob)? })
                })
                .transpose()
        };
        let old = stored(change.old)?;
        let new = match (worktree, change.new) {
            (Some(root), Some(info)) if !info.is_dir() => self.worktree_content(root, &change.path, info)?,
            _ => stored(change.new)?,
        };
        if new.is_none() && change.new.is_some_and(|info| !info.is_dir()) {
            change.new = None;
            if change.old.is_none() {
                return Ok(None);
            }
        }
        let mut patch = Vec::new();
        let mut lines = LineCounts::default();
        let is_patch = match (&old, &new) {
            (None, None) => false,
            (Some(old), Some(new)) => (old.mode, old.id) != (new.mode, new.id),
            _ => true,
        };
        if is_patch {
            let (old, new) = (old.as_ref().map(Content::side), new.as_ref().map(Content::side));
            lines = patch::write_patch(&mut patch, &change.path, old.as_ref(), new.as_ref()).map_err(|err| {
                let id = change.new.or(change.old).map_or(ObjectId::ZERO, |info| info.id);
                Error::object(id, ObjectFault::Damaged(format!("it cannot be compared: {}", err.message())))
            })?;
        }
        Ok(Some(FileDiff { change: to_path_change(&change), lines, patch: Patch(patch) }))
    }

    /// The content that stands in the worktree, or the store's where the path is kept from head; `None` where it went, or
    /// became something else, since it was seen.
    fn worktree_content(&self, root: &Dir, path: &[u8], info: EntryInfo) -> Result<Option<Content>> {
        let (dir, name) = split(path);
        let read = || -> std::io::Result<Vec<u8>> {
            let dir = root.open_beneath(dir)?;
            match info.kind {
                EntryKind::Link => dir.read_link(name),
                _ => dir.read_file(name, u64::MAX - 1)?.ok_or_else(|| std::io::ErrorKind::NotFound.into()),
            }
        };
        let bytes = match read() {
            Ok(bytes) => bytes,
            Err(source) => match self.0.objects.read_kind(info.id, Kind::Blob) {
                Ok(bytes) => bytes,
                Err(_) if is_other_by_now(&source) => return Ok(None),
                Err(_) => {
                    let path = self.0.worktree.path().join(RepoPath::trusted(path.to_vec()).as_path());
                    return Err(Error::Io { action: "read", path, source });
                }
            },
        };
        Ok(Some(Content { mode: git_mode(info), id: HashOnly.put(Kind::Blob, &bytes)?, bytes }))
    }

    /// Compares the file at `path` in a checkpoint with the worktree as it is now. `path` is relative to the worktree,
    /// or absolute inside it. A directory stands for what is in it.
    ///
    /// # Errors
    /// As for [`CheckpointStore::diff`]; [`PathFault::Unknown`] when the path is in neither.
    pub fn file_diff(&self, from: CheckpointId, path: &Path) -> Result<Patch> {
        let repo_path = self.worktree().repo_path(self.worktree().path(), path)?;
        let paths: Vec<RepoPath> = repo_path.into_iter().collect();
        Ok(self.diff(Compare::ToWorktree(from), &paths)?.patch())
    }
}

/// Whether an error says that a file or link is none any more.
fn is_other_by_now(err: &std::io::Error) -> bool {
    use std::io::ErrorKind;

    // A link that is read and is none is an invalid argument.
    ckpt_fs::is_absence(err) || matches!(err.kind(), ErrorKind::IsADirectory | ErrorKind::InvalidInput)
}

/// Whether something may stand at a path of the worktree. Not through links: what is behind them is not in it.
pub(crate) fn stands(worktree: &Worktree, path: &RepoPath) -> bool {
    let (dir, name) = split(path.as_bytes());
    let found = Dir::open(worktree.path()).and_then(|root| root.open_beneath(dir)).and_then(|dir| dir.stat(name));
    !found.is_err_and(|err| ckpt_fs::is_absence(&err))
}

/// A file or link, whole.
struct Content {
    mode: u32,
    id: ObjectId,
    bytes: Vec<u8>,
}

impl Content {
    fn side(&self) -> Side<'_> {
        Side { mode: self.mode, id: self.id, content: &self.bytes }
    }
}

fn git_mode(info: EntryInfo) -> u32 {
    match info.kind {
        EntryKind::Link => 0o120_000,
        _ if info.mode & 0o100 != 0 => 0o100_755,
        _ => 0o100_644,
    }
}
