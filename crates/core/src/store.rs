//! The store of one worktree: finding, making and opening it. What it does has a file a verb.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ckpt_fs::Dir;

use crate::create::create;
use crate::error::Context;
use crate::git_config::config_format;
use crate::layout::{FORMAT, Layout, OWN, RecordFault, WORKTREE, WorktreeRecord, dir_identity};
use crate::objects::Objects;
use crate::{
    Durability, Error, Notice, Result, StoreFault, StoreId, StoreOptions, WorkspaceFault, Worktree, refs, registry,
};

/// A shadow repository bound to one directory. Cheap to clone; clones share everything. `Send + Sync`: threads wait for
/// each other where processes would.
#[derive(Clone)]
pub struct CheckpointStore(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) worktree: Worktree,
    pub(crate) layout: Layout,
    pub(crate) path: PathBuf,
    pub(crate) options: StoreOptions,
    pub(crate) dir: Dir,
    pub(crate) own: Dir,
    pub(crate) id: StoreId,
    pub(crate) objects: Objects,
    /// Threads of this process wait here before they wait for other processes: advisory locks know processes only.
    pub(crate) threads: Mutex<()>,
    created: bool,
    notices: Vec<Notice>,
}

impl std::fmt::Debug for CheckpointStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CheckpointStore").field("worktree", &self.0.worktree).field("path", &self.0.path).finish()
    }
}

impl CheckpointStore {
    /// Opens the store of `worktree` under `checkpoint_dir`, or makes it. The worktree may be spelled in any way; its
    /// real path decides. A store is made whole or not at all.
    ///
    /// # Errors
    /// [`Error::Workspace`] when the directory is missing or must not be a workspace, [`Error::Store`] when what stands
    /// at the store's place cannot be used, [`Error::Locked`], [`Error::Io`].
    pub fn open_or_create(checkpoint_dir: &Path, worktree: &Path, options: StoreOptions) -> Result<Self> {
        let worktree = Worktree::locate(worktree)?;
        if let Some(store) = Self::open_located(checkpoint_dir, &worktree, options.clone())? {
            return Ok(store);
        }
        worktree.require_dir()?;
        let checkpoint_dir = crate::path::real_path(checkpoint_dir)?;
        check_place(&checkpoint_dir, &worktree, &options)?;
        let layout = Layout::new(&checkpoint_dir, &worktree);
        let moved_from = registry::moved_from(&checkpoint_dir, &worktree);
        let created = create(&layout, &worktree, &options)?;
        let mut inner = open_store(layout, worktree, options)?;
        inner.created = created;
        inner.notices.extend(moved_from.filter(|_| created).map(Notice::MovedFrom));
        Ok(Self(Arc::new(inner)))
    }

    /// Opens the store of `worktree` under `checkpoint_dir`; `None` where there is none. Writes nothing. The worktree
    /// itself may be missing.
    ///
    /// # Errors
    /// As for [`CheckpointStore::open_or_create`].
    pub fn open(checkpoint_dir: &Path, worktree: &Path, options: StoreOptions) -> Result<Option<Self>> {
        Self::open_located(checkpoint_dir, &Worktree::locate(worktree)?, options)
    }

    /// Tells whether anything stands where the store of `worktree` under `checkpoint_dir` is, or would be. Opens nothing.
    ///
    /// # Errors
    /// When nobody can look there.
    pub fn is_there(checkpoint_dir: &Path, worktree: &Path) -> Result<bool> {
        Ok(standing(&crate::path::real_path(checkpoint_dir)?, &Worktree::locate(worktree)?)?.is_some())
    }

    fn open_located(checkpoint_dir: &Path, worktree: &Worktree, options: StoreOptions) -> Result<Option<Self>> {
        let checkpoint_dir = crate::path::real_path(checkpoint_dir)?;
        let Some(layout) = standing(&checkpoint_dir, worktree)? else { return Ok(None) };
        check_place_of_open(&checkpoint_dir, worktree)?;
        Ok(Some(Self(Arc::new(open_store(layout, worktree.clone(), options)?))))
    }

    /// The directory that is protected.
    pub fn worktree(&self) -> &Worktree {
        &self.0.worktree
    }

