//! What was read of states last, kept in memory: directories while they are few, and the ids in facts commits.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;

use crate::state::{FactsIds, Listing, Stored};
use crate::{ObjectId, Result};

/// Entries that are kept, of all directories together: some 8 MB.
const ENTRIES: usize = 1 << 16;
/// Directories that are kept however large they are: a restore asks for one of them once for each of its entries.
const DIRS: usize = 4;

/// Facts commits that are kept: a command asks for that of head several times.
const FACTS: NonZeroUsize = NonZeroUsize::new(16).expect("it is not zero");

/// What was asked for last. Shared by threads.
pub(crate) struct Recent {
    dirs: Mutex<Dirs>,
    facts: Mutex<LruCache<ObjectId, FactsIds>>,
}

struct Dirs {
    dirs: LruCache<Stored, Arc<Listing>>,
    entries: usize,
}

impl Recent {
    pub(crate) fn new() -> Self {
        let dirs = Dirs { dirs: LruCache::unbounded(), entries: 0 };
        Self { dirs: Mutex::new(dirs), facts: Mutex::new(LruCache::new(FACTS)) }
    }

    /// Forgets all of it: what was read long ago says nothing of what can be read now.
    pub(crate) fn forget(&self) {
        let mut dirs = self.dirs.lock().unwrap_or_else(PoisonError::into_inner);
        dirs.dirs.clear();
        dirs.entries = 0;
        drop(dirs);
        self.facts.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// A directory that was read before, or `read` now. Restores and comparisons ask for the same ones path by path.
    pub(crate) fn listing(&self, stored: Stored, read: impl FnOnce() -> Result<Listing>) -> Result<Arc<Listing>> {
        if let Some(known) = self.dirs.lock().unwrap_or_else(PoisonError::into_inner).dirs.get(&stored) {
            return Ok(Arc::clone(known));
        }
        let listing = Arc::new(read()?);
        self.dirs.lock().unwrap_or_else(PoisonError::into_inner).put(stored, Arc::clone(&listing));
        Ok(listing)
    }

    /// What the facts commit `id` holds, read before or now.
    pub(crate) fn facts(&self, id: ObjectId, read: impl FnOnce() -> Result<FactsIds>) -> Result<FactsIds> {
        if let Some(known) = self.facts.lock().unwrap_or_else(PoisonError::into_inner).get(&id) {
            return Ok(*known);
        }
        let facts = read()?;
        self.facts.lock().unwrap_or_else(PoisonError::into_inner).put(id, facts);
        Ok(facts)
    }
}

impl Dirs {
    fn put(&mut self, stored: Stored, listing: Arc<Listing>) {
        self.entries += size(&listing);
        let before = self.dirs.put(stored, listing);
        self.entries -= before.map_or(0, |before| size(&before));
        while self.entries > ENTRIES && self.dirs.len() > DIRS {
            let Some((_, oldest)) = self.dirs.pop_lru() else { break };
            self.entries -= size(&oldest);
        }
    }
}

/// What a directory counts for; an empty one is something too.
fn size(listing: &Listing) -> usize {
    listing.entries.len() + listing.omitted.len() + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{Defaults, Entry, EntryKind};

    #[test]
    fn the_last_ones_are_kept_and_four_however_large() {
        let recent = Recent::new();
        let entry = Entry { name: Vec::new(), kind: EntryKind::File, mode: 0o644, id: ObjectId::ZERO, dir: None };
        let was_read = |number: u8, entries: usize| {
            let stored =
                Stored { tree: ObjectId::from_bytes([number; 20]), facts: None, inherited: Defaults::default() };
            let mut was_read = false;
            let read = || {
                was_read = true;
                let mut listing = Listing::default();
                listing.entries = vec![entry.clone(); entries];
                Ok(listing)
            };
            assert_eq!(recent.listing(stored, read).unwrap().entries.len(), entries);
            was_read
        };
        for number in 0..8 {
            assert!(was_read(number, ENTRIES / 8 - 1));
        }
        assert!(!was_read(0, ENTRIES / 8 - 1));
        assert!(was_read(8, 1), "the one after the least recent");
        assert!(!was_read(0, ENTRIES / 8 - 1) && was_read(1, ENTRIES / 8 - 1));
        for number in 10..14 {
            assert!(was_read(number, 2 * ENTRIES));
        }
        assert!((10..14).all(|number| !was_read(number, 2 * ENTRIES)));
    }
}
