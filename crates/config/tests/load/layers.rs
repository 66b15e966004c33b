//! Which source wins, key by key, and what each of them looks like.

use std::path::Path;
use std::time::Duration;

use ckpt_config::{Durability, Origin, Setting, keys};

use crate::sandbox::Sandbox;

#[test]
fn every_source_outranks_the_ones_below() {
    // From the lowest source to the highest: each is added to those before it, and wins.
    let sandbox = Sandbox::new();
    let mut loader = sandbox.loader();
    let mut origins = vec![sandbox.show(&loader, "cache_size")];
    sandbox.write("config/fabricatio/fabricatio.toml", "[ext.checkpoint]\ncache_size = 1\n");
    origins.push(sandbox.show(&loader, "cache_size"));
    sandbox
        .write("config/fabricatio/fabricatio.toml", "[ext.checkpoint]\ncache_size = 1\n[checkpoint]\ncache_size = 2\n");
    origins.push(sandbox.show(&loader, "cache_size"));
    sandbox.write("project/pyproject.toml", "[tool.fabricatio.ext.checkpoint]\ncache_size = 3\n");
    origins.push(sandbox.show(&loader, "cache_size"));
    sandbox.write(
        "project/pyproject.toml",
        "[tool.fabricatio]\ncheckpoint.cache_size = 4\next.checkpoint.cache_size = 3\n",
    );
    origins.push(sandbox.show(&loader, "cache_size"));
    sandbox.write("project/fabricatio.toml", "ext.checkpoint.cache_size = 5\n");
    origins.push(sandbox.show(&loader, "cache_size"));
    sandbox.write("project/fabricatio.toml", "ext.checkpoint.cache_size = 5\n\n[checkpoint]\ncache_size = 6\n");
    origins.push(sandbox.show(&loader, "cache_size"));
    let ext = ("FABRICATIO_EXT__CHECKPOINT__CACHE_SIZE", "7");
    loader = loader.environment([ext]);
    origins.push(sandbox.show(&loader, "cache_size"));
    loader = loader.environment([ext, ("FABRICATIO_CHECKPOINT__CACHE_SIZE", "8")]);
    origins.push(sandbox.show(&loader, "cache_size"));
    loader = loader.explicit(Setting::CacheSize(9.try_into().unwrap()), "--cache-size");
    origins.push(sandbox.show(&loader, "cache_size"));
    insta::assert_snapshot!(origins.join("\n"), @r"
    100 (default)
    1 ($ROOT/config/fabricatio/fabricatio.toml:2)
    2 ($ROOT/config/fabricatio/fabricatio.toml:4)
    3 ($ROOT/project/pyproject.toml:2)
    4 ($ROOT/project/pyproject.toml:2)
    5 ($ROOT/project/fabricatio.toml:1)
    6 ($ROOT/project/fabricatio.toml:4)
    7 (FABRICATIO_EXT__CHECKPOINT__CACHE_SIZE)
    8 (FABRICATIO_CHECKPOINT__CACHE_SIZE)
    9 (--cache-size)
    ");

    let entry = sandbox.entry(&loader, "cache_size");
    let hidden: Vec<_> = entry.overridden.iter().map(|given| given.setting.to_string()).collect();
    assert_eq!(hidden, ["8", "7", "6", "5", "4", "3", "2", "1", "100"]);
}

#[test]
fn sources_are_merged_leaf_by_leaf() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "config/fabricatio/fabricatio.toml",
        "[checkpoint]\nthreads = 3\ncache_size = 3\nexclude = [\"a\", \"b\"]\n",
    );
    sandbox.write("project/fabricatio.toml", "[checkpoint]\ncache_size = 5\nexclude = [\"c\"]\n");
    let loaded = sandbox.loader().environment([("FABRICATIO_CHECKPOINT__LOCK_TIMEOUT", "500ms")]).load().unwrap();
    assert_eq!(loaded.config.threads, 3);
    assert_eq!(loaded.config.cache_size.get(), 5);
    assert_eq!(loaded.config.exclude, ["c"], "a list is one leaf");
    assert_eq!(loaded.config.lock_timeout, Duration::from_millis(500));
    assert_eq!(loaded.config.checkpoint_dir, sandbox.path("home/.fabricatio-checkpoint"));
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    assert_eq!(
        loaded.files,
        [sandbox.path("project/fabricatio.toml"), sandbox.path("config/fabricatio/fabricatio.toml")]
    );
    let names: Vec<_> = loaded.entries.iter().map(|entry| entry.key.name).collect();
    assert_eq!(names, keys().iter().map(|key| key.name).collect::<Vec<_>>());
}

