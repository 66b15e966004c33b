//! From what a person types to a checkpoint.

use crate::checkpoint::Checkpoint;
use crate::commit::Commit;
use crate::{
    CheckpointId, CheckpointStore, Error, ObjectFault, ObjectId, Operation, OperationId, OperationKind, Result,
    RevisionFault, StoreState, registry,
};

/// A revision that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resolved {
    /// The checkpoint.
    pub id: CheckpointId,
    /// The operation that was named in place of the checkpoint that it made or moved to.
    pub operation: Option<OperationId>,
}

impl CheckpointStore {
    /// Finds the checkpoint that `spec` names: a full id; the beginning of one, at least 4 hex digits, unique among this
    /// store's checkpoints and, should none match, among its operations; `HEAD`; or `HEAD~n`, n steps back along the
    /// lineage. The id of an operation means the checkpoint that it made or moved to.
    ///
    /// # Errors
    /// [`Error::Revision`] with the reason; nothing else than the store is looked at, except that an unknown full id is
    /// looked for in the other stores of the checkpoint directory, to name the workspace it belongs to.
    pub fn resolve(&self, spec: &str) -> Result<Resolved> {
        let fault = |reason| Error::revision(spec, reason);
        if let Some(rest) = spec.strip_prefix("HEAD") {
            return self.resolve_head(spec, rest);
        }
        if spec.is_empty() || spec.len() > 40 || !spec.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(fault(RevisionFault::Malformed));
        }
        if spec.len() < 4 {
            return Err(fault(RevisionFault::TooShort));
        }
        let prefix = spec.to_ascii_lowercase();
        if let Ok(id) = prefix.parse::<ObjectId>() {
            return self.resolve_full(spec, id);
        }
        self.resolve_prefix(spec, &prefix)
    }

    fn resolve_head(&self, spec: &str, rest: &str) -> Result<Resolved> {
        let steps = match rest {
            "" => 0,
            "~" => 1,
            _ => {
                let digits = rest.strip_prefix('~').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
                let digits = digits.ok_or_else(|| Error::revision(spec, RevisionFault::Malformed))?;
                // More than can be counted is beyond every lineage.
                digits.parse::<usize>().unwrap_or(usize::MAX)
            }
        };
        let mut next = self.head()?;
        for walked in 0..=steps {
            let Some(id) = next else {
                return Err(Error::revision(spec, RevisionFault::BeyondLineage(walked)));
            };
            if walked == steps {
                return Ok(Resolved { id, operation: None });
            }
            next = self.0.before(&Checkpoint::require(&self.0.objects, id, self.0.id)?.info)?;
        }
        Err(Error::revision(spec, RevisionFault::Unknown))
    }

    fn resolve_full(&self, spec: &str, id: ObjectId) -> Result<Resolved> {
        if self.find_checkpoint(CheckpointId(id))?.is_some() {
            return Ok(Resolved { id: CheckpointId(id), operation: None });
        }
        if let Some(operation) = self.find_operation(id)?
            && let Some(checkpoint) = operation.checkpoint
        {
            return Ok(Resolved { id: checkpoint, operation: Some(operation.id) });
        }
        // The timeline may name what the store lost: that is no unknown id.
        let mut readable = self.timeline()?.map_while(Result::ok);
        if readable.any(|operation| operation.checkpoint == Some(CheckpointId(id))) {
            return Err(Error::object(id, ObjectFault::Missing));
        }
        let elsewhere = self.workspace_of(id);
        Err(Error::revision(spec, elsewhere.map_or(RevisionFault::Unknown, RevisionFault::OtherWorkspace)))
    }

    fn resolve_prefix(&self, spec: &str, prefix: &str) -> Result<Resolved> {
        let mut checkpoints: Vec<(u64, CheckpointId)> = Vec::new();
        let mut operations: Vec<Operation> = Vec::new();
        for id in self.0.objects.with_prefix(prefix)? {
            if let Some(checkpoint) = self.find_checkpoint(CheckpointId(id))? {
                checkpoints.push((checkpoint.info.seq, CheckpointId(id)));
            } else if let Some(operation) = self.find_operation(id)? {
                operations.push(operation);
            }
        }
        checkpoints.sort_unstable();
        if checkpoints.is_empty() {
            operations.retain(|operation| operation.checkpoint.is_some());
            if let [operation] = operations.as_slice()
                && let Some(id) = operation.checkpoint
            {
                return Ok(Resolved { id, operation: Some(operation.id) });
            }
            checkpoints.extend(operations.iter().filter_map(|operation| Some((operation.seq, operation.checkpoint?))));
            checkpoints.sort_unstable();
        }
        match checkpoints.as_slice() {
            [] => Err(Error::revision(spec, RevisionFault::Unknown)),
            [(_, id)] => Ok(Resolved { id: *id, operation: None }),
            many => {
                let ids = many.iter().map(|(_, id)| *id).collect();
                Err(Error::revision(spec, RevisionFault::Ambiguous(ids)))
            }
        }
    }

    /// The operation `id`, if it is on the timeline.
    fn find_operation(&self, id: ObjectId) -> Result<Option<Operation>> {
        let Ok((ckpt_pack::Kind::Commit, bytes)) = self.0.objects.read(id) else { return Ok(None) };
        let Some(found) = Commit::decode(&bytes).and_then(|commit| Operation::from_commit(id, &commit)) else {
            return Ok(None);
        };
        let on_timeline = self.0.tip()?.at_seq(&self.0.objects, found.seq)?;
        Ok(on_timeline.filter(|operation| operation.id == found.id && operation.kind != OperationKind::Create))
    }

    /// The worktree of the other store under the same checkpoint directory that holds the checkpoint `id`.
    fn workspace_of(&self, id: ObjectId) -> Option<std::path::PathBuf> {
        for entry in registry::stores(&self.0.layout.checkpoint_dir).ok()? {
            let (StoreState::Valid { worktree }
            | StoreState::Gone { worktree }
            | StoreState::Moved { worktree, .. }
            | StoreState::Unmounted { worktree }
            | StoreState::Obstructed { worktree }) = entry.state
            else {
                continue;
            };
            if entry.path == self.0.path {
                continue;
            }
            let found = ckpt_fs::Dir::open(&entry.path)
                .ok()
                .and_then(|dir| crate::objects::Objects::open(&dir, &entry.path).ok())
                .is_some_and(|objects| objects.contains(&id).unwrap_or(false));
            if found {
                return Some(worktree);
            }
        }
        None
    }
}
