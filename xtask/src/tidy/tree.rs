//! The text files of the checkout, in memory, by path.
//!
//! Files are found by walking, not by asking git, so that a release tarball can be checked too. What cargo builds and
//! what is not UTF-8 is left out.

use std::fs;
use std::path::Path;

use crate::failure::Failure;
use crate::workspace::Workspace;

use super::source::Source;

/// Every text file of the checkout; sorted by path.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// The checkout's absolute path; empty in tests.
    pub(super) root: String,
    /// Files with `/`-separated paths relative to the root.
    pub(super) files: Vec<File>,
}

/// One text file.
#[derive(Debug)]
pub(super) struct File {
    pub(super) path: String,
    pub(super) text: String,
}

/// One test function.
#[derive(Debug)]
pub(super) struct Test {
    pub(super) name: String,
    /// Whether it stands outside `src`, where only what is public can be tried.
    pub(super) is_of_behaviour: bool,
}

impl Tree {
    /// Reads all files.
    pub(super) fn load(workspace: &Workspace) -> Result<Self, Failure> {
        let mut tree = Self { root: workspace.root().display().to_string(), files: Vec::new() };
        tree.add_dir(workspace.root(), "")?;
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    fn add_dir(&mut self, dir: &Path, prefix: &str) -> Result<(), Failure> {
        for entry in fs::read_dir(dir).map_err(|err| Failure::at("list", dir, err))? {
            let entry = entry.map_err(|err| Failure::at("list", dir, err))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type().map_err(|err| Failure::at("look at", &entry.path(), err))?;
            let path = format!("{prefix}{name}");
            if kind.is_dir() && name != "target" && name != ".git" {
                self.add_dir(&entry.path(), &format!("{path}/"))?;
            } else if kind.is_file() {
                let bytes = fs::read(entry.path()).map_err(|err| Failure::at("read", &entry.path(), err))?;
                self.files.extend(String::from_utf8(bytes).ok().map(|text| File { path, text }));
            }
        }
        Ok(())
    }

    /// The text of one file.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
    }

    /// Whether a text file stands at `path`.
    pub(super) fn has(&self, path: &str) -> bool {
        self.text(path).is_some()
    }

    /// All Rust files.
    pub(super) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    /// What ships: the files of `crates/*/src`, without their test modules, comments and the contents of literals.
    pub(super) fn shipped(&self) -> impl Iterator<Item = Source<'_>> {
        let sources = || self.rust().filter(|file| crate_of_source(&file.path).is_some());
        let of_tests: Vec<String> = sources().flat_map(|file| test_modules(&file.path, &file.text)).collect();
        let is_test = move |path: &str| {
            let beneath =
                |module: &String| path.strip_prefix(module.as_str()).is_some_and(|rest| rest.starts_with(['.', '/']));
            of_tests.iter().any(beneath)
        };
        sources().filter(move |file| !is_test(&file.path)).map(|file| Source::shipped(&file.path, &file.text))
    }

    /// Every Rust file, test modules included, without comments and the contents of literals.
    pub(super) fn written(&self) -> impl Iterator<Item = Source<'_>> {
        self.rust().map(|file| Source::written(&file.path, &file.text))
    }

    /// All tests of the crates and of `tests/`; sorted by name.
    pub(super) fn tests(&self) -> Vec<Test> {
        let ours =
            self.written().filter(|source| source.path.starts_with("crates/") || source.path.starts_with("tests/"));
        let mut tests: Vec<Test> = ours
            .flat_map(|source| {
                let is_of_behaviour = crate_of_source(source.path).is_none();
                source.tests().into_iter().map(move |name| Test { name, is_of_behaviour })
            })
            .collect();
        tests.sort_by(|a, b| a.name.cmp(&b.name));
        tests
    }

    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| File { path: (*path).into(), text: (*text).into() }).collect();
        Self { root: String::new(), files }
    }
}

/// The folder's name of the crate whose `src` holds `path`.
pub(super) fn crate_of_source(path: &str) -> Option<&str> {
    let (name, rest) = path.strip_prefix("crates/")?.split_once('/')?;
    rest.starts_with("src/").then_some(name)
}

/// Paths, without their `.rs`, of the modules that `path` declares under `#[cfg(test)]` and keeps in files of their own.
fn test_modules(path: &str, text: &str) -> Vec<String> {
    let stem = path.trim_end_matches(".rs");
    let dir = ["/mod", "/lib", "/main"].iter().find_map(|name| stem.strip_suffix(name)).unwrap_or(stem);
    let declared = text.split("#[cfg(test)]").skip(1).filter_map(|rest| {
        let name = rest.trim_start().strip_prefix("mod ")?.split_once(';')?.0;
        name.chars().all(|c| c.is_alphanumeric() || c == '_').then_some(name)
    });
    declared.map(|name| format!("{dir}/{name}")).collect()
}

#[cfg(test)]
mod tests {
    use super::Tree;

    #[test]
    fn test_modules_in_files_do_not_ship() {
        let tree = Tree::of(&[
            ("crates/core/src/lib.rs", "#[cfg(test)]\nmod model;\nmod patch;\n"),
            ("crates/core/src/model.rs", ""),
            ("crates/core/src/modeled.rs", ""),
            ("crates/core/src/patch.rs", "#[cfg(test)]\nmod oracle;\n#[cfg(test)]\nmod tests { mod a; }\n"),
            ("crates/core/src/patch/oracle/mod.rs", ""),
            ("crates/core/tests/a.rs", ""),
        ]);
        let paths: Vec<_> = tree.shipped().map(|source| source.path).collect();
        assert_eq!(paths, ["crates/core/src/lib.rs", "crates/core/src/modeled.rs", "crates/core/src/patch.rs"]);
    }
}
