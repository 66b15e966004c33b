//! Where a restore goes, and what that state says about paths that it does not hold.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use ckpt_pack::Kind;

use super::Restore;
use crate::objects::Objects;
use crate::path::split;
use crate::snapshot::rules::{DirRules, RuleContent, RuleFile, RuleFiles, Rules, Verdict};
use crate::state::{self, Listing, Node};
use crate::{EntryKind, LeftAloneReason, Reason, Result};

/// The state that is restored, with the rules and omissions that go with it.
pub(crate) struct Target<'a> {
    objects: &'a Objects,
    /// What the files shall be.
    pub(crate) state: Node,
    /// The saved state whose rules and omissions speak for paths that it does not hold.
    pub(crate) reference: Node,
    rules: &'a Rules,
    /// Whether it says of every path that it lacks that nothing was there.
    is_exact: bool,
    dirs: RefCell<HashMap<Vec<u8>, Arc<DirRules>>>,
}

impl<'a> Target<'a> {
    pub(crate) fn new(objects: &'a Objects, state: Node, restore: &Restore<'a>) -> Self {
        let (reference, is_exact) = (restore.reference.clone(), restore.taken_back.is_some());
        Self { objects, state, reference, rules: restore.rules, is_exact, dirs: RefCell::default() }
    }

    /// Why the target says nothing about a path that it does not hold; `None` where it says that nothing was there.
    pub(crate) fn silent_about(&self, path: &[u8], is_dir: bool) -> Result<Option<LeftAloneReason>> {
        if self.is_exact {
            return Ok(None);
        }
        let mut start = 0;
        let mut listing = Some(self.reference.load(self.objects)?);
        loop {
            let end = path[start..].iter().position(|&byte| byte == b'/').map_or(path.len(), |at| start + at);
            let name = &path[start..end];
            let known = listing.as_ref().and_then(|listing| listing.omission(name));
            if known.is_some_and(|reason| reason != Reason::Unstable) {
                return Ok(Some(LeftAloneReason::OmittedInTarget));
            }
            let is_dir = is_dir || end < path.len();
            let dir = &path[..start.saturating_sub(1)];
            if self.rules_in(dir)?.judge(name, is_dir) != Verdict::Captured {
                return Ok(Some(LeftAloneReason::IgnoredInTarget));
            }
            if end == path.len() {
                return Ok(None);
            }
            listing = self.below(listing.as_deref(), name)?;
            start = end + 1;
        }
    }

    /// Whether the target has for the path, or a directory above it, what was known before it could not be looked at.
    /// What a rule left out is not meant: where the target holds such a path all the same, it holds it as it stood.
    pub(crate) fn omits(&self, path: &[u8]) -> Result<bool> {
        Ok(self.silent_about_omission(path)?.is_some())
    }

    fn silent_about_omission(&self, path: &[u8]) -> Result<Option<Reason>> {
        let mut listing = Some(self.reference.load(self.objects)?);
        for name in path.split(|&byte| byte == b'/') {
            let Some(current) = &listing else { return Ok(None) };
            let is_kept = |reason: &Reason| matches!(reason, Reason::Unreadable | Reason::Unmounted);
            if let Some(reason) = current.omission(name).filter(is_kept) {
                return Ok(Some(reason));
            }
            listing = self.below(listing.as_deref(), name)?;
        }
        Ok(None)
    }

    fn below(&self, listing: Option<&Listing>, name: &[u8]) -> Result<Option<Arc<Listing>>> {
        let dir = listing.and_then(|listing| listing.get(name)).and_then(|entry| entry.dir.clone());
        dir.map(|dir| dir.load(self.objects)).transpose()
    }

    /// The rules in the directory `path` as the target's own ignore files have it.
    fn rules_in(&self, path: &[u8]) -> Result<Arc<DirRules>> {
        if let Some(known) = self.dirs.borrow().get(path) {
            return Ok(Arc::clone(known));
        }
        // Upwards to what is known, then down again: no recursion, since paths may have 2,000 levels.
        let mut missing = vec![path];
        let mut rules = loop {
            let at = missing.last().copied().unwrap_or_default();
            if at.is_empty() {
                break self.rules.above_root();
            }
            let parent = split(at).0;
            if let Some(known) = self.dirs.borrow().get(parent) {
                break Arc::clone(known);
            }
            missing.push(parent);
        };
        for dir in missing.into_iter().rev() {
            rules = rules.enter(split(dir).1, self.rule_files(dir)?);
            self.dirs.borrow_mut().insert(dir.to_vec(), Arc::clone(&rules));
        }
        Ok(rules)
    }

    fn rule_files(&self, dir: &[u8]) -> Result<RuleFiles> {
        let listing = if dir.is_empty() {
            Some(self.reference.load(self.objects)?)
        } else {
            let entry = state::find(self.objects, &self.reference, dir)?;
            entry.and_then(|entry| entry.dir).map(|dir| dir.load(self.objects)).transpose()?
        };
        let file = |name: &[u8]| -> Result<Option<RuleFile>> {
            let entry = listing.as_ref().and_then(|listing| listing.get(name));
            let Some(entry) = entry.filter(|entry| entry.kind == EntryKind::File) else { return Ok(None) };
            let content = RuleContent::Bytes(self.objects.read_kind(entry.id, Kind::Blob)?);
            Ok(Some(RuleFile { id: entry.id, content }))
        };
        let (gitignore, ckptignore) = (file(b".gitignore")?, file(b".ckptignore")?);
        Ok(RuleFiles { gitignore, ckptignore, ..RuleFiles::default() })
    }
}
