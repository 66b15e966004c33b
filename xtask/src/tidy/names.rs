//! Names that say nothing.

use super::Found;
use super::tree::Tree;

pub(super) const SAYS: &str = "\
no file or folder of code is named util, common, helpers, misc, types or manager; such a name takes everything and \
tells nothing, and the file grows for ever. \
Name it after the concept that it holds, or give each part to the file that uses it.";

const EMPTY_NAMES: &[&str] =
    &["util", "utils", "utilities", "common", "helper", "helpers", "misc", "types", "manager", "managers"];

pub(super) fn check(tree: &Tree) -> Found {
    let mut found = Found::default();
    for file in tree.rust() {
        let parts = file.path.trim_end_matches(".rs").split('/');
        if let Some(name) = parts.into_iter().find(|part| EMPTY_NAMES.contains(part)) {
            found.broken(&file.path, &format!("`{name}` names nothing"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::Tree;

    #[test]
    fn finds_files_and_folders() {
        let tree = Tree::of(&[
            ("crates/core/src/util.rs", ""),
            ("tests/e2e/common/mod.rs", ""),
            ("crates/core/src/utility_poles.rs", ""),
            ("docs/types.md", ""),
        ]);
        assert_eq!(check(&tree).broken.len(), 2);
    }
}
