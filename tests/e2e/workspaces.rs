//! Workspaces: which directory is meant, which are refused, what there is.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use crate::sandbox::Sandbox;

#[test]
fn a_checkpoint_of_another_workspace_is_refused_l32() {
    let sandbox = Sandbox::new();
    let other = sandbox.root().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("a"), "not for us").unwrap();
    let theirs = sandbox.call(["-w", ".", "save"]).dir(&other).run().ok().id();
    sandbox.write("a", "ours");
    sandbox.save("first");
    for words in [format!("reset {theirs}"), format!("rollback {theirs} a"), format!("show {theirs}")] {
        let _ = sandbox.ckpt(&words).exits(1).says(&other.to_string_lossy());
        let _ = sandbox.ckpt(&format!("{words} --json")).fails_with("other-workspace-checkpoint");
    }
    assert_eq!(sandbox.text("a"), "ours");
}

#[test]
fn a_checkpoint_of_a_workspace_that_was_moved_is_refused_by_its_name_l32() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "ours");
    sandbox.save("first");
    let (old, new) = (sandbox.root().join("old"), sandbox.root().join("new"));
    fs::create_dir(&old).unwrap();
    let theirs = sandbox.call(["-w", ".", "save"]).dir(&old).run().ok().id();
    fs::rename(&old, &new).unwrap();
    let is_refused = || {
        let output = sandbox.ckpt(&format!("reset {theirs} --json"));
        let _ = output.fails_with("other-workspace-checkpoint").says(&old.to_string_lossy());
    };
    is_refused();
    // Where it has a store under its new name too.
    let _ = sandbox.call(["-w", ".", "save"]).dir(&new).run().ok();
    is_refused();
}

#[test]
fn home_root_and_parents_of_the_store_are_refused_d4() {
    let sandbox = Sandbox::new();
    let home = sandbox.home();
    fs::write(home.join("private"), "x").unwrap();
    let link = sandbox.root().join("link");
    symlink(&home, &link).unwrap();
    let dotted = home.join(".").join("..").join("home").join("");
    for dir in [home.clone(), link, dotted, "/".into(), sandbox.root().to_owned()] {
        let output = sandbox.call(["--json", "save", "-w"]).arg(&dir).run().exits(1);
        let code = output.json()["error"]["code"].as_str().unwrap().to_owned();
        assert!(["refused-workspace", "nested-store"].contains(&code.as_str()), "{}: {output}", dir.display());
        assert!(output.json()["error"]["hint"].as_str().unwrap().contains("--force-workspace"), "{output}");
    }
    assert!(sandbox.stores().is_empty());
    // In it without `-w`: neither.
    let _ = sandbox.call(["save"]).dir(&home).run().exits(1);
    assert!(sandbox.stores().is_empty());
    let id = sandbox.call(["save", "--force-workspace", "-w"]).arg(&home).run().ok().id();
    assert_eq!(sandbox.paths_in(&id), ["private"], "the store is not in it");
    fs::write(home.join("private"), "y").unwrap();
    let id = sandbox.call(["save", "-w"]).arg(&home).run().ok().id();
    assert_eq!(sandbox.text_in(&id, "private"), "y");
}

#[test]
fn store_and_workspace_do_not_lie_inside_each_other_d9() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let _ = sandbox.call(["save", "--json", "--checkpoint-dir", "checkpoints"]).run().fails_with("nested-store");
    assert_eq!(sandbox.tree().paths(), ["a"]);
    let inside = sandbox.checkpoint_dir().join("project");
    fs::create_dir_all(&inside).unwrap();
    let _ = sandbox.call(["save", "--json", "-w"]).arg(&inside).run().fails_with("nested-store");
    // By another spelling, too.
    let link = sandbox.root().join("link");
    symlink(sandbox.w(), &link).unwrap();
    let _ = sandbox.call(["save", "--json", "--checkpoint-dir"]).arg(link.join("c")).run().fails_with("nested-store");
    assert_eq!(sandbox.tree().paths(), ["a"]);
    fs::remove_dir(&inside).unwrap();
}

