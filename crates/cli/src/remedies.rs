//! What `doctor` found, as a sentence, and what to do about it. As in hints, a sentence that is about a command ends in
//! `: ` and the command, which works when it is pasted.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ckpt_service::{Error, Finding, Leftover, Workspace, WorkspaceState};

use crate::args::Invocation;
use crate::hints;
use crate::quoting;
use crate::time;
use crate::wording;

/// Files that a command names one by one.
const MAX_NAMED: usize = 4;

/// What is the matter.
pub(crate) fn sentence(finding: &Finding, now_ns: i64) -> String {
    let path = |path: &Path| quoting::path(path);
    match finding {
        Finding::Unreadable(error) | Finding::Unusable { error, .. } => with_causes(error),
        Finding::Foreign(dir) => format!("{} belongs to the user {}", path(&dir.path), dir.owner),
        Finding::Writable(dir) => format!("others may write to {} (mode {:03o})", path(&dir.path), dir.mode),
        Finding::Open(dir) => format!("others may look into {} (mode {:03o})", path(&dir.path), dir.mode),
        Finding::ReadOnly(dir) => format!("the disk of {} cannot be written", path(dir)),
        Finding::LittleRoom { path: dir, space } => format!(
            "{} of {} are left on the disk of {}{}",
            wording::bytes(space.free_bytes),
            wording::bytes(space.total_bytes),
            path(dir),
            space.free_files.map_or_else(String::new, |files| format!(", for {}", wording::count(files, "file")))
        ),
        Finding::NetworkFs { path: dir, .. } => {
            format!("{} is on a network file system, where locks and renames promise too little", path(dir))
        }
        Finding::Store(workspace) => of_state(workspace),
        Finding::StoreInWorkspace { worktree, checkpoint_dir } => format!(
            "the checkpoints in {} lie in the workspace {}: what cleans up there removes them",
            path(checkpoint_dir),
            path(worktree)
        ),
        Finding::WorkspaceInStore { worktree, checkpoint_dir } => {
            format!("{} lies in the checkpoint directory {}, and cannot be saved", path(worktree), path(checkpoint_dir))
        }
        Finding::Locked { workspace, holder, since_ns, .. } => {
            format!(
                "{} works on {}, begun {}",
                quoting::line(holder.as_bytes()),
                named(workspace),
                time::age(*since_ns, now_ns)
            )
        }
        Finding::Interrupted { workspace, since_ns } => format!(
            "a restore of {} was interrupted, begun {}: the files are those of two states",
            named(workspace),
            time::age(*since_ns, now_ns)
        ),
        Finding::Temporaries { workspace, files } => {
            format!("a crash left {} in {}", these(files), path(&workspace.store))
        }
        Finding::HalfStore(left) if is_of_prune(left) => {
            format!("a prune was interrupted, and left {} in {}", wording::bytes(left.bytes), path(&left.path))
        }
        Finding::HalfStore(left) => {
            format!("a first save was interrupted, and left {} in {}", wording::bytes(left.bytes), path(&left.path))
        }
        Finding::GitFiles { workspace, files } => {
            format!("a git that has ended left {} in {}", these(files), path(&workspace.store))
        }
        Finding::Halves { files, .. } => format!(
            "{} without the other half, the first of which is {}",
            wording::count(wording::length(files), "pack or idx file"),
            files.first().map(quoting::path).unwrap_or_default()
        ),
        Finding::PutAside { dir, .. } => {
            format!("a repair put {} aside, in {}", wording::bytes(dir.bytes), path(&dir.path))
        }
        Finding::Ahead { path: file, time_ns } => format!(
            "{} was written at {}, which is still to come: a clock was ahead, or is behind now",
            path(file),
            time::for_people(*time_ns)
        ),
        _ => format!("something that this version cannot name: {}", finding.code()),
    }
}

