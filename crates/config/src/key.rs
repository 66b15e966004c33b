//! The table of keys: names, types, defaults and meanings, as data.
//!
//! Reading, suggestions, the generated reference and `ckpt config` all go by this one table.

use figment::value::Value;

use crate::reading;
use crate::setting::Setting;

/// What stands before a key's name, in upper case, in the environment.
pub(crate) const VARIABLE_PREFIX: &str = "FABRICATIO_CHECKPOINT__";

/// The same for the table `[ext.checkpoint]`.
pub(crate) const EXT_VARIABLE_PREFIX: &str = "FABRICATIO_EXT__CHECKPOINT__";

/// Below this likeness, from 0 to 1, a known key is no help to someone who wrote another word.
const LEAST_LIKENESS: f64 = 0.75;

/// Describes one key of the table `[checkpoint]`.
#[non_exhaustive]
#[derive(Debug)]
pub struct Key {
    /// Its name in files.
    pub name: &'static str,
    /// Its type, as one or two words.
    pub type_word: &'static str,
    /// What a value must be; completes "expected …".
    pub expected: &'static str,
    /// Its default, as it could be written in a file, without quotes.
    pub default: &'static str,
    /// What it does, in one sentence.
    pub meaning: &'static str,
    /// A line that may stand in a file.
    pub example: &'static str,
    /// Whether `[ext.checkpoint]` may hold it too.
    pub is_in_ext: bool,
    /// Whether a file inside the worktree may set it.
    pub is_free_in_worktree: bool,
    pub(crate) form: Form,
}

impl Key {
    /// Returns the name of its environment variable.
    pub fn variable(&self) -> String {
        format!("{VARIABLE_PREFIX}{}", self.name.to_ascii_uppercase())
    }
}

/// How a value is written, and what turns it into a setting.
#[derive(Debug)]
pub(crate) enum Form {
    /// A path: any bytes in the environment, a string in a file.
    Path,
    /// A list of strings; in the environment also one string alone.
    List,
    /// One value; the function answers `None` if it is not what the key expects.
    Scalar(fn(&Value) -> Option<Setting>),
}

/// Lists all keys, in the order in which they are shown.
pub fn keys() -> &'static [Key] {
    &KEYS
}

/// Finds a key by its exact name.
pub(crate) fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

/// Finds the known key that someone who wrote `name` most likely meant.
pub(crate) fn nearest(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase().replace('-', "_");
    let likeness = |key: &Key| strsim::jaro_winkler(key.name, &name);
    KEYS.iter()
        .max_by(|a, b| likeness(a).total_cmp(&likeness(b)))
        .filter(|key| likeness(key) >= LEAST_LIKENESS)
        .map(|key| key.name)
}

static KEYS: [Key; 9] = [
    Key {
        name: "checkpoint_dir",
        type_word: "path",
        expected: "a path that is not empty",
        default: "~/.fabricatio-checkpoint",
        meaning: "The directory that holds all stores.",
        example: "checkpoint_dir = \"~/.fabricatio-checkpoint\"",
        is_in_ext: true,
        is_free_in_worktree: true,
        form: Form::Path,
    },
    Key {
        name: "cache_size",
        type_word: "number",
        expected: "a whole number of at least 1",
        default: "100",
        meaning: "How many stores one process keeps open.",
        example: "cache_size = 100",
        is_in_ext: true,
        is_free_in_worktree: true,
        form: Form::Scalar(reading::cache_size),
    },
    Key {
        name: "max_file_bytes",
        type_word: "size",
        expected: "a size such as 104857600, \"100MiB\" or \"10 MB\", or 0 for no limit",
        default: "100MiB",
        meaning: "Larger files are left out of checkpoints; 0 saves files of any size.",
        example: "max_file_bytes = \"100MiB\"",
        is_in_ext: false,
        is_free_in_worktree: true,
        form: Form::Scalar(reading::max_file_bytes),
    },
    Key {
        name: "exclude",
        type_word: "list of globs",
        expected: "a list of globs such as [\"*.log\", \"target/\"]",
        default: "[]",
        meaning: "Paths that match one of these are left out of checkpoints, as if an ignore file named them.",
        example: "exclude = [\"*.log\", \"target/\"]",
        is_in_ext: false,
        is_free_in_worktree: true,
        form: Form::List,
    },
    Key {
        name: "skip_cache_dirs",
        type_word: "true or false",
        expected: "true or false",
        default: "true",
        meaning: "Directories with a valid CACHEDIR.TAG are left out of checkpoints.",
        example: "skip_cache_dirs = true",
        is_in_ext: false,
        is_free_in_worktree: true,
        form: Form::Scalar(reading::skip_cache_dirs),
    },
    Key {
        name: "durability",
        type_word: "word",
        expected: "\"full\" or \"none\"",
        default: "full",
        meaning: "With \"full\" a reported checkpoint survives a power cut; \"none\" flushes nothing and is for tests.",
        example: "durability = \"full\"",
        is_in_ext: false,
        is_free_in_worktree: false,
        form: Form::Scalar(reading::durability),
    },
    Key {
        name: "lock_timeout",
        type_word: "time",
        expected: "a time of at most a year such as 30, \"30s\", \"500ms\" or \"2m\"",
        default: "30s",
        meaning: "How long a command waits for another one that writes to the same store; 0 gives up at once.",
        example: "lock_timeout = \"30s\"",
        is_in_ext: false,
        is_free_in_worktree: false,
        form: Form::Scalar(reading::lock_timeout),
    },
    Key {
        name: "threads",
        type_word: "number",
        expected: "a whole number, or 0 for one thread a core",
        default: "0",
        meaning: "How many threads read files; 0 is one a core.",
        example: "threads = 4",
        is_in_ext: false,
        is_free_in_worktree: true,
        form: Form::Scalar(reading::threads),
    },
    Key {
        name: "allow_network_fs",
        type_word: "true or false",
        expected: "true or false",
        default: "false",
        meaning: "Stores on network file systems, whose locks cannot be relied on, are accepted.",
        example: "allow_network_fs = false",
        is_in_ext: false,
        is_free_in_worktree: true,
        form: Form::Scalar(reading::allow_network_fs),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key_is_named_only_if_it_is_near() {
        assert_eq!(nearest("checkpoint-dir"), Some("checkpoint_dir"));
        assert_eq!(nearest("cache_sise"), Some("cache_size"));
        assert_eq!(nearest("MAX_FILE_SIZE"), Some("max_file_bytes"));
        assert_eq!(nearest("excludes"), Some("exclude"));
        assert_eq!(nearest("thread"), Some("threads"));
        assert_eq!(nearest("colour"), None);
        assert_eq!(nearest(""), None);
    }
}
