//! What the rules leave out: ignore files, excludes, limits, caches. Never deleted, never a deletion.

use std::fs;

use crate::sandbox::{Sandbox, assert_same, operations_of};

#[test]
fn reset_keeps_ignored_files_l2() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "out/\n");
    sandbox.write("a", "1");
    sandbox.write("out/built", "by hand");
    let id = sandbox.save("first");
    sandbox.write("a", "2");
    sandbox.write("out/more", "later");
    let before = sandbox.tree().only("out");
    let _ = sandbox.ckpt(&format!("reset {id}")).ok();
    assert_eq!(sandbox.text("a"), "1");
    assert_same(&before, &sandbox.tree().only("out"));
}

#[test]
fn reset_keeps_what_the_newer_rules_ignore_l3() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let first = sandbox.save("without rules");
    sandbox.write(".gitignore", "secret.key\n");
    sandbox.write("secret.key", "do not lose me");
    sandbox.save("with rules");
    let _ = sandbox.ckpt(&format!("reset {first}")).ok();
    assert_eq!(sandbox.text("secret.key"), "do not lose me");
    assert!(!sandbox.has(".gitignore"));
}

#[test]
fn reset_keeps_what_the_older_rules_ignore_l3() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "secret.key\n");
    sandbox.write("secret.key", "do not lose me");
    let first = sandbox.save("with rules");
    sandbox.remove(".gitignore");
    let output = sandbox.ckpt(&format!("reset {first}")).ok();
    assert_eq!(sandbox.text("secret.key"), "do not lose me", "{output}");
    assert_eq!(sandbox.text(".gitignore"), "secret.key\n");
}

#[test]
fn reset_keeps_what_was_left_out_l8_l28() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.write("debug.log", "log");
    sandbox.write("big", vec![b'x'; 3000]);
    let config = |words: &str| {
        let call = sandbox.call(words.split(' ')).config("exclude", "[\"*.log\"]").config("max_file_bytes", "1000");
        call.run()
    };
    let saved = config("save").ok().says("debug.log").says("excluded").says("big").says("too-large");
    let id = saved.id();
    assert_eq!(sandbox.paths_in(&id), ["a"]);
    sandbox.write("a", "2");
    sandbox.write("debug.log", "more log");
    let before = sandbox.tree().without("a");
    // With the rules of then, and with none: the checkpoint remembers what it left out.
    let _ = config(&format!("reset {id}")).ok();
    assert_eq!(sandbox.text("a"), "1");
    assert_same(&before, &sandbox.tree().without("a"));
    sandbox.write("a", "3");
    let _ = sandbox.ckpt(&format!("reset {id}")).ok();
    assert_eq!(sandbox.text("a"), "1");
    assert_same(&before, &sandbox.tree().without("a"));
}

#[test]
fn reset_keeps_a_file_above_the_limit_l23() {
    let sandbox = Sandbox::new();
    let big = vec![7; 20 << 20];
    sandbox.write("big", &big);
    sandbox.write("a", "1");
    let id = sandbox.call(["save"]).config("max_file_bytes", "10MiB").run().ok().id();
    sandbox.write("a", "2");
    let _ = sandbox.call(["reset", &id]).config("max_file_bytes", "10MiB").run().ok();
    assert_eq!(sandbox.text("a"), "1");
    assert!(sandbox.read("big") == big);
}

#[test]
fn reset_holds_what_it_overwrites_even_if_the_rules_leave_it_out_l37() {
    for (rule, value) in [("max_file_bytes", "1000"), ("exclude", "[\"f\"]"), (".gitignore", "f\n")] {
        let sandbox = Sandbox::new();
        sandbox.write("f", "small");
        sandbox.write("d/f", "small");
        let id = sandbox.save("small");
        let large = format!("large under {rule} ").repeat(200);
        sandbox.write("f", &large);
        let call = sandbox.call(["reset", &id]);
        let call = if rule.starts_with('.') {
            sandbox.write(rule, value);
            call
        } else {
            call.config(rule, value)
        };
        let output = call.run().ok();
        assert_eq!(sandbox.text("f"), "small", "{rule}: {output}");
        assert!(sandbox.is_held(&large), "{rule}: {output}");
        let _ = sandbox.ckpt("undo").ok();
        assert_eq!(sandbox.text("f"), large, "{rule}");
    }
}

