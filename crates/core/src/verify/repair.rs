//! Mending: from the packs upwards, each step on what the one before made readable.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io;

use ckpt_fs::{Dir, Entries};
use ckpt_pack::{KEEP_TEXT, Kind, PackWriter};

use super::packs::Packs;
use super::reach::Reach;
use super::rebuild;
use super::timeline::Tip;
use super::{Contents, FaultKind, Findings, Verification, VerifyOptions, examine, found};
use crate::checkout::{journal, recover};
use crate::error::Context;
use crate::layout::{DAMAGED, OWN};
use crate::objects::{Objects, pack_error};
use crate::registry::{self, StoreState};
use crate::session::Session;
use crate::snapshot::{self, Against, HashUntilStopped, Ingest, StoreIngest};
use crate::state::{HashOnly, ObjectSink, encode_facts_commit};
use crate::store::{Inner, check_owner};
use crate::{CheckpointId, Error, ObjectId, OperationId, Result};

/// Looks, mends, looks again.
pub(super) fn run(session: &Session<'_>, options: &VerifyOptions) -> Result<Verification> {
    let mut before = examine(session.store, options.contents)?;
    if options.contents != Contents::All && !(before.faults.is_empty() && before.reach.lost.is_empty()) {
        // Nothing is mended by what a quick look takes on trust: an idx that leads elsewhere, a copy that is rotten.
        before = examine(session.store, Contents::All)?;
    }
    let repair = Repair { session };
    let put_aside = repair.packs(&before)?;
    repair.objects()?;
    // A restore knows its operations by their ids: where it can be, it is finished before the timeline is written anew.
    let was_begun = matches!(journal::read(session.store)?, journal::Found::Journal(_));
    // Under an old value of the ref it would count as one that was recorded.
    let is_settled = before.reach.tip == Tip::Named && found(recover::finish(session))?.is_some();
    let again = repair.timeline()?;
    let unfinished = if is_settled { None } else { repair.restore()? };
    repair.files()?;
    let after = examine(session.store, Contents::None)?;
    joined(session.store, before, after, &Mended { put_aside, again, was_begun, unfinished })
}

/// What a repair did that its second look does not tell.
struct Mended {
    /// Packs.
    put_aside: HashSet<ObjectId>,
    /// Checkpoints that stood beside the timeline, with those that hold the same on it.
    again: HashMap<ObjectId, CheckpointId>,
    /// Whether a restore had been begun and not ended.
    was_begun: bool,
    /// Why that restore cannot be finished.
    unfinished: Option<String>,
}

/// What was found first, with what became of it, and what is found now.
fn joined(store: &Inner, before: Findings, after: Findings, mended: &Mended) -> Result<Verification> {
    let mut faults = before.faults;
    let journal = store.path.join(OWN).join(journal::JOURNAL);
    if let Some(reason) = &mended.unfinished
        && !faults.iter().any(|fault| fault.file.as_ref() == Some(&journal))
    {
        let reason = format!("the restore that it stands for cannot be finished: {reason}");
        let file = Some(journal.clone());
        faults.push(super::Fault { kind: FaultKind::DamagedFile, file, object: None, reason, mended: None });
    }
    // What the timeline goes on without is lost all the same.
    let mut dropped = Vec::new();
    for id in before.reach.missing.difference(&after.reach.missing) {
        if found(store.objects.read(*id))?.is_none() {
            dropped.push(*id);
        }
    }
    for fault in &mut faults {
        let is_left = after
            .faults
            .iter()
            .any(|left| (left.kind, &left.file, left.object) == (fault.kind, &fault.file, fault.object));
        let of_pack = |name: &ObjectId| {
            fault.file.as_ref().is_some_and(|file| file.to_string_lossy().contains(&name.to_string()))
        };
        if is_left || fault.kind == FaultKind::DamagedPack && !mended.put_aside.iter().any(of_pack) {
            continue;
        }
        let again = fault.object.and_then(|id| mended.again.get(&id));
        let is_journal = fault.file.as_ref() == Some(&journal);
        fault.mended = match fault.kind {
            FaultKind::DamagedFile if is_journal && mended.was_begun && mended.unfinished.is_none() => {
                Some("the restore was finished".to_owned())
            }
            FaultKind::DamagedFile if is_journal => {
                Some("put aside in ckpt/damaged; the files in the workspace stay as they are".to_owned())
            }
            FaultKind::DamagedPack => Some("put aside in ckpt/damaged; what is whole in it was copied".to_owned()),
            FaultKind::DamagedIdx | FaultKind::DamagedFile | FaultKind::StaleCache => Some("written anew".to_owned()),
            FaultKind::MissingObject if fault.object.is_some_and(|id| dropped.contains(&id)) => {
                Some("it is lost, and an operation says so in its place".to_owned())
            }
            FaultKind::MissingObject => Some("found elsewhere, and packed again".to_owned()),
            FaultKind::DamagedTimeline => Some("made whole".to_owned()),
            FaultKind::BesideTimeline => {
                again.map(|id| format!("it stands on it again as the safety checkpoint {}", id.short()))
            }
        };
    }
    let is_new = |fault: &super::Fault| {
        !faults.iter().any(|known| (known.kind, &known.file, known.object) == (fault.kind, &fault.file, fault.object))
    };
    let new: Vec<_> = after.faults.iter().filter(|fault| is_new(fault)).cloned().collect();
    faults.extend(new);
    let (read_objects, read_bytes) = (before.packs.read_objects, before.packs.read_bytes);
    let mut verification = Findings { faults: Vec::new(), ..after }.into_verification();
    verification.lost.extend(before.reach.lost.into_iter().filter(|lost| dropped.contains(&lost.object)));
    verification.lost.sort();
    Ok(Verification { faults, read_objects, read_bytes, ..verification })
}

