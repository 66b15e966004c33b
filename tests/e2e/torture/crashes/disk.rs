//! A file system in memory that knows what is on the disk and what only in its cache, and what a power cut may make of it.
//!
//! What is promised, and what is not:
//!
//! * `fsync` of a file makes its bytes and its mode durable, and none of its names.
//! * `fsync` of a directory makes all earlier changes of its entries durable, and what these rest on; not the directory's
//!   own name in the directory above.
//! * `syncfs` makes everything durable.
//! * A change of entries is atomic, be it a rename from one directory to another or an exchange.
//! * All else may be kept or lost, in any order, but for this: changes of one name, or of one file under whatever names,
//!   keep their order, and a directory is not removed before what was in it.
//! * Unsynced bytes may be missing, a part, or zeros of the right number; the names may be there nevertheless.
//! * Where a sync fails, the kernel reports it once and takes the bytes for clean: no later sync writes them. Names are
//!   metadata, which a file system that goes on does write the next time.
//!
//! So it is weaker than the journals of ext4, XFS and btrfs, which keep more in order (ext4 and XFS all changes of entries;
//! btrfs writes a new file's name with its `fsync`). Not simulated are sectors that lie, and bytes of others in a file.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::hash::{Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::record::Record;

/// The directories in which things happen; they stay themselves, since a store knows its workspace by the inode.
const TOPS: [&str; 2] = ["home", "w"];

type Id = usize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Dir,
    File,
    Link,
}

#[derive(Clone, Debug)]
struct Inode {
    kind: Kind,
    now: Body,
    synced: Body,
    /// Whether a sync failed, so that no later one makes its bytes durable.
    dropped: bool,
    /// Entries of a directory.
    names: BTreeMap<Vec<u8>, Id>,
    synced_names: BTreeMap<Vec<u8>, Id>,
}

impl Inode {
    fn sync(&mut self) {
        self.synced.mode = self.now.mode;
        if !self.dropped {
            self.synced.bytes.clone_from(&self.now.bytes);
        }
    }

    fn drop_unsynced(&mut self) {
        self.dropped |= self.now.bytes != self.synced.bytes;
    }
}

/// Mode, and the bytes of a file or the target of a link.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Body {
    mode: u32,
    bytes: Vec<u8>,
}

/// A change of entries that is not durable yet.
#[derive(Clone, Debug)]
struct Change {
    sets: Vec<(Id, Vec<u8>, Option<Id>)>,
    /// What got or lost a name.
    moved: Vec<Id>,
    removed_dir: Option<Id>,
}

impl Change {
    /// Whether this one must come after an earlier one.
    fn rests_on(&self, earlier: &Self) -> bool {
        let is_in = |change: &Self, dir: Option<Id>| {
            dir.is_some_and(|removed| change.sets.iter().any(|(dir, _, _)| *dir == removed))
        };
        self.sets.iter().any(|(dir, name, _)| earlier.sets.iter().any(|(d, n, _)| (d, n) == (dir, name)))
            || self.moved.iter().any(|id| earlier.moved.contains(id))
            || is_in(earlier, self.removed_dir)
            || is_in(self, earlier.removed_dir)
    }

    /// Whether an earlier one made the directory in which this happens.
    fn is_in_what_was_made_by(&self, earlier: &Self) -> bool {
        self.sets.iter().any(|(dir, _, _)| earlier.moved.contains(dir))
    }
}

/// Which changes of entries are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    All,
    None,
    /// All but one, and what rests on it.
    Without(usize),
    /// One, and what it rests on.
    Only(usize),
}

/// What becomes of unsynced bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bytes {
    Kept,
    Lost,
    Half,
    Zeros,
}

/// One way to keep and to lose what was not synced.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub(super) kind: &'static str,
    names: Names,
    bytes: Bytes,
    /// The one file whose bytes are not kept; `None`: all that are not synced.
    file: Option<Id>,
    modes_are_kept: bool,
}

/// What stands on the disk after a power cut: paths, in order.
#[derive(Debug)]
pub(super) struct Image(BTreeMap<Vec<u8>, (Id, Kind, Body)>);

/// The file system.
#[derive(Clone, Debug)]
pub(super) struct Disk {
    inodes: Vec<Inode>,
    changes: Vec<Change>,
}

impl Disk {
    /// What stands below a directory, all of it durable.
    pub(super) fn load(root: &Path) -> Self {
        let mut disk = Self { inodes: Vec::new(), changes: Vec::new() };
        disk.add(Kind::Dir, 0o700, Vec::new());
        for name in TOPS {
            let id = disk.load_entry(&root.join(name));
            disk.inodes[0].names.insert(name.into(), id);
        }
        disk.sync_all();
        disk
    }

