//! Names that a tree cannot hold safely: `.git`, and what Git on some system would take for it.
//!
//! The rules are those of Git's `verify_path` and fsck (`is_ntfs_dotgit`, `is_hfs_dotgit`): short names of NTFS,
//! trailing spaces and dots, alternate streams, backslashes as separators, and code points that HFS+ ignores.

/// What a name is to a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    /// Any other name.
    Plain,
    /// `.git` itself: neither saved nor touched.
    DotGit,
    /// `.git` in disguise, or no name of a directory entry at all.
    Reserved,
}

/// Judges one component.
pub(crate) fn judge_name(name: &[u8]) -> Name {
    if name == b".git" {
        return Name::DotGit;
    }
    let is_name = !name.is_empty() && name != b"." && name != b".." && !name.contains(&b'/') && !name.contains(&0);
    let disguised = || name.split(|&byte| byte == b'\\').any(is_ntfs_dot_git) || is_hfs_dot_git(name);
    // Nearly every name ends here: a disguise holds the letters of "git", or begins with something unusual.
    let suspicious = name.iter().any(|byte| matches!(byte, b'g' | b'G')) || !name.is_ascii();
    if !is_name || (suspicious && disguised()) { Name::Reserved } else { Name::Plain }
}

/// `.git` or `git~1` in any case, with spaces and dots behind it, up to the end or a colon.
fn is_ntfs_dot_git(name: &[u8]) -> bool {
    let rest = [b".git".as_slice(), b"git~1"].into_iter().find_map(|start| {
        (name.len() >= start.len() && name[..start.len()].eq_ignore_ascii_case(start)).then(|| &name[start.len()..])
    });
    rest.is_some_and(|rest| {
        let rest = rest.split(|&byte| byte == b':').next().unwrap_or_default();
        rest.iter().all(|byte| matches!(byte, b' ' | b'.'))
    })
}

/// `.git` in any case once the code points that HFS+ ignores are taken out.
fn is_hfs_dot_git(name: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(name) else { return false };
    let ignored = |char: &char| matches!(*char, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let visible: String = text.chars().filter(|char| !ignored(char)).collect();
    visible.eq_ignore_ascii_case(".git")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disguises_are_seen_s6() {
        assert_eq!(judge_name(b".git"), Name::DotGit);
        for bad in [
            ".GIT",
            ".Git",
            "git~1",
            "GIT~1",
            ".git ",
            ".git.",
            ".git . .",
            ".git:x",
            ".git::$INDEX_ALLOCATION",
            "a\\.git",
            "a\\git~1\\b",
            ".g\u{200c}it",
            "\u{feff}.git",
            "",
            ".",
            "..",
            "a/b",
        ] {
            assert_eq!(judge_name(bad.as_bytes()), Name::Reserved, "{bad:?}");
        }
        for good in [".gitignore", ".github", "git", "git~2", ".gitx", ".git x", "x.git", "...", "a\\b", "g\u{200c}"] {
            assert_eq!(judge_name(good.as_bytes()), Name::Plain, "{good:?}");
        }
        assert_eq!(judge_name(b"\xff\xfe"), Name::Plain);
    }
}
