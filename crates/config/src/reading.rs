//! From a written value to a setting: the types of the keys.
//!
//! A function here answers `None` for a value of the wrong type or range; [`Site`] makes the error of it.

use std::ffi::OsStr;
use std::num::NonZeroUsize;
use std::path::{Component, Path, PathBuf};

use figment::error::Actual;
use figment::value::{Num, Value};

use crate::config::Durability;
use crate::error::Error;
use crate::key::{Form, Key};
use crate::origin::Origin;
use crate::quantity::{parse_bytes, parse_time, time_of_seconds};
use crate::setting::Setting;

/// The place where one value is written, with what is needed to understand it there.
pub(crate) struct Site<'a> {
    pub(crate) key: &'static Key,
    /// The key as it stands there, with its tables.
    pub(crate) full_name: &'a str,
    pub(crate) origin: &'a Origin,
    /// The directory that a relative path starts from.
    pub(crate) base: &'a Path,
    pub(crate) home: Option<&'a Path>,
}

impl Site<'_> {
    /// Reads a value of the site's key.
    pub(crate) fn read(&self, value: &Value) -> Result<Setting, Error> {
        let setting = match self.key.form {
            Form::Path => match value.as_str() {
                Some(text) => return self.read_path(OsStr::new(text)),
                None => None,
            },
            Form::List => strings(value).map(Setting::Exclude),
            Form::Scalar(read) => read(value),
        };
        setting.ok_or_else(|| self.mismatch(&describe(value)))
    }

    /// Reads a path: expands `~`, then makes it absolute.
    pub(crate) fn read_path(&self, text: &OsStr) -> Result<Setting, Error> {
        if text.is_empty() || text.as_encoded_bytes().contains(&0) {
            return Err(self.mismatch(&format!("{text:?}")));
        }
        let mut parts = Path::new(text).components();
        let expanded = match parts.next() {
            Some(Component::Normal(first)) if first == "~" => {
                let Some(home) = self.home else { return Err(Error::HomeUnknown { origin: self.origin.clone() }) };
                home.join(parts.as_path())
            }
            _ => PathBuf::from(text),
        };
        // Collecting the components drops inner `.` and trailing separators; `..` stays, since only the file system
        // knows what it means behind a symlink.
        Ok(Setting::CheckpointDir(self.base.join(expanded).components().collect()))
    }

    /// Makes the error for a value that is not what the key expects.
    pub(crate) fn mismatch(&self, found: &str) -> Error {
        Error::Invalid {
            key: self.full_name.to_owned(),
            origin: self.origin.clone(),
            expected: self.key.expected,
            found: found.to_owned(),
        }
    }
}

pub(crate) fn cache_size(value: &Value) -> Option<Setting> {
    let size = usize::try_from(whole(value)?).ok()?;
    NonZeroUsize::new(size).map(Setting::CacheSize)
}

pub(crate) fn max_file_bytes(value: &Value) -> Option<Setting> {
    let bytes = match value.as_str() {
        Some(text) => parse_bytes(text),
        None => whole(value),
    };
    bytes.map(Setting::MaxFileBytes)
}

pub(crate) fn skip_cache_dirs(value: &Value) -> Option<Setting> {
    value.to_bool().map(Setting::SkipCacheDirs)
}

pub(crate) fn durability(value: &Value) -> Option<Setting> {
    match value.as_str()? {
        "full" => Some(Setting::Durability(Durability::Full)),
        "none" => Some(Setting::Durability(Durability::None)),
        _ => None,
    }
}

pub(crate) fn lock_timeout(value: &Value) -> Option<Setting> {
    let time = match value {
        Value::String(_, text) => parse_time(text),
        Value::Num(_, Num::F32(_) | Num::F64(_)) => time_of_seconds(value.to_num()?.to_f64()?),
        _ => time_of_seconds(whole(value)? as f64),
    };
    time.map(Setting::LockTimeout)
}

pub(crate) fn threads(value: &Value) -> Option<Setting> {
    usize::try_from(whole(value)?).ok().map(Setting::Threads)
}

pub(crate) fn allow_network_fs(value: &Value) -> Option<Setting> {
    value.to_bool().map(Setting::AllowNetworkFs)
}

/// Says in words what a value is, for "cannot use … for …".
pub(crate) fn describe(value: &Value) -> String {
    match value.to_actual() {
        Actual::Str(text) => format!("{text:?}"),
        Actual::Bool(yes) => yes.to_string(),
        Actual::Unsigned(number) => number.to_string(),
        Actual::Signed(number) => number.to_string(),
        Actual::Float(number) => format!("{number:?}"),
        Actual::Seq => "a list".to_owned(),
        Actual::Map => "a table".to_owned(),
        // The only TOML value that has no counterpart in figment.
        Actual::Unit => "a date or time".to_owned(),
        other => other.to_string(),
    }
}