#[test]
fn every_key_is_read_from_a_file() {
    let sandbox = Sandbox::new();
    let all: String = keys().iter().map(|key| format!("{}\n", key.example)).collect();
    sandbox.write("project/fabricatio.toml", &format!("[checkpoint]\n{all}"));
    let loaded = sandbox.loader().load().unwrap();
    for (index, entry) in loaded.entries.iter().enumerate() {
        let line = index + 2;
        assert_eq!(
            entry.origin,
            Origin::File { path: sandbox.path("project/fabricatio.toml"), line },
            "{}",
            entry.key.name
        );
    }
}

#[test]
fn every_key_is_read_from_the_environment() {
    let sandbox = Sandbox::new();
    let values = ["/srv/x", "7", "10 MB", "[a, \"*.[ch]\"]", "false", "none", "2m", "3", "true"];
    let variables = keys().iter().map(ckpt_config::Key::variable).zip(values);
    let config = sandbox.loader().environment(variables).load().unwrap().config;
    assert_eq!(config.checkpoint_dir, Path::new("/srv/x"));
    assert_eq!(config.cache_size.get(), 7);
    assert_eq!(config.max_file_bytes, 10_000_000);
    assert_eq!(config.exclude, ["a", "*.[ch]"]);
    assert!(!config.skip_cache_dirs);
    assert_eq!(config.durability, Durability::None);
    assert_eq!(config.lock_timeout, Duration::from_secs(120));
    assert_eq!(config.threads, 3);
    assert!(config.allow_network_fs);
}

#[test]
fn names_in_the_environment_have_no_case() {
    let sandbox = Sandbox::new();
    let loader = sandbox.loader().environment([
        ("Fabricatio_Checkpoint__Threads", "2"),
        ("fabricatio_checkpoint__cache_size", "4"),
        ("FABRICATIO_CHECKPOINT__CACHE_SIZE", "5"),
        ("FABRICATIO_CHECKPOINT__EXCLUDE", "*.log"),
        ("FABRICATIO_CHECKPOINT__DURABILITY", ""),
        ("FABRICATIO_LLM__API_KEY", "not ours"),
    ]);
    let loaded = loader.load().unwrap();
    assert_eq!(loaded.config.threads, 2);
    assert_eq!(loaded.config.exclude, ["*.log"], "one glob needs no brackets");
    assert_eq!(loaded.config.durability, Durability::Full, "set to nothing is not set");
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    let entry = sandbox.entry(&loader, "cache_size");
    assert_eq!(entry.origin, Origin::Variable("FABRICATIO_CHECKPOINT__CACHE_SIZE".to_owned()));
    assert_eq!(entry.overridden[0].origin, Origin::Variable("fabricatio_checkpoint__cache_size".to_owned()));
}

#[test]
fn the_search_ends_at_the_nearest_file_of_a_name() {
    let sandbox = Sandbox::new();
    sandbox.write("fabricatio.toml", "[checkpoint]\nthreads = 1\n");
    sandbox.write("pyproject.toml", "[tool.fabricatio.checkpoint]\ncache_size = 1\n");
    sandbox.write("project/a/b/keep", "");
    let deep = sandbox.loader().project_dir("a/b");
    assert_eq!(deep.load().unwrap().config.threads, 1, "found from below");

    sandbox.write("project/a/fabricatio.toml", "");
    sandbox.write("project/pyproject.toml", "[project]\nname = \"x\"\n");
    let config = deep.load().unwrap().config;
    assert_eq!((config.threads, config.cache_size.get()), (0, 100), "the nearest file decides, whatever is in it");

    sandbox.write("project/a/b/fabricatio.toml/keep", "");
    assert_eq!(deep.load().unwrap().files[0], sandbox.path("project/a/fabricatio.toml"), "a directory is no file");
}

