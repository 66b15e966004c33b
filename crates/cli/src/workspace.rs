//! Which directory a command works on, its configuration, and its store.
//!
//! With `-w` or `CKPT_WORKSPACE` it is exactly that directory. Else it is the nearest directory, from the current one
//! upwards, that has checkpoints, never above the root of the Git repository that holds the current directory; else that
//! root, else the current directory. Each candidate is judged by its own configuration, because a project's file may
//! say where its checkpoints are.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ckpt_config::{Loaded, Loader, Setting};
use ckpt_service::{
    CheckpointService, CheckpointStore, Error, RepoPath, SavePlan, StoreError, Worktree, check_redirect,
};

use crate::args::{GlobalArgs, Invocation};
use crate::errors::{Failure, Result};
use crate::hints::{self, Whereabouts};
use crate::printer::Printer;
use crate::progress::Progress;
use crate::quoting;
use crate::signals;

/// Variable that names the workspace as `-w` does.
const VARIABLE: &str = "CKPT_WORKSPACE";

/// Why a directory is the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Somebody named it.
    Named,
    /// It has checkpoints.
    Tracked,
    /// It is the root of the Git repository, and has no checkpoints yet.
    RepositoryRoot,
    /// It is the current directory, and has no checkpoints yet.
    WorkingDir,
}

/// A workspace that was found, whether or not it has a store.
pub(crate) struct Place {
    /// The directory.
    pub(crate) worktree: Worktree,
    /// Why it is this one.
    pub(crate) choice: Choice,
    /// Its configuration.
    pub(crate) loaded: Loaded,
    /// Directory that paths are relative to, as they are typed and as they are shown.
    base: PathBuf,
    /// What is above it that somebody may have meant instead.
    above: Option<Above>,
    /// For hints.
    invocation: Invocation,
}

/// What lies above a workspace that was found, and may have been meant.
enum Above {
    /// Another workspace.
    Workspace(PathBuf),
    /// The root of the Git repository, which has no checkpoints.
    RepositoryRoot(PathBuf),
}

impl Place {
    /// Finds the workspace of this process, without opening its store.
    pub(crate) fn find(global: &GlobalArgs) -> Result<Self> {
        let working_dir = env::current_dir();
        let invocation = Invocation::of(global);
        if let Some(named) = named(global) {
            // An absolute directory needs no other to start from.
            let from = match working_dir {
                Err(_) if named.is_absolute() => named.clone(),
                other => other.map_err(no_working_dir)?,
            };
            let path = from.join(named);
            let worktree = Worktree::locate(&path).map_err(|err| unknown(&invocation, &path, err.into()))?;
            let loaded = load(global, &from, worktree.path())?;
            let base = worktree.path().to_owned();
            return Ok(Self { worktree, choice: Choice::Named, loaded, base, above: None, invocation });
        }
        let base = working_dir.map_err(no_working_dir)?;
        let root = repository_root(&base);
        for candidate in base.ancestors() {
            let loaded = load(global, &base, candidate)?;
            if has_store(&loaded, candidate) {
                let worktree = Worktree::locate(candidate)?;
                let above = above(global, &base, (candidate, &loaded), root)?;
                return Ok(Self { worktree, choice: Choice::Tracked, loaded, base, above, invocation });
            }
            if Some(candidate) == root {
                break;
            }
        }
        let (dir, choice) = match root {
            Some(root) => (root, Choice::RepositoryRoot),
            None => (base.as_path(), Choice::WorkingDir),
        };
        let loaded = load(global, &base, dir)?;
        Ok(Self { worktree: Worktree::locate(dir)?, choice, loaded, base, above: None, invocation })
    }

    /// Where the workspace is, and where its checkpoints are.
    pub(crate) fn whereabouts(&self) -> Whereabouts {
        let checkpoint_dir = &self.loaded.config.checkpoint_dir;
        // Errors name real paths.
        let real =
            Worktree::locate(checkpoint_dir).map_or_else(|_| checkpoint_dir.clone(), |dir| dir.path().to_owned());
        Whereabouts { workspace: self.worktree.path().to_owned(), checkpoint_dir: real }
    }

