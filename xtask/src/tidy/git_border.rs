//! Types of git2 that would leave ckpt-core.

use super::Found;
use super::mask::item_end;
use super::source::Source;
use super::tree::{Tree, crate_of_source};

pub(super) const SAYS: &str = "\
`git2::` stands in no public signature, field, alias or re-export of ckpt-core; a user of the crate would have to \
have our version of git2, and we could not change it. \
Return a type of ours, or make it `pub(crate)`.";

pub(super) fn check(tree: &Tree) -> Found {
    let mut found = Found::default();
    for source in tree.shipped().filter(|source| crate_of_source(source.path) == Some("core")) {
        for (at, _) in source.code.match_indices("pub ") {
            if !source.code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') && public_part(&source, at) {
                found.broken(&source.place(at), "a public item names git2");
            }
        }
    }
    found
}

/// Whether what the public item at `at` shows of itself names git2: the head of a function, the whole of a field, an
/// alias, a re-export, a constant and an enum. The fields of a struct are items of their own.
fn public_part(source: &Source<'_>, at: usize) -> bool {
    let item = &source.code[at..];
    let words: Vec<&str> = item.split_whitespace().skip(1).take(4).collect();
    let shown = match words.first() {
        Some(&"struct" | &"mod" | &"trait" | &"union") => &item[..item.find(['{', ';']).unwrap_or(item.len())],
        Some(&"enum" | &"use" | &"type" | &"static") => &item[..item_end(item)],
        _ if words.contains(&"fn") => &item[..item.find(['{', ';']).unwrap_or(item.len())],
        Some(&"const") => &item[..item_end(item)],
        _ => &item[..item.find(['\n', '}']).unwrap_or(item.len())],
    };
    shown.contains("git2::")
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::Tree;

    fn broken(text: &str) -> usize {
        check(&Tree::of(&[("crates/core/src/a.rs", text)])).broken.len()
    }

    #[test]
    fn finds_what_is_public() {
        assert_eq!(broken("pub fn a(\n    r: &git2::Repository,\n) -> u8 { 0 }\n"), 1);
        assert_eq!(broken("pub struct A {\n    pub r: git2::Oid,\n}\n"), 1);
        assert_eq!(broken("pub enum E { Git { source: git2::Error } }\n"), 1);
        assert_eq!(broken("pub use git2::Oid;\npub type O = git2::Oid;\n"), 2);
    }

    #[test]
    fn leaves_what_is_ours() {
        assert_eq!(broken("pub(crate) fn a(r: &git2::Repository) {}\n"), 0);
        assert_eq!(broken("pub fn a() { git2::Repository::open(p); }\n"), 0);
        assert_eq!(broken("pub struct A {\n    r: git2::Oid,\n    pub n: u8,\n}\n"), 0);
        assert_eq!(broken("pub const N: u8 = 1;\nconst M: git2::Oid = X;\n"), 0);
    }
}