    fn load_entry(&mut self, path: &Path) -> Id {
        let meta = fs::symlink_metadata(path).unwrap();
        let mode = meta.permissions().mode() & 0o7777;
        if meta.is_symlink() {
            let target = fs::read_link(path).unwrap();
            return self.add(Kind::Link, 0, target.as_os_str().as_bytes().to_vec());
        }
        if meta.is_file() {
            return self.add(Kind::File, mode, fs::read(path).unwrap());
        }
        let dir = self.add(Kind::Dir, mode, Vec::new());
        for entry in fs::read_dir(path).unwrap() {
            let entry = entry.unwrap();
            let id = self.load_entry(&entry.path());
            self.inodes[dir].names.insert(entry.file_name().as_bytes().to_vec(), id);
        }
        dir
    }

    fn add(&mut self, kind: Kind, mode: u32, bytes: Vec<u8>) -> Id {
        // A file is made empty; a link has its target from the first moment on.
        let now = Body { mode, bytes };
        let names = BTreeMap::new();
        let (synced, synced_names) = (now.clone(), names.clone());
        self.inodes.push(Inode { kind, now, synced, dropped: false, names, synced_names });
        self.inodes.len() - 1
    }

    fn sync_all(&mut self) {
        self.changes.clear();
        for inode in &mut self.inodes {
            inode.sync();
            inode.synced_names.clone_from(&inode.names);
        }
    }

    /// Does what was recorded.
    pub(super) fn apply(&mut self, record: &Record) {
        let number = u32::try_from(record.number).unwrap_or_default();
        match record.operation.as_str() {
            "create" if self.find(&record.path).is_some() => {}
            "create" => self.make(&record.path, Kind::File, number, Vec::new()),
            "mkdir" => self.make(&record.path, Kind::Dir, number, Vec::new()),
            "symlink" => self.make(&record.path, Kind::Link, 0, record.bytes.clone()),
            "link" => {
                let id = self.must_find(&record.path);
                let (dir, name) = self.place(&record.other);
                self.change(vec![(dir, name, Some(id))], vec![id], None);
            }
            "rename" => {
                let id = self.must_find(&record.path);
                let ((from, name), (to, new_name)) = (self.place(&record.path), self.place(&record.other));
                // Two names of one file are left alone.
                if self.find(&record.other) != Some(id) {
                    self.change(vec![(from, name, None), (to, new_name, Some(id))], vec![id], None);
                }
            }
            "exchange" => {
                let (one, other) = (self.must_find(&record.path), self.must_find(&record.other));
                let ((from, name), (to, new_name)) = (self.place(&record.path), self.place(&record.other));
                self.change(vec![(from, name, Some(other)), (to, new_name, Some(one))], vec![one, other], None);
            }
            "unlink" | "rmdir" => {
                let id = self.must_find(&record.path);
                let (dir, name) = self.place(&record.path);
                self.change(vec![(dir, name, None)], vec![id], (record.operation == "rmdir").then_some(id));
            }
            "write" => {
                let bytes = &mut self.body(&record.path).bytes;
                let from = usize::try_from(record.number).unwrap();
                let end = from + record.bytes.len();
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                bytes[from..end].copy_from_slice(&record.bytes);
            }
            "truncate" => {
                self.body(&record.path).bytes.resize(usize::try_from(record.number).unwrap(), 0);
                let id = self.must_find(&record.path);
                // What is written anew from the beginning is dirty again.
                self.inodes[id].dropped &= record.number > 0;
            }
            "chmod" => self.body(&record.path).mode = number,
            "fsync" | "fsync-dir" | "syncfs" if record.number > 0 => {
                let failed = (record.operation != "syncfs").then(|| self.must_find(&record.path));
                let is_meant = |id| failed.is_none_or(|failed| failed == id);
                let inodes = self.inodes.iter_mut().enumerate();
                inodes.filter(|(id, _)| is_meant(*id)).for_each(|(_, inode)| inode.drop_unsynced());
            }
            "fsync" | "fsync-dir" => {
                let id = self.must_find(&record.path);
                self.sync_entries(id);
                self.inodes[id].sync();
            }
            "syncfs" => self.sync_all(),
            other => panic!("unknown: {other}"),
        }
    }

    fn find(&self, path: &[u8]) -> Option<Id> {
        path.split(|&byte| byte == b'/').try_fold(0, |dir, name| self.inodes[dir].names.get(name).copied())
    }

    fn must_find(&self, path: &[u8]) -> Id {
        self.find(path).unwrap_or_else(|| panic!("{} is not there", path.escape_ascii()))
    }

