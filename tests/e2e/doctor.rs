//! `doctor`: everything that is not as it should be is a line with what to do about it, and nothing is changed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::damage::with_extension;
use crate::sandbox::{Call, Output, Sandbox, Tree, assert_same, is_root, redact, skip};

/// The binary's directory and those of stock programs.
fn path_with(dirs: &[&Path]) -> String {
    let own = PathBuf::from(env!("CARGO_BIN_EXE_ckpt"));
    let mut path: Vec<String> = dirs.iter().map(|dir| dir.display().to_string()).collect();
    path.push(own.parent().unwrap().display().to_string());
    path.push("/usr/bin:/bin".to_owned());
    path.join(":")
}

fn call<'a>(sandbox: &'a Sandbox, words: &str) -> Call<'a> {
    sandbox.call(words.split(' ')).durable().env("PATH", path_with(&[]))
}

/// What `doctor --json` says, which changed nothing.
fn doctor_by(sandbox: &Sandbox, change: impl FnOnce(Call<'_>) -> Call<'_>) -> (Output, Value) {
    let before = Tree::with_identity(sandbox.root());
    let output = change(call(sandbox, "doctor --json")).run();
    assert!(matches!(output.code, Some(0 | 3)), "{output}");
    assert_same(&before, &Tree::with_identity(sandbox.root()));
    let json = output.json();
    assert_eq!(json["healthy"], output.code == Some(0), "{output}");
    (output, json)
}

fn doctor(sandbox: &Sandbox) -> (Output, Value) {
    doctor_by(sandbox, |call| call)
}

/// The findings that are not fine, as `level code`.
fn found(json: &Value) -> Vec<String> {
    let findings = json["findings"].as_array().unwrap().iter();
    let bad = findings.filter(|finding| finding["level"] != "ok");
    bad.map(|finding| format!("{} {}", finding["level"].as_str().unwrap(), finding["code"].as_str().unwrap())).collect()
}

fn finding<'a>(json: &'a Value, code: &str) -> &'a Value {
    let findings = json["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["code"] == code);
    found.unwrap_or_else(|| panic!("{code} is expected: {json:#}"))
}

/// Expects exactly one finding, which says what to do by a command; runs that command in the workspace.
#[track_caller]
fn expect(sandbox: &Sandbox, wanted: &str) -> String {
    let (output, json) = doctor(sandbox);
    assert_eq!(found(&json), [wanted], "{output}");
    assert_eq!(output.code, Some(if wanted.starts_with("problem") { 3 } else { 0 }), "{output}");
    command_of(finding(&json, wanted.split(' ').nth(1).unwrap()))
}

fn command_of(finding: &Value) -> String {
    let remedy = finding["remedy"].as_str().unwrap_or_else(|| panic!("something to do is expected: {finding}"));
    remedy.rsplit_once(": ").unwrap_or_else(|| panic!("a command is expected: {remedy}")).1.to_owned()
}

fn paste(sandbox: &Sandbox, command: &str) {
    let output = Command::new("sh")
        .args(["-c", command])
        .env_clear()
        .env("PATH", path_with(&[]))
        .env("HOME", sandbox.home())
        .current_dir(sandbox.w())
        .output()
        .unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Expects the finding, pastes what is to be done, and expects that all is well then.
#[track_caller]
fn expect_cured(sandbox: &Sandbox, wanted: &str) {
    let command = expect(sandbox, wanted);
    paste(sandbox, &command);
    let (output, json) = doctor(sandbox);
    assert_eq!(found(&json), [""; 0], "after {command}: {output}");
}

fn set_mtime(path: &Path, when: &str) {
    assert!(Command::new("touch").args(["-d", when]).arg(path).status().unwrap().success());
}

fn saved() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one");
    let _ = call(&sandbox, "save -m first").run().ok();
    sandbox
}

#[test]
fn all_is_well_in_a_few_lines() {
    let sandbox = saved();
    let output = call(&sandbox, "doctor").run().ok().says("all is well");
    assert!(output.out().lines().all(|line| line.starts_with("ok ")), "{output}");
    let text = redact(&output.out(), sandbox.root());
    assert!(text.lines().count() <= 12, "{text}");
    let (output, json) = doctor(&sandbox);
    assert_eq!(found(&json), [""; 0], "{output}");
    assert_eq!((json["stores"][0]["state"].as_str(), json["stores"][0]["packs"].as_u64()), (Some("valid"), Some(3)));
    assert!(json["disk"]["free_bytes"].as_u64() <= json["disk"]["total_bytes"].as_u64());
}

#[test]
fn before_the_first_save_all_is_well_and_nothing_is_made() {
    let sandbox = Sandbox::new();
    let (output, json) = doctor(&sandbox);
    assert_eq!(found(&json), [""; 0], "{output}");
    assert!(output.out().contains("first save"), "{output}");
    assert!(!sandbox.checkpoint_dir().exists());
}