    /// Whether it is the current directory.
    pub(crate) fn is_here(&self) -> bool {
        self.base == self.worktree.path()
    }

    /// Passes on what the configuration has to warn of.
    pub(crate) fn tell_warnings(&self, printer: &Printer) {
        for warning in &self.loaded.warnings {
            printer.warn(warning.code(), warning);
        }
        for file in &self.loaded.files {
            printer.detail(format_args!("configuration read from {}", quoting::path(file)));
        }
        printer.detail(format_args!("workspace {}", quoting::path(self.worktree.path())));
    }

    /// Says which workspace it is where another directory may have been meant.
    pub(crate) fn tell_which(&self, printer: &Printer) {
        let here = quoting::path(self.worktree.path());
        match &self.above {
            Some(Above::Workspace(above)) => {
                let command = self.invocation.command_for(above.clone(), ["status"]);
                printer.warn(
                    "inner-workspace",
                    format_args!("this works on {here}, not on {} above it; for that: {command}", quoting::path(above)),
                );
            }
            Some(Above::RepositoryRoot(root)) => {
                printer.say(format_args!("in {here}, a part of the Git repository {}", quoting::path(root)));
            }
            None => {}
        }
    }

    /// The path as somebody would type it here.
    pub(crate) fn shown(&self, path: &RepoPath) -> PathBuf {
        let inside = self.base.strip_prefix(self.worktree.path()).unwrap_or(Path::new(""));
        relative(path.as_path(), inside)
    }

    /// The same as text for a line.
    pub(crate) fn text(&self, path: &RepoPath) -> String {
        quoting::path(self.shown(path))
    }

    /// Takes a path as it was typed; `None` is the workspace itself.
    pub(crate) fn repo_path(&self, typed: &Path) -> Result<Option<RepoPath>> {
        let base = if self.base.starts_with(self.worktree.path()) { self.base.as_path() } else { self.worktree.path() };
        Ok(self.worktree.repo_path(base, typed)?)
    }

    /// Whether something stands at a path as it was typed.
    pub(crate) fn exists(&self, typed: &Path) -> bool {
        let path = self.repo_path(typed);
        path.is_ok_and(|path| {
            path.is_none_or(|path| self.worktree.path().join(path.as_path()).symlink_metadata().is_ok())
        })
    }

    /// Makes the service of this workspace's configuration, with nobody listening.
    pub(crate) fn service(&self) -> CheckpointService {
        CheckpointService::builder(self.loaded.config.clone()).refused_worktrees(refused()).build()
    }

    /// Opens the store to read from it; fails where nothing is saved yet.
    pub(crate) fn open(&self) -> Result<CheckpointStore> {
        check_redirect(&self.loaded, self.worktree.path())?;
        self.existing(&self.service())
    }

    /// Opens the store for an operation that takes its time, which Ctrl-C stops.
    pub(crate) fn open_for_work(&self, printer: &Printer) -> Result<CheckpointStore> {
        check_redirect(&self.loaded, self.worktree.path())?;
        self.existing(&self.working_service(printer, false)?)
    }

    /// Opens the store of another workspace for such an operation; `None` where there is none that can be used.
    pub(crate) fn open_other(&self, printer: &Printer, path: &Path) -> Result<Option<CheckpointStore>> {
        Ok(self.working_service(printer, false)?.existing_store(path).ok().flatten())
    }

    /// Opens the store for a save, or makes it.
    pub(crate) fn open_or_create(&self, printer: &Printer, force: bool) -> Result<CheckpointStore> {
        check_redirect(&self.loaded, self.worktree.path())?;
        let opened = self.working_service(printer, force)?.store(self.worktree.path());
        opened.map_err(|err| self.unknown(err.into()))
    }

    /// Opens the store for a plan; `None` where there is none yet.
    pub(crate) fn open_to_plan(&self, printer: &Printer) -> Result<Option<CheckpointStore>> {
        check_redirect(&self.loaded, self.worktree.path())?;
        Ok(self.working_service(printer, false)?.existing_store(self.worktree.path())?)
    }

