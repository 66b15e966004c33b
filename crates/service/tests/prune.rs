//! Workspaces and prune: what is tracked, what is gone, and that nothing else is ever removed.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};

use ckpt_service::{
    CheckpointService, Config, Durability, PruneOutcome, PrunedStore, Workspace, WorkspaceState, prune_stores,
};
use tempfile::TempDir;

struct Sandbox {
    temp: TempDir,
    service: CheckpointService,
}

impl Sandbox {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let mut config = Config::new(temp.path().join("checkpoints"));
        config.durability = Durability::None;
        Self { temp, service: CheckpointService::new(config) }
    }

    fn dir(&self, name: &str) -> PathBuf {
        let dir = self.temp.path().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        dir.canonicalize().unwrap()
    }

    /// A workspace with one file and one checkpoint; gives the directory and its store.
    fn saved(&self, name: &str) -> (PathBuf, PathBuf) {
        let dir = self.dir(name);
        std::fs::write(dir.join("f"), name).unwrap();
        let store = self.service.store(&dir).unwrap();
        store.save("one").unwrap();
        (dir, store.path().to_owned())
    }

    fn state(&self, dir: &Path) -> Option<WorkspaceState> {
        self.service.workspaces().unwrap().into_iter().find(|it| it.path.as_deref() == Some(dir)).map(|it| it.state)
    }
}

#[must_use]
fn removed(pruned: &[PrunedStore]) -> Vec<&Path> {
    let is_removed = |it: &&PrunedStore| matches!(it.outcome, PruneOutcome::Removed { .. });
    pruned.iter().filter(is_removed).filter_map(|it| it.path.as_deref()).collect()
}

#[test]
fn dead_stores_go_and_living_ones_stay() {
    let sandbox = Sandbox::new();
    let (alive, alive_store) = sandbox.saved("alive");
    let (dead, dead_store) = sandbox.saved("dead");
    std::fs::remove_dir_all(&dead).unwrap();

    let plan = sandbox.service.invalid().unwrap();
    assert_eq!(plan.stores.len(), 1);
    assert_eq!((plan.stores[0].path.as_ref(), plan.stores[0].is_removable()), (Some(&dead), true));
    assert!(dead_store.exists(), "a plan removes nothing");

    let pruned = sandbox.service.prune(plan).unwrap();
    assert_eq!(removed(&pruned), [dead.as_path()]);
    assert!(matches!(pruned[0].outcome, PruneOutcome::Removed { bytes } if bytes > 0));
    assert!(!dead_store.exists() && alive_store.exists());
    assert_eq!(sandbox.state(&alive), Some(WorkspaceState::Valid));
    assert!(sandbox.service.prune_invalid().unwrap().is_empty());
}

#[test]
fn the_free_function_does_the_same() {
    let sandbox = Sandbox::new();
    let (dead, store) = sandbox.saved("dead");
    std::fs::remove_dir_all(&dead).unwrap();
    let pruned = prune_stores(&sandbox.temp.path().join("checkpoints")).unwrap();
    assert_eq!(removed(&pruned), [dead.as_path()]);
    assert!(!store.exists());
    assert!(prune_stores(&sandbox.temp.path().join("nothing")).unwrap().is_empty());
}

#[test]
fn an_unmounted_volume_keeps_its_stores_l25() {
    let sandbox = Sandbox::new();
    let (dir, store) = sandbox.saved("volume/project");
    let volume = sandbox.temp.path().join("volume");
    std::fs::rename(&volume, sandbox.temp.path().join("elsewhere")).unwrap();
    assert_eq!(sandbox.state(&dir), Some(WorkspaceState::Unmounted), "the mount point is missing");
    std::fs::create_dir(&volume).unwrap();
    assert_eq!(sandbox.state(&dir), Some(WorkspaceState::Unmounted), "the mount point is another directory");
    let pruned = sandbox.service.prune_invalid().unwrap();
    assert!(matches!(pruned[0].outcome, PruneOutcome::Kept(WorkspaceState::Unmounted)));
    assert!(store.exists());
}

