//! `diff` and `status`: what differs, in words, and as a patch that stock git takes.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::sandbox::{Sandbox, Tree, assert_same, git_command};

#[test]
fn status_names_each_kind_of_change() {
    let sandbox = Sandbox::new();
    for path in ["modified", "deleted", "kind", "mode", "same"] {
        sandbox.write(path, path);
    }
    sandbox.mkdir("gone-empty");
    sandbox.save("first");
    sandbox.write("modified", "changed");
    for path in ["deleted", "kind", "gone-empty"] {
        sandbox.remove(path);
    }
    sandbox.mkdir("kind");
    sandbox.mode("mode", 0o700);
    sandbox.write("added", "x");
    let json = sandbox.ckpt("status --json").ok().json();
    let changes = json["changes"].as_array().unwrap();
    let listed: Vec<String> = changes
        .iter()
        .map(|change| format!("{} {}", change["change"].as_str().unwrap(), change["path"].as_str().unwrap()))
        .collect();
    let expected =
        ["added added", "deleted deleted", "deleted gone-empty", "kind kind", "mode mode", "modified modified"];
    assert_eq!(listed, expected);
    let text = sandbox.ckpt("status --exit-code").exits(4);
    for line in expected {
        let (word, path) = line.split_once(' ').unwrap();
        assert!(text.out().lines().any(|line| line.starts_with(word) && line.contains(path)), "{line}: {text}");
    }
    let records = sandbox.ckpt("status -z").ok();
    assert_eq!(records.out().split_terminator('\0').count(), 6, "{records}");
}

#[test]
fn status_writes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.save("first");
    sandbox.write("a", "2");
    let before = Tree::with_identity(&sandbox.store());
    let _ = sandbox.ckpt("status").ok();
    let _ = sandbox.ckpt("diff").ok();
    assert_same(&before, &Tree::with_identity(&sandbox.store()));
}

#[test]
fn stock_git_applies_the_patch() {
    let sandbox = Sandbox::new();
    let files = |step: u8| {
        for (path, content) in
            [("text", "a\nb\nc\n"), ("no-newline", "x"), ("crlf", "a\r\nb\r\n"), ("sp ace/ta\tb", "x\n")]
        {
            sandbox.write(path, content.replace('b', &format!("b{step}")).replace('x', &format!("x{step}")));
        }
        sandbox.write("binary", [0, step, 255, 0, step, 10, 13]);
        sandbox.write("日本", format!("{step}\n"));
    };
    files(1);
    sandbox.write("deleted", "gone\n");
    sandbox.write("empty", "");
    sandbox.link("link", "one");
    sandbox.write("script", "#!/bin/sh\n");
    let first = sandbox.save("first");
    let old = sandbox.root().join("old");
    let status = Command::new("cp").arg("-a").arg(sandbox.w()).arg(&old).status();
    assert!(status.unwrap().success());
    files(2);
    sandbox.remove("deleted");
    sandbox.remove("empty");
    sandbox.remove("link");
    sandbox.link("link", "two");
    sandbox.mode("script", 0o755);
    sandbox.write("deep/new", "new\n");
    sandbox.write("became-empty", "");
    let second = sandbox.save("second");
    for words in [format!("diff {first}"), format!("diff {first} {second}")] {
        let patch = sandbox.ckpt(&words).ok().stdout;
        let target = sandbox.root().join(format!("applied-{}", words.len()));
        assert!(Command::new("cp").arg("-a").arg(&old).arg(&target).status().unwrap().success());
        let mut git = git_command().args(["apply", "-"]).current_dir(&target).stdin(Stdio::piped()).spawn().unwrap();
        git.stdin.take().unwrap().write_all(&patch).unwrap();
        assert!(git.wait().unwrap().success(), "{}", String::from_utf8_lossy(&patch));
        assert_same(&sandbox.tree(), &Tree::of(&target));
    }
}

#[test]
fn diff_compares_what_it_is_told() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one\n");
    sandbox.write("d/b", "one\n");
    let first = sandbox.save("first");
    sandbox.write("a", "two\n");
    sandbox.save("second");
    sandbox.write("d/b", "three\n");
    let names = |words: &str| sandbox.ckpt(&format!("diff --name-only {words}")).ok().out();
    assert_eq!(names(""), "d/b\n");
    assert_eq!(names(&first), "a\nd/b\n");
    assert_eq!(names(&format!("{first} HEAD")), "a\n");
    assert_eq!(names(&format!("{first} -- d")), "d/b\n");
    assert_eq!(names("HEAD~1 HEAD -- d"), "");
    let _ = sandbox.ckpt("diff --exit-code").exits(4);
    let _ = sandbox.ckpt("diff HEAD HEAD --exit-code").exits(0);
    assert_eq!(sandbox.call(["diff", "--name-only"]).dir("d").run().ok().out().trim_end(), "b");
    assert_eq!(sandbox.ckpt("diff --name-only -z").ok().out(), "d/b\0");
}