#[test]
fn a_store_that_cannot_be_made_is_an_error_c21() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let file = sandbox.root().join("file");
    fs::write(&file, "not a directory").unwrap();
    let output = sandbox.call(["save", "--json", "--checkpoint-dir"]).arg(file.join("c")).run().exits(1);
    assert_eq!(output.json()["schema"], "ckpt.error/1", "{output}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "not a directory");
    let Some(sandbox) = Sandbox::unprivileged() else { return };
    sandbox.write("a", "1");
    let closed = sandbox.root().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    let output = sandbox.call(["save", "--json", "--checkpoint-dir"]).arg(closed.join("c")).run();
    let _ = output.fails_with("permission-denied");
}

#[test]
fn a_moved_workspace_says_where_its_history_is_c15() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.save("first");
    let moved = sandbox.root().join("moved");
    fs::rename(sandbox.w(), &moved).unwrap();
    let json = sandbox.call(["-w", "moved", "save", "--json"]).dir(sandbox.root()).run().ok().json();
    assert_eq!(json["warnings"][0]["code"], "moved", "{json}");
    assert!(json["warnings"][0]["message"].as_str().unwrap().contains(&*sandbox.w().to_string_lossy()), "{json}");
    // Its history is there: brought back under the old path.
    let _ = sandbox.call(["-w", "w", "reset"]).dir(sandbox.root()).run().ok();
    assert_eq!(sandbox.text("a"), "1");
}

#[test]
fn a_workspace_that_was_made_again_is_known_when_it_moves_c15() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.save("first");
    // A directory that has the inode of one that was removed looks like this: it is younger than the record that names it.
    let record = fs::File::options().append(true).open(sandbox.store().join("ckpt/worktree")).unwrap();
    let born = fs::metadata(sandbox.w()).unwrap().created().unwrap();
    record.set_modified(born - Duration::from_secs(1)).unwrap();
    sandbox.write("a", "2");
    sandbox.save("second");
    let moved = sandbox.root().join("moved");
    fs::rename(sandbox.w(), &moved).unwrap();
    let _ = sandbox.call(["prune", "--yes"]).dir(sandbox.root()).run().ok();
    let json = sandbox.call(["-w", "moved", "save", "--json"]).dir(sandbox.root()).run().ok().json();
    assert_eq!(json["warnings"][0]["code"], "moved", "{json}");
    let _ = sandbox.call(["-w", "w", "reset"]).dir(sandbox.root()).run().ok();
    assert_eq!(sandbox.text("a"), "2");
}

#[test]
fn one_directory_is_one_workspace_however_it_is_spelled() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let id = sandbox.save("first");
    let link = sandbox.root().join("link");
    symlink(sandbox.w(), &link).unwrap();
    for dir in [link.clone(), sandbox.w().join("."), sandbox.w().join(""), sandbox.root().join("home/../w")] {
        let output = sandbox.call(["save", "-w"]).arg(&dir).dir(sandbox.root()).run().ok();
        assert_eq!(output.id(), id, "{}", dir.display());
    }
    assert_eq!(sandbox.stores().len(), 1);
}

#[test]
fn other_commands_say_that_nothing_is_saved() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    for words in ["ls", "status", "diff", "show", "reset", "undo", "redo", "rollback HEAD a"] {
        let output = sandbox.ckpt(words).exits(1).says("ckpt save");
        assert!(output.stdout.is_empty(), "{output}");
        let _ = sandbox.ckpt(&format!("{words} --json")).fails_with("nothing-saved");
    }
    assert!(sandbox.stores().is_empty());
}

#[test]
fn workspaces_tells_where_and_how_much_u5() {
    let sandbox = Sandbox::new();
    let _ = sandbox.ckpt("workspaces").ok();
    sandbox.write("a", vec![b'x'; 10_000]);
    sandbox.save("first");
    let listed = sandbox.ckpt("workspaces").ok();
    assert_eq!(listed.out().trim_end(), sandbox.w().to_string_lossy(), "{listed}");
    let long = sandbox.ckpt("workspaces -l").ok().says(&sandbox.w().to_string_lossy());
    assert!(long.all().contains(" B") || long.all().contains("KiB"), "{long}");
    let _ = sandbox.ckpt("config").ok().says(&sandbox.checkpoint_dir().to_string_lossy());
    let json = sandbox.ckpt("workspaces -l --json").ok().json();
    let workspace = &json["workspaces"][0];
    assert_eq!(workspace["checkpoints"], 1, "{json}");
    assert!(workspace["size_bytes"].as_u64().is_some_and(|bytes| bytes > 0), "{json}");
}

