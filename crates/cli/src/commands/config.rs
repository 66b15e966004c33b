//! `ckpt config`.

use ckpt_config::{Durability, Entry, Given, Origin, Setting};
use serde::Serialize;

use crate::app::App;
use crate::errors::{Exit, Result};
use crate::json::JsonPath;
use crate::paint::{Painter, Role};
use crate::quoting;

const SCHEMA: &str = "ckpt.config/1";

/// Show the configuration, where each value comes from, and what it overrides
///
/// Reads no store, so that it works when a store does not.
#[derive(Debug, clap::Args)]
pub(crate) struct ConfigArgs {}

/// The body of `ckpt.config/1`.
#[derive(Serialize)]
struct Body {
    settings: Vec<Row>,
    more: u64,
    files: Vec<JsonPath>,
}

#[derive(Serialize)]
struct Row {
    key: &'static str,
    #[serde(flatten)]
    given: JsonGiven,
    overrides: Vec<JsonGiven>,
    meaning: &'static str,
}

#[derive(Serialize)]
struct JsonGiven {
    value: serde_json::Value,
    text: String,
    origin: JsonOrigin,
}

#[derive(Serialize)]
struct JsonOrigin {
    kind: &'static str,
    name: Option<String>,
    #[serde(flatten)]
    path: Option<JsonPath>,
    line: Option<usize>,
}

/// Shows each value.
pub(crate) fn run(app: &App, _args: &ConfigArgs) -> Result<Exit> {
    let place = app.place()?;
    let loaded = &place.loaded;
    if let Some(redirect) = &loaded.redirect {
        app.printer.warn(
            "checkpoint-dir-redirected",
            format_args!(
                "{} in the workspace leads to {}; without it checkpoints would be in {} ({})",
                quoting::path(&redirect.file),
                quoting::path(&redirect.to),
                quoting::path(&redirect.from),
                redirect.from_origin
            ),
        );
    }
    let text: String = loaded.entries.iter().map(|entry| lines(app.printer.out(), entry)).collect();
    app.printer.data(text)?;
    let settings = loaded.entries.iter().map(row).collect();
    let files = loaded.files.iter().map(|file| JsonPath::absolute(file)).collect();
    app.object(SCHEMA, Body { settings, more: 0, files })?;
    Ok(Exit::Done)
}

/// The value and its origin, and below what it hides.
fn lines(painter: Painter, entry: &Entry) -> String {
    let value = |setting: &Setting| quoting::line(setting.to_string().as_bytes());
    let origin = |origin: &Origin| quoting::line(origin.to_string().as_bytes());
    let key = painter.paint(Role::Strong, entry.key.name);
    let from = painter.paint(Role::Faint, format!("({})", origin(&entry.origin)));
    let mut text = format!("{key} = {} {from}\n", value(&entry.setting));
    for Given { setting, origin: hidden, .. } in &entry.overridden {
        let line = format!("  overrides {} ({})", value(setting), origin(hidden));
        text += &(painter.paint(Role::Faint, line) + "\n");
    }
    text
}

fn row(entry: &Entry) -> Row {
    Row {
        key: entry.key.name,
        given: given(&entry.setting, &entry.origin),
        overrides: entry.overridden.iter().map(|hidden| given(&hidden.setting, &hidden.origin)).collect(),
        meaning: entry.key.meaning,
    }
}

fn given(setting: &Setting, origin: &Origin) -> JsonGiven {
    let (name, path, line) = match origin {
        Origin::Explicit(name) | Origin::Variable(name) => (Some(name.clone()), None, None),
        Origin::File { path, line } => (None, Some(JsonPath::absolute(path)), Some(*line)),
        _ => (None, None, None),
    };
    JsonGiven {
        value: value(setting),
        text: setting.to_string(),
        origin: JsonOrigin { kind: origin.kind(), name, path, line },
    }
}

/// The value in JSON: sizes in bytes, times in milliseconds.
fn value(setting: &Setting) -> serde_json::Value {
    match setting {
        Setting::CheckpointDir(dir) => dir.to_string_lossy().into(),
        Setting::CacheSize(size) => size.get().into(),
        Setting::MaxFileBytes(bytes) => (*bytes).into(),
        Setting::Exclude(globs) => globs.clone().into(),
        Setting::SkipCacheDirs(yes) | Setting::AllowNetworkFs(yes) => (*yes).into(),
        Setting::Durability(Durability::Full) => "full".into(),
        Setting::Durability(durability) => durability.to_string().into(),
        Setting::LockTimeout(time) => crate::time::milliseconds(*time).into(),
        Setting::Threads(threads) => (*threads).into(),
        other => other.to_string().into(),
    }
}
