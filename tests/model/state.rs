//! A checkpoint in the model, and what a save captures.

use std::collections::BTreeMap;

use super::disk::{Bytes, Entry, Files, above, children, is_in, join, remove, split};
use super::rules::{Outside, Rules, Verdict};

/// First line of a valid `CACHEDIR.TAG`.
pub(crate) const CACHE_TAG: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55\n";

/// What a checkpoint holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) entries: Files,
    /// Path to reason, in the library's words.
    pub(crate) omitted: BTreeMap<Bytes, &'static str>,
    pub(crate) outside: Outside,
}

impl State {
    /// Captures what is below `start` (the whole worktree where that is empty), as a checkpoint after `head` would.
    pub(crate) fn capture(disk: &Files, outside: &Outside, head: Option<&Self>, start: &[u8]) -> Self {
        let mut state = Self { outside: outside.clone(), ..Self::default() };
        let rules = Rules { files: disk, outside, is_disk: true };
        let mut waiting = vec![start.to_vec()];
        while let Some(dir) = waiting.pop() {
            for path in children(disk, &dir) {
                match reason(disk, rules, head, &path) {
                    Some("") => {}
                    Some(reason) => {
                        state.omitted.insert(path, reason);
                    }
                    None => {
                        state.entries.insert(path.clone(), disk[&path].clone());
                        if disk[&path].is_dir() {
                            waiting.push(path);
                        }
                    }
                }
            }
        }
        state
    }

    /// This state with `other`'s entries where a rule that `other` did not know leaves them out.
    pub(crate) fn as_tracked(&self, other: &Self) -> Self {
        let mut tracked = self.clone();
        let untracking = |reason: &str| matches!(reason, "ignored-in-head" | "excluded" | "cache-dir");
        for (path, _) in self.omitted.iter().filter(|(_, reason)| untracking(reason)) {
            if other.entries.contains_key(path) {
                tracked.take(other, path);
                tracked.omitted.remove(path);
            }
        }
        tracked
    }

    /// Whether both are one state.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.entries == other.entries && self.omitted == other.omitted
    }

    /// The omitted paths that are told to people: one that is ignored now only while head has it.
    pub(crate) fn told(&self, head: Option<&Self>) -> BTreeMap<Bytes, &'static str> {
        let is_in_head = |path: &Bytes| head.is_some_and(|head| head.entries.contains_key(path));
        let mut told = self.omitted.clone();
        told.retain(|path, reason| *reason != "ignored-in-head" || is_in_head(path));
        told
    }

    /// Takes over what `other` has at and below `path`.
    pub(crate) fn take(&mut self, other: &Self, path: &[u8]) {
        remove(&mut self.entries, path);
        remove(&mut self.omitted, path);
        let at = |known: &&Bytes| is_in(known, path);
        let entries = other.entries.keys().filter(at).map(|path| (path.clone(), other.entries[path].clone()));
        self.entries.extend(entries);
        let omitted = other.omitted.keys().filter(at).map(|path| (path.clone(), other.omitted[path]));
        self.omitted.extend(omitted);
    }

    /// Whether the state says nothing about a path that it does not hold.
    pub(crate) fn is_silent_about(&self, path: &[u8], is_dir: bool) -> bool {
        let rules = Rules { files: &self.entries, outside: &self.outside, is_disk: false };
        let is_left_out =
            |path: &[u8], is_dir| self.omitted.contains_key(path) || rules.judge(path, is_dir) != Verdict::Captured;
        above(path).into_iter().any(|dir| is_left_out(dir, true)) || is_left_out(path, is_dir)
    }
}

/// Why an entry is not captured; empty where it is passed over without a word.
fn reason(disk: &Files, rules: Rules<'_>, head: Option<&State>, path: &Bytes) -> Option<&'static str> {
    let (entry, name) = (&disk[path], split(path).1);
    if name == b".git" {
        return Some("");
    }
    if is_reserved(name) {
        return Some("reserved-name");
    }
    match rules.judge(path, entry.is_dir()) {
        Verdict::Ignored => {
            let known = head.is_some_and(|head| {
                head.entries.contains_key(path) || head.omitted.get(path) == Some(&"ignored-in-head")
            });
            return Some(if known { "ignored-in-head" } else { "" });
        }
        Verdict::Excluded => return Some("excluded"),
        Verdict::Captured => {}
    }
    let limit = rules.outside.max_file_bytes;
    match entry {
        Entry::Special => Some("special"),
        Entry::File { bytes, .. } if limit != 0 && bytes.len() as u64 > limit => Some("too-large"),
        Entry::Dir { .. } => match disk.get(&join(path, b"CACHEDIR.TAG")) {
            Some(Entry::File { bytes, .. }) if bytes.starts_with(&CACHE_TAG[..43]) => Some("cache-dir"),
            _ => None,
        },
        _ => None,
    }
}

/// The one name in disguise that sequences use.
pub(crate) fn is_reserved(name: &[u8]) -> bool {
    name == b"git~1"
}
