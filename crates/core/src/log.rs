//! Reading the history: head, checkpoints, lineage, timeline.

use std::collections::HashSet;

use crate::checkpoint::Checkpoint;
use crate::store::Inner;
use crate::{
    CheckpointId, CheckpointInfo, CheckpointKind, CheckpointStore, Error, Omitted, Operation, OperationKind, Result,
    RevisionFault, state,
};

/// One page of a history, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page {
    /// The checkpoints, newest first.
    pub checkpoints: Vec<CheckpointInfo>,
    /// How many older ones the same history has.
    pub more: u64,
    /// How many checkpoints that callers saved are not in this history: on other branches, or newer than head.
    pub elsewhere: u64,
}

impl CheckpointStore {
    /// The checkpoint that the worktree was last saved as or reset to; `None` while nothing is saved.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Object`], [`Error::Io`] when the store cannot be read.
    pub fn head(&self) -> Result<Option<CheckpointId>> {
        Ok(self.0.tip()?.head)
    }

    /// What the checkpoint `id` says about itself. It must belong to this store.
    ///
    /// # Errors
    /// [`RevisionFault::Unknown`] when it does not.
    pub fn checkpoint(&self, id: CheckpointId) -> Result<CheckpointInfo> {
        Ok(self.require_checkpoint(id)?.info)
    }

    /// The paths that the checkpoint `id` was made without, sorted. Those that kept changing while they were read are not
    /// written down, so that [`CheckpointInfo::omitted`] may count more. A checkpoint that looked at some paths only has
    /// the others from the one before it.
    ///
    /// # Errors
    /// [`RevisionFault::Unknown`] when it is not of this store; [`Error::Object`] when it is damaged.
    pub fn omitted(&self, id: CheckpointId) -> Result<Vec<Omitted>> {
        let checkpoint = self.require_checkpoint(id)?;
        let (facts, _) = state::read_facts_commit(&self.0.objects, checkpoint.facts_commit)?;
        let mut omitted = facts.map(|id| state::omitted(&self.0.objects, id)).transpose()?.unwrap_or_default();
        omitted.sort();
        Ok(omitted)
    }

    /// All checkpoints, safety checkpoints included, oldest first, each once, with
    /// [`in_lineage`](CheckpointInfo::in_lineage) set.
    ///
    /// # Errors
    /// As for [`CheckpointStore::head`].
    pub fn checkpoints(&self) -> Result<Vec<CheckpointInfo>> {
        // A checkpoint that was lost hides none of the others.
        let (lineage, _) = self.lineage_as_far_as_it_goes()?;
        let lineage: HashSet<CheckpointId> = lineage.into_iter().map(|info| info.id).collect();
        let mut infos = Vec::new();
        for operation in self.timeline()? {
            let operation = operation?;
            if let (OperationKind::Save, Some(id)) = (operation.kind, operation.checkpoint) {
                let mut info = Checkpoint::require(&self.0.objects, id, self.0.id)?.info;
                info.in_lineage = Some(lineage.contains(&id));
                infos.push(info);
            }
        }
        infos.reverse();
        Ok(infos)
    }

    /// Head, the checkpoint it was made from, and so on back: newest first, with
    /// [`in_lineage`](CheckpointInfo::in_lineage) set.
    ///
    /// # Errors
    /// As for [`CheckpointStore::head`].
    pub fn lineage(&self) -> Result<Vec<CheckpointInfo>> {
        match self.lineage_as_far_as_it_goes()? {
            (_, Some(lost)) => Err(lost),
            (infos, None) => Ok(infos),
        }
    }

    /// The lineage up to the first checkpoint that cannot be read, and why that one cannot.
    fn lineage_as_far_as_it_goes(&self) -> Result<(Vec<CheckpointInfo>, Option<Error>)> {
        let mut next = self.head()?;
        let mut infos = Vec::new();
        while let Some(id) = next {
            let mut info = match Checkpoint::require(&self.0.objects, id, self.0.id) {
                Ok(checkpoint) => checkpoint.info,
                Err(lost @ Error::Object { .. }) => return Ok((infos, Some(lost))),
                Err(err) => return Err(err),
            };
            info.in_lineage = Some(true);
            next = self.0.before(&info)?;
            infos.push(info);
        }
        Ok((infos, None))
    }

