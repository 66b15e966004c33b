//! `ckpt doctor`.

use std::env;
use std::path::{Path, PathBuf};

use ckpt_config::Durability;
use ckpt_service::{
    Check, Checkup, Diagnosis, Finding, Level, StoreCheckup, Workspace, WorkspaceState, check_redirect,
};
use serde::Serialize;

use crate::app::App;
use crate::errors::{Exit, Failure, Result};
use crate::json::JsonPath;
use crate::paint::{Painter, Role};
use crate::programs;
use crate::quoting;
use crate::remedies;
use crate::time;
use crate::wording;
use crate::workspace::{Choice, Place};

const SCHEMA: &str = "ckpt.doctor/1";

/// Look whether anything is wrong with ckpt and its stores, and say what to do about it
///
/// Looks at the program and its configuration, at the checkpoint directory and the disk it is on, at every store and the
/// place of its workspace, for restores that were interrupted, for what crashes left, and for clocks that disagree.
/// Each check is a line; what is not as it should be has a second one that says what to do. Changes nothing.
///
/// What the objects hold is not looked at: that is `ckpt verify`. Exit code 3: there is a problem.
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {}

/// The body of `ckpt.doctor/1`.
#[derive(Serialize)]
struct Body {
    healthy: bool,
    checkpoint_dir: Option<JsonPath>,
    disk: Option<Disk>,
    stores: Vec<Row>,
    findings: Vec<JsonFinding>,
    more: u64,
}

#[derive(Serialize)]
struct Disk {
    free_bytes: u64,
    total_bytes: u64,
}

#[derive(Serialize)]
struct Row {
    /// Of the directory, not of the store.
    #[serde(flatten)]
    path: Option<JsonPath>,
    store: JsonPath,
    state: &'static str,
    packs: u64,
    size_bytes: u64,
}

#[derive(Serialize)]
struct JsonFinding {
    check: &'static str,
    level: &'static str,
    code: Option<&'static str>,
    #[serde(flatten)]
    path: Option<JsonPath>,
    message: String,
    remedy: Option<String>,
}

/// One line of the answer, and what to do.
struct Line {
    check: &'static str,
    level: Level,
    /// `None` where all is as it should be.
    code: Option<&'static str>,
    path: Option<PathBuf>,
    message: String,
    remedy: Option<String>,
}

impl Line {
    fn fine(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, level: Level::Fine, code: None, path: None, message: message.into(), remedy: None }
    }

    fn warning(check: &'static str, code: &'static str, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        let remedy = Some(remedy.into());
        Self { check, level: Level::Warning, code: Some(code), path: None, message: message.into(), remedy }
    }

    /// What cannot even be begun.
    fn failed(app: &App, check: &'static str, failure: Failure) -> Self {
        let failure = failure.with_default_hint(&app.invocation, None);
        let causes: String = failure.causes.iter().map(|cause| format!(": {cause}")).collect();
        Self {
            check,
            level: Level::Problem,
            code: Some(failure.code),
            path: failure.path.clone(),
            message: quoting::line(format!("{}{causes}", failure.message).as_bytes()),
            remedy: failure.hint.clone(),
        }
    }
}

/// Looks, and tells.
pub(crate) fn run(app: &App, _args: &DoctorArgs) -> Result<Exit> {
    let place = app.place_untold();
    let mut lines = program(place.as_ref().ok());
    let git = git(place.as_ref().ok());
    let mut diagnosis = None;
    let mut checkpoint_dir = None;
    match place {
        Ok(place) => {
            lines.extend(configuration(app, &place));
            // A directory that somebody only happens to be in is no workspace.
            let worktree = (place.choice != Choice::WorkingDir).then(|| place.worktree.path());
            let found = place.service().diagnose(worktree)?;
            lines.extend(CHECKS.iter().flat_map(|(check, word)| of_check(app, &found, *check, word)));
            checkpoint_dir = Some(JsonPath::absolute(&place.loaded.config.checkpoint_dir));
            diagnosis = Some(found);
        }
        Err(failure) => lines.push(Line::failed(app, "configuration", failure)),
    }
    lines.push(git);
    tell(app, &lines)?;
    let healthy = lines.iter().all(|line| line.level != Level::Problem);
    let checkup = diagnosis.as_ref().and_then(|diagnosis| diagnosis.checkup.as_ref());
    let body = Body {
        healthy,
        checkpoint_dir,
        disk: checkup.map(|found| Disk { free_bytes: found.space.free_bytes, total_bytes: found.space.total_bytes }),
        stores: checkup.map(|found| found.stores.iter().map(row).collect()).unwrap_or_default(),
        findings: lines.iter().map(finding).collect(),
        more: 0,
    };
    app.object(SCHEMA, body)?;
    Ok(if healthy { Exit::Done } else { Exit::Partial })
}

