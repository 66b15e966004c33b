//! What is ignored, by a simple reading of the rules: names, `*.ext`, `/name`, `dir/`, `!`.

use super::disk::{Bytes, Entry, Files, above, join, split};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Captured,
    Ignored,
    Excluded,
}

/// The rules from outside the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outside {
    pub(crate) exclude: Vec<&'static str>,
    pub(crate) max_file_bytes: u64,
    /// `info/exclude` of the repository at the root.
    pub(crate) root_exclude: Option<Bytes>,
}

/// Whose rules hold: the ignore files among `files`, and those from outside.
#[derive(Clone, Copy)]
pub(crate) struct Rules<'a> {
    pub(crate) files: &'a Files,
    pub(crate) outside: &'a Outside,
    /// Whether `files` are a disk, where nested repositories have an `info/exclude`.
    pub(crate) is_disk: bool,
}

impl Rules<'_> {
    /// Judges one path by itself; what holds for the directories above it is the caller's affair.
    pub(crate) fn judge(&self, path: &[u8], is_dir: bool) -> Verdict {
        let (parent, _) = split(path);
        let mut dirs = above(parent);
        if !parent.is_empty() {
            dirs.push(parent);
        }
        dirs.insert(0, b"");
        dirs.reverse();
        let in_files = |name: &[u8], with_exclude: bool| {
            dirs.iter().find_map(|dir| {
                let own = self.file(&join(dir, name)).and_then(|text| decide(text, dir, path, is_dir));
                own.or_else(|| if with_exclude { self.repo_exclude(dir, path, is_dir) } else { None })
            })
        };
        if in_files(b".ckptignore", false).or_else(|| in_files(b".gitignore", true)) == Some(true) {
            return Verdict::Ignored;
        }
        let exclude = self.outside.exclude.join("\n");
        match decide(exclude.as_bytes(), b"", path, is_dir) {
            Some(true) => Verdict::Excluded,
            _ => Verdict::Captured,
        }
    }

    fn file(&self, path: &[u8]) -> Option<&[u8]> {
        match self.files.get(path) {
            Some(Entry::File { bytes, .. }) => Some(bytes),
            _ => None,
        }
    }

    fn repo_exclude(&self, dir: &[u8], path: &[u8], is_dir: bool) -> Option<bool> {
        let text = if dir.is_empty() {
            self.outside.root_exclude.as_deref()?
        } else if self.is_disk {
            self.file(&join(dir, b".git/info/exclude"))?
        } else {
            return None;
        };
        decide(text, dir, path, is_dir)
    }
}

/// What the ignore file in `dir` says: the last line that matches decides.
fn decide(text: &[u8], dir: &[u8], path: &[u8], is_dir: bool) -> Option<bool> {
    text.split(|&byte| byte == b'\n').rev().find_map(|line| {
        let (ignore, line) = line.strip_prefix(b"!").map_or((true, line), |rest| (false, rest));
        let (dirs_only, line) = line.strip_suffix(b"/").map_or((false, line), |rest| (true, rest));
        let (here_only, line) = line.strip_prefix(b"/").map_or((false, line), |rest| (true, rest));
        let (parent, name) = split(path);
        let matches = !line.is_empty()
            && (is_dir || !dirs_only)
            && (!here_only || parent == dir)
            && line.strip_prefix(b"*").map_or(name == line, |suffix| name.ends_with(suffix));
        matches.then_some(ignore)
    })
}