#[test]
fn rules_that_cannot_be_read_hold_on_c11() {
    let Some(sandbox) = Sandbox::unprivileged() else { return };
    sandbox.write(".gitignore", "secret*\n");
    sandbox.write("secret1", "s");
    sandbox.write("a", "1");
    sandbox.save("first");
    sandbox.mode(".gitignore", 0);
    sandbox.write("secret2", "s");
    sandbox.write("a", "2");
    let output = sandbox.ckpt("save").exits(3).says(".gitignore");
    assert_eq!(sandbox.paths_in(&output.id()), [".gitignore", "a"]);
    assert_eq!(sandbox.text_in(&output.id(), "a"), "2");
}

/// The rules of a nested repository are nobody's content, so that nothing tells what they were.
#[test]
fn what_is_new_where_rules_of_a_nested_repository_cannot_be_read_stays_out_c11_l3() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "-q", "n"]);
    sandbox.write("n/.git/info/exclude", "*.o\n");
    sandbox.write("n/a", "1");
    sandbox.write("n/a.o", "built");
    sandbox.write("b", "1");
    let first = sandbox.save("first");
    fs::remove_file(sandbox.at("n/.git/info/exclude")).unwrap();
    sandbox.link("n/.git/info/exclude", "exclude");
    sandbox.write("n/a", "2");
    sandbox.write("n/d/new", "new");
    sandbox.write("b", "2");
    for _ in 0..2 {
        let second = sandbox.ckpt("save").exits(3).says("n/.git/info/exclude").says("n/a.o").says("n/d").id();
        assert_eq!(sandbox.paths_in(&second), ["b", "n", "n/a"]);
        assert_eq!(sandbox.text_in(&second, "n/a"), "2");
        let _ = sandbox.ckpt(&format!("reset {first}")).ok();
        assert_eq!((sandbox.text("n/a"), sandbox.text("b")), ("1".to_owned(), "1".to_owned()));
        assert_eq!((sandbox.text("n/a.o"), sandbox.text("n/d/new")), ("built".to_owned(), "new".to_owned()));
        let _ = sandbox.ckpt("undo").ok();
        let _ = sandbox.ckpt(&format!("rollback {first} n")).ok();
        assert_eq!((sandbox.text("n/a"), sandbox.text("b")), ("1".to_owned(), "2".to_owned()));
        assert_eq!((sandbox.text("n/a.o"), sandbox.text("n/d/new")), ("built".to_owned(), "new".to_owned()));
        sandbox.write("n/a", "2");
    }
    fs::remove_file(sandbox.at("n/.git/info/exclude")).unwrap();
    sandbox.write("n/.git/info/exclude", "*.o\n");
    let third = sandbox.ckpt("save").ok().id();
    assert_eq!(sandbox.paths_in(&third), ["b", "n", "n/a", "n/d", "n/d/new"]);
}

#[test]
fn what_is_ignored_does_not_enter_for_want_of_a_handle_c11() {
    let sandbox = Sandbox::new();
    sandbox.write(".git/info/exclude", "*.1\n");
    sandbox.write(".gitignore", "*.2\n");
    sandbox.write(".ckptignore", "*.3\n");
    sandbox.write("n/.git/info/exclude", "*.4\n");
    for number in 0..=4 {
        sandbox.write(format!("n/secret.{number}"), "s");
    }
    sandbox.write("c/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55");
    sandbox.write("c/x", "x");
    let openings = operations_of(sandbox.call(["save"]), "emfile").1.len() as u64;
    for at in 1..=openings {
        fs::remove_dir_all(sandbox.checkpoint_dir()).unwrap();
        let output = sandbox.call(["save"]).fault(at, "emfile").run();
        let saved = if output.code == Some(0) { output } else { sandbox.ckpt("save").ok() };
        let expected = [".ckptignore", ".gitignore", "n", "n/secret.0"];
        assert_eq!(sandbox.paths_in(&saved.id()), expected, "opening {at}: {saved}");
    }
}

