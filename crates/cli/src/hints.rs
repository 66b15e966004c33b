//! What to do about an error of the libraries.
//!
//! A hint is a sentence, and where it is about a command the sentence ends in `: ` and the command, which works when it
//! is pasted.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use ckpt_service::{
    CheckpointService, Config, ConfigError, Error, ObjectFault, PathFault, Redirect, RevisionFault, StoreError,
    StoreFault, WorkspaceFault, WorkspaceState,
};

use crate::args::Invocation;
use crate::quoting;

/// Ids that a hint names before it says "and others".
const MAX_CANDIDATES: usize = 4;

/// Where a run works; both are absolute.
#[derive(Debug)]
pub(crate) struct Whereabouts {
    /// The workspace.
    pub(crate) workspace: PathBuf,
    /// Where its checkpoints are kept.
    pub(crate) checkpoint_dir: PathBuf,
}

/// What a path belongs to.
enum Part<'a> {
    Workspace(&'a Path),
    Checkpoints(&'a Path),
}

impl Whereabouts {
    /// The part that `path` lies in; the store may stand inside the workspace, never the other way round.
    fn part_of(&self, path: &Path) -> Option<Part<'_>> {
        if path.starts_with(&self.checkpoint_dir) {
            Some(Part::Checkpoints(&self.checkpoint_dir))
        } else {
            path.starts_with(&self.workspace).then_some(Part::Workspace(&self.workspace))
        }
    }
}

/// The hint for an error; `None` where nothing can be said that the error does not say itself. `at` is not known before
/// the workspace is found.
pub(crate) fn for_error(err: &Error, invocation: &Invocation, at: Option<&Whereabouts>) -> Option<String> {
    match err {
        Error::Store(err) => for_store_error(err, invocation, at),
        Error::Config(err) => ConfigError::hint(err),
        Error::Redirected(redirect) => Some(for_redirect(redirect, invocation)),
        Error::WorkingDir(_) => Some("change to a directory that exists: cd".to_owned()),
        Error::Panicked(_) => {
            Some("this is a bug of ckpt, please report it; the next command finishes what was begun".to_owned())
        }
        _ => None,
    }
}

fn for_store_error(err: &StoreError, invocation: &Invocation, at: Option<&Whereabouts>) -> Option<String> {
    match err {
        StoreError::Workspace { path, reason: WorkspaceFault::Missing } => Some(for_missing(path, invocation, at)),
        StoreError::Workspace { path, reason } => for_workspace(path, reason, invocation),
        StoreError::Store { path, reason } => for_store(path, reason, invocation),
        StoreError::Revision { spec, reason } => Some(for_revision(spec, reason, invocation)),
        StoreError::Path { reason, .. } => Some(for_path(*reason, invocation)),
        StoreError::Locked { .. } => Some(
            "try again when it is done, or set FABRICATIO_CHECKPOINT__LOCK_TIMEOUT=5m to wait for longer".to_owned(),
        ),
        StoreError::Object { reason, .. } => Some(match reason {
            ObjectFault::Unsafe(_) => format!("take another checkpoint: {}", invocation.command(["ls", "--all"])),
            _ => {
                let command = invocation.command(["verify", "--full", "--repair"]);
                format!("the store is damaged; to mend what can be, and see what is lost: {command}")
            }
        }),
        StoreError::Interrupted => Some("everything is as it was before".to_owned()),
        StoreError::Input { what: "message", .. } => Some("take the NUL byte out of the message".to_owned()),
        StoreError::Io { path, source, .. } => for_io(path, source.kind(), at),
        _ => None,
    }
}

/// A workspace that is missing has checkpoints: where it has none, nobody comes as far as to fail like this.
fn for_missing(path: &Path, invocation: &Invocation, at: Option<&Whereabouts>) -> String {
    let reset = invocation.command_for(path.to_owned(), ["reset"]);
    match at.and_then(|at| moved_to(path, at)) {
        Some(to) => {
            let shown = quoting::path(&to);
            let status = invocation.command_for(to, ["status"]);
            format!("it is now {shown}; to work on it there: {status}; to bring the old files back as well: {reset}")
        }
        None => format!("bring it back: {reset}"),
    }
}

