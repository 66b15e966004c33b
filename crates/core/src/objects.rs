//! Reading objects of a store: our packs first, then whatever stock git made of them.
//!
//! Our packs hold whole entries, which `ckpt-pack` reads. Stock `git repack` and `git gc` may leave deltified packs and
//! loose objects beside them; those are read through libgit2's object database, opened on the objects directory alone:
//! no repository, no configuration, no alternates. libgit2 answers "present" for an object whose pack was deleted, so
//! presence is never asked of it; a read is, and what it reads it verifies against the id.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ckpt_fs::{Dir, Entries, FileKind};
use ckpt_pack::{Found, Header, Kind, PackSet, Vetted};

use crate::error::Context;
use crate::recent::Recent;
use crate::{Error, ObjectFault, ObjectId, Observer, Result};

/// The objects of one store. Shared by threads.
pub(crate) struct Objects {
    packs: PackSet,
    path: PathBuf,
    fallback: Mutex<Option<git2::Odb<'static>>>,
    vetted: Mutex<Vetted>,
    recent: Recent,
}

impl Objects {
    pub(crate) fn open(store: &Dir, path: &Path) -> Result<Self> {
        let path = path.join("objects");
        let pack_dir = store.open_beneath(b"objects/pack").context("open", path.join("pack"))?;
        Self::of_packs(pack_dir, path)
    }

    /// No objects, for a store at `path` that does not exist.
    pub(crate) fn none(path: &Path) -> Result<Self> {
        let path = path.join("objects");
        Self::of_packs(Dir::nothing().context("open", &path)?, path)
    }

    fn of_packs(pack_dir: Dir, path: PathBuf) -> Result<Self> {
        let packs = PackSet::open(pack_dir).map_err(|err| pack_error(&path, err))?;
        Ok(Self { packs, path, fallback: Mutex::new(None), vetted: Mutex::default(), recent: Recent::new() })
    }

    pub(crate) fn packs(&self) -> &PackSet {
        &self.packs
    }

    /// What was read before.
    pub(crate) fn recent(&self) -> &Recent {
        &self.recent
    }

    /// Lists the packs anew.
    pub(crate) fn refresh(&self) -> Result<()> {
        self.packs.refresh().map_err(|err| pack_error(&self.path, err))
    }

    /// Whether a pack that is whole holds `id`. Loose objects do not count: they may be pruned by stock git.
    pub(crate) fn contains(&self, id: &ObjectId) -> Result<bool> {
        self.packs.contains(id).map_err(|err| pack_error(&self.path, err))
    }

    /// Whether a pack gives `id` back: it is read and verified, in bounded memory, until `observer` asks for an end; what stock
    /// git deltified in memory, and to its end.
    pub(crate) fn gives_back(&self, id: &ObjectId, observer: &dyn Observer) -> Result<bool> {
        match self.packs.probe(id, &mut Nowhere(observer)) {
            Ok(Some(Found::Deltified)) => match self.read_fallback(*id) {
                Err(Error::Object { .. }) => Ok(false),
                read => read.map(|_| true),
            },
            Ok(found) => Ok(found.is_some()),
            Err(ckpt_pack::Error::Sink { .. }) => Err(Error::Interrupted),
            Err(err) if err.is_shortage() => Err(pack_error(&self.path, err)),
            Err(_) => Ok(false),
        }
    }

    /// Ids of the objects that stock git keeps in files of their own.
    pub(crate) fn loose(&self) -> Result<Vec<ObjectId>> {
        let objects = Dir::open(&self.path).context("open", &self.path)?;
        let (mut dirs, mut names, mut found) = (Entries::default(), Entries::default(), Vec::new());
        objects.read_entries(&mut dirs).context("read", &self.path)?;
        for dir in dirs.iter().filter(|dir| dir.name.len() == 2) {
            let path = || self.path.join(String::from_utf8_lossy(dir.name).as_ref());
            let Ok(opened) = objects.open_dir(dir.name).or_short("open", path())? else { continue };
            opened.read_entries(&mut names).context("read", path())?;
            let hex = |name: &[u8]| String::from_utf8([dir.name, name].concat()).ok();
            found.extend(names.iter().filter_map(|name| hex(name.name)?.parse::<ObjectId>().ok()));
        }
        Ok(found)
    }