#[test]
fn a_moved_workspace_is_told_from_a_gone_one_c15() {
    let sandbox = Sandbox::new();
    let (old, old_store) = sandbox.saved("old");
    let renamed = old.with_file_name("renamed");
    std::fs::rename(&old, &renamed).unwrap();
    let moved = |to: &PathBuf, store| Some(WorkspaceState::Moved { to: to.clone(), store });
    assert_eq!(sandbox.state(&old), moved(&renamed, None), "it stands beside its old name");
    let new = sandbox.dir("elsewhere").join("new");
    std::fs::rename(&renamed, &new).unwrap();
    assert_eq!(sandbox.state(&old), Some(WorkspaceState::Gone), "nobody knows the new place yet");
    let store = sandbox.service.store(&new).unwrap().path().to_owned();
    assert_eq!(sandbox.state(&old), moved(&new, Some(store)));
    assert!(removed(&sandbox.service.prune_invalid().unwrap()).is_empty());
    assert!(old_store.exists());
}

#[test]
fn what_stands_at_the_place_of_a_directory_keeps_its_store() {
    let sandbox = Sandbox::new();
    let (linked, linked_store) = sandbox.saved("linked");
    let elsewhere = sandbox.dir("disk").join("linked");
    std::fs::rename(&linked, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &linked).unwrap();
    assert_eq!(sandbox.state(&linked), Some(WorkspaceState::Moved { to: elsewhere, store: None }));
    let (dangling, dangling_store) = sandbox.saved("dangling");
    std::fs::remove_dir_all(&dangling).unwrap();
    std::os::unix::fs::symlink("nowhere", &dangling).unwrap();
    let (file, file_store) = sandbox.saved("file");
    std::fs::remove_dir_all(&file).unwrap();
    std::fs::write(&file, "").unwrap();
    for path in [&dangling, &file] {
        assert_eq!(sandbox.state(path), Some(WorkspaceState::Obstructed));
    }
    assert!(removed(&sandbox.service.prune_invalid().unwrap()).is_empty());
    for store in [linked_store, dangling_store, file_store] {
        assert!(store.exists());
    }
}

#[test]
fn the_next_directory_with_the_same_inode_is_no_move() {
    let sandbox = Sandbox::new();
    let (old, _) = sandbox.saved("old");
    // Births are compared with the time of the record, which the kernel takes from a clock that ticks.
    std::thread::sleep(std::time::Duration::from_millis(20));
    std::fs::remove_dir_all(&old).unwrap();
    let new = sandbox.dir("new");
    sandbox.service.store(&new).unwrap();
    assert_eq!(sandbox.state(&old), Some(WorkspaceState::Gone));
}

#[test]
fn a_plan_is_checked_again_when_it_is_carried_out() {
    let sandbox = Sandbox::new();
    let (dir, store) = sandbox.saved("project");
    std::fs::remove_dir_all(&dir).unwrap();
    let plan = sandbox.service.invalid().unwrap();
    std::fs::create_dir(&dir).unwrap();
    let pruned = sandbox.service.prune(plan).unwrap();
    assert!(matches!(pruned[0].outcome, PruneOutcome::Kept(WorkspaceState::Valid)));
    assert!(store.exists());
}

#[test]
fn what_is_not_ours_is_named_and_never_touched() {
    let sandbox = Sandbox::new();
    let (dead, store) = sandbox.saved("dead");
    let checkpoints = sandbox.temp.path().join("checkpoints");
    std::fs::create_dir(checkpoints.join("notes_0123456789abcdef")).unwrap();
    std::fs::write(checkpoints.join("README"), "mine").unwrap();
    // A copy of a store, made by a person before trying something.
    let copy = checkpoints.join("dead_backup");
    std::fs::create_dir_all(copy.join("ckpt")).unwrap();
    std::fs::copy(store.join("ckpt/worktree"), copy.join("ckpt/worktree")).unwrap();
    std::fs::remove_dir_all(&dead).unwrap();

    let pruned = sandbox.service.prune_invalid().unwrap();
    assert_eq!(removed(&pruned), [dead.as_path()]);
    let kept: Vec<_> = pruned
        .iter()
        .filter_map(|it| match &it.outcome {
            PruneOutcome::Kept(state) => Some((it.store.file_name()?.to_str()?, state.word())),
            _ => None,
        })
        .collect();
    assert_eq!(kept, [("README", "not-ours"), ("dead_backup", "broken"), ("notes_0123456789abcdef", "not-ours")]);
    assert!(checkpoints.join("README").exists() && copy.exists());
    assert!(sandbox.service.workspaces().unwrap().iter().all(|it| it.state != WorkspaceState::NotOurs));
}

