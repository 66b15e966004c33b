//! Comparison with stock Git: random trees with random ignore files, every path judged by both.
//!
//! Git is the one in the search path, with no configuration but the repository's own.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use ckpt_pack::ObjectId;

use super::{DirRules, RuleContent, RuleFile, RuleFiles, RuleNotice, RuleOptions, Rules, Verdict};

/// Trees of one run; a failure names its seed. While this was written, 2,500 were tried, and eight million paths by one
/// random pattern each.
const SEEDS: std::ops::Range<u64> = 1..26;

const NAMES: &[&[u8]] = &[
    b"a",
    b"b",
    b"ab",
    b"aab",
    b"abc",
    b"x.o",
    b"a.o",
    b"b b",
    b"b ",
    b"a\\b",
    b"[ab]",
    b"a*",
    b"!a",
    b"#a",
    b"\xff",
    "é".as_bytes(),
    b"-",
    b"]",
    b"$a",
    b"\t",
    b"A",
];

const PIECES: &[&[u8]] = &[
    b"a",
    b"a",
    b"b",
    b"b",
    b"c",
    b"/",
    b"/",
    b"*",
    b"*",
    b"**",
    b"**/",
    b"/**",
    b"/**/",
    b"?",
    b"?",
    b".o",
    b"[ab]",
    b"[!a]",
    b"[^b/]",
    b"[a-c]",
    b"[[:alpha:]]",
    b"[[:punct:]-]",
    b"[[:a]",
    b"[]]",
    b"[\\]]",
    b"[--b]",
    b"[a",
    b"\\",
    b"\\a",
    b"\\/",
    b" ",
    b"\\ ",
    b"$",
    b"#",
    b"!",
    b"\xff",
    "é".as_bytes(),
    b"-",
    b"]",
    b":",
    b"\0",
    b"\r",
    b"\t",
    b"***",
];

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % end
    }

    fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    fn choose<'a>(&mut self, from: &[&'a [u8]]) -> &'a [u8] {
        from[self.below(from.len())]
    }

    fn ignore_file(&mut self) -> Vec<u8> {
        let mut text = if self.one_in(10) { b"\xef\xbb\xbf".to_vec() } else { Vec::new() };
        for _ in 0..=self.below(6) {
            if self.one_in(4) {
                text.push(b'!');
            }
            for _ in 0..=self.below(4) {
                text.extend_from_slice(self.choose(PIECES));
            }
            for (chances, end) in [(5, &b"/"[..]), (8, b"  "), (8, b"\r")] {
                if self.one_in(chances) {
                    text.extend_from_slice(end);
                }
            }
            text.push(b'\n');
        }
        if self.one_in(3) {
            text.pop();
        }
        text
    }

    /// Fills `dir` with entries and ignore files.
    fn grow(&mut self, dir: &Path, depth: usize) {
        if !self.one_in(3) {
            fs::write(dir.join(".gitignore"), self.ignore_file()).unwrap();
        }
        for _ in 0..=self.below(6) {
            let path = dir.join(OsStr::from_bytes(self.choose(NAMES)));
            if path.symlink_metadata().is_ok() {
                continue;
            }
            // Some file systems take no names that are not UTF-8.
            if self.one_in(8) {
                let _ = symlink("..", &path);
            } else if depth == 0 || self.one_in(2) {
                let _ = fs::write(&path, "");
            } else if fs::create_dir(&path).is_ok() {
                self.grow(&path, depth - 1);
            }
        }
    }
}

/// Runs Git in `dir`, which it is to know nothing outside of, and returns its output.
fn git(dir: &Path, args: &[&str], input: &[u8]) -> Vec<u8> {
    let mut command = Command::new("git");
    command.args(args).current_dir(dir).env_clear().envs(std::env::vars_os().filter(|(name, _)| name == "PATH"));
    command.envs([("HOME", "/nonexistent"), ("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null")]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input).unwrap());
        child.wait_with_output().unwrap()
    });
    // 1 is "nothing is ignored".
    assert!(matches!(output.status.code(), Some(0 | 1)), "git {args:?}: {}", output.status);
    output.stdout
}

