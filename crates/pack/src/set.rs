//! All packs of a directory, for reading.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Arc, PoisonError, RwLock};

use ckpt_fs::Dir;

use crate::error::Fault;
use crate::keep::{Keep, file_name, names};
use crate::pack::{Pack, Place};
use crate::{Error, Kind, ObjectHasher, ObjectId, Result};

/// Packs whose files stay open; at most an eighth of what the process may open.
const STAY_OPEN: usize = 64;

/// How often a directory is listed in which packs go while it is listed or asked.
const LISTINGS: usize = 10;

/// The packs of one directory. Shared between threads without further ado.
///
/// It knows the packs that were there when it was opened or last refreshed. A miss is a miss: nothing is listed again
/// for it. When a pack that is listed turns out to be gone, as after a merge by another process, the directory is
/// listed again and the question asked once more, a few times at most.
#[derive(Debug)]
pub struct PackSet {
    dir: Arc<Dir>,
    listing: RwLock<Arc<Listing>>,
}

/// What is in the directory.
#[derive(Debug, Default)]
struct Listing {
    packs: Vec<Arc<Pack>>,
    damaged: Vec<PackProblem>,
}

/// An answer about an object that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found<T> {
    /// The object is stored whole, and this is what was asked for.
    Whole(T),
    /// The object is stored as a delta, as only stock git does it: ask libgit2.
    Deltified,
}

/// Kind and size of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its kind.
    pub kind: Kind,
    /// Size of its content in bytes.
    pub size: u64,
}

/// An object, read and verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its kind.
    pub kind: Kind,
    /// Its content.
    pub content: Vec<u8>,
}

/// A pack as it is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackInfo {
    /// Its name.
    pub name: ObjectId,
    /// Size of the pack file in bytes.
    pub bytes: u64,
    /// Number of objects in it.
    pub objects: u32,
    /// Whether its `.keep` is ours. Any other pack is never merged or removed.
    pub ours: bool,
}

/// A pack that does not count as present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackProblem {
    /// Its name.
    pub name: ObjectId,
    /// What does not fit.
    pub reason: String,
}

impl PackSet {
    /// Lists the packs in `pack_dir`: those named `pack-<40 hex digits>` that have an idx, and a pack that ends with
    /// the checksum in it. A pack that does not is left out, with all its objects, and named by [`PackSet::damaged`].
    ///
    /// # Errors
    /// [`Error::Io`] when the directory or a file in it cannot be read.
    pub fn open(pack_dir: Dir) -> Result<Self> {
        let set = Self { dir: Arc::new(pack_dir), listing: RwLock::default() };
        set.refresh()?;
        Ok(set)
    }

    /// Lists the directory again. Packs that are still the same files are not looked at again.
    ///
    /// # Errors
    /// [`Error::Io`] when the directory or a file in it cannot be read; the old listing then stays.
    pub fn refresh(&self) -> Result<()> {
        let known = self.listing();
        let mut listing = Listing::default();
        for _ in 0..LISTINGS {
            let (listed, is_whole) = self.list(&known)?;
            listing = listed;
            if is_whole {
                break;
            }
        }
        *self.listing.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(listing);
        Ok(())
    }

    /// What is in the directory, and whether that holds all that was: a pack that a merge removes while we list may have
    /// gone into one that came after we looked.
    fn list(&self, known: &Listing) -> Result<(Listing, bool)> {
        let mut listing = Listing::default();
        let mut is_whole = true;
        for name in names(&self.dir, "idx")? {
            let same = known.packs.iter().find(|pack| pack.name == name && pack.is_current());
            if let Some(pack) = same {
                listing.packs.push(Arc::clone(pack));
                continue;
            }
            match Pack::open(&self.dir, name, listing.packs.len() < ckpt_fs::handles(8, STAY_OPEN)) {
                Ok(pack) => listing.packs.push(Arc::new(pack)),
                Err(err) if err.is_vanished() => {
                    // Either removed since the listing, or an idx without its pack.
                    match self.dir.try_stat(&file_name(&name, "idx")) {
                        Ok(Some(_)) => {
                            listing.damaged.push(PackProblem { name, reason: "the pack is missing".to_owned() });
                        }
                        _ => is_whole = false,
                    }
                }
                Err(Error::Damaged { reason, .. }) => listing.damaged.push(PackProblem { name, reason }),
                Err(err) => return Err(err),
            }
        }
        // What is asked for most was written last, into small packs whose idx is in memory: those cost nothing to ask. Of the
        // others most objects are in the largest.
        listing.packs.sort_by_key(|pack| (pack.idx.in_memory().is_none(), Reverse(pack.idx.count())));
        Ok((listing, is_whole))
    }