#[test]
fn the_nearest_tracked_directory_is_used() {
    let sandbox = Sandbox::new();
    sandbox.write("sub/deep/f", "1");
    let top = sandbox.save("top");
    let output = sandbox.call(["save", "--always"]).dir("sub/deep").run().ok();
    assert_eq!(sandbox.paths_in(&output.id()), sandbox.paths_in(&top));
    // A repository's root is a border.
    sandbox.git("sub", &["init", "-q"]);
    let _ = sandbox.call(["status", "--json"]).dir("sub/deep").run().fails_with("nothing-saved");
    let _ = sandbox.call(["save"]).dir("sub/deep").run().ok().says(&sandbox.at("sub").to_string_lossy());
    assert_eq!(sandbox.stores().len(), 2);
    assert!(sandbox.store_of("sub").is_some());
}

#[test]
fn the_variable_names_the_workspace() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let w = sandbox.w();
    let output = sandbox.call(["save"]).dir(sandbox.root()).env("CKPT_WORKSPACE", &w).run().ok();
    assert_eq!(sandbox.paths_in(&output.id()), ["a"]);
    assert_eq!(sandbox.stores().len(), 1);
}

#[test]
fn a_file_is_no_workspace() {
    let sandbox = Sandbox::new();
    sandbox.write("dir/file", "1");
    let dir = sandbox.at("dir");
    for path in [dir.join("file"), dir.join("file/below")] {
        for words in ["ls", "show", "status", "diff", "reset", "undo", "rollback HEAD a", "save", "save --dry-run"] {
            let output = sandbox.call(words.split(' ')).env("CKPT_WORKSPACE", &path).run().exits(1);
            let _ =
                output.says("not a directory").says(&format!("-w {} status", dir.display())).keeps_quiet_about("mkdir");
            let output = sandbox.call(words.split(' ')).arg("--json").env("CKPT_WORKSPACE", &path).run();
            let _ = output.fails_with("not-a-directory");
        }
    }
    assert!(sandbox.stores().is_empty());
}

#[test]
fn a_misspelled_workspace_is_not_to_be_made() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.save("first");
    let typo = sandbox.root().join("wrok/x");
    for words in ["ls", "show", "status", "diff", "reset", "undo", "rollback HEAD a", "save", "save --dry-run"] {
        let output = sandbox.call(words.split(' ')).env("CKPT_WORKSPACE", &typo).run().exits(1);
        let _ = output.says("no such directory").says("ckpt workspaces").keeps_quiet_about("mkdir");
        let output = sandbox.call(words.split(' ')).arg("--json").env("CKPT_WORKSPACE", &typo).run();
        let _ = output.fails_with("missing-workspace");
    }
    assert_eq!(sandbox.stores().len(), 1);
}

#[test]
fn a_workspace_that_is_gone_says_how_it_comes_back() {
    let sandbox = Sandbox::new();
    let project = sandbox.root().join("group/project");
    fs::create_dir_all(&project).unwrap();
    fs::write(project.join("a"), "1").unwrap();
    let call = |words: &str| sandbox.call(words.split(' ')).env("CKPT_WORKSPACE", &project);
    let _ = call("save").run().ok();
    fs::remove_dir_all(&project).unwrap();
    let reset = format!("ckpt -w {} reset", project.display());
    for words in ["status", "diff", "save", "save --dry-run"] {
        let _ = call(words).run().exits(1).says("no such directory").says(&reset).keeps_quiet_about("mkdir");
    }
    // What works there can be asked for.
    for words in ["reset --dry-run", "rollback --dry-run HEAD a"] {
        let _ = call(words).run().ok().says("would").says("a");
        assert!(!project.exists());
    }
    // It may be on a volume: nobody makes it unasked.
    fs::remove_dir_all(sandbox.root().join("group")).unwrap();
    let _ = call("reset").run().exits(1).says(&format!("mkdir -p {}", project.display()));
    fs::create_dir_all(&project).unwrap();
    let _ = call("reset").run().ok();
    assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "1");
    fs::remove_dir_all(&project).unwrap();
    fs::write(&project, "a file").unwrap();
    for words in ["status", "reset"] {
        let _ = call(words).run().exits(1).says("not a directory").says(&reset).keeps_quiet_about("mkdir");
    }
}

