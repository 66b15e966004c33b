//! Whether the stat cache tells the truth: the worktree is looked at with it and without it.

use std::os::unix::ffi::OsStrExt;

use super::{Fault, FaultKind, found};
use crate::error::Context;
use crate::layout::OWN;
use crate::session::Session;
use crate::snapshot::{self, Against, HashUntilStopped, STAT_CACHE, STAT_CACHE_CHANGES};
use crate::state::{self, Node};
use crate::store::Inner;
use crate::{Operation, Result};

/// Files of which the cache says what they are not. With `repair` it is removed then: the next save hashes every file.
pub(super) fn find(store: &Inner, repair: bool) -> Result<Vec<Fault>> {
    let Some(tip) = found(store.tip())? else { return Ok(Vec::new()) };
    let mut stale = differences(store, &tip)?;
    if !stale.is_empty() {
        // What was edited between the two looks is no fault of the cache.
        let again = differences(store, &tip)?;
        stale.retain(|path| again.contains(path));
    }
    let mut mended = None;
    if repair && !stale.is_empty() {
        let session = Session::begin(store)?;
        for file in [STAT_CACHE, STAT_CACHE_CHANGES] {
            match session.store.own.remove_file(file.as_bytes()) {
                Err(err) if ckpt_fs::is_absence(&err) => {}
                removed => removed.context("remove", store.path.join(OWN).join(file))?,
            }
        }
        mended = Some("the stat cache was removed; the next save reads every file".to_owned());
    }
    Ok(stale
        .into_iter()
        .map(|path| Fault {
            kind: FaultKind::StaleCache,
            file: Some(store.worktree.path().join(std::ffi::OsStr::from_bytes(&path))),
            object: None,
            reason: "it has other content than the stat cache says, at the same size and times".to_owned(),
            mended: mended.clone(),
        })
        .collect())
}

/// Paths that differ between a look with the cache and one without.
fn differences(store: &Inner, tip: &Operation) -> Result<Vec<Vec<u8>>> {
    let look = |tip| -> Result<Node> {
        let against = Against { tip, head: None, clock: None };
        Ok(snapshot::take(store, &against, &HashUntilStopped(&*store.options.observer))?.root)
    };
    let (with, without) = (look(Some(tip))?, look(None)?);
    let changes = state::changes(&store.objects, Some(&with), Some(&without))?;
    Ok(changes.into_iter().map(|change| change.path).collect())
}