    /// The bare repository, absolute. Stock git reads it: `git --git-dir=<path> log -p --first-parent`.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Identity of the store.
    pub fn id(&self) -> StoreId {
        self.0.id
    }

    /// Options that the store was opened with.
    pub fn options(&self) -> &StoreOptions {
        &self.0.options
    }

    /// Whether this handle made the store.
    pub fn was_created(&self) -> bool {
        self.0.created
    }

    /// What opening found worth saying.
    pub fn notices(&self) -> &[Notice] {
        self.0.notices()
    }
}

impl Inner {
    /// What can be asked before there is a store: nothing is saved, and nothing can be written. Fails where
    /// [`CheckpointStore::open_or_create`] would refuse to make one. Writes nothing.
    pub(crate) fn not_made(checkpoint_dir: &Path, worktree: Worktree, options: StoreOptions) -> Result<Self> {
        worktree.require_dir()?;
        let checkpoint_dir = crate::path::real_path(checkpoint_dir)?;
        check_place(&checkpoint_dir, &worktree, &options)?;
        if let Some(existing) = checkpoint_dir.ancestors().find(|dir| dir.is_dir()) {
            check_network(existing, &options)?;
        }
        match Dir::open(&checkpoint_dir) {
            Ok(root) => check_owner(&root, &checkpoint_dir, 0o002)?,
            Err(err) if err.kind() == std::io::ErrorKind::NotFound => {}
            Err(err) => return Err(err).context("open", &checkpoint_dir),
        }
        let notices = registry::moved_from(&checkpoint_dir, &worktree).map(Notice::MovedFrom).into_iter().collect();
        let layout = Layout::new(&checkpoint_dir, &worktree);
        let path = layout.store_path();
        Ok(Self {
            objects: Objects::none(&path)?,
            dir: Dir::nothing().context("open", &path)?,
            own: Dir::nothing().context("open", &path)?,
            worktree,
            layout,
            path,
            options,
            id: StoreId::from_bytes([0; 16]),
            threads: Mutex::new(()),
            created: false,
            notices,
        })
    }

    /// The tip of the timeline.
    pub(crate) fn tip(&self) -> Result<crate::Operation> {
        let id =
            refs::read(&self.dir, &self.path)?.ok_or_else(|| Error::broken(&self.path, "its timeline is missing"))?;
        crate::Operation::read(&self.objects, crate::OperationId(id))
    }

    /// What opening found worth saying.
    pub(crate) fn notices(&self) -> &[Notice] {
        &self.notices
    }

