//! Several processes at once: each other, stock git in the store, an editor in the workspace, an attacker beside it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::sandbox::{Call, Output, Sandbox, Tree, assert_same, git_command, steps_of};

#[test]
fn eight_processes_save_eight_times_each_x1() {
    let sandbox = Sandbox::new();
    sandbox.write("base", "x");
    sandbox.save("base");
    let save = |process: usize| -> Vec<String> {
        let one = |round: usize| {
            sandbox.write(format!("p{process}"), format!("{process} {round}"));
            sandbox.call(["save", "--always", "-m", &format!("{process}-{round}")]).run().ok().id()
        };
        (0..8).map(one).collect()
    };
    let mut ids: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|process| scope.spawn(move || save(process))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 64);
    let listed = sandbox.ckpt("ls -n 0 --json").ok().json().to_string();
    for id in &ids {
        assert!(listed.contains(id), "{id} is not listed");
    }
    for process in 0..8 {
        assert_eq!(sandbox.text_in("HEAD", &format!("p{process}")), format!("{process} 7"));
    }
}

#[test]
fn processes_that_make_one_store_make_one_x8() {
    for _ in 0..5 {
        let sandbox = Sandbox::new();
        sandbox.write("a", "1");
        let call = sandbox.call(["save", "-m", "first"]);
        let children: Vec<_> = (0..6).map(|_| call.spawn()).collect();
        let mut ids = Vec::new();
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            ids.push(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        ids.dedup();
        assert_eq!(ids.len(), 1, "one saves, the others find nothing changed");
        assert_eq!(sandbox.stores().len(), 1);
    }
}

#[test]
fn stock_git_in_the_store_is_harmless_x3() {
    let sandbox = Sandbox::new();
    let mut saved = Vec::new();
    let commands: [&[&str]; 6] = [
        &["gc", "--quiet", "--prune=now"],
        &["pack-refs", "--all"],
        &["repack", "-adq"],
        &["gc", "--quiet", "--aggressive", "--prune=now"],
        &["repack", "-adqf", "--depth=50"],
        &["prune", "--expire=now"],
    ];
    for (round, command) in commands.iter().cycle().take(12).enumerate() {
        sandbox.write("a", format!("round {round}\n").repeat(50 + round));
        sandbox.write(format!("d/f{round}"), "x");
        saved.push((sandbox.save("round"), sandbox.tree()));
        sandbox.git_in_store(command);
    }
    for (id, tree) in saved {
        let _ = sandbox.ckpt(&format!("reset {id}")).ok();
        assert_same(&tree, &sandbox.tree());
    }
}

#[test]
fn stock_git_in_a_loop_loses_no_acknowledged_save_x3() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "start");
    sandbox.save("start");
    let store = sandbox.store();
    let stop = AtomicBool::new(false);
    let saved: Vec<(String, String)> = std::thread::scope(|scope| {
        for command in [&["gc", "--quiet", "--prune=now"][..], &["pack-refs", "--all"], &["repack", "-adq"]] {
            let (stop, store) = (&stop, &store);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let mut git = git_command();
                    let _ = git.arg("--git-dir").arg(store).args(command).stderr(Stdio::null()).status();
                }
            });
        }
        let save = |round: usize| {
            let content = format!("round {round}");
            sandbox.write("a", &content);
            let output = sandbox.call(["save"]).run();
            (output.ok().id(), content)
        };
        let saved = (0..25).map(save).collect();
        stop.store(true, Ordering::Relaxed);
        saved
    });
    for (id, content) in saved {
        let _ = sandbox.ckpt(&format!("rollback {id} a")).ok();
        assert_eq!(sandbox.text("a"), content);
    }
}

#[test]
fn gc_between_any_two_steps_of_a_save_takes_nothing_l46() {
    let prepare = || {
        let sandbox = Sandbox::new();
        sandbox.write("a", "one");
        sandbox.save("first");
        sandbox.write("a", "two");
        sandbox.write("d/new", "new");
        sandbox
    };
    let sandbox = prepare();
    let (output, steps) = steps_of(sandbox.call(["save"]));
    let _ = output.ok();
    for number in 1..=steps {
        let sandbox = prepare();
        let store = sandbox.store();
        let before = sandbox.tree();
        let gc = format!("run:git --git-dir='{}' gc --quiet --prune=now", store.display());
        let id = sandbox.call(["save"]).fault(number, &gc).run().ok().id();
        sandbox.git_in_store(&["gc", "--quiet", "--prune=now"]);
        sandbox.remove("d");
        let _ = sandbox.ckpt(&format!("reset {id}")).ok();
        assert_eq!(before.differences(&sandbox.tree()), "", "step {number}");
    }
}