/// Where a workspace that is missing stands now, if that can be told.
fn moved_to(path: &Path, at: &Whereabouts) -> Option<PathBuf> {
    let service = CheckpointService::new(Config::new(&at.checkpoint_dir));
    let workspaces = service.workspaces().ok()?;
    workspaces.into_iter().find_map(|workspace| match workspace.state {
        WorkspaceState::Moved { to, .. } if workspace.path.as_deref() == Some(path) => Some(to),
        _ => None,
    })
}

fn for_workspace(path: &Path, reason: &WorkspaceFault, invocation: &Invocation) -> Option<String> {
    let quoted = quoting::shell(path);
    Some(match reason {
        WorkspaceFault::NotADirectory => format!(
            "move away what stands there, then bring the directory back: {}",
            invocation.command_for(path.to_owned(), ["reset"])
        ),
        WorkspaceFault::Refused => format!(
            "name a directory below it with -w; or, if you mean all of it: {}",
            invocation.command_for(path.to_owned(), ["save", "--force-workspace"])
        ),
        WorkspaceFault::Nested(dir) if path.starts_with(dir) => {
            format!("checkpoints are kept there; to see who says so: {}", invocation.command(["config"]))
        }
        WorkspaceFault::Nested(_) => format!(
            "keep checkpoints elsewhere with --checkpoint-dir; or, if you mean all of it: {}",
            invocation.command_for(path.to_owned(), ["save", "--force-workspace"])
        ),
        WorkspaceFault::NetworkFs => {
            let save = invocation.command(["save"]);
            format!("to take that risk: FABRICATIO_CHECKPOINT__ALLOW_NETWORK_FS=true {save}")
        }
        WorkspaceFault::HalfRestored(_) => {
            format!("remove the cause, then finish it: {}; or take it back with undo", invocation.command(["status"]))
        }
        WorkspaceFault::Unmounted(_) => format!(
            "mount it again; or, if its files are lost, bring them back: {}",
            invocation.command_for(path.to_owned(), ["reset"])
        ),
        WorkspaceFault::Unreadable(_) => format!("see who may read it: ls -la {quoted}"),
        _ => return None,
    })
}

fn for_store(path: &Path, reason: &StoreFault, invocation: &Invocation) -> Option<String> {
    let quoted = quoting::shell(path);
    Some(match reason {
        StoreFault::Absent => format!("make a first checkpoint: {}", invocation.command(["save"])),
        StoreFault::NotOurs => {
            format!("keep checkpoints elsewhere with --checkpoint-dir, or see what it is: ls -la {quoted}")
        }
        StoreFault::Newer(_) => "use the version of ckpt that made it, or a later one".to_owned(),
        StoreFault::Unsafe(text) if text.contains("write") => {
            format!("take that right from others: chmod go-w {quoted}")
        }
        StoreFault::Unsafe(_) => {
            format!("keep checkpoints elsewhere with --checkpoint-dir, or see whose it is: ls -ld {quoted}")
        }
        StoreFault::OtherWorktree(other) => {
            format!("see what it holds: {}", invocation.command_for(other.clone(), ["ls"]))
        }
        StoreFault::Broken(_) => {
            format!("to mend what can be: {}", invocation.command(["verify", "--full", "--repair"]))
        }
        StoreFault::Replaced => "try again".to_owned(),
        StoreFault::InterruptedRestore => {
            format!("finish it, and see what there is then: {}", invocation.command(["status"]))
        }
        StoreFault::RefLocked(lock) => {
            format!("try again; if no git runs in the store, remove the lock: rm {}", quoting::shell(lock))
        }
        StoreFault::TimelineMoved => format!("see what happened: git --git-dir={quoted} log timeline"),
        _ => return None,
    })
}

