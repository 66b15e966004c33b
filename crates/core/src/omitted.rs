//! Paths that were seen but not captured.

use crate::RepoPath;

/// Why a path was not captured, or not as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reason {
    /// By rule: it is ignored now, but was saved before. Older checkpoints still restore it.
    IgnoredInHead,
    /// By rule: a configured exclude names it.
    Excluded,
    /// By rule: it is larger than the configured limit.
    TooLarge,
    /// By rule: a FIFO, socket or device.
    Special,
    /// By rule: Git takes its name for `.git` in disguise.
    ReservedName,
    /// By rule: a directory that says of itself that it is a cache (`CACHEDIR.TAG`).
    CacheDir,
    /// By rule: more than 2,000 levels down.
    TooDeep,
    /// By rule: a volume was mounted there when it was saved, and is not now. What was saved is kept.
    Unmounted,
    /// By failure: it could not be read. What was saved of it before is kept.
    Unreadable,
    /// By failure: it changed while it was read, three times. What was read is saved. Not part of a checkpoint's state.
    Unstable,
}

impl Reason {
    /// All reasons, with the words that stand in the store and in output.
    const WORDS: [(Self, &'static str); 10] = [
        (Self::IgnoredInHead, "ignored-in-head"),
        (Self::Excluded, "excluded"),
        (Self::TooLarge, "too-large"),
        (Self::Special, "special"),
        (Self::ReservedName, "reserved-name"),
        (Self::CacheDir, "cache-dir"),
        (Self::TooDeep, "too-deep"),
        (Self::Unmounted, "unmounted"),
        (Self::Unreadable, "unreadable"),
        (Self::Unstable, "unstable"),
    ];

    /// The word for it.
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(reason, _)| *reason == self).map_or("", |(_, word)| word)
    }

    pub(crate) fn from_word(word: &[u8]) -> Option<Self> {
        Self::WORDS.iter().find(|(_, known)| known.as_bytes() == word).map(|(reason, _)| *reason)
    }

    /// Number for the stat cache.
    pub(crate) fn number(self) -> u8 {
        let place = Self::WORDS.iter().position(|(reason, _)| *reason == self).unwrap_or(0);
        u8::try_from(place).unwrap_or(0)
    }

    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::WORDS.get(usize::from(number)).map(|(reason, _)| *reason)
    }

    /// Whether the rules wanted the path to be captured: such an omission makes the command's exit code 3.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Unreadable | Self::Unstable)
    }

    /// Whether a path that was saved before counts as "no longer tracked" rather than as deleted.
    pub(crate) fn is_untracking(self) -> bool {
        matches!(self, Self::IgnoredInHead | Self::Excluded | Self::CacheDir)
    }
}

/// A path that was seen but not captured.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Omitted {
    /// The path.
    pub path: RepoPath,
    /// Why.
    pub reason: Reason,
}
