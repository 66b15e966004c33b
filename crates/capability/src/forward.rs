//! References and smart pointers to an agent are that agent: every method goes to it, so that neither a mounted store
//! nor an override is lost on the way. A method that is missing here would silently get its default.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use ckpt_service::{CheckpointId, CheckpointStore, Patch, Receipt, Result, Saved, Status};

use crate::{Checkpoint, CheckpointGuard};

macro_rules! forward {
    ($($pointer:ty),+) => {$(
        impl<T: Checkpoint + ?Sized> Checkpoint for $pointer {
            fn worktree_dir(&self) -> &Path {
                (**self).worktree_dir()
            }

            fn checkpoint_store(&self) -> Result<CheckpointStore> {
                (**self).checkpoint_store()
            }

            fn save_checkpoint(&self, message: &str) -> Result<Saved> {
                (**self).save_checkpoint(message)
            }

            fn rollback(&self, to: CheckpointId, path: &Path) -> Result<Receipt> {
                (**self).rollback(to, path)
            }

            fn reset_to_checkpoint(&self, to: CheckpointId) -> Result<Receipt> {
                (**self).reset_to_checkpoint(to)
            }

            fn file_diff(&self, from: CheckpointId, path: &Path) -> Result<Patch> {
                (**self).file_diff(from, path)
            }

            fn checkpoint_status(&self) -> Result<Status> {
                (**self).checkpoint_status()
            }

            fn undo_restore(&self) -> Result<Option<Receipt>> {
                (**self).undo_restore()
            }

            fn checkpoint_guard(&self, message: &str) -> Result<CheckpointGuard> {
                (**self).checkpoint_guard(message)
            }
        }
    )+};
}

forward!(&T, &mut T, Box<T>, Rc<T>, Arc<T>);