    /// Tells what a first save would do.
    pub(crate) fn plan_first_save(&self, printer: &Printer, force: bool) -> Result<SavePlan> {
        let options = self.working_service(printer, force)?.store_options().clone();
        let plan = CheckpointStore::plan_first_save(&self.loaded.config.checkpoint_dir, self.worktree.path(), options);
        plan.map_err(|err| self.unknown(err.into()))
    }

    fn working_service(&self, printer: &Printer, force: bool) -> Result<CheckpointService> {
        let stop = signals::listen().map_err(|err| Failure::new("io", "cannot listen to signals").because(&err))?;
        let progress = Progress::new(printer.clone(), stop);
        Ok(CheckpointService::builder(self.loaded.config.clone())
            .refused_worktrees(refused())
            .force_worktree(force)
            .observer(Arc::new(progress))
            .build())
    }

    fn existing(&self, service: &CheckpointService) -> Result<CheckpointStore> {
        let path = self.worktree.path();
        if let Some(store) = service.existing_store(path)? {
            return Ok(store);
        }
        self.worktree.require_dir().map_err(|err| self.unknown(err.into()))?;
        Err(self.nothing_saved(service))
    }

    /// Says that nothing is saved yet, and what to do: look where it was saved before, or save, unless that is refused.
    fn nothing_saved(&self, service: &CheckpointService) -> Failure {
        let path = self.worktree.path();
        let (failure, checkpoint_dir) = (nothing_saved(path), &service.config().checkpoint_dir);
        if let Some(old) = ckpt_service::moved_from(checkpoint_dir, &self.worktree) {
            let (ls, old) = (self.invocation.command_for(old.clone(), ["ls"]), quoting::path(&old));
            return failure
                .hint(format!("it was saved as {old} before, and has its checkpoints there; to see them: {ls}"));
        }
        let options = service.store_options().clone();
        match CheckpointStore::check_first_save(checkpoint_dir, path, options) {
            Err(err) => {
                let hint = hints::for_error(&err.into(), &self.invocation, None);
                hint.into_iter().fold(failure, Failure::hint)
            }
            Ok(()) => failure,
        }
    }

    fn unknown(&self, failure: Failure) -> Failure {
        unknown(&self.invocation, self.worktree.path(), failure)
    }
}

/// Adds what to do about a directory that is none, and that no store knows: most likely it is misspelled. Nothing in it
/// could be read or saved, so that nobody is told to make it.
fn unknown(invocation: &Invocation, path: &Path, failure: Failure) -> Failure {
    match failure.code {
        "missing-workspace" => failure.hint(format!(
            "check how it is spelled; to see which directories have checkpoints: {}",
            invocation.command_for_none(["workspaces"])
        )),
        "not-a-directory" => {
            let dir = path.ancestors().find(|dir| dir.is_dir()).unwrap_or(Path::new("/"));
            let status = invocation.command_for(dir.to_owned(), ["status"]);
            failure.hint(format!("name the directory that holds it: {status}"))
        }
        _ => failure,
    }
}

/// Says that a workspace has no checkpoint; the hint is the first save.
pub(crate) fn nothing_saved(worktree: &Path) -> Failure {
    let message = format!("nothing is saved yet in {}", quoting::path(worktree));
    Failure::new("nothing-saved", message).at(worktree)
}

fn named(global: &GlobalArgs) -> Option<PathBuf> {
    let variable = || env::var_os(VARIABLE).filter(|value: &OsString| !value.is_empty()).map(PathBuf::from);
    global.workspace.clone().or_else(variable)
}

/// The shell still knows where it was: the directory may be a workspace that somebody deleted.
fn no_working_dir(err: io::Error) -> Failure {
    let failure = Failure::from(Error::WorkingDir(err));
    match env::var_os("PWD").map(PathBuf::from).filter(|dir| dir.is_absolute()) {
        Some(dir) => {
            let reset = Invocation::default().command_for(dir, ["reset"]);
            failure.hint(format!("if it was a workspace, bring it back, and enter it again with cd: {reset}"))
        }
        None => failure,
    }
}

fn load(global: &GlobalArgs, working_dir: &Path, worktree: &Path) -> Result<Loaded> {
    let mut loader = Loader::new(working_dir).project_dir(worktree).worktree(Some(worktree)).environment_of_process();
    if let Some(dir) = &global.checkpoint_dir {
        loader = loader.explicit(Setting::CheckpointDir(dir.clone()), "--checkpoint-dir");
    }
    if let Some(file) = &global.config {
        loader = loader.config_file(file);
    }
    Ok(loader.load()?)
}

