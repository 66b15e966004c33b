//! Power cuts: a file system of its own, shut down without writing its journal, mounted again and looked at.
//!
//! What the file system had not written is gone then: files are empty, old or missing although their names are there.
//! A kill proves nothing about that, since the kernel still writes what a killed process had written. The cut comes at
//! each step of a command, at a random moment of it, and at a step after something else had the journal written, which
//! takes along names and not contents.
//!
//! Needs root on Linux, loop devices, mkfs, and perl for one ioctl; what is missing is said, and nothing fails. Each file
//! system is mounted in a mount namespace: the test starts itself again in there, so that nothing stays mounted.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::process::{Command, Output as Ended, Stdio};
use std::time::{Duration, Instant};

use super::{Random, Tally, VERBS, Verb, caught, either, is_long, verbs};
use crate::crash::assert_nothing_lost;
use crate::sandbox::{Call, Output, Sandbox, Tree, is_root, skip, steps_of};

/// The ioctl that ext4, xfs and f2fs know as "shutdown": `_IOR('X', 125, u32)`, with 2 for "do not flush the log".
const CUT: &str = "open(my $f, '+<', $ARGV[0]) or die(qq(cannot open it: $!)); my $how = pack('I', 2); \
                   ioctl($f, 0x8004587d, $how) or die(qq(it cannot be shut down: $!));";

/// A file system and how it is mounted.
struct FileSystem {
    /// The name of its torture.
    torture: &'static str,
    /// Steps between two that are tried, in the short form.
    stride: u64,
    kind: &'static str,
    options: &'static str,
}

const FILE_SYSTEMS: [FileSystem; 5] = [
    FileSystem { torture: "power ext4", stride: 43, kind: "ext4", options: "loop" },
    // A rename over another file does not write the new one out by itself.
    FileSystem { torture: "power ext4 noauto_da_alloc", stride: 71, kind: "ext4", options: "loop,noauto_da_alloc" },
    // A name may be written before the content of its file.
    FileSystem {
        torture: "power ext4 writeback",
        stride: 53,
        kind: "ext4",
        options: "loop,data=writeback,noauto_da_alloc",
    },
    FileSystem { torture: "power xfs", stride: 61, kind: "xfs", options: "loop" },
    FileSystem { torture: "power btrfs", stride: 61, kind: "btrfs", options: "loop" },
];

#[test]
fn every_verb_and_a_power_cut_on_ext4_d1_l30_x6() {
    on_each(&FILE_SYSTEMS[..1], "every_verb_and_a_power_cut_on_ext4_d1_l30_x6");
}

#[test]
fn every_verb_and_a_power_cut_on_other_file_systems_d1_l30_x6() {
    on_each(&FILE_SYSTEMS[1..], "every_verb_and_a_power_cut_on_other_file_systems_d1_l30_x6");
}

#[test]
fn a_power_cut_that_cannot_be_is_skipped_with_its_reason() {
    let reason =
        try_on(&FileSystem { torture: "power none", stride: 1, kind: "no-such-fs", options: "loop" }, "nothing", "")
            .unwrap_err();
    assert!(reason.contains("mkfs.no-such-fs"), "{reason}");
    let reason = try_on(&FILE_SYSTEMS[0], "nothing", "/nonexistent").unwrap_err();
    assert!(reason.contains("mkfs.ext4") || reason.contains("root") || reason.contains("Linux"), "{reason}");
}

/// Runs the test `name` on each file system, or says why not.
fn on_each(systems: &[FileSystem], name: &str) {
    if let Some(inside) = std::env::var_os("CKPT_POWER_INSIDE") {
        let system = systems.iter().find(|system| inside == system.torture).unwrap();
        return inside_namespace(system);
    }
    for system in systems {
        if let Err(reason) = try_on(system, name, &std::env::var("PATH").unwrap()) {
            skip(&format!("{}: {reason}", system.torture));
            super::skipped(system.torture, &reason);
        }
    }
}

