//! The case book: each case has a test that carries its id, or a reason why not yet.
//!
//! Situation and outcome are written by people; the column of tests is filled from the sources by `cargo xtask docs`.

use std::collections::HashSet;

use super::Found;
use super::case_ids::CASE_IDS;
use super::markdown::{Table, code_words, tables};
use super::tree::{Test, Tree};

pub(super) const SAYS: &str = "\
every case of docs/cases.md names a test that exists and carries the case's id (`reset_keeps_ignored_files_l2`), or \
says what it waits for; the book is what people lost, and a case without a proof is a promise without one. \
Write the test and run `cargo xtask docs`, which fills the row; or write `waits: <reason>` in its state.";

/// The book's path in the checkout.
pub(crate) const BOOK: &str = "docs/cases.md";
const HEAD: [&str; 5] = ["id", "situation", "right outcome", "test", "state"];

pub(super) fn check(tree: &Tree) -> Found {
    let mut found = Found::default();
    let Some(text) = tree.text(BOOK) else {
        found.broken(BOOK, "is missing");
        return found;
    };
    let tests = tree.tests();
    let mut seen = HashSet::new();
    let mut planned = Vec::new();
    for table in tables(text) {
        check_head(&mut found, &table);
        for (line, cells) in &table.rows {
            let place = format!("{BOOK}:{line}");
            let Some(case) = Case::parse(cells) else {
                found.broken(&place, &format!("a row needs {} cells", HEAD.len()));
                continue;
            };
            if !CASE_IDS.contains(&case.id) {
                found.broken(&place, &format!("{} is not in xtask/src/tidy/case_ids.rs", case.id));
            }
            if !seen.insert(case.id.to_owned()) {
                found.broken(&place, &format!("{} stands here a second time", case.id));
            }
            check_tests(&mut found, &place, &case, &tests);
            check_state(&mut found, &place, &case);
            if case.state == "planned" {
                planned.push(case.id.to_owned());
            }
        }
    }
    for id in CASE_IDS.iter().filter(|id| !seen.contains(**id)) {
        found.broken(BOOK, &format!("{id} has no row"));
    }
    if !planned.is_empty() {
        found.broken(BOOK, &format!("{} cases are only planned: {}", planned.len(), planned.join(" ")));
    }
    found
}

/// The book with its column of tests filled from the sources.
///
/// `planned` becomes `tested` with the first test of behaviour: a case is a situation, and a test of one function in it
/// is not the whole. Where that is all there can be, a person writes `tested`. Without a test it becomes `planned`.
pub(super) fn filled(text: &str, tests: &[Test]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (line, cells) in tables(text).into_iter().flat_map(|table| table.rows) {
        let [id, situation, outcome, _, state] = cells.as_slice() else {
            continue;
        };
        let of_case: Vec<&Test> = tests.iter().filter(|test| carries(&test.name, id)).collect();
        let names: Vec<String> = of_case.iter().map(|test| format!("`{}`", test.name)).collect();
        let column = if names.is_empty() { "—".to_owned() } else { names.join(", ") };
        let state = match (state.strip_prefix("planned"), state.strip_prefix("tested")) {
            (Some(remark), _) if of_case.iter().any(|test| test.is_of_behaviour) => format!("tested{remark}"),
            (_, Some(remark)) if of_case.is_empty() => format!("planned{remark}"),
            _ => state.clone(),
        };
        lines[line - 1] = format!("| {id} | {situation} | {outcome} | {column} | {state} |");
    }
    lines.join("\n") + "\n"
}

/// One row of the book.
struct Case<'a> {
    id: &'a str,
    tests: Vec<&'a str>,
    /// First word of the state.
    state: &'a str,
    /// What follows it.
    remark: &'a str,
}

impl<'a> Case<'a> {
    fn parse(cells: &'a [String]) -> Option<Self> {
        let [id, _, _, test, state] = cells else {
            return None;
        };
        let (word, remark) = state.split_once([':', ';']).unwrap_or((state, ""));
        Some(Self { id, tests: code_words(test).collect(), state: word.trim(), remark: remark.trim() })
    }
}

fn check_head(found: &mut Found, table: &Table) {
    if table.head != HEAD {
        found.broken(
            BOOK,
            &format!("a table has the columns `{}`, not `{}`", table.head.join("`, `"), HEAD.join("`, `")),
        );
    }
}

