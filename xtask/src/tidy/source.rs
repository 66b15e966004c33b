//! One Rust file as the rules see it: code without comments and the contents of literals.

use super::mask::{mask, mask_shipped};

/// Code of one file; lines are where they are in the file.
#[derive(Debug)]
pub(super) struct Source<'a> {
    /// Path relative to the root, `/`-separated.
    pub(super) path: &'a str,
    /// Masked text.
    pub(super) code: String,
}

impl<'a> Source<'a> {
    /// All code of the file.
    pub(super) fn written(path: &'a str, text: &str) -> Self {
        Self { path, code: mask(text) }
    }

    /// The code that a release holds.
    pub(super) fn shipped(path: &'a str, text: &str) -> Self {
        Self { path, code: mask_shipped(text) }
    }

    /// Places (`path:line`) where one of `tokens` stands as whole words, with that token.
    pub(super) fn places_of<'t>(&self, tokens: &[&'t str]) -> Vec<(String, &'t str)> {
        let lines = self.code.lines().zip(1..);
        lines
            .flat_map(|(line, number)| {
                let found = tokens.iter().filter(move |token| contains_token(line, token));
                found.map(move |token| (format!("{}:{number}", self.path), *token))
            })
            .collect()
    }

    /// Place of a byte of the code.
    pub(super) fn place(&self, at: usize) -> String {
        format!("{}:{}", self.path, 1 + self.code[..at].matches('\n').count())
    }

    /// Names of the functions that the file marks `#[test]`.
    pub(super) fn tests(&self) -> Vec<String> {
        let places = self.code.match_indices("fn ").filter(|&(at, _)| is_marked_test(&self.code[..at]));
        let names = places.map(|(at, found)| self.code[at + found.len()..].chars().take_while(|&c| is_word(c)));
        names.map(Iterator::collect).collect()
    }
}

/// Whether the item that follows `before` has the attribute: nothing but attributes stands between.
fn is_marked_test(before: &str) -> bool {
    let attributes = before.rfind("#[test]").map(|at| &before[at..]);
    attributes.is_some_and(|attributes| !attributes.contains(['{', '}', ';']) && !ends_in_word(attributes))
}

/// Whether `token` stands in `line` with no letter, digit or `_` joined to its word ends.
pub(super) fn contains_token(line: &str, token: &str) -> bool {
    line.match_indices(token).any(|(at, _)| {
        let before = !token.starts_with(is_word) || !ends_in_word(&line[..at]);
        let after = !token.ends_with(is_word) || !line[at + token.len()..].starts_with(is_word);
        before && after
    })
}

fn ends_in_word(text: &str) -> bool {
    text.ends_with(is_word)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::{Source, contains_token};

    #[test]
    fn tokens_are_whole_words() {
        assert!(contains_token("std::fs::write(p)", "fs::write"));
        assert!(!contains_token("ckpt_fs::write(p)", "fs::write"));
        assert!(!contains_token("fs::write_all(p)", "fs::write"));
        assert!(contains_token("fs::create_dir_all(p)", "fs::create_dir_all"));
        assert!(!contains_token("unsafe_code", "unsafe"));
        assert!(contains_token("#[allow(x)]", "#[allow("));
    }

    #[test]
    fn finds_tests() {
        let text = "fn helper() {}\n#[test]\n#[cfg(unix)]\nfn one() {}\n// #[test]\nfn two() {}\n\
                    proptest! {\n    #[test]\n    fn three(a in any::<u8>()) {}\n}\n";
        assert_eq!(Source::written("a.rs", text).tests(), ["one", "three"]);
    }

    #[test]
    fn places_have_lines() {
        let source = Source::shipped("a.rs", "x\nunsafe {}\n#[cfg(test)]\nmod t { unsafe {} }\n");
        assert_eq!(source.places_of(&["unsafe"]), [("a.rs:2".to_owned(), "unsafe")]);
    }
}
