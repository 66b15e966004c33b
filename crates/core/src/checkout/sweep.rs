//! The temporaries that an interruption left in the worktree: ours go, somebody's edit comes back.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Write};

use ckpt_fs::{Dir, Entries};

use super::apply::{TMP, absolute};
use super::give_back::{Returned, give_back};
use super::journal::Journal;
use super::step::{Seen, Step, info_of};
use crate::error::Context;
use crate::path::{join, split};
use crate::store::Inner;
use crate::{EntryKind, Error, RepoPath, Result};

/// What an interruption had left beside the paths of its steps.
#[derive(Default)]
pub(super) struct Swept {
    /// Paths whose edits are back, and the names of those that are kept beside.
    pub(super) kept: BTreeSet<RepoPath>,
    /// Temporaries that are neither ours nor held, after another boot: what a power cut made of our writing, or an edit.
    pub(super) strange: Vec<Vec<u8>>,
}

/// Deals with the temporaries that an interruption left beside the paths of `steps`: what we were writing, and what the
/// store holds, is removed; somebody's edit is put back, or kept beside what has its place now.
pub(super) fn sweep_temporaries(store: &Inner, root: &Dir, journal: &Journal, steps: &[Step]) -> Result<Swept> {
    let prefix = format!("{TMP}{}-", journal.token);
    let dirs: BTreeSet<&[u8]> = steps.iter().map(|step| split(&step.path).0).collect();
    let mut swept = Swept::default();
    let mut names = Entries::default();
    for path in dirs {
        let listed = root.open_beneath(path).and_then(|dir| dir.read_entries(&mut names).map(|()| dir));
        let Ok(dir) = listed.or_short("read", absolute(store, path))? else { continue };
        for entry in names.iter() {
            let Some(digits) = entry.name.strip_prefix(prefix.as_bytes()) else { continue };
            let digits = digits.strip_suffix(b"o").unwrap_or(digits);
            let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<usize>().ok());
            let step = number.and_then(|number| steps.iter().find(|step| step.number == number));
            let Some(step) = step.filter(|step| split(&step.path).0 == path) else { continue };
            let fail = |action| {
                let path = absolute(store, &step.path);
                move |source| Error::Io { action, path, source }
            };
            if is_ours_or_held(store, &dir, entry.name, step)? {
                dir.remove_tree(entry.name).map_err(fail("remove a temporary beside"))?;
            } else if journal.is_of_another_boot() {
                swept.strange.push(join(path, entry.name));
            } else {
                let returned = give_back(&dir, entry.name, split(&step.path).1, step.to).map_err(fail("put back"))?;
                swept.kept.insert(RepoPath::trusted(step.path.clone()));
                if let Returned::Beside(beside) = returned {
                    swept.kept.insert(RepoPath::trusted(join(path, &beside)));
                }
            }
        }
    }
    Ok(swept)
}

/// Whether the store holds every byte of a temporary: it is one side of its step, or the beginning of what was being
/// written.
fn is_ours_or_held(store: &Inner, dir: &Dir, tmp: &[u8], step: &Step) -> Result<bool> {
    let found = match info_of(dir, tmp)? {
        Seen::Nothing => return Ok(true),
        Seen::Entry(info, _) => info,
        Seen::Unknown => return Ok(false),
    };
    // We never put a directory there: one that came out is somebody's, with whatever is in it.
    if found.is_dir() {
        return Ok(false);
    }
    if [step.from, step.to].contains(&Some(found)) {
        return Ok(true);
    }
    let Some(to) = step.to.filter(|to| to.kind == EntryKind::File && found.kind == EntryKind::File) else {
        return Ok(false);
    };
    let Ok(file) = dir.open_file(tmp).or_short("open", absolute(store, &step.path))? else { return Ok(false) };
    let mut begin = Beginning { file, differs: false, ended: false };
    store.objects.stream_blob(to.id, &mut begin, &absolute(store, &step.path))?;
    Ok(!begin.differs && begin.is_at_end())
}

/// Compares what is written to it with a file that may end earlier.
struct Beginning {
    file: File,
    differs: bool,
    ended: bool,
}

impl Beginning {
    fn is_at_end(&mut self) -> bool {
        self.ended || matches!(self.file.read(&mut [0]), Ok(0))
    }
}

impl Write for Beginning {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if !self.ended && !self.differs {
            let mut found = Vec::new();
            (&mut self.file).take(bytes.len() as u64).read_to_end(&mut found)?;
            self.differs = !bytes.starts_with(&found);
            self.ended = found.len() < bytes.len();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
