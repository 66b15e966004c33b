//! Hunks of lines between two texts, with three lines of context.

use git2::{DiffOptions, Patch};

use super::LineCounts;

/// Lines around a change, as Git shows by default.
const CONTEXT_LINES: u32 = 3;

const NO_NEWLINE: &[u8] = b"\n\\ No newline at end of file\n";

/// How one text becomes another.
pub(super) enum Hunks<'a> {
    /// The old text is empty: all lines of this one are new.
    Added(&'a [u8]),
    /// The new text is empty: all lines of this one are gone.
    Removed(&'a [u8]),
    /// Both have lines.
    Changed(Patch<'a>),
}

impl<'a> Hunks<'a> {
    /// Compares two texts that differ. `None` if libgit2 finds no hunk all the same.
    ///
    /// A text that is added or removed whole does not go through libgit2, which would hold about a hundred bytes of
    /// bookkeeping for each of its lines.
    pub(super) fn between(old: &'a [u8], new: &'a [u8]) -> Result<Option<Self>, git2::Error> {
        if old.is_empty() {
            return Ok(Some(Self::Added(new)));
        }
        if new.is_empty() {
            return Ok(Some(Self::Removed(old)));
        }
        let mut options = DiffOptions::new();
        // Without paths and repository there are no attributes. What is text has been decided before; `force_text` lifts
        // libgit2's own limit of 512 MiB as well.
        options.context_lines(CONTEXT_LINES).interhunk_lines(0).force_text(true).indent_heuristic(true);
        let patch = Patch::from_buffers(old, None, new, None, Some(&mut options))?;
        // git_xdiff (diff_xdiff.c) ignores the result of xdl_diff: a comparison that ran out of memory looks like one
        // that found nothing.
        Ok((patch.num_hunks() > 0).then_some(Self::Changed(patch)))
    }

    pub(super) fn counts(&self) -> Result<LineCounts, git2::Error> {
        let (added, removed) = match self {
            Self::Added(text) => (count(text), 0),
            Self::Removed(text) => (0, count(text)),
            Self::Changed(patch) => {
                let (_context, added, removed) = patch.line_stats()?;
                (added as u64, removed as u64)
            }
        };
        Ok(LineCounts { added, removed, binary: false })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<(), git2::Error> {
        match self {
            Self::Added(text) => {
                out.extend_from_slice(format!("@@ -0,0 +1{} @@\n", length(text)).as_bytes());
                write_whole(out, b'+', text);
            }
            Self::Removed(text) => {
                out.extend_from_slice(format!("@@ -1{} +0,0 @@\n", length(text)).as_bytes());
                write_whole(out, b'-', text);
            }
            Self::Changed(patch) => {
                for index in 0..patch.num_hunks() {
                    write_hunk(out, patch, index)?;
                }
            }
        }
        Ok(())
    }
}

/// Number of lines; one without a newline at its end is a line too.
fn count(text: &[u8]) -> u64 {
    text.split_inclusive(|&byte| byte == b'\n').count() as u64
}

/// The length in a hunk's range, which Git leaves out when it is one.
fn length(text: &[u8]) -> String {
    match count(text) {
        1 => String::new(),
        lines => format!(",{lines}"),
    }
}

fn write_whole(out: &mut Vec<u8>, mark: u8, text: &[u8]) {
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        out.push(mark);
        out.extend_from_slice(line);
    }
    if !text.ends_with(b"\n") {
        out.extend_from_slice(NO_NEWLINE);
    }
}

fn write_hunk(out: &mut Vec<u8>, patch: &Patch<'_>, index: usize) -> Result<(), git2::Error> {
    let (hunk, lines) = patch.hunk(index)?;
    // libgit2 has 128 bytes for this line: with long numbers and long text its newline is cut off.
    let header = hunk.header();
    out.extend_from_slice(header.strip_suffix(b"\n").unwrap_or(header));
    out.push(b'\n');
    for line in 0..lines {
        let line = patch.line_in_hunk(index, line)?;
        // The other origins are notes on a missing newline; their content is the whole text, newline in front.
        if let mark @ (' ' | '+' | '-') = line.origin() {
            out.push(mark as u8);
        }
        out.extend_from_slice(line.content());
    }
    Ok(())
}
