//! `save`: the worktree becomes a checkpoint.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::checkout::{interrupted, recover};
use crate::checkpoint::Checkpoint;
use crate::create::sync_names;
use crate::differences::{Differences, HeadIds, count, differences, to_path_change};
use crate::error::Context;
use crate::layout::{OWN, WORKTREE, WorktreeRecord};
use crate::record::{NewState, merge_packs, put_checkpoint, put_save, write_cache};
use crate::registry;
use crate::session::Session;
use crate::snapshot::{self, Against, HashUntilStopped, Snapshot, StoreIngest};
use crate::state;
use crate::store::Inner;
use crate::{
    ChangeCounts, CheckpointId, CheckpointKind, CheckpointStore, Error, Notice, ObjectId, Omitted, Operation,
    OperationKind, PathChange, Recovery, RepoPath, Result, StoreOptions, WorkspaceFault, Worktree,
};

/// What to save, and how. Made from a message: `store.save("before refactor")`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SaveOptions {
    /// Message; any bytes but NUL. Default: empty.
    pub message: Vec<u8>,
    /// Whether a checkpoint is made even if nothing changed. Default: false.
    pub always: bool,
}

impl From<&str> for SaveOptions {
    fn from(message: &str) -> Self {
        Self { message: message.as_bytes().to_vec(), always: false }
    }
}

impl From<String> for SaveOptions {
    fn from(message: String) -> Self {
        Self { message: message.into_bytes(), always: false }
    }
}

impl From<Vec<u8>> for SaveOptions {
    fn from(message: Vec<u8>) -> Self {
        Self { message, always: false }
    }
}

/// What a save did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Saved {
    /// The new checkpoint, or head where nothing changed.
    pub id: CheckpointId,
    /// Whether a checkpoint was made.
    pub created: bool,
    /// Message of the checkpoint `id`: the one that was given only if it was created.
    pub message: Vec<u8>,
    /// Differences from the checkpoint before; all zero where nothing was created.
    pub changes: ChangeCounts,
    /// Number of files and links in the checkpoint.
    pub files: u64,
    /// Size of these in bytes, before compression.
    pub bytes: u64,
    /// Paths that were seen but not captured, sorted. One that is ignored now is among them only while the checkpoint
    /// before has it.
    pub omitted: Vec<Omitted>,
    /// Paths of the checkpoint before that a rule leaves out now.
    pub no_longer_tracked: Vec<RepoPath>,
    /// How long it took.
    pub duration: Duration,
    /// An interrupted restore that was finished first.
    pub recovered: Option<Recovery>,
    /// What else should be known.
    pub notices: Vec<Notice>,
}

impl Saved {
    /// Whether everything that the rules want was captured.
    pub fn is_complete(&self) -> bool {
        !self.omitted.iter().any(|omitted| omitted.reason.is_failure())
    }
}

/// What a save would do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SavePlan {
    /// Whether nothing differs from head, so that a checkpoint would be made only with
    /// [`always`](SaveOptions::always).
    pub is_same: bool,
    /// Differences from head, by directory, names in byte order.
    pub changes: Vec<PathChange>,
    /// Number of files and links that the checkpoint would hold.
    pub files: u64,
    /// Size of these in bytes.
    pub bytes: u64,
    /// Paths that would be omitted, sorted.
    pub omitted: Vec<Omitted>,
    /// Paths of head that a rule leaves out now.
    pub no_longer_tracked: Vec<RepoPath>,
    /// What else should be known.
    pub notices: Vec<Notice>,
}

impl SavePlan {
    fn new(snapshot: Snapshot, differences: Differences, notices: Vec<Notice>) -> Self {
        Self {
            is_same: differences.is_same,
            changes: differences.changes.iter().map(to_path_change).collect(),
            files: snapshot.counts.files,
            bytes: snapshot.counts.bytes,
            omitted: differences.told(snapshot.omitted),
            no_longer_tracked: differences.no_longer_tracked,
            notices,
        }
    }
}

impl CheckpointStore {
    /// Saves the worktree as a checkpoint. Where nothing changed since head, nothing is written and head's id comes
    /// back with `created: false`. When it returns `Ok`, the checkpoint is durable; when it fails, the store is as it
    /// was.
    ///
    /// # Errors
    /// [`Error::Input`] for a message with NUL; [`Error::Workspace`] when the worktree is missing or nothing in it can
    /// be read; [`Error::Locked`]; errors of the store or the disk.
    pub fn save(&self, options: impl Into<SaveOptions>) -> Result<Saved> {
        let options = options.into();
        if options.message.contains(&0) {
            return Err(Error::Input { what: "message", reason: "it holds a NUL byte, which a commit cannot" });
        }
        let start = Instant::now();
        let session = Session::begin(&self.0)?;
        let recovered = recover::finish(&session)?;
        let mut saved = save(&session, &options)?;
        saved.recovered = recovered;
        saved.duration = start.elapsed();
        Ok(saved)
    }

