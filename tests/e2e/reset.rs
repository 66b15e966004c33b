//! `reset`: the whole workspace as it was, and nothing lost on the way.

use std::fs;

use crate::sandbox::{Sandbox, Tree, assert_same};

#[test]
fn reset_restores_exactly_and_holds_the_rest_c18() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "a");
    sandbox.write("b", "b");
    let before = sandbox.tree();
    let id = sandbox.save("first");
    sandbox.remove("a");
    sandbox.write("c", "only in the worktree");
    let _ = sandbox.ckpt(&format!("reset {id}")).ok();
    assert_same(&before, &sandbox.tree());
    assert!(sandbox.is_held("only in the worktree"));
}

#[test]
fn reset_holds_what_no_checkpoint_saw_l1() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "a");
    let id = sandbox.save("first");
    let large: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_le_bytes).take(1 << 20).collect();
    sandbox.write("out/large", &large);
    sandbox.write("out/huge", vec![b'h'; 5000]);
    let _ = sandbox.call(["reset", &id]).run().ok();
    assert!(!sandbox.has("out"));
    assert!(sandbox.is_held(&large));
    let _ = sandbox.ckpt("undo").ok();
    assert!(sandbox.read("out/large") == large);
    // Above the limit it stays, or the store holds it all the same.
    let _ = sandbox.call(["reset", &id]).config("max_file_bytes", "3000").run().ok();
    assert!(sandbox.has("out/huge") || sandbox.is_held(vec![b'h'; 5000]));
    assert!(sandbox.has("out/large") || sandbox.is_held(&large));
}

#[test]
fn the_plan_names_everybodys_edits_l6_u1() {
    let sandbox = Sandbox::new();
    for path in ["u", "a", "kept"] {
        sandbox.write(path, "one");
    }
    let first = sandbox.save("first");
    sandbox.write("u", "the user's");
    sandbox.write("a", "the agent's");
    sandbox.write("added", "new");
    sandbox.save("second");
    let before = sandbox.tree();
    let store = Tree::with_identity(&sandbox.store().join("objects"));
    let plan = sandbox.ckpt(&format!("reset {first} --dry-run")).ok();
    for path in ["u", "a", "added"] {
        assert!(plan.all().lines().any(|line| line.split_whitespace().any(|word| word == path)), "{path}: {plan}");
    }
    let _ = plan.keeps_quiet_about("kept");
    assert_same(&before, &sandbox.tree());
    assert_same(&store, &Tree::with_identity(&sandbox.store().join("objects")));
    let _ = sandbox.ckpt(&format!("reset {first}")).ok().says("ckpt undo");
    for content in ["the user's", "the agent's", "new"] {
        assert!(sandbox.is_held(content), "{content}");
    }
}

#[test]
fn the_plan_tells_what_cannot_be_restored_u6() {
    let sandbox = Sandbox::new();
    sandbox.write("d/f", "one");
    sandbox.write("a", "one");
    let id = sandbox.save("first");
    sandbox.remove("d");
    sandbox.write("a", "two");
    sandbox.write("d/f/.git/HEAD", "ref: x\n");
    let plan = sandbox.ckpt(&format!("reset {id} --dry-run")).says("holds a .git").says("d/f");
    assert!(matches!(plan.code, Some(0 | 3)), "{plan}");
    assert_eq!(sandbox.text("a"), "two");
    let _ = sandbox.ckpt(&format!("reset {id}")).exits(3).says("d/f");
    assert_eq!(sandbox.text("a"), "one");
    assert!(sandbox.has("d/f/.git/HEAD"));
}

#[test]
fn a_week_of_edits_comes_back_l10() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one");
    sandbox.write("d/b", "one");
    let id = sandbox.save("first");
    sandbox.write("a", "a week of work");
    sandbox.write("d/new", "more work");
    sandbox.mode("d/new", 0o750);
    sandbox.mode("d", 0o700);
    sandbox.remove("d/b");
    sandbox.link("d/link", "new");
    sandbox.mkdir("empty");
    let week = sandbox.tree();
    let _ = sandbox.ckpt(&format!("reset {id}")).ok();
    assert_eq!(sandbox.tree().paths(), ["a", "d", "d/b"]);
    let _ = sandbox.ckpt("undo").ok();
    assert_same(&week, &sandbox.tree());
}

#[test]
fn reset_from_a_sub_directory_is_the_same_l36() {
    let sandbox = Sandbox::new();
    sandbox.write("sub/dir/f", "one");
    sandbox.write("top", "one");
    let before = sandbox.tree();
    let id = sandbox.save("first");
    sandbox.write("sub/dir/f", "two");
    sandbox.write("top", "two");
    let _ = sandbox.call(["reset", &id]).dir("sub/dir").run().ok();
    assert_same(&before, &sandbox.tree());
    assert_eq!(sandbox.stores().len(), 1);
}

