//! Every file of a store, damaged in every way: each command gives an error or the right bytes, never wrong bytes, never a
//! panic, never a loop; and other workspaces go on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::{Random, Tally, either, verbs};
use crate::sandbox::{Sandbox, Tree};

/// No command takes longer, whatever it finds.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is done to a file, and its name.
type Spoil = (&'static str, fn(&mut Vec<u8>, &mut Random));

const SPOILS: [Spoil; 5] = [
    ("flipped", |bytes, random| {
        if !bytes.is_empty() {
            let at = random.below(bytes.len());
            bytes[at] ^= 1 << random.below(8);
        }
    }),
    ("cut", |bytes, random| bytes.truncate(random.below(bytes.len()))),
    ("zeroed", |bytes, random| {
        let from = random.below(bytes.len());
        bytes[from..].fill(0);
    }),
    ("emptied", |bytes, _| bytes.clear()),
    ("grown", |bytes, random| bytes.extend(random.next().to_le_bytes())),
];

const COMMANDS: [&str; 10] = [
    "status",
    "ls -a",
    "show",
    "diff HEAD~1 HEAD",
    "save -m again --always",
    "rollback HEAD~1 d",
    "reset FIRST",
    "verify --full",
    "verify --full --repair",
    "doctor",
];

/// A workspace with history, and a copy of it all to begin each case with.
struct Store {
    sandbox: Sandbox,
    first: String,
    trees: [Tree; 2],
    files: Vec<PathBuf>,
}

impl Store {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        sandbox.expect_damage();
        verbs::old(&sandbox);
        let first = sandbox.save("first");
        let old = sandbox.tree();
        verbs::new(&sandbox);
        sandbox.save("second");
        let new = sandbox.tree();
        let _ = sandbox.ckpt("reset HEAD~1").ok();
        let _ = sandbox.ckpt("undo").ok();
        let other = sandbox.root().join("other");
        fs::create_dir(&other).unwrap();
        fs::write(other.join("f"), "other").unwrap();
        let _ = sandbox.call(["-w", "../other", "save"]).run().ok();
        copy(&sandbox.home(), &sandbox.root().join("home.whole"));
        copy(&sandbox.w(), &sandbox.root().join("w.whole"));
        let store = sandbox.stores().into_iter().find(|store| store.to_str().unwrap().contains("/w_")).unwrap();
        let files = Tree::of(&store).paths().into_iter().map(|path| store.join(path)).filter(|path| path.is_file());
        let files = files.collect();
        Self { sandbox, first, trees: [old, new], files }
    }

    fn begin(&self) {
        for name in ["home", "w"] {
            fs::remove_dir_all(self.sandbox.root().join(name)).unwrap();
            copy(&self.sandbox.root().join(format!("{name}.whole")), &self.sandbox.root().join(name));
        }
    }

    fn try_command(&self, command: &str) -> Result<(), String> {
        let begun = Instant::now();
        let output = self.sandbox.ckpt(&command.replace("FIRST", &self.first));
        if begun.elapsed() > PATIENCE {
            return Err(format!("it took {:?}: {output}", begun.elapsed()));
        }
        if !matches!(output.code, Some(0 | 1 | 3)) {
            return Err(format!("{output}"));
        }
        let now = self.sandbox.tree();
        let [old, new] = &self.trees;
        let is_right = match (command, output.code) {
            ("reset FIRST", Some(0)) => now == *old,
            ("rollback HEAD~1 d", Some(0)) => now == new.clone().with(old, "d"),
            // What could not be done, or not whole, has changed nothing, or it is the next command that ends it.
            _ => now == *new || now == *old || now == new.clone().with(old, "d"),
        };
        if !is_right {
            return Err(format!("wrong bytes: {}{output}", new.differences(&now)));
        }
        if command.starts_with("save") && output.code == Some(0) {
            let restored = self.sandbox.ckpt(&format!("reset {}", output.id()));
            if restored.code != Some(0) || self.sandbox.tree() != now {
                return Err(format!("what was saved does not come back: {output}{restored}"));
            }
        }
        let other = self.sandbox.call(["-w", "../other", "status", "--exit-code"]).run();
        if other.code != Some(0) {
            return Err(format!("another workspace: {other}"));
        }
        Ok(())
    }
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success());
}

#[test]
fn every_file_of_a_store_damaged_x4() {
    let store = Store::new();
    let mut tally = Tally::new("damage");
    let mut random = Random::new(7);
    for _ in 0..either(1, 40) {
        for file in &store.files {
            let other = random.pick(&store.files).clone();
            for (kind, spoil) in SPOILS {
                let command = *random.pick(&COMMANDS);
                tally.case(kind, || {
                    store.begin();
                    let mut bytes = fs::read(file).unwrap();
                    spoil(&mut bytes, &mut random);
                    fs::remove_file(file).unwrap();
                    fs::write(file, &bytes).unwrap();
                    store.try_command(command).map_err(|err| format!("{} {kind}, {command}: {err}", file.display()))
                });
            }
            for (kind, replace) in [("removed", false), ("swapped", true)] {
                let command = *random.pick(&COMMANDS);
                tally.case(kind, || {
                    store.begin();
                    fs::remove_file(file).unwrap();
                    if replace {
                        fs::copy(&other, file).map_or(Ok(0), Ok::<u64, std::io::Error>).unwrap();
                    }
                    store.try_command(command).map_err(|err| format!("{} {kind}, {command}: {err}", file.display()))
                });
            }
        }
    }
    tally.end();
}
