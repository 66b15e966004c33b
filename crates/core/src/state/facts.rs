//! Facts of one directory: what a Git tree cannot hold. The form is in `docs/formats.md`.
//!
//! A directory has a blob `self` only where something differs from what it inherits, and a subtree `+<name>` only where
//! a subdirectory has facts, so that an ordinary tree has next to none.

use ckpt_pack::Kind;

use super::diff::Met;
use super::{EntryKind, Listing, encode};
use crate::commit::{percent_decode, percent_encode};
use crate::objects::Objects;
use crate::path::join;
use crate::{Error, ObjectFault, ObjectId, Omitted, Reason, RepoPath, Result};

/// Name of a directory's own blob.
pub(super) const SELF: &[u8] = b"self";
/// Goes before the name of a subdirectory, so that no name of a user means anything to Git here.
pub(super) const CHILD: u8 = b'+';

/// Modes of entries that no line names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Defaults {
    pub(crate) file: u16,
    pub(crate) exec: u16,
    pub(crate) dir: u16,
}

impl Default for Defaults {
    fn default() -> Self {
        Self { file: 0o644, exec: 0o755, dir: 0o755 }
    }
}

/// Facts of one directory, as read.
#[derive(Debug, Default)]
pub(super) struct DirFacts {
    file: Option<u16>,
    exec: Option<u16>,
    dir: Option<u16>,
    modes: Vec<(Vec<u8>, u16)>,
    pub(super) omitted: Vec<(Vec<u8>, Reason)>,
    children: Vec<(Vec<u8>, ObjectId)>,
}

impl DirFacts {
    /// The facts in a blob `self`, without those of subdirectories.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let mut facts = Self::default();
        parse(text, &mut facts)?;
        facts.modes.sort();
        facts.omitted.sort();
        Some(facts)
    }

    pub(super) fn defaults(&self, inherited: Defaults) -> Defaults {
        Defaults {
            file: self.file.unwrap_or(inherited.file),
            exec: self.exec.unwrap_or(inherited.exec),
            dir: self.dir.unwrap_or(inherited.dir),
        }
    }

    pub(super) fn mode(&self, name: &[u8]) -> Option<u16> {
        self.modes.binary_search_by(|(known, _)| known.as_slice().cmp(name)).ok().map(|at| self.modes[at].1)
    }

    pub(super) fn child(&self, name: &[u8]) -> Option<ObjectId> {
        self.children.binary_search_by(|(known, _)| known.as_slice().cmp(name)).ok().map(|at| self.children[at].1)
    }
}

/// Reads the facts tree `id` of one directory.
pub(super) fn read(objects: &Objects, id: ObjectId) -> Result<DirFacts> {
    let damaged = || Error::object(id, ObjectFault::Damaged("it is no tree of facts".to_owned()));
    let mut facts = DirFacts::default();
    for entry in encode::tree_entries(&objects.read_kind(id, Kind::Tree)?) {
        let (_, name, entry_id) = entry.ok_or_else(damaged)?;
        match name.split_first() {
            Some((&CHILD, child)) => facts.children.push((child.to_vec(), entry_id)),
            _ if name == SELF => {
                parse(&objects.read_kind(entry_id, Kind::Blob)?, &mut facts).ok_or_else(damaged)?;
            }
            _ => return Err(damaged()),
        }
    }
    facts.children.sort();
    facts.modes.sort();
    facts.omitted.sort();
    Ok(facts)
}

/// All that is omitted in the directories whose facts are the tree `id`, in no order.
pub(crate) fn omitted(objects: &Objects, id: ObjectId) -> Result<Vec<Omitted>> {
    let mut omitted = Vec::new();
    let mut dirs = vec![(Vec::new(), id)];
    let mut met = Met::default();
    while let Some((dir, id)) = dirs.pop() {
        let facts = read(objects, id)?;
        met.dir(Some(id), facts.omitted.len() + facts.children.len())?;
        for (name, reason) in facts.omitted {
            // Whoever can write the store decides about these names.
            let path = RepoPath::new(join(&dir, &name))
                .map_err(|err| Error::object(id, ObjectFault::Damaged(format!("it names what is no path: {err}"))))?;
            omitted.push(Omitted { path, reason });
        }
        dirs.extend(facts.children.into_iter().map(|(name, id)| (join(&dir, &name), id)));
    }
    Ok(omitted)
}

fn parse(text: &[u8], facts: &mut DirFacts) -> Option<()> {
    for line in text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let mut words = line.split(|&byte| byte == b' ');
        match (words.next()?, words.next()?, words.next()) {
            (b"default", b"file", Some(mode)) => facts.file = Some(parse_mode(mode)?),
            (b"default", b"exec", Some(mode)) => facts.exec = Some(parse_mode(mode)?),
            (b"default", b"dir", Some(mode)) => facts.dir = Some(parse_mode(mode)?),
            (b"mode", mode, Some(name)) => facts.modes.push((percent_decode(name)?, parse_mode(mode)?)),
            (b"omitted", reason, Some(name)) => {
                facts.omitted.push((percent_decode(name)?, Reason::from_word(reason)?));
            }
            _ => return None,
        }
    }
    Some(())
}