    /// The packs, the one with most objects first.
    pub fn packs(&self) -> Vec<PackInfo> {
        let info = |pack: &Arc<Pack>| PackInfo {
            name: pack.name,
            bytes: pack.bytes(),
            objects: pack.idx.count(),
            ours: pack.ours,
        };
        let mut packs: Vec<_> = self.listing().packs.iter().map(info).collect();
        packs.sort_by_key(|pack| Reverse(pack.objects));
        packs
    }

    /// Packs that are there and do not count, in order of their names.
    pub fn damaged(&self) -> Vec<PackProblem> {
        self.listing().damaged.clone()
    }

    /// All packs that the `.keep` files of listed packs say were merged into these, in order of their names. One that was
    /// merged into a pack that is gone or damaged is not among them.
    ///
    /// # Errors
    /// [`Error::Io`] when a `.keep` cannot be read.
    pub fn merged(&self) -> Result<Vec<ObjectId>> {
        let mut merged = BTreeSet::new();
        for pack in &self.listing().packs {
            merged.extend(Keep::read(&self.dir, &pack.name)?.merged);
        }
        Ok(merged.into_iter().collect())
    }

    /// Whether a pack has the object, going by the idx.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Damaged`] when an idx cannot be read.
    pub fn contains(&self, id: &ObjectId) -> Result<bool> {
        self.ask(|pack| Ok(pack.contains(id)?.then_some(()))).map(|found| found.is_some())
    }

    /// Kind and size of an object; `None` if no pack has it. Reads its header only.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Damaged`] when it cannot be read.
    pub fn header(&self, id: &ObjectId) -> Result<Option<Found<Header>>> {
        self.ask_for_whole(|pack| {
            let Some(place) = pack.find(id)? else { return Ok(None) };
            let header = place.entry().header().map_err(pack.in_entry(*id))?;
            Ok(Some(match header.kind {
                Some(kind) => Found::Whole(Header { kind, size: header.size }),
                None => deltified(pack, id)?,
            }))
        })
    }

    /// Whether an object is of `kind`; `None` if no pack has it. Reads its header only, unless that says otherwise and several
    /// packs have the object: then the first whole copy decides, since a rotten header may speak of another kind.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Damaged`] when it cannot be read.
    pub fn is_kind(&self, id: &ObjectId, kind: Kind) -> Result<Option<Found<bool>>> {
        let is_other = |found: &Found<Header>| matches!(found, Found::Whole(header) if header.kind != kind);
        let mut found = self.header(id)?;
        if found.as_ref().is_some_and(is_other) && self.places(id)?.len() > 1 {
            found = self.stream(id, &mut std::io::sink())?;
        }
        Ok(found.map(|found| match found {
            Found::Whole(header) => Found::Whole(header.kind == kind),
            Found::Deltified => Found::Deltified,
        }))
    }

    /// Reads an object into memory; `None` if no pack has it. Its size and its id are verified. If one pack's copy is
    /// damaged and another pack has a good one, that is the answer.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the bytes are not those of the object, [`Error::Io`] when they cannot be read.
    pub fn read(&self, id: &ObjectId) -> Result<Option<Found<Object>>> {
        self.ask_for_whole(|pack| {
            let Some(place) = pack.find(id)? else { return Ok(None) };
            let content = place.entry().content().map_err(pack.in_entry(*id))?;
            let Some((kind, content)) = content else { return deltified(pack, id).map(Some) };
            let mut hasher = ObjectHasher::new(kind, content.len() as u64);
            hasher.update(&content);
            verify(pack, id, hasher)?;
            Ok(Some(Found::Whole(Object { kind, content })))
        })
    }