    pub(crate) fn interrupted(&self) -> Result<()> {
        if self.options.observer.interrupted() { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// Whether a new store may be made for the worktree.
fn check_place(checkpoint_dir: &Path, worktree: &Worktree, options: &StoreOptions) -> Result<()> {
    let fault = |reason| Err(Error::workspace(worktree.path(), reason));
    if worktree.path().starts_with(checkpoint_dir) {
        return fault(WorkspaceFault::Nested(checkpoint_dir.to_owned()));
    }
    if !options.force_worktree {
        // The same directory under another spelling is the same inode.
        let identity = dir_identity(worktree.path());
        let is_refused =
            |refused: &PathBuf| refused == worktree.path() || (identity.is_some() && dir_identity(refused) == identity);
        if worktree.path().parent().is_none() || options.refused_worktrees.iter().any(is_refused) {
            return fault(WorkspaceFault::Refused);
        }
        if checkpoint_dir.starts_with(worktree.path()) {
            return fault(WorkspaceFault::Nested(checkpoint_dir.to_owned()));
        }
    }
    check_network(worktree.path(), options)
}

/// Where the store of `worktree` is; `None` where nothing stands.
fn standing(checkpoint_dir: &Path, worktree: &Worktree) -> Result<Option<Layout>> {
    let layout = Layout::new(checkpoint_dir, worktree);
    match std::fs::symlink_metadata(layout.store_path()) {
        Ok(_) => Ok(Some(layout)),
        Err(err) if matches!(err.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => Ok(None),
        Err(err) => Err(err).context("look at", layout.store_path()),
    }
}

/// A store inside of which the worktree lies is never used, however it came to be.
fn check_place_of_open(checkpoint_dir: &Path, worktree: &Worktree) -> Result<()> {
    if worktree.path().starts_with(checkpoint_dir) {
        return Err(Error::workspace(worktree.path(), WorkspaceFault::Nested(checkpoint_dir.to_owned())));
    }
    Ok(())
}

pub(crate) fn check_network(path: &Path, options: &StoreOptions) -> Result<()> {
    if options.allow_network_fs {
        return Ok(());
    }
    match Dir::open(path).and_then(|dir| ckpt_fs::is_network_fs(&dir)) {
        Ok(true) => Err(Error::workspace(path, WorkspaceFault::NetworkFs)),
        _ => Ok(()),
    }
}

/// Refuses a directory that another user made, or may change by one of the bits in `others`: what stands in it decides
/// what we read.
pub(crate) fn check_owner(dir: &Dir, path: &Path, others: u32) -> Result<()> {
    let stat = dir.stat_self().context("look at", path)?;
    if stat.uid != ckpt_fs::user_id() {
        let text = format!("it belongs to the user {}, not to {}", stat.uid, ckpt_fs::user_id());
        return Err(Error::store(path, StoreFault::Unsafe(text)));
    }
    if stat.mode & others != 0 {
        let text = format!("others may write to it (mode {:03o})", stat.mode & 0o777);
        return Err(Error::store(path, StoreFault::Unsafe(text)));
    }
    Ok(())
}

/// Opens the store at its place and checks that it is ours.
fn open_store(layout: Layout, worktree: Worktree, options: StoreOptions) -> Result<Inner> {
    let path = layout.store_path();
    let dir = Dir::open(&layout.checkpoint_dir)
        .and_then(|dir| dir.open_dir(layout.store_name.as_bytes()))
        .context("open the store", &path)?;
    check_owner(&dir, &path, 0o022)?;
    let record = match WorktreeRecord::read(&dir).context("read", path.join(OWN).join(WORKTREE))? {
        Ok(record) => record,
        Err(RecordFault::Newer(version)) => return Err(Error::store(&path, StoreFault::Newer(version))),
        Err(RecordFault::Missing | RecordFault::Damaged) => rebuild_record(&dir, &path, &worktree)?,
    };
    if record.path != worktree.path() {
        return Err(Error::store(&path, StoreFault::OtherWorktree(record.path)));
    }
    if let Some(version) = config_format(&dir, &path)?
        && version != FORMAT.to_string()
    {
        return Err(Error::store(&path, StoreFault::Newer(version)));
    }
    let objects = Objects::open(&dir, &path)?;
    let own = open_own(&dir, &path, options.durability)?;
    let mut notices = Vec::new();
    if let (Some(known), Some(now)) = (record.inode, dir_identity(worktree.path()))
        && known.1 != now.1
    {
        notices.push(Notice::WorktreeReplaced);
    }
    Ok(Inner {
        worktree,
        layout,
        path,
        options,
        dir,
        own,
        id: record.id,
        objects,
        threads: Mutex::new(()),
        created: false,
        notices,
    })
}

/// The directory of our own files; made again where it was lost.
fn open_own(dir: &Dir, path: &Path, durability: Durability) -> Result<Dir> {
    match dir.open_dir(OWN.as_bytes()) {
        Ok(own) => Ok(own),
        Err(err) if err.kind() == std::io::ErrorKind::NotFound => {
            dir.create_dir(OWN.as_bytes(), 0o700).context("create", path.join(OWN))?;
            dir.sync(durability).context("sync", path)?;
            dir.open_dir(OWN.as_bytes()).context("open", path.join(OWN))
        }
        Err(err) => Err(err).context("open", path.join(OWN)),
    }
}

/// A record that was lost or damaged, from what else says whose store this is: the format marker in its configuration
/// and the store's id in the newest operation. The next save writes it down.
fn rebuild_record(dir: &Dir, path: &Path, worktree: &Worktree) -> Result<WorktreeRecord> {
    if config_format(dir, path)?.is_none() {
        return Err(Error::store(path, StoreFault::NotOurs));
    }
    let objects = Objects::open(dir, path)?;
    let tip = refs::read(dir, path)?.ok_or_else(|| Error::broken(path, "its timeline is missing"))?;
    let tip = crate::Operation::read(&objects, crate::OperationId(tip))?;
    Ok(WorktreeRecord { inode: None, parent: None, ..WorktreeRecord::of(tip.store, worktree, false) })
}
