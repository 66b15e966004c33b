//! The rule files of a directory, as the walk finds them, and the tag of a cache directory.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use ckpt_fs::{Dir, Entries, FileKind};
use ckpt_pack::Kind;

use super::directory::Place;
use super::looked::is_unchanged;
use super::rules::{DirRules, RuleContent, RuleFile, RuleFiles, read_repo_exclude};
use super::stat_cache::CacheEntry;
use crate::error::Context;
use crate::state::{HashOnly, ObjectSink};
use crate::{Notice, ObjectId, Result};

/// A rule file that is larger is not read as one.
const MAX_BYTES: u64 = 16 << 20;
/// First bytes of a valid `CACHEDIR.TAG` (bford.info/cachedir).
const CACHE_TAG: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

pub(super) fn is_rule_file(name: &[u8]) -> bool {
    matches!(name, b".gitignore" | b".ckptignore")
}

/// Whether the directory says of itself that it is a cache.
pub(super) fn is_cache_dir(dir: &Dir, names: &Entries, path: &[u8]) -> Result<bool> {
    use std::io::Read;

    const NAME: &[u8] = b"CACHEDIR.TAG";
    if !names.iter().any(|entry| entry.name == NAME) {
        return Ok(false);
    }
    let mut start = [0; CACHE_TAG.len()];
    let read = dir.stat(NAME).and_then(|stat| match stat.kind {
        FileKind::File => dir.open_file(NAME)?.read_exact(&mut start),
        _ => Ok(()),
    });
    Ok(read.or_short("read", OsStr::from_bytes(&crate::path::join(path, NAME)))?.is_ok() && start == *CACHE_TAG)
}

/// The rules inside the directory.
pub(super) fn enter(place: &Place<'_>, names: &Entries, notices: &mut Vec<Notice>) -> Result<Arc<DirRules>> {
    let mut files = RuleFiles::default();
    let mut has_git = false;
    for entry in names.iter() {
        match entry.name {
            b".gitignore" => files.gitignore = rule_file(place, entry.name, notices)?,
            b".ckptignore" => files.ckptignore = rule_file(place, entry.name, notices)?,
            b".git" => has_git = true,
            _ => {}
        }
    }
    // The root's own repository is among the rules from outside.
    if has_git && !place.job.path.is_empty() {
        let dir = place.shared.walk.root_path.join(OsStr::from_bytes(&place.job.path));
        repo_exclude(&dir, &mut files, notices)?;
    }
    Ok(place.job.rules.enter(crate::path::split(&place.job.path).1, files))
}

/// The rules of the directory that holds `path`, read without a cache.
pub(super) fn above(
    root: &Dir,
    root_path: &Path,
    above_root: Arc<DirRules>,
    path: &[u8],
    notices: &mut Vec<Notice>,
) -> Result<Arc<DirRules>> {
    let mut rules = above_root;
    let mut dir: &[u8] = b"";
    let mut name: &[u8] = b"";
    loop {
        let mut files = RuleFiles::default();
        if let Ok(handle) = root.open_beneath(dir).or_short("open", root_path)? {
            files.gitignore = read(&handle, b".gitignore")?;
            files.ckptignore = read(&handle, b".ckptignore")?;
            if !dir.is_empty() {
                repo_exclude(&root_path.join(OsStr::from_bytes(dir)), &mut files, notices)?;
            }
        }
        rules = rules.enter(name, files);
        let start = if dir.is_empty() { 0 } else { dir.len() + 1 };
        let Some(length) = path.get(start..).and_then(|rest| rest.iter().position(|&byte| byte == b'/')) else {
            return Ok(rules);
        };
        dir = &path[..start + length];
        name = &path[start..start + length];
    }
}

fn read(dir: &Dir, name: &[u8]) -> Result<Option<RuleFile>> {
    let Ok(Some(bytes)) = dir.read_file(name, MAX_BYTES).or_short("read", OsStr::from_bytes(name))? else {
        return Ok(None);
    };
    let id = HashOnly.put(Kind::Blob, &bytes)?;
    Ok(Some(RuleFile { id, content: RuleContent::Bytes(bytes) }))
}

