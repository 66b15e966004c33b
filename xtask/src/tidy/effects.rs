//! What a library may not do behind its user's back.

use super::Found;
use super::tree::{Tree, crate_of_source};

pub(super) const WRITES: &str = "\
files are changed through ckpt-fs only; a write that passes it by is not durable, follows symlinks and is invisible to \
the crash tests. \
Use the function of ckpt-fs, or add one there.";

pub(super) const ENVIRONMENT: &str = "\
the environment, the current directory and the home directory are read in the command, in ckpt-config and in \
crates/service/src/global.rs only; a library that looks around cannot be tested nor used twice in one process. \
Take the value as a parameter.";

pub(super) const PRINTING: &str = "\
only the command's printer prints; a line from elsewhere breaks `--json`, and `id=$(ckpt save)`. \
Return the fact and let the command say it.";

const WRITE_CALLS: &[&str] = &[
    "fs::write",
    "fs::rename",
    "fs::copy",
    "fs::hard_link",
    "fs::remove_file",
    "fs::remove_dir",
    "fs::remove_dir_all",
    "fs::create_dir",
    "fs::create_dir_all",
    "fs::set_permissions",
    "fs::DirBuilder",
    "fs::symlink",
    "File::create",
    "File::create_new",
    "File::options",
    "OpenOptions",
];

const PRINT_CALLS: &[&str] = &["print!", "println!", "eprint!", "eprintln!", "dbg!"];

pub(super) fn writes(tree: &Tree) -> Found {
    shipped(tree, WRITE_CALLS, |path| crate_of_source(path) != Some("fs"))
}

pub(super) fn environment(tree: &Tree) -> Found {
    shipped(tree, &["std::env", "env::"], |path| {
        !matches!(crate_of_source(path), Some("cli" | "config")) && path != "crates/service/src/global.rs"
    })
}

pub(super) fn printing(tree: &Tree) -> Found {
    shipped(tree, PRINT_CALLS, |path| {
        path != "crates/cli/src/printer.rs" && !path.starts_with("crates/cli/src/printer/")
    })
}

/// One break a line, however many of the tokens it has.
fn shipped(tree: &Tree, tokens: &[&str], applies: fn(&str) -> bool) -> Found {
    let mut found = Found::default();
    for source in tree.shipped().filter(|source| applies(source.path)) {
        let mut places = source.places_of(tokens);
        places.dedup_by(|a, b| a.0 == b.0);
        for (place, token) in places {
            found.broken(&place, &format!("`{token}`"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{environment, printing, writes};
    use crate::tidy::tree::Tree;

    #[test]
    fn writes_go_through_fs() {
        let text = "fn a() { std::fs::write(p, b) }\nfn b() { ckpt_fs::rename(a) }\n#[cfg(test)]\nmod t { use std::fs; \
                    fn c() { fs::write(p, b) } }\n";
        let tree = Tree::of(&[("crates/core/src/a.rs", text), ("crates/fs/src/a.rs", text), ("tests/a.rs", text)]);
        assert_eq!(writes(&tree).broken, ["crates/core/src/a.rs:1: `fs::write`"]);
    }

    #[test]
    fn environment_is_for_the_edge() {
        let text = "use std::env;\nconst V: &str = env!(\"X\");\n";
        let tree = Tree::of(&[
            ("crates/core/src/a.rs", text),
            ("crates/service/src/global.rs", text),
            ("crates/service/src/service.rs", text),
            ("crates/cli/src/main.rs", text),
        ]);
        assert_eq!(environment(&tree).broken.len(), 2);
    }

    #[test]
    fn one_printer() {
        let text = "fn a() { println!() }\n";
        let tree = Tree::of(&[("crates/cli/src/printer.rs", text), ("crates/cli/src/save.rs", text)]);
        assert_eq!(printing(&tree).broken, ["crates/cli/src/save.rs:1: `println!`"]);
    }
}
