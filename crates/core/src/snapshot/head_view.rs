//! Head's entries, directory by directory, read only where a walk asks.

use std::sync::{Arc, OnceLock};

use crate::Result;
use crate::objects::Objects;
use crate::state::{Entry, Listing, Node};

/// A directory of head beside the directory that is walked.
pub(crate) struct HeadDir {
    parent: Option<Arc<HeadDir>>,
    name: Vec<u8>,
    root: Option<Node>,
    listing: OnceLock<Option<Arc<Listing>>>,
}

impl HeadDir {
    /// The root; `None` while nothing is saved.
    pub(crate) fn root(head: Option<Node>) -> Arc<Self> {
        Arc::new(Self { parent: None, name: Vec::new(), root: head, listing: OnceLock::new() })
    }

    /// The directory `name` in it, whether head has one or not.
    pub(crate) fn child(self: &Arc<Self>, name: &[u8]) -> Arc<Self> {
        Arc::new(Self { parent: Some(Arc::clone(self)), name: name.to_vec(), root: None, listing: OnceLock::new() })
    }

    /// Its entries; `None` when head has no such directory.
    pub(crate) fn listing(&self, objects: &Objects) -> Result<Option<Arc<Listing>>> {
        if let Some(listing) = self.listing.get() {
            return Ok(listing.clone());
        }
        // From the nearest ancestor that is known downwards: a loop, since the worktree may be 2,000 levels deep.
        let mut chain = vec![self];
        let mut at = self;
        while let Some(parent) = at.parent.as_deref() {
            chain.push(parent);
            if parent.listing.get().is_some() {
                break;
            }
            at = parent;
        }
        let mut known: Option<Arc<Listing>> = None;
        for dir in chain.into_iter().rev() {
            if let Some(listing) = dir.listing.get() {
                known.clone_from(listing);
                continue;
            }
            let node = match &dir.parent {
                None => dir.root.clone(),
                Some(_) => known.as_ref().and_then(|above| above.get(&dir.name)).and_then(|entry| entry.dir.clone()),
            };
            known = node.map(|node| node.load(objects)).transpose()?;
            known = dir.listing.get_or_init(|| known).clone();
        }
        Ok(known)
    }

    /// The directory above it; `None` for the root.
    pub(crate) fn parent(&self) -> Option<&Self> {
        self.parent.as_deref()
    }

    /// Head's entry `name` in this directory.
    pub(crate) fn entry(&self, objects: &Objects, name: &[u8]) -> Result<Option<Entry>> {
        Ok(self.listing(objects)?.and_then(|listing| listing.get(name).cloned()))
    }
}
