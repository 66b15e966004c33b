//! Every verb, and the power cut at every step of it: each state of the disk that a file system may leave is made, and what
//! had been reported as saved is there, byte for byte.
//!
//! A run is recorded once, with all that it wrote. Then for every beginning of the record, and every way to keep and to lose
//! what was not synced (`disk.rs` says which), that state is made on disk, under another boot. The same for a run whose sync
//! failed, or that was killed before it, and the command after it, which said that all is well. What is not simulated: a stat
//! cache that matches files of before, since a copy has other inodes and times. So every file is hashed again.

mod disk;
mod record;

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use super::{Tally, VERBS, Verb, either, is_long};
use crate::sandbox::{Call, Output, SYNCS, Sandbox, Tree, assert_no_leftovers, assert_no_temporaries, operations_of};

use disk::{Disk, Image, Way};
use record::Record;

/// States of one verb that are tried in the short form.
const SHORT: usize = 30;

/// One state in so many is also given to stock git.
const GIT_STRIDE: usize = 16;

/// A run of a verb, and all states that a power cut may leave.
struct Scene {
    verb: &'static Verb,
    sandbox: Sandbox,
    base: Disk,
    records: Vec<Record>,
    words: String,
    before: Tree,
    expected: Tree,
    /// What was reported as saved before the run, and what after it.
    known: [Vec<(String, Tree)>; 2],
}

/// A state: after how many changes, and what becomes of the unsynced ones.
struct State {
    cut: usize,
    way: Way,
}

impl Scene {
    fn new(verb: &'static Verb) -> Self {
        Self::record(verb, false, |sandbox, words, file| (words.to_owned(), recorded(sandbox, words, file).run().ok()))
    }

    /// A run that comes as far as the sync at step `number`, which fails, or before which it is killed; and the next
    /// command, which succeeds. `is_late`: whether that step comes after the answer.
    fn without_sync(verb: &'static Verb, number: u64, action: &str, is_late: bool) -> Self {
        Self::record(verb, true, |sandbox, words, file| {
            let failed = recorded(sandbox, words, file).fault(number, action).run();
            let ends = match action {
                "kill" => (None, Some(9)),
                _ => (Some(if is_late { 0 } else { 1 }), None),
            };
            assert_eq!((failed.code, failed.signal), ends, "{failed}");
            let next = if verb.name == "repair" { words } else { "save" };
            let output = recorded(sandbox, next, file).run().ok();
            (format!("{words}, {action} at the sync of step {number}: {failed}then {next}"), output)
        })
    }

    /// What `run` does: it is given the words and where to record, and tells what it ran and what was answered.
    fn record(
        verb: &'static Verb,
        may_do_nothing: bool,
        run: impl FnOnce(&Sandbox, &str, &Path) -> (String, Output),
    ) -> Self {
        let sandbox = Sandbox::new();
        sandbox.expect_damage();
        let (words, expected) = (verb.prepare)(&sandbox);
        let before = sandbox.tree();
        let base = Disk::load(sandbox.root());
        let image = base.image(&Way::nothing_lost());
        // A store that has to be mended cannot be asked before.
        let known = if verb.name == "repair" { Vec::new() } else { checkpoints(&sandbox) };
        image.write(sandbox.root());
        let file = sandbox.root().join("record");
        let (words, output) = run(&sandbox, &words, &file);
        let now = sandbox.tree();
        // A run that failed may have done nothing.
        let expected = if may_do_nothing && now == before { now.clone() } else { expected };
        assert_eq!(expected.differences(&now), "", "{output}");
        let records = record::parse(&fs::read(&file).unwrap(), sandbox.root());
        let mut disk = base.clone();
        records.iter().for_each(|record| disk.apply(record));
        let is = Disk::load(sandbox.root()).image(&Way::nothing_lost());
        let differences = is.differences(&disk.image(&Way::nothing_lost()));
        assert_eq!(differences, "", "{}: the record is not what happened", verb.name);
        let has_removed = |record: &Record| record.operation == "unlink" && record.path.ends_with(b".pack");
        let does_merge = records.iter().any(has_removed);
        assert!(may_do_nothing || does_merge == (verb.name == "merge"), "only a merge removes packs");
        let after = checkpoints(&sandbox);
        let before_repair = if verb.name == "repair" { after.clone() } else { known };
        Self { verb, sandbox, base, records, words, before, expected, known: [before_repair, after] }
    }

    /// All states after `first` changes and more, each once.
    fn states(&self, first: usize) -> Vec<State> {
        let mut disk = self.base.clone();
        let mut seen = HashSet::new();
        let mut states = Vec::new();
        for cut in 0..=self.records.len() {
            if let Some(record) = cut.checked_sub(1).map(|last| &self.records[last]) {
                disk.apply(record);
            }
            if cut < first {
                continue;
            }
            for way in disk.ways() {
                // After its end, more is promised of the same state.
                if seen.insert((disk.image(&way).digest(), cut == self.records.len())) {
                    states.push(State { cut, way });
                }
            }
        }
        states
    }

