//! Other file systems: volumes that come and go, a disk that is full or read-only. In a mount namespace of their own, so
//! that nothing stays mounted.

use std::fs;
use std::process::Command;

use crate::sandbox::{Sandbox, is_root, skip};

/// Runs a script in which `$CKPT` is the binary and mounts are private; its stdout. `None`, with the reason printed, where
/// nothing can be mounted.
pub(crate) fn with_mounts(sandbox: &Sandbox, script: &str) -> Option<String> {
    let unshare: &[&str] = if is_root() { &["-m"] } else { &["-rm"] };
    let can = Command::new("unshare").args(unshare).args(["mount", "-t", "tmpfs", "none", "/mnt"]).output();
    if !can.is_ok_and(|output| output.status.success()) {
        skip("nothing can be mounted here");
        return None;
    }
    let output = Command::new("unshare")
        .args(unshare)
        .args(["sh", "-euc", script])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", sandbox.home())
        .env("CKPT", sandbox.binary())
        .env("FABRICATIO_CHECKPOINT__DURABILITY", "none")
        .current_dir(sandbox.root())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    Some(text)
}

#[test]
fn an_unmounted_volume_is_no_deletion_l40() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1\n");
    sandbox.mkdir("data");
    let script = "
        mkdir volume; mount -t tmpfs none volume; echo one > volume/f; mkdir volume/sub; echo two > volume/sub/g
        mount --bind volume w/data
        first=$($CKPT -w w save -m mounted)
        umount w/data
        echo 2 > w/a
        second=$($CKPT -w w save -m unmounted --json)
        echo \"$second\"
        id=$($CKPT -w w save -m again --always)
        git -c safe.directory='*' --git-dir=$(echo home/.fabricatio-checkpoint/w_*) ls-tree -r --name-only $id
        mount --bind volume w/data
        $CKPT -w w reset -q $id > restored
        cat w/data/f w/data/sub/g
        $CKPT -w w reset -q $first > restored
        cat w/a w/data/f w/data/sub/g
        umount w/data
        $CKPT -w w reset -q $id > restored || echo conflict $?
        ls -A w/data";
    let Some(text) = with_mounts(&sandbox, script) else { return };
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("unmounted"), "{text}");
    assert_eq!(lines[1..4], ["a", "data/f", "data/sub/g"], "{text}");
    assert_eq!(lines[4..9], ["one", "two", "1", "one", "two"], "{text}");
    assert!(lines[9..].is_empty(), "nothing is written there, and nothing is missed: {text}");
    assert_eq!(sandbox.text("a"), "2\n");
}

#[test]
fn a_workspace_on_an_unmounted_volume_is_kept_l25() {
    let sandbox = Sandbox::new();
    let script = "
        mkdir volume; mount -t tmpfs none volume; mkdir volume/project; echo one > volume/project/f
        $CKPT -w volume/project save > saved
        umount volume
        $CKPT prune --yes 2>&1
        ls home/.fabricatio-checkpoint";
    let Some(text) = with_mounts(&sandbox, script) else { return };
    assert!(text.contains("unmounted") && text.contains("project_"), "{text}");
}

#[test]
fn a_full_disk_stops_a_reset_before_the_first_write_l35() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one");
    let script = "
        mkdir home/.fabricatio-checkpoint; mount -t tmpfs -o size=3m,mode=700 none home/.fabricatio-checkpoint
        first=$($CKPT -w w save -m first)
        echo two > w/a
        head -c 8000000 /dev/urandom > w/noise
        cp -a w copy
        code=0; $CKPT -w w --json reset $first || code=$?
        echo \"exit $code\"
        diff -r w copy
        code=0; $CKPT -w w --json save || code=$?
        echo \"exit $code\"
        rm w/noise
        $CKPT -w w save -q > saved
        $CKPT -w w reset -q $first > restored
        cat w/a
        git -c safe.directory='*' --git-dir=$(echo home/.fabricatio-checkpoint/w_*) fsck --full --strict
        find home/.fabricatio-checkpoint -name 'tmp*'";
    let Some(text) = with_mounts(&sandbox, script) else { return };
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("\"disk-full\"") && lines[2].contains("\"disk-full\""), "{text}");
    assert_eq!((lines[1], lines[3]), ("exit 1", "exit 1"), "{text}");
    assert_eq!(lines[4..], ["one"], "{text}");
}

