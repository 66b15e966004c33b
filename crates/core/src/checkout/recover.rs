//! Interrupted restores.

use crate::session::Session;
use crate::store::Inner;
use crate::{Notice, Recovery, Result};

/// Whether a journal is waiting.
pub(crate) fn is_pending(store: &Inner) -> Result<bool> {
    let _ = store;
    Ok(false)
}

/// Finishes an interrupted restore.
pub(crate) fn finish(session: &Session<'_>) -> Result<Option<Recovery>> {
    let _ = session;
    Ok(None)
}

/// Finishes an interrupted restore before the worktree is read.
pub(crate) fn finish_first(store: &Inner) -> Result<(Option<Recovery>, Option<Notice>)> {
    let _ = store;
    Ok((None, None))
}
