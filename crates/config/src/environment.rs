//! The environment as a source: `FABRICATIO_CHECKPOINT__…` and `FABRICATIO_EXT__CHECKPOINT__…`.
//!
//! Names are compared without case. Values follow figment's syntax (`3`, `true`, `[a, "b"]`), except that a path is
//! taken byte for byte. Other variables, and those set to nothing, do not exist for us.

use std::ffi::{OsStr, OsString};

use figment::value::Value;

use crate::error::Error;
use crate::key::{self, EXT_VARIABLE_PREFIX, Form, VARIABLE_PREFIX};
use crate::layer::{Layer, Table};
use crate::loader::Ground;
use crate::origin::Origin;
use crate::reading::Site;
use crate::setting::Setting;
use crate::warning::Warning;

/// Reads the layers of the environment, highest first.
pub(crate) fn layers(
    variables: &[(OsString, OsString)],
    ground: &Ground,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Layer>, Error> {
    let mut layers = Vec::new();
    for (table, prefix) in [(Table::Checkpoint, VARIABLE_PREFIX), (Table::Ext, EXT_VARIABLE_PREFIX)] {
        // Two spellings of one name, possible because case is ignored, become two layers, so that both are shown.
        let mut hidden = Layer::new(format!("environment, other spellings of {prefix}"));
        let mut layer = Layer::new(format!("environment, {prefix}"));
        for (spelled, key, value) in ours(variables, prefix) {
            let origin = Origin::Variable(spelled.to_owned());
            let key = match table.admit(&key, &key, &origin) {
                Ok(key) => key,
                Err(warning) => {
                    warnings.push(warning);
                    continue;
                }
            };
            let site =
                Site { key, full_name: key.name, origin: &origin, base: &ground.working_dir, home: ground.home() };
            let setting = read(&site, value)?;
            if let Some(globs) = commas(&setting, value) {
                warnings.push(Warning::OneGlob { globs, origin: origin.clone() });
            }
            if layer.find(key.name).is_none() { &mut layer } else { &mut hidden }.insert(setting, origin);
        }
        layers.extend([layer, hidden]);
    }
    warnings.extend(near_misses(variables));
    Ok(layers)
}

/// Finds the variables of a table by name: name as spelled, key in lower case, value; capitals come first.
fn ours<'a>(variables: &'a [(OsString, OsString)], prefix: &str) -> Vec<(&'a str, String, &'a OsStr)> {
    let mut found: Vec<_> = variables
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .filter_map(|(name, value)| {
            let name = name.to_str()?;
            let (head, key) = name.split_at_checked(prefix.len())?;
            head.eq_ignore_ascii_case(prefix).then(|| (name, key.to_ascii_lowercase(), value.as_os_str()))
        })
        .collect();
    found.sort_unstable();
    found
}

/// Finds variables with one underscore where two are wanted, which would be overlooked without a word.
fn near_misses(variables: &[(OsString, OsString)]) -> Vec<Warning> {
    let prefix = VARIABLE_PREFIX.strip_suffix('_').unwrap_or(VARIABLE_PREFIX);
    let meant = |key: &str| key::find(&format!("checkpoint_{key}")).or_else(|| key::find(key));
    ours(variables, prefix)
        .into_iter()
        .filter_map(|(spelled, key, _)| {
            let origin = Origin::Variable(spelled.to_owned());
            let nearest = Some(meant(&key)?.name);
            Some(Warning::UnknownKey { key, origin, nearest })
        })
        .collect()
}

/// The globs that were meant by a value without brackets and with commas, which is one glob.
fn commas(setting: &Setting, value: &OsStr) -> Option<Vec<String>> {
    match setting {
        Setting::Exclude(globs) if globs.len() == 1 && globs[0].contains(',') && value == globs[0].as_str() => {
            Some(globs[0].split(',').map(|glob| glob.trim().to_owned()).collect())
        }
        _ => None,
    }
}

fn read(site: &Site<'_>, value: &OsStr) -> Result<Setting, Error> {
    if matches!(site.key.form, Form::Path) {
        return site.read_path(value);
    }
    let Some(text) = value.to_str() else {
        return Err(site.mismatch("text that is not UTF-8"));
    };
    let Ok(parsed) = text.parse::<Value>();
    match site.key.form {
        // One glob alone needs no brackets.
        Form::List if parsed.as_array().is_none() => site.read(&Value::from(vec![text])),
        _ => site.read(&parsed),
    }
}
