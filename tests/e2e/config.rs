//! Configuration as the command meets it: files, variables, flags, and what a workspace may not decide.

use std::fs;

use crate::sandbox::Sandbox;

#[test]
fn every_value_tells_where_it_comes_from() {
    let sandbox = Sandbox::new();
    sandbox
        .write("fabricatio.toml", "[checkpoint]\nmax_file_bytes = \"1 KiB\"\nexclude = [\"*.log\"]\ncache_sise = 3\n");
    let output = sandbox.call(["config"]).config("exclude", "[\"*.tmp\"]").run().ok().says("cache_sise");
    let file = sandbox.at("fabricatio.toml");
    for line in [
        format!("max_file_bytes = 1KiB ({}:2)", file.display()),
        "exclude = [\"*.tmp\"] (FABRICATIO_CHECKPOINT__EXCLUDE)".to_owned(),
        format!("  overrides [\"*.log\"] ({}:3)", file.display()),
    ] {
        assert!(output.out().lines().any(|known| known == line), "{line}: {output}");
    }
    sandbox.write("big.bin", vec![b'x'; 2000]);
    sandbox.write("x.log", "x");
    let id = sandbox.ckpt("save").ok().id();
    assert_eq!(sandbox.paths_in(&id), ["fabricatio.toml"]);
}

#[test]
fn flags_outrank_the_environment_and_files() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let (by_flag, by_variable) = (sandbox.root().join("flag"), sandbox.root().join("variable"));
    let call = sandbox.call(["save", "--checkpoint-dir"]).arg(&by_flag);
    let _ = call.env("FABRICATIO_CHECKPOINT__CHECKPOINT_DIR", &by_variable).run().ok();
    assert!(by_flag.exists() && !by_variable.exists());
    let _ = sandbox.call(["save"]).env("FABRICATIO_CHECKPOINT__CHECKPOINT_DIR", &by_variable).run().ok();
    assert!(by_variable.exists() && !sandbox.checkpoint_dir().exists());
}

#[test]
fn a_broken_configuration_is_an_error_with_its_place() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.write("fabricatio.toml", "[checkpoint\n");
    let output = sandbox.ckpt("save").exits(1).says("fabricatio.toml");
    assert!(output.stdout.is_empty(), "{output}");
    let _ = sandbox.ckpt("save --json").fails_with("config-malformed");
    sandbox.write("fabricatio.toml", "[checkpoint]\nmax_file_bytes = \"many\"\n");
    let _ = sandbox.ckpt("save --json").fails_with("config-invalid");
    sandbox.remove("fabricatio.toml");
    let _ = sandbox.call(["save", "--json"]).config("threads", "some").run().fails_with("config-invalid");
    assert!(sandbox.stores().is_empty());
}

#[test]
fn a_file_in_the_workspace_does_not_lead_away_from_its_history() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.save("first");
    let away = sandbox.root().join("away");
    sandbox.write("fabricatio.toml", format!("[checkpoint]\ncheckpoint_dir = \"{}\"\n", away.display()));
    for words in ["save --json", "ls --json", "reset --json"] {
        let _ = sandbox.ckpt(words).fails_with("checkpoint-dir-redirected");
    }
    assert!(!away.exists());
    let _ = sandbox.ckpt("config").ok().says("away");
    let dir = sandbox.checkpoint_dir();
    let _ = sandbox.call(["ls", "--checkpoint-dir"]).arg(&dir).run().ok().says("first");
}

#[test]
fn another_file_can_be_named() {
    let sandbox = Sandbox::new();
    let file = sandbox.root().join("own.toml");
    fs::write(&file, "[checkpoint]\nexclude = [\"b\"]\n").unwrap();
    sandbox.write("a", "1");
    sandbox.write("b", "1");
    let id = sandbox.call(["save", "--config"]).arg(&file).run().ok().id();
    assert_eq!(sandbox.paths_in(&id), ["a"]);
    let _ = sandbox.call(["save", "--json", "--config", "no-such-file"]).run().fails_with("config-unreadable");
}

#[test]
fn several_globs_without_brackets_are_one_and_said_to_be() {
    let sandbox = Sandbox::new();
    let config = |value: &str| sandbox.call(["config", "--json"]).config("exclude", value).run().ok().json();
    let warned = config("*.log,target");
    assert_eq!(warned["warnings"][0]["code"], "one-glob", "{warned}");
    assert!(warned["warnings"][0]["message"].as_str().unwrap().contains(r#"["*.log", "target"]"#), "{warned}");
    for fine in ["*.log", r#"["*.log", "target"]"#, r#"["a,b"]"#] {
        assert_eq!(config(fine)["warnings"].to_string(), "[]", "{fine}");
    }
}
