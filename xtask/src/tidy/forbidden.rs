//! Words that may not stand in code.

use super::Found;
use super::tree::Tree;

pub(super) const UNFINISHED: &str = "\
no `todo!`, `unimplemented!` or ignored test is landed; the first two panic in front of a user, the third looks like \
proof and is none. \
Finish it, return an error, or leave it out and open an issue.";

pub(super) const ALLOW: &str = "\
lints are never silenced with `allow`; it stays for ever, `expect` says when it is no longer needed. \
Write `#[expect(lint, reason = \"…\")]`, or better do what the lint says.";

pub(super) const UNSAFE: &str = "\
`unsafe` stands under crates/fs only; that crate is the border to the operating system, and one border can be read \
as a whole. \
Ask ckpt-fs for what you need.";

pub(super) fn unfinished(tree: &Tree) -> Found {
    everywhere(tree, &["todo!", "unimplemented!", "#[ignore]", "#[ignore ", "#[ignore="], |_| true)
}

pub(super) fn allow(tree: &Tree) -> Found {
    let mut found = everywhere(tree, &["#[allow(", "#![allow("], |_| true);
    for source in tree.written() {
        for (line, number) in source.code.lines().zip(1..) {
            if line.contains("cfg_attr(") && line.contains(" allow(") {
                found.broken(&format!("{}:{number}", source.path), "`allow` under `cfg_attr`");
            }
        }
    }
    found
}

pub(super) fn unsafe_code(tree: &Tree) -> Found {
    everywhere(tree, &["unsafe"], |path| !path.starts_with("crates/fs/"))
}

fn everywhere(tree: &Tree, tokens: &[&str], applies: fn(&str) -> bool) -> Found {
    let mut found = Found::default();
    for source in tree.written().filter(|source| applies(source.path)) {
        for (place, token) in source.places_of(tokens) {
            found.broken(&place, &format!("`{}`", token.trim_end()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{allow, unfinished, unsafe_code};
    use crate::tidy::tree::Tree;

    #[test]
    fn finds_words_in_code_only() {
        let text = "//! No todo!() and no unsafe.\n#[ignore = \"slow\"]\nfn a() { let s = \"todo!()\"; todo!() }\n";
        let found = unfinished(&Tree::of(&[("crates/core/src/a.rs", text)]));
        assert_eq!(found.broken, ["crates/core/src/a.rs:2: `#[ignore`", "crates/core/src/a.rs:3: `todo!`"]);
    }

    #[test]
    fn unsafe_is_for_fs() {
        let text = "unsafe { x() }\n";
        let tree = Tree::of(&[("crates/fs/src/a.rs", text), ("crates/core/src/a.rs", text), ("tests/a.rs", text)]);
        assert_eq!(unsafe_code(&tree).broken.len(), 2);
    }

    #[test]
    fn allow_is_found_in_every_form() {
        let text = "#![allow(a)]\n#[allow(b)]\n#[cfg_attr(test, allow(c))]\n#[expect(d, reason = \"x\")]\n";
        assert_eq!(allow(&Tree::of(&[("xtask/src/a.rs", text)])).broken.len(), 3);
    }
}