/// Returns a whole number that is not negative.
fn whole(value: &Value) -> Option<u64> {
    let number = value.to_num()?;
    number
        .to_u128()
        .and_then(|n| u64::try_from(n).ok())
        .or_else(|| number.to_i128().and_then(|n| u64::try_from(n).ok()))
}

/// Returns a list of strings.
fn strings(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key;

    fn read(name: &str, value: impl Into<Value>) -> Result<Setting, Error> {
        let origin = Origin::Variable("V".to_owned());
        let site = Site {
            key: key::find(name).unwrap(),
            full_name: name,
            origin: &origin,
            base: Path::new("/base"),
            home: Some(Path::new("/home/ada")),
        };
        site.read(&value.into())
    }

    fn dir(text: &str) -> PathBuf {
        match read("checkpoint_dir", text).unwrap() {
            Setting::CheckpointDir(dir) => dir,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn tilde_and_relative_paths_become_absolute() {
        assert_eq!(dir("~"), Path::new("/home/ada"));
        assert_eq!(dir("~/x/y"), Path::new("/home/ada/x/y"));
        assert_eq!(dir("x/./y/"), Path::new("/base/x/y"));
        assert_eq!(dir("/abs"), Path::new("/abs"));
        // Another person's home is not looked up, and a `~` further on is a name like any other.
        assert_eq!(dir("~bob/x"), Path::new("/base/~bob/x"));
        assert_eq!(dir("./~/x"), Path::new("/base/~/x"));
    }

    #[test]
    fn wrong_types_say_what_was_expected() {
        let message = |name, value: Value| read(name, value).unwrap_err().to_string();
        insta::assert_snapshot!(message("checkpoint_dir", 3.into()), @"cannot use 3 for checkpoint_dir (V): expected a path that is not empty");
        insta::assert_snapshot!(message("checkpoint_dir", "".into()), @r#"cannot use "" for checkpoint_dir (V): expected a path that is not empty"#);
        insta::assert_snapshot!(message("cache_size", 0.into()), @"cannot use 0 for cache_size (V): expected a whole number of at least 1");
        insta::assert_snapshot!(message("cache_size", "10".into()), @r#"cannot use "10" for cache_size (V): expected a whole number of at least 1"#);
        insta::assert_snapshot!(message("exclude", "x".into()), @r#"cannot use "x" for exclude (V): expected a list of globs such as ["*.log", "target/"]"#);
        insta::assert_snapshot!(message("exclude", vec![1].into()), @r#"cannot use a list for exclude (V): expected a list of globs such as ["*.log", "target/"]"#);
        insta::assert_snapshot!(message("durability", "most".into()), @r#"cannot use "most" for durability (V): expected "full" or "none""#);
        insta::assert_snapshot!(message("threads", (-1).into()), @"cannot use -1 for threads (V): expected a whole number, or 0 for one thread a core");
        insta::assert_snapshot!(message("threads", 1.5.into()), @"cannot use 1.5 for threads (V): expected a whole number, or 0 for one thread a core");
        insta::assert_snapshot!(message("skip_cache_dirs", 1.into()), @"cannot use 1 for skip_cache_dirs (V): expected true or false");
        insta::assert_snapshot!(message("lock_timeout", (-1).into()), @r#"cannot use -1 for lock_timeout (V): expected a time of at most a year such as 30, "30s", "500ms" or "2m""#);
        insta::assert_snapshot!(message("max_file_bytes", true.into()), @r#"cannot use true for max_file_bytes (V): expected a size such as 104857600, "100MiB" or "10 MB", or 0 for no limit"#);
    }

    #[test]
    fn numbers_and_strings_are_both_sizes_and_times() {
        use std::time::Duration;
        assert_eq!(read("max_file_bytes", 5).unwrap(), Setting::MaxFileBytes(5));
        assert_eq!(read("max_file_bytes", "1k").unwrap(), Setting::MaxFileBytes(1_024));
        assert_eq!(read("lock_timeout", 5).unwrap(), Setting::LockTimeout(Duration::from_secs(5)));
        assert_eq!(read("lock_timeout", 0.5).unwrap(), Setting::LockTimeout(Duration::from_millis(500)));
        assert_eq!(read("lock_timeout", "2m").unwrap(), Setting::LockTimeout(Duration::from_secs(120)));
    }
}
