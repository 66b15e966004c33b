//! The timeline is lost, as a whole or in parts: it is found again, and no checkpoint goes that stands in the store.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::sandbox::{Sandbox, steps_of};
use crate::verify::{change, kinds, three, trees, verify};

/// The operations on the timeline, oldest first.
pub(crate) fn operations(sandbox: &Sandbox) -> Vec<String> {
    let log = sandbox.git_in_store(&["log", "--format=%H", "--first-parent", "--reverse", "timeline"]);
    log.lines().map(str::to_owned).collect()
}

#[test]
fn the_timeline_is_found_again_x4() {
    type Spoil = (&'static str, fn(&Path));
    let spoils: [Spoil; 4] = [
        ("lost", |path| fs::remove_file(path).unwrap()),
        ("cut", |path| change(path, Vec::clear)),
        ("NUL", |path| change(path, |bytes| bytes.fill(0))),
        ("another object", |path| fs::write(path, "4b825dc642cb6eb9a060e54bf8d69288fbee4904\n").unwrap()),
    ];
    for (what, spoil) in spoils {
        let sandbox = Sandbox::new();
        let ids = three(&sandbox);
        let expected = trees(&sandbox, &ids);
        let listed = sandbox.ckpt("ls -a -q").ok().out();
        let timeline = sandbox.store().join("refs/heads/timeline");
        let before = fs::read(&timeline).unwrap();
        spoil(&timeline);
        let (output, store) = verify(&sandbox, "");
        assert_eq!((output.code, kinds(&store)), (Some(3), vec!["damaged-timeline".to_owned()]), "{what}: {store}");
        let (output, store) = verify(&sandbox, "--repair");
        assert_eq!(output.code, Some(0), "{what}: {store}");
        assert_eq!(fs::read(&timeline).unwrap(), before, "{what}");
        assert_eq!(sandbox.ckpt("ls -a -q").ok().out(), listed, "{what}");
        assert_eq!(trees(&sandbox, &ids), expected, "{what}");
    }
}

/// Removes one object of a store, by unpacking all others into one pack.
pub(crate) fn drop_objects(sandbox: &Sandbox, ids: &[&str]) {
    let store = sandbox.store();
    let kept = "git cat-file --batch-all-objects --batch-check='%(objectname)' | grep -v -e none";
    let without: String = ids.iter().map(|id| format!(" -e {id}")).collect();
    let script = format!(
        "export GIT_DIR='{}'; mkdir $GIT_DIR/aside; {kept}{without} > $GIT_DIR/list
        name=$(git pack-objects -q $GIT_DIR/aside/pack < $GIT_DIR/list)
        rm -f $GIT_DIR/objects/pack/*; mv $GIT_DIR/aside/* $GIT_DIR/objects/pack/; rmdir $GIT_DIR/aside; rm $GIT_DIR/list
        echo ckpt > $GIT_DIR/objects/pack/pack-$name.keep; chmod 600 $GIT_DIR/objects/pack/*",
        store.display()
    );
    let status = std::process::Command::new("sh").args(["-euc", &script]).status().unwrap();
    assert!(status.success());
}

#[test]
fn a_lost_operation_or_checkpoint_is_replaced_by_one_that_says_so() {
    for what in ["operation", "checkpoint", "both", "create", "head"] {
        let sandbox = Sandbox::new();
        let ids = three(&sandbox);
        let _ = sandbox.ckpt(&format!("reset {}", ids[0])).ok();
        let _ = sandbox.ckpt("undo").ok();
        let expected = trees(&sandbox, &ids);
        let operations = operations(&sandbox);
        let dropped = match what {
            "operation" => vec![operations[2].as_str()],
            "checkpoint" => vec![ids[1].as_str()],
            "create" => vec![operations[0].as_str()],
            "head" => vec![ids[2].as_str()],
            _ => vec![operations[2].as_str(), ids[1].as_str()],
        };
        sandbox.expect_damage();
        drop_objects(&sandbox, &dropped);
        let (output, store) = verify(&sandbox, "");
        assert_eq!(output.code, Some(3), "{what}: {store}");
        let (output, store) = verify(&sandbox, "--repair");
        let is_whole = matches!(what, "operation" | "create");
        assert_eq!(output.code, Some(if is_whole { 0 } else { 3 }), "{what}: {store}");
        let gone = match what {
            "operation" | "create" => None,
            "head" => Some(2),
            _ => Some(1),
        };
        let lost = store["lost"].as_array().unwrap().iter().map(|lost| &lost["checkpoint"]);
        let lost: Vec<&Value> = lost.filter(|id| !id.is_null()).collect();
        assert_eq!(lost, gone.map(|gone| ids[gone].as_str()).into_iter().collect::<Vec<_>>(), "{what}: {store}");
        let _ = sandbox.ckpt("verify --full").ok();
        sandbox.git_in_store(&["fsck", "--full", "--strict"]);
        for words in ["ls", "ls -n 1", "ls -a", "status", "diff", "show HEAD~1", "undo"] {
            let _ = sandbox.ckpt(words).ok();
        }
        let restored = trees(&sandbox, &ids);
        for (number, restored) in restored.iter().enumerate() {
            assert_eq!(*restored, expected[number].clone().filter(|_| gone != Some(number)), "{what}: {number}");
        }
        sandbox.write("a", "after the repair");
        sandbox.save("after");
        let _ = sandbox.ckpt("verify --full").ok();
    }
}

/// Their checkpoints stand whole beside them, and say where they belong.
#[test]
fn the_checkpoints_of_the_newest_operations_outlive_them_x4() {
    for newest in [1, 2, 4] {
        let sandbox = Sandbox::new();
        let ids = three(&sandbox);
        let expected = trees(&sandbox, &ids);
        let sandbox = Sandbox::new();
        let ids = three(&sandbox);
        sandbox.expect_damage();
        let operations = operations(&sandbox);
        let lost: Vec<&str> = operations.iter().rev().take(newest).map(String::as_str).collect();
        drop_objects(&sandbox, &lost);
        sandbox.remove("a");
        let (output, store) = verify(&sandbox, "--full --repair");
        assert_eq!((output.code, kinds(&store)), (Some(0), vec!["damaged-timeline".to_owned()]), "{newest}: {store}");
        let listed = sandbox.ckpt("ls -a").ok().out();
        assert!(ids.iter().all(|id| listed.contains(&id[..12])), "{newest}: {listed}");
        assert!(listed.starts_with(&format!("* {}", &ids[2][..12])), "{newest}: {listed}");
        let _ = sandbox.ckpt("rollback HEAD a").ok();
        assert_eq!(sandbox.text("a"), "three", "{newest}");
        assert_eq!(trees(&sandbox, &ids), expected, "{newest}");
        let _ = sandbox.ckpt("verify --full").ok();
        sandbox.git_in_store(&["fsck", "--full", "--strict"]);
    }
}

/// What a history loses before it is repaired.
#[derive(Clone, Copy, Debug)]
enum Loss {
    /// The ref, and no operation.
    Ref,
    /// The operation of the acknowledged checkpoint, which is the tip.
    Tip,
    /// That operation, with others after it.
    Middle,
    /// That operation and the next one.
    Two,
    /// The next one, so that nothing names that operation as its parent.
    Next,
}

/// A command that was killed or failed may leave what it packed, with the number of what was recorded in its place.
#[test]
fn what_was_never_recorded_takes_the_place_of_nothing_x4() {
    let first = |sandbox: &Sandbox| {
        for name in ["a", "b", "c"] {
            sandbox.write(name, "one");
        }
        let one = sandbox.save("one");
        for name in ["a", "b", "c"] {
            sandbox.write(name, "never");
        }
        one
    };
    for (verb, action) in [("save", "kill"), ("reset", "kill"), ("reset", "eio")] {
        let words =
            |one: &str| if verb == "save" { vec!["save".to_owned()] } else { vec!["reset".to_owned(), one.to_owned()] };
        let sandbox = Sandbox::new();
        let one = first(&sandbox);
        let (output, steps) = steps_of(sandbox.call(words(&one)));
        let _ = output.ok();
        for number in 1..=steps {
            // Half of them at each step, the others at the next.
            for loss in
                if number % 2 == 0 { [Loss::Ref, Loss::Two, Loss::Next] } else { [Loss::Tip, Loss::Middle, Loss::Next] }
            {
                let what = format!("{verb}, {action} at {number}, {loss:?}");
                let sandbox = Sandbox::new();
                let one = first(&sandbox);
                let _ = sandbox.call(words(&one)).fault(number, action).run();
                sandbox.write("a", "precious");
                let acknowledged = sandbox.save("acknowledged");
                sandbox.expect_damage();
                let lost = operations(&sandbox).pop().unwrap();
                let mut last = "acknowledged";
                if matches!(loss, Loss::Middle | Loss::Two | Loss::Next) {
                    let _ = sandbox.ckpt(&format!("reset {one}")).ok();
                    let next = operations(&sandbox).pop().unwrap();
                    let _ = sandbox.ckpt(&format!("reset {acknowledged}")).ok();
                    sandbox.write("a", "last");
                    sandbox.save("last");
                    last = "last";
                    let both = [lost.as_str(), next.as_str()];
                    let dropped = match loss {
                        Loss::Two => &both[..],
                        Loss::Next => &both[1..],
                        _ => &both[..1],
                    };
                    drop_objects(&sandbox, dropped);
                } else if matches!(loss, Loss::Tip) {
                    drop_objects(&sandbox, &[&lost]);
                } else {
                    change(&sandbox.store().join("refs/heads/timeline"), Vec::clear);
                }
                sandbox.write("a", "lost by somebody");
                // Of a reset there is nothing to stand in its place.
                let lost_reset = matches!(loss, Loss::Two | Loss::Next);
                let repaired = sandbox.ckpt("verify --full --repair").exits(if lost_reset { 3 } else { 0 });
                let _ = sandbox.ckpt("verify --full").ok().keeps_quiet_about("timeline ");
                let head = sandbox.ckpt("show HEAD --json").ok().json()["checkpoint"]["message"].to_string();
                assert_eq!(head, format!("\"{last}\""), "{what}: {repaired}{}", sandbox.ckpt("ls -a"));
                let _ = sandbox.ckpt(&format!("reset {acknowledged}")).ok();
                assert_eq!(sandbox.text("a"), "precious", "{what}");
                sandbox.git_in_store(&["fsck", "--full", "--strict"]);
            }
        }
    }
}

/// The checkpoints that hold `text` in `a`, by their messages.
fn holders(sandbox: &Sandbox, text: &str) -> Vec<String> {
    let listed = sandbox.ckpt("ls -a --json").ok().json();
    let all = listed["checkpoints"].as_array().unwrap().iter();
    let holds = |id: &str| sandbox.git_in_store(&["show", &format!("{id}:a")]) == text;
    let message = |it: &Value| it["message"].as_str().unwrap().to_owned();
    all.filter(|it| holds(it["id"].as_str().unwrap())).map(message).collect()
}

/// Where nothing tells which of two was recorded, or what does is wrong, both are kept.
#[test]
fn what_has_no_place_stands_on_the_timeline_again_x4() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one");
    sandbox.save("one");
    sandbox.write("a", "never");
    let (_, steps) = {
        let like = Sandbox::new();
        like.write("a", "one");
        like.save("one");
        like.write("a", "never");
        steps_of(like.call(["save", "never"]))
    };
    let _ = sandbox.call(["save", "never"]).fault(steps - 4, "kill").run().killed();
    sandbox.write("a", "two");
    let two = sandbox.save("two");
    sandbox.expect_damage();
    change(&sandbox.store().join("refs/heads/timeline"), Vec::clear);
    let _ = sandbox.ckpt("verify --repair").ok();
    assert_eq!(holders(&sandbox, "two"), ["two"]);
    assert_eq!(holders(&sandbox, "one"), ["one"]);
    let _ = sandbox.ckpt(&format!("show {two}")).ok();
    let _ = sandbox.ckpt("verify --full").ok();
}

/// Not even the stat cache is left to tell that more was recorded.
#[test]
fn an_old_value_of_the_ref_hides_nothing_without_a_cache_x4() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one");
    sandbox.save("one");
    let timeline = sandbox.store().join("refs/heads/timeline");
    let old = fs::read(&timeline).unwrap();
    for text in ["two", "three"] {
        sandbox.write("a", text);
        sandbox.save(text);
    }
    let listed = sandbox.ckpt("ls -a -q").ok().out();
    sandbox.expect_damage();
    fs::write(&timeline, old).unwrap();
    for name in ["stat-cache", "stat-cache-changes"] {
        let _ = fs::remove_file(sandbox.store().join("ckpt").join(name));
    }
    let (output, store) = verify(&sandbox, "");
    assert_eq!((output.code, kinds(&store)), (Some(3), vec!["damaged-timeline".to_owned()]), "{store}");
    let _ = sandbox.ckpt("verify --repair").ok();
    assert_eq!(sandbox.ckpt("ls -a -q").ok().out(), listed);
    let _ = sandbox.ckpt("verify --full").ok();
}

/// What a killed save left fits no number below a checkpoint that was made after another head.
#[test]
fn a_killed_save_stands_for_no_lost_reset_x4() {
    let begun = || {
        let sandbox = Sandbox::new();
        sandbox.write("a", "one");
        let one = sandbox.save("one");
        sandbox.write("a", "two");
        let two = sandbox.save("two");
        let _ = sandbox.ckpt(&format!("reset {one}")).ok();
        sandbox.write("a", "ghost");
        (sandbox, two)
    };
    let (_, steps) = steps_of(begun().0.call(["save", "ghost"]));
    for number in 1..=steps {
        let (sandbox, two) = begun();
        let _ = sandbox.call(["save", "ghost"]).fault(number, "kill").run().killed();
        let was_recorded = sandbox.ckpt("ls -a").ok().out().contains("ghost");
        sandbox.write("a", "one");
        let _ = sandbox.ckpt(&format!("reset {two}")).ok();
        sandbox.write("a", "last");
        sandbox.save("last");
        sandbox.expect_damage();
        let operations = operations(&sandbox);
        let lost: Vec<&str> = operations.iter().rev().take(2).map(String::as_str).collect();
        drop_objects(&sandbox, &lost);
        let repaired = sandbox.ckpt("verify --full --repair").ok();
        let listed = sandbox.ckpt("ls").ok().out();
        assert!(was_recorded || !listed.contains("ghost"), "{number}: {repaired}{listed}");
        assert!(repaired.all().matches("damaged-timeline").count() >= 2, "both are named: {repaired}");
    }
}

/// `git pack-refs` leaves an old value behind, which comes back when the file of the ref goes.
#[test]
fn an_old_value_of_the_ref_hides_nothing_x4() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one");
    sandbox.save("one");
    sandbox.git_in_store(&["pack-refs", "--all"]);
    for text in ["two", "three"] {
        sandbox.write("a", text);
        sandbox.save(text);
    }
    let listed = sandbox.ckpt("ls -a -q").ok().out();
    sandbox.expect_damage();
    fs::remove_file(sandbox.store().join("refs/heads/timeline")).unwrap();
    let (output, store) = verify(&sandbox, "");
    assert_eq!((output.code, kinds(&store)), (Some(3), vec!["damaged-timeline".to_owned()]), "{store}");
    let _ = sandbox.ckpt("verify --repair").ok();
    assert_eq!(sandbox.ckpt("ls -a -q").ok().out(), listed);
    let _ = sandbox.ckpt("verify --full").ok();
}

/// Stock git unpacked everything, and the ref is lost.
#[test]
fn a_timeline_of_loose_objects_is_found_again_x4() {
    let sandbox = Sandbox::new();
    let ids = three(&sandbox);
    let expected = trees(&sandbox, &ids);
    let listed = sandbox.ckpt("ls -a -q").ok().out();
    sandbox.expect_damage();
    crate::damage::unpack(&sandbox.store());
    change(&sandbox.store().join("refs/heads/timeline"), Vec::clear);
    let _ = sandbox.ckpt("verify --repair").ok();
    assert_eq!(sandbox.ckpt("ls -a -q").ok().out(), listed);
    assert_eq!(trees(&sandbox, &ids), expected);
}

/// A number that nobody can have reached is no reason to fill the memory with what would be lost before it.
#[test]
fn a_crafted_number_is_not_believed_x4() {
    let sandbox = Sandbox::new();
    let ids = three(&sandbox);
    let listed = sandbox.ckpt("ls -a -q").ok().out();
    sandbox.expect_damage();
    let script = format!(
        "cd '{}'; id=$(git cat-file commit {} | sed 's/^ckpt-seq .*/ckpt-seq 4000000000/' | git hash-object -t commit -w --stdin)
        echo $id | git pack-objects -q objects/pack/pack",
        sandbox.store().display(),
        ids[2]
    );
    assert!(std::process::Command::new("sh").args(["-euc", &script]).status().unwrap().success());
    change(&sandbox.store().join("refs/heads/timeline"), Vec::clear);
    let _ = sandbox.ckpt("verify --repair").ok();
    assert_eq!(sandbox.ckpt("ls -a -q").ok().out(), listed);
}

/// Where the ref has an old value, and what was recorded since is lost in parts.
#[test]
fn more_was_recorded_than_an_old_ref_says_x4() {
    for what in ["the cached operation is lost", "the next is lost", "a save and a reset", "a cache as old"] {
        let sandbox = Sandbox::new();
        let mut ids = three(&sandbox);
        let timeline = sandbox.store().join("refs/heads/timeline");
        let old = fs::read(&timeline).unwrap();
        let own = sandbox.store().join("ckpt");
        let old_cache = fs::read(own.join("stat-cache")).unwrap();
        for text in ["four", "five", "six", "seven"] {
            sandbox.write("a", text);
            ids.push(sandbox.save(text));
            if what == "a save and a reset" {
                let _ = sandbox.ckpt(&format!("reset {}", ids[0])).ok();
                break;
            }
        }
        sandbox.expect_damage();
        let operations = operations(&sandbox);
        if what.ends_with("is lost") {
            drop_objects(&sandbox, &[&operations[if what.contains("cached") { operations.len() - 1 } else { 4 }]]);
        }
        if !what.contains("cached") {
            for name in ["stat-cache", "stat-cache-changes"] {
                let _ = fs::remove_file(own.join(name));
            }
        }
        if what == "a cache as old" {
            fs::write(own.join("stat-cache"), &old_cache).unwrap();
        }
        fs::write(&timeline, &old).unwrap();
        let _ = sandbox.ckpt("verify").exits(3).says("damaged-timeline");
        let repaired = sandbox.ckpt("verify --repair").ok();
        let listed = sandbox.ckpt("ls -a -q").ok().out();
        assert!(ids.iter().all(|id| listed.contains(&id[..12])), "{what}: {repaired}{listed}");
        let _ = sandbox.ckpt("verify --full").ok();
    }
}

/// What the timeline was before a repair stands in the store still, and hides nothing of what is lost afterwards.
#[test]
fn a_second_loss_costs_no_checkpoint_its_id_x4() {
    let sandbox = Sandbox::new();
    let mut ids = three(&sandbox);
    let _ = sandbox.ckpt(&format!("reset {}", ids[1])).ok();
    sandbox.write("a", "four");
    ids.push(sandbox.save("four"));
    let _ = sandbox.ckpt(&format!("reset {}", ids[2])).ok();
    sandbox.expect_damage();
    let expected = trees(&sandbox, &ids);
    for number in [2, 3, 1] {
        let lost = operations(&sandbox).remove(number);
        drop_objects(&sandbox, &[&lost]);
        let repaired = sandbox.ckpt("verify --repair").ok();
        let listed = sandbox.ckpt("ls -a -q").ok().out();
        assert!(ids.iter().all(|id| listed.contains(&id[..12])), "{number}: {repaired}{listed}");
        assert_eq!(trees(&sandbox, &ids), expected, "{number}");
    }
}

/// `undo` goes to the next restore that can be taken back.
#[test]
fn a_restore_that_lost_what_it_needs_is_no_end_of_undo_x4() {
    for what in ["operation", "safety checkpoint"] {
        let sandbox = Sandbox::new();
        let ids = three(&sandbox);
        let _ = sandbox.ckpt(&format!("reset {}", ids[0])).ok();
        sandbox.write("a", "edited");
        let _ = sandbox.ckpt(&format!("reset {}", ids[1])).ok();
        sandbox.expect_damage();
        let reset = operations(&sandbox).pop().unwrap();
        let header = |name: &str| {
            let commit = sandbox.git_in_store(&["cat-file", "commit", &reset]);
            let line = commit.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
            line.rsplit(' ').next().unwrap().to_owned()
        };
        let lost = if what == "operation" { reset.clone() } else { header("ckpt-safety") };
        sandbox.write("b", "b");
        sandbox.save("after");
        drop_objects(&sandbox, &[&lost]);
        let _ = sandbox.ckpt("verify --full --repair").exits(3);
        let _ = sandbox.ckpt("verify --full").ok();
        let undone = sandbox.ckpt("undo").ok();
        assert_eq!(sandbox.text("a"), "three", "{what}: {undone}");
        let _ = sandbox.ckpt("undo").exits(1).says("nothing to undo");
        let _ = sandbox.ckpt("redo").ok();
    }
}

/// Each loss of the ref finds again what a killed command left, and puts it on the timeline once.
#[test]
fn what_stands_on_it_again_is_not_put_there_twice_x4() {
    let begun = || {
        let sandbox = Sandbox::new();
        sandbox.write("a", "one");
        sandbox.save("one");
        sandbox.write("a", "ghost");
        sandbox
    };
    let (_, steps) = steps_of(begun().call(["save", "ghost"]));
    // The last step before it is recorded.
    let left = (1..=steps).rev().find_map(|number| {
        let sandbox = begun();
        let _ = sandbox.call(["save", "ghost"]).fault(number, "kill").run().killed();
        let is_left = !sandbox.ckpt("ls -a").ok().out().contains("ghost");
        sandbox.write("a", "one");
        let _ = sandbox.ckpt("save").ok();
        is_left.then_some(sandbox)
    });
    let sandbox = left.unwrap();
    sandbox.write("a", "two");
    sandbox.save("two");
    sandbox.expect_damage();
    let timeline = sandbox.store().join("refs/heads/timeline");
    let mut counts = Vec::new();
    for _ in 0..3 {
        fs::write(&timeline, "").unwrap();
        // Its new pack is there, and the ref has not moved.
        for number in [18, 20] {
            let _ = sandbox.call(["verify", "--repair"]).fault(number, "kill").run();
        }
        fs::write(&timeline, "").unwrap();
        let _ = sandbox.ckpt("verify --repair").ok();
        counts.push(operations(&sandbox).len());
    }
    assert_eq!(counts, [4; 3], "made, one, two, and what was left");
}

/// The ref itself names it.
#[test]
fn a_crafted_tip_is_not_believed_x4() {
    let sandbox = Sandbox::new();
    three(&sandbox);
    let listed = sandbox.ckpt("ls -a -q").ok().out();
    sandbox.expect_damage();
    let script = format!(
        "cd '{}'; id=$(git cat-file commit timeline | sed 's/^ckpt-seq .*/ckpt-seq 100000000/' |
        git hash-object -t commit -w --stdin); echo $id > refs/heads/timeline",
        sandbox.store().display()
    );
    assert!(std::process::Command::new("sh").args(["-euc", &script]).status().unwrap().success());
    let _ = sandbox.ckpt("verify").exits(3);
    let _ = sandbox.ckpt("verify --repair").ok();
    assert_eq!(sandbox.ckpt("ls -a -q").ok().out(), listed);
}

