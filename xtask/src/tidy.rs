//! `cargo xtask tidy`: the invariants of the house that text can check.
//!
//! One rule is one function over a [`Tree`], with a name and the text that a person needs who has broken it: the rule,
//! its reason, what to do. What the compiler or clippy can see is theirs; sentences of Markdown are nobody's.

mod case_ids;
mod cases;
mod effects;
mod faults;
mod forbidden;
mod git_border;
mod guarantees;
mod imports;
mod length;
mod machine_paths;
mod markdown;
mod mask;
mod names;
mod openings;
mod source;
mod tree;

use crate::failure::Failure;
use crate::printer;
use crate::workspace::Workspace;

use self::tree::Tree;

/// One invariant.
struct Rule {
    /// A stable word, to talk about it.
    name: &'static str,
    /// The rule, its reason, and what to do.
    says: &'static str,
    check: fn(&Tree) -> Found,
}

/// What a rule found.
#[derive(Debug, Default)]
struct Found {
    /// Breaks of the rule: place and fact.
    broken: Vec<String>,
    /// Facts that want a look and fail nothing.
    notes: Vec<String>,
}

impl Found {
    /// Records a break.
    fn broken(&mut self, place: &str, fact: &str) {
        self.broken.push(format!("{place}: {fact}"));
    }

    /// Records a note.
    fn note(&mut self, place: &str, fact: &str) {
        self.notes.push(format!("{place}: {fact}"));
    }
}

const RULES: &[Rule] = &[
    Rule { name: "imports", says: imports::SAYS, check: imports::check },
    Rule { name: "faults", says: faults::SAYS, check: faults::check },
    Rule { name: "file-names", says: names::SAYS, check: names::check },
    Rule { name: "openings", says: openings::SAYS, check: openings::check },
    Rule { name: "unfinished", says: forbidden::UNFINISHED, check: forbidden::unfinished },
    Rule { name: "allow", says: forbidden::ALLOW, check: forbidden::allow },
    Rule { name: "unsafe", says: forbidden::UNSAFE, check: forbidden::unsafe_code },
    Rule { name: "writes", says: effects::WRITES, check: effects::writes },
    Rule { name: "environment", says: effects::ENVIRONMENT, check: effects::environment },
    Rule { name: "printing", says: effects::PRINTING, check: effects::printing },
    Rule { name: "git-border", says: git_border::SAYS, check: git_border::check },
    Rule { name: "cases", says: cases::SAYS, check: cases::check },
    Rule { name: "guarantees", says: guarantees::SAYS, check: guarantees::check },
    Rule { name: "machine-paths", says: machine_paths::SAYS, check: machine_paths::check },
    Rule { name: "length", says: length::SAYS, check: length::check },
];

/// Path and text of the case book, its column of tests filled from the sources.
pub(crate) fn case_book(workspace: &Workspace) -> Result<(&'static str, String), Failure> {
    let tests = Tree::load(workspace)?.tests();
    Ok((cases::BOOK, cases::filled(&workspace.read(cases::BOOK)?, &tests)))
}

/// Checks every rule; all breaks are shown before the run fails.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Failure> {
    let tree = Tree::load(workspace)?;
    let mut broken = Vec::new();
    for rule in RULES {
        let found = (rule.check)(&tree);
        for note in &found.notes {
            printer::note(&format!("{}: {note}", rule.name));
        }
        if !found.broken.is_empty() {
            printer::say(&format!("tidy: {}: {}", rule.name, rule.says));
            for fact in &found.broken {
                printer::say(&format!("  {fact}"));
            }
            broken.push(rule.name);
        }
    }
    if broken.is_empty() {
        printer::say(&format!("tidy: {} rules hold", RULES.len()));
        return Ok(());
    }
    Err(Failure::new(format!("broken rules: {}", broken.join(", "))))
}