/// The checks of the service, in the order in which they are told.
const CHECKS: [(Check, &str); 9] = [
    (Check::CheckpointDir, "checkpoint-dir"),
    (Check::Disk, "disk"),
    (Check::FileSystem, "file-system"),
    (Check::Stores, "stores"),
    (Check::Nesting, "nesting"),
    (Check::Locks, "locks"),
    (Check::Restores, "restores"),
    (Check::Leftovers, "leftovers"),
    (Check::Clock, "clock"),
];

/// Which `ckpt` a person runs by typing its name.
fn program(place: Option<&Place>) -> Vec<Line> {
    const CHECK: &str = "program";
    let version = concat!("ckpt ", env!("CARGO_PKG_VERSION"));
    let Some(own) = env::current_exe().ok().and_then(|path| path.canonicalize().ok()) else {
        return vec![Line::fine(CHECK, version)];
    };
    let found = programs::on_path("ckpt", place.map(|place| place.worktree.path()));
    let shown = quoting::path(&own);
    if !found.iter().any(|program| program.real == own) && !found.iter().any(|program| program.is_same(&own)) {
        let dir = own.parent().unwrap_or(&own);
        let what = format!("{version}, which is {shown}, is not on PATH");
        let remedy = format!("put it there: export PATH={}:\"$PATH\"", quoting::shell(dir));
        let mut lines = vec![Line::warning(CHECK, "not-on-path", what, remedy)];
        lines.extend(others(&found, &own));
        return lines;
    }
    let lines = others(&found, &own);
    if lines.is_empty() { vec![Line::fine(CHECK, format!("{version}, {shown}, the only one on PATH"))] } else { lines }
}

/// A line for each other `ckpt` on `PATH` that is another program.
fn others(found: &[programs::Program], own: &Path) -> Vec<Line> {
    let at = found.iter().position(|program| program.real == own || program.is_same(own)).unwrap_or(0);
    let others = found.iter().enumerate().filter(|(_, program)| !program.is_same(own));
    let told = others.map(|(number, program)| {
        let version = program.version().unwrap_or_else(|| "of a version that it does not tell".to_owned());
        let order = if number < at { "comes before" } else { "comes after" };
        let what =
            format!("{} ({version}) {order} this one on PATH, {}", quoting::path(&program.path), quoting::path(own));
        let remedy = "remove one of them; to see all: type -a ckpt";
        let mut line = Line::warning("program", "other-program", what, remedy);
        line.path = Some(program.path.clone());
        line
    });
    told.collect()
}

/// Where the configuration comes from, and what of it has no effect.
fn configuration(app: &App, place: &Place) -> Vec<Line> {
    const CHECK: &str = "configuration";
    let config = || app.invocation.command(["config"]);
    let mut lines = Vec::new();
    for warning in &place.loaded.warnings {
        let remedy = format!("correct it there; to see what holds: {}", config());
        lines.push(Line::warning(CHECK, warning.code(), quoting::line(warning.to_string().as_bytes()), remedy));
    }
    if let Err(err) = check_redirect(&place.loaded, place.worktree.path()) {
        let mut line = Line::failed(app, CHECK, err.into());
        line.remedy = line.remedy.or_else(|| Some(format!("see who says what: {}", config())));
        lines.push(line);
    }
    if place.loaded.config.durability == Durability::None {
        let what = "changes do not wait for the disk (durability = \"none\"): a power cut may take what was saved";
        lines.push(Line::warning(
            CHECK,
            "not-durable",
            what,
            format!("set it to \"full\"; to see who says so: {}", config()),
        ));
    }
    if lines.is_empty() {
        let files: Vec<_> = place.loaded.files.iter().map(quoting::path).collect();
        lines.push(Line::fine(CHECK, if files.is_empty() { "no file".to_owned() } else { files.join(", ") }));
    }
    lines
}

/// Git is not needed; people like to look into stores with it.
fn git(place: Option<&Place>) -> Line {
    let found = programs::on_path("git", place.map(|place| place.worktree.path()));
    let text = match found.first() {
        Some(git) => format!("{}, which is not needed", git.version().unwrap_or_else(|| quoting::path(&git.path))),
        None => "none, and none is needed".to_owned(),
    };
    Line::fine("git", text)
}

