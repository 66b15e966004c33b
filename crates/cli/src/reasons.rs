//! What the words for reasons mean, as sentences; and lists of paths with reasons.

use std::collections::HashSet;

use ckpt_service::{ConflictReason, LeftAloneReason, Omitted, Reason, RepoPath};

use crate::paint::{Painter, Role};
use crate::wording;
use crate::workspace::Place;

/// Why a path was not captured.
pub(crate) fn omitted(reason: Reason) -> &'static str {
    match reason {
        Reason::IgnoredInHead => "ignored now, but saved before; older checkpoints still restore it",
        Reason::Excluded => "a configured exclude names it",
        Reason::TooLarge => "larger than max_file_bytes",
        Reason::Special => "a FIFO, socket or device",
        Reason::ReservedName => "Git takes its name for .git",
        Reason::CacheDir => "a cache, as its CACHEDIR.TAG says",
        Reason::TooDeep => "more than 2,000 levels down",
        Reason::Unmounted => "a volume was mounted there; what was saved of it is kept",
        Reason::Unreadable => "it or a rule for it cannot be read; what was saved of it before is kept",
        Reason::Unstable => "kept changing while it was read",
        _ => "left out",
    }
}

/// Why a restore left a path as it is.
pub(crate) fn conflict(reason: ConflictReason) -> &'static str {
    match reason {
        ConflictReason::Unreadable => "it cannot be read",
        ConflictReason::Changing => "somebody changes it right now",
        ConflictReason::Special => "it is a FIFO, socket or device",
        ConflictReason::HoldsGit => "it holds a .git, which is never saved",
        ConflictReason::Unmounted => "a volume was mounted there, and is not now",
        ConflictReason::MountPoint => "something is mounted there",
        ConflictReason::HoldsUncaptured => "it holds something that cannot be saved",
        ConflictReason::NotWritable => "its directory cannot be written",
        ConflictReason::Blocked => "something stands where its directory should be",
        _ => "its bytes are not held by the store",
    }
}

/// Why a restore left a path alone by rule.
pub(crate) fn left_alone(reason: LeftAloneReason) -> &'static str {
    match reason {
        LeftAloneReason::IgnoredInTarget => "ignored by the checkpoint's rules",
        LeftAloneReason::OmittedInTarget => "not captured by the checkpoint",
        LeftAloneReason::NotCaptured => "no checkpoint can hold it, so it is not taken away",
        _ => "the checkpoint says nothing about it",
    }
}

/// The paths that were left out, and apart from them those that head holds still: these are no longer tracked, and told
/// as such alone.
pub(crate) fn told_apart<'a>(
    list: &'a [Omitted],
    no_longer_tracked: &[RepoPath],
) -> (Vec<&'a Omitted>, Vec<&'a Omitted>) {
    let dropped: HashSet<&RepoPath> = no_longer_tracked.iter().collect();
    list.iter().partition(|omitted| !dropped.contains(&omitted.path))
}

/// A line for each omitted path: the word, the path, what the word means. At most `limit`, then how many more.
pub(crate) fn omitted_lines(place: &Place, painter: Painter, list: &[&Omitted], limit: Option<usize>) -> Vec<String> {
    let shown = &list[..limit.unwrap_or(list.len()).min(list.len())];
    let width = shown.iter().map(|path| path.reason.word().len()).max().unwrap_or(0);
    let line = |&&Omitted { ref path, reason, .. }: &&Omitted| {
        let role = if reason.is_failure() { Role::Problem } else { Role::Faint };
        let word = painter.paint(role, format!("{:<width$}", reason.word()));
        let why = painter.paint(Role::Faint, format!("({})", omitted(reason)));
        format!("  {word}  {} {why}", place.text(path))
    };
    limited(list, limit, line)
}

/// A line for each item, at most `limit`, then how many more.
pub(crate) fn limited<T>(list: &[T], limit: Option<usize>, line: impl Fn(&T) -> String) -> Vec<String> {
    let shown = limit.unwrap_or(list.len()).min(list.len());
    let mut lines: Vec<_> = list[..shown].iter().map(line).collect();
    if shown < list.len() {
        lines.push(format!("  and {} more", wording::count((list.len() - shown) as u64, "path")));
    }
    lines
}
