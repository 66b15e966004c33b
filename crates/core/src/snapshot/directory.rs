//! One directory of the walk: its names beside what the stat cache knows of them.

use std::sync::Arc;

use ckpt_fs::{Dir, Entries, FileKind, Stat};

use super::looked::{Looked, Walked, from_stat, is_unchanged};
use super::outcome::{self, Outcome};
use super::rule_files;
use super::rules::{DirRules, Verdict};
use super::stat_cache::{CacheDir, CacheEntry, EntryState, NONE};
use super::walk::{Counts, Job, Shared};
use super::worktree_file::{FileRead, Purpose, read_file, read_link};
use crate::path::join;
use crate::state::{Listing, MAX_DEPTH, Name, judge_name};
use crate::{Error, Notice, Omitted, Reason, RepoPath, Result};

/// What one thread gathers.
#[derive(Default)]
pub(super) struct Worker {
    pub(super) outcomes: Vec<(u32, Outcome)>,
    pub(super) omitted: Vec<Omitted>,
    pub(super) mounts: Vec<Vec<u8>>,
    pub(super) notices: Vec<Notice>,
    pub(super) counts: Counts,
    names: Entries,
    buffer: Vec<u8>,
}

/// A directory while it is looked at.
pub(super) struct Place<'a> {
    pub(super) shared: &'a Shared<'a>,
    pub(super) job: &'a Job,
    pub(super) dir: &'a Dir,
    /// Its record in the cache.
    pub(super) cached: Option<CacheDir>,
    pub(super) rules: Arc<DirRules>,
    /// Whether the cache judged its names by the rules of now.
    same_rules: bool,
}

impl Worker {
    /// Looks at the directory of `job`.
    pub(super) fn look(&mut self, shared: &Shared<'_>, job: &Job) -> Result<()> {
        let slot = job.slot;
        let outcome = match self.outcome(shared, job)? {
            Outcome::Omitted { reason, kept } => {
                self.omit(&job.path, reason);
                Outcome::Omitted { reason, kept }
            }
            outcome => outcome,
        };
        self.outcomes.push((slot, outcome));
        Ok(())
    }

    fn outcome(&mut self, shared: &Shared<'_>, job: &Job) -> Result<Outcome> {
        let walk = shared.walk;
        let opened = shared.open(job).and_then(|dir| dir.read_entries(&mut self.names).map(|()| dir));
        let dir = match opened {
            Ok(dir) => dir,
            Err(err) if job.path.is_empty() => {
                return Err(Error::Io { action: "read", path: walk.root_path.to_owned(), source: err });
            }
            Err(err) if err.kind() == std::io::ErrorKind::NotFound => return Ok(Outcome::Vanished),
            Err(err) if ckpt_fs::is_shortage(&err) => return Err(shared.shortage(&job.path, err)),
            // An unreadable directory is not a deletion.
            Err(_) => return outcome::kept(shared, job, Reason::Unreadable),
        };
        let is_mounted = job.stat.is_mount_point || job.stat.device != job.parent_device;
        if job.was_mount && self.names.is_empty() && !is_mounted {
            return outcome::kept(shared, job, Reason::Unmounted);
        }
        let names = std::mem::take(&mut self.names);
        let outcome = self.look_inside(shared, job, dir, &names);
        self.names = names;
        outcome
    }

