//! A directory that a test has for itself: home, workspace `w`, checkpoints, and the binary in a cleared environment.
//!
//! When a sandbox is dropped, every store in it must pass stock git, and nothing temporary may be left. A test that
//! breaks a store on purpose says so with [`Sandbox::expect_damage`].

mod call;
mod faults;
mod forge;
mod oracle;
mod redact;
mod tree;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

pub(crate) use call::{Call, Output};
pub(crate) use faults::{SYNCS, operations_of, steps_of};
pub(crate) use forge::Forge;
pub(crate) use oracle::{assert_healthy, assert_no_leftovers, assert_no_temporaries, git_command};
pub(crate) use redact::redact;
pub(crate) use tree::{Tree, assert_same};

/// The user that owns nothing, for tests of permissions when the tests run as root.
pub(crate) const NOBODY: u32 = 65534;

/// A temporary directory with a home and a workspace in it; gone when it is dropped.
pub(crate) struct Sandbox {
    temp: TempDir,
    root: PathBuf,
    user: Option<u32>,
    damaged: AtomicBool,
}

impl Sandbox {
    /// An empty workspace in an empty home.
    pub(crate) fn new() -> Self {
        let temp = tempfile::Builder::new().prefix("ckpt-e2e-").tempdir().expect("a temporary directory can be made");
        let root = temp.path().canonicalize().expect("it has a real path");
        let sandbox = Self { temp, root, user: None, damaged: AtomicBool::new(false) };
        for dir in [sandbox.home(), sandbox.w()] {
            fs::create_dir(dir).expect("the sandbox is empty");
        }
        sandbox
    }

