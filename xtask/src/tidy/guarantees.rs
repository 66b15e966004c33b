//! The guarantees: each promise stands beside the test that proves it.

use super::Found;
use super::markdown::{code_words, tables};
use super::tree::{Test, Tree};

pub(super) const SAYS: &str = "\
every row of docs/guarantees.md has, in its column `test`, tests or scripts that exist; a promise that nothing proves \
will be broken unseen. \
Name the test, or the script by its path; take the promise out if there is none.";

const PAGE: &str = "docs/guarantees.md";

pub(super) fn check(tree: &Tree) -> Found {
    let mut found = Found::default();
    let Some(text) = tree.text(PAGE) else {
        found.broken(PAGE, "is missing");
        return found;
    };
    let tests = tree.tests();
    let mut rows = 0;
    for table in tables(text) {
        let Some(column) = table.column("test") else {
            continue;
        };
        for (line, cells) in &table.rows {
            rows += 1;
            let place = format!("{PAGE}:{line}");
            let proofs: Vec<&str> = cells.get(column).into_iter().flat_map(|cell| code_words(cell)).collect();
            if proofs.is_empty() {
                found.broken(&place, "a promise without a test");
            }
            for proof in proofs.into_iter().filter(|proof| !exists(tree, &tests, proof)) {
                found.broken(&place, &format!("`{proof}` does not exist"));
            }
        }
    }
    if rows == 0 {
        found.broken(PAGE, "has no table with a column `test`");
    }
    found
}

/// Commands are taken as they are; a path must stand in the checkout; anything else is a test, with or without its module.
fn exists(tree: &Tree, tests: &[Test], proof: &str) -> bool {
    if proof.contains(' ') {
        return true;
    }
    if proof.contains('/') || proof.contains('.') {
        return tree.has(proof);
    }
    let name = proof.rsplit("::").next().unwrap_or(proof);
    tests.iter().any(|test| test.name == name)
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::Tree;

    fn broken(rows: &str) -> Vec<String> {
        let text = format!("| promise | test |\n|---|---|\n{rows}\n");
        let files =
            [("docs/guarantees.md", text.as_str()), ("tests/a.rs", "#[test]\nfn held() {}"), ("tests/real.sh", "")];
        check(&Tree::of(&files)).broken
    }

    #[test]
    fn tests_and_scripts_must_exist() {
        assert!(broken("| a | `held`, `a::held` and `tests/real.sh` |\n| b | `cargo xtask tidy` |").is_empty());
        assert_eq!(broken("| a | `gone` |\n| b | `tests/gone.sh` |").len(), 2);
    }

    #[test]
    fn a_promise_needs_a_test() {
        assert_eq!(broken("| a | — |"), ["docs/guarantees.md:3: a promise without a test"]);
    }
}
