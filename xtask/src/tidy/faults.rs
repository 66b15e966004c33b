//! Fault points that would reach a user.

use toml::{Table, Value};

use super::Found;
use super::tree::Tree;

pub(super) const SAYS: &str = "\
the feature `faults` is in no default and no crate asks for it but for its tests; with it, a variable of the environment \
can kill the process between two writes. \
Ask for it in `[dev-dependencies]`, or pass it on as a feature of the same name that is off.";

pub(super) fn check(tree: &Tree) -> Found {
    let mut found = Found::default();
    for file in tree.files.iter().filter(|file| file.path.ends_with("Cargo.toml")) {
        // That it is TOML is said by the rule `imports`.
        let Ok(manifest) = file.text.parse::<Table>() else {
            continue;
        };
        if has_faults(manifest.get("features").and_then(|features| features.get("default"))) {
            found.broken(&file.path, "`faults` is a default feature");
        }
        let shared = manifest.get("workspace").and_then(Value::as_table);
        for table in [Some(&manifest), shared].into_iter().flatten() {
            let entries = table.get("dependencies").and_then(Value::as_table).into_iter().flatten();
            for (name, _) in entries.filter(|(_, value)| has_faults(value.get("features"))) {
                found.broken(&file.path, &format!("{name} is asked for with `faults`"));
            }
        }
    }
    found
}

fn has_faults(features: Option<&Value>) -> bool {
    let names = features.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    names.into_iter().any(|name| name == "faults" || name.ends_with("/faults"))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::Tree;

    fn broken(manifest: &str) -> usize {
        check(&Tree::of(&[("crates/core/Cargo.toml", manifest)])).broken.len()
    }

    #[test]
    fn only_tests_have_faults() {
        let asked = "ckpt-fs = { workspace = true, features = [\"faults\"] }\n";
        assert_eq!(broken(&format!("[dev-dependencies]\n{asked}")), 0);
        assert_eq!(broken(&format!("[dependencies]\n{asked}")), 1);
        assert_eq!(broken("[features]\nfaults = [\"ckpt-fs/faults\"]\n"), 0);
        assert_eq!(broken("[features]\ndefault = [\"faults\"]\nfaults = []\n"), 1);
    }
}
