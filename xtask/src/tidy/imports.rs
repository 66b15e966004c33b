//! Which crate may use which.

use toml::{Table, Value};

use super::Found;
use super::tree::Tree;

pub(super) const SAYS: &str = "\
each crate uses only the crates below it (cli: service, config; capability: service; service: core, config; \
core: pack, fs; pack: fs; config and fs: none), git2 is core's alone and rustix and libc are fs's alone, and the \
engine knows no command line and no configuration files; else a crate cannot be used alone, and a change of file \
could pass by the fault points. \
Move the code to the crate that may have the dependency, or ask for a result from the crate below. \
Dev-dependencies are free where only the import rule speaks: tests may look at everything.";

/// Ours, by folder, with what each may use.
const OURS: &[(&str, &[&str])] = &[
    ("fs", &[]),
    ("pack", &["ckpt-fs"]),
    ("core", &["ckpt-pack", "ckpt-fs"]),
    ("config", &[]),
    ("service", &["ckpt-core", "ckpt-config"]),
    ("capability", &["ckpt-service"]),
    ("cli", &["ckpt-service", "ckpt-config"]),
];

/// Others', with the only folders that may use them; dev-dependencies count for those marked so.
const FENCED: &[(&str, &[&str], Dev)] = &[
    ("git2", &["core"], Dev::Counts),
    ("libgit2-sys", &[], Dev::Counts),
    ("rustix", &["fs"], Dev::Free),
    ("libc", &["fs"], Dev::Free),
    ("nix", &["fs"], Dev::Free),
    ("clap", &["cli"], Dev::Free),
    ("figment", &["config"], Dev::Free),
    ("tokio", &[], Dev::Free),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Dev {
    Counts,
    Free,
}

pub(super) fn check(tree: &Tree) -> Found {
    let mut found = Found::default();
    for file in &tree.files {
        let Some(folder) = file.path.strip_prefix("crates/").and_then(|rest| rest.strip_suffix("/Cargo.toml")) else {
            continue;
        };
        match file.text.parse::<Table>() {
            Ok(manifest) => check_manifest(&mut found, &file.path, folder, &manifest),
            Err(err) => found.broken(&file.path, &format!("not TOML: {err}")),
        }
    }
    found
}

fn check_manifest(found: &mut Found, path: &str, folder: &str, manifest: &Table) {
    let Some((_, may_use)) = OURS.iter().find(|(name, _)| *name == folder) else {
        found.broken(path, "a crate that the import rule does not know; give it its line in xtask/src/tidy/imports.rs");
        return;
    };
    for (name, dev) in dependencies(manifest) {
        if name.starts_with("ckpt-") && !dev && !may_use.contains(&name.as_str()) {
            found.broken(path, &format!("depends on {name}"));
        }
        let fence = FENCED.iter().find(|(other, _, _)| *other == name);
        if fence.is_some_and(|(_, folders, counts)| !folders.contains(&folder) && (!dev || *counts == Dev::Counts)) {
            found.broken(path, &format!("depends on {name}"));
        }
    }
}

/// Package names of all dependencies of every platform, and whether they are dev-dependencies.
fn dependencies(manifest: &Table) -> Vec<(String, bool)> {
    let platforms = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
    let tables: Vec<&Table> = std::iter::once(manifest).chain(platforms.filter_map(Value::as_table)).collect();
    let mut names = Vec::new();
    for kind in ["dependencies", "build-dependencies", "dev-dependencies"] {
        let entries = tables.iter().filter_map(|table| table.get(kind)?.as_table()).flatten();
        names.extend(entries.map(|(key, value)| {
            let renamed = value.get("package").and_then(Value::as_str);
            (renamed.unwrap_or(key).to_owned(), kind == "dev-dependencies")
        }));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::Tree;

    fn broken(path: &str, manifest: &str) -> Vec<String> {
        check(&Tree::of(&[(path, manifest)])).broken
    }

    #[test]
    fn allows_what_is_below() {
        let manifest = "[dependencies]\nckpt-fs.workspace = true\nckpt-pack.workspace = true\ngit2.workspace = true\n";
        assert!(broken("crates/core/Cargo.toml", manifest).is_empty());
    }

    #[test]
    fn refuses_what_is_above() {
        let found = broken("crates/fs/Cargo.toml", "[dependencies]\nckpt-core.workspace = true\n");
        assert_eq!(found, ["crates/fs/Cargo.toml: depends on ckpt-core"]);
    }

    #[test]
    fn git2_is_fenced_in_tests_and_under_another_name() {
        assert_eq!(broken("crates/cli/Cargo.toml", "[dev-dependencies]\ngit2 = \"0.21\"\n").len(), 1);
        let renamed = "[target.'cfg(unix)'.dependencies]\ngit = { package = \"git2\", version = \"0.21\" }\n";
        assert_eq!(broken("crates/pack/Cargo.toml", renamed).len(), 1);
    }

    #[test]
    fn tests_may_look_at_everything_else() {
        let manifest = "[dev-dependencies]\nckpt-fs.workspace = true\nrustix.workspace = true\n";
        assert!(broken("crates/cli/Cargo.toml", manifest).is_empty());
    }

    #[test]
    fn unknown_crates_need_a_line() {
        assert_eq!(broken("crates/new/Cargo.toml", "[package]\n").len(), 1);
    }
}
