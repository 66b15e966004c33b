//! Stores that somebody prepared: trees that would lead a checkout out of its directory or never to an end, and files of a
//! store that are not what they should be. Nothing runs, nothing outside is read or written, every command ends.
//!
//! The trees are those of Git's own advisories (CVE-2014-9390, CVE-2018-11235, CVE-2019-1349 to 1354, CVE-2021-21300,
//! CVE-2024-32002 and others): each must be refused before the first write, or come back as it is.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::{Random, Tally, either};
use crate::damage::with_extension;
use crate::sandbox::{Forge, Output, Sandbox, Tree, git_command};

/// Seconds within which every command ends, whatever it meets.
const PATIENCE: &str = "60";

/// What nothing of a workspace or a store may show.
const SECRET: &str = "secret outside of everything";

/// A workspace with a past, what lies outside of it, and a trap.
struct Site {
    sandbox: Sandbox,
    first: String,
    old: Tree,
    new: Tree,
    outside: Tree,
}

impl Site {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        sandbox.expect_damage();
        super::verbs::old(&sandbox);
        let first = sandbox.save("first");
        let old = sandbox.tree();
        super::verbs::new(&sandbox);
        sandbox.save("second");
        let new = sandbox.tree();
        let out = sandbox.root().join("outside");
        fs::create_dir_all(out.join("hooks")).unwrap();
        fs::write(out.join("secret"), SECRET).unwrap();
        sandbox.trap(out.join("trap"), &out.join("it-ran"));
        let outside = Tree::with_identity(&out);
        Self { sandbox, first, old, new, outside }
    }

    fn outside(&self) -> std::path::PathBuf {
        self.sandbox.root().join("outside")
    }

    /// Runs words within the deadline, and looks whether anything happened that must not.
    fn run(&self, words: &str) -> Result<Output, String> {
        let call = self.sandbox.call(words.split(' ')).through(["timeout", "-s", "KILL", PATIENCE]);
        let output = call.run();
        if !matches!(output.code, Some(0 | 1 | 3)) {
            return Err(format!("{output}"));
        }
        if output.code == Some(1) && !output.all().contains("error") {
            return Err(format!("no word of why: {output}"));
        }
        let differences = self.outside.differences(&Tree::with_identity(&self.outside()));
        if !differences.is_empty() {
            return Err(format!("something happened outside: {differences}{output}"));
        }
        if output.all().contains(SECRET)
            || self.sandbox.tree().contents().any(|(_, content)| content == SECRET.as_bytes())
        {
            return Err(format!("something outside was read: {output}"));
        }
        if self.sandbox.has(".git") || self.sandbox.has("d/.git") {
            return Err(format!("a .git was made: {output}"));
        }
        Ok(output)
    }
}

/// What must become of a tree.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Refused,
    /// It comes back, or it is refused.
    Sound,
}

/// Where a name is put.
const FORMS: [&str; 3] = ["file", "directory", "link"];

fn named(forge: &Forge, name: &[u8], form: &str, depth: usize) -> String {
    let mut tree = match form {
        "link" => forge.tree(&[("120000", name, &forge.object("blob", b"../outside"))]),
        "directory" => {
            let below = forge.tree(&[("100755", b"post-checkout", &forge.object("blob", b"#!/bin/sh\nexit 1\n"))]);
            let below = forge.tree(&[("40000", b"hooks", &below)]);
            forge.tree(&[("40000", name, &below)])
        }
        _ => forge.tree(&[("100644", name, &forge.object("blob", b"gitdir: ../outside\n"))]),
    };
    for _ in 0..depth {
        tree = forge.tree(&[("40000", b"d", &tree)]);
    }
    tree
}

