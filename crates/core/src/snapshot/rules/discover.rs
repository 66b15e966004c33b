//! Finding the rules above a worktree.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::chain::Entry;
use super::outside::{AboveFile, AboveKind, is_glob};
use super::pattern::{Decision, Patterns};
use super::repository::{DotGit, Links, exclude_path, find_dot_git, read_file};
use super::{RuleOptions, Rules};

/// Something about the rules that a person should hear of.
#[derive(Debug)]
pub(crate) enum RuleNotice {
    /// The rules above the worktree ignore the worktree itself, so none of them is used.
    AboveIgnoresWorktree {
        /// File whose line decided.
        source: PathBuf,
    },
    /// A rule file cannot be read; it counts as absent here.
    Unreadable {
        /// The file, or the `.git` entry that leads to it.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// A configured exclude can match nothing, and is dropped: it is empty, a comment, malformed, or has several lines.
    BadGlob {
        /// The glob as given.
        glob: String,
    },
    /// A rule file has more than 1 MiB; it counts as absent.
    TooLarge {
        /// The file.
        path: PathBuf,
    },
}

/// A rule file above the worktree, as it is read.
struct Found {
    source: PathBuf,
    file: AboveFile,
    patterns: Patterns,
    /// Length of the path of its directory, from the repository's root.
    base: usize,
}

impl Rules {
    /// Finds the rules that hold for `worktree`, which is a real, absolute path. Reads nothing inside the worktree but,
    /// where it is the root of a repository, its `.git`. Files without any pattern are left out, so that comments alone
    /// make no difference.
    pub(crate) fn discover(worktree: &Path, options: &RuleOptions) -> (Self, Vec<RuleNotice>) {
        let bad = options.exclude.iter().filter(|glob| !is_glob(glob));
        let mut search = Search { notices: bad.map(|glob| RuleNotice::BadGlob { glob: glob.clone() }).collect() };
        let above = search.above(worktree);
        (Self::with(options.clone(), above), search.notices)
    }
}

struct Search {
    notices: Vec<RuleNotice>,
}

impl Search {
    /// The rule files above the worktree, outermost first; none if they ignore it.
    fn above(&mut self, worktree: &Path) -> Vec<AboveFile> {
        let Some((root, dot_git)) = self.enclosing_root(worktree) else { return Vec::new() };
        let below = worktree.strip_prefix(root).unwrap_or(Path::new(""));
        let names: Vec<&[u8]> = below.iter().map(OsStrExt::as_bytes).collect();

        let mut found = Vec::new();
        if let Some(DotGit::At(git_dir)) = dot_git {
            match exclude_path(&git_dir) {
                Ok(path) => found.extend(self.read(path, Links::Follow, AboveKind::Exclude, &names, 0)),
                Err(error) => self.unreadable(git_dir, error),
            }
        }
        let mut dir = root.to_owned();
        let mut path = Vec::new();
        for (depth, name) in names.iter().enumerate() {
            let source = dir.join(".gitignore");
            found.extend(self.read(source, Links::Refuse, AboveKind::Gitignore, &names[depth..], path.len()));
            let entry = Entry::new(&path, name, true);
            let deciding = found.iter().rev().find_map(|file| Some((file, file.patterns.decide(&entry, file.base)?)));
            if let Some((file, Decision::Ignore)) = deciding {
                self.notices.push(RuleNotice::AboveIgnoresWorktree { source: file.source.clone() });
                return Vec::new();
            }
            dir.push(std::ffi::OsStr::from_bytes(name));
            path.extend_from_slice(name);
            path.push(b'/');
        }
        found.into_iter().map(|found| found.file).collect()
    }

    /// The root of the repository that `worktree` is in, itself included. A `.git` that cannot be looked at counts as
    /// one: it is better to know fewer rules than those of a stranger.
    fn enclosing_root<'a>(&mut self, worktree: &'a Path) -> Option<(&'a Path, Option<DotGit>)> {
        for dir in worktree.ancestors() {
            match find_dot_git(dir) {
                Ok(Some(dot_git)) => return Some((dir, Some(dot_git))),
                Ok(None) => {}
                Err(error) => {
                    self.unreadable(dir.join(".git"), error);
                    return Some((dir, None));
                }
            }
        }
        None
    }

