//! The stable words of errors and warnings, with what they mean. The reference is made from these tables.

/// Code and meaning of every error.
pub(crate) const ERRORS: &[(&str, &str)] = &[
    (
        "usage",
        "The command line is wrong: an unknown option, a missing argument, several words for one message. Exit code 2.",
    ),
    ("missing-workspace", "The workspace does not exist."),
    ("not-a-directory", "The workspace is no directory."),
    ("refused-workspace", "The workspace is `/` or the home directory, and `--force-workspace` was not given."),
    ("nested-store", "The workspace holds the checkpoint directory, or lies in it."),
    (
        "network-fs",
        "The workspace or the checkpoint directory is on a network file system, and `allow_network_fs` is off.",
    ),
    (
        "unmounted-workspace",
        "A volume was mounted there at the last save, or when a restore began, and is not now; a checkpoint of that would look like a deletion.",
    ),
    (
        "half-restored",
        "A restore could neither go on nor be taken back, on a full disk say; every byte is held, and the next command that can finishes it.",
    ),
    ("nothing-readable", "Nothing in the workspace can be read; a checkpoint of it would look like a deletion."),
    ("no-working-directory", "The current directory does not exist any more."),
    ("nothing-saved", "The workspace has no checkpoint yet."),
    ("foreign-store", "What stands at the store's place was not made by ckpt. It is left alone."),
    ("newer-store", "The store was made by a newer version of ckpt."),
    ("unsafe-store", "The store belongs to another user, or others may write to it."),
    ("other-workspace-store", "The store at this place belongs to another workspace."),
    ("broken-store", "Something of the store is missing or cannot be read."),
    ("replaced-store", "The store was removed or replaced while the command ran."),
    ("ref-locked", "A lock file of Git stands in the store."),
    ("interrupted-restore", "A restore was interrupted, or is running: a dry run cannot tell what comes after it."),
    ("timeline-moved", "Another program changed the store's timeline."),
    ("unknown-checkpoint", "No checkpoint of this workspace has that id."),
    ("ambiguous-revision", "Several checkpoints begin with these digits."),
    ("malformed-revision", "It is no revision: neither an id, nor at least 4 digits of one, nor `HEAD`, nor `HEAD~n`."),
    ("beyond-lineage", "`HEAD~n` goes back behind the first checkpoint."),
    ("other-workspace-checkpoint", "The id is that of a checkpoint of another workspace."),
    ("outside-worktree", "A path lies outside the workspace."),
    ("dot-git", "A path lies in a `.git`, which is neither saved nor restored."),
    ("unknown-path", "A path is neither in the checkpoint nor in the workspace."),
    ("malformed-path", "It is no path: empty, or with a NUL byte."),
    ("locked", "Another process works on the workspace, and did not end within `lock_timeout`."),
    ("missing-object", "The store lacks an object that the checkpoint needs. Nothing was changed."),
    ("damaged-object", "An object of the checkpoint is damaged. Nothing was changed."),
    ("unsafe-tree", "The checkpoint holds names that cannot be restored safely. Nothing was changed."),
    ("invalid-input", "A value cannot be stored, such as a message with a NUL byte."),
    ("disk-full", "No room is left."),
    ("permission-denied", "The system does not allow it."),
    ("read-only", "The file system is read-only."),
    ("io", "The system refused for another reason, which the causes tell."),
    ("interrupted", "Ctrl-C. A restore that had begun was taken back. Exit code 130."),
    ("nothing-to-undo", "No reset and no rollback is left that `undo` could take back."),
    ("nothing-to-redo", "No undo is left that `redo` could take back."),
    ("config-unreadable", "A configuration file cannot be read."),
    ("config-malformed", "A configuration file is no TOML."),
    ("config-invalid", "A value of the configuration is not what its key expects."),
    ("home-unknown", "The home directory is needed and not known."),
    (
        "checkpoint-dir-redirected",
        "A file in the workspace names another checkpoint directory than the one that holds the workspace's checkpoints.",
    ),
    ("internal", "A fault of ckpt itself."),
];

/// Code and meaning of every warning.
pub(crate) const WARNINGS: &[(&str, &str)] = &[
    (
        "inner-workspace",
        "The current directory lies in two workspaces, one inside the other, and the inner one is used; `-w` names one.",
    ),
    ("worktree-replaced", "The directory is another one than at the last save; its history was kept."),
    ("moved", "The directory was saved under another path before, and has its history there."),
    ("rules-from-above-not-used", "An ignore file above the workspace would ignore all of it, and is not used."),
    (
        "rules-unreadable",
        "An ignore file cannot be read; the rules of the last checkpoint hold, if it has any. In a nested repository, what is new stays out.",
    ),
    ("bad-exclude", "A configured exclude is no pattern, and is not used."),
    ("nothing-captured", "The directory is not empty, but nothing in it was captured."),
    ("cache-rebuilt", "The stat cache was damaged; files were read again."),
    ("head-damaged", "The last checkpoint cannot be read whole; what the workspace has of it was stored again."),
    (
        "interrupted-restore",
        "A restore is running, or was interrupted; the next command that works on the workspace finishes it.",
    ),
    ("restore-dropped", "A restore was interrupted, and the directory is another one now: it was not finished."),
    ("recovered", "A restore that had been interrupted was finished first."),
    (
        "kept-beside",
        "A path was changed twice while it was restored: the newer edit stays, the older is kept as `<name>.ckpt-kept`.",
    ),
    ("operation-id", "The id is that of an operation; the checkpoint that it made or moved to was taken."),
    ("message-not-recorded", "Nothing changed, so that the message is not recorded anywhere."),
    ("unknown-key", "A key of the configuration is not known."),
    ("one-glob", "A list of excludes was written without brackets, and is one glob with commas in it."),
    ("misplaced-key", "A key of the configuration stands where it is not read."),
    ("untrusted-key", "A file in the workspace sets a key that it may not set."),
    (
        "checkpoint-dir-redirected",
        "Only from `ckpt config`, which goes on where other commands stop with the error of that name.",
    ),
];