    fn look_inside(&mut self, shared: &Shared<'_>, job: &Job, dir: Dir, names: &Entries) -> Result<Outcome> {
        let walk = shared.walk;
        if job.slot != 0 && walk.rule_options.skip_cache_dirs && rule_files::is_cache_dir(&dir, names, &job.path)? {
            return Ok(Outcome::Omitted { reason: Reason::CacheDir, kept: None });
        }
        let cached = job.cached.and_then(|number| walk.cache?.dir(number));
        let mut place = Place { shared, job, dir: &dir, cached, rules: Arc::clone(&job.rules), same_rules: false };
        place.rules = rule_files::enter(&place, names, &mut self.notices)?;
        place.same_rules = cached.is_some_and(|cached| cached.rules == place.rules.signature());
        let mut all = Vec::with_capacity(names.len());
        let mut next = cached.map_or(0, |cached| cached.first);
        let end = cached.map_or(0, |cached| cached.first + cached.count);
        // Its own device counts too, which in an empty directory nothing else tells: after a boot with other numbers it
        // would be kept beside the new one of its parent, and look like a volume that is gone.
        let same_device = cached
            .is_some_and(|cached| (cached.device, cached.is_mount_point) == (job.stat.device, job.stat.is_mount_point));
        let mut is_clean = same_device && place.same_rules && !walk.must_look_up;
        for name in names.iter() {
            let is_temporary = |begin: &Vec<u8>| name.name.starts_with(begin);
            if name.name == b".git" || walk.temporaries.as_ref().is_some_and(is_temporary) {
                continue;
            }
            self.counts.entries += 1;
            let mut known = None;
            while next < end {
                let Some((cached_name, entry)) = walk.cache.and_then(|cache| cache.entry(next)) else {
                    next = end;
                    break;
                };
                match cached_name.cmp(name.name) {
                    std::cmp::Ordering::Less => {
                        is_clean = false;
                        next += 1;
                    }
                    std::cmp::Ordering::Equal => {
                        known = Some((next, entry));
                        next += 1;
                        break;
                    }
                    std::cmp::Ordering::Greater => break,
                }
            }
            match self.entry(&place, name, known)? {
                Some(looked) => {
                    is_clean &= looked.is_equal();
                    all.push(looked);
                }
                None => is_clean &= known.is_none(),
            }
        }
        is_clean &= next == end;
        let rules = place.rules.signature();
        Ok(outcome::of_entries(shared, job, dir, rules, all, is_clean))
    }

    /// Looks at one entry. `None`: it is gone, or it is nothing that a checkpoint knows of.
    fn entry(
        &mut self,
        place: &Place<'_>,
        name: ckpt_fs::Entry<'_>,
        known: Option<(u32, CacheEntry)>,
    ) -> Result<Option<Looked>> {
        let walk = place.shared.walk;
        let is_rule_file = rule_files::is_rule_file(name.name);
        // Ignored names need no look at all while the rules and head are what they were.
        if let (Some((number, entry)), Some(kind)) = (known, name.kind)
            && entry.state == EntryState::Ignored
            && place.same_rules
            && walk.cache_knows_head
            && !is_rule_file
            && (kind == FileKind::Dir) == (entry.kind == FileKind::Dir)
        {
            return Ok(Some(Looked::Known(number)));
        }
        let stat = match place.dir.stat(name.name) {
            Ok(stat) => stat,
            Err(err) if err.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(_) => return self.unreadable(place, name.name, None).map(Some),
        };
        if walk.skip == Some((stat.device, stat.inode)) && stat.kind == FileKind::Dir {
            return Ok(None);
        }
        if stat.is_mount_point {
            self.mounts.push(join(&place.job.path, name.name));
        }
        let is_dir = stat.kind == FileKind::Dir;
        let verdict = match known {
            Some((_, entry)) if place.same_rules && (entry.kind == FileKind::Dir) == is_dir => match entry.state {
                EntryState::Ignored | EntryState::Omitted(Reason::IgnoredInHead) => Verdict::Ignored,
                EntryState::Omitted(Reason::Excluded) => Verdict::Excluded,
                EntryState::Omitted(Reason::ReservedName) => Verdict::Captured,
                _ => Verdict::Captured,
            },
            _ => place.rules.judge(name.name, is_dir),
        };
        if verdict == Verdict::Captured && !place.rules.are_known() && is_news_to_head(place, name.name)? {
            return self.unreadable(place, name.name, None).map(Some);
        }
        let known_state = known.map(|(_, entry)| entry.state);
        let state = self.state(place, name.name, &stat, verdict, known_state)?;
        match state {
            EntryState::Captured if is_dir => self.directory(place, name.name, stat, known).map(Some),
            EntryState::Captured => self.file(place, name.name, stat, known),
            state => {
                if let EntryState::Omitted(reason) = state {
                    self.omit(&join(&place.job.path, name.name), reason);
                }
                let mut entry = from_stat(&stat, state);
                if is_rule_file && stat.kind == FileKind::File {
                    entry.id = rule_files::id_of(place, name.name, known.map(|(_, entry)| entry)).unwrap_or(entry.id);
                    entry.trusted = walk.horizon.proves(&stat);
                }
                let same = known_state == Some(state) && known.is_some_and(|(_, known)| known.kind == stat.kind);
                let same_rule_file = !is_rule_file || known.is_some_and(|(_, known)| is_unchanged(&known, &stat));
                let equal = known.filter(|_| same && same_rule_file).map(|(number, _)| number);
                let walked = Walked { name: name.name.to_vec(), entry, kept: None };
                Ok(Some(Looked::news(walked, equal, None)))
            }
        }
    }

