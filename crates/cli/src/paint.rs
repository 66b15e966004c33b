//! Colour, if wanted: a painter leaves text as it is when colour is off.

use std::env;

/// When output is coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl ColorChoice {
    /// Whether a stream is coloured that is or is not a terminal.
    pub(crate) fn is_on(self, is_terminal: bool) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => is_terminal && !is_refused_by_environment(),
        }
    }
}

fn is_refused_by_environment() -> bool {
    env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Id of a checkpoint.
    Id,
    /// Something new.
    Added,
    /// Something that differs.
    Changed,
    /// Something that is gone.
    Deleted,
    /// Something that was not done or not captured.
    Problem,
    /// Something less important.
    Faint,
    /// A heading.
    Strong,
    /// `error:`.
    Error,
    /// `warning:`.
    Warning,
    /// `hint:`, and the place of a hunk.
    Hint,
}

impl Role {
    fn code(self) -> &'static str {
        match self {
            Self::Id | Self::Problem => "33",
            Self::Added => "32",
            Self::Changed => "34",
            Self::Deleted => "31",
            Self::Faint => "2",
            Self::Strong => "1",
            Self::Error => "1;31",
            Self::Warning => "1;33",
            Self::Hint => "36",
        }
    }
}

/// Colours text for one stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Painter {
    is_on: bool,
}

impl Painter {
    /// Makes a painter that colours or not.
    pub(crate) fn new(is_on: bool) -> Self {
        Self { is_on }
    }

    /// Whether it colours.
    pub(crate) fn is_on(self) -> bool {
        self.is_on
    }

    /// Puts the colour of `role` around `text`, which holds no line break.
    pub(crate) fn paint(self, role: Role, text: impl AsRef<str>) -> String {
        let text = text.as_ref();
        if self.is_on && !text.is_empty() { format!("\x1b[{}m{text}\x1b[0m", role.code()) } else { text.to_owned() }
    }

    /// Colours a patch line by line: headers, places, and what goes and comes.
    pub(crate) fn patch(self, patch: &[u8]) -> Vec<u8> {
        if !self.is_on {
            return patch.to_vec();
        }
        let mut painted = Vec::with_capacity(patch.len() + patch.len() / 4);
        let mut in_hunk = false;
        for line in patch.split_inclusive(|&byte| byte == b'\n') {
            if line.starts_with(b"diff --git ") {
                in_hunk = false;
            } else if line.starts_with(b"@@ ") {
                in_hunk = true;
            }
            let role = match line.first() {
                Some(b'@') if line.starts_with(b"@@ ") => Some(Role::Hint),
                Some(b'+') if in_hunk => Some(Role::Added),
                Some(b'-') if in_hunk => Some(Role::Deleted),
                _ if !in_hunk => Some(Role::Strong),
                _ => None,
            };
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            match role {
                Some(role) => {
                    painted.extend_from_slice(format!("\x1b[{}m", role.code()).as_bytes());
                    painted.extend_from_slice(text);
                    painted.extend_from_slice(b"\x1b[0m");
                }
                None => painted.extend_from_slice(text),
            }
            painted.extend_from_slice(&line[text.len()..]);
        }
        painted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_colour_changes_nothing() {
        assert_eq!(Painter::new(false).paint(Role::Error, "x"), "x");
        assert_eq!(Painter::new(false).patch(b"+a\n\xff"), b"+a\n\xff");
    }

    #[test]
    fn headers_are_not_taken_for_lines() {
        let patch = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n c\n";
        let painted = String::from_utf8(Painter::new(true).patch(patch)).unwrap();
        assert!(painted.contains("\x1b[1m--- a/x\x1b[0m\n"));
        assert!(painted.contains("\x1b[31m-a\x1b[0m\n\x1b[32m+b\x1b[0m\n c\n"));
    }

    #[test]
    fn a_choice_outranks_the_stream() {
        assert!(ColorChoice::Always.is_on(false));
        assert!(!ColorChoice::Never.is_on(true));
        assert!(!ColorChoice::Auto.is_on(false));
    }
}
