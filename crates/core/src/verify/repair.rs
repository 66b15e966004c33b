//! Mending: from the packs upwards, each step on what the one before made readable.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;

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
use crate::state::ObjectSink;
use crate::store::{Inner, check_owner};
use crate::{CheckpointId, Error, ObjectId, OperationId, Result};

/// Looks, mends, looks again.
pub(super) fn run(session: &Session<'_>, options: &VerifyOptions) -> Result<Verification> {
    let before = examine(session.store, options.contents)?;
    let repair = Repair { session };
    let put_aside = repair.packs(&before)?;
    repair.objects()?;
    // A restore knows its operations by their ids: it is finished before the timeline is written anew.
    let is_settled = match recover::finish(session) {
        Ok(_) => true,
        Err(Error::Object { .. } | Error::Store { .. }) => false,
        Err(err) => return Err(err),
    };
    let again = if is_settled { repair.timeline()? } else { HashMap::new() };
    repair.files()?;
    let after = examine(session.store, Contents::None)?;
    joined(session.store, before, after, &Mended { put_aside, again })
}

/// What a repair did that its second look does not tell.
struct Mended {
    /// Packs.
    put_aside: HashSet<ObjectId>,
    /// Checkpoints that stood beside the timeline, with those that hold the same on it.
    again: HashMap<ObjectId, CheckpointId>,
}

/// What was found first, with what became of it, and what is found now.
fn joined(store: &Inner, before: Findings, after: Findings, mended: &Mended) -> Result<Verification> {
    let mut faults = before.faults;
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
        fault.mended = match fault.kind {
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
            // A pack of which only the checksum was wrong has its old name again; the damaged one makes room first.
            replaced = Some(pack.name()).filter(|name| aside.contains(name));
            if let Some(name) = replaced {
                self.put_aside(&dir, &name)?;
            }
            pack.publish(&dir, durability).map_err(|err| self.fail(err))?;
        }
        for name in aside.iter().filter(|name| replaced != Some(**name)) {
            self.put_aside(&dir, name)?;
        }
        store.objects.refresh()?;
        Ok(aside)
    }

    /// Moves all files of a pack to `ckpt/damaged`, the idx first, so that nobody looks for it any more.
    fn put_aside(&self, dir: &Dir, name: &ObjectId) -> Result<()> {
        let store = self.session.store;
        let to = self.damaged_dir()?;
        let mut names = Entries::default();
        dir.read_entries(&mut names).context("read", store.path.join("objects/pack"))?;
        let prefix = format!("pack-{name}.").into_bytes();
        let mut files: Vec<&[u8]> =
            names.iter().map(|entry| entry.name).filter(|name| name.starts_with(&prefix)).collect();
        files.sort_by_key(|name| !name.ends_with(b".idx"));
        for file in files {
            dir.rename(file, &to, file).context("put aside a file of", store.path.join("objects/pack"))?;
        }
        let durability = store.options.durability;
        to.sync(durability).and_then(|()| dir.sync(durability)).context("sync", store.path.join("objects/pack"))
    }

    fn damaged_dir(&self) -> Result<Dir> {
        let store = self.session.store;
        let path = store.path.join(OWN).join(DAMAGED);
        match store.own.create_dir(DAMAGED.as_bytes(), 0o700) {
            Ok(()) => store.own.sync(store.options.durability).context("sync", &path)?,
            Err(err) if err.kind() == std::io::ErrorKind::AlreadyExists => {}
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
            Ok(_) | Err(Error::Workspace { .. }) => Ok(()),
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
        if rebuilt.is_some() {
            session.publish(Vec::new(), ingest)?;
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
            let (to, name) = (self.damaged_dir()?, journal::JOURNAL);
            store.own.rename(name.as_bytes(), &to, name.as_bytes()).context("put aside", own.join(name))?;
        }
        Ok(())
    }
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