/// Starts this program again in a mount namespace, for one file system. The reason, where that cannot be.
fn try_on(system: &FileSystem, name: &str, path: &str) -> Result<(), String> {
    if !cfg!(target_os = "linux") {
        return Err("only Linux can shut a file system down".to_owned());
    }
    if !is_root() {
        return Err("only root can mount an image".to_owned());
    }
    let temp = tempfile::Builder::new().prefix("ckpt-power-").tempdir().unwrap();
    let (image, mount) = (temp.path().join("image"), temp.path().join("disk"));
    fs::create_dir(&mount).unwrap();
    fs::File::create(&image).unwrap().set_len(512 << 20).unwrap();
    let mkfs = format!("mkfs.{}", system.kind);
    run(Command::new(&mkfs).arg("-q").arg(&image).env("PATH", path)).map_err(|why| format!("{mkfs}: {why}"))?;
    // The whole way once, before anything counts on it.
    let probe = format!(
        "mount -o {} {image} {mount}; echo x > {mount}/probe; sync {mount}/probe; perl -e \"$CUT\" {mount}/probe; \
         umount {mount}; mount -o {} {image} {mount}",
        system.options,
        system.options,
        image = image.display(),
        mount = mount.display()
    );
    run(Command::new("unshare").args(["-m", "sh", "-euc", &probe]).env("CUT", CUT))
        .map_err(|why| format!("mount, shut down, mount again: {why}"))?;
    let status = Command::new("unshare")
        .arg("-m")
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("torture::power::{name}"), "--nocapture"])
        .env("CKPT_POWER_INSIDE", system.torture)
        .env("CKPT_POWER_DIR", temp.path())
        .env("TMPDIR", &mount)
        .stdin(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{} lost something", system.torture);
    Ok(())
}

fn run(command: &mut Command) -> Result<Ended, String> {
    let output = command.stdin(Stdio::null()).output().map_err(|err| err.to_string())?;
    let text = [&*output.stdout, &*output.stderr].map(String::from_utf8_lossy).concat();
    if output.status.success() { Ok(output) } else { Err(format!("{}, {}", output.status, text.trim())) }
}

/// The disk that loses its power.
struct Disk {
    image: PathBuf,
    mount: PathBuf,
    options: &'static str,
    /// A file on it that nobody looks at.
    other: PathBuf,
    /// Counts boots.
    boots: std::cell::Cell<u32>,
    /// What a fault point runs: the cut, or, as long as the file `first` is there, a commit of the journal.
    script: PathBuf,
    first: PathBuf,
}

impl Disk {
    fn mounted(system: &FileSystem) -> Self {
        let dir = PathBuf::from(std::env::var_os("CKPT_POWER_DIR").unwrap());
        let mount = dir.join("disk");
        let disk = Self {
            image: dir.join("image"),
            other: mount.join("other"),
            mount,
            options: system.options,
            boots: std::cell::Cell::new(0),
            script: dir.join("cut"),
            first: dir.join("first"),
        };
        let (other, first) = (disk.other.display(), disk.first.display());
        let text = format!(
            "if [ -e {first} ]; then rm {first}; echo x >> {other}; exec sync {other}; fi\nexec perl -e \"{}\" {other}\n",
            CUT.replace('$', "\\$")
        );
        fs::write(&disk.script, text).unwrap();
        disk.mount();
        fs::write(&disk.other, "x").unwrap();
        disk
    }

    fn mount(&self) {
        run(Command::new("mount").args(["-o", self.options]).args([&self.image, &self.mount])).unwrap();
    }

    /// Everything that was written up to here stays.
    fn sync(&self) {
        run(Command::new("sync").arg("-f").arg(&self.mount)).unwrap();
    }

    fn cut(&self) {
        // It may have been cut already.
        let _ = run(Command::new("sh").arg(&self.script));
    }