/// Code and meaning of what `doctor` finds, where it is none of the others.
pub(crate) const FINDINGS: &[(&str, &str)] = &[
    ("not-on-path", "The shell does not find this `ckpt`, so that commands cannot be pasted."),
    ("other-program", "Another program of the name `ckpt` is on PATH."),
    ("not-durable", "Changes do not wait for the disk, because the configuration says so."),
    ("foreign-directory", "The checkpoint directory belongs to another user."),
    ("writable-by-others", "Others may write to the checkpoint directory; nothing new is made in it."),
    ("readable-by-others", "Others may look into the checkpoint directory or a store."),
    ("little-room", "Little room is left on the disk of the checkpoint directory."),
    ("workspace-gone", "A workspace is gone, and its checkpoints are kept."),
    ("workspace-moved", "A workspace stands under another path now."),
    ("workspace-unmounted", "A workspace cannot be seen, as if its volume was not mounted."),
    ("workspace-obstructed", "Something that is no directory stands at the place of a workspace."),
    ("not-ours", "Something in the checkpoint directory was not made by ckpt. It is left alone."),
    ("half-pack", "A pack has lost its idx, or an idx its pack."),
    ("temporaries", "A crash left temporaries in a store; the next command that writes removes them."),
    ("half-store", "A crash left a store that was being made or removed."),
    ("git-leftovers", "A git that has ended left temporaries or locks in a store."),
    ("put-aside", "A repair put something aside, and it is still there."),
    ("future-time", "A file of a store was written in what is the future now."),
];

#[cfg(test)]
mod tests {
    use std::io;

    use ckpt_service::{Error, ObjectFault, PathFault, RevisionFault, StoreError, StoreFault, WorkspaceFault};

    use super::*;

    fn codes_of_libraries() -> Vec<&'static str> {
        let path = std::path::PathBuf::new;
        let mut errors: Vec<Error> = Vec::new();
        let workspace = [
            WorkspaceFault::Missing,
            WorkspaceFault::NotADirectory,
            WorkspaceFault::Refused,
            WorkspaceFault::Nested(path()),
            WorkspaceFault::NetworkFs,
            WorkspaceFault::Unreadable(1),
            WorkspaceFault::Unmounted(std::path::PathBuf::new()),
            WorkspaceFault::HalfRestored(String::new()),
        ];
        errors.extend(workspace.map(|reason| StoreError::Workspace { path: path(), reason }.into()));
        let store = [
            StoreFault::Absent,
            StoreFault::NotOurs,
            StoreFault::Newer(String::new()),
            StoreFault::Unsafe(String::new()),
            StoreFault::OtherWorktree(path()),
            StoreFault::Broken(String::new()),
            StoreFault::Replaced,
            StoreFault::RefLocked(path()),
            StoreFault::InterruptedRestore,
            StoreFault::TimelineMoved,
        ];
        errors.extend(store.map(|reason| StoreError::Store { path: path(), reason }.into()));
        let revision = [
            RevisionFault::Unknown,
            RevisionFault::Ambiguous(Vec::new()),
            RevisionFault::TooShort,
            RevisionFault::Malformed,
            RevisionFault::BeyondLineage(0),
            RevisionFault::OtherWorkspace(path()),
        ];
        errors.extend(revision.map(|reason| StoreError::Revision { spec: String::new(), reason }.into()));
        let paths = [PathFault::Outside, PathFault::DotGit, PathFault::Unknown, PathFault::Malformed];
        errors.extend(paths.map(|reason| StoreError::Path { path: path(), reason }.into()));
        let id = "0".repeat(40).parse().unwrap();
        let object = [ObjectFault::Missing, ObjectFault::Damaged(String::new()), ObjectFault::Unsafe(String::new())];
        errors.extend(object.map(|reason| StoreError::Object { id, reason }.into()));
        let kinds = [
            io::ErrorKind::StorageFull,
            io::ErrorKind::PermissionDenied,
            io::ErrorKind::ReadOnlyFilesystem,
            io::ErrorKind::Other,
        ];
        errors.extend(kinds.map(|kind| StoreError::Io { action: "read", path: path(), source: kind.into() }.into()));
        errors.push(StoreError::Locked { path: path(), holder: String::new() }.into());
        errors.push(StoreError::Input { what: "message", reason: "" }.into());
        errors.push(StoreError::Interrupted.into());
        errors.push(Error::WorkingDir(io::ErrorKind::NotFound.into()));
        errors.push(Error::Panicked(String::new()));
        errors.iter().map(Error::code).collect()
    }

    #[test]
    fn every_code_of_the_libraries_is_explained() {
        for code in codes_of_libraries() {
            assert!(ERRORS.iter().any(|(known, _)| *known == code), "{code} is not in the table");
        }
    }

    #[test]
    fn codes_stand_once() {
        for table in [ERRORS, WARNINGS, FINDINGS] {
            let mut codes: Vec<_> = table.iter().map(|(code, _)| code).collect();
            codes.sort_unstable();
            codes.dedup();
            assert_eq!(codes.len(), table.len());
        }
    }
}
