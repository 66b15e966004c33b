//! What a release changes in the text of our files.
//!
//! Lines are edited, not the parsed document, so that order and comments stay; the result is parsed to see that it
//! says what was meant.

use toml::{Table, Value};

use crate::failure::Failure;
use crate::manifest::{parse, shared_version};

use super::version::Version;

/// The manifest that carries the version.
const ROOT: &str = "Cargo.toml";

/// Sets the version of the workspace and of its crates in `[workspace.dependencies]`.
pub(super) fn set_version(manifest: &str, version: &Version) -> Result<String, Failure> {
    let present = present_version(&parse(ROOT, manifest)?)?;
    if version.is_before(&present) {
        return Err(Failure::new(format!("{version} is lower than the present version, {present}")));
    }
    let mut section = "";
    let mut edited = String::with_capacity(manifest.len());
    for line in manifest.split_inclusive('\n') {
        if line.starts_with('[') {
            section = line.trim_end();
        }
        let carries = match section {
            "[workspace.package]" => line.starts_with("version = "),
            "[workspace.dependencies]" => line.starts_with("ckpt-"),
            _ => false,
        };
        if carries {
            edited.push_str(&line.replacen(&format!("\"{present}\""), &format!("\"{version}\""), 1));
        } else {
            edited.push_str(line);
        }
    }
    expect_everywhere(&parse(ROOT, &edited)?, version)?;
    Ok(edited)
}

/// Fails unless a crate takes its version and its sisters from the workspace.
pub(super) fn expect_inherited(path: &str, manifest: &str) -> Result<(), Failure> {
    let table = parse(path, manifest)?;
    let inherits = |value: Option<&Value>| value.and_then(|value| value.get("workspace")?.as_bool()) == Some(true);
    if !inherits(table.get("package").and_then(|package| package.get("version"))) {
        return Err(Failure::new(format!("{path} has a version of its own")).hint("write `version.workspace = true`"));
    }
    for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
        let entries = table.get(kind).and_then(Value::as_table).into_iter().flatten();
        if let Some((name, _)) = entries.filter(|(name, _)| name.starts_with("ckpt-")).find(|(_, v)| !inherits(Some(v)))
        {
            return Err(Failure::new(format!("{path} gives {name} a version of its own"))
                .hint(format!("write `{name}.workspace = true`")));
        }
    }
    Ok(())
}

/// Turns the heading `## Unreleased` into that of the version; there must be something under it.
pub(super) fn date_changelog(changelog: &str, version: &Version, date: &str) -> Result<String, Failure> {
    const HEADING: &str = "## Unreleased";
    let mut lines = changelog.lines().skip_while(|line| line.trim_end() != HEADING);
    if lines.next().is_none() {
        return Err(Failure::new(format!("CHANGELOG.md has no heading `{HEADING}`")));
    }
    if !lines.take_while(|line| !line.starts_with("## ")).any(|line| !line.trim().is_empty()) {
        return Err(Failure::new(format!("CHANGELOG.md says nothing under `{HEADING}`")));
    }
    let heading = format!("## {version} - {date}");
    let dated = changelog.lines().map(|line| if line.trim_end() == HEADING { heading.as_str() } else { line });
    Ok(dated.collect::<Vec<_>>().join("\n") + "\n")
}

fn present_version(root: &Table) -> Result<Version, Failure> {
    let text = shared_version(root)?;
    text.parse().map_err(|err: String| Failure::new(format!("`{text}` is no version")).because(err))
}

fn expect_everywhere(root: &Table, version: &Version) -> Result<(), Failure> {
    if present_version(root)? != *version {
        return Err(Failure::new("the version of [workspace.package] could not be set"));
    }
    let dependencies = root.get("workspace").and_then(|value| value.get("dependencies")?.as_table());
    for (name, value) in dependencies.into_iter().flatten().filter(|(name, _)| name.starts_with("ckpt-")) {
        if value.get("version").and_then(Value::as_str) != Some(version.to_string().as_str()) {
            return Err(Failure::new(format!("the version of {name} in [workspace.dependencies] could not be set"))
                .hint("it must stand on the line of its name and be that of the workspace"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{date_changelog, expect_inherited, set_version};

    const MANIFEST: &str = "\
[workspace.package]
version = \"0.1.0\" # shared
edition = \"2024\"

[workspace.dependencies]
ckpt-fs = { version = \"0.1.0\", path = \"crates/fs\" }
other = \"0.1.0\"
";

    #[test]
    fn sets_ours_and_leaves_others() {
        let edited = set_version(MANIFEST, &"0.2.0".parse().unwrap()).unwrap();
        let expected = MANIFEST
            .replace("version = \"0.1.0\" #", "version = \"0.2.0\" #")
            .replace("{ version = \"0.1.0\"", "{ version = \"0.2.0\"");
        assert_eq!(edited, expected);
    }

    #[test]
    fn the_first_release_keeps_the_version() {
        assert_eq!(set_version(MANIFEST, &"0.1.0".parse().unwrap()).unwrap(), MANIFEST);
    }

    #[test]
    fn refuses_to_go_back_or_to_leave_one_behind() {
        assert!(set_version(MANIFEST, &"0.0.9".parse().unwrap()).is_err());
        let odd = MANIFEST.replace("{ version = \"0.1.0\"", "{ version = \"0.1\"");
        assert!(set_version(&odd, &"0.2.0".parse().unwrap()).is_err());
    }

    #[test]
    fn crates_inherit() {
        let good = "[package]\nversion.workspace = true\n[dependencies]\nckpt-fs.workspace = true\n";
        assert!(expect_inherited("a", good).is_ok());
        let featured = "[package]\nversion.workspace = true\n[dev-dependencies]\nckpt-fs = { workspace = true, features = [\"faults\"] }\n";
        assert!(expect_inherited("a", featured).is_ok());
        assert!(expect_inherited("a", "[package]\nversion = \"0.1.0\"\n").is_err());
        assert!(
            expect_inherited("a", "[package]\nversion.workspace = true\n[dependencies]\nckpt-fs = \"0.1\"\n").is_err()
        );
    }

    #[test]
    fn dates_the_changelog() {
        let version = "0.2.0".parse().unwrap();
        let text = "# Changes\n\n## Unreleased\n\nA thing.\n\n## 0.1.0 - 2025-01-01\n\nFirst.\n";
        let dated = date_changelog(text, &version, "2025-02-03").unwrap();
        assert_eq!(dated, text.replace("## Unreleased", "## 0.2.0 - 2025-02-03"));
        assert!(date_changelog("# Changes\n", &version, "2025-02-03").is_err());
        assert!(date_changelog("## Unreleased\n\n## 0.1.0\n\nFirst.\n", &version, "2025-02-03").is_err());
    }
}