#[test]
fn an_edit_at_any_step_of_a_reset_is_kept_l44() {
    let prepare = || {
        let sandbox = Sandbox::new();
        sandbox.write("d/f", "one");
        sandbox.write("d/g", "one");
        let id = sandbox.save("first");
        sandbox.write("d/f", "two");
        sandbox.write("d/g", "two");
        sandbox.write("d/extra", "two");
        (sandbox, id)
    };
    let (sandbox, id) = prepare();
    let (output, steps) = steps_of(sandbox.call(["reset", &id]));
    let _ = output.ok();
    let in_place = "printf 'edited now' > d/f; printf 'extra now' > d/extra";
    let by_rename = "printf 'edited now' > .tmp-editor; mv .tmp-editor d/f; printf 'extra now' > d/extra";
    for number in 1..=steps {
        for edit in [in_place, by_rename] {
            let (sandbox, id) = prepare();
            let output = sandbox.call(["reset", &id]).fault(number, &format!("run:{edit}")).run();
            assert!(matches!(output.code, Some(0 | 3)), "step {number}, {edit}: {output}");
            for (path, content) in [("d/f", "edited now"), ("d/extra", "extra now")] {
                let stands = sandbox.has(path) && sandbox.text(path) == content;
                assert!(stands || sandbox.is_held(content), "{path} at step {number}, {edit}: {output}");
            }
            assert_eq!(sandbox.text("d/g"), "one", "step {number}, {edit}: {output}");
            assert!(sandbox.is_held("two"), "step {number}, {edit}");
        }
    }
}

/// A workspace in which a reset replaces `f` and deletes `g`, and its id.
fn one_replaced_one_deleted() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.write("f", "one");
    let id = sandbox.save("first");
    sandbox.write("f", "two");
    sandbox.write("g", "two");
    sandbox.save("second");
    (sandbox, id)
}

/// Every version of `f` and `g` that [`EDITOR`] saved stands somewhere in the workspace, or the store holds it, or the
/// editor took it away itself.
fn assert_versions_are_kept(sandbox: &Sandbox, what: &str) {
    let saves: usize = fs::read_to_string(sandbox.root().join("saves")).unwrap_or_default().trim().parse().unwrap_or(0);
    let (now, taken) = (sandbox.tree(), Tree::of(&sandbox.root().join("taken")));
    for number in 1..=saves {
        for name in ["f", "g"] {
            let content = format!("{name} number {number}");
            let stands = now.contents().chain(taken.contents()).any(|(_, known)| known == content.as_bytes());
            assert!(stands || sandbox.is_held(&content), "{content} is lost: {what}\n{now:?}");
        }
    }
}

/// Saves both files, each time with other content, as editors do that keep a backup: what stood there goes to `taken`.
const EDITOR: &str = "n=$(( $(cat ../saves 2>/dev/null || echo 0) + 1 )); echo $n > ../saves; mkdir -p ../taken; \
    for name in f g; do [ ! -e $name ] || mv $name ../taken/$name.$n; printf \"$name number $n\" > ../ed; \
    mv ../ed $name; done";

#[test]
fn two_edits_at_any_steps_of_a_reset_are_both_kept_l44() {
    let (sandbox, id) = one_replaced_one_deleted();
    let (output, steps) = steps_of(sandbox.call(["reset", &id]));
    let _ = output.ok();
    for first in 1..=steps + 2 {
        for second in [first + 1, first + 2] {
            let (sandbox, id) = one_replaced_one_deleted();
            let at = format!("{first},{second},{}", second + 1);
            let call = sandbox.call(["reset", &id]).fault(first, &format!("run:{EDITOR}"));
            let output = call.env("CKPT_FAULT_AT", &at).run();
            assert!(matches!(output.code, Some(0 | 3)), "steps {at}: {output}");
            assert_versions_are_kept(&sandbox, &format!("steps {at}: {output}"));
            let hidden = fs::read_dir(sandbox.w()).unwrap().map(|entry| entry.unwrap().file_name());
            let hidden = hidden.filter(|name| name.to_string_lossy().starts_with(".ckpt-")).count();
            assert_eq!(hidden, 0, "steps {at}: {output}");
            for kept in ["f.ckpt-kept", "g.ckpt-kept"].into_iter().filter(|kept| sandbox.has(kept)) {
                assert!(output.all().contains(kept), "it is named; steps {at}: {output}");
            }
        }
    }
}

