//! Changed paths as lines.

use std::os::unix::ffi::OsStrExt;

use ckpt_service::{ChangeKind, EntryKind, FileDiff, PathChange};

use crate::json::Counts;
use crate::paint::{Painter, Role};
use crate::wording;
use crate::workspace::Place;

/// Columns of the signs in a table of lines changed.
const MAX_SIGNS: u64 = 40;

/// A line for each path: the word for the change, and the path.
pub(crate) fn lines(place: &Place, painter: Painter, changes: &[PathChange]) -> String {
    changes.iter().map(|change| line(place, painter, change) + "\n").collect()
}

fn line(place: &Place, painter: Painter, change: &PathChange) -> String {
    let word = format!("{:<9}", change.change.word());
    let mut text = painter.paint(role(change.change), word) + " " + &shown(place, change);
    if let (Some(old), Some(new)) = (change.old, change.new) {
        match change.change {
            ChangeKind::Kind => text += &format!(" ({} -> {})", old.kind.word(), new.kind.word()),
            ChangeKind::Mode => text += &format!(" ({:04o} -> {:04o})", old.mode, new.mode),
            _ => {}
        }
    }
    text
}

/// The path; of a directory with a slash behind it.
fn shown(place: &Place, change: &PathChange) -> String {
    let is_dir = change.new.or(change.old).is_some_and(|side| side.kind == EntryKind::Dir);
    place.text(&change.path) + if is_dir { "/" } else { "" }
}

fn role(change: ChangeKind) -> Role {
    match change {
        ChangeKind::Added => Role::Added,
        ChangeKind::Deleted => Role::Deleted,
        _ => Role::Changed,
    }
}

/// For `-z`: the word, a blank, the path as it is, NUL.
pub(crate) fn records(place: &Place, changes: &[PathChange]) -> Vec<u8> {
    let mut records = Vec::new();
    for change in changes {
        records.extend_from_slice(change.change.word().as_bytes());
        records.push(b' ');
        records.extend_from_slice(place.shown(&change.path).as_os_str().as_bytes());
        records.push(0);
    }
    records
}

/// `+1 ~2 -3`: added, modified and deleted paths.
pub(crate) fn signs(counts: Counts) -> String {
    format!("+{} ~{} -{}", counts.added, counts.modified, counts.deleted)
}

/// A table of how many lines changed where, with the sum below.
pub(crate) fn stat(place: &Place, painter: Painter, files: &[FileDiff]) -> String {
    let names: Vec<_> = files.iter().map(|file| shown(place, &file.change)).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let total = |file: &FileDiff| file.lines.added + file.lines.removed;
    let most = files.iter().map(total).max().unwrap_or(0);
    let digits = most.to_string().len().max(3);
    let mut text = String::new();
    for (file, name) in files.iter().zip(&names) {
        let value = match file.change.change {
            _ if file.lines.binary => "bin".to_owned(),
            ChangeKind::Mode => "mode".to_owned(),
            _ if total(file) == 0 => file.change.change.word().to_owned(),
            _ => format!("{:>digits$} {}", total(file), plus_minus(painter, file, most)),
        };
        text += &format!("{name:<width$} | {value}\n");
    }
    if files.is_empty() {
        return text;
    }
    let (added, removed) =
        files.iter().fold((0, 0), |(added, removed), file| (added + file.lines.added, removed + file.lines.removed));
    text += &format!(
        "{} changed, {} added, {} removed\n",
        wording::count(files.len() as u64, "path"),
        wording::count(added, "line"),
        wording::count(removed, "line")
    );
    text
}

/// Signs in proportion, at least one for what is there at all.
fn plus_minus(painter: Painter, file: &FileDiff, most: u64) -> String {
    let scaled = |lines: u64| {
        let scaled = if most > MAX_SIGNS { (lines * MAX_SIGNS).div_ceil(most) } else { lines };
        usize::try_from(scaled).unwrap_or(0)
    };
    let plus = "+".repeat(scaled(file.lines.added));
    let minus = "-".repeat(scaled(file.lines.removed));
    painter.paint(Role::Added, plus) + &painter.paint(Role::Deleted, minus)
}