#[test]
fn workspaces_that_are_not_at_their_place_are_told() {
    let sandbox = saved();
    for name in ["gone", "renamed", "obstructed"] {
        sandbox.saved_workspace(name);
    }
    let away = sandbox.root().join("volume/unmounted");
    sandbox.write(away.join("f"), "x");
    let _ = sandbox.call(["-w", ".", "save"]).dir(&away).run().ok();
    fs::rename(sandbox.root().join("volume"), sandbox.root().join("elsewhere")).unwrap();
    fs::remove_dir_all(sandbox.root().join("gone")).unwrap();
    fs::rename(sandbox.root().join("renamed"), sandbox.root().join("another")).unwrap();
    fs::rename(sandbox.root().join("obstructed"), sandbox.root().join("aside")).unwrap();
    fs::write(sandbox.root().join("obstructed"), "a file").unwrap();
    let (output, json) = doctor(&sandbox);
    let mut states = found(&json);
    states.sort();
    let expected = ["gone", "moved", "obstructed", "unmounted"].map(|word| format!("warning workspace-{word}"));
    assert_eq!(states, expected, "{output}");
    assert_eq!(output.code, Some(0), "{output}");
    paste(&sandbox, &command_of(finding(&json, "workspace-moved")));
    for code in ["workspace-gone", "workspace-unmounted", "workspace-obstructed"] {
        paste(&sandbox, &command_of(finding(&json, code)));
    }
    paste(&sandbox, "ckpt prune --yes");
    assert!(!doctor(&sandbox).0.out().contains("workspace-gone"));
    sandbox.expect_damage();
}

#[test]
fn broken_stores_are_problems_and_what_is_not_ours_is_none() {
    let sandbox = saved();
    sandbox.expect_damage();
    fs::create_dir(sandbox.checkpoint_dir().join("python_repo")).unwrap();
    let (output, json) = doctor(&sandbox);
    assert_eq!(found(&json), [""; 0], "{output}");
    let _ = call(&sandbox, "doctor").run().ok().says("1 more that ckpt did not make").keeps_quiet_about("python_repo");
    let store = sandbox.stores().into_iter().find(|store| store.join("HEAD").exists()).unwrap();
    let copy = sandbox.checkpoint_dir().join("copy");
    assert!(Command::new("cp").arg("-a").args([&store, &copy]).status().unwrap().success());
    expect_cured(&sandbox, "problem broken-store");
    // The record, by a repair in the directory that it belongs to.
    fs::remove_file(store.join("ckpt/worktree")).unwrap();
    expect_cured(&sandbox, "problem broken-store");
    fs::remove_file(store.join("refs/heads/timeline")).unwrap();
    expect_cured(&sandbox, "problem broken-store");
    let record = fs::read_to_string(store.join("ckpt/worktree")).unwrap();
    fs::write(store.join("ckpt/worktree"), record.replace("ckpt-worktree 1", "ckpt-worktree 9")).unwrap();
    let (output, json) = doctor(&sandbox);
    assert_eq!(found(&json), ["problem broken-store"], "{output}");
    assert!(finding(&json, "broken-store")["remedy"].as_str().unwrap().contains("later"), "{output}");
}

#[test]
fn half_packs_are_mended() {
    let sandbox = saved();
    fs::remove_file(&with_extension(&sandbox.store().join("objects/pack"), "idx")[0]).unwrap();
    let (output, json) = doctor(&sandbox);
    assert!(found(&json).contains(&"problem half-pack".to_owned()), "{output}");
    paste(&sandbox, &command_of(finding(&json, "half-pack")));
    let (output, json) = doctor(&sandbox);
    assert_eq!(found(&json), [""; 0], "{output}");
}

#[test]
fn what_a_repair_put_aside_is_told_until_it_is_removed() {
    let sandbox = saved();
    sandbox.write("b", "two".repeat(1000));
    sandbox.save("second");
    let pack = with_extension(&sandbox.store().join("objects/pack"), "pack").remove(0);
    let mut bytes = fs::read(&pack).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    fs::remove_file(&pack).unwrap();
    fs::write(&pack, bytes).unwrap();
    let _ = sandbox.ckpt("verify --full --repair");
    sandbox.expect_damage();
    expect_cured(&sandbox, "warning put-aside");
    assert!(!sandbox.store().join("ckpt/damaged").exists());
}

