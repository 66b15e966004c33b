//! The packs: which objects can be read, and what is wrong with the files.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use ckpt_fs::Dir;
use ckpt_pack::Scan;

use super::sample::Sample;
use super::{Contents, Fault, FaultKind};
use crate::error::Context;
use crate::objects::pack_error;
use crate::store::Inner;
use crate::{ObjectId, Result};

/// What the packs hold.
pub(super) struct Packs {
    /// Objects that can be read, or could be with a new idx.
    pub(super) known: HashSet<ObjectId>,
    /// Packs at which something is wrong.
    pub(super) spoiled: BTreeMap<ObjectId, Scan>,
    /// Names of packs whose pack file is gone.
    pub(super) gone: Vec<ObjectId>,
    pub(super) faults: Vec<Fault>,
    pub(super) count: u64,
    pub(super) read_objects: u64,
    pub(super) read_bytes: u64,
}

impl Packs {
    /// Looks at all packs, and reads those from end to end that cannot be used as they are, or that a sample shows to be
    /// damaged.
    pub(super) fn check(store: &Inner, contents: Contents) -> Result<Self> {
        let mut packs = Self {
            known: HashSet::new(),
            spoiled: BTreeMap::new(),
            gone: Vec::new(),
            faults: Vec::new(),
            count: 0,
            read_objects: 0,
            read_bytes: 0,
        };
        let path = store.path.join("objects");
        let fail = |err| pack_error(&path, err);
        let dir = store.dir.open_beneath(b"objects/pack").context("open", path.join("pack"))?;
        let mut seen = HashSet::new();
        // A merge may take packs away and bring others while we read: until there is nothing new.
        loop {
            store.objects.refresh()?;
            let listed: HashSet<ObjectId> = store.objects.packs().packs().iter().map(|pack| pack.name).collect();
            let names = ckpt_pack::pack_names(&dir).map_err(fail)?;
            let mut new = false;
            for name in names.into_iter().filter(|name| seen.insert(*name)) {
                store.interrupted()?;
                new = true;
                if contents == Contents::All || !listed.contains(&name) {
                    packs.scan(store, &dir, &path, name)?;
                } else {
                    packs.count += 1;
                    match store.objects.packs().ids(&name) {
                        Ok(ids) => packs.known.extend(ids),
                        Err(_) => packs.scan(store, &dir, &path, name)?,
                    }
                }
            }
            if !new {
                break;
            }
        }
        if let Contents::Sample(percent) = contents {
            packs.sample(store, &dir, &path, percent)?;
        }
        Ok(packs)
    }

    fn sample(&mut self, store: &Inner, dir: &Dir, objects: &Path, percent: f64) -> Result<()> {
        let sample = Sample::next(store, percent)?;
        let (damaged, read, bytes) = sample.read(store)?;
        self.read_objects += read;
        self.read_bytes += bytes;
        for name in damaged {
            self.count -= 1;
            self.scan(store, dir, objects, name)?;
        }
        sample.note(store);
        Ok(())
    }

    fn scan(&mut self, store: &Inner, dir: &Dir, objects: &Path, name: ObjectId) -> Result<()> {
        let lookup = |id: &ObjectId| store.objects.read(*id).ok();
        let scan = loop {
            let scan = match Scan::of(dir, name, store.options.thread_count(), &lookup) {
                Ok(scan) => scan,
                Err(ckpt_pack::Error::Io { action: "open", source, .. })
                    if source.kind() == std::io::ErrorKind::NotFound =>
                {
                    // Merged meanwhile, or an idx alone.
                    if is_there(dir, &name, "idx") {
                        self.count += 1;
                        self.gone.push(name);
                        let reason = "it is missing".to_owned();
                        self.fault(FaultKind::DamagedPack, file(objects, &name, "pack"), None, reason);
                    }
                    return Ok(());
                }
                Err(ckpt_pack::Error::Damaged { reason, .. }) => {
                    self.count += 1;
                    self.fault(FaultKind::DamagedPack, file(objects, &name, "pack"), None, reason);
                    return Ok(());
                }
                Err(err) => return Err(pack_error(objects, err)),
            };
            if !scan.lacks_idx() {
                break scan;
            }
            // No lock is held: it may be on its way in or out, and nothing that counts as saved is in it alone.
            if is_passing(store, dir, objects, &name)? {
                return Ok(());
            }
            // Asked last, for an idx that came after the look at those that are on their way.
            if !is_there(dir, &name, "idx") {
                break scan;
            }
        };
        self.count += 1;
        self.read_objects += scan.objects();
        self.read_bytes += scan.bytes();
        self.known.extend(scan.ids());
        for damage in scan.pack_damage() {
            self.fault(FaultKind::DamagedPack, file(objects, &name, "pack"), damage.id, damage.reason.clone());
        }
        // Of a damaged pack the idx does not matter any more.
        if scan.pack_damage().is_empty() {
            for damage in scan.idx_damage() {
                self.fault(FaultKind::DamagedIdx, file(objects, &name, "idx"), damage.id, damage.reason.clone());
            }
        }
        if !scan.pack_damage().is_empty() || !scan.idx_damage().is_empty() {
            self.spoiled.insert(name, scan);
        }
        Ok(())
    }

    fn fault(&mut self, kind: FaultKind, file: PathBuf, object: Option<ObjectId>, reason: String) {
        self.faults.push(Fault { kind, file: Some(file), object, reason, mended: None });
    }
}

pub(super) fn file(objects: &Path, name: &ObjectId, extension: &str) -> PathBuf {
    objects.join(format!("pack/pack-{name}.{extension}"))
}

/// Whether a pack without an idx is none that lost it: somebody is publishing it, or removing it after a merge, or was
/// when a crash came, and the next command that writes settles it.
fn is_passing(store: &Inner, dir: &Dir, objects: &Path, name: &ObjectId) -> Result<bool> {
    let fail = |err| pack_error(objects, err);
    // A merge may have ended since the packs were listed.
    store.objects.refresh()?;
    Ok(ckpt_pack::unpublished(&store.own).map_err(fail)?.contains_key(name)
        || store.objects.packs().merged().map_err(fail)?.contains(name)
        || !is_there(dir, name, "pack"))
}

fn is_there(dir: &Dir, name: &ObjectId, extension: &str) -> bool {
    let file = format!("pack-{name}.{extension}");
    matches!(dir.try_stat(file.as_bytes()), Ok(Some(_)))
}