#[test]
fn a_path_that_is_ignored_now_is_no_longer_tracked_c43() {
    for rule in [".gitignore", ".git/info/exclude", ".ckptignore", "config"] {
        let sandbox = Sandbox::new();
        sandbox.git("", &["init", "-q"]);
        sandbox.write("f", "1");
        sandbox.write("g", "1");
        let first = sandbox.save("first");
        let config = if rule == "config" { "[\"f\"]" } else { "[]" };
        let run = |words: &str| sandbox.call(words.split(' ')).config("exclude", config).run();
        if rule != "config" {
            sandbox.write(rule, "f\n");
        }
        sandbox.write("f", "2");
        let status = run("status").ok();
        assert!(status.all().contains("tracked") && !status.all().contains("deleted"), "{rule}: {status}");
        let out = status.out();
        let named: Vec<_> = out.lines().filter(|line| line.split(' ').any(|word| word == "f")).collect();
        assert_eq!(named.len(), 1, "{rule}: it is named once: {status}");
        sandbox.write("g", "2");
        let second = run("save").ok().says("no longer tracked").keeps_quiet_about("omitted").id();
        assert!(!sandbox.paths_in(&second).contains(&"f".to_owned()), "{rule}");
        // What it dropped is not deleted, whoever looks at it and whenever.
        let shown = run(&format!("show --stat {second}")).ok();
        assert!(shown.out().contains("g ") && !shown.out().contains("f |"), "{rule}: {shown}");
        assert!(!run(&format!("show --patch {second}")).ok().out().contains("deleted"), "{rule}");
        for words in [format!("diff --name-only {first} {second}"), format!("diff --name-only {first}")] {
            let diff = run(&words).ok().says("no longer tracked").says("f");
            assert!(!diff.out().lines().any(|line| line == "f"), "{rule}: {diff}");
        }
        let back = run(&format!("diff --name-only {second} {first}")).ok().keeps_quiet_about("tracked");
        assert!(back.out().lines().any(|line| line == "f"), "{rule}: a way back brings it: {back}");
        assert_eq!(sandbox.text("f"), "2", "{rule}");
        let output = run(&format!("reset {first}")).ok();
        assert_eq!((sandbox.text("f"), sandbox.text("g")), ("1".to_owned(), "1".to_owned()), "{rule}: {output}");
        assert!(sandbox.is_held("2"), "{rule}");
    }
}

#[test]
fn a_path_that_was_dropped_is_named_by_the_save_that_drops_it_and_never_again_c43() {
    let sandbox = Sandbox::new();
    sandbox.write(".env", "secret");
    sandbox.write("dist/x", "built");
    sandbox.write("a", "1");
    let first = sandbox.save("first");
    sandbox.write(".gitignore", ".env\ndist/\n");
    let dropping = sandbox.ckpt("save --strict second").exits(3).says("no longer tracked").says(".env").says("dist");
    let again = sandbox.ckpt("save --strict again").ok().keeps_quiet_about(".env").keeps_quiet_about("dist");
    assert_eq!(dropping.id(), again.id());
    sandbox.write("a", "2");
    for words in ["status", "save --strict --dry-run", "save --strict third", "status", "save --strict --always"] {
        let _ = sandbox.ckpt(words).ok().keeps_quiet_about(".env").keeps_quiet_about("dist");
        let json = sandbox.ckpt(&format!("{words} --json")).ok().json();
        assert_eq!((json["omitted"].to_string(), json["no_longer_tracked"].to_string()), ("[]".into(), "[]".into()));
    }
    // It is still nothing that a restore takes away, and the older checkpoint has it.
    let _ = sandbox.ckpt("reset HEAD~1").ok();
    assert_eq!(sandbox.text(".env"), "secret");
    sandbox.write(".env", "newer secret");
    let _ = sandbox.ckpt(&format!("reset {first}")).ok();
    assert_eq!(sandbox.text(".env"), "secret");
    assert!(sandbox.is_held("newer secret"));
}