    /// Reads one rule file. `names` lead from its directory to the worktree.
    fn read(&mut self, source: PathBuf, links: Links, kind: AboveKind, names: &[&[u8]], base: usize) -> Option<Found> {
        let content = read_file(&source, links).unwrap_or_else(|error| {
            self.unreadable(source.clone(), error);
            None
        })?;
        let patterns = Patterns::parse(&content);
        let file = AboveFile { worktree: names.join(&b'/'), kind, content };
        (!patterns.is_empty()).then_some(Found { source, file, patterns, base })
    }

    fn unreadable(&mut self, path: PathBuf, error: io::Error) {
        self.notices.push(match error.kind() {
            io::ErrorKind::FileTooLarge => RuleNotice::TooLarge { path },
            _ => RuleNotice::Unreadable { path, error },
        });
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::{Path, PathBuf};

    use tempfile::TempDir;

    use super::super::repository::read_repo_exclude;
    use super::super::{RuleFiles, RuleNotice, RuleOptions, Rules, Verdict};

    /// A directory with the given files, and its real path. A path that ends in `/` is an empty directory.
    fn tree(files: &[(&str, &str)]) -> (TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        for (path, content) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            if path.as_os_str().to_str().unwrap().ends_with('/') {
                fs::create_dir_all(path).unwrap();
            } else {
                fs::write(path, content).unwrap();
            }
        }
        (dir, root)
    }

    fn discover(worktree: &Path) -> (Rules, Vec<RuleNotice>) {
        Rules::discover(worktree, &RuleOptions::default())
    }