struct Repair<'a> {
    session: &'a Session<'a>,
}

impl Repair<'_> {
    fn fail(&self, err: ckpt_pack::Error) -> Error {
        pack_error(&self.session.store.path.join("objects"), err)
    }

    /// Writes idx files anew, and puts damaged packs aside once what is whole in them is in a new one. The packs that
    /// were put aside.
    fn packs(&self, found: &Findings) -> Result<HashSet<ObjectId>> {
        let (session, store) = (self.session, self.session.store);
        let durability = store.options.durability;
        let dir = store.dir.open_beneath(b"objects/pack").context("open", store.path.join("objects/pack"))?;
        let lookup = |id: &ObjectId| store.objects.read(*id).ok();
        let mut aside: HashSet<ObjectId> = found.packs.gone.iter().copied().collect();
        for (name, scan) in &found.packs.spoiled {
            if scan.pack_damage().is_empty() {
                scan.write_idx(&dir, &store.own, &session.token, session.pack_number(), durability)
                    .map_err(|err| self.fail(err))?;
            } else {
                aside.insert(*name);
            }
        }
        store.objects.refresh()?;
        let mut whole = HashSet::new();
        for pack in store.objects.packs().packs() {
            if !aside.contains(&pack.name) {
                whole.extend(store.objects.packs().ids(&pack.name).map_err(|err| self.fail(err))?);
            }
        }
        let mut writer =
            PackWriter::create(&store.own, &session.token, session.pack_number()).map_err(|err| self.fail(err))?;
        for scan in found.packs.spoiled.values().filter(|scan| !scan.pack_damage().is_empty()) {
            let wanted = |id: &ObjectId| !whole.contains(id);
            scan.copy_into(&mut writer, &wanted, &lookup).map_err(|err| self.fail(err))?;
        }
        let mut replaced = None;
        if !writer.is_empty() {
            let pack = writer.finish(KEEP_TEXT, durability).map_err(|err| self.fail(err))?;
            // A pack of which only the checksum was wrong has its old name again, and takes the place of the damaged one file by
            // file: at no moment what they hold stands nowhere.
            replaced = Some(pack.name()).filter(|name| aside.contains(name));
            if let Some(name) = replaced {
                self.put_aside(&dir, &name, link_aside)?;
            }
            pack.publish(&dir, durability).map_err(|err| self.fail(err))?;
        }
        for name in aside.iter().filter(|name| replaced != Some(**name)) {
            self.put_aside(&dir, name, move_aside)?;
        }
        store.objects.refresh()?;
        Ok(aside)
    }

    /// Moves all files of a pack to `ckpt/damaged`, or links them there, the idx first, so that nobody looks for it any more.
    fn put_aside(&self, dir: &Dir, name: &ObjectId, put: fn(&Dir, &[u8], &Dir) -> io::Result<()>) -> Result<()> {
        let store = self.session.store;
        let to = self.damaged_dir()?;
        let mut names = Entries::default();
        dir.read_entries(&mut names).context("read", store.path.join("objects/pack"))?;
        let prefix = format!("pack-{name}.").into_bytes();
        let mut files: Vec<&[u8]> =
            names.iter().map(|entry| entry.name).filter(|name| name.starts_with(&prefix)).collect();
        files.sort_by_key(|name| !name.ends_with(b".idx"));
        for file in files {
            put(dir, file, &to).context("put aside a file of", store.path.join("objects/pack"))?;
        }
        let durability = store.options.durability;
        to.sync(durability).and_then(|()| dir.sync(durability)).context("sync", store.path.join("objects/pack"))
    }

    fn damaged_dir(&self) -> Result<Dir> {
        let store = self.session.store;
        let path = store.path.join(OWN).join(DAMAGED);
        match store.own.create_dir(DAMAGED.as_bytes(), 0o700) {
            Ok(()) => store.own.sync(store.options.durability).context("sync", &path)?,
            Err(err) if err.kind() == io::ErrorKind::AlreadyExists => {}
            Err(err) => return Err(err).context("create", path),
        }
        store.own.open_dir(DAMAGED.as_bytes()).context("open", path)
    }

    /// Takes objects that are missing from other stores and from the worktree, until nothing more is found: a tree that
    /// comes back may name others.
    fn objects(&self) -> Result<()> {
        let store = self.session.store;
        loop {
            let missing = Reach::of(store, &Packs::check(store, Contents::None)?)?.missing;
            if missing.is_empty() {
                return Ok(());
            }
            let ingest = StoreIngest::new(self.session)?;
            if missing.contains(&ObjectId::EMPTY_TREE) {
                ingest.put(Kind::Tree, b"")?;
            }
            self.take_from_other_stores(&missing, &ingest)?;
            self.take_from_worktree(&missing, &ingest)?;
            if ingest.is_empty() {
                return Ok(());
            }
            self.session.publish(Vec::new(), ingest)?;
        }
    }

    fn take_from_other_stores(&self, missing: &BTreeSet<ObjectId>, ingest: &StoreIngest<'_>) -> Result<()> {
        let store = self.session.store;
        for entry in registry::stores(&store.layout.checkpoint_dir)? {
            if entry.path == store.path || matches!(entry.state, StoreState::NotOurs) {
                continue;
            }
            // Another store may be in any condition: what it cannot give is looked for in the next one.
            let Ok(dir) = Dir::open(&entry.path).or_short("open", &entry.path)? else { continue };
            let opened = check_owner(&dir, &entry.path, 0o022).and_then(|()| Objects::open(&dir, &entry.path));
            let Ok(objects) = opened else { continue };
            for id in missing {
                if let Ok((kind, content)) = objects.read(*id) {
                    ingest.put(kind, &content)?;
                }
            }
        }
        Ok(())
    }

    fn take_from_worktree(&self, missing: &BTreeSet<ObjectId>, ingest: &StoreIngest<'_>) -> Result<()> {
        let wanted = Wanted { missing, ingest, hash: HashUntilStopped(&*self.session.store.options.observer) };
        let against = Against { tip: None, head: None, clock: None };
        match snapshot::take(self.session.store, &against, &wanted) {
            // The commit of the facts has no date: where the rules from outside are what they were, so is its id. Nothing tells
            // what it held, so that all of it is put.
            Ok(seen) => {
                let (facts, rules) = (seen.encoded.facts, seen.rules.encode());
                if missing.contains(&encode_facts_commit(&HashOnly, facts, &rules)?) {
                    encode_facts_commit(ingest, facts, &rules)?;
                }
                Ok(())
            }
            Err(Error::Workspace { .. }) => Ok(()),
            Err(err) => Err(err),
        }
    }

    /// Makes the timeline whole, and the ref name its tip. Checkpoints that stood beside it, with those on it that hold the
    /// same.
    fn timeline(&self) -> Result<HashMap<ObjectId, CheckpointId>> {
        let (session, store) = (self.session, self.session.store);
        let reach = Reach::of(store, &Packs::check(store, Contents::None)?)?;
        let ingest = StoreIngest::new(session)?;
        let missing = |id: &ObjectId| reach.missing.contains(id);
        let rebuilt = rebuild::rebuild(store, &ingest, &reach.operations, &reach.beside, &missing)?;
        if let Some(rebuilt) = &rebuilt {
            session.publish(Vec::new(), ingest)?;
            // Before the ref moves: a restore that is finished by nobody is better than one of another timeline.
            if let journal::Found::Journal(mut begun) = journal::read(store)?
                && let Some(tip) = rebuilt.renamed.get(&begun.tip)
            {
                begun.tip = *tip;
                begun.write(session)?;
            }
        }
        match (reach.tip, rebuilt.as_ref().map(|rebuilt| rebuilt.tip)) {
            (Tip::Named, Some(new)) => {
                let old = crate::refs::read(&store.dir, &store.path)?.unwrap_or(ObjectId::ZERO);
                session.move_timeline(OperationId(old), new)?;
            }
            (Tip::Found(found), new) => rebuild::write_ref(session, new.unwrap_or(found))?,
            (Tip::Nowhere, Some(new)) => rebuild::write_ref(session, new)?,
            (Tip::Named | Tip::Nowhere, None) => {}
        }
        if reach.tip != Tip::Named {
            // It may name an operation that is on it no more, and so would be found to go on to that.
            let own = store.path.join(OWN);
            for file in [snapshot::STAT_CACHE, snapshot::STAT_CACHE_CHANGES] {
                store.own.remove_tree(file.as_bytes()).context("remove", own.join(file))?;
            }
        }
        Ok(rebuilt.map(|rebuilt| rebuilt.again).unwrap_or_default())
    }

    /// Writes our own files anew, and puts those aside that only hold what was lost with them.
    fn files(&self) -> Result<()> {
        let (session, store) = (self.session, self.session.store);
        session.update_record()?;
        let own = store.path.join(OWN);
        while let Some(file) = snapshot::damaged_cache(store)? {
            store.own.remove_tree(file.as_bytes()).context("remove", own.join(file))?;
        }
        if matches!(journal::read(store)?, journal::Found::Damaged) {
            self.journal_aside()?;
        }
        Ok(())
    }

    fn journal_aside(&self) -> Result<()> {
        let (store, name) = (self.session.store, journal::JOURNAL);
        move_aside(&store.own, name.as_bytes(), &self.damaged_dir()?)
            .context("put aside", store.path.join(OWN).join(name))
    }

    /// Finishes the restore that could not be finished before the timeline was whole; if it cannot be now, its journal is put
    /// aside, or nobody could save or leave any more. What it had to take away is held by its safety checkpoint, what it has not
    /// taken away stands in the worktree. Why it cannot be finished.
    fn restore(&self) -> Result<Option<String>> {
        match recover::finish(self.session) {
            Ok(_) => Ok(None),
            Err(err @ (Error::Object { .. } | Error::Store { .. })) => {
                self.journal_aside()?;
                Ok(Some(err.to_string()))
            }
            Err(err) => Err(err),
        }
    }
}