#[test]
fn a_read_only_disk_stops_a_reset_before_the_first_write_l35() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one");
    let script = "
        mkdir home/.fabricatio-checkpoint; mount -t tmpfs -o mode=700 none home/.fabricatio-checkpoint
        first=$($CKPT -w w save -m first)
        echo two > w/a
        mount -o remount,ro home/.fabricatio-checkpoint
        for words in \"reset $first\" save; do
            code=0; $CKPT -w w --json $words || code=$?
            echo \"exit $code\"
            cat w/a
        done
        $CKPT -w w ls -q > listed; $CKPT -w w status -q > status";
    let Some(text) = with_mounts(&sandbox, script) else { return };
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("\"read-only\"") && lines[3].contains("\"read-only\""), "{text}");
    assert_eq!((lines[1], lines[2], lines[4], lines[5]), ("exit 1", "two", "exit 1", "two"), "{text}");
    assert!(fs::read_to_string(sandbox.root().join("listed")).unwrap().contains("first"));
}

#[test]
fn a_full_workspace_loses_nothing() {
    let sandbox = Sandbox::new();
    let script = "
        mount -t tmpfs -o size=4m none w
        head -c 3000000 /dev/urandom > w/large; cp w/large large
        first=$($CKPT -w w save -m first)
        rm w/large; head -c 3500000 /dev/urandom > w/other; cp w/other other
        code=0; $CKPT -w w --json reset $first > receipt || code=$?
        echo \"exit $code\"
        ls w
        $CKPT -w w --json status > status || true
        $CKPT -w w undo || true
        $CKPT -w w rollback HEAD large && rm -f w/other || true
        $CKPT -w w reset $first || true
        cmp w/large large; echo same
        cp -a w after";
    let Some(text) = with_mounts(&sandbox, script) else { return };
    assert!(text.contains("same"), "{text}");
    let other = fs::read(sandbox.root().join("other")).unwrap();
    assert!(sandbox.is_held(&other) || sandbox.root().join("after/other").exists(), "{text}");
}

#[test]
fn a_mount_point_in_the_way_keeps_its_volume() {
    for (make, target, path) in [
        // A volume where the target has a file, where it has nothing, and below a directory that has to go.
        ("mkdir w/x; mount --bind volume w/x", "echo file > w/x", "x"),
        ("mkdir w/x; mount --bind volume w/x", "true", "x"),
        ("mkdir -p w/d/x; mount --bind volume w/d/x", "true", "d/x"),
        ("mkdir -p w/d/x; mount --bind volume w/d/x", "echo file > w/d", "d"),
        ("mkdir w/x; mount -t tmpfs none w/x; cp volume/f w/x/f", "true", "x"),
        ("touch w/x; mount --bind volume/f w/x", "echo file > w/x", "x"),
        ("touch w/x; mount --bind volume/f w/x", "true", "x"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write("a", "1\n");
        let script = format!(
            "mkdir volume; echo precious > volume/f
            {target}
            first=$($CKPT -w w save -m first)
            rm -rf w/x w/d; {make}
            echo 2 > w/a
            code=0; $CKPT -w w --json reset $first --dry-run > plan || code=$?
            echo dry run $code
            code=0; $CKPT -w w --json reset $first > receipt || code=$?
            echo reset $code
            cat w/a volume/f
            test -f w/x && cat w/x || find w/x w/d -name f -exec cat '{{}}' ';' 2> errors || true
            id=$($CKPT -w w save -m second)
            git -c safe.directory='*' --git-dir=$(echo home/.fabricatio-checkpoint/w_*) fsck --full --strict"
        );
        let Some(text) = with_mounts(&sandbox, &script) else { return };
        let what = format!("{make}; {target}: {text}");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines, ["dry run 3", "reset 3", "1", "precious", "precious"], "{what}");
        for file in ["plan", "receipt"] {
            let text = fs::read_to_string(sandbox.root().join(file)).unwrap();
            let json: serde_json::Value = serde_json::from_str(&text).unwrap();
            let conflicts = json["conflicts"].as_array().unwrap();
            assert_eq!(conflicts.len(), 1, "{what}: {json}");
            assert_eq!(conflicts[0]["reason"], "mount-point", "{what}: {json}");
            assert_eq!(conflicts[0]["path"], path, "{what}: {json}");
        }
    }
}

