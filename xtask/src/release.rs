//! `cargo xtask release`: one version everywhere, checked, and the commands that publish it.
//!
//! Publishes nothing and commits nothing. The edits are made and checked in a clone below the target directory; the
//! checkout gets them only when all is well, and with `--dry-run` never. So nothing has to be restored, whatever
//! happens on the way.

mod edit;
mod version;

use time::OffsetDateTime;

use crate::failure::Failure;
use crate::printer;
use crate::program::Program;
use crate::workspace::{Workspace, remove_dir};

use self::version::Version;

/// What to release.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The new version, such as 0.2.0; not lower than the present one.
    version: Version,
    /// Check everything and leave the checkout as it is.
    #[arg(long)]
    dry_run: bool,
}

/// The files that carry the version.
const EDITED: [&str; 3] = ["Cargo.toml", "Cargo.lock", "CHANGELOG.md"];

/// Crates in the order in which they can be published.
const CRATES: [&str; 7] =
    ["ckpt-fs", "ckpt-pack", "ckpt-core", "ckpt-config", "ckpt-service", "ckpt-capability", "ckpt-cli"];

/// Checks the release in a clone, then edits the checkout.
pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<(), Failure> {
    let tag = format!("v{}", args.version);
    expect_clean(workspace)?;
    expect_no_tag(workspace, &tag)?;
    let clone = clone(workspace)?;
    let checked = prepare(&clone, &args.version).and_then(|()| package(&clone, workspace));
    let edits = checked.and_then(|()| read_edits(&clone));
    remove_dir(clone.root())?;
    let edits = edits?;
    if args.dry_run {
        printer::say(&format!("\nrelease: {tag} would be good; the checkout is as it was"));
    } else {
        for (file, text) in edits {
            workspace.write(file, &text)?;
        }
        printer::say(&format!("\nrelease: {} carry {}; nothing is committed", EDITED.join(", "), args.version));
    }
    printer::say(&what_is_left(&args.version));
    Ok(())
}

fn expect_clean(workspace: &Workspace) -> Result<(), Failure> {
    let changes = Program::new("git", workspace.root()).args(["status", "--porcelain"]).text()?;
    if changes.is_empty() {
        return Ok(());
    }
    Err(Failure::new("the checkout has changes that are not committed").because(changes).hint("commit them first"))
}

fn expect_no_tag(workspace: &Workspace, tag: &str) -> Result<(), Failure> {
    let git = Program::new("git", workspace.root());
    if git.args(["rev-parse", "--verify", "--quiet", &format!("refs/tags/{tag}")]).succeeds() {
        return Err(Failure::new(format!("{tag} is released already")));
    }
    Ok(())
}

fn clone(workspace: &Workspace) -> Result<Workspace, Failure> {
    let dir = workspace.target_dir().join("release-check");
    remove_dir(&dir)?;
    Program::new("git", workspace.root()).args(["clone", "--quiet", "."]).args([&dir]).run()?;
    Ok(Workspace::at(dir))
}

/// Makes the edits.
fn prepare(clone: &Workspace, version: &Version) -> Result<(), Failure> {
    let manifest = clone.read("Cargo.toml")?;
    clone.write("Cargo.toml", &edit::set_version(&manifest, version)?)?;
    for name in CRATES {
        let path = format!("crates/{}/Cargo.toml", name.trim_start_matches("ckpt-"));
        edit::expect_inherited(&path, &clone.read(&path)?)?;
    }
    let changelog = clone.read("CHANGELOG.md")?;
    let date = OffsetDateTime::now_utc().date().to_string();
    clone.write("CHANGELOG.md", &edit::date_changelog(&changelog, version, &date)?)?;
    printer::step("lock", "cargo update --workspace --offline");
    Program::cargo(clone.root()).args(["update", "--quiet", "--workspace", "--offline"]).run()
}

/// Builds each crate from what would be uploaded.
fn package(clone: &Workspace, workspace: &Workspace) -> Result<(), Failure> {
    printer::step("package", "cargo package --workspace --locked");
    Program::cargo(clone.root())
        // The edits are not committed, which cargo would refuse.
        .args(["package", "--workspace", "--exclude", "xtask", "--locked", "--allow-dirty"])
        .env("CARGO_TARGET_DIR", workspace.target_dir())
        .run()
}

fn read_edits(clone: &Workspace) -> Result<Vec<(&'static str, String)>, Failure> {
    EDITED.into_iter().map(|file| Ok((file, clone.read(file)?))).collect()
}

fn what_is_left(version: &Version) -> String {
    let publish = CRATES.map(|name| format!("  cargo publish --locked --package {name}")).join("\n");
    format!(
        "what is left to do, by hand:\n  git commit -m 'release {version}' -- {}\n  git tag -a v{version} -m 'ckpt {version}'\n\
         \x20 git push origin HEAD v{version}\n{publish}\n  cargo xtask dist --twice",
        EDITED.join(" ")
    )
}
