//! Which files an agent could have written, and what they may not decide.

use std::path::{Path, PathBuf};

use crate::layer::Layer;
use crate::loaded::Redirect;
use crate::origin::Origin;
use crate::search::is_same;
use crate::setting::Setting;

/// The border of the worktree, by real paths.
pub(crate) struct Fence {
    root: Option<PathBuf>,
}

impl Fence {
    /// Takes the real path of `worktree`; one that does not exist holds nothing.
    pub(crate) fn around(worktree: Option<&Path>) -> Self {
        Self { root: worktree.and_then(|dir| dir.canonicalize().ok()) }
    }

    /// Says whether a file, or the link that stands for it, is in the worktree.
    ///
    /// The link counts too: whoever can edit the worktree can point it anywhere.
    pub(crate) fn holds(&self, file: &Path) -> bool {
        let Some(root) = &self.root else { return false };
        let is_below = |path: &Path| path.canonicalize().is_ok_and(|real| real.starts_with(root));
        is_below(file) || file.parent().is_some_and(is_below)
    }
}

/// Compares the directory that won with the one that would have won if the worktree's own files did not exist.
///
/// `inside` is a file inside the worktree: it is the cause if it names the directory, and also if it merely hides a file
/// further up that does.
pub(crate) fn redirect(layers: &[Layer], trusted: &[Layer], fence: &Fence, inside: &Path) -> Option<Redirect> {
    let (to, to_origin) = winner(layers)?;
    let (from, from_origin) = winner(trusted)?;
    if is_same(to, from) {
        return None;
    }
    let file = match to_origin {
        Origin::File { path, .. } if fence.holds(path) => path,
        _ => inside,
    };
    Some(Redirect {
        from: from.to_owned(),
        from_origin: from_origin.clone(),
        to: to.to_owned(),
        to_origin: to_origin.clone(),
        file: file.to_owned(),
    })
}

fn winner(layers: &[Layer]) -> Option<(&Path, &Origin)> {
    let given = layers.iter().find_map(|layer| layer.find("checkpoint_dir"))?;
    match &given.setting {
        Setting::CheckpointDir(dir) => Some((dir, &given.origin)),
        _ => None,
    }
}
