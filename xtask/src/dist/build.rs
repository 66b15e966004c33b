//! A release build that does not remember where it was made.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::program::Program;
use crate::workspace::Workspace;

/// Builds `ckpt` in a target directory of its own and returns its path.
///
/// Panic messages, and `__FILE__` in libgit2, hold the path of their source. Sources of dependencies lie under cargo's
/// home, and what build scripts write lies in the target directory: both are renamed. Sources of ours are named
/// relative to the root already.
pub(super) fn release(workspace: &Workspace, target_dir: &Path) -> Result<PathBuf, Failure> {
    let renames = renames(workspace, target_dir)?;
    let rust = renames.iter().map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()));
    let c = renames.iter().map(|(from, to)| format!("-ffile-prefix-map={}={to}", from.display()));
    Program::cargo(workspace.root())
        .args(["build", "--release", "--locked", "--package", "ckpt-cli"])
        .env("CARGO_TARGET_DIR", target_dir)
        // Takes precedence over RUSTFLAGS, which must not decide what is in a release.
        .env("CARGO_ENCODED_RUSTFLAGS", rust.collect::<Vec<_>>().join("\u{1f}"))
        .env("CFLAGS", c.collect::<Vec<_>>().join(" "))
        .run()?;
    Ok(target_dir.join("release/ckpt"))
}

/// Prefixes of paths with what stands for them; of several that match, rustc takes the last.
fn renames(workspace: &Workspace, target_dir: &Path) -> Result<Vec<(PathBuf, &'static str)>, Failure> {
    let home = match env::var_os("CARGO_HOME") {
        Some(home) => workspace.root().join(home),
        None => env::home_dir().ok_or_else(|| Failure::new("cannot find the home directory"))?.join(".cargo"),
    };
    let mut renames =
        vec![(workspace.root().to_path_buf(), "ckpt"), (target_dir.to_path_buf(), "target"), (home.clone(), "cargo")];
    // One folder for each registry, named by its address; mirrors have other addresses.
    let registries = home.join("registry/src");
    for entry in fs::read_dir(&registries).into_iter().flatten() {
        let entry = entry.map_err(|err| Failure::at("list", &registries, err))?;
        renames.push((entry.path(), "registry"));
    }
    Ok(renames)
}
