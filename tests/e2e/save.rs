//! `save`: what becomes a checkpoint, and what people are told.

use std::fs::File;
use std::time::Duration;

use crate::sandbox::{Sandbox, Tree, assert_same, git_command};

#[test]
fn save_prints_the_id_alone_and_keeps_every_file_c20() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "one\n");
    sandbox.write("src/deep/b.rs", "fn main() {}\n");
    sandbox.mkdir("empty");
    sandbox.link("src/link", "../a.txt");
    let output = sandbox.call(["save", "first message"]).run().ok();
    let id = output.id();
    assert_eq!(sandbox.paths_in(&id), ["a.txt", "empty", "src", "src/deep", "src/deep/b.rs", "src/link"]);
    assert_eq!(sandbox.text_in(&id, "a.txt"), "one\n");
    assert_eq!(sandbox.text_in(&id, "src/link"), "../a.txt");
    assert_eq!(sandbox.git_in_store(&["log", "-1", "--format=%B", &id]).trim_end(), "first message");
}

#[test]
fn save_writes_nothing_where_nothing_changed_l18_p3() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.write("d/b", "2");
    let first = sandbox.save("first");
    let before = (Tree::with_identity(&sandbox.store().join("objects")), sandbox.git_in_store(&["show-ref"]));
    let files = Tree::with_identity(&sandbox.w());
    for _ in 0..2 {
        let again = sandbox.call(["save", "-m", "second"]).run().ok();
        assert_eq!(again.id(), first);
        assert!(again.err().contains("second") || again.err().contains("not recorded"), "{again}");
    }
    let _ = sandbox.ckpt(&format!("rollback {first} a")).ok();
    let _ = sandbox.ckpt(&format!("reset {first}")).ok();
    assert_same(&before.0, &Tree::with_identity(&sandbox.store().join("objects")));
    assert_eq!(before.1, sandbox.git_in_store(&["show-ref"]));
    assert_same(&files, &Tree::with_identity(&sandbox.w()));
}

#[test]
fn save_always_makes_a_checkpoint_of_the_same_files() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let first = sandbox.save("first");
    let second = sandbox.call(["save", "--always", "-m", "second"]).run().ok().id();
    assert_ne!(first, second);
    let tree = |id: &str| sandbox.git_in_store(&["rev-parse", &format!("{id}^{{tree}}")]);
    assert_eq!(tree(&first), tree(&second));
}

#[test]
fn save_takes_its_message_in_three_ways() {
    let sandbox = Sandbox::new();
    let message = |id: &str| sandbox.git_in_store(&["log", "-1", "--format=%B", id]).trim_end().to_owned();
    sandbox.write("a", "1");
    assert_eq!(message(&sandbox.call(["save", "one word"]).run().ok().id()), "one word");
    sandbox.write("a", "2");
    assert_eq!(message(&sandbox.call(["save", "-m", "-x"]).run().ok().id()), "-x");
    sandbox.write("a", "3");
    let lines = "from stdin\n\nwith a second paragraph";
    assert_eq!(message(&sandbox.call(["save", "-"]).input(lines).run().ok().id()), lines);
    sandbox.write("a", "4");
    let _ = sandbox.call(["save", "two", "words"]).run().exits(2).says("ckpt save 'two words'");
    let _ = sandbox.call(["save", "-", "--json"]).input("nul \0 inside").run().fails_with("invalid-input");
    assert_eq!(sandbox.git_in_store(&["rev-list", "--count", "--first-parent", "timeline"]).trim(), "4");
}

#[test]
fn save_dry_run_writes_nothing_and_names_what_it_would_do() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let _ = sandbox.ckpt("save --dry-run").ok().says("a");
    assert!(sandbox.stores().is_empty());
    sandbox.save("first");
    sandbox.write("b", "2");
    sandbox.write("big", vec![b'x'; 2000]);
    let before = Tree::with_identity(&sandbox.store().join("objects"));
    let output = sandbox.call(["save", "--dry-run"]).config("max_file_bytes", "1000").run().ok();
    let _ = output.says("b").says("big").says("too-large");
    assert_same(&before, &Tree::with_identity(&sandbox.store().join("objects")));
}

