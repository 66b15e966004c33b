//! What is random: names, options, the first tree, and the sequence of steps. Everything is a number that `edit.rs` and
//! `world.rs` read against what stands there, so that a sequence stays playable while it is made smaller. What several
//! workspaces do beside each other is in `deed.rs`.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use proptest::bool::weighted;
use proptest::collection::vec;
use proptest::prelude::*;

/// Names that collide often, first those that are picked most.
const NAMES: [&[u8]; 20] = [
    b"a",
    b"d",
    b"b",
    b"c.o",
    b"build",
    b"e",
    b"secret",
    b"keep.o",
    b"x.tmp",
    "日本".as_bytes(),
    b"a\"b",
    b"new\nline",
    b"\xff\xfe",
    b"-",
    b" ",
    b"tab\t",
    b"back\\slash",
    b".ckpt-0123456789abcdef-0",
    b"git~1",
    b"a-b",
];
/// How many of them are picked most.
const USUAL: usize = 8;
/// Lines of ignore files.
pub(crate) const PATTERNS: [&str; 10] =
    ["*.o", "build/", "!keep.o", "secret", "/a", "d/", "!secret", "b", "!build/", "*.tmp"];

/// A name; printed as it is.
#[derive(Clone)]
pub(crate) struct Name(pub(crate) Vec<u8>);

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

/// A sequence.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// Names of any bytes, beside the fixed ones.
    pub(crate) names: Vec<Name>,
    pub(crate) exclude: Vec<&'static str>,
    pub(crate) max_file_bytes: u64,
    /// Edits that make the first tree, which is saved.
    pub(crate) tree: Vec<Edit>,
    pub(crate) rounds: Vec<Round>,
}

impl Case {
    /// The name that a number stands for.
    pub(crate) fn name(&self, number: u16) -> Vec<u8> {
        let number = usize::from(number);
        let all = NAMES.len() + self.names.len();
        let at = if number < 40_000 { number % USUAL } else { number % all };
        NAMES.get(at).map_or_else(|| self.names[at - NAMES.len()].0.clone(), |name| name.to_vec())
    }
}

/// Edits, something beside them, restores.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    /// Always true to begin with; a round that is not needed for a failure is not played.
    pub(crate) is_played: bool,
    pub(crate) edits: Vec<Edit>,
    pub(crate) act: Act,
    pub(crate) restores: Vec<(Restore, Accident)>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    Save,
    SaveAlways,
    SaveTwice,
    Status,
    /// Lets so much time go by that the stat cache trusts what it sees; then saves.
    WaitAndSave,
    LoseCache(CacheFile),
    SpoilCache(CacheFile, u16),
    /// A file of before is put back.
    OldCache(CacheFile),
    /// A new handle, with or without the excludes.
    Reopen(bool),
}

/// A file of the stat cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CacheFile {
    Whole,
    Changes,
}

impl CacheFile {
    pub(crate) const ALL: [Self; 2] = [Self::Whole, Self::Changes];

    /// Its place in a store.
    pub(crate) fn of(self, store: &Path) -> PathBuf {
        store.join(match self {
            Self::Whole => "ckpt/stat-cache",
            Self::Changes => "ckpt/stat-cache-changes",
        })
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Restore {
    /// To one of the checkpoints so far, safety checkpoints among them; small numbers are new ones.
    Reset(u16),
    /// Likewise; paths that stand there, that the checkpoint has, or that are made up.
    Rollback(u16, Vec<(u16, Pick)>),
    Undo,
    Redo,
}

/// What happens to a restore on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Accident {
    Nothing,
    /// The caller wishes to stop when asked for the time of this number.
    Stop(u64),
    /// The process dies when this many paths are in place, and the next one looks.
    Crash(u64),
    /// It is the real binary that does it, while our handle stays open.
    Binary(Kill),
}

/// Who does something.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Hand {
    /// The library, by the handle that is open.
    Library,
    /// The real binary, beside that handle.
    Binary(Kill),
}

/// The step on the file system at which a process is killed, if it has so many.
pub(crate) type Kill = Option<u64>;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Pick {
    Present,
    Saved,
    Any,
}