    /// Cuts, unless that happened already, and boots again.
    fn reboot(&self) {
        self.cut();
        run(Command::new("umount").arg(&self.mount)).unwrap();
        self.mount();
        self.boots.set(self.boots.get() + 1);
    }

    /// A call that waits for the disk, in this boot.
    fn call<'a>(&self, sandbox: &'a Sandbox, words: &str) -> Call<'a> {
        let call = sandbox.call(words.split(' ')).durable();
        if self.boots.get() == 0 { call } else { call.env("CKPT_FAULT_BOOT_ID", format!("boot-{}", self.boots.get())) }
    }

    fn ckpt(&self, sandbox: &Sandbox, words: &str) -> Output {
        self.call(sandbox, words).run()
    }

    /// A call that is cut at step `number`; at step `commit` before that the journal is written.
    fn call_and_cut(&self, sandbox: &Sandbox, words: &str, number: u64, commit: Option<u64>) -> Output {
        let mut at = number.to_string();
        if let Some(commit) = commit {
            fs::write(&self.first, "").unwrap();
            at = format!("{commit},{number}");
        }
        let call = self.call(sandbox, words).fault(number, &format!("run:sh {}", self.script.display()));
        let output = call.env("CKPT_FAULT_AT", at).run();
        let _ = fs::remove_file(&self.first);
        self.reboot();
        output
    }

    /// A call that is cut after `wait`.
    fn call_and_cut_after(&self, sandbox: &Sandbox, words: &str, wait: Duration) -> Output {
        let child = self.call(sandbox, words).spawn();
        std::thread::sleep(wait);
        self.cut();
        let output = Output::new(&[], child.wait_with_output().unwrap());
        self.reboot();
        output
    }
}

fn inside_namespace(system: &FileSystem) {
    let disk = Disk::mounted(system);
    let mut tally = Tally::new(system.torture);
    let mut random = Random::new(11);
    for verb in VERBS {
        each_step(&disk, verb, &mut tally, &mut random, either(system.stride, 1));
    }
    history(&disk, &mut tally, &mut random);
    old_content_with_new_stat(&disk, &mut tally);
    tally.end();
}

fn each_step(disk: &Disk, verb: &Verb, tally: &mut Tally, random: &mut Random, stride: u64) {
    disk.boots.set(0);
    let sandbox = Sandbox::new();
    let (words, _) = (verb.prepare)(&sandbox);
    let (output, steps) = steps_of(disk.call(&sandbox, &words));
    let _ = output.ok();
    let first = 1 + verb.name.len() as u64 % stride;
    for number in (first.min(steps)..=steps).step_by(usize::try_from(stride).unwrap()) {
        tally.case(&format!("{} step", verb.name), || one(disk, verb, number, None));
        if number > 1 {
            let commit = 1 + random.next() % (number - 1);
            tally.case(&format!("{} late", verb.name), || one(disk, verb, number, Some(commit)));
        }
    }
}

fn one(disk: &Disk, verb: &Verb, number: u64, commit: Option<u64>) -> Result<(), String> {
    disk.boots.set(0);
    let sandbox = Sandbox::new();
    let (words, expected) = (verb.prepare)(&sandbox);
    let before = sandbox.tree();
    let known = if verb.name == "repair" { BTreeSet::new() } else { ids(&disk.ckpt(&sandbox, "ls --all -n 0 --json")) };
    disk.sync();
    let output = disk.call_and_cut(&sandbox, &words, number, commit);
    let what = format!("{words}, a cut at step {number}, the journal written at {commit:?}: {output}");
    if verb.name == "repair" {
        let _ = disk.ckpt(&sandbox, "verify --repair").ok();
    }
    let next = disk.ckpt(&sandbox, "status");
    let now = sandbox.tree();
    if now != before && now != expected {
        return Err(format!("neither old nor new: {}{what}{next}", before.differences(&now)));
    }
    if output.code == Some(0) && now != expected {
        return Err(format!("it said that it was done: {}{what}", expected.differences(&now)));
    }
    assert_nothing_lost(&before, &sandbox, &what);
    let there = ids(&disk.ckpt(&sandbox, "ls --all -n 0 --json"));
    if !there.is_superset(&known)
        || (output.code == Some(0) && words.starts_with("save") && !there.contains(&output.id()))
    {
        return Err(format!("a checkpoint is gone: {what}"));
    }
    settle(disk, &sandbox, &what)
}