    /// A sandbox whose commands may not do everything: as the caller, or as nobody where the caller is root. `None`,
    /// with the reason printed, where that cannot be arranged.
    pub(crate) fn unprivileged() -> Option<Self> {
        let mut sandbox = Self::new();
        if !is_root() {
            return Some(sandbox);
        }
        sandbox.user = Some(NOBODY);
        fs::set_permissions(&sandbox.root, fs::Permissions::from_mode(0o755)).expect("it is ours");
        for dir in [sandbox.root.clone(), sandbox.home(), sandbox.w()] {
            chown(&dir, Some(NOBODY), Some(NOBODY)).expect("root may give directories away");
        }
        let bin = sandbox.root.join("bin");
        fs::create_dir(&bin).expect("the sandbox is new");
        // By another process: a child that another test starts meanwhile would hold our handle, and the file be "busy".
        let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_ckpt")).arg(bin.join("ckpt")).status();
        assert!(copied.is_ok_and(|status| status.success()), "the binary can be copied");
        for path in [bin.clone(), bin.join("ckpt")] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
        }
        let is_usable = sandbox.call(["--version"]).run().code == Some(0);
        if !is_usable {
            skip("cannot run the binary as an unprivileged user here");
            sandbox.expect_damage();
            return None;
        }
        Some(sandbox)
    }

    /// Directory that holds everything.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The workspace.
    pub(crate) fn w(&self) -> PathBuf {
        self.root.join("w")
    }

    /// `$HOME`.
    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Where checkpoints are by default.
    pub(crate) fn checkpoint_dir(&self) -> PathBuf {
        self.home().join(".fabricatio-checkpoint")
    }

    /// The binary to run.
    pub(crate) fn binary(&self) -> PathBuf {
        match self.user {
            Some(_) => self.root.join("bin/ckpt"),
            None => PathBuf::from(env!("CARGO_BIN_EXE_ckpt")),
        }
    }

    pub(crate) fn user(&self) -> Option<u32> {
        self.user
    }

    /// All stores, sorted.
    pub(crate) fn stores(&self) -> Vec<PathBuf> {
        oracle::stores(&self.checkpoint_dir())
    }

    /// The store, where there is exactly one.
    pub(crate) fn store(&self) -> PathBuf {
        let stores = self.stores();
        assert_eq!(stores.len(), 1, "one store is expected: {stores:?}");
        stores.into_iter().next().expect("there is one")
    }

    /// The store of a workspace, by the last name of its directory; `None` where it has none.
    pub(crate) fn store_of(&self, name: &str) -> Option<PathBuf> {
        let prefix = format!("{name}_");
        self.stores().into_iter().find(|store| {
            store.file_name().is_some_and(|file_name| file_name.as_encoded_bytes().starts_with(prefix.as_bytes()))
        })
    }

    /// Takes stores that stock git will not like, or temporaries that stay.
    pub(crate) fn expect_damage(&self) {
        self.damaged.store(true, Ordering::Relaxed);
    }

    /// Checks all stores and the workspace now.
    pub(crate) fn check(&self) {
        assert_healthy(&self.checkpoint_dir());
        assert_no_temporaries(&self.w());
    }

    /// A call of the binary with the workspace as its current directory.
    pub(crate) fn call<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> Call<'_> {
        Call::new(self, args)
    }

    /// Runs `ckpt` with words that hold no blanks, as a person types them.
    pub(crate) fn ckpt(&self, words: &str) -> Output {
        self.call(words.split_whitespace()).run()
    }

    /// Saves; the id.
    pub(crate) fn save(&self, message: &str) -> String {
        self.call(["save", "-m", message]).run().ok().id()
    }

    /// Runs a stock git in the store; stdout.
    pub(crate) fn git_in_store(&self, args: &[&str]) -> String {
        oracle::git(&self.store(), args)
    }

    /// Runs a stock git as the user would, in a directory of the workspace; stdout.
    pub(crate) fn git(&self, dir: impl AsRef<Path>, args: &[&str]) -> String {
        let output = git_command()
            .args(["-c", "user.name=u", "-c", "user.email=u@example.org", "-c", "init.defaultBranch=main"])
            .args(args)
            .current_dir(self.at(dir))
            .output()
            .expect("git is installed");
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// A path in the workspace; absolute ones stay.
    pub(crate) fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        self.w().join(path)
    }

    /// Writes a file, with missing directories.
    pub(crate) fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.at(path);
        self.make_parents(&path);
        fs::write(&path, content).unwrap_or_else(|err| panic!("cannot write {}: {err}", path.display()));
        self.give(&path);
    }

    /// Makes a directory, with missing ones above.
    pub(crate) fn mkdir(&self, path: impl AsRef<Path>) {
        let path = self.at(path);
        self.make_parents(&path.join("x"));
    }

    /// Makes a symbolic link.
    pub(crate) fn link(&self, path: impl AsRef<Path>, target: impl AsRef<Path>) {
        let path = self.at(path);
        self.make_parents(&path);
        symlink(target, &path).unwrap_or_else(|err| panic!("cannot link {}: {err}", path.display()));
        self.give(&path);
    }

    /// Makes a named pipe.
    pub(crate) fn fifo(&self, path: impl AsRef<Path>) {
        let path = self.at(path);
        mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o644), 0)
            .unwrap_or_else(|err| panic!("cannot make {}: {err}", path.display()));
        self.give(&path);
    }

    /// Makes a program that touches `mark` when it runs, with missing directories, and passes its input on: a hook or a
    /// filter that nothing may call.
    pub(crate) fn trap(&self, path: impl AsRef<Path>, mark: &Path) {
        self.write(&path, format!("#!/bin/sh\ntouch '{}'\ncat\n", mark.display()));
        self.mode(&path, 0o755);
    }

    /// Makes another workspace beside `w`, with the file `f` that holds `name`, and saves it; its directory.
    pub(crate) fn saved_workspace(&self, name: &str) -> PathBuf {
        let dir = self.root.join(name);
        self.write(dir.join("f"), name);
        let _ = self.call(["-w", ".", "save"]).dir(&dir).run().ok();
        dir
    }

    /// Sets permission bits.
    pub(crate) fn mode(&self, path: impl AsRef<Path>, mode: u32) {
        let path = self.at(path);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))
            .unwrap_or_else(|err| panic!("cannot chmod {}: {err}", path.display()));
    }

    /// Removes a file, link or tree.
    pub(crate) fn remove(&self, path: impl AsRef<Path>) {
        let path = self.at(path);
        let meta = fs::symlink_metadata(&path).unwrap_or_else(|err| panic!("{}: {err}", path.display()));
        if meta.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }
            .unwrap_or_else(|err| panic!("cannot remove {}: {err}", path.display()));
    }

    /// Content of a file.
    pub(crate) fn read(&self, path: impl AsRef<Path>) -> Vec<u8> {
        let path = self.at(path);
        fs::read(&path).unwrap_or_else(|err| panic!("cannot read {}: {err}", path.display()))
    }

    /// Content of a file of text.
    pub(crate) fn text(&self, path: impl AsRef<Path>) -> String {
        String::from_utf8(self.read(path)).expect("the file is text")
    }

    /// Whether something stands there; links are not followed.
    pub(crate) fn has(&self, path: impl AsRef<Path>) -> bool {
        fs::symlink_metadata(self.at(path)).is_ok()
    }

    /// Whether a checkpoint or an operation of the store holds these bytes as a file.
    pub(crate) fn is_held(&self, content: impl AsRef<[u8]>) -> bool {
        oracle::holds(&self.store(), content.as_ref())
    }

    /// Paths of a checkpoint, directories included, as stock git lists them.
    pub(crate) fn paths_in(&self, id: &str) -> Vec<String> {
        let listed = self.git_in_store(&["ls-tree", "-r", "-t", "-z", "--name-only", id]);
        listed.split_terminator('\0').map(str::to_owned).collect()
    }

    /// Content of a file in a checkpoint, as stock git reads it.
    pub(crate) fn text_in(&self, id: &str, path: &str) -> String {
        self.git_in_store(&["cat-file", "blob", &format!("{id}:{path}")])
    }

    /// Whether `status` finds no difference.
    pub(crate) fn is_clean(&self) -> bool {
        let output = self.ckpt("status --exit-code");
        assert!(matches!(output.code, Some(0 | 4)), "{output}");
        output.code == Some(0)
    }

    /// The workspace as it is.
    pub(crate) fn tree(&self) -> Tree {
        Tree::of(&self.w())
    }

    fn make_parents(&self, path: &Path) {
        let mut missing = Vec::new();
        let mut at = path.parent();
        while let Some(dir) = at.filter(|dir| !dir.exists()) {
            missing.push(dir);
            at = dir.parent();
        }
        for dir in missing.into_iter().rev() {
            fs::create_dir(dir).unwrap_or_else(|err| panic!("cannot make {}: {err}", dir.display()));
            self.give(dir);
        }
    }

    fn give(&self, path: &Path) {
        if let Some(user) = self.user {
            lchown(path, Some(user), Some(user)).expect("root may give files away");
        }
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        if !self.damaged.load(Ordering::Relaxed) {
            self.check();
        }
        // Directories without permissions would stay where the tests do not run as root.
        let _ = Command::new("chmod").args(["-R", "u+rwX"]).arg(self.temp.path()).output();
    }
}

/// Whether the tests may do everything.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Says why a test proves nothing here.
#[expect(clippy::print_stderr, reason = "a test that does nothing has to say so")]
pub(crate) fn skip(reason: &str) {
    eprintln!("skipped: {reason}");
}
