//! `verify`: whether the store holds what it says it does; with repair, as far as it can be made so again.
//!
//! Quick: every operation, checkpoint and tree is read, every blob is looked up. With the contents: every entry of every
//! pack is inflated and hashed, or a part of them, the next part with every call. What is wrong is a [`Fault`]; what can
//! be read nowhere is [`Lost`], named by checkpoint and path. Nothing of the store is changed unless repair is asked for.

mod packs;
mod reach;
mod rebuild;
mod recorded;
mod repair;
mod sample;
mod stale;
mod timeline;

use std::path::PathBuf;

use crate::checkout::{interrupted, journal};
use crate::checkpoint::Checkpoint;
use crate::error::Context;
use crate::git_config::config_is_whole;
use crate::layout::{OWN, WORKTREE, WorktreeRecord};
use crate::session::Session;
use crate::snapshot;
use crate::store::Inner;
use crate::{CheckpointId, CheckpointStore, Error, Notice, ObjectId, Operation, OperationId, RepoPath, Result, refs};

use packs::Packs;
use reach::Reach;

/// What to look at. `VerifyOptions::default()` reads no contents.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct VerifyOptions {
    /// How much of the contents is read. Default: none.
    pub contents: Contents,
    /// Whether the worktree is hashed without the stat cache, to see whether the cache tells the truth. Default: false.
    pub worktree: bool,
    /// Whether what can be mended is mended. Default: false.
    pub repair: bool,
}

/// How much of the contents is read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Contents {
    /// None: that every object is there is enough.
    #[default]
    None,
    /// So many percent of the objects, above 0 and at most 100; the next call goes on where this one ended.
    Sample(f64),
    /// All.
    All,
}

/// What a verification found.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Verification {
    /// Operations on the timeline.
    pub operations: u64,
    /// Checkpoints, safety checkpoints included.
    pub checkpoints: u64,
    /// Different trees, those of the facts included.
    pub trees: u64,
    /// Different blobs.
    pub blobs: u64,
    /// Packs.
    pub packs: u64,
    /// Objects whose content was read and hashed.
    pub read_objects: u64,
    /// Bytes of packs that were read for it.
    pub read_bytes: u64,
    /// What is wrong, in the order in which it was looked at.
    pub faults: Vec<Fault>,
    /// What can be read nowhere, sorted.
    pub lost: Vec<Lost>,
    /// What else should be known.
    pub notices: Vec<Notice>,
}

impl Verification {
    /// Whether nothing is wrong, or all that was is mended, and nothing is lost.
    pub fn is_whole(&self) -> bool {
        self.lost.is_empty() && self.faults.iter().all(|fault| fault.mended.is_some())
    }
}

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// What sort of thing it is.
    pub kind: FaultKind,
    /// The file, absolute; for [`FaultKind::StaleCache`] the file in the worktree. `None` for an object that is in none.
    pub file: Option<PathBuf>,
    /// The object, where it is one.
    pub object: Option<ObjectId>,
    /// What does not fit, a sentence without a full stop.
    pub reason: String,
    /// What was done about it; `None` while nothing was.
    pub mended: Option<String>,
}

/// Sort of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FaultKind {
    /// A pack's bytes are not what they were.
    DamagedPack,
    /// A pack cannot be used, since its idx is missing or damaged.
    DamagedIdx,
    /// An object is in no pack, or in none in which it can be read.
    MissingObject,
    /// The timeline's ref, or an operation on it, cannot be read.
    DamagedTimeline,
    /// A checkpoint has no place on a timeline that had to be found out: the command that made it did not end, or its
    /// operation is lost. A repair puts what it holds on the timeline again, as a safety checkpoint.
    BesideTimeline,
    /// A file beside the objects is not what it should be.
    DamagedFile,
    /// The stat cache says of a file that it is what it is not.
    StaleCache,
}

impl FaultKind {
    /// Stable word for machines.
    pub fn word(self) -> &'static str {
        match self {
            Self::DamagedPack => "damaged-pack",
            Self::DamagedIdx => "damaged-idx",
            Self::MissingObject => "missing-object",
            Self::DamagedTimeline => "damaged-timeline",
            Self::BesideTimeline => "beside-timeline",
            Self::DamagedFile => "damaged-file",
            Self::StaleCache => "stale-cache",
        }
    }
}