#[test]
fn locks_say_who_holds_them() {
    let sandbox = saved();
    let lock = with_extension(&sandbox.checkpoint_dir().join("locks"), "lock").remove(0);
    fs::write(&lock, "4711 ckpt\n").unwrap();
    let held = fs::File::open(&lock).unwrap();
    held.lock().unwrap();
    fs::write(sandbox.store().join("ckpt/journal"), "a restore that runs").unwrap();
    let (output, json) = doctor(&sandbox);
    assert_eq!(found(&json), [""; 0], "{output}");
    assert!(finding(&json, "locked")["message"].as_str().unwrap().contains("4711 ckpt"), "{output}");
    set_mtime(&lock, "2 hours ago");
    assert_eq!(expect(&sandbox, "warning locked"), "ps -o pid,etime,args -p 4711");
    held.unlock().unwrap();
    fs::remove_file(sandbox.store().join("ckpt/journal")).unwrap();
}

#[test]
fn locks_and_temporaries_of_stock_git_count_when_they_are_old() {
    let sandbox = saved();
    let store = sandbox.store();
    let left = [store.join("refs/heads/timeline.lock"), store.join("objects/pack/tmp_pack_x")];
    for file in &left {
        fs::write(file, "x").unwrap();
    }
    let (output, json) = doctor(&sandbox);
    assert_eq!(found(&json), [""; 0], "{output}");
    for file in &left {
        set_mtime(file, "2 hours ago");
    }
    expect_cured(&sandbox, "warning git-leftovers");
    for number in 0..9 {
        let file = store.join(format!("objects/pack/tmp_idx_{number}"));
        fs::write(&file, "x").unwrap();
        set_mtime(&file, "2 hours ago");
    }
    expect_cured(&sandbox, "warning git-leftovers");
}

#[test]
fn an_interrupted_restore_is_a_problem_and_finished_by_what_is_pasted_l30() {
    let sandbox = saved();
    sandbox.write("a", "two");
    sandbox.write("b", "two");
    let mut number = 0;
    while !sandbox.store().join("ckpt/journal").exists() {
        number += 1;
        let _ = sandbox.call(["reset"]).fault(number, "kill").run().killed();
    }
    let (output, json) = doctor(&sandbox);
    assert!(found(&json).contains(&"problem interrupted-restore".to_owned()), "{output}");
    paste(&sandbox, &command_of(finding(&json, "interrupted-restore")));
    let (output, json) = doctor(&sandbox);
    assert_eq!(found(&json), [""; 0], "{output}");
}

#[test]
fn what_a_crash_left_is_removed_by_what_is_pasted() {
    let sandbox = saved();
    fs::write(sandbox.store().join("ckpt/tmp-0123456789abcdef-1.pack"), "half a pack").unwrap();
    expect_cured(&sandbox, "warning temporaries");
    for name in ["tmp-0123456789abcdef-0123456789abcdef", "tmp-prune-0123456789abcdef-0123456789abcdef"] {
        fs::create_dir(sandbox.checkpoint_dir().join(name)).unwrap();
        fs::write(sandbox.checkpoint_dir().join(name).join("x"), "half a store").unwrap();
        expect_cured(&sandbox, "warning half-store");
    }
}

#[test]
fn who_may_read_and_write_the_checkpoint_directory() {
    let sandbox = saved();
    sandbox.mode(sandbox.checkpoint_dir(), 0o755);
    expect_cured(&sandbox, "warning readable-by-others");
    sandbox.mode(sandbox.checkpoint_dir(), 0o777);
    expect_cured(&sandbox, "problem writable-by-others");
    sandbox.mode(sandbox.store(), 0o750);
    expect_cured(&sandbox, "warning readable-by-others");
    sandbox.mode(sandbox.store(), 0o770);
    let (output, json) = doctor(&sandbox);
    assert!(found(&json).contains(&"problem unsafe-store".to_owned()), "{output}");
    paste(&sandbox, &command_of(finding(&json, "unsafe-store")));
    let (_, json) = doctor(&sandbox);
    paste(&sandbox, &command_of(finding(&json, "readable-by-others")));
}

#[test]
fn a_checkpoint_directory_of_another_user_or_that_cannot_be_read() {
    let Some(sandbox) = Sandbox::unprivileged() else { return };
    sandbox.write("a", "one");
    sandbox.save("first");
    sandbox.mode(sandbox.checkpoint_dir(), 0o000);
    let (output, json) = doctor(&sandbox);
    assert!(found(&json).contains(&"problem permission-denied".to_owned()), "{output}");
    sandbox.mode(sandbox.checkpoint_dir(), 0o700);
    if !is_root() {
        return skip("only root may give a directory away");
    }
    std::os::unix::fs::chown(sandbox.checkpoint_dir(), Some(0), Some(0)).unwrap();
    sandbox.mode(sandbox.checkpoint_dir(), 0o755);
    let (output, json) = doctor(&sandbox);
    assert!(found(&json).contains(&"problem foreign-directory".to_owned()), "{output}");
    sandbox.mode(sandbox.checkpoint_dir(), 0o755);
}

