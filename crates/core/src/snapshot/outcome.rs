//! What became of a directory that was looked at.

use ckpt_fs::Dir;

use super::looked::{Looked, News, Walked};
use super::stat_cache::NONE;
use super::walk::{Job, Shared};
use crate::state::{Entry, EntryKind};
use crate::{Reason, Result};

/// What became of a directory.
pub(super) enum Outcome {
    /// Every entry is as the cache has it. `children`: number of the entry in the cache, and its slot.
    Clean { cached: u32, children: Vec<(u32, u32)> },
    /// Something differs from the cache, or there is none. `cached`: its number there. `mount`: the device, and whether
    /// something is mounted there.
    Fresh { cached: Option<u32>, entries: Vec<Walked>, rules: u64, mount: (u64, bool) },
    /// It is omitted, and has the state that head has for it, if any.
    Omitted { reason: Reason, kept: Option<Box<Entry>> },
    /// It is gone.
    Vanished,
}

/// Puts the subdirectories on the stack and makes the outcome.
pub(super) fn of_entries(
    shared: &Shared<'_>,
    job: &Job,
    dir: Dir,
    rules: u64,
    all: Vec<Looked>,
    is_clean: bool,
) -> Outcome {
    let wants_handle = all.iter().any(|looked| matches!(looked, Looked::News(news) if news.child.is_some()));
    let handle = if wants_handle { shared.share(dir) } else { None };
    let mut jobs = Vec::new();
    let mut entries = Vec::new();
    // Number in the cache of each subdirectory's entry, and its place in `entries`.
    let mut children = Vec::new();
    for looked in all {
        let News { walked, equal, child } = match looked {
            Looked::News(news) => *news,
            Looked::Known(_) if is_clean => continue,
            Looked::Known(number) => match shared.walk.cache.and_then(|cache| cache.entry(number)) {
                Some((name, entry)) => {
                    entries.push(Walked { name: name.to_vec(), entry, kept: None });
                    continue;
                }
                None => continue,
            },
        };
        if let Some(mut job) = child {
            job.parent.clone_from(&handle);
            jobs.push(job);
            children.push((equal.unwrap_or(NONE), entries.len()));
        }
        if !is_clean {
            entries.push(walked);
        }
    }
    let first = if jobs.is_empty() { 0 } else { shared.push(jobs) };
    match (job.cached, is_clean) {
        (Some(cached), true) => {
            Outcome::Clean { cached, children: children.into_iter().map(|(number, _)| number).zip(first..).collect() }
        }
        _ => {
            for ((_, at), slot) in children.into_iter().zip(first..) {
                entries[at].entry.dir = slot;
            }
            let mount = (job.stat.device, job.stat.is_mount_point);
            Outcome::Fresh { cached: job.cached, entries, rules, mount }
        }
    }
}

/// A directory that cannot be looked at keeps what head has for it.
pub(super) fn kept(shared: &Shared<'_>, job: &Job, reason: Reason) -> Result<Outcome> {
    let (dir, name) = (job.head.as_ref(), crate::path::split(&job.path).1);
    let parent = dir.parent().map(|parent| parent.entry(shared.walk.objects, name)).transpose()?.flatten();
    let kept = parent.filter(|entry| entry.kind == EntryKind::Dir);
    Ok(Outcome::Omitted { reason, kept: kept.map(Box::new) })
}