/// What was found by one check, or that all is well.
fn of_check(app: &App, diagnosis: &Diagnosis, check: Check, word: &'static str) -> Vec<Line> {
    let now_ns = time::now_ns();
    let found = diagnosis.findings.iter().filter(|finding| finding.check() == check);
    let mut lines: Vec<Line> = found.map(|finding| line(app, finding, word, now_ns)).collect();
    if lines.iter().all(|line| line.level == Level::Fine) {
        let all_well = match &diagnosis.checkup {
            Some(checkup) => Some(well(check, checkup)),
            None if check == Check::CheckpointDir && lines.is_empty() => {
                Some("not made yet; the first save does".to_owned())
            }
            None => None,
        };
        lines.splice(0..0, all_well.map(|message| Line::fine(word, message)));
    }
    lines
}

fn line(app: &App, finding: &Finding, check: &'static str, now_ns: i64) -> Line {
    Line {
        check,
        level: finding.level(),
        code: Some(finding.code()),
        path: remedies::path_of(finding),
        message: remedies::sentence(finding, now_ns),
        remedy: remedies::remedy(finding, &app.invocation),
    }
}

/// What to say of a check that found nothing.
fn well(check: Check, checkup: &Checkup) -> String {
    let bytes: u64 = checkup.stores.iter().map(|store| store.bytes).sum();
    match check {
        Check::CheckpointDir => format!("{} (mode {:03o})", quoting::path(&checkup.dir.path), checkup.dir.mode),
        Check::Disk => format!(
            "{} of {} are free, checkpoints take {}",
            wording::bytes(checkup.space.free_bytes),
            wording::bytes(checkup.space.total_bytes),
            wording::bytes(bytes)
        ),
        Check::FileSystem => "none is on a network".to_owned(),
        Check::Stores => stores(checkup, bytes),
        Check::Nesting => "no store lies in a workspace, and no workspace in a store".to_owned(),
        Check::Locks => "no workspace is held for long".to_owned(),
        Check::Restores => "none was interrupted".to_owned(),
        Check::Clock => "no file is from the future".to_owned(),
        _ => "none".to_owned(),
    }
}

fn stores(checkup: &Checkup, bytes: u64) -> String {
    let foreign =
        checkup.stores.iter().filter(|store| workspace(store).state == WorkspaceState::NotOurs).count() as u64;
    let own = checkup.stores.len() as u64 - foreign;
    let packs = checkup.stores.iter().map(|store| store.packs).sum();
    let mut text =
        format!("{}, {}, {}", wording::count(own, "store"), wording::count(packs, "pack"), wording::bytes(bytes));
    if foreign > 0 {
        text += &format!("; {foreign} more that ckpt did not make, and leaves alone");
    }
    text
}

fn tell(app: &App, lines: &[Line]) -> Result<()> {
    let out = app.printer.out();
    // What others made is counted in the line of all stores.
    let is_shown = |line: &&Line| line.code != Some("not-ours");
    app.printer.data(lines.iter().filter(is_shown).map(|line| text(out, line)).collect::<String>())?;
    let count = |level| lines.iter().filter(|line| line.level == level).count() as u64;
    let (problems, warnings) = (count(Level::Problem), count(Level::Warning));
    app.printer.say(match (problems, warnings) {
        (0, 0) => "all is well".to_owned(),
        _ => format!("{} and {}", wording::count(problems, "problem"), wording::count(warnings, "warning")),
    });
    Ok(())
}

fn text(out: Painter, line: &Line) -> String {
    let role = match line.level {
        Level::Problem => Role::Error,
        Level::Warning => Role::Warning,
        _ => Role::Faint,
    };
    let word = out.paint(role, format!("{:<7}", level_word(line.level)));
    let mut text = format!("{word}  {:<14}  {}\n", line.check, line.message);
    if let Some(remedy) = &line.remedy {
        text += &format!("{:<9}{} {remedy}\n", "", out.paint(Role::Hint, "what to do:"));
    }
    text
}

fn workspace(store: &StoreCheckup) -> Workspace {
    Workspace::from(store.entry.clone())
}

fn row(store: &StoreCheckup) -> Row {
    let workspace = workspace(store);
    Row {
        path: workspace.path.as_deref().map(JsonPath::absolute),
        store: JsonPath::absolute(&workspace.store),
        state: workspace.state.word(),
        packs: store.packs,
        size_bytes: store.bytes,
    }
}

fn level_word(level: Level) -> &'static str {
    match level {
        Level::Fine => "ok",
        Level::Warning => "warning",
        _ => "problem",
    }
}

fn finding(line: &Line) -> JsonFinding {
    JsonFinding {
        check: line.check,
        level: level_word(line.level),
        code: line.code,
        path: line.path.as_deref().map(JsonPath::absolute),
        message: line.message.clone(),
        remedy: line.remedy.clone(),
    }
}
