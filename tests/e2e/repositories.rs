//! The user's own repositories: never written, never asked, their content saved as any other.

use std::fs;

use crate::sandbox::{Sandbox, Tree, assert_same};

#[test]
fn the_users_repository_stays_byte_for_byte_l4() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "-q"]);
    sandbox.write("a", "one");
    sandbox.git("", &["add", "."]);
    sandbox.git("", &["commit", "-qm", "one"]);
    sandbox.write("a", "stashed");
    sandbox.git("", &["stash", "-q"]);
    sandbox.write("b", "untracked by git");
    let first = sandbox.save("first");
    sandbox.write("a", "two");
    sandbox.git("", &["commit", "-qam", "two"]);
    sandbox.git("", &["tag", "v1"]);
    sandbox.write("c", "staged");
    sandbox.git("", &["add", "c"]);
    let repository = Tree::with_identity(&sandbox.at(".git"));
    let _ = sandbox.ckpt(&format!("reset {first}")).ok();
    assert_eq!(sandbox.tree().without(".git").paths(), ["a", "b"]);
    assert_eq!(sandbox.text("a"), "one");
    let _ = sandbox.ckpt("undo").ok();
    let _ = sandbox.ckpt("status").ok();
    let _ = sandbox.ckpt("diff").ok();
    assert_eq!((sandbox.text("a"), sandbox.text("c")), ("two".to_owned(), "staged".to_owned()));
    assert_same(&repository, &Tree::with_identity(&sandbox.at(".git")));
}

#[test]
fn a_nested_repository_is_content_c3_l16() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one");
    sandbox.git("", &["init", "-q"]);
    sandbox.write("n/f", "inner one");
    sandbox.git("n", &["init", "-q"]);
    let without_commit = sandbox.save("nested, no commit");
    assert_eq!(sandbox.paths_in(&without_commit), ["a", "n", "n/f"]);
    sandbox.write("a", "two");
    let edited = sandbox.save("a edited beside it");
    assert_eq!(sandbox.text_in(&edited, "a"), "two");
    assert_eq!(sandbox.text_in(&edited, "n/f"), "inner one");
    sandbox.git("n", &["add", "."]);
    sandbox.git("n", &["commit", "-qm", "inner"]);
    sandbox.write("n/f", "inner two");
    let repository = Tree::with_identity(&sandbox.at("n/.git"));
    let _ = sandbox.ckpt(&format!("reset {edited}")).ok();
    assert_eq!(sandbox.text("n/f"), "inner one");
    assert!(sandbox.is_held("inner two"));
    assert_same(&repository, &Tree::with_identity(&sandbox.at("n/.git")));
    let _ = sandbox.ckpt("reset HEAD~1").ok();
    assert_same(&repository, &Tree::with_identity(&sandbox.at("n/.git")));
}

#[test]
fn submodules_and_linked_worktrees_are_content_c4() {
    let sandbox = Sandbox::new();
    let elsewhere = sandbox.root().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    sandbox.git(&elsewhere, &["init", "-q"]);
    fs::write(elsewhere.join("f"), "one").unwrap();
    sandbox.git(&elsewhere, &["add", "."]);
    sandbox.git(&elsewhere, &["commit", "-qm", "one"]);
    sandbox.git("", &["init", "-q"]);
    let source = elsewhere.to_str().unwrap();
    sandbox.git("", &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", source, "sub"]);
    let linked = sandbox.at("linked");
    sandbox.git(&elsewhere, &["worktree", "add", "-q", linked.to_str().unwrap()]);
    let id = sandbox.save("first");
    assert_eq!(sandbox.paths_in(&id), [".gitmodules", "linked", "linked/f", "sub", "sub/f"]);
    let dot_git = |path: &str| fs::read(sandbox.at(path)).unwrap();
    let before = (dot_git("sub/.git"), dot_git("linked/.git"));
    sandbox.write("sub/f", "two");
    sandbox.write("linked/f", "two");
    let _ = sandbox.ckpt(&format!("reset {id}")).ok();
    assert_eq!((sandbox.text("sub/f"), sandbox.text("linked/f")), ("one".to_owned(), "one".to_owned()));
    assert_eq!(before, (dot_git("sub/.git"), dot_git("linked/.git")));
}

#[test]
fn bytes_are_kept_whatever_the_attributes_say_c38() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.home().join(".gitconfig"), "[core]\n\tautocrlf = true\n\teol = crlf\n\tsafecrlf = true\n")
        .unwrap();
    sandbox.git("", &["init", "-q"]);
    sandbox.write(".gitattributes", "* text=auto eol=crlf\n*.enc working-tree-encoding=UTF-16 ident\n");
    sandbox.write("crlf", "a\r\nb\r\n");
    sandbox.write("mixed", "a\r\nb\nc\r");
    sandbox.write("x.enc", "$Id$\n");
    let before = sandbox.tree();
    let id = sandbox.save("first");
    assert!(sandbox.is_clean());
    assert_eq!(sandbox.text_in(&id, "mixed"), "a\r\nb\nc\r");
    for path in ["crlf", "mixed", "x.enc"] {
        sandbox.remove(path);
    }
    let _ = sandbox.ckpt(&format!("reset {id}")).ok();
    assert_same(&before, &sandbox.tree());
}

