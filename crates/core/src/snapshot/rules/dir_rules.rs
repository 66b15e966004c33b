//! The rules as they stand in one directory.

use std::sync::Arc;

use super::Verdict;
use super::chain::{Chain, Entry};
use super::files::RuleFiles;
use super::pattern::Decision;

/// The rules of one directory: what it inherits and its own files.
pub(crate) struct DirRules {
    /// Path of the directory from the outermost directory that has rules, which may be above the worktree. Empty or
    /// ends in `/`.
    path: Vec<u8>,
    ckptignore: Chain,
    gitignore: Chain,
    exclude: Chain,
    are_known: bool,
    signature: u64,
}

impl DirRules {
    /// The rules above the worktree's root, which is at `path`.
    pub(super) fn above(path: Vec<u8>, gitignore: Chain, exclude: Chain, signature: u64) -> Self {
        Self { path, ckptignore: Chain::default(), gitignore, exclude, are_known: true, signature }
    }

    /// The rules in the child directory `name`, or, with an empty name, in the worktree's root itself.
    pub(crate) fn enter(&self, name: &[u8], files: RuleFiles) -> Arc<Self> {
        let mut path = Vec::with_capacity(self.path.len() + name.len() + 1);
        path.extend_from_slice(&self.path);
        if !name.is_empty() {
            path.extend_from_slice(name);
            path.push(b'/');
        }
        let base = path.len();
        Arc::new(Self {
            signature: files.signature(self.signature, &path),
            are_known: self.are_known && !files.lacks_exclude,
            ckptignore: self.ckptignore.with(files.ckptignore, base),
            gitignore: self.gitignore.with(files.repo_exclude, base).with(files.gitignore, base),
            exclude: self.exclude.clone(),
            path,
        })
    }

    /// Changes when a verdict on anything in this directory may have changed. A directory without rule files has its
    /// parent's, so that two directories can share one: it is to be kept together with the directory's path.
    pub(crate) fn signature(&self) -> u64 {
        self.signature
    }

    /// Whether all rules are known. Where they are not, a verdict may take in what should be left out.
    pub(crate) fn are_known(&self) -> bool {
        self.are_known
    }

    /// Judges the entry `name` of this directory; a link to a directory is no directory.
    ///
    /// It says nothing about entries below an ignored or excluded directory: these are not asked about, and a `!` there
    /// brings nothing back, as in Git.
    pub(crate) fn judge(&self, name: &[u8], is_dir: bool) -> Verdict {
        let entry = Entry::new(&self.path, name, is_dir);
        let decision = self.ckptignore.decide(&entry).or_else(|| self.gitignore.decide(&entry));
        if decision == Some(Decision::Ignore) {
            Verdict::Ignored
        } else if self.exclude.decide(&entry) == Some(Decision::Ignore) {
            Verdict::Excluded
        } else {
            Verdict::Captured
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use ckpt_pack::ObjectId;

    use super::super::{RuleContent, RuleFile, RuleOptions, Rules};
    use super::{DirRules, RuleFiles, Verdict};

    fn file(text: &str) -> Option<RuleFile> {
        let mut id = [0; 20];
        id.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..20]);
        Some(RuleFile { id: ObjectId::from_bytes(id), content: RuleContent::Bytes(text.into()) })
    }

    fn gitignore(text: &str) -> RuleFiles {
        RuleFiles { gitignore: file(text), ..RuleFiles::default() }
    }

    fn ckptignore(text: &str) -> RuleFiles {
        RuleFiles { ckptignore: file(text), ..RuleFiles::default() }
    }

    /// Rules above a worktree that has the given excludes and nothing else.
    fn above(exclude: &[&str]) -> Arc<DirRules> {
        let exclude = exclude.iter().map(|&glob| glob.to_owned()).collect();
        Rules::with(RuleOptions { exclude, ..RuleOptions::default() }, Vec::new()).above_root()
    }

