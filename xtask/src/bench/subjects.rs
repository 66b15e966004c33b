//! Who is there to be measured on this machine, and who is missing.

mod backup;
mod checkpointer;
pub(crate) mod ckpt;
mod git;
mod jj;
mod limit;
mod original;

use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::program::Program;
use crate::workspace::Workspace;

use super::subject::{Subject, find_program};

use self::backup::{Borg, Restic};
use self::checkpointer::{Chkpt, Unedit};
use self::ckpt::{Ckpt, Durability};
use self::git::{Git, Way};
use self::jj::Jj;
use self::limit::{Limit, Work};
use self::original::Original;

/// Programs of this workspace, as released.
#[derive(Debug)]
pub(crate) struct Built {
    ckpt: PathBuf,
    pub(crate) many_saves: PathBuf,
    walk: PathBuf,
    read_files: PathBuf,
    empty: PathBuf,
}

impl Built {
    /// ckpt as a subject.
    pub(crate) fn ckpt(&self, durability: Durability) -> Ckpt {
        Ckpt { program: self.ckpt.clone(), many_saves: self.many_saves.clone(), durability }
    }
}

/// Builds what is measured.
pub(crate) fn build(workspace: &Workspace) -> Result<Built, Failure> {
    let cargo = Program::cargo(workspace.root()).args(["build", "--release", "--locked", "--quiet"]);
    let command = ["-p", "ckpt-cli", "--bin", "ckpt"];
    let limits = ["-p", "ckpt-fs", "--example", "bare_walk", "--example", "empty", "-p", "ckpt-pack"];
    let others = ["--example", "read_files", "-p", "ckpt-core", "--example", "many_saves"];
    cargo.args(command).args(limits).args(others).run()?;
    let release = workspace.target_dir().join("release");
    let example = |name: &str| release.join("examples").join(name);
    Ok(Built {
        ckpt: release.join("ckpt"),
        many_saves: example("many_saves"),
        walk: example("bare_walk"),
        read_files: example("read_files"),
        empty: example("empty"),
    })
}

/// Those that are always there: ckpt, git and the limits. git judges as well, so nothing goes without it.
pub(crate) fn always(built: &Built) -> Result<Vec<Box<dyn Subject>>, Failure> {
    let git = find_program("git").ok_or_else(|| Failure::new("git is not on PATH").hint("install it"))?;
    let mut subjects: Vec<Box<dyn Subject>> = Vec::new();
    for durability in [Durability::None, Durability::Full] {
        subjects.push(Box::new(built.ckpt(durability)));
    }
    for way in [Way::WriteTree, Way::Commit] {
        subjects.push(Box::new(Git { program: git.clone(), way }));
    }
    let limits = [
        (Work::Walk, &built.walk),
        (Work::Hash, &built.read_files),
        (Work::Deflate, &built.read_files),
        (Work::Empty, &built.empty),
        (Work::Version, &built.ckpt),
    ];
    for (work, program) in limits {
        subjects.push(Box::new(Limit { program: program.clone(), work }));
    }
    if let (Some(program), Some(_)) = (find_program("tar"), find_program("zstd")) {
        subjects.push(Box::new(Limit { program, work: Work::TarZstd }));
    }
    Ok(subjects)
}

/// Makes a subject of its program.
type Make = fn(PathBuf) -> Box<dyn Subject>;

/// Those that people may have installed, and the names of those that are not.
pub(crate) fn peers(python: Option<&Path>) -> (Vec<Box<dyn Subject>>, Vec<&'static str>) {
    let mut subjects: Vec<Box<dyn Subject>> = Vec::new();
    let mut missing = Vec::new();
    let makers: [(&'static str, Make); 5] = [
        ("jj", |program| Box::new(Jj { program })),
        ("restic", |program| Box::new(Restic { program })),
        ("borg", |program| Box::new(Borg { program })),
        ("unedit", |program| Box::new(Unedit { program })),
        ("chkpt", |program| Box::new(Chkpt { program })),
    ];
    for (name, make) in makers {
        match find_program(name) {
            Some(program) => subjects.push(make(program)),
            None => missing.push(name),
        }
    }
    match python {
        Some(python) => subjects.push(Box::new(Original { python: python.to_owned() })),
        None => missing.push("fabricatio-checkpoint (name its Python with --python)"),
    }
    (subjects, missing)
}
