//! Edits that leave no trace in a time: on a file system whose clock goes by ticks, a write may carry the same times as the
//! content that a save has just read, and have the same size.
//!
//! Since Linux 6.13 ext4, btrfs, XFS and tmpfs give a later time to what is changed after somebody looked; ramfs does not,
//! and is what other systems and older kernels are like.

use std::fs;

use super::{Tally, either, skipped};
use crate::mounts::with_mounts;
use crate::sandbox::Sandbox;

/// Writes `f` just before a save looks at the files, and just after, with the same size; then saves once more. `$aside/missed`
/// lists the rounds in which the second save did not see the last write.
const ROUNDS: &str = r#"
    mount -t ramfs none w; cd w; printf 000000 > f; $CKPT save > /dev/null 2>&1
    store=$(echo ../home/.fabricatio-checkpoint/w_*); : > "$aside/missed"; round=0
    while [ $round -lt $rounds ]; do
        round=$((round + 1))
        first=$(CKPT_FAULT_AT=2,3 CKPT_FAULT_DO=write:f $CKPT save 2> /dev/null)
        # The look at the files lies between the two writes.
        [ "$(git --git-dir="$store" show "$first:f")" = 000002 ]
        id=$($CKPT save 2> /dev/null)
        [ "$(cat f)$(git --git-dir="$store" show "$id:f")" = 000003000003 ] || echo $round >> "$aside/missed"
    done"#;

#[test]
fn an_edit_in_the_tick_of_a_save_is_seen_c28() {
    let rounds = either(60_usize, 2000);
    let sandbox = Sandbox::new();
    let aside = tempfile::tempdir().unwrap();
    let set = format!("rounds={rounds}; aside='{}'", aside.path().display());
    let Some(_) = with_mounts(&sandbox, &format!("{set}\n{ROUNDS}")) else {
        return skipped("one tick", "nothing can be mounted here");
    };
    let missed = fs::read_to_string(aside.path().join("missed")).unwrap();
    let missed: Vec<usize> = missed.lines().map(|round| round.parse().unwrap()).collect();
    let mut tally = Tally::new("one tick");
    for round in 1..=rounds {
        let is_seen = !missed.contains(&round);
        tally.count("save", if is_seen { Ok(()) } else { Err(format!("round {round}: the last write is not saved")) });
    }
    tally.end();
}