/// What to do about it; `None` where there is nothing to do.
pub(crate) fn remedy(finding: &Finding, invocation: &Invocation) -> Option<String> {
    let shell = |path: &Path| quoting::shell(path);
    Some(match finding {
        Finding::Unreadable(error) => hints::for_error(error, invocation, None)
            .or_else(|| error.path().map(|path| format!("see what it is: ls -la {}", shell(path))))?,
        Finding::Unusable { workspace, error } => of_unusable(workspace, error, invocation)?,
        Finding::Foreign(dir) => {
            format!("keep checkpoints elsewhere with --checkpoint-dir, or see whose it is: ls -ld {}", shell(&dir.path))
        }
        Finding::Writable(dir) | Finding::Open(dir) => format!("close it to others: chmod go= {}", shell(&dir.path)),
        Finding::ReadOnly(dir) => {
            format!("mount it so that it can; to see how it is mounted: findmnt -T {}", shell(dir))
        }
        Finding::LittleRoom { path, .. } => format!(
            "make some room (what ckpt could remove: {}); to see how much there is: df -h {}",
            invocation.command_for_none(["prune"]),
            shell(path)
        ),
        Finding::NetworkFs { is_allowed: true, .. } => {
            format!("keep it on a disk of this machine; to see who allows it: {}", invocation.command(["config"]))
        }
        Finding::NetworkFs { .. } => {
            let save = invocation.command(["save"]);
            format!(
                "keep it on a disk of this machine; to take the risk: FABRICATIO_CHECKPOINT__ALLOW_NETWORK_FS=true {save}"
            )
        }
        Finding::Store(workspace) => of_place(workspace, invocation)?,
        Finding::StoreInWorkspace { worktree, .. } => format!(
            "keep them elsewhere; to see who says where they are: {}",
            invocation.command_for(worktree.clone(), ["config"])
        ),
        Finding::WorkspaceInStore { .. } => {
            format!(
                "keep the one or the other elsewhere; to see who says where checkpoints are: {}",
                invocation.command(["config"])
            )
        }
        Finding::Locked { is_long: false, .. } => return None,
        Finding::Locked { holder, .. } => {
            let id = holder.split(' ').next().filter(|id| id.bytes().all(|byte| byte.is_ascii_digit()));
            format!("see what it does: ps -o pid,etime,args -p {}", id.unwrap_or("1"))
        }
        Finding::Interrupted { workspace, .. } => format!(
            "finish it{}: {}",
            command(workspace, invocation, &["undo"])
                .map_or_else(String::new, |undo| format!(" (or take it back with {undo})")),
            command(workspace, invocation, &["status"])?
        ),
        Finding::Temporaries { workspace, .. } => match workspace.state {
            WorkspaceState::Valid => {
                format!("the next save removes it: {}", command(workspace, invocation, &["save"])?)
            }
            _ => format!("a repair removes it: {}", command(workspace, invocation, &["verify", "--repair"])?),
        },
        Finding::HalfStore(left) if is_of_prune(left) => {
            format!("the next prune removes it: {}", invocation.command_for_none(["prune", "--yes"]))
        }
        Finding::HalfStore(left) => format!("remove it: rm -r {}", shell(&left.path)),
        Finding::GitFiles { workspace, files } => remove_files(workspace, files),
        Finding::Halves { workspace, .. } => {
            format!("mend what can be: {}", command(workspace, invocation, &["verify", "--repair"])?)
        }
        Finding::PutAside { workspace, dir } => format!(
            "see whether all is there ({}), then remove it: rm -r {}",
            command(workspace, invocation, &["verify", "--full"])?,
            shell(&dir.path)
        ),
        Finding::Ahead { .. } => "see whether the clock is right: date".to_owned(),
        _ => return None,
    })
}

/// The path that a finding is about.
pub(crate) fn path_of(finding: &Finding) -> Option<PathBuf> {
    Some(match finding {
        Finding::Unreadable(error) => error.path()?.to_owned(),
        Finding::Foreign(dir) | Finding::Writable(dir) | Finding::Open(dir) => dir.path.clone(),
        Finding::ReadOnly(path)
        | Finding::LittleRoom { path, .. }
        | Finding::NetworkFs { path, .. }
        | Finding::Ahead { path, .. } => path.clone(),
        Finding::StoreInWorkspace { worktree, .. } | Finding::WorkspaceInStore { worktree, .. } => worktree.clone(),
        Finding::Store(workspace)
        | Finding::Unusable { workspace, .. }
        | Finding::Locked { workspace, .. }
        | Finding::Interrupted { workspace, .. } => workspace.path.clone().unwrap_or_else(|| workspace.store.clone()),
        Finding::Temporaries { workspace, .. } | Finding::GitFiles { workspace, .. } => workspace.store.clone(),
        Finding::HalfStore(left) | Finding::PutAside { dir: left, .. } => left.path.clone(),
        Finding::Halves { files, .. } => files.first()?.clone(),
        _ => return None,
    })
}

