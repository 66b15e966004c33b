//! What a file inside the worktree may decide, and what not.

use std::time::Duration;

use ckpt_config::{Durability, Loader, Origin, Redirect, Setting};

use crate::sandbox::Sandbox;

/// Loads for the worktree `project`.
fn loader(sandbox: &Sandbox) -> Loader {
    sandbox.loader().worktree(Some(&sandbox.path("project")))
}

fn redirect(loader: &Loader) -> Option<Redirect> {
    loader.load().expect("the configuration loads").redirect
}

fn show(sandbox: &Sandbox, loader: &Loader) -> String {
    let Some(found) = redirect(loader) else { return "none".to_owned() };
    let (from, to) = (found.from.display(), found.to.display());
    let file = found.file.display();
    sandbox.mask(&format!("from {from} ({}) to {to} ({}) by {file}", found.from_origin, found.to_origin))
}

#[test]
fn a_file_inside_the_worktree_that_moves_the_stores_is_reported() {
    let sandbox = Sandbox::new();
    sandbox.write("project/fabricatio.toml", "[checkpoint]\ncheckpoint_dir = \"/elsewhere\"\n");
    insta::assert_snapshot!(show(&sandbox, &loader(&sandbox)), @"from $ROOT/home/.fabricatio-checkpoint (default) to /elsewhere ($ROOT/project/fabricatio.toml:2) by $ROOT/project/fabricatio.toml");
    sandbox.write("config/fabricatio/fabricatio.toml", "[ext.checkpoint]\ncheckpoint_dir = \"/srv/mine\"\n");
    insta::assert_snapshot!(show(&sandbox, &loader(&sandbox)), @"from /srv/mine ($ROOT/config/fabricatio/fabricatio.toml:2) to /elsewhere ($ROOT/project/fabricatio.toml:2) by $ROOT/project/fabricatio.toml");
    let loaded = loader(&sandbox).load().unwrap();
    assert_eq!(loaded.config.checkpoint_dir, loaded.redirect.unwrap().to, "the caller decides, nothing is changed");
    assert_eq!(redirect(&sandbox.loader()), None, "without a worktree every file is trusted");
}

#[test]
fn flag_and_environment_settle_it() {
    let sandbox = Sandbox::new();
    sandbox.write("project/fabricatio.toml", "[checkpoint]\ncheckpoint_dir = \"/elsewhere\"\n");
    let by_flag = loader(&sandbox).explicit(Setting::CheckpointDir("/elsewhere".into()), "--checkpoint-dir");
    assert_eq!(redirect(&by_flag), None);
    let by_variable = loader(&sandbox).environment([("FABRICATIO_CHECKPOINT__CHECKPOINT_DIR", "/elsewhere")]);
    assert_eq!(redirect(&by_variable), None);
}

#[test]
fn the_same_directory_in_other_words_is_no_redirect() {
    let sandbox = Sandbox::new();
    sandbox.write("project/fabricatio.toml", "[checkpoint]\ncheckpoint_dir = \"../home/./.fabricatio-checkpoint/\"\n");
    std::fs::create_dir(sandbox.path("home/.fabricatio-checkpoint")).unwrap();
    assert_eq!(redirect(&loader(&sandbox)), None);
}

#[test]
fn a_file_above_the_worktree_is_trusted() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "fabricatio.toml",
        "[checkpoint]\ncheckpoint_dir = \"stores\"\ndurability = \"none\"\nlock_timeout = 1\n",
    );
    let loaded = loader(&sandbox).load().unwrap();
    assert_eq!(loaded.redirect, None);
    assert_eq!(loaded.config.durability, Durability::None);
    assert_eq!(loaded.config.lock_timeout, Duration::from_secs(1));
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
}

#[test]
fn hiding_a_file_above_the_worktree_is_a_redirect_too() {
    let sandbox = Sandbox::new();
    sandbox.write("fabricatio.toml", "[checkpoint]\ncheckpoint_dir = \"stores\"\n");
    sandbox.write("project/fabricatio.toml", "");
    insta::assert_snapshot!(show(&sandbox, &loader(&sandbox)), @"from $ROOT/stores ($ROOT/fabricatio.toml:2) to $ROOT/home/.fabricatio-checkpoint (default) by $ROOT/project/fabricatio.toml");
}

#[test]
fn durability_and_lock_timeout_are_ignored_inside_the_worktree() {
    let sandbox = Sandbox::new();
    // Ignored before they are understood: a wrong value there is not worth an error.
    sandbox.write("project/fabricatio.toml", "[checkpoint]\ndurability = \"none\"\nthreads = 2\nlock_timeout = [0]\n");
    let loaded = loader(&sandbox).load().unwrap();
    assert_eq!(loaded.config.durability, Durability::Full);
    assert_eq!(loaded.config.lock_timeout, Duration::from_secs(30));
    assert_eq!(loaded.config.threads, 2);
    let lines: Vec<_> =
        loaded.warnings.iter().map(|warning| sandbox.mask(&format!("{}: {warning}", warning.code()))).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    untrusted-key: checkpoint.durability ($ROOT/project/fabricatio.toml:2) is ignored, because a file inside the workspace may not set it
    untrusted-key: checkpoint.lock_timeout ($ROOT/project/fabricatio.toml:4) is ignored, because a file inside the workspace may not set it
    ");
}

#[test]
fn an_explicit_file_inside_the_worktree_is_not_trusted_either() {
    let sandbox = Sandbox::new();
    sandbox.write("project/my.toml", "[checkpoint]\ncheckpoint_dir = \"/elsewhere\"\n");
    insta::assert_snapshot!(show(&sandbox, &loader(&sandbox).config_file("my.toml")), @"from $ROOT/home/.fabricatio-checkpoint (default) to /elsewhere ($ROOT/project/my.toml:2) by $ROOT/project/my.toml");
}

#[cfg(unix)]
#[test]
fn links_across_the_border_count_as_inside() {
    use std::os::unix::fs::symlink;

    // The user's file is a link into the worktree; the project's file is a link out of it.
    let sandbox = Sandbox::new();
    sandbox.write("project/dotfile.toml", "[checkpoint]\nlock_timeout = 1\n");
    sandbox.write("config/fabricatio/keep", "");
    symlink(sandbox.path("project/dotfile.toml"), sandbox.path("config/fabricatio/fabricatio.toml")).unwrap();
    sandbox.write("outside.toml", "[checkpoint]\ncheckpoint_dir = \"/elsewhere\"\n");
    symlink(sandbox.path("outside.toml"), sandbox.path("project/fabricatio.toml")).unwrap();
    symlink(sandbox.path("project"), sandbox.path("alias")).unwrap();

    let loaded =
        loader(&sandbox).project_dir(sandbox.path("alias")).worktree(Some(&sandbox.path("alias"))).load().unwrap();
    assert_eq!(loaded.config.lock_timeout, Duration::from_secs(30));
    let found = loaded.redirect.unwrap();
    assert_eq!(found.from_origin, Origin::Default);
    assert_eq!(found.file, sandbox.path("project/fabricatio.toml"));
}
