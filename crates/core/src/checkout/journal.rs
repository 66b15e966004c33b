//! The journal of a restore: written before the first change of the worktree, removed after the last. The form is in
//! `docs/formats.md`.
//!
//! It names the operation that the restore will be recorded as. That operation and the state it stands for are in the
//! store already, so that the steps follow from the two states and need not be listed.

use std::fmt::Write as _;

use crate::commit::{percent_decode, percent_encode};
use crate::error::Context;
use crate::layout::OWN;
use crate::session::Session;
use crate::store::Inner;
use crate::{CheckpointId, ObjectId, OperationId, Result};

/// Name of the journal in `ckpt/`.
pub(crate) const JOURNAL: &str = "journal";

/// A restore that was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Journal {
    /// Tip of the timeline when it began.
    pub(crate) tip: OperationId,
    /// The operation that records it when it is done.
    pub(crate) operation: OperationId,
    /// The checkpoint that holds what stood in the worktree.
    pub(crate) safety: CheckpointId,
    /// Goes into the names of the temporaries in the worktree.
    pub(crate) token: String,
    /// Boot of the machine; empty where it is not known.
    pub(crate) boot: String,
    /// Paths above those of the restore at which something was mounted.
    pub(crate) mounts: Vec<Vec<u8>>,
}

impl Journal {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut text = String::from("ckpt-journal 1\n");
        let _ = writeln!(text, "tip {}\noperation {}\nsafety {}", self.tip, self.operation, self.safety);
        let _ = writeln!(text, "token {}\nboot {}", self.token, self.boot);
        for path in &self.mounts {
            let _ = writeln!(text, "mount {}", String::from_utf8_lossy(&percent_encode(path)));
        }
        text += "end\n";
        text.into_bytes()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        // Not `lines`, which takes a carriage return for a part of the line end.
        let mut lines = std::str::from_utf8(bytes).ok()?.split_terminator('\n');
        let mut value = |name: &str| -> Option<String> {
            let (found, value) = lines.next()?.split_once(' ')?;
            (found == name).then(|| value.to_owned())
        };
        if value("ckpt-journal")? != "1" {
            return None;
        }
        let mut id = |name: &str| value(name)?.parse::<ObjectId>().ok();
        let (tip, operation, safety) =
            (OperationId(id("tip")?), OperationId(id("operation")?), CheckpointId(id("safety")?));
        let (token, boot) = (value("token")?, value("boot")?);
        let is_token = token.len() == 16 && token.bytes().all(|byte| byte.is_ascii_hexdigit());
        let mut mounts = Vec::new();
        loop {
            match lines.next()? {
                "end" => break,
                line => mounts.push(percent_decode(line.strip_prefix("mount ")?.as_bytes())?),
            }
        }
        is_token.then_some(Self { tip, operation, safety, token, boot, mounts })
    }

    /// Whether the restore began in another boot of the machine, or it cannot be said.
    pub(crate) fn is_of_another_boot(&self) -> bool {
        self.boot.is_empty() || ckpt_fs::boot_id().as_deref() != Some(self.boot.as_str())
    }

    /// Makes it durable.
    pub(crate) fn write(&self, session: &Session<'_>) -> Result<()> {
        session.write_own(JOURNAL, &self.encode())
    }
}

/// What the journal of a store says.
pub(crate) enum Found {
    None,
    Journal(Journal),
    /// It was damaged; nothing can be learnt from it.
    Damaged,
}

/// Reads the journal.
pub(crate) fn read(store: &Inner) -> Result<Found> {
    match store.own.read_file(JOURNAL.as_bytes(), 64 * 1024) {
        Ok(None) => Ok(Found::None),
        Ok(Some(bytes)) => Ok(Journal::decode(&bytes).map_or(Found::Damaged, Found::Journal)),
        Err(err) if err.kind() == std::io::ErrorKind::FileTooLarge => Ok(Found::Damaged),
        Err(err) => Err(err).context("read", store.path.join(OWN).join(JOURNAL)),
    }
}

/// Removes the journal, durably: what it stood for shall not be finished.
pub(crate) fn withdraw(session: &Session<'_>) -> Result<()> {
    clear(session)?;
    let own = &session.store.own;
    own.sync(session.store.options.durability).context("sync", session.store.path.join(OWN))
}

/// Removes the journal of a restore that is on the timeline, or that nobody can finish. Without a sync: one that a power
/// cut brings back is found to be such again.
pub(crate) fn clear(session: &Session<'_>) -> Result<()> {
    let own = &session.store.own;
    let path = || session.store.path.join(OWN).join(JOURNAL);
    match own.remove_file(JOURNAL.as_bytes()) {
        Err(err) if err.kind() != std::io::ErrorKind::NotFound => Err(err).context("remove", path()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn journals_round_trip_and_damage_is_seen_c36() {
        let journal = Journal {
            tip: OperationId(ObjectId::ZERO),
            operation: OperationId(ObjectId::EMPTY_TREE),
            safety: CheckpointId(ObjectId::ZERO),
            token: "0123456789abcdef".to_owned(),
            boot: String::new(),
            mounts: vec![b"a b/\n".to_vec()],
        };
        let bytes = journal.encode();
        assert_eq!(Journal::decode(&bytes), Some(journal));
        for cut in 0..bytes.len() - 1 {
            assert_eq!(Journal::decode(&bytes[..cut]), None, "cut at {cut}");
        }
        assert_eq!(Journal::decode(&[0; 200]), None);
    }
}
