//! Reading a pack from its first byte to its last: what verifying and mending rest on.
//!
//! The idx is a help and not a witness: where it can be read, it says where entries begin, so that damage to one entry
//! hides no other, and threads can share the work. Everything else comes from the bytes of the pack. Without an idx the
//! next entry after damage is looked for byte by byte; whatever inflates to the size that its header says is an object,
//! and its hash says which.

mod deltas;
mod entries;
mod mend;

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use ckpt_fs::Dir;

use crate::error::Fault;
use crate::hash::Checksum;
use crate::idx::{Idx, IdxEntry};
use crate::keep::names;
use crate::pack::{HEADER, TRAILER, in_file, open_regular};
use crate::{Error, Kind, ObjectId, Result};

/// Size of one read.
const PIECE: usize = 1 << 20;

/// Something in a pack or its idx that is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The object at fault, where the idx says which; `None` for the pack or the idx as a whole.
    pub id: Option<ObjectId>,
    /// What does not fit.
    pub reason: String,
}

/// What a pack holds, by its own bytes.
#[derive(Debug)]
pub struct Scan {
    name: ObjectId,
    file: Arc<File>,
    end: u64,
    /// In order of their offsets.
    entries: Vec<Scanned>,
    pack_damage: Vec<Damage>,
    idx_damage: Vec<Damage>,
    lacks_idx: bool,
    bytes: u64,
}

/// An entry whose bytes inflate.
#[derive(Clone, Debug)]
struct Scanned {
    offset: u64,
    /// Length of the entry, header and all.
    len: u64,
    crc32: u32,
    form: Form,
}

/// How an entry holds its object.
#[derive(Clone, Debug)]
enum Form {
    Whole(ObjectId),
    /// A delta; the id is known once its base is.
    Delta {
        base: Base,
        /// Offset of the packed delta in the entry.
        skip: u64,
        size: u64,
        id: Option<ObjectId>,
    },
}

#[derive(Clone, Copy, Debug)]
enum Base {
    Offset(u64),
    Id(ObjectId),
}

/// Gives objects of other packs, for deltas whose base lies there.
pub type Lookup<'a> = dyn Fn(&ObjectId) -> Option<(Kind, Vec<u8>)> + 'a;