    /// Writes the content of an object to `out` in bounded memory; `None` if no pack has it, and nothing is written.
    /// The id is verified at the end: after an error the caller throws away what was written.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the bytes are not those of the object, [`Error::Io`] when they cannot be read,
    /// [`Error::Sink`] when `out` fails.
    pub fn stream(&self, id: &ObjectId, out: &mut dyn Write) -> Result<Option<Found<Header>>> {
        let places = self.places(id)?;
        let [first, ..] = places.as_slice() else { return Ok(None) };
        // What was handed on cannot be taken back: of several copies the first whole one is found before, or a delta.
        let mut chosen = (places.len() == 1).then_some(first);
        for copy in places.iter().filter(|_| places.len() > 1) {
            match stream_entry(&copy.0, &copy.1, id, &mut std::io::sink()) {
                Ok(Found::Whole(_)) => {
                    chosen = Some(copy);
                    break;
                }
                Ok(Found::Deltified) => chosen = chosen.or(Some(copy)),
                Err(_) => {}
            }
        }
        let (pack, place) = chosen.unwrap_or(first);
        stream_entry(pack, place, id, out).map(Some)
    }

    /// Reads the object wherever it is until one copy proves to be whole, which is the answer; `None` if no pack has it.
    /// `out` gets what is read, of broken copies as well.
    ///
    /// # Errors
    /// As for [`PackSet::stream`], if no copy is whole.
    pub fn probe(&self, id: &ObjectId, out: &mut dyn Write) -> Result<Option<Found<Header>>> {
        let (mut is_delta, mut failed) = (false, None);
        for (pack, place) in self.places(id)? {
            match stream_entry(&pack, &place, id, out) {
                Ok(Found::Deltified) => is_delta = true,
                Err(err @ Error::Sink { .. }) => return Err(err),
                Err(err) => failed = failed.or(Some(err)),
                whole => return whole.map(Some),
            }
        }
        if is_delta { Ok(Some(Found::Deltified)) } else { failed.map_or(Ok(None), Err) }
    }

    /// Where the object is, in every pack that has it.
    fn places(&self, id: &ObjectId) -> Result<Vec<(Arc<Pack>, Place)>> {
        let places = RefCell::new(Vec::new());
        let all = self.ask(|pack| -> Result<Option<()>> {
            if let Some(place) = pack.find(id)? {
                places.borrow_mut().push((Arc::clone(pack), place));
            }
            Ok(None)
        });
        match (all, places.into_inner()) {
            (Err(err), places) if places.is_empty() => Err(err),
            (_, places) => Ok(places),
        }
    }

    /// Writes the content of an object to `out` as [`PackSet::stream`] does, from the pack `name` alone.
    ///
    /// # Errors
    /// As for [`PackSet::stream`]; [`Error::UnknownPack`] if the pack is not listed.
    pub fn stream_in(&self, name: &ObjectId, id: &ObjectId, out: &mut dyn Write) -> Result<Option<Found<Header>>> {
        let pack = self.pack(name)?;
        let Some(place) = pack.find(id)? else { return Ok(None) };
        stream_entry(&pack, &place, id, out).map(Some)
    }

    /// All ids in the pack `name`, in order.
    ///
    /// # Errors
    /// [`Error::UnknownPack`] if it is not listed, [`Error::Io`] or [`Error::Damaged`] when its idx cannot be read.
    pub fn ids(&self, name: &ObjectId) -> Result<impl Iterator<Item = ObjectId> + use<>> {
        let pack = self.pack(name)?;
        let ids = pack.ids()?;
        Ok(ids.into_iter())
    }

    /// All ids in all packs that `wanted` says yes to, in order, each once.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Damaged`] when an idx cannot be read.
    pub fn ids_where(&self, wanted: impl Fn(&ObjectId) -> bool) -> Result<BTreeSet<ObjectId>> {
        let found = RefCell::new(BTreeSet::new());
        self.ask(|pack| {
            let ids = pack.ids()?;
            found.borrow_mut().extend(ids.into_iter().filter(&wanted));
            Ok(None::<()>)
        })?;
        Ok(found.into_inner())
    }

    /// A listed pack.
    pub(crate) fn pack(&self, name: &ObjectId) -> Result<Arc<Pack>> {
        let listing = self.listing();
        let found = listing.packs.iter().find(|pack| pack.name == *name);
        found.cloned().ok_or(Error::UnknownPack { pack: *name })
    }

