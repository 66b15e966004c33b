//! Prune, killed before each of its steps: a store is whole or out of sight, and the next prune ends the work.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::process::Command;

use ckpt_service::{CheckpointService, Config, Durability, WorkspaceState, prune_stores};

/// Set in the child: the checkpoint directory to prune.
const CHILD: &str = "CKPT_TEST_CHILD";

#[test]
fn a_prune_that_is_killed_at_any_step_is_ended_by_the_next() {
    if let Some(checkpoints) = std::env::var_os(CHILD) {
        prune_stores(Path::new(&checkpoints)).unwrap();
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let (mut whole, mut aside) = (0, 0);
    for step in 1.. {
        let dir = temp.path().join(format!("{step}/project"));
        std::fs::create_dir_all(&dir).unwrap();
        let mut config = Config::new(temp.path().join(format!("{step}/checkpoints")));
        config.durability = Durability::None;
        let service = CheckpointService::new(config);
        let store = service.store(&dir).unwrap().path().to_owned();
        std::fs::remove_dir(&dir).unwrap();

        let is_done = prune_killed_at(step, store.parent().unwrap());
        let left = service.workspaces().unwrap();
        match left.as_slice() {
            [] => assert!(!store.exists()),
            [workspace] => {
                whole += 1;
                assert_eq!(workspace.state, WorkspaceState::Gone);
                assert!(service.workspace_details(workspace).fault.is_none(), "step {step}");
            }
            _ => panic!("one store became {left:?}"),
        }
        service.prune_invalid().unwrap();
        let names = |dir: &Path| std::fs::read_dir(dir).unwrap().map(|it| it.unwrap().file_name()).collect::<Vec<_>>();
        assert_eq!(names(store.parent().unwrap()), ["locks"], "step {step}");
        if is_done {
            break;
        }
        aside += usize::from(left.is_empty());
    }
    assert!(whole > 1 && aside > 5, "{whole} kills before the rename, {aside} after it");
}

/// Prunes in a process of its own. Says whether that came to its end.
fn prune_killed_at(step: usize, checkpoints: &Path) -> bool {
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_prune_that_is_killed_at_any_step_is_ended_by_the_next"])
        .env(CHILD, checkpoints)
        .env("CKPT_FAULT_AT", step.to_string())
        .env("CKPT_FAULT_DO", "kill")
        .output()
        .unwrap()
        .status;
    status.success()
}