const REFUSED: [&[u8]; 32] = [
    b"",
    b".",
    b"..",
    b"/",
    b"a/b",
    b"../x",
    b"/etc/x",
    b".git",
    b".GIT",
    b".gIt",
    b".git ",
    b".git.",
    b".git...",
    b".git . .",
    b"git~1",
    b"GIT~1",
    b"git~1 ",
    b"git~1.",
    b".git::$INDEX_ALLOCATION",
    b".git:x",
    b".GIT::$DATA",
    b"git~1:x",
    b"a\\.git",
    b"..\\.git\\hooks",
    b"\\.git",
    b".git\\config",
    ".g\u{200c}it".as_bytes(),
    ".\u{200d}git".as_bytes(),
    ".git\u{feff}".as_bytes(),
    "\u{206a}.GIT\u{202e}".as_bytes(),
    b"x/../../outside/y",
    b"./x",
];

const SOUND: [&[u8]; 24] = [
    b"-rf",
    b"--help",
    b"-",
    b"a.",
    b"a ",
    b" ",
    b"...",
    b"NUL",
    b"con",
    b"aux.txt",
    b"x:y",
    b"back\\slash",
    b"\\",
    b"~",
    b"*",
    b"?",
    b"\n",
    b"\x1b[2J",
    b"\xff\xfe",
    ".gi\u{307}t".as_bytes(),
    "\u{202e}txt.exe".as_bytes(),
    b".gitmodules",
    b".ckpt-0123456789abcdef-1",
    b".gitattributes",
];

#[test]
fn crafted_trees_lead_nowhere_s6() {
    let mut tally = Tally::new("hostile trees");
    let mut random = Random::new(6);
    for (fate, names) in [(Fate::Refused, &REFUSED[..]), (Fate::Sound, &SOUND[..])] {
        for name in names {
            for form in FORMS {
                for depth in [0, 1] {
                    if either(random.below(9) == 0, true) {
                        let what = format!("{:?} as a {form}", name.escape_ascii().to_string());
                        tally.case("name", || tree_case(&what, fate, &|forge| named(forge, name, form, depth)));
                    }
                }
            }
        }
    }
    for (what, fate, make) in SHAPES {
        tally.case("shape", || tree_case(what, *fate, make));
    }
    for seed in 0..either(4, 300) {
        tally.case("random", || tree_case("a tree of noise", Fate::Sound, &|forge| noise(forge, seed)));
    }
    tally.end();
}

type Shape = (&'static str, Fate, &'static (dyn Fn(&Forge) -> String + Sync));

fn blob(forge: &Forge) -> String {
    forge.object("blob", b"evil")
}

fn dir(forge: &Forge) -> String {
    forge.tree(&[("100755", b"post-checkout", &blob(forge))])
}

fn link(forge: &Forge) -> String {
    forge.object("blob", b"../outside")
}

