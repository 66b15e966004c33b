//! Forged stores: checkpoints that `ckpt` would never have made, written into a store with stock git.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::oracle::{git, git_command};

/// A store into which objects are written past `ckpt`.
pub(crate) struct Forge {
    store: PathBuf,
}

impl Forge {
    /// Opens the workshop.
    pub(crate) fn in_store(store: &Path) -> Self {
        Self { store: store.to_owned() }
    }

    /// The id that a blob of this content has.
    pub(crate) fn id_of_blob(content: &[u8]) -> String {
        hash_object(git_command().args(["hash-object", "--stdin"]), content)
    }

    /// Writes any bytes as an object of a kind; the id.
    pub(crate) fn object(&self, kind: &str, content: &[u8]) -> String {
        let mut git = git_command();
        git.args(["-c", "safe.directory=*", "--git-dir"]).arg(&self.store);
        hash_object(git.args(["hash-object", "-t", kind, "--literally", "-w", "--stdin"]), content)
    }

    /// Writes a tree with entries as they are given: mode, name, id.
    pub(crate) fn tree(&self, entries: &[(&str, &[u8], &str)]) -> String {
        let mut content = Vec::new();
        for (mode, name, id) in entries {
            content.extend_from_slice(mode.as_bytes());
            content.push(b' ');
            content.extend_from_slice(name);
            content.push(0);
            content.extend((0..20).map(|at| u8::from_str_radix(&id[2 * at..2 * at + 2], 16).expect("ids are hex")));
        }
        self.object("tree", &content)
    }

    /// Writes a tree that holds a tree that holds a tree, `levels` times, and a file `f` at the bottom.
    pub(crate) fn nested(&self, blob: &str, levels: usize) -> String {
        let mut child = git_command()
            .args(["-c", "safe.directory=*", "--git-dir"])
            .arg(&self.store)
            .args(["mktree", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("git is installed");
        let mut input = child.stdin.take().expect("stdin is a pipe");
        let mut output = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        let mut entry = format!("100644 blob {blob}\tf");
        let mut id = String::new();
        for _ in 0..levels {
            write!(input, "{entry}\n\n").and_then(|()| input.flush()).expect("git reads");
            id.clear();
            output.read_line(&mut id).expect("git answers");
            entry = format!("040000 tree {}\td", id.trim());
        }
        drop(input);
        assert!(child.wait().expect("git ends").success());
        id.trim().to_owned()
    }

    /// Puts a tree into the place of the newest checkpoint's, and moves the timeline to an operation that says so. The
    /// id of the forged checkpoint.
    pub(crate) fn replace_newest(&self, tree: &str) -> String {
        let tip = git(&self.store, &["rev-parse", "refs/heads/timeline"]).trim().to_owned();
        let old = git(&self.store, &["rev-parse", "refs/heads/timeline^2"]).trim().to_owned();
        let checkpoint = self.commit_with(&old, |line| match line.split_once(' ') {
            Some(("tree", _)) => format!("tree {tree}"),
            _ => line.to_owned(),
        });
        let operation = self.commit_with(&tip, |line| match line.split_once(' ') {
            Some(("tree", _)) => format!("tree {tree}"),
            _ => line.replace(&old, &checkpoint),
        });
        git(&self.store, &["update-ref", "refs/heads/timeline", &operation]);
        checkpoint
    }

    /// Gives a header of the newest checkpoint, or of the newest operation where that has it, another value; `SELF` and
    /// `TIP` stand for the ids that these had. A header that neither has is added to the operation.
    pub(crate) fn replace_headers(&self, name: &str, value: &str) {
        let tip = git(&self.store, &["rev-parse", "refs/heads/timeline"]).trim().to_owned();
        let old = git(&self.store, &["rev-parse", "refs/heads/timeline^2"]).trim().to_owned();
        let value = value.replace("TIP", &tip).replace("SELF", &old);
        let set = |line: &str| match line.split_once(' ') {
            Some((found, _)) if found == name => format!("{name} {value}"),
            _ => line.to_owned(),
        };
        let checkpoint = self.commit_with(&old, set);
        let has = git(&self.store, &["cat-file", "commit", &tip]).contains(&format!("\n{name} "));
        let operation = self.commit_with(&tip, |line| {
            let line = set(&line.replace(&old, &checkpoint));
            if has || !line.starts_with("ckpt-operation") { line } else { format!("{line}\n{name} {value}") }
        });
        git(&self.store, &["update-ref", "refs/heads/timeline", &operation]);
    }

    /// Writes a commit again, its header lines changed.
    fn commit_with(&self, id: &str, change: impl Fn(&str) -> String) -> String {
        let text = git(&self.store, &["cat-file", "commit", id]);
        let (headers, message) = text.split_once("\n\n").expect("a commit has headers and a message");
        let headers: Vec<String> = headers.lines().map(change).collect();
        self.object("commit", format!("{}\n\n{message}", headers.join("\n")).as_bytes())
    }
}

fn hash_object(git: &mut Command, content: &[u8]) -> String {
    let child = git.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = child.expect("git is installed");
    child.stdin.take().expect("stdin is a pipe").write_all(content).expect("git reads");
    let output = child.wait_with_output().expect("git ends");
    assert!(output.status.success(), "git hash-object failed");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