#[test]
fn an_unmounted_workspace_is_no_deletion_l40() {
    let sandbox = Sandbox::new();
    let script = "
        mkdir volume; mount -t tmpfs none volume; echo one > volume/f
        mount --bind volume w
        first=$($CKPT -w w save -m first)
        umount w
        for words in save 'save --dry-run' status diff; do
            code=0; $CKPT -w w --json $words || code=$?
            echo exit $code
        done
        $CKPT -w w ls --json
        mount --bind volume w
        $CKPT -w w save -q
        umount w
        code=0; $CKPT -w w reset -q $first > restored || code=$?
        echo reset $code
        cat w/f
        $CKPT -w w save -q";
    let Some(text) = with_mounts(&sandbox, script) else { return };
    let lines: Vec<&str> = text.lines().collect();
    for pair in lines[..8].chunks(2) {
        assert!(pair[0].contains("\"unmounted-workspace\""), "{text}");
        assert_eq!(pair[1], "exit 1", "{text}");
    }
    assert!(lines[8].contains("first"), "{text}");
    let first = lines[9];
    assert_eq!(lines[10..], ["reset 0", "one", first], "{text}");
}

#[test]
fn an_unmounted_bind_mount_is_no_deletion_l40() {
    let sandbox = Sandbox::new();
    sandbox.mkdir("data");
    let script = "
        mkdir other; echo one > other/f
        mount --bind other w/data
        first=$($CKPT -w w save -m mounted)
        umount w/data
        $CKPT -w w save -m unmounted --json
        $CKPT -w w --json reset $first > restored || echo conflict $?
        ls -A w/data
        mount --bind other w
        $CKPT -w w save -q
        umount w
        rm -rf w/*
        $CKPT -w w save --json || echo exit $?";
    let Some(text) = with_mounts(&sandbox, script) else { return };
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("\"unmounted\"") && lines[0].contains("\"created\":true"), "{text}");
    assert_eq!(lines[1], "conflict 3", "{text}");
    assert!(lines[3].contains("\"unmounted-workspace\""), "{text}");
    assert_eq!(lines[4..], ["exit 1"], "{text}");
}

#[test]
fn an_interrupted_reset_waits_for_its_volume() {
    for place in ["w", "w/mnt"] {
        let sandbox = Sandbox::new();
        let script = format!(
            "mkdir -p {place} volume
            mount --bind volume {place}
            for name in f g h; do echo one > {place}/$name; done
            first=$($CKPT -w w save -m first)
            for name in f g h new; do echo two > {place}/$name; done
            $CKPT -w w save -q -m second > saved
            export FABRICATIO_CHECKPOINT__THREADS=1
            CKPT_FAULT_LOG=$PWD/steps $CKPT -w w reset -q $first > receipt
            at=$(grep ' exchange g' steps | cut -d ' ' -f 1)
            $CKPT -w w undo -q > receipt
            code=0; CKPT_FAULT_AT=$at CKPT_FAULT_DO=kill $CKPT -w w reset -q $first || code=$?
            echo killed $code; cat volume/f volume/g volume/h
            umount {place}
            for below in '' .gitkeep; do
                if [ $below ]; then touch {place}/$below; fi
                for words in status 'save x' undo; do
                    code=0; $CKPT -w w --json $words > answer || code=$?
                    echo $code $(grep -c unmounted-workspace answer) $(ls -A {place})
                done
            done
            rm {place}/.gitkeep
            mount --bind volume {place}
            $CKPT -w w status -q
            cat volume/f volume/g volume/h; ls -A volume
            umount {place}"
        );
        let Some(text) = with_mounts(&sandbox, &script) else { return };
        let lines: Vec<&str> = text.lines().collect();
        let half = ["killed 137", "one", "two", "two"];
        let waits = [["1 1"; 3], ["1 1 .gitkeep"; 3]].concat();
        let expected = ["one", "one", "one", "f", "g", "h"];
        assert_eq!(lines, [&half[..], &waits, &expected].concat(), "{place}: {text}");
    }
}

#[test]
fn an_interrupted_reset_waits_for_no_volume_whose_files_were_put_in_its_place() {
    // The root is another directory now, so that its restore is dropped; the other one is finished by what stands there.
    for (place, saved) in [("w", ["one", "two", "two"]), ("w/mnt", ["one", "one", "one"])] {
        let sandbox = Sandbox::new();
        let script = format!(
            "mkdir -p {place} volume
            mount --bind volume {place}
            for name in f g h; do echo one > {place}/$name; done
            first=$($CKPT -w w save -m first)
            for name in f g h new; do echo two > {place}/$name; done
            export FABRICATIO_CHECKPOINT__THREADS=1
            CKPT_FAULT_LOG=$PWD/steps $CKPT -w w reset -q $first > receipt
            at=$(grep ' exchange g' steps | cut -d ' ' -f 1)
            $CKPT -w w undo -q > receipt
            code=0; CKPT_FAULT_AT=$at CKPT_FAULT_DO=kill $CKPT -w w reset -q $first || code=$?
            echo killed $code
            umount {place}
            cp -a volume/[a-z]* {place}
            $CKPT -w w save -q > saved || echo save $?
            (cd {place}; cat *; ls -A | xargs)
            $CKPT -w w reset -q $first > receipt || echo reset $?
            (cd {place}; cat *; ls -A | xargs)"
        );
        let Some(text) = with_mounts(&sandbox, &script) else { return };
        let lines: Vec<&str> = text.lines().collect();
        let restored = ["f g h", "one", "one", "one", "f g h"];
        assert_eq!(lines, [&["killed 137"][..], &saved, &restored].concat(), "{place}: {text}");
    }
}

#[test]
fn a_reset_that_does_not_fit_on_the_disk_is_taken_back() {
    let sandbox = Sandbox::new();
    let script = "
        mount -t tmpfs -o size=2000k none w
        fill() { for name in \"$@\"; do head -c 60000 /dev/urandom > w/$name; done; }
        mkdir w/a w/b w/c
        fill a/1 a/2 a/3 a/4 b/1 b/2 b/3 b/4 b/5 b/6 c/1 c/2 c/3 c/4 c/5 c/6 c/7
        first=$($CKPT -w w save -m first)
        fill a/1 a/2 a/3 a/4 b/1 b/2 b/3 b/4 b/5 b/6 new1 new2 new3 new4 new5; rm w/c/*
        mount -o remount,size=1000k w
        cp -a w before
        code=0; $CKPT -w w --json reset $first > receipt || code=$?
        echo exit $code
        diff -r w before && echo same
        $CKPT -w w status -q > status
        # What fits in one file at a time is done.
        mount -o remount,size=1060k w
        $CKPT -w w reset -q $first > receipt-2
        ls w/c | wc -l";
    let Some(text) = with_mounts(&sandbox, script) else { return };
    assert_eq!(text.lines().collect::<Vec<_>>(), ["exit 1", "same", "7"], "{text}");
    let receipt = fs::read_to_string(sandbox.root().join("receipt")).unwrap();
    assert!(receipt.contains("\"disk-full\""), "{receipt}");
}

#[test]
fn doctor_tells_of_little_room_and_of_a_read_only_disk() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one");
    let script = "
        mkdir home/.fabricatio-checkpoint; mount -t tmpfs -o size=64m,mode=700 none home/.fabricatio-checkpoint
        $CKPT -w w save -q > saved
        say() { code=0; $CKPT -w w --json doctor > answer || code=$?; echo $code $(grep -o '\"[a-z-]*room\"\\|\"read-only\"' answer); }
        say
        mount -o remount,size=3m home/.fabricatio-checkpoint
        say
        mount -o remount,ro home/.fabricatio-checkpoint
        say";
    let Some(text) = with_mounts(&sandbox, script) else { return };
    assert_eq!(
        text.lines().collect::<Vec<_>>(),
        ["0 \"little-room\"", "3 \"little-room\"", "3 \"read-only\""],
        "{text}"
    );
}

#[test]
fn another_device_number_makes_no_empty_directory_a_lost_volume_l40() {
    let sandbox = Sandbox::new();
    let script = "
        mkdir other; mount -t tmpfs none w; mount -t tmpfs none other
        mkdir w/empty; echo 1 > w/a
        first=$($CKPT -w w save -m first)
        cp -a w/. other; umount w; mount --bind other w
        echo 2 > w/a
        $CKPT -w w save -m second --json
        echo 3 > w/a
        $CKPT -w w save -m third --json
        $CKPT -w w reset -q $first > restored
        cat w/a; ls w";
    let Some(text) = with_mounts(&sandbox, script) else { return };
    assert!(!text.contains("\"unmounted\""), "{text}");
    assert_eq!(text.lines().skip(2).collect::<Vec<_>>(), ["1", "a", "empty"], "{text}");
}
