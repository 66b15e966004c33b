//! A repository and worktree for stock git to work in.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::{Change, EXECUTABLE, Entry, FILE, Files, LINK};

/// An empty repository that nothing from outside bears on.
pub(super) struct Repo {
    dir: TempDir,
}

impl Repo {
    pub(super) fn new() -> Self {
        let repo = Self { dir: TempDir::new().unwrap() };
        repo.git(&["init", "-q"], b"");
        repo
    }

    pub(super) fn git(&self, args: &[&str], input: &[u8]) -> Vec<u8> {
        let mut child = Command::new("git")
            .args(["-c", "core.quotePath=true", "-c", "diff.algorithm=myers", "-c", "core.fileMode=true"])
            .args(["-c", "user.name=t", "-c", "user.email=t@localhost"])
            .args(args)
            .current_dir(self.dir.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .envs([("HOME", ""), ("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null"), ("LC_ALL", "C")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let output = std::thread::scope(|scope| {
            scope.spawn(move || stdin.write_all(input));
            child.wait_with_output().unwrap()
        });
        let patch = String::from_utf8_lossy(input);
        assert!(output.status.success(), "{args:?}: {}\n{patch}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    /// Commits both states and answers with what `git diff` prints between them.
    pub(super) fn diff(&self, change: &Change, options: &[&str]) -> Vec<u8> {
        for files in [&change.old, &change.new] {
            self.replace(files);
            self.git(&["add", "-A"], b"");
            self.git(&["commit", "-q", "--allow-empty", "-m", "state"], b"");
        }
        self.git(&[&["diff", "--no-renames", "--no-color"], options, &["HEAD~", "HEAD"]].concat(), b"")
    }

    pub(super) fn replace(&self, files: &Files) {
        for entry in fs::read_dir(self.dir.path()).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                if entry.file_name() != ".git" {
                    fs::remove_dir_all(entry.path()).unwrap();
                }
            } else {
                fs::remove_file(entry.path()).unwrap();
            }
        }
        self.write(files);
    }

    pub(super) fn write(&self, files: &Files) {
        for (path, (mode, content)) in files {
            let path = self.dir.path().join(OsStr::from_bytes(path));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            if *mode == LINK {
                symlink(OsStr::from_bytes(content), path).unwrap();
            } else {
                fs::write(&path, content).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(mode & 0o777)).unwrap();
            }
        }
    }

    pub(super) fn read(&self) -> Files {
        let name = |path: &Path| path.strip_prefix(self.dir.path()).unwrap().as_os_str().as_bytes().to_vec();
        self.paths().iter().map(|path| (name(path), read_entry(path))).collect()
    }

    /// All files and links but Git's own.
    fn paths(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut dirs = vec![self.dir.path().to_path_buf()];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(dir).unwrap() {
                let entry = entry.unwrap();
                if entry.file_name() == ".git" {
                } else if entry.file_type().unwrap().is_dir() {
                    dirs.push(entry.path());
                } else {
                    found.push(entry.path());
                }
            }
        }
        found
    }
}

fn read_entry(path: &Path) -> Entry {
    let stat = fs::symlink_metadata(path).unwrap();
    if stat.is_symlink() {
        return (LINK, fs::read_link(path).unwrap().as_os_str().as_bytes().to_vec());
    }
    let mode = if stat.permissions().mode() & 0o100 == 0 { FILE } else { EXECUTABLE };
    (mode, fs::read(path).unwrap())
}