#[test]
fn store_and_workspace_inside_each_other_d9() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one");
    let dir = sandbox.at("c").display().to_string();
    let _ = call(&sandbox, "-w . save --force-workspace").config("checkpoint_dir", &dir).run().ok();
    let (output, json) = doctor_by(&sandbox, |call| call.config("checkpoint_dir", &dir));
    assert_eq!(found(&json), ["warning nested-store"], "{output}");
    sandbox.mkdir("c/workspace");
    let (output, json) = doctor_by(&sandbox, |call| {
        call.config("checkpoint_dir", &dir).env("CKPT_WORKSPACE", sandbox.at("c/workspace"))
    });
    assert!(found(&json).contains(&"problem nested-store".to_owned()), "{output}");
}

#[test]
fn a_network_file_system_is_a_problem_unless_it_is_taken() {
    let sandbox = saved();
    let (output, json) = doctor_by(&sandbox, |call| call.env("CKPT_FAULT_NETWORK_FS", "1"));
    assert_eq!(found(&json), ["problem network-fs"; 2], "{output}");
    let (output, json) =
        doctor_by(&sandbox, |call| call.env("CKPT_FAULT_NETWORK_FS", "1").config("allow_network_fs", "true"));
    assert_eq!(found(&json), ["warning network-fs"; 2], "{output}");
}

#[test]
fn files_from_the_future_tell_of_a_clock() {
    let sandbox = saved();
    set_mtime(&sandbox.store().join("ckpt/worktree"), "3 hours");
    let command = expect(&sandbox, "warning future-time");
    paste(&sandbox, &command);
}

#[test]
fn the_configuration_is_looked_at() {
    let sandbox = saved();
    sandbox.write("fabricatio.toml", "[checkpoint]\nmax_file_byte = 1\n");
    let command = expect(&sandbox, "warning unknown-key");
    assert_eq!(command, "ckpt config");
    sandbox.write("fabricatio.toml", "[checkpoint\n");
    let (output, json) = doctor(&sandbox);
    assert_eq!(found(&json), ["problem config-malformed"], "{output}");
    let elsewhere = sandbox.root().join("elsewhere");
    sandbox.write("fabricatio.toml", format!("[checkpoint]\ncheckpoint_dir = {elsewhere:?}\n"));
    let (output, json) = doctor(&sandbox);
    assert_eq!(found(&json), ["problem checkpoint-dir-redirected"], "{output}");
    sandbox.remove("fabricatio.toml");
    let (output, json) = doctor_by(&sandbox, |call| call.config("durability", "none"));
    assert_eq!(found(&json), ["warning not-durable"], "{output}");
}

#[test]
fn another_ckpt_on_path_is_told_with_its_version_s3() {
    let sandbox = saved();
    let program = |dir: &str, text: &str| {
        let dir = sandbox.root().join(dir);
        sandbox.write(dir.join("ckpt"), text);
        sandbox.mode(dir.join("ckpt"), 0o755);
        dir
    };
    let old = program("old", "#!/bin/sh\necho ckpt 0.0.9\n");
    let (output, json) = doctor_by(&sandbox, |call| call.env("PATH", path_with(&[&old])));
    assert_eq!(found(&json), ["warning other-program"], "{output}");
    let message = finding(&json, "other-program")["message"].as_str().unwrap();
    assert!(message.contains("ckpt 0.0.9") && message.contains("before"), "{output}");
    // A link to this one is no other one, and one that hangs is waited for only so long.
    let links = sandbox.root().join("links");
    fs::create_dir(&links).unwrap();
    symlink(env!("CARGO_BIN_EXE_ckpt"), links.join("ckpt")).unwrap();
    let (output, json) = doctor_by(&sandbox, |call| call.env("PATH", path_with(&[&links])));
    assert_eq!(found(&json), [""; 0], "{output}");
    let slow = program("slow", "#!/bin/sh\nexec sleep 20\n");
    let after = format!("{}:{}", path_with(&[]), slow.display());
    let (output, json) = doctor_by(&sandbox, |call| call.env("PATH", after));
    assert!(finding(&json, "other-program")["message"].as_str().unwrap().contains("after"), "{output}");
    // Nothing of the workspace is run.
    let mark = sandbox.root().join("mark");
    sandbox.trap("bin/ckpt", &mark);
    sandbox.trap("bin/git", &mark);
    for path in [path_with(&[&sandbox.at("bin")]), format!("bin:{}", path_with(&[]))] {
        let (output, json) = doctor_by(&sandbox, |call| call.env("PATH", path));
        assert_eq!(found(&json), ["warning other-program"], "{output}");
        assert!(!mark.exists());
    }
    let (output, json) = doctor_by(&sandbox, |call| call.env("PATH", "/nonexistent"));
    assert_eq!(found(&json), ["warning not-on-path"], "{output}");
    assert!(output.out().contains("none is needed"), "{output}");
}
