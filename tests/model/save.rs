//! Saves, by the library or by the real binary: what the model makes of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::rc::Rc;

use ckpt_core::CheckpointId;

use super::case::{Hand, Kill};
use super::deed::Look;
use super::disk::{Bytes, difference, scan};
use super::state::State;
use super::world::{World, ensure, omitted, text};

/// How a save ended.
struct Ended {
    id: CheckpointId,
    created: bool,
    story: String,
}

impl World<'_> {
    /// Saves, and checks what the save says and that it touched nothing.
    pub(crate) fn save(&mut self, always: bool, hand: Hand) -> Result<(), String> {
        let before = scan(&self.root);
        let head = self.checkpoints.get(self.head).map(|(_, state)| Rc::clone(state));
        let now = State::capture(&before.files, &self.outside(), head.as_deref(), b"");
        let told = now.told(head.as_deref());
        let ended = match hand {
            Hand::Library => Some(self.save_by_library(always, &told)?),
            Hand::Binary(kill) => self.save_by_binary(always, kill, &told)?,
        };
        let expected = always || head.is_none() || !self.is_as_head(&now);
        let is_saved = ended.is_some();
        let ended = match ended {
            Some(ended) => ended,
            None => self.after_a_kill()?,
        };
        ensure(ended.created == expected || !is_saved && !ended.created, || {
            let from = head.as_ref().and_then(|head| difference(&head.entries, &now.entries));
            let omitted = head.as_ref().map(|head| &head.omitted);
            format!("created should be {expected}: {}\nhead has {omitted:?}\n{from:?}", ended.story)
        })?;
        if ended.created {
            self.checkpoints.push((ended.id, Rc::new(now)));
            self.head = self.checkpoints.len() - 1;
            self.redo.clear();
        }
        ensure(ended.id == self.checkpoints[self.head].0, || format!("head is another: {}", ended.story))?;
        self.check(&before.files, &before)?;
        let status = self.store.status().map_err(text)?;
        let is_clean = ended.created || !expected;
        ensure(status.is_clean() || !is_clean, || format!("not clean after a save: {status:?}"))
    }

    fn save_by_library(&self, always: bool, told: &BTreeMap<Bytes, &'static str>) -> Result<Ended, String> {
        let mut options = ckpt_core::SaveOptions::from("m");
        options.always = always;
        let saved = self.store.save(options).map_err(text)?;
        ensure(omitted(&saved.omitted) == *told, || format!("omitted should be {told:?}: {saved:?}"))?;
        Ok(Ended { id: saved.id, created: saved.created, story: format!("{saved:?}") })
    }

    /// `None`: it was killed.
    fn save_by_binary(
        &mut self,
        always: bool,
        kill: Kill,
        told: &BTreeMap<Bytes, &'static str>,
    ) -> Result<Option<Ended>, String> {
        let mut words: Vec<OsString> = vec!["save".into(), "-m".into(), "m".into()];
        words.extend(always.then(|| "--always".into()));
        let Some(answer) = self.ckpt(&words, kill)? else { return Ok(None) };
        let body = &answer.json;
        ensure(answer.code == 0, || format!("it failed: {answer:?}"))?;
        let reasons: BTreeSet<_> =
            body["omitted"].as_array().into_iter().flatten().filter_map(|one| one["reason"].as_str()).collect();
        let expected: BTreeSet<_> = told.values().copied().collect();
        ensure(reasons == expected, || format!("omitted should be {told:?}: {answer:?}"))?;
        let id = body["id"].as_str().ok_or("no id")?.parse().map_err(text)?;
        Ok(Some(Ended { id, created: body["created"] == true, story: body.to_string() }))
    }

    /// What a save left that was killed: nothing, or a new head.
    fn after_a_kill(&mut self) -> Result<Ended, String> {
        self.verify(Look::Full, Hand::Library)?;
        let id = self.store.head().map_err(text)?.ok_or("head is gone")?;
        let created = id != self.checkpoints[self.head].0;
        self.counts.note(if created { "save killed after its end" } else { "save killed before its end" });
        Ok(Ended { id, created, story: format!("killed, head is {id}") })
    }
}
