//! One line of an ignore file, and all lines of one.
//!
//! Lines are read as Git reads them, byte by byte: no text encoding, case matters.

use super::chain::Entry;
use super::glob::Glob;

/// What a matching line says about an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// It is ignored.
    Ignore,
    /// It is taken back in (`!`).
    Keep,
}

/// What a pattern is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    /// The entry's name: the pattern holds no slash but a last one.
    Name,
    /// Its path, from the directory of the ignore file.
    Path,
}

/// One line that can match something.
#[derive(Debug)]
pub(super) struct Pattern {
    glob: Glob,
    subject: Subject,
    only_dirs: bool,
    decision: Decision,
}

impl Pattern {
    /// Parses one line, without its `\n`. `None` if nothing can ever match it: empty, a comment, malformed.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        if line.starts_with(b"#") {
            return None;
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // To Git a line is a C string.
        let line = line.split(|&byte| byte == 0).next().unwrap_or_default();
        let line = without_trailing_spaces(line);
        let (decision, line) = match line.strip_prefix(b"!") {
            Some(rest) => (Decision::Keep, rest),
            None => (Decision::Ignore, line),
        };
        let (only_dirs, line) = match line.strip_suffix(b"/") {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let subject = if line.contains(&b'/') { Subject::Path } else { Subject::Name };
        let glob = Glob::compile(line.strip_prefix(b"/").unwrap_or(line))?;
        Some(Self { glob, subject, only_dirs, decision })
    }
}

/// Cuts the spaces at the end, but not one that a backslash protects.
fn without_trailing_spaces(line: &[u8]) -> &[u8] {
    let mut end = 0;
    let mut at = 0;
    while let Some(&byte) = line.get(at) {
        at += if byte == b'\\' { 2 } else { 1 };
        if byte != b' ' {
            end = at;
        }
    }
    line.get(..end).unwrap_or(line)
}

/// The lines of one ignore file, in their order.
#[derive(Debug, Default)]
pub(super) struct Patterns(Vec<Pattern>);

impl Patterns {
    /// Parses the content of an ignore file. No content is an error.
    pub(super) fn parse(content: &[u8]) -> Self {
        let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
        Self(content.split(|&byte| byte == b'\n').filter_map(Pattern::parse).collect())
    }

    /// Whether no line can match anything.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What the last line that matches says. `base` is the length of the part of the entry's path that ends at the
    /// directory of the ignore file.
    pub(super) fn decide(&self, entry: &Entry<'_>, base: usize) -> Option<Decision> {
        let matching = self.0.iter().rev().find(|pattern| {
            (entry.is_dir || !pattern.only_dirs)
                && match pattern.subject {
                    Subject::Name => pattern.glob.matches(entry.name),
                    Subject::Path => pattern.glob.matches(entry.path_below(base)),
                }
        });
        matching.map(|pattern| pattern.decision)
    }
}

#[cfg(test)]
mod tests {
    use super::{Decision, Entry, Patterns};

    fn decide(content: &[u8], path: &[u8], is_dir: bool) -> Option<Decision> {
        let split = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
        Patterns::parse(content).decide(&Entry::new(&path[..split], &path[split..], is_dir), 0)
    }

    fn ignores(content: &[u8], path: &[u8]) -> bool {
        decide(content, path, false) == Some(Decision::Ignore)
    }

    #[test]
    fn names_paths_and_directories() {
        assert!(ignores(b"a", b"x/a") && ignores(b"a", b"a"));
        assert!(ignores(b"/a", b"a") && !ignores(b"/a", b"x/a"));
        assert!(ignores(b"x/a", b"x/a") && !ignores(b"x/a", b"y/x/a"));
        assert_eq!(decide(b"a/", b"x/a", true), Some(Decision::Ignore));
        assert_eq!(decide(b"a/", b"x/a", false), None);
    }

    #[test]
    fn last_line_decides() {
        assert_eq!(decide(b"*.o\n!a.o\n", b"a.o", false), Some(Decision::Keep));
        assert_eq!(decide(b"!a.o\n*.o\n", b"a.o", false), Some(Decision::Ignore));
    }

    #[test]
    fn trailing_spaces_go_unless_escaped() {
        assert!(ignores(b"a   ", b"a") && !ignores(b"a ", b"a "));
        assert!(ignores(b"a\\ ", b"a ") && ignores(b"a\\   ", b"a "));
        assert!(ignores(b"a b", b"a b") && ignores(b"a\t", b"a\t"));
        assert!(Patterns::parse(b"a \\\n   \n").is_empty());
    }

    #[test]
    fn line_ends_marks_and_odd_bytes() {
        assert!(ignores(b"a\r\nb\r", b"a") && ignores(b"a\r\nb\r", b"b"));
        assert!(ignores(b"\xef\xbb\xbfa\n", b"a"));
        assert!(ignores(b"a\0b\n", b"a"));
        assert!(ignores(b"*.\xff\xfe", b"\xe9.\xff\xfe"));
        assert!(!ignores(b"A", b"a"));
    }

    #[test]
    fn comments_escapes_and_what_newer_tools_read_differently() {
        assert!(Patterns::parse(b"# a\n\n\r\n/\n//\n!\n").is_empty());
        assert!(ignores(b"\\#a", b"#a") && ignores(b"\\!a", b"!a") && ignores(b" #a", b" #a"));
        assert!(ignores(b"$a", b"$a") && !ignores(b"$a", b"a"));
        assert_eq!(decide(b"!$a", b"$a", false), Some(Decision::Keep));
        assert_eq!(decide(b"!!a", b"!a", false), Some(Decision::Keep));
    }
}
