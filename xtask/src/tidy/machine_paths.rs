//! Paths that exist on one machine only.

use super::Found;
use super::tree::Tree;

pub(super) const SAYS: &str = "\
no file names a home directory of root or the place of this checkout; it is nobody else's, and a test that holds it \
fails elsewhere. \
Write a path relative to the checkout, or make a temporary directory.";

/// The file that has to name them.
const HERE: &str = "xtask/src/tidy/machine_paths.rs";

pub(super) fn check(tree: &Tree) -> Found {
    let mut found = Found::default();
    let mut marks = vec!["/root/".to_owned()];
    // One component, such as `/app`, is a word that may stand anywhere.
    if tree.root.matches('/').count() > 1 {
        marks.push(tree.root.clone());
    }
    for file in tree.files.iter().filter(|file| file.path != HERE) {
        for (line, number) in file.text.lines().zip(1..) {
            if let Some(mark) = marks.iter().find(|mark| names(line, mark)) {
                found.broken(&format!("{}:{number}", file.path), &format!("`{mark}`"));
            }
        }
    }
    found
}

/// Whether the path begins here; `sub/root/` and `$DIR/root/` are other paths.
fn names(line: &str, mark: &str) -> bool {
    let joined = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '}' | ')' | '/');
    line.match_indices(mark).any(|(at, _)| !line[..at].ends_with(joined))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::Tree;

    #[test]
    fn finds_paths_of_one_machine() {
        let mut tree =
            Tree::of(&[("a.md", "see /root/x\n"), ("b.md", "see sub/root/x\n"), ("c.md", "in /srv/me/ckpt\n")]);
        tree.root = "/srv/me/ckpt".into();
        assert_eq!(check(&tree).broken, ["a.md:1: `/root/`", "c.md:1: `/srv/me/ckpt`"]);
    }
}
