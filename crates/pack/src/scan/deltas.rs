//! The objects that stock git stored as deltas.

use std::collections::HashMap;

use super::{Base, Damage, Form, Lookup, Scan, Scanned};
use crate::delta;
use crate::error::Fault;
use crate::inflate::EntryAt;
use crate::pack::in_file;
use crate::{Kind, ObjectId, Result};

/// Longest chain of deltas that is followed; stock git makes none longer than 4095.
const MAX_CHAIN: usize = 4096;

impl Scan {
    /// Gives the deltas their ids, as far as their bases can be found.
    pub(super) fn resolve(&mut self, lookup: &Lookup<'_>) -> Result<()> {
        loop {
            let mut found = Vec::new();
            for (number, entry) in self.entries.iter().enumerate() {
                if !matches!(entry.form, Form::Delta { id: None, .. }) {
                    continue;
                }
                let content = match self.content(number, lookup) {
                    Ok(content) => content,
                    Err(Fault::Io(source)) => return Err(in_file(self.name, "pack")(Fault::Io(source))),
                    Err(Fault::Damaged(_)) => None,
                };
                if let Some((kind, content)) = content {
                    // One that carries a collision attack stays without an id, and is told as damage.
                    found.extend(crate::hash_object(kind, &content).ok().map(|id| (number, id)));
                }
            }
            if found.is_empty() {
                return Ok(());
            }
            for (number, found) in found {
                if let Form::Delta { id, .. } = &mut self.entries[number].form {
                    *id = Some(found);
                }
            }
        }
    }

    pub(super) fn unresolved(&self, ids: &HashMap<u64, ObjectId>) -> Vec<Damage> {
        let is_unresolved = |entry: &&Scanned| entry.id().is_none();
        let reason = "a delta whose base is missing or damaged";
        let damage = |entry: &Scanned| Damage { id: ids.get(&entry.offset).copied(), reason: reason.to_owned() };
        self.entries.iter().filter(is_unresolved).map(damage).collect()
    }

    /// Kind and content of the entry `number`, which is a delta; `None` when its base cannot be found.
    pub(super) fn content(&self, number: usize, lookup: &Lookup<'_>) -> Result<Option<(Kind, Vec<u8>)>, Fault> {
        let mut deltas = Vec::new();
        let mut at = number;
        let (kind, mut content) = loop {
            let entry = &self.entries[at];
            let Form::Delta { base, skip, size, .. } = entry.form else {
                let whole = EntryAt { file: &self.file, start: entry.offset, end: self.end }.content()?;
                match whole {
                    Some(whole) => break whole,
                    None => return Ok(None),
                }
            };
            if deltas.len() >= MAX_CHAIN {
                return Err(Fault::damaged("a chain of deltas does not end"));
            }
            let mut bytes = Vec::new();
            let packed = EntryAt { file: &self.file, start: entry.offset, end: self.end };
            packed.inflate(skip, size, &mut |piece| {
                bytes.extend_from_slice(piece);
                Ok::<(), Fault>(())
            })?;
            deltas.push(bytes);
            let place = match base {
                Base::Offset(offset) => self.entries.binary_search_by_key(&offset, |entry| entry.offset).ok(),
                Base::Id(id) => self.entries.iter().position(|entry| entry.id() == Some(id)),
            };
            match (place, base) {
                (Some(place), _) => at = place,
                (None, Base::Id(id)) => match lookup(&id) {
                    Some(base) => break base,
                    None => return Ok(None),
                },
                (None, Base::Offset(_)) => return Ok(None),
            }
        };
        for delta in deltas.iter().rev() {
            content = delta::apply(&content, delta)?;
        }
        Ok(Some((kind, content)))
    }
}
