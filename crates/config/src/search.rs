//! Which files are read.

use std::path::{Path, PathBuf};

/// Name of the project's file, and of the one in the user's configuration directory.
pub(crate) const FILE_NAME: &str = "fabricatio.toml";

/// Name of the Python project's file, which holds our tables under [`PYPROJECT_TABLE`].
pub(crate) const PYPROJECT_NAME: &str = "pyproject.toml";

/// The table that stands for the whole of a `fabricatio.toml`.
pub(crate) const PYPROJECT_TABLE: &[&str] = &["tool", "fabricatio"];

/// Lists the files that a project directory and a user have, highest precedence first.
///
/// The search goes up from the real path of `project_dir` and ends at the first visible file of each name, whatever is
/// in it. What cannot be looked at counts as absent; so does anything that is not a regular file or a link to one.
pub(crate) fn files(
    project_dir: &Path,
    user_config_dir: Option<&Path>,
    is_visible: impl Fn(&Path) -> bool,
) -> Vec<PathBuf> {
    let exists = |file: &PathBuf| file.is_file() && is_visible(file);
    let start = project_dir.canonicalize().unwrap_or_else(|_| project_dir.to_owned());
    let nearest = |name: &str| start.ancestors().map(|dir| dir.join(name)).find(exists);
    let mut files: Vec<_> = [nearest(FILE_NAME), nearest(PYPROJECT_NAME)].into_iter().flatten().collect();
    let user = user_config_dir.map(|dir| dir.join("fabricatio").join(FILE_NAME)).filter(exists);
    // Seen from inside the user's configuration directory the two are one file.
    files.extend(user.filter(|file| !files.iter().any(|other| is_same(file, other))));
    files
}

/// Says whether two paths name one place: by their words, or by the real paths where both exist.
pub(crate) fn is_same(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    a == b || real(a).is_some_and(|real_a| Some(real_a) == real(b))
}
