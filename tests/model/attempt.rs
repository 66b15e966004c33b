//! Having a restore done, by the library or by the real binary, and the accidents on its way.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;

use ckpt_core::{CheckpointId, CheckpointStore, Notice, OperationId, OperationKind, Plan, Receipt};

use super::case::{Accident, Hand, Kill};
use super::deed::Look;
use super::disk::{Disk, difference, scan};
use super::fate::Death;
use super::outcome::Ended;
use super::world::{World, ensure, text};

/// A restore, as it is asked for.
pub(crate) enum Order {
    Reset(CheckpointId),
    Rollback(CheckpointId, Vec<PathBuf>),
    Undo,
    Redo,
}

impl Order {
    fn carry_out(&self, store: &CheckpointStore) -> ckpt_core::Result<Receipt> {
        let planned = "the plan was not empty";
        match self {
            Self::Reset(id) => store.reset(*id),
            Self::Rollback(id, paths) => store.rollback(*id, paths),
            Self::Undo => store.undo().map(|receipt| receipt.expect(planned)),
            Self::Redo => store.redo().map(|receipt| receipt.expect(planned)),
        }
    }

    fn words(&self) -> Vec<OsString> {
        match self {
            Self::Reset(id) => vec!["reset".into(), id.to_string().into()],
            Self::Rollback(id, paths) => {
                let words = ["rollback".into(), id.to_string().into(), "--".into()];
                words.into_iter().chain(paths.iter().map(Into::into)).collect()
            }
            Self::Undo => vec!["undo".into()],
            Self::Redo => vec!["redo".into()],
        }
    }
}

impl World<'_> {
    /// Restores, with an accident perhaps. `None`: it was stopped, and the worktree is as before.
    pub(crate) fn attempt(
        &mut self,
        accident: Accident,
        disk: &Disk,
        plan: Option<&Plan>,
        order: &Order,
    ) -> Result<Option<Ended>, String> {
        self.tell(&accident);
        if let Accident::Binary(kill) = accident {
            return self.attempt_by_binary(kill, disk, order);
        }
        self.fate.arm(accident);
        let done = catch_unwind(AssertUnwindSafe(|| order.carry_out(&self.store)));
        self.fate.arm(Accident::Nothing);
        match done {
            Ok(Ok(receipt)) => Ended::by_itself(plan, &receipt).map(Some),
            Ok(Err(err)) if err.is_interrupted() && matches!(accident, Accident::Stop(_)) => {
                let now = scan(&self.root);
                match difference(&disk.files, &now.files) {
                    Some(difference) => Err(format!("not as before it was stopped: {difference}\n{plan:?}")),
                    None => Ok(None),
                }
            }
            Ok(Err(err)) => Err(text(err)),
            Err(panic) if panic.is::<Death>() => {
                self.reopen();
                let ended = self.finished_by_library()?;
                ended.ok_or("the restore that died was not finished".to_owned()).map(Some)
            }
            Err(panic) => resume_unwind(panic),
        }
    }

    fn attempt_by_binary(&mut self, kill: Kill, disk: &Disk, order: &Order) -> Result<Option<Ended>, String> {
        let before = self.newest_operation()?;
        if let Some(answer) = self.ckpt(&order.words(), kill)? {
            return Ended::by_binary(&answer).map(Some);
        }
        if !self.root.exists() {
            // It was to be made again, and nothing else had happened yet.
            return Ok(None);
        }
        self.verify(Look::Quick, Hand::Library)?;
        let is_ours = kill.is_some_and(|step| step.is_multiple_of(2));
        let finished = if is_ours { self.finished_by_library()? } else { self.finished_by_binary(kill)? };
        if finished.is_some() {
            self.counts.note("restore finished");
            return Ok(finished);
        }
        for operation in self.store.timeline().map_err(text)? {
            let operation = operation.map_err(text)?;
            if operation.id == before {
                break;
            }
            if operation.kind != OperationKind::Save {
                self.counts.note("restore killed after its end");
                return Ok(Some(Ended::by_record(&operation)));
            }
        }
        self.counts.note("restore killed before it began");
        self.check(&disk.files, disk).map_err(|err| format!("killed, and not as before: {err}"))?;
        Ok(None)
    }

    /// What the next command of the library finishes.
    fn finished_by_library(&self) -> Result<Option<Ended>, String> {
        let mut status = self.store.status().map_err(text)?;
        // A child that another test forks just now holds our lock until it executes.
        while status.notices.contains(&Notice::InterruptedRestore) {
            status = self.store.status().map_err(text)?;
        }
        status.recovered.as_ref().map(Ended::by_recovery).transpose()
    }

    /// What the next run of the binary finishes, or the one after it, where that one is killed too.
    fn finished_by_binary(&mut self, kill: Kill) -> Result<Option<Ended>, String> {
        let answer = match self.ckpt(&["status".into()], kill)? {
            Some(answer) => answer,
            None => self.ckpt(&["status".into()], None)?.ok_or("nobody killed it")?,
        };
        let recovered = &answer.json["recovered"];
        if recovered.is_null() {
            return Ok(None);
        }
        ensure(recovered["kept"].as_array().is_some_and(Vec::is_empty), || format!("nobody was there: {answer:?}"))?;
        Ended::by_json(recovered).map(Some)
    }

    fn newest_operation(&self) -> Result<OperationId, String> {
        let newest = self.store.timeline().map_err(text)?.next().ok_or("an empty timeline")?;
        Ok(newest.map_err(text)?.id)
    }
}
