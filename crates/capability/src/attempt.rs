//! An attempt: work that is kept if it succeeds, and taken back if it fails.

use std::error::Error as StdError;
use std::fmt;

use ckpt_service::{CheckpointId, Error, Receipt};

use crate::Checkpoint;

/// What needs generics; for every [`Checkpoint`], trait objects included.
pub trait CheckpointExt: Checkpoint {
    /// Saves, then does `work`. Its success is kept; on an error or a panic the directory is brought back.
    ///
    /// **Every** change in the directory since is taken back, the user's and other programs' included: the whole
    /// directory becomes what it was. Nothing of it is lost: it is in the safety checkpoint that the receipt names, and
    /// [`undo_restore`](Checkpoint::undo_restore) brings it again. A panic goes on unchanged after the restore; under
    /// `panic = "abort"` nothing is restored. Attempts may be nested: each goes back to its own beginning.
    ///
    /// # Errors
    /// [`AttemptError`] tells which of the two failed: the work, or saving and restoring.
    fn checkpointed<R, E>(
        &mut self,
        message: &str,
        work: impl FnOnce(&mut Self) -> Result<R, E>,
    ) -> Result<R, AttemptError<E>> {
        let guard = self.checkpoint_guard(message).map_err(AttemptError::NotStarted)?;
        let checkpoint = guard.id();
        match work(self) {
            Ok(value) => {
                guard.keep();
                Ok(value)
            }
            Err(cause) => Err(match guard.restore() {
                Ok(receipt) => AttemptError::Restored { cause, receipt: Box::new(receipt) },
                Err(restore) => AttemptError::NotRestored { cause, restore, checkpoint },
            }),
        }
    }
}

impl<T: Checkpoint + ?Sized> CheckpointExt for T {}

/// How an attempt failed.
///
/// It is an error for every `E` that can be printed, whether that is an error itself or a `String` or a
/// `Box<dyn Error>`; therefore it prints the cause, and its source is what went wrong with the checkpoint.
#[derive(Debug)]
#[non_exhaustive]
pub enum AttemptError<E> {
    /// The directory could not be saved, and the work was not begun.
    NotStarted(Error),
    /// The work failed, and the directory was brought back.
    Restored {
        /// Why the work failed.
        cause: E,
        /// What the restore did. Paths that it had to leave as they are are its conflicts.
        receipt: Box<Receipt>,
    },
    /// The work failed, and the directory could not be brought back.
    NotRestored {
        /// Why the work failed.
        cause: E,
        /// Why the restore failed.
        restore: Error,
        /// The checkpoint from before the work; it is whole, and can be reset to later.
        checkpoint: CheckpointId,
    },
}

impl<E> AttemptError<E> {
    /// Why the work failed; `None` if it was not begun.
    pub fn cause(&self) -> Option<&E> {
        match self {
            Self::NotStarted(_) => None,
            Self::Restored { cause, .. } | Self::NotRestored { cause, .. } => Some(cause),
        }
    }

    /// Why the work failed, as a value; `None` if it was not begun.
    pub fn into_cause(self) -> Option<E> {
        match self {
            Self::NotStarted(_) => None,
            Self::Restored { cause, .. } | Self::NotRestored { cause, .. } => Some(cause),
        }
    }
}

impl<E: fmt::Display> fmt::Display for AttemptError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted(_) => f.write_str("cannot save before the attempt"),
            Self::Restored { cause, receipt } if receipt.is_complete() => {
                write!(f, "the attempt failed and was taken back: {cause}")
            }
            Self::Restored { cause, receipt } => {
                let paths = receipt.conflicts.len();
                write!(f, "the attempt failed and was taken back, but for {paths} paths: {cause}")
            }
            Self::NotRestored { cause, checkpoint, .. } => {
                let id = checkpoint.short();
                write!(f, "the attempt failed and could not be taken back to {id}: {cause}")
            }
        }
    }
}

impl<E: fmt::Debug + fmt::Display> StdError for AttemptError<E> {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::NotStarted(err) | Self::NotRestored { restore: err, .. } => Some(err),
            Self::Restored { .. } => None,
        }
    }
}
