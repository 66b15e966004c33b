//! Disks that are full, or may not be written: real ones, in a mount namespace. What does not fit is said, nothing is lost,
//! and the next command goes on once there is room.

use std::fs;

use super::verbs::settles;
use super::{Tally, VERBS, Verb, either};
use crate::mounts::with_mounts;
use crate::sandbox::Sandbox;

/// What stands on the small disk.
const PLACES: [&str; 3] = ["store", "workspace", "both"];

/// Moves what `$place` names to a small disk with `$free` KiB left, runs `$words` there, and brings it back.
const ON_A_SMALL_DISK: &str = r#"
    top=$PWD; cd /; cp -a "$top" "$aside/all"; mount --bind "$top" "$aside/was"
    # The workspace is no mount point where it is not the one that is small: it would be missed as one afterwards.
    case $place in store) small=$top/home;; *) small=$top;; esac
    mount -t tmpfs -o size=64m,mode=700 none "$small"
    case $place in
        store) cp -a "$aside/was/home/." "$small";;
        workspace) mkdir "$top/home" "$top/w"; mount --bind "$aside/was/home" "$top/home"; cp -a "$aside/was/w/." "$top/w";;
        both) cp -a "$aside/was/." "$top";;
    esac
    room=$(df -k --output=avail "$small" | tail -n 1)
    head -c $(((room - free) * 1024)) /dev/zero > "$small/filler"
    cd "$top/w"; code=0; $CKPT $words > "$aside/said" 2>&1 || code=$?
    echo $code > "$aside/code"
    cd /; rm "$small/filler"
    for dir in home w; do
        case $place-$dir in
            store-w | workspace-home) ;;
            *)  find "$aside/was/$dir" -mindepth 1 -delete; cp -a "$top/$dir/." "$aside/was/$dir";;
        esac
    done"#;

/// Makes `$place` read-only and runs `$words`.
const READ_ONLY: &str = r#"
    case $place in
        store) mount --bind home home; mount -o remount,bind,ro home;;
        workspace) mount --bind w w; mount -o remount,bind,ro w;;
        both) mount --bind home home; mount -o remount,bind,ro home; mount --bind w w; mount -o remount,bind,ro w;;
    esac
    cd w; code=0; $CKPT $words > "$aside/said" 2>&1 || code=$?
    echo $code > "$aside/code""#;

#[test]
fn a_small_disk_loses_nothing_l35() {
    let mut tally = Tally::new("full disk");
    for (number, verb) in VERBS.iter().enumerate() {
        for (turn, place) in PLACES.into_iter().enumerate() {
            // Pages of 4 KiB; at last so many that all fits.
            for pages in either(&[0_u32, 2, 5, 9][..], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 32, 64])
            {
                // On another disk it is another directory, in which no restore was begun that could be finished.
                if verb.name == "finish" && place != "store" {
                    continue;
                }
                let is_turn = (number + turn + *pages as usize).is_multiple_of(3);
                if either(is_turn, true) {
                    tally.case(&format!("{} {place}", verb.name), || one(verb, place, ON_A_SMALL_DISK, pages * 4));
                }
            }
        }
    }
    tally.end();
}

#[test]
fn what_may_not_be_written_stays_as_it_is_l35() {
    let mut tally = Tally::new("read-only");
    for verb in VERBS {
        for place in PLACES {
            tally.case(&format!("{} {place}", verb.name), || one(verb, place, READ_ONLY, 0));
        }
    }
    tally.end();
}

fn one(verb: &Verb, place: &str, script: &str, free: u32) -> Result<(), String> {
    let sandbox = Sandbox::new();
    let (words, expected) = (verb.prepare)(&sandbox);
    let before = sandbox.tree();
    let aside = tempfile::tempdir().unwrap();
    fs::create_dir(aside.path().join("was")).unwrap();
    let set = format!("place={place}; free={free}; words='{words}'; aside='{}'", aside.path().display());
    let Some(_) = with_mounts(&sandbox, &format!("{set}\n{script}")) else { return Ok(()) };
    let read = |name: &str| fs::read_to_string(aside.path().join(name)).unwrap();
    let (code, said) = (read("code").trim().parse::<i32>().unwrap(), read("said"));
    let what = format!("{words}, {free} KiB for {place}: exit {code}\n{said}");
    let is_told = match code {
        0 => true,
        1 => said.contains("error: "),
        3 => said.contains("conflict") || said.contains("warning: ") || said.contains("omitted"),
        _ => false,
    };
    if !is_told || said.contains("panicked") {
        return Err(format!("it ended without a word: {what}"));
    }
    if free > 200 && code != 0 {
        return Err(format!("there was room: {what}"));
    }
    settles(verb, &sandbox, &before, &expected, Some(code), &what)
}
