//! Lines of a patch before its contents: names, modes, ids.

use ckpt_pack::ObjectId;

use super::{Side, quote_path};

/// Writes `diff --git`, the lines about modes, and `index`. Nothing if neither mode nor id differ.
pub(super) fn write(out: &mut Vec<u8>, path: &[u8], old: Option<&Side<'_>>, new: Option<&Side<'_>>) {
    let old_id = old.map_or(ObjectId::ZERO, |side| side.id);
    let new_id = new.map_or(ObjectId::ZERO, |side| side.id);
    let old_mode = old.map(|side| side.mode);
    let new_mode = new.map(|side| side.mode);
    if old_id == new_id && old_mode == new_mode {
        return;
    }
    line(out, &[b"diff --git ", &quote_path(path, "a/"), b" ", &quote_path(path, "b/")]);
    match (old_mode, new_mode) {
        (None, Some(mode)) => line(out, &[b"new file mode ", &octal(mode)]),
        (Some(mode), None) => line(out, &[b"deleted file mode ", &octal(mode)]),
        (Some(old), Some(new)) if old != new => {
            line(out, &[b"old mode ", &octal(old)]);
            line(out, &[b"new mode ", &octal(new)]);
        }
        _ => {}
    }
    if old_id != new_id {
        // The mode stands here only if no line above has told it.
        let mode = match old_mode {
            Some(mode) if old_mode == new_mode => [b" ".as_slice(), &octal(mode)].concat(),
            _ => Vec::new(),
        };
        line(out, &[b"index ", old_id.to_string().as_bytes(), b"..", new_id.to_string().as_bytes(), &mode]);
    }
}

/// Writes the `---` and `+++` lines that stand before hunks of text.
pub(super) fn write_names(out: &mut Vec<u8>, path: &[u8], old_exists: bool, new_exists: bool) {
    for (mark, prefix, exists) in [(b"--- ", "a/", old_exists), (b"+++ ", "b/", new_exists)] {
        let name = if exists { quote_path(path, prefix) } else { b"/dev/null".to_vec() };
        // GNU patch takes a name to end at a space unless a tab says where it does; Git writes one for its sake.
        let end: &[u8] = if name.contains(&b' ') { b"\t" } else { b"" };
        line(out, &[mark, &name, end]);
    }
}

fn octal(mode: u32) -> Vec<u8> {
    format!("{mode:06o}").into_bytes()
}

fn line(out: &mut Vec<u8>, parts: &[&[u8]]) {
    for part in parts {
        out.extend_from_slice(part);
    }
    out.push(b'\n');
}
