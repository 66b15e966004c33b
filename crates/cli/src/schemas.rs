//! The JSON Schemas of all objects, as they are published. Each file stands alone; what several define, they define
//! alike.

/// Name without version, and text.
pub(crate) const SCHEMAS: &[(&str, &str)] = &[
    ("save", include_str!("../schemas/save.json")),
    ("ls", include_str!("../schemas/ls.json")),
    ("show", include_str!("../schemas/show.json")),
    ("status", include_str!("../schemas/status.json")),
    ("diff", include_str!("../schemas/diff.json")),
    ("rollback", include_str!("../schemas/rollback.json")),
    ("reset", include_str!("../schemas/reset.json")),
    ("undo", include_str!("../schemas/undo.json")),
    ("redo", include_str!("../schemas/redo.json")),
    ("workspaces", include_str!("../schemas/workspaces.json")),
    ("prune", include_str!("../schemas/prune.json")),
    ("verify", include_str!("../schemas/verify.json")),
    ("doctor", include_str!("../schemas/doctor.json")),
    ("config", include_str!("../schemas/config.json")),
    ("completions", include_str!("../schemas/completions.json")),
    ("man", include_str!("../schemas/man.json")),
    ("help", include_str!("../schemas/help.json")),
    ("version", include_str!("../schemas/version.json")),
    ("error", include_str!("../schemas/error.json")),
];

/// Where the shared definitions of a file begin; they are its last member.
const DEFINITIONS: &str = ",\n  \"$defs\": {\n";

/// The schema without its definitions.
pub(crate) fn own_part(text: &str) -> String {
    match text.split_once(DEFINITIONS) {
        Some((own, _)) => format!("{own}\n}}\n"),
        None => text.to_owned(),
    }
}

/// Name and text of each definition, in order of first use.
pub(crate) fn definitions() -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for (_, text) in SCHEMAS {
        let Some((_, block)) = text.split_once(DEFINITIONS) else { continue };
        let block = block.trim_end().trim_end_matches('}').trim_end().trim_end_matches('}').trim_end();
        for definition in split(block) {
            let name = definition.trim_start().split('"').nth(1).unwrap_or_default().to_owned();
            if !found.iter().any(|(known, _)| *known == name) {
                found.push((name, definition));
            }
        }
    }
    found
}

/// The members of a block; each begins with a quote in the fifth column.
fn split(block: &str) -> Vec<String> {
    let mut members: Vec<String> = Vec::new();
    for line in block.lines() {
        if line.starts_with("    \"") {
            members.push(line.to_owned());
        } else if let Some(last) = members.last_mut() {
            last.push('\n');
            last.push_str(line);
        }
    }
    members.into_iter().map(|member| member.trim_end_matches(',').to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use clap::CommandFactory;
    use serde_json::Value;

    use super::*;

    fn parsed() -> Vec<(&'static str, Value)> {
        SCHEMAS.iter().map(|(name, text)| (*name, serde_json::from_str(text).unwrap())).collect()
    }

    #[test]
    fn every_schema_is_one_and_names_itself() {
        for (name, schema) in parsed() {
            assert!(jsonschema::meta::is_valid(&schema), "{name}");
            let title = format!("ckpt.{name}/1");
            assert_eq!(schema["title"], title.as_str());
            assert_eq!(schema["properties"]["schema"]["const"], title.as_str());
            jsonschema::validator_for(&schema).unwrap();
        }
    }

    #[test]
    fn every_command_has_its_schema() {
        for command in crate::args::Cli::command().get_subcommands() {
            let name = command.get_name();
            assert!(SCHEMAS.iter().any(|(known, _)| *known == name), "{name} has no schema");
        }
    }

    #[test]
    fn shared_definitions_are_the_same_everywhere() {
        let mut known: BTreeMap<String, Value> = BTreeMap::new();
        for (name, schema) in parsed() {
            for (definition, value) in schema["$defs"].as_object().into_iter().flatten() {
                let first = known.entry(definition.clone()).or_insert_with(|| value.clone());
                assert_eq!(first, value, "{definition} in {name}");
            }
        }
        let names: Vec<_> = definitions().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), known.len());
        for (name, text) in definitions() {
            let value: Value = serde_json::from_str(&format!("{{{text}}}")).unwrap();
            assert_eq!(value[&name], known[&name]);
        }
    }

    #[test]
    fn what_is_shown_of_a_schema_is_json() {
        for (name, text) in SCHEMAS {
            let own: Value = serde_json::from_str(&own_part(text)).unwrap();
            assert!(own.get("$defs").is_none(), "{name}");
        }
    }
}