#[test]
fn save_strict_tells_of_any_omission() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.write("big", vec![b'x'; 2000]);
    let output = sandbox.call(["save"]).config("max_file_bytes", "1000").run().ok().says("big");
    let id = output.id();
    sandbox.write("a", "2");
    let output = sandbox.call(["save", "--strict"]).config("max_file_bytes", "1000").run().exits(3);
    assert_ne!(output.id(), id);
    assert_eq!(sandbox.paths_in(&output.id()), ["a"]);
}

#[test]
fn save_works_with_and_without_a_repository_c14() {
    for has_repository in [false, true] {
        let sandbox = Sandbox::new();
        if has_repository {
            sandbox.git("", &["init", "-q"]);
        }
        sandbox.write("a", "1");
        let first = sandbox.save("first");
        sandbox.write("a", "2");
        let second = sandbox.save("second");
        assert_eq!(sandbox.paths_in(&second), ["a"]);
        let _ = sandbox.ckpt(&format!("reset {first}")).ok();
        assert_eq!(sandbox.text("a"), "1");
    }
}

#[test]
fn save_in_a_sub_directory_tracks_the_repository_c48() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "-q"]);
    sandbox.write("src/a", "1");
    sandbox.write("top", "2");
    let output = sandbox.call(["save"]).dir("src").run().ok();
    let announced = format!("{}", sandbox.w().display());
    let output = output.says(&announced);
    assert_eq!(sandbox.paths_in(&output.id()), ["src", "src/a", "top"]);
    let own = sandbox.call(["-w", ".", "save"]).dir("src").run().ok();
    assert_eq!(sandbox.stores().len(), 2);
    let store = sandbox.stores().into_iter().find(|store| store.to_string_lossy().contains("/src_")).unwrap();
    let output = git_command().arg("--git-dir").arg(store).args(["ls-tree", "--name-only", &own.id()]).output();
    assert_eq!(output.unwrap().stdout, b"a\n", "src has a store of its own");
}

#[test]
fn save_sees_an_edit_of_the_same_size_within_one_tick_c28() {
    let sandbox = Sandbox::new();
    for round in 0..30_u8 {
        let content = format!("{round:04}");
        sandbox.write("f", &content);
        let id = sandbox.save("tick");
        assert_eq!(sandbox.text_in(&id, "f"), content);
    }
}

#[test]
fn save_sees_an_edit_whose_mtime_was_set_back_c28() {
    let sandbox = Sandbox::new();
    sandbox.write("f", "aaaa");
    let time = sandbox.at("f").metadata().unwrap().modified().unwrap() - Duration::from_secs(100);
    let set_back = || File::options().write(true).open(sandbox.at("f")).unwrap().set_modified(time).unwrap();
    set_back();
    std::thread::sleep(Duration::from_millis(50));
    sandbox.save("first");
    sandbox.write("f", "bbbb");
    set_back();
    let _ = sandbox.ckpt("status --exit-code").exits(4).says("f");
    let id = sandbox.save("second");
    assert_eq!(sandbox.text_in(&id, "f"), "bbbb");
}

#[test]
fn save_survives_files_that_come_and_go() {
    let sandbox = Sandbox::new();
    for number in 0..200 {
        sandbox.write(format!("d{}/f{number}", number % 7), "x");
    }
    let w = sandbox.w();
    let churn = std::thread::spawn(move || {
        for round in 0..300 {
            let _ = std::fs::write(w.join(format!("d{}/new{round}", round % 7)), "y");
            let _ = std::fs::remove_file(w.join(format!("d{}/new{}", round % 7, round - 3)));
        }
    });
    for _ in 0..5 {
        let output = sandbox.call(["save", "--always"]).run();
        assert!(matches!(output.code, Some(0 | 3)), "{output}");
    }
    churn.join().unwrap();
    assert!(sandbox.paths_in(&sandbox.save("last")).len() > 200);
}

