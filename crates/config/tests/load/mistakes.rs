//! What people get told when a source is wrong.

use std::error::Error as _;

use ckpt_config::{Error, Loader, Setting};

use crate::sandbox::Sandbox;

/// Writes an error as the command line does: message, causes, hint.
fn report(sandbox: &Sandbox, err: &Error) -> String {
    let mut lines = vec![format!("error[{}]: {err}", err.code())];
    let mut cause = err.source();
    while let Some(err) = cause {
        lines.push(format!("caused by: {err}"));
        cause = err.source();
    }
    lines.extend(err.hint().map(|hint| format!("hint: {hint}")));
    sandbox.mask(&lines.join("\n"))
}

/// Loads with `text` as the project's file, and reports.
fn report_of_file(text: &str) -> String {
    let sandbox = Sandbox::new();
    sandbox.write("project/fabricatio.toml", text);
    report(&sandbox, &sandbox.loader().load().expect_err("the file is wrong"))
}

fn warnings(sandbox: &Sandbox, loader: &Loader) -> String {
    let loaded = loader.load().expect("warnings are no errors");
    let lines: Vec<_> = loaded.warnings.iter().map(|warning| format!("{}: {warning}", warning.code())).collect();
    sandbox.mask(&lines.join("\n"))
}

#[test]
fn a_broken_file_is_named_with_its_line() {
    insta::assert_snapshot!(report_of_file("[checkpoint]\n\ncache_size = = 3\n"), @r"
    error[config-malformed]: cannot parse $ROOT/project/fabricatio.toml:3
    caused by: extra `=`, expected nothing
    hint: correct the file, or pass --config FILE to read another one instead
    ");
    insta::assert_snapshot!(report_of_file("[checkpoint]\nthreads = 1\nthreads = 2\n"), @r"
    error[config-malformed]: cannot parse $ROOT/project/fabricatio.toml:3
    caused by: duplicate key
    hint: correct the file, or pass --config FILE to read another one instead
    ");
    insta::assert_snapshot!(report_of_file("[checkpoint\n"), @r"
    error[config-malformed]: cannot parse $ROOT/project/fabricatio.toml:1
    caused by: unclosed table, expected `]`
    hint: correct the file, or pass --config FILE to read another one instead
    ");
}

#[test]
fn a_file_that_is_not_utf8_is_broken() {
    let sandbox = Sandbox::new();
    let path = sandbox.path("project/fabricatio.toml");
    std::fs::write(&path, b"[checkpoint]\n# \xff\n").unwrap();
    insta::assert_snapshot!(report(&sandbox, &sandbox.loader().load().unwrap_err()), @r"
    error[config-malformed]: cannot parse $ROOT/project/fabricatio.toml:2
    caused by: invalid utf-8 sequence of 1 bytes from index 15
    hint: correct the file, or pass --config FILE to read another one instead
    ");
}

#[test]
fn a_wrong_type_is_named_with_file_line_key_and_expectation() {
    insta::assert_snapshot!(report_of_file("[checkpoint]\n\ncache_size = \"many\"\n"), @r#"
    error[config-invalid]: cannot use "many" for checkpoint.cache_size ($ROOT/project/fabricatio.toml:3): expected a whole number of at least 1
    hint: write for example: cache_size = 100
    "#);
    insta::assert_snapshot!(report_of_file("ext.checkpoint = { checkpoint_dir = 2020-01-01 }\n"), @r#"
    error[config-invalid]: cannot use a date or time for ext.checkpoint.checkpoint_dir ($ROOT/project/fabricatio.toml:1): expected a path that is not empty
    hint: write for example: checkpoint_dir = "~/.fabricatio-checkpoint"
    "#);
    insta::assert_snapshot!(report_of_file("checkpoint = 3\n"), @"error[config-invalid]: cannot use 3 for checkpoint ($ROOT/project/fabricatio.toml:1): expected a table");
    insta::assert_snapshot!(report_of_file("a = 1\n[ext]\ncheckpoint = [1]\n"), @"error[config-invalid]: cannot use a list for ext.checkpoint ($ROOT/project/fabricatio.toml:3): expected a table");
}

#[test]
fn a_wrong_type_in_a_python_project_is_named_with_all_its_tables() {
    let sandbox = Sandbox::new();
    sandbox.write("project/pyproject.toml", "[tool.fabricatio.checkpoint]\nthreads = true\n");
    insta::assert_snapshot!(report(&sandbox, &sandbox.loader().load().unwrap_err()), @r"
    error[config-invalid]: cannot use true for tool.fabricatio.checkpoint.threads ($ROOT/project/pyproject.toml:2): expected a whole number, or 0 for one thread a core
    hint: write for example: threads = 4
    ");
}

#[test]
fn a_hidden_value_is_checked_too() {
    let sandbox = Sandbox::new();
    sandbox.write("project/fabricatio.toml", "[checkpoint]\nthreads = \"x\"\n");
    let err = sandbox.loader().explicit(Setting::Threads(1), "--threads").load().unwrap_err();
    assert_eq!(err.code(), "config-invalid");
}

#[test]
fn a_wrong_variable_is_named() {
    let sandbox = Sandbox::new();
    let report =
        |name: &str, value: &str| report(&sandbox, &sandbox.loader().environment([(name, value)]).load().unwrap_err());
    insta::assert_snapshot!(report("FABRICATIO_CHECKPOINT__DURABILITY", "maybe"), @r#"
    error[config-invalid]: cannot use "maybe" for durability (FABRICATIO_CHECKPOINT__DURABILITY): expected "full" or "none"
    hint: set for example: FABRICATIO_CHECKPOINT__DURABILITY='full'
    "#);
    insta::assert_snapshot!(report("fabricatio_ext__checkpoint__cache_size", "0"), @r"
    error[config-invalid]: cannot use 0 for cache_size (fabricatio_ext__checkpoint__cache_size): expected a whole number of at least 1
    hint: set for example: fabricatio_ext__checkpoint__cache_size='100'
    ");
    insta::assert_snapshot!(report("FABRICATIO_CHECKPOINT__EXCLUDE", "[1, 2]"), @r#"
    error[config-invalid]: cannot use a list for exclude (FABRICATIO_CHECKPOINT__EXCLUDE): expected a list of globs such as ["*.log", "target/"]
    hint: set for example: FABRICATIO_CHECKPOINT__EXCLUDE='["*.log", "target/"]'
    "#);
}

#[test]
fn a_named_file_must_exist() {
    let sandbox = Sandbox::new();
    let err = sandbox.loader().config_file("none.toml").load().unwrap_err();
    assert!(matches!(&err, Error::Unreadable { path, .. } if *path == sandbox.path("project/none.toml")));
    assert_eq!(err.hint().as_deref(), Some("name a file that exists with --config"));
    assert_eq!(err.to_string(), format!("cannot read {}", sandbox.path("project/none.toml").display()));
}

#[test]
fn a_home_directory_is_only_wanted_where_it_is_needed() {
    let sandbox = Sandbox::new();
    let homeless = Loader::new(sandbox.path("project"));
    insta::assert_snapshot!(report(&sandbox, &homeless.load().unwrap_err()), @r"
    error[home-unknown]: cannot find the home directory for checkpoint_dir (default)
    hint: set HOME, or name an absolute directory with --checkpoint-dir or FABRICATIO_CHECKPOINT__CHECKPOINT_DIR
    ");
    let loader = homeless.clone().environment([("FABRICATIO_CHECKPOINT__CHECKPOINT_DIR", "~/x")]);
    insta::assert_snapshot!(loader.load().unwrap_err(), @"cannot find the home directory for checkpoint_dir (FABRICATIO_CHECKPOINT__CHECKPOINT_DIR)");
    homeless.explicit(Setting::CheckpointDir("stores".into()), "--checkpoint-dir").load().unwrap();
}

#[test]
fn unknown_keys_warn_with_the_nearest_known_one() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "project/fabricatio.toml",
        "[llm]\nmodel = \"not ours\"\n[checkpoint]\nzebra = 1\ncheckpoint-dir = \"x\"\n[ext.checkpoint]\nchunk = 1\ndurability = \"none\"\n",
    );
    let loader = sandbox.loader().environment([
        ("FABRICATIO_CHECKPOINT__CACHE_SISE", "1"),
        ("FABRICATIO_CHECKPOINT__EXCLUDE__X", "1"),
        ("FABRICATIO_EXT__CHECKPOINT__THREADS", "1"),
        ("FABRICATIO_CHECKPOINT_DIR", "/one/underscore"),
        ("FABRICATIO_CHECKPOINT_THREADS", "1"),
        ("FABRICATIO_CHECKPOINT_TOKEN", "of somebody else"),
    ]);
    insta::assert_snapshot!(warnings(&sandbox, &loader), @r"
    unknown-key: unknown key cache_sise (FABRICATIO_CHECKPOINT__CACHE_SISE); did you mean FABRICATIO_CHECKPOINT__CACHE_SIZE?
    unknown-key: unknown key exclude__x (FABRICATIO_CHECKPOINT__EXCLUDE__X); did you mean FABRICATIO_CHECKPOINT__EXCLUDE?
    misplaced-key: threads (FABRICATIO_EXT__CHECKPOINT__THREADS) is not read there; only [checkpoint] holds this key
    unknown-key: unknown key dir (FABRICATIO_CHECKPOINT_DIR); did you mean FABRICATIO_CHECKPOINT__CHECKPOINT_DIR?
    unknown-key: unknown key threads (FABRICATIO_CHECKPOINT_THREADS); did you mean FABRICATIO_CHECKPOINT__THREADS?
    unknown-key: unknown key checkpoint.zebra ($ROOT/project/fabricatio.toml:4)
    unknown-key: unknown key checkpoint.checkpoint-dir ($ROOT/project/fabricatio.toml:5); did you mean checkpoint_dir?
    unknown-key: unknown key ext.checkpoint.chunk ($ROOT/project/fabricatio.toml:7)
    misplaced-key: ext.checkpoint.durability ($ROOT/project/fabricatio.toml:8) is not read there; only [checkpoint] holds this key
    ");
}