#[test]
fn gc_of_the_users_repository_harms_nothing_d3() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "-q"]);
    sandbox.write("a", "one");
    let first = sandbox.save("first");
    sandbox.git("", &["add", "."]);
    sandbox.git("", &["commit", "-qm", "one"]);
    sandbox.write("a", "two");
    let second = sandbox.save("second");
    sandbox.git("", &["gc", "--quiet", "--prune=now"]);
    sandbox.git("", &["reflog", "expire", "--expire=now", "--all"]);
    for (id, content) in [(&first, "one"), (&second, "two")] {
        let _ = sandbox.ckpt(&format!("reset {id}")).ok();
        assert_eq!(sandbox.text("a"), content);
    }
}

#[test]
fn nothing_of_the_workspace_runs_s3_p14() {
    let sandbox = Sandbox::new();
    let mark = sandbox.root().join("it-ran");
    sandbox.git("", &["init", "-q"]);
    let script = sandbox.at(".git/trap");
    sandbox.trap(&script, &mark);
    for hook in ["pre-commit", "post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman"] {
        sandbox.trap(sandbox.at(".git/hooks").join(hook), &mark);
    }
    let program = script.to_str().unwrap();
    let config = format!(
        "[core]\n\tfsmonitor = {program}\n\tpager = {program}\n\tsshCommand = {program}\n\
         [filter \"lfs\"]\n\tclean = {program}\n\tsmudge = {program}\n\tprocess = {program}\n\trequired = true\n\
         [diff \"x\"]\n\tcommand = {program}\n\ttextconv = {program}\n[gpg]\n\tprogram = {program}\n"
    );
    fs::write(sandbox.home().join(".gitconfig"), &config).unwrap();
    fs::write(sandbox.at(".git/config"), format!("[core]\n\trepositoryformatversion = 0\n\tbare = false\n{config}"))
        .unwrap();
    sandbox.write(".gitattributes", "*.bin filter=lfs diff=x merge=x -text\n");
    for number in 0..40 {
        sandbox.write(format!("{number}.bin"), format!("large file {number}"));
    }
    let before = sandbox.tree();
    let id = sandbox.save("first");
    assert_eq!(sandbox.text_in(&id, "7.bin"), "large file 7");
    sandbox.write("7.bin", "edited");
    for words in ["status", "diff", "ls", "show HEAD", "save", "reset HEAD~1", "undo", "redo"] {
        let _ = sandbox.ckpt(words).ok();
    }
    assert_same(&before, &sandbox.tree());
    assert!(!mark.exists(), "something ran");
}

#[test]
fn configuration_from_outside_changes_nothing_e1() {
    let tree_of = |hostile: bool| {
        let sandbox = Sandbox::new();
        let hooks = sandbox.home().join("hooks");
        let mark = sandbox.root().join("it-ran");
        for hook in ["reference-transaction", "post-commit", "pre-auto-gc"] {
            sandbox.trap(hooks.join(hook), &mark);
        }
        let template = sandbox.home().join("template");
        sandbox.trap(template.join("hooks/reference-transaction"), &mark);
        fs::write(sandbox.home().join("excludes"), "*.o\n").unwrap();
        let config = format!(
            "[commit]\n\tgpgsign = true\n[core]\n\thooksPath = {0}/hooks\n\texcludesFile = {0}/excludes\n\
             \tignoreStat = true\n\tautocrlf = input\n\tfileMode = false\n\tsymlinks = false\n\tprecomposeUnicode = true\n\
             [init]\n\ttemplateDir = {0}/template\n\tdefaultBranch = other\n[user]\n\tuseConfigOnly = true\n",
            sandbox.home().display()
        );
        if hostile {
            fs::write(sandbox.home().join(".gitconfig"), &config).unwrap();
        }
        sandbox.write("a.o", "object");
        sandbox.write("run", "script\r\n");
        sandbox.mode("run", 0o755);
        sandbox.link("link", "a.o");
        let call = sandbox.call(["save", "-m", "first"]);
        let call = if hostile {
            call.env("GIT_DIR", sandbox.root().join("nowhere"))
                .env("GIT_INDEX_FILE", "/dev/null")
                .env("GIT_OBJECT_DIRECTORY", sandbox.root().join("objects"))
                .env("GIT_AUTHOR_DATE", "2001-01-01T00:00:00")
                .env("GIT_CONFIG_COUNT", "1")
                .env("GIT_CONFIG_KEY_0", "core.fileMode")
                .env("GIT_CONFIG_VALUE_0", "false")
                .env("XDG_CONFIG_HOME", sandbox.home())
        } else {
            call
        };
        let id = call.run().ok().id();
        assert_eq!(sandbox.git_in_store(&["symbolic-ref", "HEAD"]).trim(), "refs/heads/timeline");
        let author = sandbox.git_in_store(&["log", "-1", "--format=%an <%ae>%n%G?", &id]);
        assert_eq!(author, "ckpt <ckpt@localhost>\nN\n");
        assert!(!mark.exists() && !sandbox.root().join("objects").exists());
        sandbox.git_in_store(&["rev-parse", &format!("{id}^{{tree}}"), &format!("{id}^^{{tree}}")])
    };
    assert_eq!(tree_of(false), tree_of(true));
}
