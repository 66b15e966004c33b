//! What a restore must make of a worktree.
//!
//! A path that the target has is brought to what it is there, unless what stands in its way cannot be held: a socket,
//! or a directory with a `.git` or another thing that no checkpoint takes. A path that the target lacks goes only if it
//! would be captured now and the target would have captured it: a directory only with everything in it.

use std::collections::BTreeSet;

use super::disk::{Bytes, Entry, Files, above, children, is_in, remove, split};
use super::restore::TakenBack;
use super::state::{State, is_reserved};

/// Where a restore goes.
pub(crate) struct Goal<'a> {
    pub(crate) target: &'a Files,
    /// Whose rules and omissions speak for what the target lacks.
    pub(crate) reference: &'a State,
    /// What stands in the worktree and is captured.
    pub(crate) captured: &'a Files,
    /// Where an operation is taken back: no rule speaks for what the target lacks.
    pub(crate) taken_back: Option<&'a TakenBack>,
}

/// What stands afterwards.
pub(crate) struct Prediction {
    pub(crate) files: Files,
    pub(crate) conflicts: BTreeSet<Bytes>,
    /// Entries as they stood, that must be held whatever the rules say.
    pub(crate) held: Files,
}

impl Prediction {
    pub(crate) fn new(disk: &Files) -> Self {
        Self { files: disk.clone(), conflicts: BTreeSet::new(), held: Files::new() }
    }
}

impl Goal<'_> {
    /// Brings everything in `dir` to the target.
    pub(crate) fn visit_all(&self, dir: &[u8], out: &mut Prediction) {
        let names: BTreeSet<Bytes> = children(&out.files, dir).into_iter().chain(children(self.target, dir)).collect();
        for path in names {
            self.visit(&path, out);
        }
    }

    /// Brings `path` to the target, with the directories that it needs.
    pub(crate) fn visit_named(&self, path: &[u8], out: &mut Prediction) {
        if self.target.contains_key(path) {
            for dir in above(path) {
                let made = self.target.get(dir).filter(|entry| entry.is_dir()).cloned();
                let made = made.unwrap_or(Entry::Dir { mode: 0o755 });
                match out.files.get(dir).cloned() {
                    Some(Entry::Dir { .. }) => {}
                    Some(Entry::Special) => {
                        out.conflicts.insert(dir.to_vec());
                        return;
                    }
                    Some(other) => {
                        out.held.insert(dir.to_vec(), other);
                        out.files.insert(dir.to_vec(), made);
                    }
                    None => {
                        out.files.insert(dir.to_vec(), made);
                    }
                }
            }
        }
        self.visit(path, out);
    }

    fn visit(&self, path: &[u8], out: &mut Prediction) {
        if split(path).1 == b".git" {
            return;
        }
        if self.taken_back.is_some_and(|taken| taken.refused.contains(path)) {
            out.conflicts.insert(path.to_vec());
            return;
        }
        match (out.files.get(path).cloned(), self.target.get(path).cloned()) {
            (None, None) => {}
            (None, Some(_)) => self.write(path, out),
            (Some(now), None) => self.remove(path, &now, out),
            (Some(Entry::Special), Some(_)) => {
                out.conflicts.insert(path.to_vec());
            }
            (Some(now @ Entry::Dir { .. }), Some(to @ Entry::Dir { .. })) => {
                out.held.insert(path.to_vec(), now);
                out.files.insert(path.to_vec(), to);
                self.visit_all(path, out);
            }
            (Some(Entry::Dir { .. }), Some(_)) => {
                let below: Vec<Bytes> = out.files.keys().filter(|known| is_in(known, path)).cloned().collect();
                let is_held = |path: &Bytes| {
                    let name = split(path).1;
                    name != b".git" && !is_reserved(name) && out.files[path] != Entry::Special
                };
                if !below.iter().all(is_held) {
                    out.conflicts.insert(path.to_vec());
                    return;
                }
                out.held.extend(below.into_iter().map(|path| (path.clone(), out.files[&path].clone())));
                remove(&mut out.files, path);
                self.write(path, out);
            }
            (Some(now), Some(_)) => {
                out.held.insert(path.to_vec(), now);
                self.write(path, out);
            }
        }
    }

    /// Writes what the target has at and below `path`.
    fn write(&self, path: &[u8], out: &mut Prediction) {
        let new = self.target.iter().filter(|(known, _)| is_in(known, path));
        out.files.extend(new.map(|(path, entry)| (path.clone(), entry.clone())));
    }

    fn remove(&self, path: &[u8], now: &Entry, out: &mut Prediction) {
        let is_silent = self.taken_back.is_none() && self.reference.is_silent_about(path, now.is_dir());
        if !self.captured.contains_key(path) || is_silent {
            return;
        }
        if now.is_dir() {
            self.visit_all(path, out);
            if out.files.keys().any(|known| split(known).0 == path) {
                return;
            }
        }
        out.files.remove(path);
    }
}