#[test]
fn a_workspace_inside_another_says_which_it_is() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.write("sub/deep/b", "1");
    sandbox.save("top");
    let _ = sandbox.call(["-w", "sub", "save"]).run().ok().keeps_quiet_about("inner-workspace");
    let (sub, w) = (sandbox.at("sub"), sandbox.w());
    let commands =
        ["save", "save --dry-run", "ls", "show", "status", "diff", "reset", "rollback HEAD .", "undo", "redo"];
    for words in commands {
        let output = sandbox.call(words.split(' ')).dir("sub/deep").run();
        let _ = output.says(&format!("{}, not", sub.display())).says(&format!("ckpt -w {} status", w.display()));
        let json = sandbox.call(words.split(' ')).arg("--json").dir("sub/deep").run().json();
        assert_eq!(json["warnings"][0]["code"], "inner-workspace", "{json}");
    }
    // Where there is no doubt: named, the outer one, and what is about no workspace.
    for (dir, words) in [("sub", "-w . status"), ("", "status"), ("sub", "workspaces"), ("sub", "prune")] {
        let _ = sandbox.call(words.split(' ')).dir(dir).run().ok().keeps_quiet_about(", not");
    }
}

#[test]
fn a_part_of_a_repository_says_that_it_is_the_workspace() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "-q"]);
    sandbox.write("sub/b", "1");
    let _ = sandbox.call(["-w", "sub", "save"]).run().ok();
    let sub = sandbox.at("sub");
    for words in ["save", "status", "reset"] {
        let _ = sandbox.call([words]).dir("sub").run().ok().says(&format!("in {}, a part", sub.display()));
        let _ = sandbox.call([words, "-q"]).dir("sub").run().ok().keeps_quiet_about("a part");
        let json = sandbox.call([words, "--json"]).dir("sub").run().ok().json();
        assert_eq!((json["workspace"].as_str(), json["warnings"].to_string()), (sub.to_str(), "[]".to_owned()));
    }
    sandbox.save("of all of it");
    let _ = sandbox.ckpt("status").ok().keeps_quiet_about("a part");
}

#[test]
fn a_renamed_workspace_is_found_from_either_name() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.save("first");
    let (old, new) = (sandbox.w(), sandbox.root().join("elsewhere/renamed"));
    for new in [sandbox.root().join("renamed"), new] {
        fs::create_dir_all(new.parent().unwrap()).unwrap();
        fs::rename(&old, &new).unwrap();
        for words in ["ls", "show", "status", "diff", "reset", "undo", "rollback HEAD a"] {
            let output = sandbox.call(words.split(' ')).dir(&new).run().exits(1);
            let _ = output.says("saved as").says(&format!("ckpt -w {} ls", old.display()));
        }
        fs::rename(&new, &old).unwrap();
    }
    let new = sandbox.root().join("renamed");
    fs::rename(&old, &new).unwrap();
    for words in ["status", "diff", "save"] {
        let output = sandbox.call(words.split(' ')).dir(sandbox.root()).env("CKPT_WORKSPACE", &old).run().exits(1);
        let _ = output.says(&format!("it is now {}", new.display())).says(&format!("ckpt -w {} reset", old.display()));
    }
    fs::rename(&new, &old).unwrap();
}

#[test]
fn no_save_is_offered_where_it_would_be_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.save("first");
    for (dir, words) in [(sandbox.home(), "--force-workspace"), ("/".into(), "--force-workspace")] {
        for command in ["ls", "status", "reset"] {
            let output = sandbox.call([command]).dir(&dir).run().exits(1);
            let _ = output.says("nothing is saved").says(words).keeps_quiet_about("first checkpoint");
        }
    }
    let _ = sandbox.call(["ls"]).dir(sandbox.store()).run().exits(1).keeps_quiet_about("first checkpoint");
}
