//! Ignore files of one kind, from the deepest outwards.

use std::cell::OnceCell;
use std::sync::{Arc, OnceLock};

use super::files::{RuleContent, RuleFile};
use super::pattern::{Decision, Patterns};

/// An entry that is asked about.
pub(super) struct Entry<'a> {
    dir: &'a [u8],
    /// Its name: one component.
    pub(super) name: &'a [u8],
    /// Whether it is a directory; a link to one is none.
    pub(super) is_dir: bool,
    /// `dir` and `name`, joined when first needed: most patterns look at names only.
    path: OnceCell<Vec<u8>>,
}

impl<'a> Entry<'a> {
    /// The entry `name` in `dir`, which is empty or ends in `/`.
    pub(super) fn new(dir: &'a [u8], name: &'a [u8], is_dir: bool) -> Self {
        Self { dir, name, is_dir, path: OnceCell::new() }
    }

    /// Its path without the first `base` bytes, which end in `dir`.
    pub(super) fn path_below(&self, base: usize) -> &[u8] {
        &self.path.get_or_init(|| [self.dir, self.name].concat())[base..]
    }
}

/// Patterns of one file, compiled at the first question.
struct LazyPatterns {
    content: RuleContent,
    compiled: OnceLock<Patterns>,
}

impl LazyPatterns {
    fn get(&self) -> &Patterns {
        self.compiled.get_or_init(|| match &self.content {
            RuleContent::Bytes(bytes) => Patterns::parse(bytes),
            RuleContent::Load(load) => Patterns::parse(&load()),
        })
    }
}

struct Link {
    patterns: LazyPatterns,
    /// Length of the part of every path below that ends at the directory of the file.
    base: usize,
    outer: Chain,
}

/// Ignore files that hold in one directory. Cheap to clone; directories share what they inherit.
#[derive(Clone, Default)]
pub(super) struct Chain(Option<Arc<Link>>);

impl Chain {
    /// The chain with a file before all others; itself if there is none. `base` is the length of the path of the file's
    /// directory, its last `/` included.
    pub(super) fn with(&self, file: Option<RuleFile>, base: usize) -> Self {
        match file {
            Some(file) => self.with_content(file.content, base),
            None => self.clone(),
        }
    }

    /// As [`Chain::with`].
    pub(super) fn with_content(&self, content: RuleContent, base: usize) -> Self {
        let patterns = LazyPatterns { content, compiled: OnceLock::new() };
        Self(Some(Arc::new(Link { patterns, base, outer: self.clone() })))
    }

    /// What the first file says that says anything.
    pub(super) fn decide(&self, entry: &Entry<'_>) -> Option<Decision> {
        let mut next = self;
        while let Some(link) = &next.0 {
            if let Some(decision) = link.patterns.get().decide(entry, link.base) {
                return Some(decision);
            }
            next = &link.outer;
        }
        None
    }
}