const SHAPES: &[Shape] = &[
    ("a link and a directory of one name", Fate::Refused, &|f| {
        f.tree(&[("120000", b"a", &link(f)), ("40000", b"a", &dir(f))])
    }),
    ("a directory and a link of one name", Fate::Refused, &|f| {
        f.tree(&[("40000", b"a", &dir(f)), ("120000", b"a", &link(f))])
    }),
    ("a link and a directory, other case", Fate::Sound, &|f| {
        f.tree(&[("120000", b"A", &link(f)), ("40000", b"a", &dir(f))])
    }),
    ("two forms of one letter", Fate::Sound, &|f| {
        f.tree(&[("120000", "e\u{301}".as_bytes(), &link(f)), ("40000", "\u{e9}".as_bytes(), &dir(f))])
    }),
    ("a file and a directory apart", Fate::Refused, &|f| {
        f.tree(&[("100644", b"a", &blob(f)), ("100644", b"a-b", &blob(f)), ("40000", b"a", &dir(f))])
    }),
    ("twice the same", Fate::Refused, &|f| f.tree(&[("100644", b"a", &blob(f)), ("100644", b"a", &blob(f))])),
    ("not sorted", Fate::Sound, &|f| f.tree(&[("100644", b"b", &blob(f)), ("100644", b"a", &blob(f))])),
    ("a submodule", Fate::Refused, &|f| f.tree(&[("160000", b"a", &"1".repeat(40))])),
    ("a submodule beside a link", Fate::Refused, &|f| {
        f.tree(&[("120000", b"A", &f.object("blob", b".git/modules/x")), ("160000", b"a", &"1".repeat(40))])
    }),
    ("a mode of 0", Fate::Refused, &|f| f.tree(&[("0", b"a", &blob(f))])),
    ("a mode of a device", Fate::Refused, &|f| f.tree(&[("20666", b"a", &blob(f))])),
    ("setuid", Fate::Refused, &|f| f.tree(&[("104755", b"a", &blob(f))])),
    ("a mode of 32 bits", Fate::Refused, &|f| f.tree(&[("37777777777", b"a", &blob(f))])),
    ("a mode of many digits", Fate::Refused, &|f| f.tree(&[(&"1".repeat(60), b"a", &blob(f))])),
    ("a mode with a sign", Fate::Refused, &|f| f.tree(&[("+100644", b"a", &blob(f))])),
    ("a mode with zeros", Fate::Sound, &|f| f.tree(&[("0100644", b"a", &blob(f))])),
    ("no mode", Fate::Refused, &|f| f.tree(&[("", b"a", &blob(f))])),
    ("a blob as a directory", Fate::Refused, &|f| f.tree(&[("40000", b"a", &blob(f))])),
    ("a directory as a file", Fate::Refused, &|f| f.tree(&[("100644", b"a", &dir(f))])),
    ("a commit as a directory", Fate::Refused, &|f| {
        f.tree(&[("40000", b"a", &f.object("commit", format!("tree {}\n\nx", dir(f)).as_bytes()))])
    }),
    ("a link that is a directory", Fate::Refused, &|f| f.tree(&[("120000", b"a", &dir(f))])),
    ("a name of 256 bytes", Fate::Sound, &|f| f.tree(&[("100644", &[b'x'; 256], &blob(f))])),
    ("a name of 100,000 bytes", Fate::Sound, &|f| f.tree(&[("100644", &[b'x'; 100_000], &blob(f))])),
    ("a link to 4,096 bytes", Fate::Refused, &|f| f.tree(&[("120000", b"a", &f.object("blob", &[b'x'; 4096]))])),
    ("10,000 levels", Fate::Refused, &|f| f.nested(&blob(f), 10_000)),
    ("ten times ten, ten levels deep", Fate::Refused, &bomb),
    ("100,000 times one blob", Fate::Sound, &many),
    ("an entry cut short", Fate::Refused, &|f| f.object("tree", b"100644 x\0only ten")),
    ("only a mode", Fate::Refused, &|f| f.object("tree", b"100644")),
    ("noughts", Fate::Refused, &|f| f.object("tree", &[0; 100])),
];

/// 10,000,000,000 files in a kilobyte.
fn bomb(forge: &Forge) -> String {
    let mut tree = blob(forge);
    for level in 0..10 {
        let mode = if level == 0 { "100644" } else { "40000" };
        let names: Vec<String> = (0..10).map(|name| name.to_string()).collect();
        let entries: Vec<_> = names.iter().map(|name| (mode, name.as_bytes(), tree.as_str())).collect();
        tree = forge.tree(&entries);
    }
    tree
}

fn many(forge: &Forge) -> String {
    let names: Vec<String> = (0..either(10_000, 100_000)).map(|name| format!("{name:06}")).collect();
    let blob = blob(forge);
    forge.tree(&names.iter().map(|name| ("100644", name.as_bytes(), blob.as_str())).collect::<Vec<_>>())
}