#[test]
fn rules_from_above_that_ignore_everything_are_not_used_c44() {
    let sandbox = Sandbox::new();
    let project = sandbox.home().join("project");
    fs::create_dir(&project).unwrap();
    sandbox.git(sandbox.home(), &["init", "-q"]);
    fs::write(sandbox.home().join(".gitignore"), "*\n").unwrap();
    fs::write(project.join("a"), "1").unwrap();
    let output = sandbox.call(["-w", ".", "save"]).dir(&project).run().ok().says(".gitignore");
    assert_eq!(sandbox.paths_in(&output.id()), ["a"]);
    let json = sandbox.call(["-w", ".", "status", "--json"]).dir(&project).run().ok().json();
    assert_eq!(json["warnings"][0]["code"], "rules-from-above-not-used", "{json}");
}

#[test]
fn ckptignore_outranks_gitignore() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "*.log\nbuild/\n");
    sandbox.write(".ckptignore", "!keep.log\nprivate\n");
    for path in ["keep.log", "drop.log", "private", "a", "build/x"] {
        sandbox.write(path, path);
    }
    let id = sandbox.save("first");
    assert_eq!(sandbox.paths_in(&id), [".ckptignore", ".gitignore", "a", "keep.log"]);
}

#[test]
fn marked_caches_are_left_out_and_reported_d6() {
    let sandbox = Sandbox::new();
    sandbox.write("cache/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n# a cache\n");
    sandbox.write("cache/download", "big");
    sandbox.write("fake/CACHEDIR.TAG", "no signature");
    sandbox.write("a", "1");
    let output = sandbox.ckpt("save").ok().says("cache").says("cache-dir");
    assert_eq!(sandbox.paths_in(&output.id()), ["a", "fake", "fake/CACHEDIR.TAG"]);
    sandbox.write("a", "2");
    let id = sandbox.call(["save"]).config("skip_cache_dirs", "false").run().ok().id();
    assert!(sandbox.paths_in(&id).contains(&"cache/download".to_owned()));
    let _ = sandbox.ckpt("config").ok().says("skip_cache_dirs");
}

#[test]
fn ignored_directories_are_not_entered_p7() {
    let Some(sandbox) = Sandbox::unprivileged() else { return };
    sandbox.write(".gitignore", "node_modules\n");
    sandbox.write("a", "1");
    for number in 0..50 {
        sandbox.write(format!("node_modules/p{number}/index.js"), "x");
    }
    // Whoever looks inside is refused, and would have to say so.
    sandbox.mode("node_modules", 0);
    let output = sandbox.ckpt("save").ok().keeps_quiet_about("node_modules");
    assert_eq!(sandbox.paths_in(&output.id()), [".gitignore", "a"]);
    sandbox.write("a", "2");
    let _ = sandbox.ckpt("save").ok().keeps_quiet_about("node_modules");
    sandbox.mode("node_modules", 0o755);
}

#[test]
fn a_save_that_captures_nothing_warns() {
    let sandbox = Sandbox::new();
    sandbox.write(".ckptignore", "*\n");
    sandbox.write("a", "1");
    let json = sandbox.ckpt("save --json").json();
    assert_eq!(json["warnings"][0]["code"], "nothing-captured", "{json}");
}