/// Saves, changes something, and brings it back; every store is whole then.
fn settle(disk: &Disk, sandbox: &Sandbox, what: &str) -> Result<(), String> {
    let now = sandbox.tree();
    let id = disk.ckpt(sandbox, "save -m afterwards").ok().id();
    sandbox.write("a", "later");
    let _ = disk.ckpt(sandbox, &format!("reset {id}")).ok();
    let restored = sandbox.tree();
    sandbox.check();
    if restored == now { Ok(()) } else { Err(format!("{}{what}", now.differences(&restored))) }
}

/// Ids of all checkpoints that were saved; none where nothing was.
fn ids(output: &Output) -> BTreeSet<String> {
    let json = output.json();
    let listed = json["checkpoints"].as_array().into_iter().flatten();
    listed.map(|checkpoint| checkpoint["id"].as_str().unwrap().to_owned()).collect()
}

/// One store through many boots: every checkpoint that was ever acknowledged restores byte for byte after each cut.
fn history(disk: &Disk, tally: &mut Tally, random: &mut Random) {
    disk.boots.set(0);
    let sandbox = Sandbox::new();
    verbs::old(&sandbox);
    let mut known: Vec<(String, Tree)> = vec![(disk.ckpt(&sandbox, "save -m first").ok().id(), sandbox.tree())];
    let mut whole = Duration::from_millis(50);
    for round in 0..either(3, 400) {
        let kind = *random.pick(&["save", "save", "reset", "undo", "rollback"]);
        let mut acknowledged = None;
        tally.case(&format!("random {kind}"), || {
            edit(&sandbox, random);
            let (words, expected) = match kind {
                "save" => (format!("save -m round-{round} --always"), sandbox.tree()),
                "reset" => {
                    let (id, tree) = random.pick(&known);
                    (format!("reset {id}"), tree.clone())
                }
                "rollback" => {
                    let (id, tree) = random.pick(&known);
                    (format!("rollback {id} d0 f1"), sandbox.tree().with(tree, "d0").with(tree, "f1"))
                }
                _ => {
                    let tree = sandbox.tree();
                    let _ = disk.ckpt(&sandbox, &format!("reset {}", known[0].0)).ok();
                    ("undo".to_owned(), tree)
                }
            };
            let before = sandbox.tree();
            disk.sync();
            let wait = whole.mul_f64(random.below(1200) as f64 / 1000.0);
            let begun = Instant::now();
            let output = disk.call_and_cut_after(&sandbox, &words, wait);
            if output.code == Some(0) {
                whole = (whole + begun.elapsed().min(Duration::from_millis(500))) / 2;
            }
            // A rollback of a path that neither has is an error, and changes nothing.
            let what = format!("round {round}, {words}, a cut after {wait:?}: {output}");
            let next = disk.ckpt(&sandbox, "status");
            let now = sandbox.tree();
            if next.code != Some(0) || (now != before && now != expected) || (output.code == Some(0) && now != expected)
            {
                return Err(format!(
                    "old: {}new: {}{what}{next}",
                    before.differences(&now),
                    expected.differences(&now)
                ));
            }
            assert_nothing_lost(&before, &sandbox, &what);
            if output.code == Some(0) && kind == "save" {
                acknowledged = Some((output.id(), before.clone()));
            }
            let all = ids(&disk.ckpt(&sandbox, "ls --all -n 0 --json"));
            for (id, tree) in known.iter().chain(&acknowledged) {
                if !all.contains(id) {
                    return Err(format!("{id} is gone: {what}"));
                }
                // All of them are many restores in the long form: the newest, and some.
                if is_long()
                    && known.len() > 12
                    && random.below(known.len()) > 6
                    && acknowledged.as_ref().is_none_or(|(new, _)| new != id)
                {
                    continue;
                }
                let _ = disk.ckpt(&sandbox, &format!("reset {id}")).ok();
                if sandbox.tree() != *tree {
                    return Err(format!("{id} differs: {}{what}", tree.differences(&sandbox.tree())));
                }
            }
            sandbox.check();
            Ok(())
        });
        known.extend(acknowledged);
    }
}

