//! The way in: what a caller says, and the merge.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use figment::Figment;

use crate::config::{Config, DEFAULT_DIR_NAME};
use crate::environment;
use crate::error::Error;
use crate::file;
use crate::key::keys;
use crate::layer::Layer;
use crate::loaded::{Entry, Given, Loaded};
use crate::origin::Origin;
use crate::reading::Site;
use crate::search;
use crate::setting::Setting;
use crate::trust::{self, Fence};
use crate::warning::Warning;

/// Collects where a configuration may come from, then loads it.
///
/// What is not given does not exist: without [`environment`](Self::environment) no variable is read, without
/// [`user_config_dir`](Self::user_config_dir) no user's file.
#[must_use]
#[derive(Clone, Debug)]
pub struct Loader {
    working_dir: PathBuf,
    project_dir: Option<PathBuf>,
    worktree: Option<PathBuf>,
    home_dir: Option<PathBuf>,
    user_config_dir: Option<PathBuf>,
    config_file: Option<PathBuf>,
    variables: Vec<(OsString, OsString)>,
    explicit: Vec<Given>,
}

impl Loader {
    /// Starts with a working directory, which should be absolute: relative paths that stand in no file start from it.
    pub fn new(working_dir: impl Into<PathBuf>) -> Self {
        Self {
            working_dir: working_dir.into(),
            project_dir: None,
            worktree: None,
            home_dir: None,
            user_config_dir: None,
            config_file: None,
            variables: Vec::new(),
            explicit: Vec::new(),
        }
    }

    /// Searches project files from `dir` upwards. Default: from the working directory.
    pub fn project_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.project_dir = Some(dir.into());
        self
    }

    /// Names the worktree, whose own files are trusted less. Default: none, every file is trusted.
    pub fn worktree(mut self, worktree: Option<&Path>) -> Self {
        self.worktree = worktree.map(Path::to_owned);
        self
    }

    /// Sets the directory that `~` stands for. Default: none, `~` is an error.
    pub fn home_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.home_dir = Some(dir.into());
        self
    }

    /// Sets the directory that may hold `fabricatio/fabricatio.toml`. Default: none.
    pub fn user_config_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.user_config_dir = Some(dir.into());
        self
    }

    /// Reads this file in place of the project's and the user's; it must exist. Default: none, files are searched.
    pub fn config_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.config_file = Some(file.into());
        self
    }

    /// Sets the environment variables. Default: none.
    pub fn environment<N, V>(mut self, variables: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: Into<OsString>,
        V: Into<OsString>,
    {
        self.variables = variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        self
    }

    /// Takes variables, home and the user's configuration directory from the running process.
    ///
    /// This is the only place of the crate that reads ambient state.
    pub fn environment_of_process(mut self) -> Self {
        self.home_dir = dirs::home_dir();
        self.user_config_dir = dirs::config_dir();
        self.environment(env::vars_os())
    }

    /// Sets a value that outranks every other source, under a label such as `--checkpoint-dir`.
    ///
    /// Of two values for one key the later holds. In a path `~` is expanded here too, since a shell leaves it alone in
    /// `--checkpoint-dir=~/x`.
    pub fn explicit(mut self, setting: Setting, label: impl Into<String>) -> Self {
        self.explicit.push(Given { setting, origin: Origin::Explicit(label.into()) });
        self
    }

    /// Reads all sources and merges them key by key.
    ///
    /// Every value of every source is checked, also one that another hides.
    ///
    /// # Errors
    /// When a file that was found or named cannot be read or parsed, a value is not what its key expects, or a home
    /// directory is needed and not known.
    pub fn load(&self) -> Result<Loaded, Error> {
        let ground = Ground { working_dir: self.working_dir.clone(), home: self.home() };
        let fence = Fence::around(self.worktree.as_deref().map(|dir| self.working_dir.join(dir)).as_deref());
        let files = self.files(|_| true);
        let mut warnings = Vec::new();
        let layers = self.layers(&files, &fence, &ground, &mut warnings)?;
        let redirect = match files.iter().find(|file| fence.holds(file)) {
            Some(inside) => {
                let trusted = self.layers(&self.files(|file| !fence.holds(file)), &fence, &ground, &mut Vec::new())?;
                trust::redirect(&layers, &trusted, &fence, inside)
            }
            None => None,
        };
        let (config, entries) = merge(&layers)?;
        Ok(Loaded { config, entries, files, warnings, redirect })
    }

    /// Reads all sources, highest first, with these files among them.
    fn layers(
        &self,
        files: &[PathBuf],
        fence: &Fence,
        ground: &Ground,
        warnings: &mut Vec<Warning>,
    ) -> Result<Vec<Layer>, Error> {
        let mut layers = vec![self.explicit_layer(ground)?];
        layers.extend(environment::layers(&self.variables, ground, warnings)?);
        for path in files {
            layers.extend(file::layers(path, fence, ground, warnings)?);
        }
        layers.push(default_layer(ground));
        Ok(layers)
    }

    fn home(&self) -> Option<PathBuf> {
        let home = self.home_dir.as_ref().filter(|dir| !dir.as_os_str().is_empty())?;
        Some(self.working_dir.join(home))
    }

    fn files(&self, is_visible: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
        let absolute = |path: &PathBuf| self.working_dir.join(path);
        if let Some(file) = &self.config_file {
            return Some(absolute(file)).filter(|file| is_visible(file)).into_iter().collect();
        }
        let project_dir = self.project_dir.as_ref().map_or_else(|| self.working_dir.clone(), absolute);
        search::files(&project_dir, self.user_config_dir.as_ref().map(absolute).as_deref(), is_visible)
    }

    fn explicit_layer(&self, ground: &Ground) -> Result<Layer, Error> {
        let mut layer = Layer::new("explicit");
        for Given { setting, origin } in &self.explicit {
            let setting = match setting {
                Setting::CheckpointDir(dir) => {
                    let key = setting.key();
                    let base = &ground.working_dir;
                    Site { key, full_name: key.name, origin, base, home: ground.home() }.read_path(dir.as_os_str())?
                }
                other => other.clone(),
            };
            layer.insert(setting, origin.clone());
        }
        Ok(layer)
    }
}