    /// Tells what [`CheckpointStore::save`] would capture and omit. Writes nothing.
    ///
    /// # Errors
    /// As for [`CheckpointStore::save`].
    pub fn plan_save(&self) -> Result<SavePlan> {
        interrupted::require_none(&self.0)?;
        let (_, mut snapshot, differences) = self.compare_with_head()?;
        let notices = std::mem::take(&mut snapshot.notices);
        Ok(SavePlan::new(snapshot, differences, notices))
    }

    /// Tells whether a first save of `worktree` would be refused for where it is. Looks at nothing in it, and writes
    /// nothing.
    ///
    /// # Errors
    /// Those of [`CheckpointStore::open_or_create`] that are about the place.
    pub fn check_first_save(checkpoint_dir: &Path, worktree: &Path, options: StoreOptions) -> Result<()> {
        Inner::not_made(checkpoint_dir, Worktree::locate(worktree)?, options).map(|_| ())
    }

    /// Tells what a first save of `worktree` would capture and omit, where there is no store yet that could be asked.
    /// Writes nothing, nowhere.
    ///
    /// # Errors
    /// As for [`CheckpointStore::open_or_create`] and [`CheckpointStore::save`].
    pub fn plan_first_save(checkpoint_dir: &Path, worktree: &Path, options: StoreOptions) -> Result<SavePlan> {
        let store = Inner::not_made(checkpoint_dir, Worktree::locate(worktree)?, options)?;
        let against = Against { tip: None, head: None, clock: None };
        let mut snapshot = snapshot::take(&store, &against, &HashUntilStopped(&*store.options.observer))?;
        let mut notices = store.notices().to_vec();
        notices.append(&mut snapshot.notices);
        let differences = store.differences(None, &snapshot)?;
        Ok(SavePlan::new(snapshot, differences, notices))
    }

    /// Looks at the worktree without writing, and compares it with head.
    pub(crate) fn compare_with_head(&self) -> Result<(Option<Checkpoint>, Snapshot, Differences)> {
        let store = &*self.0;
        let tip = store.tip()?;
        let head = store.head(&tip)?;
        let against = Against { tip: Some(&tip), head: head.as_ref(), clock: None };
        let snapshot = snapshot::take(store, &against, &HashUntilStopped(&*store.options.observer))?;
        store.require_mounted(&snapshot)?;
        store.require_readable(&snapshot)?;
        let differences = store.differences(head.as_ref(), &snapshot)?;
        Ok((head, snapshot, differences))
    }
}

impl Inner {
    /// Head of an operation, read.
    pub(crate) fn head(&self, tip: &Operation) -> Result<Option<Checkpoint>> {
        tip.head.map(|id| Checkpoint::require(&self.objects, id, self.id)).transpose()
    }

    /// Refuses a directory in which nothing can be read: a checkpoint of it would look like a deletion.
    fn require_readable(&self, snapshot: &Snapshot) -> Result<()> {
        let failed = snapshot.omitted.iter().filter(|omitted| omitted.reason.is_failure()).count();
        if snapshot.counts.files == 0 && failed > 0 {
            return Err(Error::workspace(self.worktree.path(), WorkspaceFault::Unreadable(failed)));
        }
        Ok(())
    }

    /// Refuses an empty directory where a volume was: a checkpoint of it would look like a deletion. A restore may write
    /// there, since it loses nothing.
    fn require_mounted(&self, snapshot: &Snapshot) -> Result<()> {
        if snapshot.counts.entries > 0 {
            return Ok(());
        }
        let path = self.path.join(OWN).join(WORKTREE);
        match WorktreeRecord::read(&self.dir).context("read", path)? {
            Ok(record) if registry::is_unmounted(&record) => {
                Err(Error::workspace(self.worktree.path(), WorkspaceFault::Unmounted(self.worktree.path().to_owned())))
            }
            _ => Ok(()),
        }
    }