/// Changes some files.
fn edit(sandbox: &Sandbox, random: &mut Random) {
    for _ in 0..1 + random.below(12) {
        let path = format!("{}f{}", ["", "d0/", "d1/e/"][random.below(3)], random.below(8));
        if random.below(5) == 0 && sandbox.has(&path) {
            sandbox.remove(&path);
        } else {
            let size = [7, 300, 5000, 70_000][random.below(4)];
            let content: Vec<u8> = (0..size / 8 + 1).flat_map(|_| random.next().to_le_bytes()).collect();
            sandbox.write(&path, content);
        }
    }
}

/// A lost overwrite comes back as the old content with the new stat data. What the stat cache says of it was true, and is
/// not any more: the next save must read the file.
fn old_content_with_new_stat(disk: &Disk, tally: &mut Tally) {
    for round in 0..either(1, 20) {
        let mut kind = "content kept";
        let outcome = caught(|| lost_overwrite(disk, round, &mut kind));
        tally.count(kind, outcome);
    }
}

fn lost_overwrite(disk: &Disk, round: usize, kind: &mut &'static str) -> Result<(), String> {
    disk.boots.set(0);
    let sandbox = Sandbox::new();
    let (old, new) = (vec![b'o'; 8192], vec![b'n'; 8192]);
    sandbox.write("f", &old);
    let first = disk.ckpt(&sandbox, "save -m first").ok().id();
    disk.sync();
    // In place: not a new file, whose content would be written when it gets its name.
    let file = fs::OpenOptions::new().write(true).open(sandbox.at("f")).unwrap();
    file.write_all_at(&new, 0).unwrap();
    drop(file);
    // So long that the cache may say that the stat data prove the content.
    std::thread::sleep(Duration::from_millis(60));
    let second = disk.ckpt(&sandbox, "save -m second").ok().id();
    let stat = || {
        let meta = fs::metadata(sandbox.at("f")).unwrap();
        (meta.ino(), meta.size(), (meta.mtime(), meta.mtime_nsec()), (meta.ctime(), meta.ctime_nsec()))
    };
    let stat_then = stat();
    // The cache is written out, and with it what the journal knows of the file, and the file is not.
    let cache = ["ckpt/stat-cache", "ckpt/stat-cache-changes"].map(|file| sandbox.store().join(file));
    run(Command::new("sync").args(cache)).unwrap();
    disk.reboot();
    let content = sandbox.read("f");
    if content == old && stat() == stat_then {
        // Who takes it for the same boot believes the cache: the trap is there.
        let is_believed = sandbox.is_clean();
        *kind = if is_believed { "old content, new stat, believed in one boot" } else { "old content, new stat" };
    }
    let id = disk.ckpt(&sandbox, &format!("save -m third-{round} --always")).ok().id();
    if sandbox.text_in(&id, "f").into_bytes() != content {
        return Err("the save after the cut took the file for what it was before".to_owned());
    }
    for (id, content) in [(first, old), (second, new)] {
        let _ = disk.ckpt(&sandbox, &format!("reset {id}")).ok();
        if sandbox.read("f") != content {
            return Err(format!("{id} does not come back"));
        }
    }
    sandbox.check();
    Ok(())
}