    /// The directory.
    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    fn listing(&self) -> Arc<Listing> {
        Arc::clone(&self.listing.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Like [`PackSet::ask`]; a whole object in one pack goes before a delta in another.
    fn ask_for_whole<T>(&self, question: impl Fn(&Arc<Pack>) -> Result<Option<Found<T>>>) -> Result<Option<Found<T>>> {
        let is_delta = Cell::new(false);
        let found = self.ask(|pack| {
            let found = question(pack)?;
            is_delta.set(is_delta.get() || matches!(found, Some(Found::Deltified)));
            Ok(found.filter(|found| matches!(found, Found::Whole(_))))
        });
        if is_delta.get() && !matches!(found, Ok(Some(_))) { Ok(Some(Found::Deltified)) } else { found }
    }

    /// Asks one pack after the other until one has an answer; again from the start if a pack is gone. An error of one
    /// pack counts only if no other has an answer.
    fn ask<T>(&self, question: impl Fn(&Arc<Pack>) -> Result<Option<T>>) -> Result<Option<T>> {
        let mut listings = 0;
        'listed: loop {
            let mut failed = None;
            for pack in &self.listing().packs {
                match question(pack) {
                    Ok(None) => {}
                    Err(err) if err.is_vanished() && listings < LISTINGS => {
                        listings += 1;
                        self.refresh()?;
                        continue 'listed;
                    }
                    Err(err) => failed = failed.or(Some(err)),
                    answer => return answer,
                }
            }
            return failed.map_or(Ok(None), Err);
        }
    }
}

fn stream_entry(pack: &Pack, place: &Place, id: &ObjectId, out: &mut dyn Write) -> Result<Found<Header>> {
    /// Either side of the stream can fail.
    enum Stop {
        Fault(Fault),
        Sink(Error),
    }
    impl From<Fault> for Stop {
        fn from(fault: Fault) -> Self {
            Self::Fault(fault)
        }
    }

    let small = place.entry().small_content().map_err(pack.in_entry(*id))?;
    if let Some((kind, content)) = small {
        let size = content.len() as u64;
        let mut hasher = ObjectHasher::new(kind, size);
        hasher.update(&content);
        verify(pack, id, hasher)?;
        out.write_all(&content).map_err(|source| Error::Sink { id: *id, source })?;
        return Ok(Found::Whole(Header { kind, size }));
    }
    let header = place.entry().header().map_err(pack.in_entry(*id))?;
    let Some(kind) = header.kind else { return deltified(pack, id) };
    let mut hasher = ObjectHasher::new(kind, header.size);
    let streamed = place.entry().stream(&header, &mut |piece| {
        hasher.update(piece);
        out.write_all(piece).map_err(|source| Stop::Sink(Error::Sink { id: *id, source }))
    });
    match streamed {
        Ok(()) => {}
        Err(Stop::Fault(fault)) => return Err(pack.in_entry(*id)(fault)),
        Err(Stop::Sink(err)) => return Err(err),
    }
    verify(pack, id, hasher)?;
    Ok(Found::Whole(Header { kind, size: header.size }))
}

/// What the header of an entry means that says it is a delta: one of stock git, or, where no delta was ever written, a rotten
/// one.
fn deltified<T>(pack: &Pack, id: &ObjectId) -> Result<Found<T>> {
    if pack.ours {
        return Err(pack.damaged(Some(*id), "it says that it is a delta, and no pack of ours has any"));
    }
    Ok(Found::Deltified)
}

fn verify(pack: &Pack, id: &ObjectId, hasher: ObjectHasher) -> Result<()> {
    let found = hasher.finish().map_err(|_| pack.damaged(Some(*id), "it carries a SHA-1 collision attack"))?;
    if found != *id {
        return Err(pack.damaged(Some(*id), format!("its content hashes to {found}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What core hands from thread to thread.
    #[test]
    fn sets_are_shared_and_writers_are_sent() {
        fn shared<T: Send + Sync>() {}
        fn sent<T: Send>() {}
        shared::<PackSet>();
        shared::<crate::Encoded<'_>>();
        sent::<crate::Encoder>();
        sent::<crate::PackWriter>();
        sent::<crate::FinishedPack>();
    }
}
