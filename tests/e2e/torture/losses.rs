//! Any history, with what killed and failed commands left in it, loses operations, checkpoints or its ref: after a repair
//! every checkpoint that is there is listed, those that were acknowledged come back byte for byte, and the next save works.

use std::collections::BTreeMap;
use std::fs;

use super::{Random, Tally, either};
use crate::lost_timeline::{drop_objects, operations};
use crate::sandbox::{Sandbox, Tree};

const NAMES: [&str; 5] = ["a", "b", "c", "d/e", "d/f"];
const VERBS: [&str; 7] = ["save", "save", "save", "reset", "rollback", "undo", "redo"];
/// No command of these has more steps that leave anything.
const STEPS: usize = 45;

/// A workspace after some commands, with the trees of the checkpoints that were acknowledged.
fn lived(random: &mut Random) -> (Sandbox, BTreeMap<String, Tree>) {
    let sandbox = Sandbox::new();
    let mut acknowledged = BTreeMap::new();
    sandbox.write("a", "first");
    acknowledged.insert(sandbox.save("first"), sandbox.tree());
    for number in 0..3 + random.below(7) {
        if random.below(4) > 0 {
            sandbox.write(*random.pick(&NAMES), format!("{number} {:x}", random.next()));
        }
        let ids: Vec<&String> = acknowledged.keys().collect();
        let words = match *random.pick(&VERBS) {
            "reset" => format!("reset {}", random.pick(&ids)),
            "rollback" => format!("rollback {} {}", random.pick(&ids), random.pick(&NAMES)),
            verb => verb.to_owned(),
        };
        let call = sandbox.call(words.split(' '));
        let output = if random.below(2) == 0 {
            let at = 1 + random.below(STEPS) as u64;
            call.fault(at, if random.below(2) == 0 { "kill" } else { "eio" }).run()
        } else {
            call.run()
        };
        if words == "save" && output.code == Some(0) {
            acknowledged.insert(output.id(), sandbox.tree());
        }
    }
    sandbox.write("a", "end");
    acknowledged.insert(sandbox.save("end"), sandbox.tree());
    (sandbox, acknowledged)
}

fn listed(sandbox: &Sandbox) -> Vec<String> {
    let listed = sandbox.ckpt("ls -a -n 0 --json").ok().json();
    let all = listed["checkpoints"].as_array().unwrap().iter();
    all.map(|checkpoint| checkpoint["id"].as_str().unwrap().to_owned()).collect()
}

/// What is taken away.
#[derive(Clone, Copy)]
enum Loss {
    /// Up to three operations, any or the newest ones.
    Any,
    Newest,
    /// These, and a checkpoint.
    Checkpoint,
}

/// Takes operations away, and perhaps the ref, and has it repaired.
fn lose_and_repair(random: &mut Random, loss: Loss, has_ref: bool) -> Result<(), String> {
    let (sandbox, mut acknowledged) = lived(random);
    let mut before = listed(&sandbox);
    sandbox.expect_damage();
    let mut all = operations(&sandbox);
    let mut lost = Vec::new();
    for _ in 0..random.below(4).min(all.len()) {
        let at = if matches!(loss, Loss::Newest) { all.len() - 1 } else { random.below(all.len()) };
        lost.push(all.remove(at));
    }
    if matches!(loss, Loss::Checkpoint) {
        let gone = before.remove(random.below(before.len()));
        acknowledged.remove(&gone);
        lost.push(gone);
    }
    if !lost.is_empty() {
        drop_objects(&sandbox, &lost.iter().map(String::as_str).collect::<Vec<_>>());
    }
    if !has_ref {
        fs::write(sandbox.store().join("refs/heads/timeline"), "").unwrap();
    }
    let repaired = sandbox.ckpt("verify --full --repair");
    let again = sandbox.ckpt("verify --full");
    let may_end = if matches!(loss, Loss::Checkpoint) { [Some(0), Some(3)] } else { [Some(0); 2] };
    if !may_end.contains(&repaired.code) || again.code != Some(0) {
        return Err(format!("{repaired}{again}"));
    }
    let now = listed(&sandbox);
    if let Some(id) = before.iter().find(|id| !now.contains(id)) {
        return Err(format!("{id} is gone: {repaired}{}", sandbox.ckpt("ls -a -n 0")));
    }
    sandbox.write("a", "afterwards");
    let afterwards = sandbox.ckpt("save afterwards");
    if afterwards.code != Some(0) {
        return Err(format!("nothing can be saved: {repaired}{afterwards}"));
    }
    for (id, tree) in acknowledged {
        let reset = sandbox.ckpt(&format!("reset {id}"));
        if reset.code != Some(0) || sandbox.tree() != tree {
            return Err(format!("{}{reset}", tree.differences(&sandbox.tree())));
        }
    }
    sandbox.git_in_store(&["fsck", "--full", "--strict"]);
    Ok(())
}

#[test]
fn a_timeline_with_losses_loses_no_checkpoint_x4() {
    let mut tally = Tally::new("lost operations");
    let mut random = Random::new(31);
    for _ in 0..either(6, 400) {
        let losses = [
            ("newest", Loss::Newest, true),
            ("any", Loss::Any, true),
            ("newest and ref", Loss::Newest, false),
            ("any and ref", Loss::Any, false),
            ("a checkpoint", Loss::Checkpoint, true),
            ("a checkpoint and ref", Loss::Checkpoint, false),
        ];
        for (kind, loss, has_ref) in losses {
            tally.case(kind, || lose_and_repair(&mut random, loss, has_ref));
        }
    }
    tally.end();
}