/// Every path below `dir`, with a `/` behind directories; parents first.
fn paths(dir: &Path, prefix: &[u8], out: &mut Vec<Vec<u8>>) {
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() == ".git" {
            continue;
        }
        let mut path = [prefix, entry.file_name().as_bytes()].concat();
        if entry.file_type().unwrap().is_dir() {
            path.push(b'/');
            out.push(path.clone());
            paths(&entry.path(), &path, out);
        } else {
            out.push(path);
        }
    }
}

/// What the rules ignore in `dir` (at `prefix`) and below, in the form of [`paths`].
fn ignored(rules: &Arc<DirRules>, dir: &Path, prefix: &[u8], out: &mut BTreeSet<Vec<u8>>) {
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let (name, is_dir) = (entry.file_name(), entry.file_type().unwrap().is_dir());
        if name == ".git" {
            continue;
        }
        let mut path = [prefix, name.as_bytes()].concat();
        path.extend_from_slice(if is_dir { b"/" } else { b"" });
        if rules.judge(name.as_bytes(), is_dir) == Verdict::Ignored {
            let mut below = Vec::new();
            if is_dir {
                paths(&entry.path(), &path, &mut below);
            }
            out.extend(below);
            out.insert(path);
        } else if is_dir {
            ignored(&rules.enter(name.as_bytes(), files_of(&entry.path())), &entry.path(), &path, out);
        }
    }
}

fn files_of(dir: &Path) -> RuleFiles {
    let gitignore = fs::read(dir.join(".gitignore")).ok().map(|content| {
        // Both ways to hand content in.
        let content = if content.len() % 2 == 0 {
            RuleContent::Bytes(content)
        } else {
            RuleContent::Load(Box::new(move || content.clone()))
        };
        RuleFile { id: ObjectId::from_bytes([0; 20]), content }
    });
    RuleFiles { gitignore, ..RuleFiles::default() }
}

/// Judges every directory below `root` that could be a worktree, by Git and by us. Returns how many were ignored as a whole.
fn compare(root: &Path, seed: u64) -> usize {
    let mut all = Vec::new();
    paths(root, b"", &mut all);
    let mut input = all.iter().map(|path| path.strip_suffix(b"/").unwrap_or(path)).collect::<Vec<_>>().join(&0);
    input.push(0);
    let output = git(root, &["check-ignore", "--no-index", "--stdin", "-z"], &input);
    let by_git: BTreeSet<&[u8]> = output.split(|&byte| byte == 0).filter(|path| !path.is_empty()).collect();
    let git_ignores = |path: &[u8]| by_git.contains(path.strip_suffix(b"/").unwrap_or(path));

    let mut as_a_whole = 0;
    for worktree in
        all.iter().map(|path| &**path).chain([&b""[..]]).filter(|path| path.is_empty() || path.ends_with(b"/"))
    {
        let dir = root.join(OsStr::from_bytes(worktree.strip_suffix(b"/").unwrap_or(worktree)));
        let (rules, notices) = Rules::discover(&dir, &RuleOptions::default());
        let refused = matches!(notices[..], [RuleNotice::AboveIgnoresWorktree { .. }]);
        assert_eq!(refused, git_ignores(worktree), "seed {seed}, worktree {}", worktree.escape_ascii());
        if refused {
            as_a_whole += 1;
            continue;
        }
        let rules = Rules::decode(&rules.encode()).unwrap();
        let mut ours = BTreeSet::new();
        ignored(&rules.above_root().enter(b"", files_of(&dir)), &dir, worktree, &mut ours);
        for path in all.iter().filter(|path| path.starts_with(worktree) && path.len() > worktree.len()) {
            let (ours, worktree, shown) = (ours.contains(path), worktree.escape_ascii(), path.escape_ascii());
            assert_eq!(ours, git_ignores(path), "seed {seed}, worktree {worktree}, path {shown}: ours, git's");
        }
    }
    as_a_whole
}

#[test]
fn judges_as_git_does() {
    let mut as_a_whole = 0;
    for seed in SEEDS {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        git(&root, &["init", "-q"], b"");
        fs::create_dir_all(root.join(".git/info")).unwrap();
        fs::write(root.join(".git/info/exclude"), random.ignore_file()).unwrap();
        random.grow(&root, 4);
        as_a_whole += compare(&root, seed);
    }
    assert!(as_a_whole > 0, "no tree was ignored as a whole, so that C44 was not compared");
}