/// A tree whose bytes were changed at random.
fn noise(forge: &Forge, seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut content = Vec::new();
    for name in ["a", "b", "c"] {
        content.extend_from_slice(format!("100644 {name}\0").as_bytes());
        content.extend((0..20).map(|at| u8::from_str_radix(&blob(forge)[2 * at..2 * at + 2], 16).unwrap()));
    }
    for _ in 0..=random.below(4) {
        let at = random.below(content.len());
        match random.below(3) {
            0 => content[at] ^= 1 << random.below(8),
            1 => drop(content.remove(at)),
            _ => content.insert(at, *random.pick(b" /.\0\\:~4017g")),
        }
    }
    forge.object("tree", &content)
}

/// Forges a checkpoint of a tree and tries all commands on it.
fn tree_case(what: &str, fate: Fate, make: &dyn Fn(&Forge) -> String) -> Result<(), String> {
    let site = Site::new();
    let forge = Forge::in_store(&site.sandbox.store());
    let forged = forge.replace_newest(&make(&forge));
    let before = site.new.clone();
    for words in [
        format!("show {forged}"),
        format!("diff {} {forged}", site.first),
        "status".to_owned(),
        format!("reset --dry-run {forged}"),
        format!("reset {forged}"),
        format!("rollback {forged} ."),
        "undo".to_owned(),
    ] {
        let output = site.run(&words).map_err(|err| format!("{what}: {err}"))?;
        let is_restore = words.starts_with("reset") || words.starts_with("rollback");
        let now = site.sandbox.tree();
        if output.code == Some(1) && words != "undo" && fate == Fate::Refused && now != before {
            return Err(format!("{what} was refused after a write: {}{output}", before.differences(&now)));
        }
        if is_restore && fate == Fate::Refused && output.code != Some(1) {
            return Err(format!("{what} was not refused: {output}"));
        }
    }
    // An honest checkpoint beside it still restores.
    let output = site.run(&format!("reset {}", site.first))?;
    let now = site.sandbox.tree();
    if output.code == Some(0) && now.without("keep") == site.old.clone().without("keep") {
        return Ok(());
    }
    Err(format!("{what} hides the honest one: {}{output}", site.old.differences(&site.sandbox.tree())))
}

#[test]
fn a_seal_that_does_not_fit_is_no_checkpoint_s6() {
    let mut tally = Tally::new("forged seals");
    let headers = [
        ("ckpt-store", "0".repeat(32)),
        ("ckpt-store", "x".to_owned()),
        ("ckpt-seq", "1".to_owned()),
        ("ckpt-seq", "0".to_owned()),
        ("ckpt-seq", u64::MAX.to_string()),
        ("ckpt-seq", "-1".to_owned()),
        ("ckpt-kind", "other".to_owned()),
        ("ckpt-time", "x".to_owned()),
        ("ckpt-time", i64::MAX.to_string()),
        ("ckpt-time", i64::MIN.to_string()),
        ("ckpt-depth", u64::MAX.to_string()),
        ("ckpt-depth", "0".to_owned()),
        ("ckpt-previous", "SELF".to_owned()),
        ("ckpt-previous", "0".repeat(40)),
        ("ckpt-files", u64::MAX.to_string()),
        ("ckpt-added", u64::MAX.to_string()),
        ("ckpt-root-mode", "7777".to_owned()),
        ("ckpt-saved", u64::MAX.to_string()),
        ("ckpt-head", "0".repeat(40)),
        ("ckpt-skip", "SELF".to_owned()),
        ("ckpt-undo", "TIP".to_owned()),
        ("ckpt-redo", "TIP".to_owned()),
        ("ckpt-operation", "undo".to_owned()),
        ("ckpt-operation", "create".to_owned()),
        ("parent", "TIP".to_owned()),
        ("tree", "TIP".to_owned()),
    ];
    for (name, value) in &headers {
        tally.case(name, || {
            let site = Site::new();
            let store = site.sandbox.store();
            Forge::in_store(&store).replace_headers(name, value);
            for words in [
                "ls -a",
                "show",
                "status",
                "diff",
                "show HEAD~1",
                "undo",
                "redo",
                "save -m x --always",
                "verify --full",
                "reset",
            ] {
                let _ = site.run(words).map_err(|err| format!("{name} {value}: {err}"))?;
            }
            let now = site.sandbox.tree();
            if now == site.new || now == site.old { Ok(()) } else { Err(site.new.differences(&now)) }
        });
    }
    tally.end();
}