    /// What the rules and the sort of an entry make of it.
    fn state(
        &self,
        place: &Place<'_>,
        name: &[u8],
        stat: &Stat,
        verdict: Verdict,
        known: Option<EntryState>,
    ) -> Result<EntryState> {
        let limit = place.shared.walk.rule_options.max_file_bytes;
        let omitted = EntryState::Omitted;
        // A name that was captured needs no judgement.
        if known != Some(EntryState::Captured) && judge_name(name) != Name::Plain {
            return Ok(omitted(Reason::ReservedName));
        }
        Ok(match verdict {
            Verdict::Ignored if is_in_head(place, name)? => omitted(Reason::IgnoredInHead),
            Verdict::Ignored => EntryState::Ignored,
            Verdict::Excluded => omitted(Reason::Excluded),
            Verdict::Captured => match stat.kind {
                FileKind::Special => omitted(Reason::Special),
                FileKind::File if limit != 0 && stat.size > limit => omitted(Reason::TooLarge),
                FileKind::Dir if place.job.depth >= MAX_DEPTH => omitted(Reason::TooDeep),
                _ => EntryState::Captured,
            },
        })
    }

    fn directory(
        &mut self,
        place: &Place<'_>,
        name: &[u8],
        stat: Stat,
        known: Option<(u32, CacheEntry)>,
    ) -> Result<Looked> {
        let cache = place.shared.walk.cache;
        let known_dir = known.filter(|(_, entry)| entry.kind == FileKind::Dir);
        let cached = known_dir.map(|(_, entry)| entry.dir).filter(|dir| *dir != NONE);
        let cached_dir = cached.and_then(|dir| cache?.dir(dir));
        let was_mount = match known_dir.map(|(_, entry)| entry) {
            Some(entry) if entry.state == EntryState::Omitted(Reason::Unmounted) => true,
            Some(_) => match (cached_dir, place.cached) {
                (Some(dir), Some(parent)) => dir.is_mount_point || dir.device != parent.device,
                _ => false,
            },
            None => false,
        };
        let entry = from_stat(&stat, EntryState::Captured);
        let equal = known_dir
            .filter(|(_, known)| {
                known.state == EntryState::Captured
                    && known.mode == entry.mode
                    && cached_dir
                        .is_some_and(|dir| (dir.device, dir.is_mount_point) == (stat.device, stat.is_mount_point))
            })
            .map(|(number, _)| number);
        let child = Job {
            slot: 0,
            parent: None,
            path: join(&place.job.path, name),
            depth: place.job.depth + 1,
            rules: Arc::clone(&place.rules),
            cached,
            stat,
            parent_device: place.job.stat.device,
            was_mount,
            head: place.job.head.child(name),
        };
        Ok(Looked::news(Walked { name: name.to_vec(), entry, kept: None }, equal, Some(child)))
    }

