//! `cargo xtask dist`: the archive that people download.
//!
//! Reproducible: the same commit, toolchain and C compiler give the same bytes, wherever the checkout and cargo's home
//! are. `--twice` proves it with a second build from nothing in another directory.

mod archive;
mod build;

use std::env;
use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::failure::Failure;
use crate::program::Program;
use crate::workspace::{Workspace, remove_dir};
use crate::{manifest, printer};

use self::archive::Entry;

/// How to build.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Build a second time, from nothing and in another directory, and compare the hashes.
    #[arg(long)]
    twice: bool,
}

const SHELLS: &[(&str, &str)] = &[("bash", "ckpt.bash"), ("zsh", "_ckpt"), ("fish", "ckpt.fish")];

/// Builds the archive and its SHA-256 file in `dist` under the target directory.
pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<(), Failure> {
    let dist = workspace.target_dir().join("dist");
    let name = format!("ckpt-{}-{}", version(workspace)?, host(workspace)?);
    let packed = pack(workspace, &dist.join("build"), &name)?;
    let hash = sha256(&packed);
    if args.twice {
        let second = dist.join("build-again");
        remove_dir(&second)?;
        let again = sha256(&pack(workspace, &second, &name)?);
        remove_dir(&second)?;
        if again != hash {
            return Err(Failure::new(format!("two builds differ: {hash} and {again}"))
                .hint("look for a path or a time in the binary: `strings` on both shows most of them"));
        }
        printer::say("dist: two builds, one hash");
    }
    let file = format!("{name}.tar.gz");
    write(&dist.join(&file), &packed)?;
    write(&dist.join(format!("{file}.sha256")), format!("{hash}  {file}\n").as_bytes())?;
    printer::say(&format!("dist: {hash}  {}", dist.join(&file).display()));
    Ok(())
}

/// Builds `ckpt` in `build_dir` and packs it with all that belongs to it.
fn pack(workspace: &Workspace, build_dir: &Path, name: &str) -> Result<Vec<u8>, Failure> {
    let ckpt = build::release(workspace, build_dir)?;
    let mut entries = vec![
        Entry::program(format!("{name}/ckpt"), read(&ckpt)?),
        Entry::file(format!("{name}/LICENSE"), read(&workspace.path("LICENSE"))?),
        Entry::file(format!("{name}/README.md"), read(&workspace.path("README.md"))?),
    ];
    for (page, bytes) in man_pages(workspace, &ckpt, &build_dir.join("man"))? {
        entries.push(Entry::file(format!("{name}/man/{page}"), bytes));
    }
    for (shell, file) in SHELLS {
        let script = Program::new(&ckpt, workspace.root()).args(["completions", shell]).stdout()?;
        entries.push(Entry::file(format!("{name}/completions/{file}"), script));
    }
    archive::tar_gz(entries, time(workspace)?).map_err(|err| Failure::new("cannot pack the archive").because(err))
}

/// Name and content of each page that `ckpt man` writes.
fn man_pages(workspace: &Workspace, ckpt: &Path, dir: &Path) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    remove_dir(dir)?;
    fs::create_dir_all(dir).map_err(|err| Failure::at("create", dir, err))?;
    Program::new(ckpt, workspace.root()).args(["man", "--dir"]).args([dir]).stdout()?;
    let mut pages = Vec::new();
    for entry in fs::read_dir(dir).map_err(|err| Failure::at("list", dir, err))? {
        let path = entry.map_err(|err| Failure::at("list", dir, err))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        pages.push((name, read(&path)?));
    }
    if pages.is_empty() {
        return Err(Failure::new("`ckpt man` wrote no page"));
    }
    Ok(pages)
}

fn version(workspace: &Workspace) -> Result<String, Failure> {
    let root = manifest::parse("Cargo.toml", &workspace.read("Cargo.toml")?)?;
    manifest::shared_version(&root).map(str::to_owned)
}

/// The triple that rustc builds for here.
fn host(workspace: &Workspace) -> Result<String, Failure> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let text = Program::new(rustc, workspace.root()).args(["-vV"]).text()?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| Failure::new("`rustc -vV` names no host"))
}

/// The one time of all entries, in seconds since 1970: `SOURCE_DATE_EPOCH`, else that of the commit.
fn time(workspace: &Workspace) -> Result<u64, Failure> {
    let text = match env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => Program::new("git", workspace.root())
            .args(["log", "-1", "--format=%ct"])
            .text()
            .map_err(|failure| failure.hint("outside a Git checkout, set SOURCE_DATE_EPOCH"))?,
    };
    text.parse().map_err(|err| Failure::new(format!("`{text}` is no number of seconds")).because(err))
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|err| Failure::at("read", path, err))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    fs::write(path, bytes).map_err(|err| Failure::at("write", path, err))
}