/// How a store is prepared, and its name.
type Trick = (&'static str, fn(&Path, &Path));

const TRICKS: &[Trick] = &[
    ("include.path", |store, outside| {
        add(store, "config", &format!("[include]\n\tpath = {}\n", outside.join("secret").display()));
    }),
    ("commands in the configuration", |store, outside| {
        let trap = outside.join("trap");
        let trap = trap.display();
        let text = format!(
            "[core]\n\tfsmonitor = {trap}\n\tpager = {trap}\n\tsshCommand = {trap}\n\teditor = {trap}\n\thooksPath = {}\n\
             \tworktree = {}\n[diff]\n\texternal = {trap}\n[filter \"x\"]\n\tclean = {trap}\n\tsmudge = {trap}\n[gpg]\n\tprogram = {trap}\n",
            outside.join("hooks").display(),
            outside.display()
        );
        add(store, "config", &text);
    }),
    ("alternates", alternates),
    ("http-alternates", |store, _| add(store, "objects/info/http-alternates", "http://127.0.0.1:1/\n")),
    ("grafts and replacements", |store, _| {
        add(store, "info/grafts", &format!("{} {}\n", "1".repeat(40), "2".repeat(40)));
        add(store, "shallow", &format!("{}\n", "1".repeat(40)));
        fs::create_dir_all(store.join("refs/replace")).unwrap();
    }),
    ("commondir", |store, outside| add(store, "commondir", &format!("{}\n", outside.display()))),
    ("ref to outside", |store, outside| relink(&store.join("refs/heads/timeline"), &outside.join("secret"))),
    ("refs to outside", |store, outside| relink(&store.join("refs/heads"), outside)),
    ("ref as a directory", |store, _| becomes_dir(&store.join("refs/heads/timeline"))),
    ("ref as a FIFO", |store, _| becomes_fifo(&store.join("refs/heads/timeline"))),
    ("symbolic ref", |store, _| put(&store.join("refs/heads/timeline"), b"ref: refs/heads/timeline\n")),
    ("huge packed-refs", |store, _| {
        fs::remove_file(store.join("refs/heads/timeline")).unwrap();
        fs::File::create(store.join("packed-refs")).unwrap().set_len(1 << 40).unwrap();
    }),
    ("HEAD to outside", |store, outside| relink(&store.join("HEAD"), &outside.join("secret"))),
    ("HEAD as a FIFO", |store, _| becomes_fifo(&store.join("HEAD"))),
    ("HEAD as a directory", |store, _| becomes_dir(&store.join("HEAD"))),
    ("config to outside", |store, outside| relink(&store.join("config"), &outside.join("secret"))),
    ("config as a FIFO", |store, _| becomes_fifo(&store.join("config"))),
    ("config of 1 TiB", |store, _| fs::File::create(store.join("config")).unwrap().set_len(1 << 40).unwrap()),
    ("packs outside", |store, outside| move_out(&store.join("objects/pack"), outside)),
    ("objects outside", |store, outside| move_out(&store.join("objects"), outside)),
    ("a pack outside", |store, outside| {
        let pack = with_extension(&store.join("objects/pack"), "pack").remove(0);
        relink(&pack, &outside.join("secret"));
    }),
    ("an idx as a FIFO", |store, _| becomes_fifo(&with_extension(&store.join("objects/pack"), "idx")[0])),
    ("a pack as a FIFO", |store, _| becomes_fifo(&with_extension(&store.join("objects/pack"), "pack")[0])),
    ("a pack as a directory", |store, _| becomes_dir(&with_extension(&store.join("objects/pack"), "pack")[0])),
    ("a keep as a FIFO", |store, _| becomes_fifo(&with_extension(&store.join("objects/pack"), "keep")[0])),
    ("a keep as a directory", |store, _| becomes_dir(&with_extension(&store.join("objects/pack"), "keep")[0])),
    ("a keep to outside", |store, outside| {
        relink(&with_extension(&store.join("objects/pack"), "keep")[0], &outside.join("secret"));
    }),
    ("a keep of 1 TiB", |store, _| {
        let keep = &with_extension(&store.join("objects/pack"), "keep")[0];
        fs::remove_file(keep).unwrap();
        fs::File::create(keep).unwrap().set_len(1 << 40).unwrap();
    }),
    ("an idx of 1 TiB", |store, _| {
        let idx = &with_extension(&store.join("objects/pack"), "idx")[0];
        let bytes = fs::read(idx).unwrap();
        fs::remove_file(idx).unwrap();
        fs::write(idx, bytes).unwrap();
        fs::File::options().write(true).open(idx).unwrap().set_len(1 << 40).unwrap();
    }),
    ("wild offsets", |store, _| {
        each_idx(store, |bytes, count| {
            let at = 1032 + count * 24;
            for (number, offset) in bytes[at..at + count * 4].chunks_exact_mut(4).enumerate() {
                offset.copy_from_slice(&[0x7fff_ffff_u32, 0xffff_ffff, 0x8000_0000, 13, 1][number % 5].to_be_bytes());
            }
        });
    }),
    ("offsets of others", |store, _| {
        each_idx(store, |bytes, count| {
            let at = 1032 + count * 24;
            bytes[at..at + count * 4].rotate_left(4);
        });
    }),
    ("a count of all", |store, _| each_idx(store, |bytes, _| bytes[8..1032].fill(0xff))),
    ("a foreign multi-pack-index", |store, _| put(&store.join("objects/pack/multi-pack-index"), &[0xff; 4096])),
    ("a loose object as a FIFO", |store, _| loose(store, becomes_fifo)),
    ("loose objects outside", |store, outside| {
        let outside = outside.to_owned();
        loose(store, |path| {
            fs::remove_dir_all(path.parent().unwrap()).unwrap();
            symlink(outside, path.parent().unwrap()).unwrap();
        });
    }),
    ("a loose object of 1 TiB", |store, _| {
        loose(store, |path| {
            fs::remove_file(path).unwrap();
            fs::File::create(path).unwrap().set_len(1 << 40).unwrap();
        });
    }),
    ("hooks", |store, outside| {
        for hook in
            ["reference-transaction", "post-commit", "pre-auto-gc", "update", "post-checkout", "fsmonitor-watchman"]
        {
            add(store, &format!("hooks/{hook}"), "");
            fs::copy(outside.join("trap"), store.join("hooks").join(hook)).unwrap();
        }
    }),
];

fn put(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
}

fn add(store: &Path, name: &str, text: &str) {
    let path = store.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let old = fs::read_to_string(&path).unwrap_or_default();
    fs::write(path, old + text).unwrap();
}

fn clear(path: &Path) {
    let Ok(meta) = fs::symlink_metadata(path) else { return };
    if meta.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
}

fn relink(path: &Path, target: &Path) {
    clear(path);
    symlink(target, path).unwrap();
}

fn becomes_dir(path: &Path) {
    clear(path);
    fs::create_dir(path).unwrap();
}

fn becomes_fifo(path: &Path) {
    clear(path);
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}

/// What the store had is there, but outside of it.
fn move_out(path: &Path, outside: &Path) {
    let moved = outside.parent().unwrap().join("moved");
    fs::rename(path, &moved).unwrap();
    symlink(&moved, path).unwrap();
}

/// All objects of the store stand in another repository.
fn alternates(store: &Path, outside: &Path) {
    let other = outside.parent().unwrap().join("other");
    fs::create_dir_all(other.join("objects")).unwrap();
    fs::rename(store.join("objects/pack"), other.join("objects/pack")).unwrap();
    fs::create_dir(store.join("objects/pack")).unwrap();
    add(store, "objects/info/alternates", &format!("{}\n", other.join("objects").display()));
}

fn each_idx(store: &Path, change: fn(&mut [u8], usize)) {
    for idx in with_extension(&store.join("objects/pack"), "idx") {
        let mut bytes = fs::read(&idx).unwrap();
        let count = u32::from_be_bytes(*bytes[1028..].first_chunk().unwrap());
        change(&mut bytes, usize::try_from(count).unwrap());
        fs::remove_file(&idx).unwrap();
        fs::write(&idx, bytes).unwrap();
    }
}

/// Makes all objects loose, and does something to one that the newest checkpoint needs.
fn loose(store: &Path, change: impl FnOnce(&Path)) {
    let away = store.with_extension("packs");
    fs::rename(store.join("objects/pack"), &away).unwrap();
    fs::create_dir(store.join("objects/pack")).unwrap();
    let git = |args: &[&str], input: fs::File| {
        let mut git = git_command();
        git.args(["-c", "safe.directory=*", "--git-dir"]).arg(store).args(args).stdin(input);
        String::from_utf8(git.output().unwrap().stdout).unwrap()
    };
    for pack in with_extension(&away, "pack") {
        git(&["unpack-objects", "-q"], fs::File::open(pack).unwrap());
    }
    fs::remove_dir_all(away).unwrap();
    let id = git(&["rev-parse", "timeline:a"], fs::File::open("/dev/null").unwrap());
    let path = store.join("objects").join(&id[..2]).join(id[2..].trim());
    assert!(path.is_file(), "{}", path.display());
    change(&path);
}

#[test]
fn prepared_stores_lead_nowhere_s4() {
    let mut tally = Tally::new("hostile stores");
    let mut random = Random::new(4);
    for (name, trick) in TRICKS {
        tally.case("store", || store_case(trick).map_err(|err| format!("{name}: {err}")));
    }
    for own in ["worktree", "stat-cache", "stat-cache-changes", "journal", "verify-sample", "damaged", ""] {
        for form in ["FIFO", "link", "directory", "1 TiB", "noise"] {
            let set = |store: &Path, outside: &Path| {
                let path = store.join("ckpt").join(own);
                let path = if own.is_empty() { store.join("ckpt") } else { path };
                match form {
                    "FIFO" => becomes_fifo(&path),
                    "link" => relink(&path, if own.is_empty() { outside } else { Path::new("/dev/zero") }),
                    "directory" => becomes_dir(&path),
                    _ => {
                        clear(&path);
                        put(&path, b"ckpt-journal 1\n\xff\0");
                        if form == "1 TiB" {
                            fs::File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
                        }
                    }
                }
            };
            if either(random.below(3) != 0, false) {
                continue;
            }
            tally.case("own file", || store_case(set).map_err(|err| format!("ckpt/{own} as {form}: {err}")));
        }
    }
    tally.end();
}

fn store_case(prepare: impl Fn(&Path, &Path)) -> Result<(), String> {
    // Reading and writing commands each begin with the store as it was prepared.
    for all in [
        &["status", "ls -a", "show", "diff FIRST", "workspaces", "verify --full", "prune"][..],
        &["save -m x --always", "reset FIRST", "undo", "rollback FIRST a"],
        &["reset FIRST", "verify --full --repair", "save"],
    ] {
        let site = Site::new();
        prepare(&site.sandbox.store(), &site.outside());
        for words in all {
            let output = site.run(&words.replace("FIRST", &site.first))?;
            let now = site.sandbox.tree();
            let is_right = now == site.new || now == site.old || now == site.new.clone().with(&site.old, "a");
            if !is_right || (output.code == Some(0) && words.starts_with("reset") && now != site.old) {
                return Err(format!("wrong bytes: {}{output}", site.new.differences(&now)));
            }
        }
    }
    Ok(())
}