/// Something that a checkpoint or an operation holds and that can be read nowhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Lost {
    /// Who holds it.
    pub holder: Holder,
    /// The path in it: a file, or a directory with all that was in it. `None`: all of it.
    pub path: Option<RepoPath>,
    /// The object.
    pub object: ObjectId,
}

/// Who holds an object that is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Holder {
    /// A checkpoint.
    Checkpoint(CheckpointId),
    /// An operation, whose tree is what stood in the worktree after it.
    Operation(OperationId),
}

/// One look at a store.
struct Findings {
    packs: Packs,
    reach: Reach,
    faults: Vec<Fault>,
}

impl CheckpointStore {
    /// Looks whether the store holds what it says it does, and mends what can be if `options` ask for it: idx files and
    /// files of ours are written anew, damaged packs are put aside in `ckpt/damaged` once what is whole in them was
    /// copied, objects are taken from the worktree and from other stores under the same checkpoint directory, and lost
    /// operations are replaced by ones that say so. Nothing is dropped: what cannot be mended is named.
    ///
    /// Without repair it takes no lock; with it, it finishes an interrupted restore first, as every command that writes.
    ///
    /// # Errors
    /// [`Error::Io`] when the disk cannot be read; [`Error::Interrupted`]; [`Error::Locked`] and errors of writing, with
    /// repair. That something is damaged is no error.
    pub fn verify(&self, options: &VerifyOptions) -> Result<Verification> {
        let store = &*self.0;
        let mut verification = if options.repair {
            let session = Session::begin(store)?;
            repair::run(&session, options)?
        } else {
            examine(store, options.contents)?.into_verification()
        };
        if options.worktree {
            verification.faults.extend(stale::find(store, options.repair)?);
        }
        if interrupted::is_pending(store)? {
            verification.notices.push(Notice::InterruptedRestore);
        }
        Ok(verification)
    }
}

/// Looks at everything. Writes nothing.
fn examine(store: &Inner, contents: Contents) -> Result<Findings> {
    store.objects.refresh()?;
    let mut faults = files(store)?;
    let packs = Packs::check(store, contents)?;
    let reach = Reach::of(store, &packs)?;
    faults.extend(packs.faults.iter().cloned());
    faults.extend(reach.faults.iter().cloned());
    Ok(Findings { packs, reach, faults })
}

impl Findings {
    fn into_verification(self) -> Verification {
        Verification {
            operations: self.reach.operations.len() as u64,
            checkpoints: self.reach.checkpoints,
            trees: self.reach.trees(),
            blobs: self.reach.blobs(),
            packs: self.packs.count,
            read_objects: self.packs.read_objects,
            read_bytes: self.packs.read_bytes,
            faults: self.faults,
            lost: self.reach.lost,
            notices: Vec::new(),
        }
    }
}

/// Files beside the objects.
fn files(store: &Inner) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    let mut damaged = |file: PathBuf, reason: &str| {
        let reason = reason.to_owned();
        faults.push(Fault { kind: FaultKind::DamagedFile, file: Some(file), object: None, reason, mended: None });
    };
    let own = store.path.join(OWN);
    let record = own.join(WORKTREE);
    if WorktreeRecord::read(&store.dir).context("read", &record)?.is_err() {
        damaged(record, "it is missing or damaged");
    }
    if !config_is_whole(&store.dir, &store.path)? {
        damaged(store.path.join("config"), "a line of ours is missing in it");
    }
    let head = store.path.join("HEAD");
    let text = store.dir.read_file(b"HEAD", 1024).context("read", &head)?;
    if text.is_none_or(|text| text != format!("ref: {}\n", refs::TIMELINE).as_bytes()) {
        damaged(head, "it does not name the timeline");
    }
    match journal::read(store)? {
        journal::Found::Damaged => {
            damaged(own.join(journal::JOURNAL), "it is damaged, and what it stood for cannot be known");
        }
        journal::Found::Journal(begun) => {
            let operation = found(Operation::read(&store.objects, begun.operation))?.is_some();
            if !operation || found(Checkpoint::require(&store.objects, begun.safety, store.id))?.is_none() {
                damaged(own.join(journal::JOURNAL), "it names what cannot be read, so that no restore can be finished");
            }
        }
        journal::Found::None => {}
    }
    if let Some(file) = snapshot::damaged_cache(store)? {
        damaged(own.join(file), "it is damaged; the next save reads files again");
    }
    Ok(faults)
}

/// An error about an object is a finding; any other ends the verification.
fn found<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::Object { .. } | Error::Store { .. }) => Ok(None),
        Err(err) => Err(err),
    }
}
