//! Cargo manifests, as far as the chores read them.

use toml::Table;

use crate::failure::Failure;

/// Parses a manifest; `path` is for the message.
pub(crate) fn parse(path: &str, text: &str) -> Result<Table, Failure> {
    text.parse().map_err(|err| Failure::new(format!("cannot parse {path}")).because(err))
}

/// The version that all crates take from the root manifest.
pub(crate) fn shared_version(root: &Table) -> Result<&str, Failure> {
    let version = root.get("workspace").and_then(|value| value.get("package")?.get("version")?.as_str());
    version.ok_or_else(|| Failure::new("cannot find workspace.package.version in Cargo.toml"))
}