    /// The directory of a path, and the name in it.
    fn place(&self, path: &[u8]) -> (Id, Vec<u8>) {
        let at = path.iter().rposition(|&byte| byte == b'/').unwrap();
        (self.must_find(&path[..at]), path[at + 1..].to_vec())
    }

    fn body(&mut self, path: &[u8]) -> &mut Body {
        let id = self.must_find(path);
        &mut self.inodes[id].now
    }

    fn make(&mut self, path: &[u8], kind: Kind, mode: u32, bytes: Vec<u8>) {
        let id = self.add(kind, mode, bytes);
        let (dir, name) = self.place(path);
        self.change(vec![(dir, name, Some(id))], vec![id], None);
    }

    fn change(&mut self, sets: Vec<(Id, Vec<u8>, Option<Id>)>, moved: Vec<Id>, removed_dir: Option<Id>) {
        for (dir, name, id) in &sets {
            set(&mut self.inodes[*dir].names, name, *id);
        }
        self.changes.push(Change { sets, moved, removed_dir });
    }

    /// Makes the changes in one directory durable, with what they rest on.
    fn sync_entries(&mut self, dir: Id) {
        let in_dir = |change: &Change| change.sets.iter().any(|(of, _, _)| *of == dir);
        let seeds = (0..self.changes.len()).filter(|&at| in_dir(&self.changes[at])).collect();
        let synced = self.and_before(seeds, false);
        for (at, change) in std::mem::take(&mut self.changes).into_iter().enumerate() {
            if synced.contains(&at) {
                for (dir, name, id) in &change.sets {
                    set(&mut self.inodes[*dir].synced_names, name, *id);
                }
            } else {
                self.changes.push(change);
            }
        }
    }

    /// With the changes that these rest on, and, if `dirs`, those that made the directories in which they happen.
    fn and_before(&self, mut chosen: BTreeSet<usize>, dirs: bool) -> BTreeSet<usize> {
        for later in (0..self.changes.len()).rev() {
            let change = &self.changes[later];
            if chosen.contains(&later) {
                chosen.extend((0..later).filter(|&at| {
                    change.rests_on(&self.changes[at]) || dirs && change.is_in_what_was_made_by(&self.changes[at])
                }));
            }
        }
        chosen
    }

    /// With the changes that rest on this one.
    fn and_after(&self, first: usize) -> BTreeSet<usize> {
        let mut chosen = BTreeSet::from([first]);
        for later in first + 1..self.changes.len() {
            if chosen.iter().any(|&at| self.changes[later].rests_on(&self.changes[at])) {
                chosen.insert(later);
            }
        }
        chosen
    }

    /// All ways in which a power cut now may keep and lose what was not synced.
    pub(super) fn ways(&self) -> Vec<Way> {
        let mut ways = Vec::new();
        let mut way = |kind, names, bytes, file, modes_are_kept| {
            ways.push(Way { kind, names, bytes, file, modes_are_kept });
        };
        way("all kept", Names::All, Bytes::Kept, None, true);
        way("all lost", Names::None, Bytes::Lost, None, false);
        way("names lost", Names::None, Bytes::Kept, None, true);
        way("modes lost", Names::All, Bytes::Kept, None, false);
        for (all, one, bytes) in [
            ("bytes lost", "one file's bytes lost", Bytes::Lost),
            ("bytes torn", "one file's bytes torn", Bytes::Half),
            ("bytes zeroed", "one file's bytes zeroed", Bytes::Zeros),
        ] {
            way(all, Names::All, bytes, None, true);
            let unsynced = self.inodes.iter().enumerate().filter(|(_, inode)| inode.now.bytes != inode.synced.bytes);
            unsynced.for_each(|(id, _)| way(one, Names::All, bytes, Some(id), true));
        }
        for at in 0..self.changes.len() {
            way("one name lost", Names::Without(at), Bytes::Kept, None, true);
            way("one name kept", Names::Only(at), Bytes::Kept, None, true);
            way("one name kept, bytes lost", Names::Only(at), Bytes::Lost, None, false);
            way("one name lost, bytes zeroed", Names::Without(at), Bytes::Zeros, None, true);
        }
        ways
    }

    /// What a power cut now leaves.
    pub(super) fn image(&self, way: &Way) -> Image {
        let kept = match way.names {
            Names::All => (0..self.changes.len()).collect(),
            Names::None => BTreeSet::new(),
            Names::Without(at) => {
                let lost = self.and_after(at);
                (0..self.changes.len()).filter(|at| !lost.contains(at)).collect()
            }
            Names::Only(at) => self.and_before(BTreeSet::from([at]), true),
        };
        let mut names: Vec<_> = self.inodes.iter().map(|inode| inode.synced_names.clone()).collect();
        for at in kept {
            for (dir, name, id) in &self.changes[at].sets {
                set(&mut names[*dir], name, *id);
            }
        }
        let mut image = BTreeMap::new();
        let mut waiting = vec![(Vec::new(), 0)];
        while let Some((path, dir)) = waiting.pop() {
            for (name, &id) in &names[dir] {
                let path = if path.is_empty() { name.clone() } else { [&path[..], b"/", name].concat() };
                let inode = &self.inodes[id];
                if inode.kind == Kind::Dir {
                    waiting.push((path.clone(), id));
                }
                image.insert(path, (id, inode.kind, way.body(id, inode)));
            }
        }
        Image(image)
    }
}