#[test]
fn a_removed_project_comes_back_l39() {
    let sandbox = Sandbox::new();
    sandbox.write("src/main", "code");
    sandbox.write("run", "script");
    sandbox.mode("run", 0o755);
    sandbox.mode(".", 0o750);
    let before = sandbox.tree();
    sandbox.save("first");
    fs::remove_dir_all(sandbox.w()).unwrap();
    let _ = sandbox.call(["-w", "w", "ls"]).dir(sandbox.root()).run().ok().says("first");
    let _ = sandbox.call(["-w", "w", "reset"]).dir(sandbox.root()).run().ok();
    assert_same(&before, &sandbox.tree());
    assert!(sandbox.is_clean());
}

#[test]
fn a_link_in_place_of_a_directory_is_replaced_c16() {
    let sandbox = Sandbox::new();
    let elsewhere = sandbox.root().join("elsewhere");
    fs::create_dir_all(elsewhere.join("sub")).unwrap();
    for name in ["f", "sub/g", "private"] {
        fs::write(elsewhere.join(name), "not ours").unwrap();
    }
    sandbox.write("d/f", "one");
    sandbox.write("d/sub/g", "one");
    let before = sandbox.tree();
    let outside = Tree::with_identity(&elsewhere);
    let id = sandbox.save("first");
    for no_openat2 in [false, true] {
        sandbox.remove("d");
        sandbox.link("d", &elsewhere);
        let call = sandbox.call(["reset", &id]);
        let call = if no_openat2 { call.env("CKPT_FAULT_NO_OPENAT2", "1") } else { call };
        let _ = call.run().ok();
        assert_same(&before, &sandbox.tree());
        assert_same(&outside, &Tree::with_identity(&elsewhere));
        let _ = sandbox.ckpt("undo").ok();
        assert_eq!(fs::read_link(sandbox.at("d")).unwrap(), elsewhere);
        assert_same(&outside, &Tree::with_identity(&elsewhere));
    }
}

#[test]
fn unchanged_files_are_not_written_c23() {
    let sandbox = Sandbox::new();
    for number in 0..1000 {
        sandbox.write(format!("d{}/f{number}", number % 10), format!("{number}"));
    }
    let id = sandbox.save("many");
    let before = Tree::with_identity(&sandbox.w());
    sandbox.write("d3/f13", "edited");
    let _ = sandbox.ckpt(&format!("reset {id}")).ok();
    assert_eq!(sandbox.text("d3/f13"), "13");
    assert_same(&before.without("d3/f13"), &Tree::with_identity(&sandbox.w()).without("d3/f13"));
}

#[test]
fn status_is_clean_after_reset_c29() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one");
    sandbox.write("d/b", "one");
    let id = sandbox.save("first");
    sandbox.write("a", "two");
    sandbox.remove("d");
    sandbox.write("c", "two");
    sandbox.save("second");
    let _ = sandbox.ckpt(&format!("reset {id}")).ok();
    let _ = sandbox.ckpt("status --exit-code").exits(0);
    assert_eq!(sandbox.call(["save"]).run().ok().id(), id);
}

#[test]
fn reset_without_a_revision_goes_to_head() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one");
    let first = sandbox.save("first");
    sandbox.write("a", "two");
    sandbox.save("second");
    sandbox.write("a", "three");
    let _ = sandbox.ckpt("reset").ok();
    assert_eq!(sandbox.text("a"), "two");
    let _ = sandbox.ckpt("reset HEAD~1").ok();
    assert_eq!(sandbox.text("a"), "one");
    let _ = sandbox.ckpt(&format!("reset {}", &first[..6])).ok();
    let _ = sandbox.ckpt("reset HEAD~1 --json").fails_with("beyond-lineage");
    let _ = sandbox.ckpt("reset abc --json").fails_with("malformed-revision");
    let _ = sandbox.ckpt("reset 0123456789 --json").fails_with("unknown-checkpoint");
    assert_eq!(sandbox.text("a"), "one");
}

#[test]
fn a_path_in_place_of_a_revision_gets_the_corrected_command() {
    let sandbox = Sandbox::new();
    sandbox.write("src/a", "one");
    sandbox.save("first");
    sandbox.write("src/a", "two");
    let _ = sandbox.ckpt("reset src/a").exits(1).says("ckpt rollback HEAD src/a");
    assert_eq!(sandbox.text("src/a"), "two");
}
