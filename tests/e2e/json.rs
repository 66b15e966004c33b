//! `--json`: one line in every case, and every line as its published schema says.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::sandbox::{Output, Sandbox};

/// Validates an object against the schema that it names; the schema's name.
fn assert_valid(output: &Output) -> String {
    let object = output.json();
    let name = object["schema"].as_str().unwrap_or_else(|| panic!("it names a schema: {output}")).to_owned();
    let file = name.strip_prefix("ckpt.").and_then(|name| name.strip_suffix("/1")).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas").join(format!("{file}.json"));
    let text = fs::read_to_string(&path).unwrap_or_else(|err| panic!("{name} has no schema: {err}"));
    let schema: Value = serde_json::from_str(&text).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&object).map(|err| format!("{}: {err}", err.instance_path())).collect();
    assert!(errors.is_empty(), "{name}: {errors:#?}\n{output}");
    assert_paths_and_times(&object, output);
    name
}

/// Ids have 40 digits, times are RFC 3339 with milliseconds, and nothing is a float.
fn assert_paths_and_times(value: &Value, output: &Output) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if let (true, Some(text)) = (name == "time", field.as_str()) {
                    assert!(text.len() == 24 && text.ends_with('Z') && text.as_bytes()[10] == b'T', "{text}: {output}");
                }
                if let (true, Some(text)) =
                    (["id", "head", "safety", "to", "operation"].contains(&name.as_str()), field.as_str())
                {
                    assert!(text.len() == 40, "{name} {text}: {output}");
                }
                assert_paths_and_times(field, output);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| assert_paths_and_times(item, output)),
        Value::Number(number) => assert!(!number.is_f64(), "{number}: {output}"),
        _ => {}
    }
}

#[test]
fn every_object_is_as_its_schema_says() {
    let sandbox = Sandbox::new();
    let mut seen = BTreeSet::new();
    let mut run = |words: &str, code: i32| {
        let output = sandbox
            .call(["--json"].into_iter().chain(words.split(' ')))
            .config("max_file_bytes", "1000")
            .run()
            .exits(code);
        seen.insert(assert_valid(&output));
        output
    };
    let _ = run("ls", 1);
    let _ = run("workspaces", 0);
    sandbox.write("a", "one\n");
    sandbox.write("ignored", "x");
    sandbox.write("large", vec![b'x'; 2000]);
    sandbox.write(std::ffi::OsStr::new("d/日本"), "x");
    let _ = run("save --dry-run", 0);
    let first = run("save -m first", 0).json()["id"].as_str().unwrap().to_owned();
    let _ = run("save -m again", 0);
    sandbox.write("a", "two\n");
    sandbox.write(".gitignore", "ignored\n");
    sandbox.link("link", "a");
    for words in
        ["status", "diff", "diff --patch", "diff --stat", "diff HEAD", "show", "show --patch", "ls", "ls --all -n 1"]
    {
        let _ = run(words, 0);
    }
    let _ = run("status --exit-code", 4);
    let _ = run("diff --exit-code", 4);
    let _ = run("save --strict", 3);
    let _ = run(&format!("diff {first} HEAD -- a"), 0);
    let _ = run(&format!("reset {first} --dry-run"), 0);
    let _ = run(&format!("reset {first}"), 0);
    let _ = run("undo --dry-run", 0);
    let _ = run("undo", 0);
    let _ = run("redo", 0);
    let _ = run(&format!("rollback {first} a"), 0);
    sandbox.write("after", "x");
    let _ = run("save", 0);
    let others = [
        "workspaces",
        "workspaces -l",
        "prune",
        "prune --yes",
        "verify",
        "doctor",
        "config",
        "completions bash",
        "man",
    ];
    for words in others {
        let _ = run(words, 0);
    }
    for words in ["reset 0000000", "rollback HEAD ../x", "show zzz", "diff HEAD~99"] {
        let _ = run(words, 1);
    }
    for words in ["nonsense", "save a b", "ls -n x", "rollback HEAD", "--no-such-option"] {
        let _ = run(words, 2);
    }
    assert_eq!(assert_valid(&sandbox.call(["--json"]).run().exits(2)), "ckpt.error/1");
    for words in ["--version", "--help", "save --help"] {
        let _ = run(words, 0);
    }
    let missing: Vec<String> = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .filter(|name| !seen.contains(&format!("ckpt.{name}/1")))
        .collect();
    assert!(missing.is_empty(), "schemas that no output was checked against: {missing:?}");
}

#[test]
fn patches_in_json_are_whole() {
    let sandbox = Sandbox::new();
    sandbox.write("text", "one\n");
    sandbox.write("latin", b"caf\xe9\n");
    sandbox.save("first");
    sandbox.write("text", "two\n");
    let json = sandbox.ckpt("diff --patch --json").ok().json();
    assert_eq!(json["patch"].as_str().unwrap().matches("+two\n").count(), 1, "{json}");
    sandbox.write("latin", b"th\xe9\n");
    let json = sandbox.ckpt("diff --patch --json").ok().json();
    assert!(json["patch"].is_null() && json["patch_base64"].is_string(), "{json}");
}

#[test]
fn json_is_one_line_and_stderr_is_empty_unless_verbose() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let output = sandbox.ckpt("save --json -v").ok();
    assert_eq!(output.out().lines().count(), 1, "{output}");
    assert!(!output.stderr.is_empty(), "{output}");
    let _: Value = serde_json::from_slice(&output.stdout).unwrap();
    for words in ["save --json", "undo --json", "bogus --json", "reset --json --dry-run"] {
        let output = sandbox.ckpt(words);
        assert!(output.stderr.is_empty() && output.out().lines().count() == 1, "{output}");
    }
}