fn parse_mode(text: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(text).ok().filter(|text| !text.starts_with('+'))?;
    u16::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777)
}

/// Defaults that a directory's entries get: in each class the most frequent mode among its own entries; the inherited
/// one on a tie or without entries, else the smallest of the most frequent.
pub(super) fn choose_defaults(listing: &Listing, inherited: Defaults) -> Defaults {
    let most = |class: fn(&super::Entry) -> bool, inherited: u16| {
        let mut counts: Vec<(u16, usize)> = Vec::new();
        for entry in listing.entries.iter().filter(|entry| class(entry)) {
            match counts.iter_mut().find(|(mode, _)| *mode == entry.mode) {
                Some((_, count)) => *count += 1,
                None => counts.push((entry.mode, 1)),
            }
        }
        let rank = |&(mode, count): &(u16, usize)| (count, mode == inherited, std::cmp::Reverse(mode));
        counts.into_iter().max_by_key(rank).map_or(inherited, |(mode, _)| mode)
    };
    Defaults {
        file: most(|entry| entry.kind == EntryKind::File && !is_exec(entry.mode), inherited.file),
        exec: most(|entry| entry.kind == EntryKind::File && is_exec(entry.mode), inherited.exec),
        dir: most(|entry| entry.kind == EntryKind::Dir, inherited.dir),
    }
}

/// Whether Git calls a file of this mode executable.
pub(super) fn is_exec(mode: u16) -> bool {
    mode & 0o100 != 0
}

/// The blob `self` of a directory; empty when there is nothing to say.
pub(super) fn encode_self(listing: &Listing, inherited: Defaults, defaults: Defaults) -> Vec<u8> {
    let mut text = Vec::new();
    let mut line = |parts: &[&[u8]]| {
        text.extend_from_slice(&parts.join(&b' '));
        text.push(b'\n');
    };
    let classes = [
        (b"file".as_slice(), inherited.file, defaults.file),
        (b"exec", inherited.exec, defaults.exec),
        (b"dir", inherited.dir, defaults.dir),
    ];
    for (class, before, now) in classes {
        if before != now {
            line(&[b"default", class, octal(now).as_bytes()]);
        }
    }
    for entry in &listing.entries {
        let default = match entry.kind {
            EntryKind::Link => continue,
            EntryKind::Dir => defaults.dir,
            EntryKind::File if is_exec(entry.mode) => defaults.exec,
            EntryKind::File => defaults.file,
        };
        if entry.mode != default {
            line(&[b"mode", octal(entry.mode).as_bytes(), &percent_encode(&entry.name)]);
        }
    }
    for (name, reason) in &listing.omitted {
        // An unstable path was captured; two states do not differ because somebody was writing.
        if *reason != Reason::Unstable {
            line(&[b"omitted", reason.word().as_bytes(), &percent_encode(name)]);
        }
    }
    text
}

fn octal(mode: u16) -> String {
    format!("{mode:o}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Entry;

    fn file(name: &str, mode: u16) -> Entry {
        Entry { name: name.into(), kind: EntryKind::File, mode, id: ObjectId::ZERO, dir: None }
    }

    #[test]
    fn an_ordinary_directory_has_no_facts() {
        let mut listing = Listing::default();
        listing.entries = vec![file("a", 0o644), file("b", 0o755)];
        let inherited = Defaults::default();
        assert_eq!(choose_defaults(&listing, inherited), inherited);
        assert!(encode_self(&listing, inherited, inherited).is_empty());
    }

    #[test]
    fn frequent_modes_become_defaults_and_the_rest_is_named_c42() {
        let entries = vec![file("a b", 0o600), file("b", 0o664), file("c", 0o664), file("d", 0o775)];
        let omitted = vec![(b"x".to_vec(), Reason::Special), (b"y".to_vec(), Reason::Unstable)];
        let listing = Listing { entries, omitted, slot: None };
        let inherited = Defaults::default();
        let defaults = choose_defaults(&listing, inherited);
        let text = encode_self(&listing, inherited, defaults);
        let expected = "default file 664\ndefault exec 775\nmode 600 a%20b\nomitted special x\n";
        assert_eq!(String::from_utf8_lossy(&text), expected);
        let mut facts = DirFacts::default();
        parse(&text, &mut facts).unwrap();
        assert_eq!(facts.defaults(inherited), defaults);
        assert_eq!(facts.mode(b"a b"), Some(0o600));
    }

    #[test]
    fn damaged_facts_are_refused() {
        for bad in
            ["mode 9 a", "mode 1777 a", "default tree 644", "omitted maybe x", "hello", "mode 644 %2", "mode +644 a"]
        {
            assert!(parse(bad.as_bytes(), &mut DirFacts::default()).is_none(), "{bad}");
        }
    }
}