fn set(names: &mut BTreeMap<Vec<u8>, Id>, name: &[u8], id: Option<Id>) {
    match id {
        Some(id) => names.insert(name.to_vec(), id),
        None => names.remove(name),
    };
}

impl Way {
    /// The only way where nothing is lost.
    pub(super) fn nothing_lost() -> Self {
        Self { kind: "all kept", names: Names::All, bytes: Bytes::Kept, file: None, modes_are_kept: true }
    }

    /// Whether changes of entries are kept that came after lost ones: what no journal does, but POSIX permits.
    pub(super) fn is_out_of_order(&self) -> bool {
        matches!(self.names, Names::Without(_) | Names::Only(_))
    }

    fn body(&self, id: Id, inode: &Inode) -> Body {
        let mode = if self.modes_are_kept { inode.now.mode } else { inode.synced.mode };
        let (now, synced) = (&inode.now.bytes, &inode.synced.bytes);
        if now == synced || self.file.is_some_and(|file| file != id) {
            return Body { mode, bytes: now.clone() };
        }
        // What was appended to synced bytes takes none of them along.
        let begin = if now.starts_with(synced) { synced.len() } else { 0 };
        let bytes = match self.bytes {
            Bytes::Kept => now.clone(),
            Bytes::Lost => synced.clone(),
            Bytes::Half => now[..begin + (now.len() - begin) / 2].to_vec(),
            Bytes::Zeros => [&now[..begin], &vec![0; now.len() - begin]].concat(),
        };
        Body { mode, bytes }
    }
}

impl Image {
    /// Equal for equal images, whatever the numbers of their files.
    pub(super) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let mut first = HashMap::new();
        for (path, (id, kind, body)) in &self.0 {
            (path, kind, body, first.entry(id).or_insert(path)).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Puts it in the place of what stands below `root`.
    pub(super) fn write(&self, root: &Path) {
        for top in TOPS {
            for entry in fs::read_dir(root.join(top)).unwrap() {
                let path = entry.unwrap().path();
                let is_dir = fs::symlink_metadata(&path).unwrap().is_dir();
                if is_dir { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
            }
        }
        let at = |path: &[u8]| -> PathBuf { root.join(std::ffi::OsStr::from_bytes(path)) };
        let mut written: HashMap<Id, PathBuf> = HashMap::new();
        for (path, (id, kind, body)) in &self.0 {
            let path = at(path);
            match kind {
                Kind::Dir if TOPS.iter().any(|top| root.join(top) == path) => {}
                Kind::Dir => fs::create_dir(&path).unwrap(),
                Kind::Link => symlink(std::ffi::OsStr::from_bytes(&body.bytes), &path).unwrap(),
                Kind::File => match written.insert(*id, path.clone()) {
                    Some(first) => fs::hard_link(first, &path).unwrap(),
                    None => {
                        fs::write(&path, &body.bytes).unwrap();
                        fs::set_permissions(&path, PermissionsExt::from_mode(body.mode)).unwrap();
                    }
                },
            }
        }
        // The other way round, since a mode may close a directory.
        for (path, (_, _, body)) in self.0.iter().rev().filter(|(_, (_, kind, _))| *kind == Kind::Dir) {
            fs::set_permissions(at(path), PermissionsExt::from_mode(body.mode)).unwrap();
        }
    }

    /// One line for each path that differs.
    pub(super) fn differences(&self, other: &Self) -> String {
        let paths: BTreeSet<_> = self.0.keys().chain(other.0.keys()).collect();
        let show = |image: &Self, path: &[u8]| {
            let found = image.0.get(path).map(|(_, kind, body)| {
                let hash =
                    body.bytes.iter().fold(0_u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(u64::from(*byte)));
                format!("{kind:?} {:o} {} bytes {hash:x}", body.mode, body.bytes.len())
            });
            found.unwrap_or_else(|| "nothing".to_owned())
        };
        let shown = paths.into_iter().map(|path| (path, show(self, path), show(other, path)));
        let differ = shown.filter(|(_, one, other)| one != other);
        differ.map(|(path, one, other)| format!("{}: {one} -> {other}\n", path.escape_ascii())).collect()
    }
}
