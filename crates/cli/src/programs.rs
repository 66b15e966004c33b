//! Programs on `PATH`: which `ckpt` a person runs by typing its name, and whether there is a git.
//!
//! Other programs are asked for their version, and only where nobody but the user decides what stands there: by an
//! absolute entry of `PATH` that does not lead into the workspace.

use std::env;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A program that does not tell its version within this time has none.
const PATIENCE: Duration = Duration::from_secs(2);

/// A program of that name on `PATH`.
pub(crate) struct Program {
    /// Where it was found.
    pub(crate) path: PathBuf,
    /// What it is after all links.
    pub(crate) real: PathBuf,
    /// Whether it may be run: it does not come from the workspace.
    is_trusted: bool,
}

/// All programs of a name, in the order of `PATH`, each once. None of them is run where the workspace is not known.
pub(crate) fn on_path(name: &str, workspace: Option<&Path>) -> Vec<Program> {
    let mut found: Vec<Program> = Vec::new();
    for dir in env::split_paths(&env::var_os("PATH").unwrap_or_default()) {
        let path = dir.join(name);
        let Ok(real) = path.canonicalize() else { continue };
        let is_program = real.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0);
        if is_program && found.iter().all(|known| known.real != real) {
            let is_inside = workspace.is_none_or(|workspace| real.starts_with(workspace) || dir.starts_with(workspace));
            found.push(Program { path, real, is_trusted: dir.is_absolute() && !is_inside });
        }
    }
    found
}

impl Program {
    /// What it answers to `--version`, on one line; `None` where it may not be asked or does not answer.
    pub(crate) fn version(&self) -> Option<String> {
        let asked = self.is_trusted.then(|| version_of(self.path.as_os_str())).flatten();
        asked.filter(|line| !line.is_empty())
    }

    /// Whether it has the same bytes as another program.
    pub(crate) fn is_same(&self, other: &Path) -> bool {
        let size = |path: &Path| path.metadata().map(|meta| meta.len()).ok();
        let read = |path: &Path| std::fs::read(path).ok();
        self.real == other
            || (size(&self.real) == size(other) && read(&self.real).is_some_and(|bytes| read(other) == Some(bytes)))
    }
}

fn version_of(program: &OsStr) -> Option<String> {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let begun = Instant::now();
    let status = loop {
        match child.try_wait().ok()? {
            Some(status) => break status,
            None if begun.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(5)),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    };
    let mut text = Vec::new();
    child.stdout.take()?.take(200).read_to_end(&mut text).ok()?;
    let line = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    status.success().then(|| crate::quoting::line(line.trim_ascii()))
}