/// Saves went on from there until they had taken all the numbers of what came after it.
#[test]
fn what_an_old_ref_was_saved_over_is_found_again_x4() {
    let sandbox = Sandbox::new();
    let mut ids = three(&sandbox);
    let timeline = sandbox.store().join("refs/heads/timeline");
    let old = fs::read(&timeline).unwrap();
    for text in ["four", "five"] {
        sandbox.write("a", text);
        ids.push(sandbox.save(text));
    }
    sandbox.expect_damage();
    fs::write(&timeline, &old).unwrap();
    for number in 0..5 {
        sandbox.write("a", format!("went on {number}"));
        ids.push(sandbox.save("went on"));
    }
    let _ = sandbox.ckpt("verify").exits(3).says("beside-timeline");
    let _ = sandbox.ckpt("verify --repair").ok();
    let _ = sandbox.ckpt("verify --full").ok();
    let listed = sandbox.ckpt("ls -a -n 0 -q").ok().out();
    let kept = ids[..3].iter().chain(&ids[5..]);
    assert!(kept.into_iter().all(|id| listed.contains(&id[..12])), "{listed}");
    assert_eq!(
        (holders(&sandbox, "four"), holders(&sandbox, "five")),
        (vec!["four".to_owned()], vec!["five".to_owned()])
    );
}