    fn image(&self, state: &State) -> Image {
        let mut disk = self.base.clone();
        self.records[..state.cut].iter().for_each(|record| disk.apply(record));
        disk.image(&state.way)
    }

    fn ckpt(&self, words: &str) -> Output {
        self.sandbox.call(words.split(' ')).env("CKPT_FAULT_BOOT_ID", "after-the-power-cut").run()
    }

    fn try_state(&self, number: usize, state: &State) -> Result<(), String> {
        let is_over = state.cut == self.records.len();
        self.image(state).write(self.sandbox.root());
        let last = state.cut.checked_sub(1).map_or_else(|| "nothing".to_owned(), |last| self.records[last].to_string());
        let what = format!("{}, cut {} after {last}, {:?}", self.words, state.cut, state.way);
        self.look(number, is_over, state.way.is_out_of_order()).map_err(|err| format!("{what}: {err}"))
    }

    /// Everything that must hold now. Out of order, the files of a pack may have lost each other, and nothing tells that
    /// from one that lost its idx; `verify` names it, nothing is removed, and `verify --repair` must settle it.
    fn look(&self, number: usize, is_over: bool, is_out_of_order: bool) -> Result<(), String> {
        self.nothing_lost("at first")?;
        self.nothing_torn()?;
        let known = &self.known[usize::from(is_over)];
        if self.verb.name == "repair" {
            let _ = self.ckpt("verify --repair");
        }
        // The stat cache is not synced: the next save writes it anew.
        let expected = ["damaged-file", "damaged-idx", "damaged-pack"];
        self.verify(if is_out_of_order { &expected } else { &expected[..1] })?;
        let next = self.ckpt("status");
        if next.code != Some(0) && !(known.is_empty() && next.code == Some(1)) {
            return Err(format!("it cannot be looked at: {next}"));
        }
        let now = self.sandbox.tree();
        if now != self.expected && (is_over || now != self.before) {
            return Err(format!("neither old nor new: {}{next}", self.before.differences(&now)));
        }
        self.nothing_lost("after the next command")?;
        // All of them in the long form; else the last, which is the newest, and another one.
        let count = known.len();
        for (at, (id, tree)) in known.iter().enumerate() {
            if is_long() || at + 1 == count || at == number % count {
                let output = self.ckpt(&format!("reset {id}"));
                let restored = self.sandbox.tree();
                if output.code != Some(0) || restored != *tree {
                    return Err(format!("{id} does not come back: {}{output}", tree.differences(&restored)));
                }
            }
        }
        let now = self.sandbox.tree();
        let saved = self.ckpt("save --always -m afterwards");
        if saved.code != Some(0) {
            return Err(format!("nothing more can be saved: {saved}"));
        }
        self.sandbox.write("a", "later");
        let output = self.ckpt(&format!("reset {}", saved.id()));
        let restored = self.sandbox.tree();
        if output.code != Some(0) || restored != now {
            return Err(format!("what is saved next does not come back: {}{output}", now.differences(&restored)));
        }
        if is_out_of_order {
            let _ = self.ckpt("verify --repair");
        }
        self.verify(&[])?;
        self.nothing_left(is_out_of_order)?;
        if number.is_multiple_of(GIT_STRIDE) {
            self.sandbox.check();
        }
        Ok(())
    }

    /// Every byte of the workspace stands there, or is held.
    fn nothing_lost(&self, when: &str) -> Result<(), String> {
        let now = self.sandbox.tree();
        for (path, content) in self.before.contents() {
            let stands = now.contents().any(|(_, known)| known == content);
            if !stands && !self.sandbox.is_held(content) {
                return Err(format!("{when}, {} is lost", path.display()));
            }
        }
        Ok(())
    }

    /// Whoever looks at a file before the next command sees what it was or what it shall be, and not a part.
    fn nothing_torn(&self) -> Result<(), String> {
        let now = self.sandbox.tree();
        let is_temporary =
            |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".ckpt-"));
        for (path, content) in now.contents().filter(|(path, _)| !is_temporary(path)) {
            let is_whole = |tree: &Tree| tree.contents().any(|(known, whole)| known == path && whole == content);
            if !is_whole(&self.before) && !is_whole(&self.expected) {
                return Err(format!("{} is torn", path.display()));
            }
        }
        Ok(())
    }

    /// Whether the store is whole, but for faults of a kind.
    fn verify(&self, but_for: &[&str]) -> Result<(), String> {
        let output = self.ckpt("verify --full --json");
        if output.code == Some(1) && self.known[0].is_empty() {
            // No store yet.
            return Ok(());
        }
        let body = output.json();
        let faults = body["stores"][0]["faults"].as_array().into_iter().flatten();
        let is_known = |fault: &Value| fault["kind"].as_str().is_some_and(|kind| but_for.contains(&kind));
        let left: Vec<_> = faults.filter(|fault| !is_known(fault)).collect();
        let lost = body["stores"][0]["lost"].as_array().is_some_and(|lost| !lost.is_empty());
        let is_fine = matches!(output.code, Some(0)) || output.code == Some(3) && !but_for.is_empty();
        if is_fine && left.is_empty() && !lost { Ok(()) } else { Err(format!("it is not whole: {output}")) }
    }

    fn nothing_left(&self, is_out_of_order: bool) -> Result<(), String> {
        assert_no_temporaries(&self.sandbox.w());
        for store in self.sandbox.stores() {
            let name = store.file_name().unwrap().to_string_lossy().into_owned();
            if name.starts_with("tmp-") {
                return Err(format!("{name} is left"));
            }
            assert_no_leftovers(&store);
            if !is_out_of_order {
                whole_packs(&store.join("objects/pack"))?;
            }
        }
        Ok(())
    }
}