/// Adds the `info/exclude` of the repository whose `.git` is in `dir`.
fn repo_exclude(dir: &Path, files: &mut RuleFiles, notices: &mut Vec<Notice>) -> Result<()> {
    let path = || dir.join(".git/info/exclude");
    match read_repo_exclude(dir).or_short("read", path())? {
        Ok(None) => {}
        Ok(Some(bytes)) => {
            let id = HashOnly.put(Kind::Blob, &bytes)?;
            files.repo_exclude = Some(RuleFile { id, content: RuleContent::Bytes(bytes) });
        }
        Err(_) => {
            notices.push(Notice::RulesUnreadable(path()));
            files.lacks_exclude = true;
        }
    }
    Ok(())
}

fn rule_file(place: &Place<'_>, name: &[u8], notices: &mut Vec<Notice>) -> Result<Option<RuleFile>> {
    let known = known(place, name);
    match place.dir.stat(name) {
        Ok(stat) if stat.kind != FileKind::File => return Ok(None),
        Ok(stat) => {
            if let Some(known) = known.filter(|known| is_unchanged(known, &stat)) {
                let walk = place.shared.walk;
                let (root, shortage) = (Arc::clone(&walk.root), Arc::clone(&walk.shortage));
                let (path, name) = (place.job.path.clone(), name.to_vec());
                let full_path = walk.root_path.join(OsStr::from_bytes(&crate::path::join(&path, &name)));
                let load = move || {
                    let read = root.open_beneath(&path).and_then(|dir| dir.read_file(&name, MAX_BYTES));
                    match read.or_short("read", &full_path) {
                        // It went since the walk looked.
                        Ok(read) => read.ok().flatten().unwrap_or_default(),
                        Err(short) => {
                            shortage.tell(short);
                            Vec::new()
                        }
                    }
                };
                return Ok(Some(RuleFile { id: known.id, content: RuleContent::Load(Box::new(load)) }));
            }
            let read = place.dir.read_file(name, MAX_BYTES);
            if let Ok(Some(bytes)) = read.or_short("read", OsStr::from_bytes(name))? {
                let id = HashOnly.put(Kind::Blob, &bytes)?;
                return Ok(Some(RuleFile { id, content: RuleContent::Bytes(bytes) }));
            }
        }
        Err(err) if err.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(_) => {}
    }
    notices.push(Notice::RulesUnreadable(
        place.shared.walk.root_path.join(OsStr::from_bytes(&crate::path::join(&place.job.path, name))),
    ));
    last_known(place, name, known)
}

/// The rules that were in a file that cannot be read now: as head has it, else as the cache names it.
fn last_known(place: &Place<'_>, name: &[u8], known: Option<CacheEntry>) -> Result<Option<RuleFile>> {
    let objects = place.shared.walk.objects;
    let in_head = place.job.head.entry(objects, name)?.map(|entry| entry.id);
    for id in in_head.into_iter().chain(known.map(|known| known.id)) {
        if let Ok(bytes) = objects.read_kind(id, Kind::Blob) {
            return Ok(Some(RuleFile { id, content: RuleContent::Bytes(bytes) }));
        }
    }
    Ok(None)
}

/// The cache's entry `name` of this directory.
fn known(place: &Place<'_>, name: &[u8]) -> Option<CacheEntry> {
    let (cached, cache) = (place.cached?, place.shared.walk.cache?);
    let (mut low, mut high) = (cached.first, cached.first + cached.count);
    while low < high {
        let middle = low + (high - low) / 2;
        let (found, entry) = cache.entry(middle)?;
        match found.cmp(name) {
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Equal => return Some(entry),
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    None
}

/// Id of the content of a rule file that is not captured itself.
pub(super) fn id_of(place: &Place<'_>, name: &[u8], known: Option<CacheEntry>) -> Option<ObjectId> {
    let stat = place.dir.stat(name).ok()?;
    if let Some(known) = known.filter(|known| is_unchanged(known, &stat)) {
        return Some(known.id);
    }
    let bytes = place.dir.read_file(name, MAX_BYTES).ok()??;
    HashOnly.put(Kind::Blob, &bytes).ok()
}
