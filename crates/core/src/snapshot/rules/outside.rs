//! The rules from outside the tree.

use std::sync::Arc;

use super::chain::Chain;
use super::pattern::Pattern;
use super::{DirRules, RuleContent, RuleOptions, digest};

/// Kind of a rule file above the worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AboveKind {
    /// `.gitignore`.
    Gitignore,
    /// `info/exclude` of the enclosing repository.
    Exclude,
}

/// A rule file above the worktree, or the `info/exclude` of the repository that it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AboveFile {
    /// Path of the worktree, relative to the directory that the file's patterns start from; empty where it is that
    /// directory, else without `/` at its ends.
    pub(super) worktree: Vec<u8>,
    pub(super) kind: AboveKind,
    pub(super) content: Vec<u8>,
}

impl AboveFile {
    /// [`AboveFile::worktree`] as the beginning of a path: empty or with a `/` at its end.
    fn prefix(&self) -> Vec<u8> {
        let mut prefix = self.worktree.clone();
        if !prefix.is_empty() {
            prefix.push(b'/');
        }
        prefix
    }
}

/// The rules from outside the tree: the `.gitignore` files from the root of the enclosing Git repository down to the
/// parent of the worktree's root, the repository's `info/exclude`, and the options.
pub(crate) struct Rules {
    pub(super) options: RuleOptions,
    /// Lowest rank, so outermost, first. Each path of the worktree ends with that of the next one.
    pub(super) above: Vec<AboveFile>,
    above_root: Arc<DirRules>,
}

/// Nothing from above, and the default options.
impl Default for Rules {
    fn default() -> Self {
        Self::with(RuleOptions::default(), Vec::new())
    }
}

impl Rules {
    /// Rules of these parts; globs that are none ([`is_glob`]) are dropped.
    pub(super) fn with(mut options: RuleOptions, above: Vec<AboveFile>) -> Self {
        options.exclude.retain(|glob| is_glob(glob));
        let root = above.first().map(AboveFile::prefix).unwrap_or_default();
        let gitignore = above.iter().fold(Chain::default(), |chain, file| {
            let base = root.len() - file.prefix().len();
            chain.with_content(RuleContent::Bytes(file.content.clone()), base)
        });
        let globs = options.exclude.join("\n");
        let exclude = Chain::default().with_content(RuleContent::Bytes(globs.into_bytes()), root.len());
        let mut hasher = blake3::Hasher::new();
        hasher.update(&super::encoding::encode(&options, &above));
        let above_root = Arc::new(DirRules::above(root, gitignore, exclude, digest(&hasher)));
        Self { options, above, above_root }
    }

    /// The options that hold: those that were given, without bad globs.
    pub(crate) fn options(&self) -> &RuleOptions {
        &self.options
    }

    /// Changes when anything here changes.
    #[cfg(test)]
    pub(crate) fn signature(&self) -> u64 {
        self.above_root.signature()
    }

    /// What the worktree's root inherits. [`DirRules::enter`] it with an empty name and the root's own files.
    pub(crate) fn above_root(&self) -> Arc<DirRules> {
        Arc::clone(&self.above_root)
    }
}

/// Whether `glob` is one line that can match something.
pub(super) fn is_glob(glob: &str) -> bool {
    !glob.contains(['\n', '\0']) && Pattern::parse(glob.as_bytes()).is_some()
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::{AboveFile, AboveKind, RuleOptions, Rules, is_glob};

    #[test]
    fn what_is_no_glob() {
        for glob in ["", " ", "#a", "!", "/", "[a", "a\\", "a\nb", "a\0"] {
            assert!(!is_glob(glob), "{glob:?}");
        }
        assert!(is_glob("!a") && is_glob("**/x/") && is_glob("\\#a"));
    }

    #[test]
    fn patterns_from_above_start_at_their_directory() {
        let file = |worktree: &str, kind, content: &str| AboveFile {
            worktree: worktree.into(),
            kind,
            content: content.into(),
        };
        let above = vec![
            file("a/w", AboveKind::Exclude, "/a/w/one\n*.o\n"),
            file("a/w", AboveKind::Gitignore, "/w\n/a/w/two\n/a/w/x/three\n!keep.o\n"),
            file("w", AboveKind::Gitignore, "/w/four\n!/w/one\n"),
        ];
        let root = Rules::with(RuleOptions::default(), above).above_root().enter(b"", Default::default());
        let x = root.enter(b"x", Default::default());
        let verdicts = |names: [&str; 6]| names.map(|name| root.judge(name.as_bytes(), false) == Verdict::Ignored);
        assert_eq!(verdicts(["one", "two", "four", "a.o", "keep.o", "w"]), [false, true, true, true, false, false]);
        assert_eq!(x.judge(b"three", false), Verdict::Ignored);
        assert_eq!(x.judge(b"two", false), Verdict::Captured);
    }
}