fn for_revision(spec: &str, reason: &RevisionFault, invocation: &Invocation) -> String {
    match reason {
        RevisionFault::Ambiguous(ids) => {
            // Twelve digits do not tell apart what more digits did not.
            let shown = |id: &ckpt_service::CheckpointId| if spec.len() < 12 { id.short() } else { id.to_string() };
            let mut names: Vec<_> = ids.iter().take(MAX_CANDIDATES).map(shown).collect();
            if ids.len() > MAX_CANDIDATES {
                names.push("others".to_owned());
            }
            let last = names.pop().unwrap_or_default();
            let all = invocation.command(["ls", "--all"]);
            format!("it may be {} or {last}; to see them: {all}", names.join(", "))
        }
        RevisionFault::OtherWorkspace(other) => {
            format!("look at it there: {}", invocation.command_for(other.clone(), ["show", spec]))
        }
        RevisionFault::TooShort | RevisionFault::Malformed if range(spec).is_some() => {
            let [from, to] = range(spec).unwrap_or_default();
            format!("two revisions are two words: {}", invocation.command(["diff", &from, &to]))
        }
        RevisionFault::TooShort | RevisionFault::Malformed if is_head_elsewhere(spec) => {
            let show = invocation.command(["show", "HEAD~1"]);
            format!("head is written HEAD here, and the one before it HEAD~1: {show}")
        }
        RevisionFault::BeyondLineage(0) => format!("make a first checkpoint: {}", invocation.command(["save"])),
        RevisionFault::BeyondLineage(_) => format!("see all of them: {}", invocation.command(["ls", "-n", "0"])),
        _ => format!("see which there are: {}", invocation.command(["ls", "--all"])),
    }
}

/// Both ends of what git takes for a range of revisions, as they are written here; one that is left out is head.
fn range(spec: &str) -> Option<[String; 2]> {
    let (from, to) = spec.split_once("..").filter(|_| !spec.trim_matches('.').is_empty())?;
    let ends = [from, to.strip_prefix('.').unwrap_or(to)].map(|end| end.replacen('@', "HEAD", 1));
    let ends = ends.map(|end| if end.is_empty() { "HEAD".to_owned() } else { end });
    let is_revision = |end: &String| match end.strip_prefix("HEAD") {
        Some(steps) => {
            steps.is_empty() || steps.strip_prefix('~').is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
        }
        None => end.len() >= 4 && end.bytes().all(|b| b.is_ascii_hexdigit()),
    };
    ends.iter().all(is_revision).then_some(ends)
}

/// Whether other tools would take it for head, or for a checkpoint before it.
fn is_head_elsewhere(spec: &str) -> bool {
    let word = spec.split(['~', '^']).next().unwrap_or_default();
    word == "@" || word.eq_ignore_ascii_case("HEAD")
}

fn for_path(reason: PathFault, invocation: &Invocation) -> String {
    match reason {
        PathFault::Outside => {
            "a path is taken from the current directory if that is in the workspace and -w is not given, \
             else from the workspace"
                .to_owned()
        }
        PathFault::DotGit => "use git for what is in a .git".to_owned(),
        PathFault::Unknown => {
            format!("another checkpoint may have it; to see what one changed: {}", invocation.command(["show"]))
        }
        _ => "name a file or a directory of the workspace".to_owned(),
    }
}

fn for_io(path: &Path, kind: ErrorKind, at: Option<&Whereabouts>) -> Option<String> {
    let part = at.and_then(|at| at.part_of(path));
    match (kind, part) {
        (ErrorKind::StorageFull | ErrorKind::QuotaExceeded, Some(Part::Workspace(dir))) => Some(format!(
            "no room is left on the disk of the workspace; make some and try again; to see how much: {}",
            room(dir)
        )),
        (ErrorKind::StorageFull | ErrorKind::QuotaExceeded, Some(Part::Checkpoints(dir))) => Some(format!(
            "no room is left on the disk of the checkpoints; make some, or keep them on another disk with \
             --checkpoint-dir; to see how much: {}",
            room(dir)
        )),
        (ErrorKind::StorageFull | ErrorKind::QuotaExceeded, None) => {
            Some(format!("no room is left on that disk; to see how much: {}", room(path.parent().unwrap_or(path))))
        }
        (ErrorKind::PermissionDenied, _) => Some(format!("see whose it is: ls -ld {}", quoting::shell(path))),
        (ErrorKind::ReadOnlyFilesystem, Some(Part::Workspace(_))) => {
            Some("the disk of the workspace cannot be written; mount it so that it can, and try again".to_owned())
        }
        (ErrorKind::ReadOnlyFilesystem, _) => {
            Some("keep checkpoints where they can be written, with --checkpoint-dir".to_owned())
        }
        _ => None,
    }
}