/// One edit. The numbers choose among what is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edit {
    pub(crate) is_made: bool,
    pub(crate) kind: EditKind,
    /// A directory to make something in.
    pub(crate) dir: u16,
    /// An entry to change.
    pub(crate) path: u16,
    pub(crate) name: u16,
    /// Decides about content, mode, target.
    pub(crate) salt: u16,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum EditKind {
    Write,
    Mkdir,
    Link,
    HardLink,
    IgnoreFile,
    Repository,
    CacheTag,
    Socket,
    SameSize,
    Append,
    Touch,
    Delete,
    Rename,
    Chmod,
    ChangeKind,
}

pub(crate) fn case(rounds: Range<usize>) -> impl Strategy<Value = Case> {
    let name = prop_oneof![
        4 => vec(any::<u8>(), 1..8),
        2 => vec(any::<u8>(), 20..255),
        1 => vec(any::<u8>(), 255..256),
    ]
    .prop_map(|mut bytes| {
        for byte in &mut bytes {
            if matches!(*byte, 0 | b'/') {
                *byte = b'_';
            }
        }
        Name(if matches!(bytes.as_slice(), b"." | b"..") {
            b"..".iter().copied().chain([b'x']).collect()
        } else {
            bytes
        })
    });
    let exclude = prop_oneof![3 => Just(vec![]), 1 => Just(vec!["*.tmp"]), 1 => Just(vec!["e/", "/b"])];
    let limit = prop_oneof![2 => Just(0_u64), 3 => Just(200)];
    (vec(name, 0..4), exclude, limit, vec(edit(), 5..25), vec(round(), rounds)).prop_map(
        |(names, exclude, max_file_bytes, tree, rounds)| Case { names, exclude, max_file_bytes, tree, rounds },
    )
}

/// A number that is read against what is there: a smaller one is no simpler.
pub(crate) fn number() -> impl Strategy<Value = u16> {
    any::<u16>().no_shrink()
}

fn cache_file() -> impl Strategy<Value = CacheFile> {
    prop_oneof![Just(CacheFile::Whole), Just(CacheFile::Changes)]
}

pub(crate) fn round() -> impl Strategy<Value = Round> {
    let act = prop_oneof![
        8 => Just(Act::Save),
        1 => Just(Act::SaveAlways),
        2 => Just(Act::SaveTwice),
        3 => Just(Act::Status),
        3 => Just(Act::WaitAndSave),
        1 => cache_file().prop_map(Act::LoseCache),
        1 => (cache_file(), number()).prop_map(|(file, number)| Act::SpoilCache(file, number)),
        2 => cache_file().prop_map(Act::OldCache),
        2 => any::<bool>().prop_map(Act::Reopen),
    ];
    (weighted(1.0), vec(edit(), 0..4), act, vec(restore(), 1..4)).prop_map(|(is_played, edits, act, restores)| Round {
        is_played,
        edits,
        act,
        restores,
    })
}

fn restore() -> impl Strategy<Value = (Restore, Accident)> {
    let accident = prop_oneof![
        14 => Just(Accident::Nothing),
        1 => (1_u64..30).prop_map(Accident::Stop),
        1 => (1_u64..8).prop_map(Accident::Crash),
    ];
    (verb(), accident)
}

pub(crate) fn verb() -> impl Strategy<Value = Restore> {
    let pick = prop_oneof![3 => Just(Pick::Present), 3 => Just(Pick::Saved), 1 => Just(Pick::Any)];
    prop_oneof![
        4 => number().prop_map(Restore::Reset),
        4 => (number(), vec((number(), pick), 1..3)).prop_map(|(to, paths)| Restore::Rollback(to, paths)),
        4 => Just(Restore::Undo),
        2 => Just(Restore::Redo),
    ]
}

pub(crate) fn edit() -> impl Strategy<Value = Edit> {
    use EditKind::*;

    let kind = prop_oneof![
        8 => Just(Write),
        4 => Just(Mkdir),
        2 => Just(Link),
        1 => Just(HardLink),
        2 => Just(IgnoreFile),
        1 => Just(Repository),
        1 => Just(CacheTag),
        1 => Just(Socket),
        2 => Just(SameSize),
        2 => Just(Append),
        1 => Just(Touch),
        4 => Just(Delete),
        2 => Just(Rename),
        3 => Just(Chmod),
        3 => Just(ChangeKind),
    ];
    (weighted(1.0), kind.no_shrink(), number(), number(), number(), number())
        .prop_map(|(is_made, kind, dir, path, name, salt)| Edit { is_made, kind, dir, path, name, salt })
}
