//! Text of a change that `git apply` takes: one path, its two sides in memory.
//!
//! Finding what differs, reading blobs and ordering paths are left to the callers; so are permission bits other than
//! the executable one and empty directories, for which Git's patch format has no words. The text is what
//! `git diff --full-index --binary --no-renames` prints, with two differences that `git apply` does not see:
//! binary contents are always literal (Git writes a delta where that is shorter), and the text after a hunk's
//! second `@@` ends before its first byte that is not UTF-8.

mod binary;
mod header;
#[cfg(test)]
mod oracle;
mod quote;
mod text;

use ckpt_pack::ObjectId;

pub(crate) use quote::quote_path;

/// One side of a changed path.
pub(crate) struct Side<'a> {
    /// Mode as in a Git tree: `0o100644`, `0o100755` or `0o120000`.
    pub(crate) mode: u32,
    /// Id of the blob that holds `content`.
    pub(crate) id: ObjectId,
    /// Bytes of the file; for a link its target.
    pub(crate) content: &'a [u8],
}

impl Side<'_> {
    /// The part of the mode that tells files from links.
    fn kind(&self) -> u32 {
        self.mode & 0o170_000
    }
}

/// Size of a change in lines, as `--stat` shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// Lines of the new content that the old one has not; 0 if `binary`.
    pub added: u64,
    /// Lines of the old content that the new one has not; 0 if `binary`.
    pub removed: u64,
    /// The contents differ and at least one is not text: a NUL in the first 8,000 bytes, or more than 100 MiB.
    pub binary: bool,
}

impl LineCounts {
    fn plus(self, other: Self) -> Self {
        Self {
            added: self.added + other.added,
            removed: self.removed + other.removed,
            binary: self.binary || other.binary,
        }
    }
}

/// Appends the patch of one path to `out` and counts its lines.
///
/// `path` is relative, with `/` between its parts. A side that is `None` did not exist; they are never both `None`.
/// A file that became a link, or the reverse, is written as a deletion followed by a creation. A change of nothing
/// but the executable bit gives the two modes only, and equal sides give nothing.
///
/// # Errors
/// What libgit2 answers when it cannot compare (memory). `out` then holds an unfinished patch.
pub(crate) fn write_patch(
    out: &mut Vec<u8>,
    path: &[u8],
    old: Option<&Side<'_>>,
    new: Option<&Side<'_>>,
) -> Result<LineCounts, git2::Error> {
    if changes_kind(old, new) {
        let removed = write_one(out, path, old, None)?;
        let added = write_one(out, path, None, new)?;
        return Ok(removed.plus(added));
    }
    write_one(out, path, old, new)
}

fn changes_kind(old: Option<&Side<'_>>, new: Option<&Side<'_>>) -> bool {
    matches!((old, new), (Some(old), Some(new)) if old.kind() != new.kind())
}

fn content<'a>(side: Option<&Side<'a>>) -> &'a [u8] {
    side.map_or(b"", |side| side.content)
}

fn write_one(
    out: &mut Vec<u8>,
    path: &[u8],
    old: Option<&Side<'_>>,
    new: Option<&Side<'_>>,
) -> Result<LineCounts, git2::Error> {
    let body = Body::between(content(old), content(new))?;
    header::write(out, path, old, new);
    match &body {
        Body::Same => {}
        Body::Text(hunks) => {
            header::write_names(out, path, old.is_some(), new.is_some());
            hunks.write(out)?;
        }
        Body::Binary => binary::write(out, content(old), content(new))?,
    }
    body.counts()
}

/// What follows the header lines.
enum Body<'a> {
    /// Nothing: the bytes are equal.
    Same,
    Text(text::Hunks<'a>),
    Binary,
}

impl<'a> Body<'a> {
    fn between(old: &'a [u8], new: &'a [u8]) -> Result<Self, git2::Error> {
        if old == new {
            return Ok(Self::Same);
        }
        if binary::is_binary(old) || binary::is_binary(new) {
            return Ok(Self::Binary);
        }
        Ok(text::Hunks::between(old, new)?.map_or(Self::Binary, Self::Text))
    }

    fn counts(&self) -> Result<LineCounts, git2::Error> {
        match self {
            Self::Same => Ok(LineCounts::default()),
            Self::Text(hunks) => hunks.counts(),
            Self::Binary => Ok(LineCounts { added: 0, removed: 0, binary: true }),
        }
    }
}