    /// Whether stock git keeps the object in a file of its own.
    pub(crate) fn is_loose(&self, id: ObjectId) -> bool {
        let hex = id.to_string();
        std::fs::symlink_metadata(self.path.join(&hex[..2]).join(&hex[2..])).is_ok()
    }

    /// Reads a whole object and verifies it against its id.
    pub(crate) fn read(&self, id: ObjectId) -> Result<(Kind, Vec<u8>)> {
        match self.packs.read(&id) {
            Ok(Some(Found::Whole(object))) => Ok((object.kind, object.content)),
            Ok(Some(Found::Deltified)) => self.read_fallback(id),
            // Another process may have published a pack since we listed them.
            Ok(None) => {
                self.refresh()?;
                match self.packs.read(&id) {
                    Ok(Some(Found::Whole(object))) => Ok((object.kind, object.content)),
                    Ok(_) => self.read_fallback(id),
                    Err(err) => self.read_damaged(id, err),
                }
            }
            Err(err) => self.read_damaged(id, err),
        }
    }

    /// A damaged copy in one place does not hide a whole one in another.
    fn read_damaged(&self, id: ObjectId, err: ckpt_pack::Error) -> Result<(Kind, Vec<u8>)> {
        self.read_fallback(id).map_err(|_| match err {
            ckpt_pack::Error::Io { .. } => pack_error(&self.path, err),
            other => Error::object(id, ObjectFault::Damaged(other.to_string())),
        })
    }

    /// Reads an object of the given kind.
    pub(crate) fn read_kind(&self, id: ObjectId, kind: Kind) -> Result<Vec<u8>> {
        let (found, content) = self.read(id)?;
        if found == kind {
            return Ok(content);
        }
        Err(Error::object(
            id,
            ObjectFault::Damaged(format!("it is a {} where a {} is wanted", found.as_str(), kind.as_str())),
        ))
    }

    /// Writes the content of blob `id` to `out`, which stands for `path`, in bounded memory, and verifies it. After an
    /// error `out` holds a part.
    pub(crate) fn stream_blob(&self, id: ObjectId, out: &mut dyn Write, path: &Path) -> Result<u64> {
        match self.packs.stream(&id, out) {
            Ok(Some(Found::Whole(Header { kind: Kind::Blob, size }))) => Ok(size),
            Ok(Some(Found::Whole(Header { kind, .. }))) => Err(Error::object(
                id,
                ObjectFault::Damaged(format!("it is a {} where a blob is wanted", kind.as_str())),
            )),
            Ok(Some(Found::Deltified) | None) => {
                let content = self.read_kind(id, Kind::Blob)?;
                out.write_all(&content).context("write", path)?;
                Ok(content.len() as u64)
            }
            Err(ckpt_pack::Error::Sink { source, .. }) => Err(source).context("write", path),
            Err(err @ ckpt_pack::Error::Io { .. }) => Err(pack_error(&self.path, err)),
            Err(err) => Err(Error::object(id, ObjectFault::Damaged(err.to_string()))),
        }
    }

    /// Whether the object is of `kind`, without reading its content where it lies in a pack of ours; `None` when it cannot be
    /// found.
    pub(crate) fn is_kind(&self, id: ObjectId, kind: Kind) -> Result<Option<bool>> {
        let mut found = self.packs.is_kind(&id, kind);
        if matches!(found, Ok(None)) {
            self.refresh()?;
            found = self.packs.is_kind(&id, kind);
        }
        match found {
            Ok(Some(Found::Whole(is_kind))) => Ok(Some(is_kind)),
            Ok(Some(Found::Deltified) | None) => match self.read_fallback(id) {
                Err(Error::Object { .. }) => Ok(None),
                read => read.map(|(found, _)| Some(found == kind)),
            },
            Err(err) => self.read_damaged(id, err).map(|(found, _)| Some(found == kind)),
        }
    }

    /// Ids in our packs that begin with `prefix` (lower-case hex digits), each once. Of the packs that are there now:
    /// that nothing is found is no reason to look again, so another process's newest ones have to be seen at once.
    pub(crate) fn with_prefix(&self, prefix: &str) -> Result<BTreeSet<ObjectId>> {
        self.refresh()?;
        self.packs.ids_where(|id| id.to_string().starts_with(prefix)).map_err(|err| pack_error(&self.path, err))
    }