/// Names of the packs in `pack_dir` of which a pack file or an idx is there, sorted.
///
/// # Errors
/// [`Error::Io`] when the directory cannot be read.
pub fn pack_names(pack_dir: &Dir) -> Result<Vec<ObjectId>> {
    let mut all = names(pack_dir, "pack")?;
    all.extend(names(pack_dir, "idx")?);
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

impl Scan {
    /// Reads pack `name` in `pack_dir`: inflates and hashes every entry, with `threads` threads where the idx tells
    /// where entries begin, and compares all of it with the idx and with the checksum at the end. `lookup` is asked for
    /// bases of deltas that this pack lacks.
    ///
    /// # Errors
    /// [`Error::Io`] when the pack cannot be read. Whatever is wrong with what was read is told by
    /// [`Scan::pack_damage`] and [`Scan::idx_damage`].
    pub fn of(pack_dir: &Dir, name: ObjectId, threads: usize, lookup: &Lookup<'_>) -> Result<Self> {
        let (file, stat) = open_regular(pack_dir, &name, "pack")?;
        let mut lacks_idx = false;
        let (known, idx_fault) = match read_idx(pack_dir, &name) {
            Ok((entries, pack)) => (entries, (pack != name).then(|| "it is the idx of another pack".to_owned())),
            Err(Error::Damaged { reason, .. }) => (Vec::new(), Some(reason)),
            Err(err) if err.is_vanished() => {
                lacks_idx = true;
                (Vec::new(), Some("it is missing".to_owned()))
            }
            Err(err) => return Err(err),
        };
        let mut scan = Self {
            name,
            file: Arc::new(file),
            end: stat.size.saturating_sub(TRAILER).max(HEADER.min(stat.size)),
            entries: Vec::new(),
            pack_damage: Vec::new(),
            idx_damage: idx_fault.into_iter().map(|reason| Damage { id: None, reason }).collect(),
            lacks_idx,
            bytes: stat.size,
        };
        let ids: HashMap<u64, ObjectId> = known.iter().map(|entry| (entry.offset, entry.id)).collect();
        let mut starts: Vec<u64> = ids.keys().copied().filter(|&at| at >= HEADER && at < scan.end).collect();
        starts.sort_unstable();
        let checked = std::thread::scope(|scope| {
            // Without another thread one comes after the other.
            let checksum = std::thread::Builder::new().spawn_scoped(scope, || scan.checksum());
            let scanned = scan.read_entries(&starts, &ids, threads);
            (checksum.map_or_else(|_| Ok(scan.checksum()), std::thread::ScopedJoinHandle::join), scanned)
        });
        let (entries, mut damage) = checked.1.map_err(in_file(name, "pack"))?;
        let (count, sum, trailer) = match checked.0 {
            Ok(checked) => checked.map_err(in_file(name, "pack"))?,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        scan.entries = entries;
        scan.resolve(lookup)?;
        damage.extend(scan.unresolved(&ids));
        if count.is_none_or(|count| count as usize != scan.entries.len()) && damage.is_empty() {
            damage.push(Damage { id: None, reason: "its count of objects is wrong".to_owned() });
        }
        if sum != trailer || trailer != name {
            damage.push(Damage { id: None, reason: "its checksum is wrong".to_owned() });
        }
        scan.pack_damage = damage;
        scan.compare(&known);
        Ok(scan)
    }

    /// What is wrong with the pack itself; empty when it is whole.
    pub fn pack_damage(&self) -> &[Damage] {
        &self.pack_damage
    }

    /// What is wrong with its idx; empty when it is whole.
    pub fn idx_damage(&self) -> &[Damage] {
        &self.idx_damage
    }

    /// Whether there was no idx when it was looked for.
    pub fn lacks_idx(&self) -> bool {
        self.lacks_idx
    }

    /// Number of objects that were read and are whole.
    pub fn objects(&self) -> u64 {
        self.ids().count() as u64
    }

    /// Size of the pack file in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The objects that are whole, in the order in which they lie in the pack.
    pub fn ids(&self) -> impl Iterator<Item = ObjectId> {
        self.entries.iter().filter_map(Scanned::id)
    }

    /// Count in the header, checksum of all but the trailer, and the trailer.
    fn checksum(&self) -> Result<(Option<u32>, ObjectId, ObjectId), Fault> {
        let mut checksum = Checksum::default();
        let mut head = [0_u8; 12];
        let mut piece = vec![0; PIECE];
        let mut offset = 0;
        while offset < self.end {
            let len = usize::try_from(self.end - offset).unwrap_or(PIECE).min(PIECE);
            self.file.read_exact_at(&mut piece[..len], offset)?;
            if let (0, Some(first)) = (offset, piece[..len].first_chunk()) {
                head = *first;
            }
            checksum.update(&piece[..len]);
            offset += len as u64;
        }
        let mut trailer = [0; 20];
        match self.file.read_exact_at(&mut trailer, self.end) {
            Err(err) if err.kind() == std::io::ErrorKind::UnexpectedEof => trailer = [0; 20],
            read => read?,
        }
        let count =
            head.strip_prefix(b"PACK\0\0\0\x02").and_then(|count| count.try_into().ok()).map(u32::from_be_bytes);
        Ok((count, checksum.finish(), ObjectId::from_bytes(trailer)))
    }

    /// Compares what was read with what the idx says.
    fn compare(&mut self, known: &[IdxEntry]) {
        if !self.idx_damage.is_empty() {
            return;
        }
        let found: HashMap<u64, IdxEntry> =
            self.entries.iter().filter_map(Scanned::idx_entry).map(|entry| (entry.offset, entry)).collect();
        for entry in known {
            match found.get(&entry.offset) {
                Some(found) if found == entry => {}
                Some(found) if found.id == entry.id => {
                    self.idx_damage
                        .push(Damage { id: Some(entry.id), reason: "its CRC in the idx is wrong".to_owned() });
                }
                Some(found) => {
                    let reason = format!("the idx calls it {}, and it hashes to {}", entry.id, found.id);
                    self.pack_damage.push(Damage { id: Some(entry.id), reason });
                }
                None if self.pack_damage.iter().any(|damage| damage.id == Some(entry.id)) => {}
                None => {
                    let reason = "the idx has an offset at which no entry begins".to_owned();
                    self.idx_damage.push(Damage { id: Some(entry.id), reason });
                }
            }
        }
        if found.len() > known.len() && self.pack_damage.is_empty() {
            self.idx_damage.push(Damage { id: None, reason: "it lacks objects of its pack".to_owned() });
        }
    }
}

impl Scanned {
    fn id(&self) -> Option<ObjectId> {
        match &self.form {
            Form::Whole(id) => Some(*id),
            Form::Delta { id, .. } => *id,
        }
    }

    fn idx_entry(&self) -> Option<IdxEntry> {
        self.id().map(|id| IdxEntry { id, crc32: self.crc32, offset: self.offset })
    }
}

/// The entries of an idx, and the pack that it names.
fn read_idx(pack_dir: &Dir, name: &ObjectId) -> Result<(Vec<IdxEntry>, ObjectId)> {
    let (file, stat) = open_regular(pack_dir, name, "idx")?;
    let idx = Idx::read(&file, stat.size).map_err(in_file(*name, "idx"))?;
    Ok((idx.entries(&file).map_err(in_file(*name, "idx"))?, idx.pack))
}
