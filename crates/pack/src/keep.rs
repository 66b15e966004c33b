//! The `.keep` file of a pack: it keeps stock git from repacking or deleting the pack, marks the pack as ours, and says
//! which packs it was merged from.

use std::collections::BTreeSet;

use ckpt_fs::{Dir, Entries, FileKind};

use crate::{Error, ObjectId, Result};

/// Text of the `.keep` of a pack that was not merged from others.
pub const KEEP_TEXT: &str = "ckpt\n";

/// First word in a `.keep` of ours.
const OURS: &str = "ckpt";

/// Names that one `.keep` holds at most.
const MERGED_MAX: usize = 256;

/// A `.keep` that is longer is not ours.
const LIMIT: u64 = 64 * 1024;

/// What a `.keep` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keep {
    /// Whether we wrote it.
    pub(crate) ours: bool,
    /// Packs whose objects this one holds, the ones it replaced itself first.
    pub(crate) merged: Vec<ObjectId>,
    /// Whether it is what a power cut may make of [`KEEP_TEXT`], which nobody syncs: nothing, a beginning, or zeros.
    pub(crate) is_torn: bool,
}

impl Keep {
    /// Reads the `.keep` of pack `name`; a missing one, or one that is not ours, is not ours and names nothing.
    pub(crate) fn read(dir: &Dir, name: &ObjectId) -> Result<Self> {
        let file = file_name(name, "keep");
        match dir.read_file(&file, LIMIT) {
            Ok(text) => {
                let is_torn = text.as_ref().is_some_and(|text| {
                    KEEP_TEXT.as_bytes().starts_with(text)
                        || text.len() == KEEP_TEXT.len() && text.iter().all(|&byte| byte == 0)
                });
                Ok(Self { is_torn, ..Self::parse(&text.unwrap_or_default()) })
            }
            Err(err)
                if matches!(err.kind(), std::io::ErrorKind::FileTooLarge | std::io::ErrorKind::InvalidInput)
                    || ckpt_fs::is_absence(&err) =>
            {
                Ok(Self::default())
            }
            Err(err) => Err(Error::io("read", file)(err)),
        }
    }

    /// Whether we wrote the `.keep` of pack `name`. Reads only its beginning: the names in it may be many.
    pub(crate) fn is_ours(dir: &Dir, name: &ObjectId) -> Result<bool> {
        use std::io::Read;

        let file = file_name(name, "keep");
        let mut start = Vec::new();
        let read = dir.open_file(&file).and_then(|file| file.take(OURS.len() as u64 + 1).read_to_end(&mut start));
        match read {
            Ok(_) => Ok(Self::parse(&start).ours),
            Err(err) if err.kind() == std::io::ErrorKind::NotFound => Ok(false),
            // A directory or a link of that name keeps nothing.
            Err(err) => match dir.try_stat(&file) {
                Ok(Some(stat)) if stat.kind != FileKind::File => Ok(false),
                _ => Err(Error::io("read", file)(err)),
            },
        }
    }

    fn parse(text: &[u8]) -> Self {
        let Ok(text) = std::str::from_utf8(text) else { return Self::default() };
        let mut words = text.split_ascii_whitespace();
        if words.next() != Some(OURS) {
            return Self::default();
        }
        let merged = match words.next() {
            Some("merged") => words.filter_map(|word| word.parse().ok()).collect(),
            _ => Vec::new(),
        };
        Self { ours: true, merged, is_torn: false }
    }
}

/// Text of the `.keep` of a pack that holds the objects of `merged`: the first 256 of them, each once.
pub(crate) fn merged_text(merged: impl IntoIterator<Item = ObjectId>) -> String {
    let mut seen = BTreeSet::new();
    let mut text = format!("{OURS} merged");
    for name in merged {
        if seen.len() < MERGED_MAX && seen.insert(name) {
            text.push(' ');
            text.push_str(&name.to_string());
        }
    }
    text.push('\n');
    text
}

/// `pack-<name>.<extension>`.
pub(crate) fn file_name(name: &ObjectId, extension: &str) -> Vec<u8> {
    format!("pack-{name}.{extension}").into_bytes()
}

/// Names of all packs of which a file with `extension` is in `dir`, in order.
pub(crate) fn names(dir: &Dir, extension: &str) -> Result<Vec<ObjectId>> {
    let mut entries = Entries::default();
    dir.read_entries(&mut entries).map_err(Error::io("list", "the pack directory"))?;
    Ok(entries.iter().filter_map(|entry| parse_file_name(entry.name, extension)).collect())
}

pub(crate) fn parse_file_name(name: &[u8], extension: &str) -> Option<ObjectId> {
    let stem = name.strip_prefix(b"pack-")?.strip_suffix(extension.as_bytes())?.strip_suffix(b".")?;
    std::str::from_utf8(stem).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_comes_back_and_strangers_are_strangers() {
        let names = [ObjectId::EMPTY_TREE, ObjectId::ZERO, ObjectId::EMPTY_TREE];
        let keep = Keep::parse(merged_text(names).as_bytes());
        assert_eq!(keep, Keep { ours: true, merged: vec![ObjectId::EMPTY_TREE, ObjectId::ZERO], is_torn: false });
        assert_eq!(Keep::parse(KEEP_TEXT.as_bytes()), Keep { ours: true, merged: Vec::new(), is_torn: false });
        for stranger in [b"".as_slice(), b"receive-pack 7 on host\n", b"ckptx\n", b"\xff"] {
            assert_eq!(Keep::parse(stranger), Keep::default());
        }
        let many = (0..1000_u32).map(|n| crate::hash_object(crate::Kind::Blob, &n.to_be_bytes()).unwrap());
        assert_eq!(Keep::parse(merged_text(many).as_bytes()).merged.len(), MERGED_MAX);
    }

    #[test]
    fn only_whole_names_are_packs() {
        let id = ObjectId::EMPTY_TREE;
        assert_eq!(parse_file_name(&file_name(&id, "idx"), "idx"), Some(id));
        assert_eq!(parse_file_name(&file_name(&id, "pack"), "idx"), None);
        assert_eq!(parse_file_name(b"pack-.idx", "idx"), None);
        assert_eq!(parse_file_name(format!("pack-{id}idx").as_bytes(), "idx"), None);
    }
}