    fn file(
        &mut self,
        place: &Place<'_>,
        name: &[u8],
        stat: Stat,
        known: Option<(u32, CacheEntry)>,
    ) -> Result<Option<Looked>> {
        let walk = place.shared.walk;
        self.counts.files += 1;
        self.counts.bytes += stat.size;
        if let Some((number, entry)) = known
            && entry.state == EntryState::Captured
            && is_unchanged(&entry, &stat)
            && walk.is_held(&entry.id)?
        {
            return Ok(Some(Looked::Known(number)));
        }
        let read = match stat.kind {
            FileKind::Link => read_link(place.dir, name, stat, walk.ingest)?,
            _ => read_file(place.dir, name, &stat, Purpose::Keep, walk.ingest, &mut self.buffer)?,
        };
        let read = match read {
            FileRead::Vanished => {
                self.counts.files -= 1;
                self.counts.bytes -= stat.size;
                return Ok(None);
            }
            FileRead::Unreadable => return self.unreadable(place, name, Some(stat)).map(Some),
            FileRead::Read(read) => read,
        };
        self.counts.read_files += 1;
        self.counts.read_bytes += read.stat.size;
        if !read.is_stable {
            self.omit(&join(&place.job.path, name), Reason::Unstable);
        }
        let mut entry = from_stat(&read.stat, EntryState::Captured);
        entry.id = read.id;
        entry.trusted = read.is_stable && walk.horizon.proves(&read.stat);
        // Never equal to what the cache has, though all that a state knows may be: where a file had to be read, its
        // directory is encoded, and what the store has of it is read back.
        Ok(Some(Looked::news(Walked { name: name.to_vec(), entry, kept: None }, None, None)))
    }

    /// An entry that cannot be looked at or read keeps what head has for it.
    fn unreadable(&mut self, place: &Place<'_>, name: &[u8], stat: Option<Stat>) -> Result<Looked> {
        self.omit(&join(&place.job.path, name), Reason::Unreadable);
        if let Some(stat) = stat {
            self.counts.files -= 1;
            self.counts.bytes -= stat.size;
        }
        let kept = place.job.head.entry(place.shared.walk.objects, name)?;
        let state = EntryState::Omitted(Reason::Unreadable);
        let entry = match stat {
            Some(stat) => from_stat(&stat, state),
            None => from_stat(&place.job.stat, state),
        };
        let walked = Walked { name: name.to_vec(), entry, kept: kept.map(Box::new) };
        Ok(Looked::news(walked, None, None))
    }

    fn omit(&mut self, path: &[u8], reason: Reason) {
        self.omitted.push(Omitted { path: RepoPath::trusted(path.to_vec()), reason });
    }
}

/// Whether head knows the directory and not this name in it. In a directory that is new as a whole no rules are known that
/// could hold on, and its files are saved.
fn is_news_to_head(place: &Place<'_>, name: &[u8]) -> Result<bool> {
    Ok(head_listing(place)?.is_some_and(|listing| listing.get(name).is_none()))
}

/// Whether head has the name, or had it when it came to be ignored.
fn is_in_head(place: &Place<'_>, name: &[u8]) -> Result<bool> {
    let is_there =
        |listing: Arc<Listing>| listing.get(name).is_some() || listing.omission(name) == Some(Reason::IgnoredInHead);
    Ok(head_listing(place)?.is_some_and(is_there))
}

/// What head has in the directory. A head that cannot be read must not keep anybody from saving: it has nothing then.
fn head_listing(place: &Place<'_>) -> Result<Option<Arc<Listing>>> {
    match place.job.head.listing(place.shared.walk.objects) {
        Err(Error::Object { .. }) => Ok(None),
        listing => listing,
    }
}