/// What paths are relative to, outside files.
pub(crate) struct Ground {
    pub(crate) working_dir: PathBuf,
    home: Option<PathBuf>,
}

impl Ground {
    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }
}

/// The last layer; without a home directory it has no `checkpoint_dir`.
fn default_layer(ground: &Ground) -> Layer {
    let mut layer = Layer::new("default");
    let home = ground.home();
    for setting in Config::in_home(home.unwrap_or(Path::new("~"))).settings() {
        if home.is_some() || !matches!(setting, Setting::CheckpointDir(_)) {
            layer.insert(setting, Origin::Default);
        }
    }
    layer
}

/// Lets figment pick the layer of each leaf, and puts the picked settings together.
fn merge(layers: &[Layer]) -> Result<(Config, Vec<Entry>), Error> {
    let figment = layers.iter().fold(Figment::new(), |figment, layer| figment.join(layer));
    let mut config = Config::new(DEFAULT_DIR_NAME);
    let mut entries = Vec::new();
    for key in keys() {
        let winner = figment.find_metadata(key.name);
        let winner = winner.and_then(|metadata| layers.iter().position(|layer| layer.is(metadata)));
        let mut given = layers[winner.unwrap_or(layers.len())..].iter().filter_map(|layer| layer.find(key.name));
        let Some(Given { setting, origin }) = given.next().cloned() else {
            // Only `checkpoint_dir` can be without a value, since its default needs a home directory.
            return Err(Error::HomeUnknown { origin: Origin::Default });
        };
        config.apply(setting.clone());
        entries.push(Entry { key, setting, origin, overridden: given.cloned().collect() });
    }
    Ok((config, entries))
}
