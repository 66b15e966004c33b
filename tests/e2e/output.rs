//! Output as people and pipes meet it: streams, exit codes, colour, hints, a reader that goes away.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::sandbox::{Sandbox, redact};

#[test]
fn a_pipe_that_closes_ends_quietly_u8() {
    let sandbox = Sandbox::new();
    for number in 0..30 {
        sandbox.write(format!("file-with-a-long-name-{number}"), "x\n".repeat(20_000));
        sandbox.save(&format!("a message that fills the pipe {number} {}", "x".repeat(3000)));
    }
    for words in ["ls -n 0", "diff HEAD~20", "show HEAD~1 --patch", "ls -n 0 --json"] {
        let call = sandbox.call(words.split(' '));
        let mut child = call.command().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut reader = BufReader::with_capacity(64, child.stdout.take().unwrap());
        if !words.contains("json") {
            reader.read_line(&mut line).unwrap();
        }
        drop(reader);
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(!err.contains("panicked") && !err.contains("error"), "{words}: {err}");
        assert!(output.status.success(), "{words}: {}", output.status);
    }
}

#[test]
fn ckpt_alone_prints_help_and_ends_with_2() {
    let sandbox = Sandbox::new();
    let output = sandbox.ckpt("").exits(2);
    assert!(output.err().contains("Usage: ckpt") && output.stdout.is_empty(), "{output}");
    let help = sandbox.ckpt("--help").ok();
    assert!(help.out().contains("Usage: ckpt") && help.stderr.is_empty(), "{help}");
    let version = sandbox.ckpt("--version").ok();
    assert!(version.out().starts_with("ckpt "), "{version}");
    for command in ["completions bash", "completions zsh", "completions fish", "man"] {
        assert!(sandbox.ckpt(command).ok().stdout.len() > 500, "{command}");
    }
}

