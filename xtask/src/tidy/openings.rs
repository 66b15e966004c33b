//! Files that do not say what they are.

use super::Found;
use super::tree::Tree;

pub(super) const SAYS: &str = "\
every Rust file begins with `//!`; a reader who comes from a search wants to know where they are and where the rest \
is. \
Write what the file is, what it leaves to others, and the trap if there is one.";

pub(super) fn check(tree: &Tree) -> Found {
    let mut found = Found::default();
    for file in tree.rust().filter(|file| !file.text.starts_with("//! ")) {
        found.broken(&file.path, "does not begin with `//! `");
    }
    found
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::Tree;

    #[test]
    fn first_line_counts() {
        let tree = Tree::of(&[("a.rs", "//! Good.\n"), ("b.rs", "use x;\n//! Late.\n"), ("c.md", "# Other\n")]);
        assert_eq!(check(&tree).broken, ["b.rs: does not begin with `//! `"]);
    }
}
