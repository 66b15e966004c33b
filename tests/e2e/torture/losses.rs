//! Any history, with what killed and failed commands left in it, loses operations, checkpoints or its ref: after a repair
//! every checkpoint that is there is listed, those that were acknowledged come back byte for byte, and every command works;
//! and once more.

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
    let output = sandbox.ckpt("ls -a -n 0 --json");
    if output.err().contains("nothing is saved yet") || output.out().contains("\"nothing-saved\"") {
        return Vec::new();
    }
    let listed = output.ok().json();
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

/// Takes operations away, and perhaps the ref, and has it repaired; and all of it again, with what the first repair left in the
/// store.
fn lose_and_repair(random: &mut Random, loss: Loss, has_ref: bool) -> Result<(), String> {
    let (sandbox, mut acknowledged) = lived(random);
    sandbox.expect_damage();
    for round in ["first", "second"] {
        lose(random, &sandbox, loss, has_ref, &mut acknowledged).map_err(|err| format!("{round}: {err}"))?;
        sandbox.write("a", format!("after the {round}"));
        let saved = sandbox.ckpt("save afterwards");
        if saved.code != Some(0) {
            return Err(format!("nothing can be saved after the {round}: {saved}"));
        }
        acknowledged.insert(saved.id(), sandbox.tree());
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

/// One loss, and its repair: every checkpoint that is there is listed, and every command works.
fn lose(
    random: &mut Random,
    sandbox: &Sandbox,
    loss: Loss,
    has_ref: bool,
    acknowledged: &mut BTreeMap<String, Tree>,
) -> Result<(), String> {
    let mut before = listed(sandbox);
    let mut all = operations(sandbox);
    let history = sandbox.git_in_store(&["log", "--format=%h %s", "--first-parent", "timeline"]);
    let mut lost = Vec::new();
    for _ in 0..random.below(4).min(all.len()) {
        let at = if matches!(loss, Loss::Newest) { all.len() - 1 } else { random.below(all.len()) };
        lost.push(all.remove(at));
    }
    // What stands in the place of a save is that save again; of anything else an operation that says that it was lost.
    let is_save = |id: &String| {
        let message = sandbox.git_in_store(&["log", "-1", "--format=%s", id]);
        message.starts_with("save") || message.starts_with("create")
    };
    // The timeline before an earlier repair may be all that is left, and what that had lost is told again.
    let mut may_end =
        if lost.iter().all(is_save) && !history.contains(" repair: ") { vec![Some(0)] } else { vec![Some(0), Some(3)] };
    if matches!(loss, Loss::Checkpoint) {
        let gone = before.remove(random.below(before.len()));
        acknowledged.remove(&gone);
        lost.push(gone);
        may_end = vec![Some(0), Some(3)];
    }
    if !lost.is_empty() {
        drop_objects(sandbox, &lost.iter().map(String::as_str).collect::<Vec<_>>());
    }
    let timeline = sandbox.store().join("refs/heads/timeline");
    if !has_ref {
        fs::write(&timeline, "").unwrap();
    }
    let repaired = sandbox.ckpt("verify --full --repair");
    let (value, again) = (fs::read(&timeline).unwrap(), sandbox.ckpt("verify --full --repair"));
    if !may_end.contains(&repaired.code) || again.code != Some(0) || fs::read(&timeline).unwrap() != value {
        return Err(format!("{history}{repaired}{again}"));
    }
    let now = listed(sandbox);
    if let Some(id) = before.iter().find(|id| !now.contains(id)) {
        return Err(format!("{id} is gone: {history}{repaired}{}", sandbox.ckpt("ls -a -n 0")));
    }
    for words in ["ls", "status", "undo --dry-run", "redo --dry-run"] {
        let output = sandbox.ckpt(words);
        if output.code != Some(0) && !output.err().contains("error: nothing to ") {
            return Err(format!("{output}{history}{repaired}"));
        }
    }
    Ok(())
}

#[test]
fn a_timeline_with_losses_loses_no_checkpoint_x4() {
    let mut tally = Tally::new("lost operations");
    let mut random = Random::new(31);
    for _ in 0..either(6, 200) {
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