    /// The newest `limit` checkpoints of the lineage (`None`: all), and how many there are besides. Reads no more than
    /// these.
    ///
    /// # Errors
    /// As for [`CheckpointStore::head`].
    pub fn recent(&self, limit: Option<usize>) -> Result<Page> {
        let tip = self.0.tip()?;
        let mut checkpoints = Vec::new();
        let mut next = tip.head;
        let mut depth = 0;
        while let Some(id) = next {
            if limit.is_some_and(|limit| checkpoints.len() >= limit) {
                break;
            }
            let mut info = Checkpoint::require(&self.0.objects, id, self.0.id)?.info;
            info.in_lineage = Some(true);
            next = self.0.before(&info)?;
            depth = depth.max(info.depth);
            checkpoints.push(info);
        }
        if checkpoints.is_empty()
            && let Some(id) = next
        {
            depth = Checkpoint::require(&self.0.objects, id, self.0.id)?.info.depth;
        }
        // Of what a repair goes on without there is nothing to list.
        let more = if next.is_none() { 0 } else { depth.saturating_sub(checkpoints.len() as u64) };
        Ok(Page { checkpoints, more, elsewhere: tip.saved.saturating_sub(depth) })
    }

    /// The newest `limit` checkpoints of the whole timeline (`None`: all), safety checkpoints included, newest first,
    /// with [`in_lineage`](CheckpointInfo::in_lineage) set.
    ///
    /// # Errors
    /// As for [`CheckpointStore::head`].
    pub fn recent_all(&self, limit: Option<usize>) -> Result<Page> {
        let mut checkpoints = self.checkpoints()?;
        checkpoints.reverse();
        let keep = limit.unwrap_or(checkpoints.len()).min(checkpoints.len());
        let more = (checkpoints.len() - keep) as u64;
        checkpoints.truncate(keep);
        Ok(Page { checkpoints, more, elsewhere: 0 })
    }

    /// The operations, newest first, read one by one. Ends after the first error.
    ///
    /// # Errors
    /// As for [`CheckpointStore::head`].
    pub fn timeline(&self) -> Result<impl Iterator<Item = Result<Operation>> + '_> {
        Ok(self.0.tip()?.back(&self.0.objects))
    }

    /// The checkpoint `id`, if the timeline reaches it.
    pub(crate) fn require_checkpoint(&self, id: CheckpointId) -> Result<Checkpoint> {
        match self.find_checkpoint(id)? {
            Some(checkpoint) => Ok(checkpoint),
            None => Err(Error::revision(&id.to_string(), RevisionFault::Unknown)),
        }
    }

    /// The checkpoint `id`; `None` when the store holds no such commit, or the timeline does not reach it.
    pub(crate) fn find_checkpoint(&self, id: CheckpointId) -> Result<Option<Checkpoint>> {
        let checkpoint = match Checkpoint::read(&self.0.objects, id.0, self.0.id) {
            Ok(Some(checkpoint)) => checkpoint,
            Ok(None) | Err(Error::Object { reason: crate::ObjectFault::Missing, .. }) => return Ok(None),
            Err(err) => return Err(err),
        };
        // A crash may leave a checkpoint that no operation names: existence is not membership.
        let operation = self.0.tip()?.at_seq(&self.0.objects, checkpoint.info.seq)?;
        let is_member = operation
            .is_some_and(|operation| operation.kind == OperationKind::Save && operation.checkpoint == Some(id));
        Ok(is_member.then_some(checkpoint))
    }

    /// Number of checkpoints that callers saved.
    ///
    /// # Errors
    /// As for [`CheckpointStore::head`].
    pub fn saved_count(&self) -> Result<u64> {
        Ok(self.0.tip()?.saved)
    }
}

impl Inner {
    /// The checkpoint before this one in its lineage. Where that is lost, and a repair says so in its place, it is the one that
    /// was head before the other was made.
    pub(crate) fn before(&self, info: &CheckpointInfo) -> Result<Option<CheckpointId>> {
        let Some(previous) = info.previous else { return Ok(None) };
        match Checkpoint::require(&self.objects, previous, self.id) {
            Err(Error::Object { .. }) => {}
            Ok(_) => return Ok(Some(previous)),
            Err(err) => return Err(err),
        }
        let Some(below) = info.seq.checked_sub(1) else { return Ok(Some(previous)) };
        let operation = self.tip()?.at_seq(&self.objects, below)?;
        Ok(operation.map_or(Some(previous), |operation| operation.head))
    }
}

impl CheckpointInfo {
    /// Whether a caller asked for it.
    pub fn is_manual(&self) -> bool {
        self.kind == CheckpointKind::Manual
    }
}