    /// libgit2 opens what it finds: it would wait for the writer of a FIFO, follow links and `info/alternates` to what lies
    /// outside the store, and crash where an idx names a place beyond the end of its pack.
    fn check_files(&self, id: ObjectId) -> Result<()> {
        let refuse = |what: &str| Err(Error::object(id, ObjectFault::Damaged(what.to_owned())));
        let objects = Dir::open(&self.path).context("open", &self.path)?;
        let below = |name: &[u8]| match objects.open_dir(name) {
            Ok(dir) => Ok(Some(dir)),
            Err(err) if err.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(err) => Err(err).context("open", self.path.join(String::from_utf8_lossy(name).as_ref())),
        };
        if let Some(packs) = below(b"pack")? {
            let mut names = Entries::default();
            packs.read_entries(&mut names).context("read", self.path.join("pack"))?;
            let is_file = |kind: Option<FileKind>| kind.is_none_or(|kind| kind == FileKind::File);
            if let Some(entry) = names.iter().find(|entry| !is_file(entry.kind)) {
                let name = String::from_utf8_lossy(entry.name);
                return refuse(&format!("objects/pack/{name} is no regular file"));
            }
            let mut vetted = self.vetted.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(name) = vetted.find_unfit(&packs).map_err(|err| pack_error(&self.path, err))? {
                return refuse(&format!(
                    "objects/pack/{name} is damaged or foreign, and with it only our own packs are read"
                ));
            }
        }
        let stat = |dir: &Dir, name: &str| dir.try_stat(name.as_bytes()).context("look at", self.path.join(name));
        if let Some(info) = below(b"info")?
            && stat(&info, "alternates")?.is_some()
        {
            return refuse("objects/info/alternates names another repository, and nothing outside the store is read");
        }
        let hex = id.to_string();
        if let Some(loose) = below(&hex.as_bytes()[..2])?
            && stat(&loose, &hex[2..])?.is_some_and(|stat| stat.kind != FileKind::File)
        {
            return refuse("what stands at its place is no regular file");
        }
        Ok(())
    }

    fn read_fallback(&self, id: ObjectId) -> Result<(Kind, Vec<u8>)> {
        self.check_files(id)?;
        let mut fallback = self.fallback.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(odb) = fallback.as_ref()
            && odb.refresh().is_ok()
            && let Ok(object) = read_through(odb, id)
        {
            return Ok(object);
        }
        // One that was opened before may know packs that are gone, and not look further.
        let odb = git2::Odb::new().map_err(|err| git_error(id, &err))?;
        odb.add_disk_alternate(&self.path.to_string_lossy()).map_err(|err| git_error(id, &err))?;
        read_through(fallback.insert(odb), id)
    }
}

fn read_through(odb: &git2::Odb<'_>, id: ObjectId) -> Result<(Kind, Vec<u8>)> {
    let read = git2::Oid::from_bytes(id.as_bytes()).and_then(|oid| {
        odb.read(oid).map(|object| {
            let kind = match object.kind() {
                git2::ObjectType::Commit => Kind::Commit,
                git2::ObjectType::Tree => Kind::Tree,
                git2::ObjectType::Blob => Kind::Blob,
                _ => Kind::Tag,
            };
            (kind, object.data().to_vec())
        })
    });
    read.map_err(|err| git_error(id, &err))
}

/// Where a content goes that is only read to see whether it is there.
struct Nowhere<'a>(&'a dyn Observer);

impl Write for Nowhere<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0.interrupted() { Err(std::io::Error::other("interrupted")) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn git_error(id: ObjectId, err: &git2::Error) -> Error {
    let reason = match err.code() {
        git2::ErrorCode::NotFound => ObjectFault::Missing,
        _ => ObjectFault::Damaged(err.message().to_owned()),
    };
    Error::object(id, reason)
}

/// Names what a fault of a pack means for the store; `path` is the objects directory.
pub(crate) fn pack_error(path: &Path, err: ckpt_pack::Error) -> Error {
    match err {
        ckpt_pack::Error::Io { action, object, source } => {
            // Some objects are no files of that directory.
            let path = if object.starts_with("the ") { path.to_owned() } else { path.join("pack").join(object) };
            Error::Io { action, path, source }
        }
        other => Error::broken(path.parent().unwrap_or(path), other.to_string()),
    }
}