fn check_tests(found: &mut Found, place: &str, case: &Case<'_>, tests: &[Test]) {
    for test in &case.tests {
        if !carries(test, case.id) {
            found.broken(place, &format!("`{test}` does not carry the id {}", case.id));
        }
        if !tests.iter().any(|known| known.name == *test) {
            found.broken(place, &format!("no test `{test}` in crates/ or tests/"));
        }
    }
}

fn check_state(found: &mut Found, place: &str, case: &Case<'_>) {
    match case.state {
        "tested" if case.tests.is_empty() => found.broken(place, &format!("{} is `tested` by no test", case.id)),
        "waits" if case.remark.is_empty() => found.broken(place, &format!("{} waits without a reason", case.id)),
        "planned" | "tested" | "waits" => {}
        other => found.broken(place, &format!("`{other}` is no state; one of planned, tested, waits")),
    }
}

/// Whether a test's name ends in the id, or in several ids of which this is one.
fn carries(name: &str, id: &str) -> bool {
    let is_id = |part: &&str| CASE_IDS.iter().any(|known| known.eq_ignore_ascii_case(part));
    name.rsplit('_').take_while(is_id).any(|part| part.eq_ignore_ascii_case(id))
}

#[cfg(test)]
mod tests {
    use super::{carries, check, filled};
    use crate::tidy::tree::Tree;

    const HEAD: &str = "| id | situation | right outcome | test | state |\n|---|---|---|---|---|\n";

    /// Breaks of the row itself; that all other ids are missing is not looked at.
    fn broken(row: &str, sources: &str) -> Vec<String> {
        let text = format!("{HEAD}{row}\n");
        let found = check(&Tree::of(&[("docs/cases.md", &text), ("tests/e2e/a.rs", sources)]));
        found.broken.into_iter().filter(|fact| !fact.ends_with("has no row")).collect()
    }

    #[test]
    fn ids_stand_at_the_end() {
        assert!(carries("reset_keeps_ignored_files_l2", "L2"));
        assert!(carries("kinds_and_modes_c41_c42", "C41"));
        assert!(!carries("reset_keeps_l21", "L2"));
        assert!(!carries("l2_keeps_files", "L2"));
    }

    #[test]
    fn a_test_must_exist_and_carry_the_id() {
        assert!(broken("| L2 | s | o | `keeps_l2` | tested |", "#[test]\nfn keeps_l2() {}").is_empty());
        assert_eq!(broken("| L2 | s | o | `keeps_l2` | tested |", "").len(), 1);
        assert_eq!(broken("| L2 | s | o | `keeps_l3` | tested |", "#[test]\nfn keeps_l3() {}").len(), 1);
    }

    #[test]
    fn states_are_checked() {
        assert_eq!(broken("| L2 | s | o | — | tested |", "").len(), 1);
        assert_eq!(broken("| L2 | s | o | — | waits: |", "").len(), 1);
        assert_eq!(broken("| L2 | s | o | — | done |", "").len(), 1);
        assert!(broken("| L2 | s | o | — | waits: merging comes later |", "").is_empty());
        assert!(broken("| L2 | s | o | `a_l2` | tested; the large form waits |", "#[test]\nfn a_l2() {}").is_empty());
    }

    #[test]
    fn rows_are_known_and_single() {
        assert_eq!(broken("| Z9 | s | o | — | waits: x |", "").len(), 1);
        assert_eq!(broken("| L2 | s | o | — | waits: x |\n| L2 | s | o | — | waits: x |", "").len(), 1);
        assert_eq!(broken("| L2 | s | o |", "").len(), 1);
    }

    #[test]
    fn rows_are_filled_from_the_sources() {
        let text = format!(
            "{HEAD}| L1 | s | a \\| b | — | planned; x |\n| L2 | s | o | `gone_l2` | tested |\n| L4 | s | o | — | planned |\n"
        );
        let expected = format!(
            "{HEAD}| L1 | s | a \\| b | `a_l1`, `b_l1_l3` | tested; x |\n| L2 | s | o | — | planned |\n\
             | L4 | s | o | `unit_l4` | planned |\n"
        );
        let sources = [
            ("tests/a.rs", "#[test]\nfn b_l1_l3() {}\n"),
            ("crates/core/tests/a.rs", "#[test]\nfn a_l1() {}\n"),
            ("crates/core/src/a.rs", "#[test]\nfn unit_l4() {}\n"),
        ];
        let tests = Tree::of(&sources).tests();
        assert_eq!(filled(&text, &tests), expected);
        assert_eq!(filled(&expected, &tests), expected);
    }
}
