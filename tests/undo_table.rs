//! The tables of `docs/undo.md`, played row by row: what the guide says of undo and redo is what they do.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use ckpt_core::{CheckpointId, CheckpointStore, Durability, Event, Observer, Receipt, StoreOptions};

const TABLES: &str = include_str!("../docs/undo.md");
/// Set for the child that is to die while it resets: where it works, and the checkpoint that it goes to.
const CHILD: &str = "CKPT_UNDO_TABLE_CHILD";

/// One row: the step, what it is to say, and the cells.
struct Row<'a> {
    step: &'a str,
    says: Option<&'a str>,
    cells: Vec<&'a str>,
}

#[test]
fn tables_of_the_guide_are_true_l42_l43_l20() {
    let sequences: Vec<_> = TABLES.split("\n## ").skip(1).map(|section| (title(section), rows(section))).collect();
    assert_eq!(sequences.len(), 8);
    for (title, rows) in sequences {
        assert!(rows.len() >= 3, "{title} has no table");
        let mut play = Play::new();
        for (number, row) in rows.iter().enumerate() {
            play.step(row);
            assert_eq!(play.cells(), row.cells, "{title}, row {}: after `{}`", number + 1, row.step);
        }
        play.look_through();
    }
}

/// The process that is killed: it only works where a parent asks for it.
#[test]
fn child_resets_and_dies() {
    let Some(place) = std::env::var_os(CHILD) else { return };
    let place = PathBuf::from(place);
    let store = open(&place, Arc::new(DieAfterOne));
    let to = store.checkpoints().unwrap()[0].id;
    let _ = store.reset(to);
    unreachable!("it is dead");
}

/// Ends the process without further ado when the first path is restored.
struct DieAfterOne;

impl Observer for DieAfterOne {
    fn event(&self, event: Event<'_>) {
        if matches!(event, Event::Restored { .. }) {
            std::process::abort();
        }
    }
}

fn title(section: &str) -> &str {
    section.lines().next().unwrap()
}

fn rows(section: &str) -> Vec<Row<'_>> {
    let lines = section.lines().filter(|line| line.starts_with("| `"));
    lines
        .map(|line| {
            let mut cells = line.trim_matches('|').split('|').map(str::trim);
            let (step, says) = cells.next().unwrap().strip_prefix('`').unwrap().split_once('`').unwrap();
            Row { step, says: says.strip_prefix(": "), cells: cells.collect() }
        })
        .collect()
}

fn open(place: &Path, observer: Arc<dyn Observer>) -> CheckpointStore {
    let mut options = StoreOptions::default();
    options.durability = Durability::None;
    options.observer = observer;
    CheckpointStore::open_or_create(&place.join("store"), &place.join("w"), options).unwrap()
}

/// One sequence on its way.
struct Play {
    place: tempfile::TempDir,
    store: CheckpointStore,
    names: BTreeMap<String, CheckpointId>,
}

impl Play {
    /// Begins with `C1` and `C2` saved.
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("w")).unwrap();
        let store = open(place.path(), Arc::new(ckpt_core::Silent));
        let mut play = Self { place, store, names: BTreeMap::new() };
        for (name, files) in [("C1", "abc"), ("C2", "ab")] {
            for file in files.chars() {
                fs::write(play.file(&file.to_string()), &name[1..]).unwrap();
            }
            play.save(name);
        }
        play
    }

    fn file(&self, name: &str) -> PathBuf {
        self.place.path().join("w").join(name)
    }

    fn save(&mut self, name: &str) {
        let saved = self.store.save(name).unwrap();
        assert!(saved.created);
        self.names.insert(name.to_owned(), saved.id);
    }

    fn step(&mut self, row: &Row<'_>) {
        let words: Vec<&str> = row.step.split(' ').collect();
        let restored = match (words.as_slice(), row.says) {
            (["echo", content, ">", name], None) => {
                fs::write(self.file(name), content).unwrap();
                None
            }
            (["rm", name], None) => {
                fs::remove_file(self.file(name)).unwrap();
                None
            }
            (["ckpt", "save", name], None) => {
                self.save(name);
                None
            }
            (["ckpt", "reset", "C1"], Some("killed after one file")) => {
                self.die();
                None
            }
            (["ckpt", "reset", to], None) => Some(self.store.reset(self.names[*to]).unwrap()),
            (["ckpt", "rollback", to, path], None) => Some(self.store.rollback(self.names[*to], &[path]).unwrap()),
            (["ckpt", "undo"], Some("nothing to undo")) => {
                assert_eq!(self.store.undo().unwrap(), None);
                None
            }
            (["ckpt", "redo"], Some("nothing to redo")) => {
                assert_eq!(self.store.redo().unwrap(), None);
                None
            }
            (["ckpt", "undo"], says) => {
                let receipt = self.store.undo().unwrap().unwrap();
                assert_eq!(receipt.recovered.is_some(), says == Some("finished first"), "{receipt:?}");
                Some(receipt)
            }
            (["ckpt", "redo"], None) => Some(self.store.redo().unwrap().unwrap()),
            _ => panic!("no such step: {}", row.step),
        };
        if let Some(receipt) = restored {
            self.take_down(&receipt);
        }
    }

    fn take_down(&mut self, receipt: &Receipt) {
        assert!(receipt.is_complete(), "{receipt:?}");
        let safety = receipt.safety.unwrap();
        if !self.names.values().any(|known| *known == safety) {
            self.names.insert("S".to_owned(), safety);
        }
    }

    /// Lets a child of this test reset to `C1` and die on the way.
    fn die(&self) {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["child_resets_and_dies", "--exact", "--test-threads=1"]).env(CHILD, self.place.path());
        let output = child.output().unwrap();
        assert!(!output.status.success(), "{output:?}");
    }

    /// What stands in the files, and the name of head.
    fn cells(&self) -> Vec<String> {
        let content = |name: &str| fs::read_to_string(self.file(name)).unwrap_or_else(|_| "–".to_owned());
        let mut cells: Vec<String> = ["a", "b", "c"].into_iter().map(content).collect();
        let head = self.store.head().unwrap().unwrap();
        let named = |(name, id): (&String, &CheckpointId)| (*id == head).then(|| name.clone());
        cells.push(self.names.iter().find_map(named).unwrap_or_else(|| head.to_string()));
        cells
    }

    /// Stock git has nothing to say against the store.
    fn look_through(&self) {
        let mut git = Command::new("git");
        git.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        git.env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", self.place.path()).arg("--git-dir").arg(self.store.path());
        let output = git.args(["fsck", "--full", "--strict"]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}