fn with_causes(error: &Error) -> String {
    let mut text = error.to_string();
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        text += &format!(": {cause}");
        next = cause.source();
    }
    quoting::line(text.as_bytes())
}

/// The workspace, or its store where that does not tell whose it is.
fn named(workspace: &Workspace) -> String {
    quoting::path(workspace.path.as_ref().unwrap_or(&workspace.store))
}

fn these(files: &[Leftover]) -> String {
    let bytes = files.iter().map(|file| file.bytes).sum();
    format!("{} ({})", wording::count(wording::length(files), "file"), wording::bytes(bytes))
}

fn is_of_prune(left: &Leftover) -> bool {
    left.path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"tmp-prune-"))
}

fn command(workspace: &Workspace, invocation: &Invocation, words: &[&str]) -> Option<String> {
    let path = workspace.path.clone()?;
    Some(invocation.command_for(path, words.iter().copied()))
}

fn of_state(workspace: &Workspace) -> String {
    let named = named(workspace);
    match &workspace.state {
        WorkspaceState::Gone => format!("{named} is gone, and has checkpoints"),
        WorkspaceState::Moved { to, store: None } => {
            format!("{named} is {} now, and has no checkpoints there", quoting::path(to))
        }
        WorkspaceState::Moved { to, .. } => {
            format!("{named} is {} now, and has new checkpoints there", quoting::path(to))
        }
        WorkspaceState::Unmounted => format!("{named} and the directory above it cannot be seen, as if not mounted"),
        WorkspaceState::Obstructed => format!("what stands at {named} is no directory"),
        WorkspaceState::Broken(what) => format!("the store {named} is broken: {}", quoting::line(what.as_bytes())),
        WorkspaceState::NotOurs => format!("{named} was not made by ckpt, and is left alone"),
        _ => format!("the state of {named} is not known to this version"),
    }
}

fn of_place(workspace: &Workspace, invocation: &Invocation) -> Option<String> {
    let prune = || invocation.command_for_none(["prune"]);
    Some(match &workspace.state {
        WorkspaceState::Gone => format!(
            "bring it back ({}), or see what a prune would remove: {}",
            command(workspace, invocation, &["reset"])?,
            prune()
        ),
        WorkspaceState::Moved { to, store: None } => {
            format!("make a first checkpoint there: {}", invocation.command_for(to.clone(), ["save"]))
        }
        WorkspaceState::Moved { .. } => {
            format!("the old checkpoints can still be read: {}", command(workspace, invocation, &["ls"])?)
        }
        WorkspaceState::Unmounted => {
            format!(
                "mount its volume; its checkpoints can be read meanwhile: {}",
                command(workspace, invocation, &["ls"])?
            )
        }
        WorkspaceState::Obstructed => {
            let path = workspace.path.as_ref().unwrap_or(&workspace.store);
            format!("see what it is, and move it away: ls -ld {}", quoting::shell(path))
        }
        WorkspaceState::Broken(what) if what.contains("newer") => {
            "use the version of ckpt that made it, or a later one".to_owned()
        }
        WorkspaceState::Broken(what) if what.contains("copy") => {
            format!("give it its old name again, or remove it: rm -r {}", quoting::shell(&workspace.store))
        }
        WorkspaceState::Broken(_) => {
            let repair = invocation.command_for_none(["verify", "--repair"]);
            format!("in the directory that it belongs to: {repair}")
        }
        _ => return None,
    })
}

fn of_unusable(workspace: &Workspace, error: &Error, invocation: &Invocation) -> Option<String> {
    if matches!(error.code(), "broken-store" | "missing-object" | "damaged-object") {
        return Some(format!(
            "mend what can be: {}",
            command(workspace, invocation, &["verify", "--full", "--repair"])?
        ));
    }
    let path = error.path().unwrap_or(&workspace.store);
    hints::for_error(error, invocation, None)
        .or_else(|| Some(format!("see what it is: ls -la {}", quoting::shell(path))))
}

/// A lock of the timeline goes by itself; everything else stays until somebody removes it.
fn remove_files(workspace: &Workspace, files: &[Leftover]) -> String {
    if files.len() > MAX_NAMED {
        let objects = quoting::shell(workspace.store.join("objects"));
        return format!("remove them: find {objects} -name 'tmp_*' -mmin +60 -delete");
    }
    let names: Vec<_> = files.iter().map(|file| quoting::shell(&file.path)).collect();
    format!("if no git runs there, remove it: rm -f {}", names.join(" "))
}
