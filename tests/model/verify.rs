//! `verify`, by the library or by the real binary: a store of the model is whole after any step, and looking changes nothing.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use ckpt_core::{Contents, Notice, VerifyOptions};

use super::case::{CacheFile, Hand};
use super::deed::Look;
use super::disk::{first_difference, stamps};
use super::world::{World, ensure, text};

impl World<'_> {
    pub(crate) fn verify(&mut self, look: Look, hand: Hand) -> Result<(), String> {
        let before = (stamps(&self.root), stamps(self.store.path()));
        let believed = self.believed()?;
        let (is_whole, faults) = match hand {
            Hand::Library => self.verify_by_library(look)?,
            Hand::Binary(_) => self.verify_by_binary(look)?,
        };
        let caches = CacheFile::ALL.map(|file| file.of(self.store.path()));
        // A file of the stat cache that was made unreadable is a fault until the next save.
        let is_there = |(file, bytes): &(PathBuf, Vec<u8>)| fs::read(file).ok().as_ref() == Some(bytes);
        let is_spoilt = self.spoilt_cache.iter().any(is_there);
        let is_known = |file: &Option<PathBuf>| {
            let is_cache = file.as_ref().is_some_and(|file| caches.contains(file));
            is_cache && (is_spoilt || look == Look::Repair)
        };
        ensure(faults.iter().all(is_known), || format!("{look:?} finds {faults:?}"))?;
        ensure(is_whole || is_spoilt, || format!("{look:?} finds that it is not whole"))?;
        let after = (stamps(&self.root), stamps(self.store.path()));
        let changed = first_difference(&before.0, &after.0);
        ensure(changed.is_none(), || format!("{look:?} changed {changed:?}"))?;
        let now = self.believed()?;
        ensure(now == believed, || format!("{look:?} changed what is believed: {believed}\n{now}"))?;
        if !matches!(look, Look::Repair | Look::Sample) {
            let changed = first_difference(&before.1, &after.1);
            ensure(changed.is_none(), || format!("{look:?} changed {changed:?}"))?;
        }
        Ok(())
    }

    /// What the store says, in words.
    fn believed(&self) -> Result<String, String> {
        let timeline: Result<Vec<_>, _> = self.store.timeline().map_err(text)?.collect();
        let checkpoints = self.store.checkpoints().map_err(text)?;
        Ok(format!("{:?} {:?} {checkpoints:?}", self.store.head().map_err(text)?, timeline.map_err(text)?))
    }

    /// Whether it is whole, and the files at fault.
    fn verify_by_library(&self, look: Look) -> Result<(bool, Vec<Option<PathBuf>>), String> {
        let mut options = VerifyOptions::default();
        options.contents = match look {
            Look::Full => Contents::All,
            Look::Sample => Contents::Sample(20.0),
            Look::Quick | Look::Worktree | Look::Repair => Contents::None,
        };
        options.worktree = look == Look::Worktree;
        options.repair = look == Look::Repair;
        let found = self.store.verify(&options).map_err(text)?;
        let is_pending = self.store.is_restore_pending().map_err(text)?;
        let told: &[Notice] = if is_pending { &[Notice::InterruptedRestore] } else { &[] };
        ensure(found.notices == told, || format!("{found:?}"))?;
        Ok((found.is_whole(), found.faults.into_iter().map(|fault| fault.file).collect()))
    }

    fn verify_by_binary(&mut self, look: Look) -> Result<(bool, Vec<Option<PathBuf>>), String> {
        let word = match look {
            Look::Quick => None,
            Look::Full => Some("--full"),
            Look::Sample => Some("--sample=20"),
            Look::Worktree => Some("--worktree"),
            Look::Repair => Some("--repair"),
        };
        let words: Vec<OsString> = std::iter::once("verify").chain(word).map(Into::into).collect();
        let answer = self.ckpt(&words, None)?.ok_or("nobody killed it")?;
        let is_whole = answer.json["whole"] == true;
        ensure(answer.code == if is_whole { 0 } else { 3 }, || format!("{answer:?}"))?;
        let faults = answer.json["stores"][0]["faults"].as_array().ok_or_else(|| format!("{answer:?}"))?;
        let file = |fault: &serde_json::Value| fault["path"].as_str().map(PathBuf::from);
        Ok((is_whole, faults.iter().map(file).collect()))
    }
}
