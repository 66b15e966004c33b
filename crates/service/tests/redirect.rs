//! A workspace's own files do not lead away from its checkpoints.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};

use ckpt_service::{CheckpointService, Config, Durability, Loader, Setting, check_redirect};
use tempfile::TempDir;

struct Sandbox {
    temp: TempDir,
    project: PathBuf,
}

impl Sandbox {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let project = temp.path().join("project");
        std::fs::create_dir(&project).unwrap();
        Self { temp, project }
    }

    fn home_store(&self) -> PathBuf {
        self.temp.path().join(".fabricatio-checkpoint")
    }

    fn loader(&self) -> Loader {
        Loader::new(&self.project).home_dir(self.temp.path())
    }

    fn redirect(&self) {
        std::fs::write(self.project.join("fabricatio.toml"), "[checkpoint]\ncheckpoint_dir = \"/nowhere/else\"\n")
            .unwrap();
    }

    fn check(&self) -> ckpt_service::Result<()> {
        check_redirect(&self.loader().worktree(Some(&self.project)).load().unwrap(), &self.project)
    }
}

fn save_in(checkpoint_dir: &Path, project: &Path) {
    let mut config = Config::new(checkpoint_dir);
    config.durability = Durability::None;
    CheckpointService::new(config).store(project).unwrap();
}

#[test]
fn a_redirect_is_followed_while_nothing_is_lost_by_it() {
    let sandbox = Sandbox::new();
    sandbox.check().unwrap();
    sandbox.redirect();
    sandbox.check().unwrap();
}

#[test]
fn a_redirect_away_from_checkpoints_is_refused() {
    let sandbox = Sandbox::new();
    save_in(&sandbox.home_store(), &sandbox.project);
    sandbox.redirect();
    let err = sandbox.check().unwrap_err();
    assert_eq!(err.code(), "checkpoint-dir-redirected");
    let text = err.to_string();
    assert!(text.contains("fabricatio.toml:2") && text.contains("(default)"), "{text}");
    assert_eq!(err.path().unwrap().file_name().unwrap(), "fabricatio.toml");
}

#[test]
fn a_broken_store_counts_as_well() {
    let sandbox = Sandbox::new();
    save_in(&sandbox.home_store(), &sandbox.project);
    let store = std::fs::read_dir(sandbox.home_store()).unwrap().map(|entry| entry.unwrap().path());
    let store = store.into_iter().find(|path| path.file_name().unwrap() != "locks").unwrap();
    std::fs::remove_dir_all(store.join("ckpt")).unwrap();
    std::fs::write(store.join("config"), "").unwrap();
    sandbox.redirect();
    assert_eq!(sandbox.check().unwrap_err().code(), "checkpoint-dir-redirected");
}

#[test]
fn a_service_with_sources_asks_them_for_each_worktree() {
    let sandbox = Sandbox::new();
    save_in(&sandbox.home_store(), &sandbox.project);
    let other = sandbox.temp.path().join("other");
    std::fs::create_dir(&other).unwrap();
    let elsewhere = sandbox.temp.path().join("elsewhere");
    let text = format!("[checkpoint]\ncheckpoint_dir = {elsewhere:?}\ndurability = \"none\"\nlock_timeout = \"7 s\"\n");
    std::fs::write(sandbox.project.join("fabricatio.toml"), text).unwrap();
    let service = |loader: Loader| CheckpointService::builder(loader.load().unwrap().config).sources(loader).build();

    let redirected = service(sandbox.loader());
    assert_eq!(redirected.store(&sandbox.project).unwrap_err().code(), "checkpoint-dir-redirected");
    assert_eq!(redirected.existing_store(&sandbox.project).unwrap_err().code(), "checkpoint-dir-redirected");
    assert!(!elsewhere.exists(), "nothing was written");
    let store = redirected.store(&other).expect("the file is not inside this one");
    assert_eq!(store.options().lock_timeout.as_secs(), 7);

    let told = sandbox.loader().explicit(Setting::CheckpointDir(sandbox.home_store()), "test");
    let store = service(told).store(&sandbox.project).expect("an explicit directory settles it");
    assert_eq!(store.options().lock_timeout.as_secs(), 30, "the worktree's own file may not say");
    assert_eq!(store.options().durability, ckpt_service::StoreDurability::Full);
}
