//! From temporary files to a pack that readers see.

use ckpt_fs::{Dir, Durability};

use crate::keep::{KEEP_TEXT, Keep, file_name};
use crate::{Error, ObjectId, Result};

/// The order in which the files of a pack appear: readers look for the idx, so it comes last.
const ORDER: [&str; 3] = ["keep", "pack", "idx"];

/// A pack whose files are complete and synced under temporary names. Dropped without
/// [`FinishedPack::publish`], it removes them.
#[derive(Debug)]
pub struct FinishedPack {
    name: ObjectId,
    objects: usize,
    bytes: u64,
    keep_text: String,
    temporaries: Temporaries,
}

/// A pack that readers see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublishedPack {
    /// Its name, which is its checksum.
    pub name: ObjectId,
    /// Number of objects in it.
    pub objects: usize,
    /// Size of the pack file in bytes.
    pub bytes: u64,
}

impl FinishedPack {
    pub(crate) fn new(name: ObjectId, objects: usize, bytes: u64, keep_text: String, temporaries: Temporaries) -> Self {
        Self { name, objects, bytes, keep_text, temporaries }
    }

    /// Its name, which is its checksum.
    pub fn name(&self) -> ObjectId {
        self.name
    }

    /// Number of objects in it.
    pub fn objects(&self) -> usize {
        self.objects
    }

    /// Size of the pack file in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Renames the files to `pack-<name>.keep`, `.pack` and `.idx` in `pack_dir`, in this order, and syncs it.
    /// See [`publish_all`].
    ///
    /// # Errors
    /// [`Error::Io`] when a rename or sync fails: the pack may then be visible or not.
    pub fn publish(self, pack_dir: &Dir, durability: Durability) -> Result<PublishedPack> {
        let published = self.rename(pack_dir)?;
        sync_dir(pack_dir, durability)?;
        Ok(published)
    }

    /// Removes the files.
    ///
    /// # Errors
    /// [`Error::Io`] when one cannot be removed.
    pub fn discard(mut self) -> Result<()> {
        self.temporaries.remove()
    }

    /// A pack that stands there under the same name has the same content, or is damaged; both ways the new files take
    /// its place. What its `.keep` says about merged packs outlives a new one that says nothing.
    fn rename(mut self, pack_dir: &Dir) -> Result<PublishedPack> {
        let says_more = self.keep_text == KEEP_TEXT && {
            let standing = Keep::read(pack_dir, &self.name)?;
            standing.ours && !standing.merged.is_empty()
        };
        for extension in ORDER {
            if extension == "keep" && says_more {
                continue;
            }
            let to = file_name(&self.name, extension);
            let from = self.temporaries.name(extension);
            if let Err(err) = self.temporaries.dir.rename(&from, pack_dir, &to) {
                // What is there already needs the rest: the next session gives it to it, or removes both.
                self.temporaries.done = extension != ORDER[0];
                return Err(Error::io("publish", &to)(err));
            }
        }
        if says_more {
            let keep = self.temporaries.name("keep");
            self.temporaries.dir.remove_file(&keep).map_err(Error::io("remove", &keep))?;
        }
        self.temporaries.done = true;
        Ok(PublishedPack { name: self.name, objects: self.objects, bytes: self.bytes })
    }
}

/// Publishes several packs, in their order, with one sync of the directory at the end.
///
/// # Errors
/// [`Error::Io`] when a rename or sync fails: any number of the packs, in their order, may then be visible, each
/// complete.
pub fn publish_all(packs: Vec<FinishedPack>, pack_dir: &Dir, durability: Durability) -> Result<Vec<PublishedPack>> {
    let mut published = Vec::with_capacity(packs.len());
    for pack in packs {
        published.push(pack.rename(pack_dir)?);
    }
    if !published.is_empty() {
        sync_dir(pack_dir, durability)?;
    }
    Ok(published)
}

/// Syncs the directory in which the names are now. That they are gone from where they were needs no sync: a rename is
/// atomic, and a name that a power cut brings back there is swept.
fn sync_dir(pack_dir: &Dir, durability: Durability) -> Result<()> {
    pack_dir.sync(durability).map_err(Error::io("sync", "the pack directory"))
}

/// The temporary files of one pack, any of which may not exist yet.
#[derive(Debug)]
pub(crate) struct Temporaries {
    dir: Dir,
    stem: String,
    done: bool,
}

impl Temporaries {
    pub(crate) fn new(dir: Dir, stem: String) -> Self {
        Self { dir, stem, done: false }
    }

    pub(crate) fn name(&self, extension: &str) -> Vec<u8> {
        format!("{}.{extension}", self.stem).into_bytes()
    }

    fn remove(&mut self) -> Result<()> {
        self.done = true;
        let mut first = Ok(());
        for extension in ORDER {
            let name = self.name(extension);
            match self.dir.remove_file(&name) {
                Err(err) if err.kind() != std::io::ErrorKind::NotFound => {
                    first = first.and(Err(Error::io("remove", &name)(err)));
                }
                _ => {}
            }
        }
        first
    }
}

impl Drop for Temporaries {
    fn drop(&mut self) {
        if !self.done {
            // Whoever dropped us has an error to report already; what stays is swept by its token.
            let _ = self.remove();
        }
    }
}