    /// Which of `names` in the worktree's root the rules from above ignore.
    fn ignored<'a>(rules: &Rules, names: &[&'a str]) -> Vec<&'a str> {
        let root = rules.above_root().enter(b"", RuleFiles::default());
        names.iter().copied().filter(|name| root.judge(name.as_bytes(), false) == Verdict::Ignored).collect()
    }

    #[test]
    fn without_a_repository_nothing_is_read_from_above() {
        let (_dir, root) = tree(&[(".gitignore", "*\n"), ("w/", "")]);
        let (rules, notices) = discover(&root.join("w"));
        assert_eq!(ignored(&rules, &["a"]), [""; 0]);
        assert!(notices.is_empty());
    }

    #[test]
    fn rules_reach_down_from_the_nearest_repository() {
        let (_dir, root) = tree(&[
            (".git/info/exclude", "far\n"),
            (".gitignore", "far\n"),
            ("in/.git/info/exclude", "one\n/w/four\n!two\n"),
            ("in/.gitignore", "two\n/w/three\n"),
            ("in/w/.gitignore", "own\n"),
        ]);
        let (rules, notices) = discover(&root.join("in/w"));
        let names = ["far", "one", "two", "three", "four", "own"];
        assert_eq!(ignored(&rules, &names), ["one", "two", "three", "four"]);
        assert!(notices.is_empty());
        assert_eq!(ignored(&discover(&root.join("in")).0, &names), ["one"]);
    }

    #[test]
    fn rules_that_ignore_the_worktree_are_not_used_c44() {
        let (_dir, root) =
            tree(&[(".git/info/exclude", "*.log\n"), (".gitignore", "*\n"), ("a/.gitignore", "!w\n"), ("a/w/", "")]);
        let (rules, notices) = discover(&root.join("a/w"));
        assert_eq!(ignored(&rules, &["x", "x.log"]), [""; 0]);
        let [RuleNotice::AboveIgnoresWorktree { source }] = &notices[..] else { panic!("{notices:?}") };
        assert_eq!(source, &root.join(".gitignore"));

        fs::write(root.join(".gitignore"), "*\n!/a\n").unwrap();
        let (rules, notices) = discover(&root.join("a/w"));
        assert_eq!(ignored(&rules, &["x", "w"]), ["x"]);
        assert!(notices.is_empty());
        // The root of a repository is ignored by no rule of its own.
        assert!(discover(&root).1.is_empty());
    }

    #[test]
    fn a_git_file_is_followed_one_hop_and_to_the_common_directory() {
        let (_dir, root) = tree(&[
            ("main/.git/info/exclude", "x\n"),
            ("main/.git/worktrees/w/commondir", "../..\n"),
            ("w/.git", "gitdir: ../main/.git/worktrees/w\r\n"),
            ("sub/.git", "gitdir: ../main/.git"),
            ("second-hop/.git", "gitdir: ../w/.git\n"),
            ("nowhere/.git", "gitdir: ../nothing\n"),
        ]);
        assert_eq!(ignored(&discover(&root.join("w")).0, &["x"]), ["x"]);
        let excludes = ["main", "sub", "second-hop", "nowhere", "."];
        let excludes = excludes.map(|dir| read_repo_exclude(&root.join(dir)).unwrap().is_some());
        assert_eq!(excludes, [true, true, false, false, false]);
    }

    #[test]
    fn a_git_entry_that_is_none_does_not_stop_the_search() {
        let (_dir, root) = tree(&[(".git/info/exclude", "x\n"), ("w/.git", "hello\n"), ("v/", "")]);
        assert_eq!(ignored(&discover(&root.join("w")).0, &["x"]), ["x"]);
        symlink("nowhere", root.join("v/.git")).unwrap();
        assert_eq!(ignored(&discover(&root.join("v")).0, &["x"]), ["x"]);
    }

    #[test]
    fn links_are_followed_only_where_git_does() {
        let (_dir, root) =
            tree(&[(".git/info/", ""), ("elsewhere/info/exclude", "x\n"), ("list", "y\n"), ("w/", ""), ("v/", "")]);
        symlink("../../list", root.join(".git/info/exclude")).unwrap();
        symlink("elsewhere/info/exclude", root.join(".gitignore")).unwrap();
        assert_eq!(ignored(&discover(&root.join("w")).0, &["x", "y"]), ["y"]);
        // A `.git` that is a link ends the search, and what is behind it is not read.
        symlink("../elsewhere", root.join("v/.git")).unwrap();
        assert_eq!(ignored(&discover(&root.join("v")).0, &["x", "y"]), [""; 0]);
        assert_eq!(read_repo_exclude(&root.join("v")).unwrap(), None);
    }

    #[test]
    fn what_cannot_be_used_is_told() {
        let (_dir, root) = tree(&[(".git/info/exclude", "x\n"), ("w/", "")]);
        fs::write(root.join(".gitignore"), vec![b'y'; (1 << 20) + 1]).unwrap();
        let options = RuleOptions { exclude: vec!["[a".into(), "b".into()], ..RuleOptions::default() };
        let (rules, notices) = Rules::discover(&root.join("w"), &options);
        let [RuleNotice::BadGlob { glob }, RuleNotice::TooLarge { path }] = &notices[..] else { panic!("{notices:?}") };
        assert_eq!((glob.as_str(), path), ("[a", &root.join(".gitignore")));
        assert_eq!(rules.options().exclude, ["b"]);
        assert_eq!(ignored(&rules, &["x"]), ["x"]);
        // A directory in the place of a rule file is none, as for Git.
        fs::remove_file(root.join(".gitignore")).unwrap();
        fs::create_dir(root.join(".gitignore")).unwrap();
        assert!(discover(&root.join("w")).1.is_empty());
        // A link to itself: there is something, and nobody can read it.
        let exclude = root.join(".git/info/exclude");
        fs::remove_file(&exclude).unwrap();
        symlink("exclude", &exclude).unwrap();
        let notices = discover(&root.join("w")).1;
        let [RuleNotice::Unreadable { path, .. }] = &notices[..] else { panic!("{notices:?}") };
        assert_eq!(path, &exclude);
        assert!(read_repo_exclude(&root).is_err());
    }

    #[test]
    fn comments_alone_make_no_difference() {
        let (_dir, root) = tree(&[(".git/info/exclude", "# nothing\n"), ("w/", "")]);
        let plain = Rules::with(RuleOptions::default(), Vec::new());
        assert_eq!(discover(&root).0.encode(), plain.encode());
    }
}