#[test]
fn a_missing_workspace_is_an_error_for_save() {
    let sandbox = Sandbox::new();
    let gone = sandbox.root().join("gone");
    let _ = sandbox.call(["--json", "save", "-w"]).arg(&gone).run().fails_with("missing-workspace");
    sandbox.write("file", "x");
    let _ = sandbox.call(["--json", "save", "-w", "file"]).run().fails_with("not-a-directory");
    assert!(sandbox.stores().is_empty());
}

#[test]
fn save_of_an_empty_directory_is_a_checkpoint() {
    let sandbox = Sandbox::new();
    let id = sandbox.save("nothing yet");
    assert!(sandbox.paths_in(&id).is_empty());
    sandbox.write("a", "1");
    let _ = sandbox.ckpt("reset").ok();
    assert!(!sandbox.has("a") && sandbox.is_held("1"));
}

#[test]
fn save_dry_run_of_what_holds_the_temporary_directory_writes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.mkdir("tmp");
    let before = Tree::with_identity(&sandbox.w());
    let plan = || sandbox.call(["save", "--dry-run"]).env("TMPDIR", sandbox.at("tmp"));
    let output = plan().run().ok();
    assert_eq!(output.out(), "added     a\nadded     tmp/\n", "{output}");
    assert_same(&before, &Tree::with_identity(&sandbox.w()));
    // With the checkpoint directory inside as well: it is in no plan, whether or not it is there.
    let inside = sandbox.at("checkpoints");
    let forced = || plan().arg("--force-workspace").arg("--checkpoint-dir").arg(&inside).run().ok();
    let output = forced();
    assert_eq!(output.out(), "added     a\nadded     tmp/\n", "{output}");
    std::fs::create_dir_all(inside.join("other")).unwrap();
    let output = forced();
    assert_eq!(output.out(), "added     a\nadded     tmp/\n", "{output}");
    std::fs::remove_dir_all(&inside).unwrap();
    // Nor is it needed at all.
    let output = sandbox.call(["save", "--dry-run"]).env("TMPDIR", "/nowhere").run().ok();
    assert!(output.out().contains("added     a\n"), "{output}");
    assert!(sandbox.stores().is_empty());
}

#[test]
fn save_dry_run_refuses_what_a_save_refuses() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let cases: [(&[&str], &str); 4] = [
        (&["--checkpoint-dir", "inside"], "nested-store"),
        (&["--checkpoint-dir", ".."], "nested-store"),
        (&["-w", "/"], "refused-workspace"),
        (&["-w", "../home"], "refused-workspace"),
    ];
    for (args, code) in cases {
        for words in [&["save", "--json"][..], &["save", "--dry-run", "--json"]] {
            let _ = sandbox.call(words.iter().chain(args)).run().fails_with(code);
        }
    }
    assert!(sandbox.stores().is_empty());
}

#[test]
fn a_dry_run_says_whether_a_checkpoint_would_be_made() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let would =
        |words: &str| sandbox.ckpt(&format!("save --dry-run --json {words}")).ok().json()["would_create"].clone();
    assert_eq!(would(""), true);
    let id = sandbox.save("first");
    let _ = sandbox.ckpt("save --dry-run").ok().says("nothing changed").says("no checkpoint").says(&id[..12]);
    let _ = sandbox.ckpt("save --dry-run --always").ok().says("would save").keeps_quiet_about("no checkpoint");
    assert_eq!((would(""), would("--always")), (false.into(), true.into()));
    sandbox.write("a", "2");
    let _ = sandbox.ckpt("save --dry-run").ok().says("would save").keeps_quiet_about("no checkpoint");
    assert_eq!(would(""), true);
}