#[test]
fn an_explicit_file_replaces_the_searched_ones() {
    let sandbox = Sandbox::new();
    sandbox.write("config/fabricatio/fabricatio.toml", "[checkpoint]\nthreads = 3\n");
    sandbox.write("project/fabricatio.toml", "[checkpoint]\ncache_size = 5\n");
    sandbox.write("other/my.toml", "[checkpoint]\ncheckpoint_dir = \"stores\"\n");
    sandbox.write("other/pyproject.toml", "[tool.fabricatio.checkpoint]\nthreads = 9\n");
    let loaded = sandbox.loader().config_file("../other/my.toml").load().unwrap();
    assert_eq!((loaded.config.threads, loaded.config.cache_size.get()), (0, 100));
    assert_eq!(loaded.config.checkpoint_dir, sandbox.path("project/../other/stores"));
    let loaded = sandbox.loader().config_file(sandbox.path("other/pyproject.toml")).load().unwrap();
    assert_eq!(loaded.config.threads, 9);
}

#[test]
fn relative_paths_start_where_they_are_written() {
    let sandbox = Sandbox::new();
    let dir = |loader: &ckpt_config::Loader| loader.load().unwrap().config.checkpoint_dir;
    sandbox.write("project/fabricatio.toml", "[checkpoint]\ncheckpoint_dir = \"in/file\"\n");
    sandbox.write("project/sub/keep", "");
    let loader = sandbox.loader_at("project/sub");
    assert_eq!(dir(&loader), sandbox.path("project/in/file"), "from the file's directory");
    let loader = loader.environment([("FABRICATIO_EXT__CHECKPOINT__CHECKPOINT_DIR", "in/env")]);
    assert_eq!(dir(&loader), sandbox.path("project/sub/in/env"), "from the working directory");
    let loader = loader.explicit(Setting::CheckpointDir("in/flag".into()), "--checkpoint-dir");
    assert_eq!(dir(&loader), sandbox.path("project/sub/in/flag"), "from the working directory");
}

#[test]
fn a_tilde_is_the_home_directory_in_every_source() {
    let sandbox = Sandbox::new();
    let dir = |loader: &ckpt_config::Loader| loader.load().unwrap().config.checkpoint_dir;
    sandbox.write("project/fabricatio.toml", "[checkpoint]\ncheckpoint_dir = \"~/file\"\n");
    let loader = sandbox.loader();
    assert_eq!(dir(&loader), sandbox.path("home/file"));
    let loader = loader.environment([("FABRICATIO_CHECKPOINT__CHECKPOINT_DIR", "~/env")]);
    assert_eq!(dir(&loader), sandbox.path("home/env"));
    let loader = loader.explicit(Setting::CheckpointDir("~".into()), "--checkpoint-dir");
    assert_eq!(dir(&loader), sandbox.path("home"));
}

#[test]
fn dot_env_files_are_not_read() {
    let sandbox = Sandbox::new();
    sandbox.write("project/.env", "FABRICATIO_CHECKPOINT__THREADS=5\n");
    assert_eq!(sandbox.loader().load().unwrap().config.threads, 0);
}

#[cfg(unix)]
#[test]
fn a_path_in_the_environment_may_be_any_bytes() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let sandbox = Sandbox::new();
    let bytes = OsStr::from_bytes(b"/srv/\xff");
    let loader = sandbox.loader().environment([(OsStr::new("FABRICATIO_CHECKPOINT__CHECKPOINT_DIR"), bytes)]);
    assert_eq!(loader.load().unwrap().config.checkpoint_dir, Path::new(bytes));
    let loader = sandbox.loader().environment([(OsStr::new("FABRICATIO_CHECKPOINT__THREADS"), bytes)]);
    insta::assert_snapshot!(loader.load().unwrap_err(), @"cannot use text that is not UTF-8 for threads (FABRICATIO_CHECKPOINT__THREADS): expected a whole number, or 0 for one thread a core");
}
