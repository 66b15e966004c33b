//! Files that have grown long.

use super::Found;
use super::tree::{Tree, crate_of_source};

pub(super) const SAYS: &str = "\
a file of a crate stays under 400 lines; a longer one mostly holds a concept that has no name yet. \
Look for it; if there is none, give the file a line with the reason in xtask/src/tidy/length.rs.";

const LINES: usize = 400;

/// Longer with a reason: path, reason.
const LONGER: &[(&str, &str)] = &[];

pub(super) fn check(tree: &Tree) -> Found {
    let mut found = Found::default();
    for file in tree.rust().filter(|file| crate_of_source(&file.path).is_some()) {
        let lines = file.text.lines().count();
        if lines > LINES && !LONGER.iter().any(|(path, _)| *path == file.path) {
            found.note(&file.path, &format!("{lines} lines; look for the missing concept"));
        }
    }
    for (path, _) in LONGER.iter().filter(|(path, _)| !tree.has(path)) {
        found.note(path, "is gone; so may its line be in xtask/src/tidy/length.rs");
    }
    found
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::Tree;

    #[test]
    fn long_files_are_noted_not_refused() {
        let long = "x\n".repeat(401);
        let found = check(&Tree::of(&[("crates/core/src/a.rs", &long), ("tests/a.rs", &long)]));
        assert_eq!(found.notes.len(), 1);
        assert!(found.broken.is_empty());
    }
}