/// Whether the directory has a store, in whatever state, where its configuration or the trusted part of it says.
fn has_store(loaded: &Loaded, dir: &Path) -> bool {
    // A store that cannot be used is one all the same: the command that opens it says why.
    stores(loaded, dir).any(|found| !matches!(found, Ok(false)))
}

/// Whether a store of the directory is there, for each place where it may be.
fn stores(loaded: &Loaded, dir: &Path) -> impl Iterator<Item = std::result::Result<bool, StoreError>> {
    let from = loaded.redirect.as_ref().map(|redirect| redirect.from.as_path());
    let places = [Some(loaded.config.checkpoint_dir.as_path()), from];
    places.into_iter().flatten().map(move |checkpoint_dir| CheckpointStore::is_there(checkpoint_dir, dir))
}

/// What is above the workspace `found`, up to the root of the repository, that may have been meant. Its own configuration
/// is that of all above it unless a file there, or in itself, has a part in it.
fn above(
    global: &GlobalArgs,
    base: &Path,
    (found, loaded): (&Path, &Loaded),
    root: Option<&Path>,
) -> Result<Option<Above>> {
    if Some(found) == root {
        return Ok(None);
    }
    let is_of_a_project = |file: &PathBuf| file.parent().is_some_and(|dir| found.starts_with(dir));
    let is_shared = !loaded.files.iter().any(is_of_a_project);
    for dir in found.ancestors().skip(1) {
        // Only what is certain: somebody else's stores cannot be looked at.
        let is_tracked = |loaded: &Loaded| stores(loaded, dir).any(|found| matches!(found, Ok(true)));
        let is_tracked = if is_shared { is_tracked(loaded) } else { is_tracked(&load(global, base, dir)?) };
        if is_tracked {
            return Ok(Some(Above::Workspace(dir.to_owned())));
        }
        if Some(dir) == root {
            return Ok(Some(Above::RepositoryRoot(dir.to_owned())));
        }
    }
    Ok(None)
}

/// The nearest directory at or above `dir` that holds a `.git`.
fn repository_root(dir: &Path) -> Option<&Path> {
    dir.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok())
}

/// Directories that are too large or too private to be protected by accident; `/` always is one.
fn refused() -> Vec<PathBuf> {
    env::home_dir().filter(|home| home.is_absolute()).into_iter().collect()
}

/// Writes `path` as it is reached from the directory `from`; both are relative to one place.
fn relative(path: &Path, from: &Path) -> PathBuf {
    let shared = path.components().zip(from.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(shared).map(|_| Path::new(".."));
    let down: PathBuf = path.components().skip(shared).collect();
    let relative: PathBuf = up.chain([down.as_path()].into_iter().filter(|path| *path != Path::new(""))).collect();
    if relative == Path::new("") { ".".into() } else { relative }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_shown_as_they_would_be_typed() {
        let shown = |path: &str, from: &str| relative(Path::new(path), Path::new(from)).display().to_string();
        assert_eq!(shown("a/b", ""), "a/b");
        assert_eq!(shown("a/b", "a"), "b");
        assert_eq!(shown("a/b", "a/c"), "../b");
        assert_eq!(shown("x", "a/c"), "../../x");
        assert_eq!(shown("a", "a"), ".");
        assert_eq!(shown("a", "a/b"), "..");
        assert_eq!(shown("ab/c", "a"), "../ab/c");
    }

    #[test]
    fn a_repository_ends_the_search() {
        let temp = tempfile::tempdir().unwrap();
        let inner = temp.path().join("repo/src/deep");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::create_dir(temp.path().join("repo/.git")).unwrap();
        assert_eq!(repository_root(&inner), Some(temp.path().join("repo").as_path()));
        std::fs::write(temp.path().join("repo/src/.git"), "gitdir: ../.git/modules/src").unwrap();
        assert_eq!(repository_root(&inner), Some(temp.path().join("repo/src").as_path()));
    }
}