#[test]
fn one_broken_store_hides_no_other_c24() {
    let sandbox = Sandbox::new();
    let (a, _) = sandbox.saved("a");
    let (_, broken) = sandbox.saved("b");
    let (c, headless) = sandbox.saved("c");
    std::fs::write(broken.join("ckpt/worktree"), "").unwrap();
    std::fs::remove_file(headless.join("refs/heads/timeline")).unwrap();

    let workspaces = sandbox.service.workspaces().unwrap();
    let states: Vec<_> = workspaces.iter().map(|it| (it.path.clone(), it.state.word())).collect();
    assert_eq!(states, [(Some(a), "valid"), (Some(c), "valid"), (None, "broken")]);
    let details: Vec<_> = workspaces.iter().map(|it| sandbox.service.workspace_details(it)).collect();
    assert!(details[0].fault.is_none() && details[0].head.as_ref().unwrap().message == b"one");
    assert_eq!(details[0].checkpoints, 1);
    for broken in &details[1..] {
        assert_eq!(broken.fault.as_ref().unwrap().code(), "broken-store");
        assert!(broken.head.is_none() && broken.bytes > 0);
    }
    assert!(removed(&sandbox.service.prune_invalid().unwrap()).is_empty());
}

#[test]
fn a_removal_that_was_interrupted_is_finished() {
    let sandbox = Sandbox::new();
    let (_, store) = sandbox.saved("project");
    let aside = store.with_file_name("tmp-prune-0123456789abcdef-1");
    std::fs::create_dir_all(aside.join("objects/pack")).unwrap();
    std::fs::write(aside.join("objects/pack/p.pack"), "x").unwrap();
    assert!(sandbox.service.prune_invalid().unwrap().is_empty());
    assert!(!aside.exists() && store.exists());
}

#[test]
fn a_store_in_use_is_not_removed() {
    let sandbox = Sandbox::new();
    let (dir, store) = sandbox.saved("project");
    std::fs::remove_dir_all(&dir).unwrap();
    let name = store.file_name().unwrap().to_str().unwrap().rsplit_once('_').unwrap().1;
    let lock = store.with_file_name("locks").join(format!("{name}.lock"));
    let held = std::fs::File::open(lock).unwrap();
    held.lock().unwrap();
    let mut config = sandbox.service.config().clone();
    config.lock_timeout = std::time::Duration::ZERO;
    let pruned = CheckpointService::new(config).prune_invalid().unwrap();
    assert!(matches!(&pruned[0].outcome, PruneOutcome::Failed(err) if err.code() == "locked"));
    assert!(store.exists());
    drop(held);
    assert_eq!(removed(&sandbox.service.prune_invalid().unwrap()), [dir.as_path()]);
}

#[test]
fn many_workspaces_are_listed_with_their_states() {
    let sandbox = Sandbox::new();
    let dirs: Vec<_> = (0..300).map(|number| sandbox.dir(&format!("many/{number:03}"))).collect();
    for dir in &dirs {
        sandbox.service.store(dir).unwrap();
    }
    for dir in dirs.iter().step_by(3) {
        std::fs::remove_dir(dir).unwrap();
    }
    let workspaces: Vec<Workspace> = sandbox.service.workspaces().unwrap();
    assert_eq!(workspaces.iter().filter_map(|it| it.path.clone()).collect::<Vec<_>>(), dirs);
    assert_eq!(workspaces.iter().filter(|it| it.state == WorkspaceState::Gone).count(), 100);
    assert_eq!(removed(&sandbox.service.prune_invalid().unwrap()).len(), 100);
    assert_eq!(sandbox.service.workspaces().unwrap().len(), 200);
}