/// The hint for a restore that had begun to change files, and that could neither be ended nor taken back.
pub(crate) fn for_pending(err: &StoreError, invocation: &Invocation, at: &Whereabouts) -> String {
    let status = invocation.command(["status"]);
    let full = match err {
        StoreError::Io { path, source, .. }
            if matches!(source.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) =>
        {
            at.part_of(path)
        }
        _ => None,
    };
    match full {
        Some(Part::Workspace(dir)) => format!(
            "no room is left on the disk of the workspace ({}); make some, then let the next command finish what was \
             begun: {status}",
            room(dir)
        ),
        Some(Part::Checkpoints(dir)) => format!(
            "no room is left on the disk of the checkpoints ({}); make some, then let the next command finish what was \
             begun: {status}",
            room(dir)
        ),
        None => format!("mend that, then let the next command finish what was begun: {status}"),
    }
}

/// The command that tells how full a disk is. The directory may be still to be made.
fn room(dir: &Path) -> String {
    let existing = dir.ancestors().find(|dir| dir.exists()).unwrap_or(dir);
    format!("df -h {}", quoting::shell(existing))
}

fn for_redirect(redirect: &Redirect, invocation: &Invocation) -> String {
    let take = |dir: &Path| {
        let mut words = vec!["--checkpoint-dir".into(), dir.as_os_str().to_owned()];
        words.push("status".into());
        invocation.command(words)
    };
    format!(
        "set FABRICATIO_CHECKPOINT__CHECKPOINT_DIR, or say it each time; the one with checkpoints: {}; the other: {}",
        take(&redirect.from),
        take(&redirect.to)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(err: StoreError) -> String {
        for_error(&err.into(), &Invocation::default(), None).unwrap()
    }

    #[test]
    fn a_full_disk_is_told_by_what_lies_on_it() {
        let at = Whereabouts { workspace: "/w".into(), checkpoint_dir: "/w/c".into() };
        let hint = |path: &str| for_io(Path::new(path), ErrorKind::QuotaExceeded, Some(&at)).unwrap();
        assert!(hint("/w/src/main.rs").contains("disk of the workspace"));
        assert!(hint("/w/c/w_0/objects/pack/x").contains("disk of the checkpoints"));
        assert!(!hint("/elsewhere/x").contains("--checkpoint-dir"));
    }

    #[test]
    fn commands_in_hints_are_quoted() {
        let err = StoreError::Workspace { path: "/a b".into(), reason: WorkspaceFault::Missing };
        assert_eq!(hint(err), "bring it back: ckpt -w '/a b' reset");
        let reason = RevisionFault::OtherWorkspace("/it's".into());
        let err = StoreError::Revision { spec: "abcd".into(), reason };
        assert_eq!(hint(err), r"look at it there: ckpt -w '/it'\''s' show abcd");
    }

    #[test]
    fn ambiguity_lists_candidates() {
        let ids = ["1", "2", "3", "4", "5"].map(|digit| format!("abcd{}", digit.repeat(36)).parse().unwrap());
        let ambiguous = |count: usize| StoreError::Revision {
            spec: "abcd".into(),
            reason: RevisionFault::Ambiguous(ids[..count].to_vec()),
        };
        assert_eq!(hint(ambiguous(2)), "it may be abcd11111111 or abcd22222222; to see them: ckpt ls --all");
        assert!(hint(ambiguous(5)).contains("abcd44444444 or others"));
    }

    #[test]
    fn a_first_checkpoint_is_offered_where_there_is_none() {
        let err = StoreError::Store { path: "/s".into(), reason: StoreFault::Absent };
        assert_eq!(hint(err), "make a first checkpoint: ckpt save");
    }
}