    #[test]
    fn deepest_gitignore_decides() {
        let root = above(&[]).enter(b"", gitignore("*.log\n/a/x\n"));
        let a = root.enter(b"a", gitignore("!keep.log\n/y\n"));
        assert_eq!(root.judge(b"keep.log", false), Verdict::Ignored);
        assert_eq!(a.judge(b"keep.log", false), Verdict::Captured);
        assert_eq!(a.judge(b"other.log", false), Verdict::Ignored);
        assert_eq!(a.judge(b"x", false), Verdict::Ignored);
        assert_eq!(root.judge(b"y", false), Verdict::Captured);
        assert_eq!(a.judge(b"y", false), Verdict::Ignored);
        assert_eq!(a.enter(b"b", RuleFiles::default()).judge(b"y", false), Verdict::Captured);
    }

    #[test]
    fn ckptignore_outranks_every_gitignore() {
        let root = above(&[]).enter(b"", ckptignore("!secret\nnotes\n"));
        let a = root.enter(b"a", gitignore("secret\n!notes\n"));
        assert_eq!(a.judge(b"secret", false), Verdict::Captured);
        assert_eq!(a.judge(b"notes", false), Verdict::Ignored);
        let b = a.enter(b"b", ckptignore("secret\n!notes\n"));
        assert_eq!(b.judge(b"secret", false), Verdict::Ignored);
        assert_eq!(b.judge(b"notes", false), Verdict::Captured);
    }

    #[test]
    fn excludes_are_the_users_last_word() {
        let root = above(&["*.bin", "!small.bin", "/top", "a/deep"]).enter(b"", ckptignore("!big.bin\nsmall.bin\n"));
        assert_eq!(root.judge(b"big.bin", false), Verdict::Excluded);
        assert_eq!(root.judge(b"small.bin", false), Verdict::Ignored);
        assert_eq!(root.judge(b"top", true), Verdict::Excluded);
        let a = root.enter(b"a", gitignore("!deep\n"));
        assert_eq!(a.judge(b"top", true), Verdict::Captured);
        assert_eq!(a.judge(b"deep", false), Verdict::Excluded);
    }

    #[test]
    fn exclude_of_a_nested_repository_ranks_below_its_gitignore() {
        let root = above(&[]).enter(b"", gitignore("out\n"));
        let files = RuleFiles { repo_exclude: file("!out\n*.tmp\n"), ..gitignore("!keep.tmp\n") };
        let nested = root.enter(b"nested", files);
        assert_eq!(nested.judge(b"out", true), Verdict::Captured);
        assert_eq!(nested.judge(b"a.tmp", false), Verdict::Ignored);
        assert_eq!(nested.judge(b"keep.tmp", false), Verdict::Captured);
    }

    #[test]
    fn content_is_loaded_once_and_only_for_a_question() {
        let loads = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&loads);
        let load = Box::new(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            b"a\n".to_vec()
        });
        let id = ObjectId::from_bytes([1; 20]);
        let gitignore = Some(RuleFile { id, content: RuleContent::Load(load) });
        let root = above(&[]).enter(b"", RuleFiles { gitignore, ..RuleFiles::default() });
        let below = root.enter(b"x", RuleFiles::default());
        assert_eq!(loads.load(Ordering::Relaxed), 0);
        assert_eq!(below.judge(b"a", false), Verdict::Ignored);
        assert_eq!(root.judge(b"b", false), Verdict::Captured);
        assert_eq!(loads.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn signature_follows_the_files_and_their_place() {
        let root = above(&[]).enter(b"", RuleFiles::default());
        let plain = root.enter(b"a", RuleFiles::default());
        assert_eq!(plain.signature(), above(&[]).signature());
        assert_ne!(above(&["x"]).signature(), above(&[]).signature());

        let a = root.enter(b"a", gitignore("x\n"));
        assert_ne!(a.signature(), plain.signature());
        assert_ne!(a.signature(), root.enter(b"a", gitignore("y\n")).signature());
        assert_ne!(a.signature(), root.enter(b"a", ckptignore("x\n")).signature());
        // The same file, moved one level down, judges a/b by other paths.
        let inherited = a.enter(b"b", RuleFiles::default());
        let own = plain.enter(b"b", gitignore("x\n"));
        assert_ne!(inherited.signature(), own.signature());
    }
}