#[test]
fn show_tells_what_a_checkpoint_changed() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one\n");
    let first = sandbox.save("first");
    sandbox.write("a", "two\n");
    sandbox.write("b", "b\n");
    let second = sandbox.call(["save", "-m", "second\n\nwith details"]).run().ok().id();
    let shown = sandbox.ckpt("show").ok().says(&second).says(&first).says("with details");
    assert!(shown.out().contains("modified") && shown.out().contains("added"), "{shown}");
    let patch = sandbox.ckpt(&format!("show --patch {second}")).ok();
    assert!(patch.out().contains("-one\n+two\n"), "{patch}");
    let _ = sandbox.ckpt(&format!("show {}", &first[..4])).says("first");
    let operation = sandbox.git_in_store(&["rev-parse", "timeline"]);
    let _ = sandbox.ckpt(&format!("show {}", operation.trim())).ok().says(&second).says("operation");
}

#[test]
fn ls_marks_branches() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one");
    let first = sandbox.save("first");
    sandbox.write("a", "two");
    sandbox.save("abandoned");
    let _ = sandbox.ckpt(&format!("reset {first}")).ok();
    sandbox.write("a", "three");
    sandbox.save("branch");
    let listed = sandbox.ckpt("ls").ok().says("1 on other branches");
    assert!(!listed.out().contains("abandoned"), "{listed}");
    let order = |text: &str, word: &str| text.lines().position(|line| line.contains(word)).unwrap();
    assert!(order(&listed.out(), "branch") < order(&listed.out(), "first"), "{listed}");
    let all = sandbox.ckpt("ls --all").ok();
    assert!(all.out().lines().any(|line| line.contains("abandoned") && line.starts_with('-')), "{all}");
}

#[test]
fn ambiguous_prefixes_list_candidates() {
    let sandbox = Sandbox::new();
    // 4 digits: among some hundred checkpoints two begin alike.
    let mut ids: Vec<String> = Vec::new();
    for number in 0..3000 {
        sandbox.write("a", number.to_string());
        let id = sandbox.call(["save", "-q"]).run().ok().id();
        let twin = ids.iter().find(|known| known[..4] == id[..4]);
        if let Some(twin) = twin {
            let output = sandbox.ckpt(&format!("show {}", &id[..4])).exits(1);
            assert!(output.err().contains(&twin[..12]) && output.err().contains(&id[..12]), "{output}");
            return;
        }
        ids.push(id);
    }
    panic!("no two of {} ids begin alike", ids.len());
}

#[test]
fn files_that_are_no_text_are_told_so() {
    let sandbox = Sandbox::new();
    sandbox.write("binary", [0, 1, 2]);
    sandbox.save("first");
    sandbox.write("binary", [0, 1, 3]);
    let _ = sandbox.ckpt("diff --stat").ok().says("bin");
    assert_eq!(fs::read(sandbox.at("binary")).unwrap(), [0, 1, 3]);
}

#[test]
fn a_path_that_is_nowhere_is_an_error() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.save("first");
    sandbox.write("b", "1");
    sandbox.save("second");
    sandbox.remove("b");
    for words in
        ["diff -- nosuch", "diff --exit-code -- a nosuch", "diff HEAD~1 HEAD -- nosuch", "diff HEAD -- a --stat"]
    {
        let _ = sandbox.ckpt(words).exits(1).says("neither");
        let _ = sandbox.ckpt(&words.replace("diff", "diff --json")).fails_with("unknown-path");
    }
    // In one side alone, and unchanged.
    for words in ["diff -- b", "diff HEAD~1 HEAD -- b", "diff -- a", "diff -- ."] {
        let _ = sandbox.ckpt(words).ok();
    }
}

#[test]
fn a_path_that_a_rule_leaves_out_is_named_and_not_compared() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.write(".gitignore", "target/\n");
    sandbox.save("first");
    sandbox.write("target/x", "1");
    sandbox.fifo("fifo");
    sandbox.write("new", "1");
    let output = sandbox.ckpt("diff --exit-code -- a target/x target fifo").ok();
    let _ = output.clone().says("target/x").says("fifo").keeps_quiet_about("  a\n");
    let json = sandbox.ckpt("diff --json -- a target fifo new").ok().json();
    let named: Vec<_> =
        json["not_captured"].as_array().unwrap().iter().map(|path| path["path"].as_str().unwrap()).collect();
    assert_eq!(named, ["target", "fifo"], "{json}");
}

#[test]
fn status_says_first_whether_anything_changed() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.fifo("fifo");
    sandbox.save("first");
    // In the order in which a terminal shows them.
    let words = ["-c", r#""$1" status 2>&1"#, "sh"];
    let output = Command::new("sh")
        .args(words)
        .arg(sandbox.binary())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", sandbox.home())
        .current_dir(sandbox.w())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}: {text}"));
    assert!(at("head is") < at("nothing changed") && at("nothing changed") < at("omitted"), "{text}");
}

#[test]
fn diff_beside_an_editor_takes_what_stands_there() {
    let sandbox = Sandbox::new();
    sandbox.write("kept", "one");
    sandbox.save("first");
    let (path, aside) = (sandbox.at("come-and-gone"), sandbox.root().join("aside"));
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                fs::write(&path, "new").unwrap();
                fs::rename(&path, &aside).unwrap();
                fs::create_dir(&path).unwrap();
                fs::remove_dir(&path).unwrap();
            }
        });
        let outputs: Vec<_> = (0..60).map(|_| sandbox.ckpt("diff HEAD --stat")).collect();
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        for output in outputs {
            assert_eq!(output.code, Some(0), "{output}");
        }
    });
}