#[test]
fn an_edit_a_kill_and_another_edit_lose_nothing_l41_l44() {
    let (sandbox, id) = one_replaced_one_deleted();
    let (output, steps) = steps_of(sandbox.call(["reset", &id]));
    let _ = output.ok();
    for first in 1..steps {
        for (then, undo) in [(EDITOR, false), ("true", false), (EDITOR, true)] {
            let (sandbox, id) = one_replaced_one_deleted();
            let at = format!("{first},{}", first + 1);
            let action = format!("run:if [ -e ../saves ]; then kill -9 $PPID; else {EDITOR}; fi");
            let output = sandbox.call(["reset", &id]).fault(first, &action).env("CKPT_FAULT_AT", &at).run();
            let what = format!("steps {at}, then {then}: {output}");
            let _ = output.killed();
            let status = std::process::Command::new("sh").args(["-c", then]).current_dir(sandbox.w()).status();
            assert!(status.unwrap().success());
            let next = sandbox.ckpt(if undo { "undo" } else { "status" });
            assert_versions_are_kept(&sandbox, &format!("{what}{next}"));
            let _ = sandbox.ckpt("save").ok();
            assert_versions_are_kept(&sandbox, &format!("{what}{next}, after a save"));
        }
    }
}

#[test]
fn an_edit_before_a_change_of_mode_keeps_its_own_mode_l44() {
    let prepare = || {
        let sandbox = Sandbox::new();
        sandbox.write("f", "one");
        sandbox.mode("f", 0o644);
        let id = sandbox.save("first");
        sandbox.mode("f", 0o600);
        sandbox.save("second");
        (sandbox, id)
    };
    let (sandbox, id) = prepare();
    let (output, steps) = steps_of(sandbox.call(["reset", &id]));
    let _ = output.ok();
    let edit = "run:printf secret > .editor; chmod 600 .editor; mv .editor f";
    for number in 1..=steps {
        let (sandbox, id) = prepare();
        let output = sandbox.call(["reset", &id]).fault(number, edit).run();
        let mode = fs::metadata(sandbox.at("f")).unwrap().permissions().mode() & 0o777;
        let is_restored = sandbox.text("f") == "one" && sandbox.is_held("secret");
        assert!(is_restored || mode == 0o600, "step {number}: {mode:o} {output}");
    }
}

#[test]
fn a_command_that_fails_says_what_it_finished_before() {
    let (sandbox, id) = one_replaced_one_deleted();
    let log = sandbox.root().join("steps");
    let _ = sandbox.call(["reset", &id]).config("threads", "1").env("CKPT_FAULT_LOG", &log).run().ok();
    let steps = fs::read_to_string(&log).unwrap();
    let at =
        steps.lines().find(|line| line.contains(" exchange f")).unwrap().split(' ').next().unwrap().parse().unwrap();
    for words in ["rollback HEAD nosuch", "redo", "diff HEAD~7", "reset 0123456789"] {
        let (sandbox, id) = one_replaced_one_deleted();
        let _ = sandbox.call(["reset", &id]).fault(at, "kill").run().killed();
        let before = sandbox.tree();
        let output = sandbox.ckpt(&format!("{words} --json"));
        let is_finished = !before.differences(&sandbox.tree()).is_empty();
        let warnings = output.json()["warnings"].to_string();
        assert_eq!(warnings.matches("\"recovered\"").count(), usize::from(is_finished), "{words}: {output}");
    }
}

#[test]
fn a_directory_that_was_made_writable_gets_its_mode_again_l30() {
    let Some(sandbox) = Sandbox::unprivileged() else { return };
    let prepare = |sandbox: &Sandbox| {
        let _ = fs::set_permissions(sandbox.at("d"), PermissionsExt::from_mode(0o755));
        for name in ["d/f", "d/g"] {
            sandbox.write(name, "one");
        }
        sandbox.mode("d", 0o555);
        let id = sandbox.save("first");
        sandbox.mode("d", 0o755);
        for name in ["d/f", "d/g"] {
            sandbox.write(name, "two");
        }
        sandbox.mode("d", 0o555);
        sandbox.save("second");
        id
    };
    let id = prepare(&sandbox);
    let (output, steps) = steps_of(sandbox.call(["reset", &id]));
    let _ = output.ok();
    for number in 1..=steps {
        let Some(sandbox) = Sandbox::unprivileged() else { return };
        let id = prepare(&sandbox);
        let before = sandbox.tree();
        let _ = sandbox.call(["reset", &id]).fault(number, "kill").run().killed();
        let next = sandbox.ckpt("undo");
        let now = sandbox.tree();
        assert_eq!(before.differences(&now), "", "step {number}: {next}");
        sandbox.mode("d", 0o755);
    }
}

