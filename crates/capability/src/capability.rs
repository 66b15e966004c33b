//! The trait itself: one required method, the rest by default over the store of that directory.

use std::path::Path;

use ckpt_service::{CheckpointId, CheckpointService, CheckpointStore, Patch, Receipt, Result, Saved, Status};

use crate::mount_point::require_store_of;
use crate::{CheckpointGuard, Mounted};

/// An agent whose directory can be saved and brought back. Object safe.
///
/// Every method but [`worktree_dir`](Self::worktree_dir) has a default over
/// [`checkpoint_store`](Self::checkpoint_store), so that overriding this one method changes where all of them work. A
/// type that *wraps* an agent must forward `checkpoint_store`: with `worktree_dir` alone it loses the store that is
/// mounted in what it wraps. References, `Box`, `Rc` and `Arc` forward every method.
///
/// An agent whose own methods save, with a store that can be mounted at run time:
///
/// ```
/// use std::path::{Path, PathBuf};
///
/// use ckpt_capability::{
///     Checkpoint, CheckpointId, CheckpointService, CheckpointStore, Config, MountPoint, Result,
/// };
///
/// struct Editor {
///     dir: PathBuf,
///     mount: MountPoint,
/// }
///
/// impl Checkpoint for Editor {
///     fn worktree_dir(&self) -> &Path {
///         &self.dir
///     }
///
///     fn checkpoint_store(&self) -> Result<CheckpointStore> {
///         self.mount.store_or_global(&self.dir)
///     }
/// }
///
/// impl Editor {
///     fn overwrite(&self, file: &str, text: &str) -> std::result::Result<CheckpointId, Box<dyn std::error::Error>> {
///         let before = self.save_checkpoint("before overwriting")?.id;
///         std::fs::write(self.dir.join(file), text)?;
///         Ok(before)
///     }
/// }
///
/// fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
/// #   let temp = tempfile::tempdir()?;
/// #   let (dir, checkpoints) = (temp.path().join("project"), temp.path().join("checkpoints"));
/// #   std::fs::create_dir(&dir)?;
///     std::fs::write(dir.join("notes.txt"), "old")?;
///     let service = CheckpointService::new(Config::new(checkpoints));
///     let editor = Editor { dir: dir.clone(), mount: MountPoint::new() };
///     editor.mount.mount(service.store(&dir)?);
///
///     let before = editor.overwrite("notes.txt", "new")?;
///     assert_eq!(editor.checkpoint_status()?.changes.len(), 1);
///     let patch = editor.file_diff(before, "notes.txt".as_ref())?;
///     assert!(patch.to_string().contains("-old\n"));
///
///     editor.reset_to_checkpoint(before)?;
///     assert_eq!(std::fs::read_to_string(dir.join("notes.txt"))?, "old");
///     editor.undo_restore()?;
///     assert_eq!(std::fs::read_to_string(dir.join("notes.txt"))?, "new");
///     Ok(())
/// }
/// ```
pub trait Checkpoint {
    /// Directory that is protected; the same for the life of the value. The only required method.
    fn worktree_dir(&self) -> &Path;

    /// Store that every other method uses. Default: the store of [`worktree_dir`](Self::worktree_dir) in
    /// [`CheckpointService::global`], made on first access. Wrappers must forward it.
    ///
    /// # Errors
    /// What [`CheckpointService::global`] and [`CheckpointService::store`] answer.
    fn checkpoint_store(&self) -> Result<CheckpointStore> {
        CheckpointService::global()?.store(self.worktree_dir())
    }

    /// Saves the directory. Where nothing changed since head, head's id comes back with `created: false`. Default:
    /// [`CheckpointStore::save`].
    ///
    /// # Errors
    /// As for [`CheckpointStore::save`] and [`checkpoint_store`](Self::checkpoint_store).
    fn save_checkpoint(&self, message: &str) -> Result<Saved> {
        Ok(self.checkpoint_store()?.save(message)?)
    }

