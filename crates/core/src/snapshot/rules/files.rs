//! The rule files of one directory, as the walk hands them in.

use ckpt_pack::ObjectId;

use super::digest;

/// Content of a rule file.
pub(crate) enum RuleContent {
    /// It was read.
    Bytes(Vec<u8>),
    /// It is read at the first question, once; a directory without questions needs none.
    Load(Box<dyn Fn() -> Vec<u8> + Send + Sync>),
}

/// One rule file.
pub(crate) struct RuleFile {
    /// Id of its content; the only thing that enters the signature.
    pub(crate) id: ObjectId,
    /// Its content.
    pub(crate) content: RuleContent,
}

/// The rule files in one directory.
#[derive(Default)]
pub(crate) struct RuleFiles {
    /// `.gitignore`. A link is none, as for Git.
    pub(crate) gitignore: Option<RuleFile>,
    /// `.ckptignore`.
    pub(crate) ckptignore: Option<RuleFile>,
    /// `info/exclude` of a nested repository whose `.git` is in this directory; that of the worktree's own root is
    /// among the rules from outside.
    pub(crate) repo_exclude: Option<RuleFile>,
    /// Whether that is there, and cannot be read.
    pub(crate) lacks_exclude: bool,
}

impl RuleFiles {
    /// Signature of the directory at `path` whose parent has the signature `parent`.
    ///
    /// The path is in it where there is a file: else the same file one level deeper could go unnoticed.
    pub(super) fn signature(&self, parent: u64, path: &[u8]) -> u64 {
        let files = [&self.gitignore, &self.ckptignore, &self.repo_exclude];
        if files.iter().all(|file| file.is_none()) && !self.lacks_exclude {
            return parent;
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(&parent.to_le_bytes());
        for file in files {
            match file {
                Some(file) => hasher.update(&[1]).update(file.id.as_bytes()),
                None => hasher.update(&[0]),
            };
        }
        if self.lacks_exclude {
            hasher.update(&[2]);
        }
        hasher.update(path);
        digest(&hasher)
    }
}
