//! Directories of states that were read from a store, kept in memory while they are few.

use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;

use crate::Result;
use crate::state::{Listing, Stored};

/// Entries that are kept, of all directories together: some 8 MB.
const ENTRIES: usize = 1 << 16;
/// Directories that are kept however large they are: a restore asks for one of them once for each of its entries.
const DIRS: usize = 4;

/// The directories that were asked for last. Shared by threads.
pub(crate) struct Listings(Mutex<Kept>);

struct Kept {
    dirs: LruCache<Stored, Arc<Listing>>,
    entries: usize,
}

impl Listings {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Kept { dirs: LruCache::unbounded(), entries: 0 }))
    }

    /// A directory that was read before, or `read` now. Restores and comparisons ask for the same ones path by path.
    pub(crate) fn get(&self, stored: Stored, read: impl FnOnce() -> Result<Listing>) -> Result<Arc<Listing>> {
        if let Some(known) = self.0.lock().unwrap_or_else(PoisonError::into_inner).dirs.get(&stored) {
            return Ok(Arc::clone(known));
        }
        let listing = Arc::new(read()?);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).put(stored, Arc::clone(&listing));
        Ok(listing)
    }
}

impl Kept {
    fn put(&mut self, stored: Stored, listing: Arc<Listing>) {
        self.entries += listing.entries.len();
        let before = self.dirs.put(stored, listing);
        self.entries -= before.map_or(0, |before| before.entries.len());
        while self.entries > ENTRIES && self.dirs.len() > DIRS {
            let Some((_, oldest)) = self.dirs.pop_lru() else { break };
            self.entries -= oldest.entries.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObjectId;
    use crate::state::{Defaults, Entry, EntryKind};

    #[test]
    fn the_last_ones_are_kept_and_four_however_large() {
        let listings = Listings::new();
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
            assert_eq!(listings.get(stored, read).unwrap().entries.len(), entries);
            was_read
        };
        for number in 0..8 {
            assert!(was_read(number, ENTRIES / 8));
        }
        assert!(!was_read(0, ENTRIES / 8));
        assert!(was_read(8, 1), "the one after the least recent");
        assert!(!was_read(0, ENTRIES / 8) && was_read(1, ENTRIES / 8));
        for number in 10..14 {
            assert!(was_read(number, 2 * ENTRIES));
        }
        assert!((10..14).all(|number| !was_read(number, 2 * ENTRIES)));
    }
}