    /// How a snapshot differs from head. Without a head everything differs, even nothing at all.
    pub(crate) fn differences(&self, head: Option<&Checkpoint>, snapshot: &Snapshot) -> Result<Differences> {
        let (state, ids) = match head {
            Some(head) => {
                let (facts, _) = state::read_facts_commit(&self.objects, head.facts_commit)?;
                (head.state(&self.objects)?, HeadIds { tree: head.tree, facts })
            }
            None => (state::empty(), HeadIds { tree: ObjectId::ZERO, facts: None }),
        };
        differences(&self.objects, &state, ids, snapshot, &self.options)
    }
}

/// Saves what a caller asked for.
fn save(session: &Session<'_>, options: &SaveOptions) -> Result<Saved> {
    let store = session.store;
    let tip = store.tip()?;
    let head = store.head(&tip)?;
    let ingest = StoreIngest::new(session)?;
    let against = Against { tip: Some(&tip), head: head.as_ref(), clock: Some((session.locked_ns, session.device)) };
    let mut snapshot = snapshot::take(store, &against, &ingest)?;
    store.require_mounted(&snapshot)?;
    store.require_readable(&snapshot)?;
    let mut notices = std::mem::take(&mut snapshot.notices);
    let differences = match store.differences(head.as_ref(), &snapshot) {
        // A head that the store lost must not keep anybody from saving: everything is new then.
        Err(Error::Object { id, .. }) => {
            notices.push(Notice::HeadDamaged(id));
            store.differences(None, &snapshot)?
        }
        differences => differences?,
    };
    if snapshot.counts.files == 0 && snapshot.counts.entries > 0 && is_empty(store, &snapshot)? {
        notices.push(Notice::NothingCaptured);
    }
    let mut saved = Saved {
        id: CheckpointId(ObjectId::ZERO),
        created: false,
        message: Vec::new(),
        changes: ChangeCounts::default(),
        files: snapshot.counts.files,
        bytes: snapshot.counts.bytes,
        omitted: differences.told(snapshot.omitted.clone()),
        no_longer_tracked: differences.no_longer_tracked,
        duration: Duration::ZERO,
        recovered: None,
        notices,
    };
    if let Some(head) = head.as_ref().filter(|_| differences.is_same && !options.always) {
        saved.id = head.info.id;
        saved.message.clone_from(&head.info.message);
        // Nothing new, and still something to pack: the store had lost it. What differs from head only by what a rule
        // leaves out is not packed; then no cache may say that it is.
        let is_held = if ingest.is_empty() {
            true
        } else if saved.no_longer_tracked.is_empty() {
            session.publish(Vec::new(), ingest)?;
            true
        } else {
            false
        };
        if is_held && snapshot.read_much() {
            write_cache(session, snapshot.next_cache(), &tip);
        }
        session.update_record()?;
        return Ok(saved);
    }
    let changes = count(&differences.changes);
    let new = NewState {
        encoded: snapshot.encoded,
        rules: &snapshot.rules.encode(),
        kind: CheckpointKind::Manual,
        message: &options.message,
        changes,
        totals: Some((snapshot.counts.files, snapshot.counts.bytes)),
        omitted: snapshot.omitted.len() as u64,
        partial: false,
        root_mode: Some(snapshot.root_mode),
    };
    // The blobs and trees of a first save stand in a pack of their own, so that other stores may share it.
    let mut packs = Vec::new();
    let ingest = if head.is_none() {
        packs.extend(ingest.finish()?);
        StoreIngest::new(session)?
    } else {
        ingest
    };
    let checkpoint = put_checkpoint(session, &ingest, &new, &tip, head.as_ref())?;
    let operation = put_save(session, &ingest, &checkpoint, &tip)?;
    store.interrupted()?;
    if tip.kind == OperationKind::Create {
        sync_names(&store.layout.checkpoint_dir, store.options.durability)?;
    }
    let is_large = snapshot.read_much();
    // What was seen is needed for nothing else; letting go of it takes some time as well.
    let cache = session.publish_beside(packs, ingest, is_large, move || snapshot.next_cache())?;
    session.move_timeline_or_stop(tip.id, operation.id)?;
    write_cache(session, cache, &operation);
    session.update_record()?;
    merge_packs(session);
    saved.id = checkpoint.info.id;
    saved.created = true;
    saved.message = checkpoint.info.message;
    saved.changes = changes;
    Ok(saved)
}

fn is_empty(store: &Inner, snapshot: &Snapshot) -> Result<bool> {
    Ok(snapshot.root.load(&store.objects)?.entries.is_empty())
}
