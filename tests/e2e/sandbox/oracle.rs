//! What every store must be when a test is over: a repository that stock git finds no fault with.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A stock git without any configuration from outside.
pub(crate) fn git_command() -> Command {
    let mut command = Command::new("git");
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", "/nonexistent")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    command
}

/// Runs a stock git in a store, whoever owns it; stdout.
pub(crate) fn git(store: &Path, args: &[&str]) -> String {
    let output = git_command()
        .args(["-c", "safe.directory=*", "--git-dir"])
        .arg(store)
        .args(args)
        .output()
        .expect("git is installed");
    let text = [&*output.stdout, &*output.stderr].map(String::from_utf8_lossy).concat();
    assert!(output.status.success(), "git {args:?} in {}: {text}", store.display());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The stores under a checkpoint directory, sorted.
pub(crate) fn stores(checkpoint_dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(checkpoint_dir) else { return Vec::new() };
    let mut stores: Vec<PathBuf> = entries
        .map(|entry| entry.expect("the directory can be listed").path())
        .filter(|path| path.file_name() != Some("locks".as_ref()))
        .collect();
    stores.sort();
    stores
}

/// Whether a blob with this content is reachable in a store.
pub(crate) fn holds(store: &Path, content: &[u8]) -> bool {
    let id = super::Forge::id_of_blob(content);
    git(store, &["rev-list", "--all", "--objects"]).lines().any(|line| line.starts_with(&id))
}

/// Checks every store: `git fsck`, a bare clone, closed to others, nothing left over.
pub(crate) fn assert_healthy(checkpoint_dir: &Path) {
    for store in stores(checkpoint_dir) {
        git(&store, &["fsck", "--full", "--strict", "--no-progress"]);
        let clone = tempfile::tempdir().expect("a temporary directory can be made");
        let output = git_command()
            .args(["-c", "safe.directory=*", "clone", "--bare", "--no-local", "--quiet"])
            .args(["--upload-pack", "git -c safe.directory=* upload-pack"])
            .arg(&store)
            .arg(clone.path().join("clone"))
            .output()
            .expect("git is installed");
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git clone {}: {err}", store.display());
        assert_no_leftovers(&store);
    }
}

/// Expects no temporaries and locks in a store, and that others cannot enter it.
pub(crate) fn assert_no_leftovers(store: &Path) {
    for path in files_below(store) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_left = name.starts_with("tmp") || name.ends_with(".lock") || name == "journal";
        assert!(!is_left, "left over: {}", path.display());
    }
    let mode = fs::metadata(store).expect("the store is there").mode() & 0o077;
    assert_eq!(mode, 0, "others may enter {}", store.display());
}

/// Expects that no temporary of a restore stands in a workspace.
pub(crate) fn assert_no_temporaries(workspace: &Path) {
    for path in files_below(workspace) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        assert!(!name.starts_with(".ckpt-"), "left over: {}", path.display());
    }
}

/// Everything below a directory, whatever its kind.
fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![dir.to_owned()];
    while let Some(dir) = waiting.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten() {
            let entry = entry.expect("the directory can be listed");
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.push(entry.path());
            }
            found.push(entry.path());
        }
    }
    found
}
