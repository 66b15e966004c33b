//! One table of one source, ready to be merged by figment.

use std::collections::BTreeMap;

use figment::value::{Dict, Map};
use figment::{Metadata, Profile, Provider};

use crate::key::{self, Key};
use crate::loaded::Given;
use crate::origin::Origin;
use crate::setting::Setting;
use crate::warning::Warning;

/// The two tables that every source may have, higher one first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Table {
    /// `[checkpoint]`: all keys.
    Checkpoint,
    /// `[ext.checkpoint]`: what fabricatio-checkpoint itself reads there, so that one file serves both programs.
    Ext,
}

impl Table {
    /// Finds the key that `name` stands for in this table, or the warning that it has no effect.
    pub(crate) fn admit(self, name: &str, full_name: &str, origin: &Origin) -> Result<&'static Key, Warning> {
        let (key, origin) = (full_name.to_owned(), origin.clone());
        match key::find(name) {
            Some(found) if self == Self::Checkpoint || found.is_in_ext => Ok(found),
            Some(_) => Err(Warning::MisplacedKey { key, origin }),
            None => Err(Warning::UnknownKey { key, origin, nearest: key::nearest(name) }),
        }
    }
}

/// The settings of one table of one source.
///
/// figment merges the layers leaf by leaf and names the layer that a leaf is from. The typed settings stay here, because
/// a figment value can hold neither a path that is not text nor the line it was read from.
pub(crate) struct Layer {
    /// Unlike the name of any other layer of the same load.
    name: String,
    settings: BTreeMap<&'static str, Given>,
}

impl Layer {
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), settings: BTreeMap::new() }
    }

    /// Adds a setting; an earlier one of the same key is replaced.
    pub(crate) fn insert(&mut self, setting: Setting, origin: Origin) {
        self.settings.insert(setting.key().name, Given { setting, origin });
    }

    pub(crate) fn find(&self, key: &str) -> Option<&Given> {
        self.settings.get(key)
    }

    /// Says whether figment's metadata describes this layer.
    pub(crate) fn is(&self, metadata: &Metadata) -> bool {
        metadata.name == self.name
    }
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.name.clone())
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        let leaf = |(name, given): (&&str, &Given)| ((*name).to_owned(), given.setting.to_string().into());
        Ok(Profile::Default.collect(self.settings.iter().map(leaf).collect()))
    }
}