/// Moves a file to `to`.
fn move_aside(dir: &Dir, name: &[u8], to: &Dir) -> io::Result<()> {
    at_free_name(name, |free| dir.rename_noreplace(name, to, free))
}

/// Gives a file a second name in `to`.
fn link_aside(dir: &Dir, name: &[u8], to: &Dir) -> io::Result<()> {
    at_free_name(name, |free| dir.hard_link(name, to, free))
}

/// Tries `name`, and others like it, until one is free: what was put aside before may be the last copy of something.
fn at_free_name(name: &[u8], put: impl Fn(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut tried = put(name);
    for number in 1_u64.. {
        match tried {
            Err(err) if err.kind() == io::ErrorKind::AlreadyExists => {
                tried = put(&[name, format!(".{number}").as_bytes()].concat());
            }
            done => return done,
        }
    }
    tried
}

/// Takes what is missing, and nothing else.
struct Wanted<'a> {
    missing: &'a BTreeSet<ObjectId>,
    ingest: &'a StoreIngest<'a>,
    hash: HashUntilStopped<'a>,
}

impl ObjectSink for Wanted<'_> {
    fn put(&self, kind: Kind, content: &[u8]) -> Result<ObjectId> {
        let id = self.hash.put(kind, content)?;
        if self.missing.contains(&id) { self.ingest.put(kind, content) } else { Ok(id) }
    }
}

impl Ingest for Wanted<'_> {
    fn stream(&self, file: &mut File, size: u64) -> Result<Option<ObjectId>> {
        match self.hash.stream(file, size)? {
            Some(id) if self.missing.contains(&id) => self.ingest.stream(file, size),
            other => Ok(other),
        }
    }
}
