//! The service of the process, in a process of its own, since its home and working directory decide.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::process::Command;

use ckpt_service::CheckpointService;

/// Set in the child: what the parent's test wants from it.
const CHILD: &str = "CKPT_TEST_CHILD";

#[test]
fn a_broken_configuration_is_an_error_of_the_call_and_the_next_tries_again() {
    if std::env::var_os(CHILD).is_some() {
        let dir = std::env::current_dir().unwrap();
        std::fs::write(dir.join("fabricatio.toml"), "[checkpoint\n").unwrap();
        assert_eq!(CheckpointService::global().unwrap_err().code(), "config-malformed");
        std::fs::write(dir.join("fabricatio.toml"), "[checkpoint]\ncache_size = 7\ndurability = \"none\"\n").unwrap();
        let service = CheckpointService::global().unwrap();
        assert_eq!(service.config().cache_size.get(), 7);
        assert_eq!(service.config().checkpoint_dir, dir.join("home/.fabricatio-checkpoint"));
        assert!(std::ptr::eq(service, CheckpointService::global().unwrap()));
        let late = CheckpointService::init_global(service.config().clone()).unwrap_err();
        assert_eq!(late.code(), "already-initialized");
        assert_eq!(service.store(&dir.join("home")).unwrap_err().code(), "refused-workspace");
        service.store(&dir.join("project")).unwrap();
        assert!(dir.join("home/.fabricatio-checkpoint").is_dir());
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().canonicalize().unwrap();
    for name in ["home", "project"] {
        std::fs::create_dir(dir.join(name)).unwrap();
    }
    run_alone(&dir, "a_broken_configuration_is_an_error_of_the_call_and_the_next_tries_again");
}

#[test]
fn of_those_who_set_the_global_service_one_wins() {
    if std::env::var_os(CHILD).is_some() {
        let barrier = std::sync::Barrier::new(8);
        let won = std::thread::scope(|scope| {
            let try_one = |number: usize| {
                barrier.wait();
                let won = CheckpointService::init_global(ckpt_service::Config::new(format!("/c/{number}")));
                won.ok().map(|service| service.config().checkpoint_dir.clone())
            };
            let threads: Vec<_> = (0..8).map(|number| scope.spawn(move || try_one(number))).collect();
            threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(won, [CheckpointService::global().unwrap().config().checkpoint_dir.clone()]);
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    run_alone(temp.path(), "of_those_who_set_the_global_service_one_wins");
}

fn run_alone(dir: &Path, test: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env_clear()
        .env(CHILD, "1")
        .env("HOME", dir.join("home"))
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