#[test]
fn a_directory_swapped_for_a_link_leads_nowhere_s2() {
    let prepare = || {
        let sandbox = Sandbox::new();
        sandbox.write("d/sub/f", "one");
        sandbox.write("d/sub/gone", "one");
        let id = sandbox.save("first");
        sandbox.write("d/sub/f", "two");
        sandbox.remove("d/sub/gone");
        sandbox.write("d/sub/new", "two");
        let outside = sandbox.root().join("outside");
        fs::create_dir_all(outside.join("sub")).unwrap();
        for name in ["sub/f", "sub/new", "f", "new", "private"] {
            fs::write(outside.join(name), "not ours").unwrap();
        }
        (sandbox, id, outside)
    };
    let (sandbox, id, _) = prepare();
    let (output, steps) = steps_of(sandbox.call(["reset", &id]));
    let _ = output.ok();
    for number in 1..=steps {
        for (no_openat2, swapped) in [(false, "d"), (true, "d"), (false, "d/sub"), (true, "d/sub")] {
            let (sandbox, id, outside) = prepare();
            let before = Tree::with_identity(&outside);
            let swap = format!("run:mv {swapped} swapped && ln -s '{}' {swapped}", outside.display());
            let call = sandbox.call(["reset", &id]).fault(number, &swap);
            let call = if no_openat2 { call.env("CKPT_FAULT_NO_OPENAT2", "1") } else { call };
            let output = call.run();
            assert!(output.code.is_some(), "{output}");
            assert_same(&before, &Tree::with_identity(&outside));
            assert!(!sandbox.is_held("not ours"), "it was read: step {number}: {output}");
            // What a test's own swap leaves behind is not a temporary of ours to judge.
            let _ = sandbox.ckpt("status");
            assert_same(&before, &Tree::with_identity(&outside));
        }
    }
}

#[test]
fn a_held_lock_is_waited_for_and_named() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.save("first");
    sandbox.write("a", "2");
    let locks = sandbox.checkpoint_dir().join("locks");
    let path = fs::read_dir(locks).unwrap().next().unwrap().unwrap().path();
    let lock = fs::File::options().read(true).write(true).open(path).unwrap();
    lock.lock().unwrap();
    let start = Instant::now();
    let _ = sandbox.call(["save", "--json"]).config("lock_timeout", "300ms").run().fails_with("locked");
    assert!(start.elapsed() >= Duration::from_millis(300));
    // Readers need no lock.
    let _ = sandbox.ckpt("ls").ok().says("first");
    let _ = sandbox.ckpt("status --exit-code").exits(4);
    let child = sandbox.call(["save"]).spawn();
    std::thread::sleep(Duration::from_millis(200));
    lock.unlock().unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
}

/// Runs a call that has to wait, and presses Ctrl-C; how it ended, and how long after that.
fn interrupted(call: &Call<'_>) -> (Output, Duration) {
    let child = call.spawn();
    std::thread::sleep(Duration::from_millis(700));
    let pressed = Instant::now();
    let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = Output::new(&[], child.wait_with_output().unwrap());
    (output, pressed.elapsed())
}

#[test]
fn an_interrupt_ends_the_wait_for_a_lock() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.save("first");
    sandbox.write("a", "2");
    let locks = sandbox.checkpoint_dir().join("locks");
    let path = fs::read_dir(locks).unwrap().next().unwrap().unwrap().path();
    let lock = fs::File::options().read(true).write(true).open(path).unwrap();
    lock.lock().unwrap();
    for words in ["save", "reset"] {
        let (output, took) = interrupted(&sandbox.call([words]));
        let output = output.exits(130).says("waiting for another process").says("everything is as it was before");
        assert!(output.stdout.is_empty() && took < Duration::from_secs(5), "{took:?}: {output}");
    }
    lock.unlock().unwrap();
    // The same for the lock of a git that works in the store.
    let lock = sandbox.store().join("refs/heads/timeline.lock");
    fs::write(&lock, "").unwrap();
    let (output, took) = interrupted(&sandbox.call(["save"]));
    let output = output.exits(130);
    assert!(output.stdout.is_empty() && took < Duration::from_secs(5), "{took:?}: {output}");
    fs::remove_file(lock).unwrap();
    assert_eq!(sandbox.text("a"), "2");
    sandbox.save("second");
    assert_eq!(sandbox.ckpt("ls --json").ok().json()["checkpoints"].as_array().unwrap().len(), 2);
}