    /// Brings one path, and what is below it, to the checkpoint `to`; head stays. `path` is relative to the worktree, or
    /// absolute inside it; one that did not exist then goes. Default: [`CheckpointStore::rollback`].
    ///
    /// # Errors
    /// As for [`CheckpointStore::rollback`] and [`checkpoint_store`](Self::checkpoint_store).
    fn rollback(&self, to: CheckpointId, path: &Path) -> Result<Receipt> {
        Ok(self.checkpoint_store()?.rollback(to, &[path])?)
    }

    /// Brings the whole directory to the checkpoint `to`, and head with it. What stands there now is saved first.
    /// Default: [`CheckpointStore::reset`].
    ///
    /// # Errors
    /// As for [`CheckpointStore::reset`] and [`checkpoint_store`](Self::checkpoint_store).
    fn reset_to_checkpoint(&self, to: CheckpointId) -> Result<Receipt> {
        Ok(self.checkpoint_store()?.reset(to)?)
    }

    /// Compares one file in the checkpoint `from` with the worktree as it is now. `path` as in
    /// [`rollback`](Self::rollback). Default: [`CheckpointStore::file_diff`].
    ///
    /// # Errors
    /// As for [`CheckpointStore::file_diff`] and [`checkpoint_store`](Self::checkpoint_store).
    fn file_diff(&self, from: CheckpointId, path: &Path) -> Result<Patch> {
        Ok(self.checkpoint_store()?.file_diff(from, path)?)
    }

    /// Tells how the directory differs from head. Default: [`CheckpointStore::status`].
    ///
    /// # Errors
    /// As for [`CheckpointStore::status`] and [`checkpoint_store`](Self::checkpoint_store).
    fn checkpoint_status(&self) -> Result<Status> {
        Ok(self.checkpoint_store()?.status()?)
    }

    /// Takes back the newest rollback or reset that is not taken back yet; `None` when there is none. Default:
    /// [`CheckpointStore::undo`].
    ///
    /// # Errors
    /// As for [`CheckpointStore::undo`] and [`checkpoint_store`](Self::checkpoint_store).
    fn undo_restore(&self) -> Result<Option<Receipt>> {
        Ok(self.checkpoint_store()?.undo()?)
    }

    /// Saves; brings the files back when the guard is dropped without [`keep`](CheckpointGuard::keep). Default: a
    /// [`save_checkpoint`](Self::save_checkpoint), and a guard over [`checkpoint_store`](Self::checkpoint_store).
    ///
    /// # Errors
    /// As for these two; there is no guard then, and nothing was changed.
    fn checkpoint_guard(&self, message: &str) -> Result<CheckpointGuard> {
        let store = self.checkpoint_store()?;
        let id = self.save_checkpoint(message)?.id;
        Ok(CheckpointGuard::new(store, id))
    }

    /// Wraps the agent together with the store that it has now.
    ///
    /// # Errors
    /// As for [`checkpoint_store`](Self::checkpoint_store) and [`mount_store`](Self::mount_store). The agent is dropped
    /// then; mount on `&mut agent` to keep it.
    fn mount_checkpoint_store(self) -> Result<Mounted<Self>>
    where
        Self: Sized,
    {
        let store = self.checkpoint_store()?;
        self.mount_store(store)
    }

    /// Wraps the agent together with `store`. Refuses a store of another worktree, which would restore one directory
    /// while the agent edits another.
    ///
    /// # Errors
    /// [`StoreFault::OtherWorktree`](crate::StoreFault::OtherWorktree). The agent is dropped then; mount on `&mut agent`
    /// to keep it.
    fn mount_store(self, store: CheckpointStore) -> Result<Mounted<Self>>
    where
        Self: Sized,
    {
        require_store_of(&store, self.worktree_dir())?;
        Ok(Mounted::new(self, store))
    }
}