#[test]
fn errors_have_a_cause_and_a_hint_that_can_be_pasted() {
    let sandbox = Sandbox::new();
    let output = sandbox.ckpt("ls").exits(1);
    insta::assert_snapshot!(redact(&output.err(), sandbox.root()), @r#"
    error: nothing is saved yet in [sandbox]/w
    hint: make a first checkpoint: ckpt save
    "#);
    sandbox.write("a", "1");
    let _ = sandbox.ckpt("save first").ok();
    let output = sandbox.ckpt("reset 0123abcd").exits(1);
    insta::assert_snapshot!(redact(&output.err(), sandbox.root()), @r#"
    error: cannot find the checkpoint "[id 1]": no checkpoint of this workspace has that id
    hint: see which there are: ckpt ls --all
    "#);
    let _ = sandbox.ckpt("save --always second").ok();
    let output = sandbox.ckpt("reset HEAD~7").exits(1);
    insta::assert_snapshot!(output.err(), @r#"
    error: cannot find the checkpoint "HEAD~7": it goes back further than the first checkpoint; the lineage has 2
    hint: see all of them: ckpt ls -n 0
    "#);
    let ranges = [
        ("HEAD~1..HEAD", "HEAD~1 HEAD"),
        ("HEAD~1...", "HEAD~1 HEAD"),
        ("..HEAD~1", "HEAD HEAD~1"),
        ("@~1..@", "HEAD~1 HEAD"),
    ];
    for (range, words) in ranges {
        let output = sandbox.ckpt(&format!("diff {range}")).exits(1);
        let hint = output.err().lines().last().unwrap().replace('\'', "");
        assert_eq!(hint, format!("hint: two revisions are two words: ckpt diff {words}"), "{output}");
        let _ = sandbox.ckpt(&format!("diff {words}")).ok();
    }
    for path in ["../a", "..", "src/../a"] {
        let _ = sandbox.ckpt(&format!("rollback {path} HEAD")).exits(1).keeps_quiet_about("two revisions");
    }
    let _ = sandbox.ckpt("show HEAD~99999999999999999999999 --json").fails_with("beyond-lineage");
    let output = sandbox.ckpt("rollback HEAD ../x").exits(1);
    insta::assert_snapshot!(redact(&output.err(), sandbox.root()), @r#"
    error: cannot use the path ../x: it lies outside the workspace
    hint: a path is taken from the current directory if that is in the workspace and -w is not given, else from the workspace
    "#);
}

#[test]
fn a_session_reads_like_this() {
    let sandbox = Sandbox::new();
    sandbox.write("src/main.rs", "fn main() {}\n");
    sandbox.write("notes", "one\n");
    let mut text = String::new();
    let mut run = |args: &[&str]| {
        let output = sandbox.call(args).run().ok();
        text += &format!("$ ckpt {}\n{}{}", args.join(" "), output.err(), output.out());
    };
    run(&["save", "before"]);
    sandbox.write("src/main.rs", "fn main() { todo() }\n");
    sandbox.remove("notes");
    sandbox.write("new", "x");
    run(&["status"]);
    run(&["save", "after"]);
    run(&["ls"]);
    run(&["diff", "HEAD~1", "--stat"]);
    run(&["reset", "HEAD~1", "--dry-run"]);
    run(&["reset", "HEAD~1"]);
    run(&["undo"]);
    insta::assert_snapshot!(redact(&text, sandbox.root()), @r#"
    $ ckpt save before
    new workspace [sandbox]/w
      its checkpoints are kept in [sandbox]/home/.fabricatio-checkpoint/w_[id 1]
    saved [id 2] "before": +2 ~0 -0, 2 files, 17 B, in [time]
    [id 2]
    $ ckpt status
    head is [id 2] "before", [time]
    added     new
    deleted   notes
    modified  src/main.rs
    $ ckpt save after
    saved [id 3] "after": +1 ~1 -1, 2 files, 22 B, in [time]
    [id 3]
    $ ckpt ls
    * [id 3]  [time]  manual  after  (3 changed)
      [id 2]  [time]  manual  before  (2 changed)
    $ ckpt diff HEAD~1 --stat
    new         |   1 +
    notes       |   1 -
    src/main.rs |   2 +-
    3 paths changed, 2 lines added, 2 lines removed
    $ ckpt reset HEAD~1 --dry-run
    would reset to [id 2] "before": +1 ~1 -1; nothing was written
    the checkpoints that were saved after it stay; to see them: ckpt ls --all
    deleted   new
    added     notes
    modified  src/main.rs
    $ ckpt reset HEAD~1
    reset to [id 2] "before": +1 ~1 -1
    the checkpoints that were saved after it stay; to see them: ckpt ls --all
    what was there before is in [id 3]; to take this back: ckpt undo
    deleted   new
    added     notes
    modified  src/main.rs
    $ ckpt undo
    took back the last reset: +1 ~1 -1
    head is now [id 3] "after"
    what was there before is in [id 2]; to take this back: ckpt redo
    added     new
    deleted   notes
    modified  src/main.rs
    "#);
}

#[test]
fn colour_is_for_terminals_or_on_demand() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one\n");
    sandbox.save("first");
    sandbox.write("a", "two\n");
    assert!(!sandbox.ckpt("diff").ok().all().contains('\u{1b}'));
    assert!(sandbox.ckpt("diff --color always").ok().out().contains("\u{1b}[32m+two"));
    assert!(!sandbox.call(["diff", "--color", "never"]).run().ok().all().contains('\u{1b}'));
}

#[test]
fn quiet_prints_data_alone() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let output = sandbox.ckpt("save -q").ok();
    assert!(output.stderr.is_empty(), "{output}");
    assert_eq!(sandbox.paths_in(&output.id()), ["a"]);
}

#[test]
fn words_of_other_tools_lead_to_ours() {
    let sandbox = Sandbox::new();
    for (word, ours) in [
        ("log", "ls"),
        ("list", "ls"),
        ("commit", "save"),
        ("restore", "rollback"),
        ("delete", "prune"),
        ("fsck", "verify"),
    ] {
        let _ = sandbox.ckpt(word).exits(2).says(&format!("'{ours}'"));
        let json = sandbox.ckpt(&format!("{word} --json")).exits(2).json();
        assert!(json["error"]["hint"].as_str().unwrap().contains(ours), "{json}");
    }
    sandbox.write("a", "1");
    sandbox.save("first");
    for spelling in ["head", "@", "HEAD^", "@~2", "HEAD^^"] {
        let _ = sandbox.call(["show", spelling]).run().exits(1).says("HEAD~1");
    }
}

#[test]
fn a_message_that_was_not_quoted_is_told_so() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    for words in ["save a b", "save -m a b", "save --message a b", "save a -m b"] {
        let output = sandbox.ckpt(words).exits(2);
        let _ = output.says("needs quotes").says(if words == "save a -m b" { "'b a'" } else { "'a b'" });
    }
    let help = sandbox.ckpt("save --help").ok();
    assert!(help.out().contains("[MESSAGE]\n") && !help.out().contains("[MESSAGE]..."), "{help}");
    assert!(sandbox.stores().is_empty());
}

#[test]
fn a_message_with_quotes_is_one_message() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.save(r#"say "no""#);
    let _ = sandbox.ckpt("status").ok().says(r#""say \"no\"""#);
}

#[test]
fn what_is_missing_is_all_named() {
    let sandbox = Sandbox::new();
    let _ = sandbox.ckpt("rollback").exits(2).says("<REV> <PATH>...");
    let json = sandbox.ckpt("rollback --json").exits(2).json();
    assert!(json["error"]["message"].as_str().unwrap().contains("<REV> <PATH>..."), "{json}");
}

#[test]
fn each_manual_page_says_whose_it_is() {
    let sandbox = Sandbox::new();
    let man = sandbox.root().join("man");
    std::fs::create_dir(&man).unwrap();
    let _ = sandbox.call(["man", "--dir"]).arg(&man).run().ok();
    for page in std::fs::read_dir(&man).unwrap() {
        let text = std::fs::read_to_string(page.unwrap().path()).unwrap();
        let title = text.lines().find(|line| line.starts_with(".TH")).unwrap().to_owned();
        assert!(title.contains(&format!("\"ckpt {}\"", env!("CARGO_PKG_VERSION"))), "{title}");
    }
}