/// A call that is recorded.
fn recorded<'a>(sandbox: &'a Sandbox, words: &str, file: &Path) -> Call<'a> {
    sandbox.call(words.split(' ')).durable().config("threads", "1").env("CKPT_FAULT_RECORD", file)
}

/// Each pack has its three files.
fn whole_packs(dir: &Path) -> Result<(), String> {
    let names = Tree::of(dir).paths();
    let is_there = |name: &str| names.iter().any(|known| known == name);
    for name in &names {
        let stem = name.rsplit_once('.').map_or(name.as_str(), |(stem, _)| stem);
        if let Some(lost) = ["keep", "pack", "idx"].iter().find(|lost| !is_there(&format!("{stem}.{lost}"))) {
            return Err(format!("{name} has no {lost}"));
        }
    }
    Ok(())
}

/// All checkpoints, with what each brings back. The workspace is another one afterwards.
fn checkpoints(sandbox: &Sandbox) -> Vec<(String, Tree)> {
    if sandbox.stores().is_empty() {
        return Vec::new();
    }
    let listed = sandbox.ckpt("ls -a -n 0 --json").ok().json();
    let ids = listed["checkpoints"].as_array().unwrap().iter().rev();
    let ids: Vec<String> = ids.map(|checkpoint| checkpoint["id"].as_str().unwrap().to_owned()).collect();
    let restore = |id: String| {
        let _ = sandbox.ckpt(&format!("reset {id}")).ok();
        (id, sandbox.tree())
    };
    ids.into_iter().map(restore).collect()
}

/// Whether the torture is for this verb too: `CKPT_TORTURE_VERB` names a single one.
fn is_asked_for(verb: &Verb) -> bool {
    std::env::var("CKPT_TORTURE_VERB").map_or(true, |only| only == verb.name)
}

#[test]
fn every_verb_and_a_power_cut_at_every_step_d1_l30_x6() {
    let tally = Mutex::new(Tally::new("crash enumeration"));
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..either(1, 2) {
            scope.spawn(|| {
                while let Some(verb) = VERBS.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if !is_asked_for(verb) {
                        continue;
                    }
                    let scene = Scene::new(verb);
                    let states = scene.states(0);
                    let stride = either(states.len().div_ceil(SHORT), 1);
                    for (number, state) in states.iter().enumerate().step_by(stride) {
                        let outcome = super::caught(|| scene.try_state(number, state));
                        let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
                        tally.count(state.way.kind, outcome.map_err(|err| format!("{}: {err}", verb.name)));
                    }
                }
            });
        }
    });
    tally.into_inner().unwrap_or_else(PoisonError::into_inner).end();
}

#[test]
fn no_success_rests_on_what_was_never_synced_d1_l11() {
    let mut tally = Tally::new("failed syncs");
    for verb in VERBS.iter().filter(|verb| is_asked_for(verb)) {
        let sandbox = Sandbox::new();
        let (words, _) = (verb.prepare)(&sandbox);
        let (output, operations) = operations_of(sandbox.call(words.split(' ')).durable(), "eio");
        let _ = output.ok();
        // In the short form every other one of a directory, back from the last, which is that of the ref: a file that was
        // not synced has no name yet on which anything could rest.
        let is_meant = |operation: &str| either(operation == "fsync-dir", SYNCS.contains(&operation));
        let syncs: Vec<(u64, &String)> = (1..).zip(&operations).filter(|(_, operation)| is_meant(operation)).collect();
        for (number, operation) in syncs.into_iter().rev().step_by(either(2, 1)) {
            for action in either(&["eio"][..], &["eio", "kill"]) {
                tally.case(&format!("{} {operation} {action}", verb.name), || {
                    let is_late = number > verb.last_step_of_answer(&operations);
                    let scene = Scene::without_sync(verb, number, action, is_late);
                    // What was synced, and nothing else.
                    let mut states = scene.states(scene.records.len());
                    states.retain(|state| state.way.kind == "all lost");
                    states.iter().enumerate().try_for_each(|(number, state)| scene.try_state(number, state))
                });
            }
        }
    }
    tally.end();
}
