//! The reference of the configuration, `docs/config.md`, generated from the table of keys.
//!
//! What is true of all keys is written here; what is true of one key stands in the table.

use std::fmt::Write;

use crate::key::{EXT_VARIABLE_PREFIX, Key, keys};

/// Writes the content of `docs/config.md`, which ends with a line break.
pub fn reference_markdown() -> String {
    let mut text = HEAD.trim_start().to_owned();
    text.push_str("\n## Keys\n\n");
    text.push_str("| key | type | default | environment |\n|---|---|---|---|\n");
    for key in keys() {
        line(
            &mut text,
            format_args!("| `{}` | {} | `{}` | `{}` |", key.name, key.type_word, key.default, key.variable()),
        );
    }
    for key in keys() {
        section(&mut text, key);
    }
    text.push_str("\n## The table `[ext.checkpoint]`\n\n");
    text.push_str("It holds the keys that fabricatio-checkpoint itself reads there, and no others:\n\n");
    for key in keys().iter().filter(|key| key.is_in_ext) {
        let name = key.name;
        line(&mut text, format_args!("- `{name}`, environment `{EXT_VARIABLE_PREFIX}{}`", name.to_ascii_uppercase()));
    }
    text.push_str(TAIL);
    text
}

fn section(text: &mut String, key: &Key) {
    line(text, format_args!("\n### `{}`\n\n{}", key.name, key.meaning));
    line(text, format_args!("A value is {}.", key.expected));
    if !key.is_free_in_worktree {
        line(text, format_args!("A file inside the workspace may not set it: the value is ignored with a warning."));
    }
    line(text, format_args!("\n```toml\n[checkpoint]\n{}\n```", key.example));
}

fn line(text: &mut String, content: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{content}");
}

const HEAD: &str = "
# Configuration

<!-- Generated from the table of keys in crates/config; `cargo xtask docs` writes it anew. -->

No configuration is needed.
`ckpt config` prints every value that holds, where it comes from, and what it overrides.

## Sources

The first source that gives a key wins, key by key:

1. what is given explicitly: a flag such as `--checkpoint-dir`, or the program in code
2. environment variables `FABRICATIO_CHECKPOINT__<KEY>`
3. the nearest `fabricatio.toml`, from the workspace upwards
4. the nearest `pyproject.toml`, from the workspace upwards, under `[tool.fabricatio]`
5. `fabricatio/fabricatio.toml` in the user's configuration directory: `$XDG_CONFIG_HOME` or `~/.config` on Linux, `~/Library/Application Support` on macOS, the roaming `AppData` on Windows
6. the defaults

Each source has two tables: `[checkpoint]` with all keys, and below it `[ext.checkpoint]` with two of them.
In `pyproject.toml` they are called `[tool.fabricatio.checkpoint]` and `[tool.fabricatio.ext.checkpoint]`.
A list is one value: a list in a higher source replaces the one below, it does not add to it.

The search for a file ends at the nearest one of its name, whatever is in it.
A `pyproject.toml` without `[tool.fabricatio]` therefore gives nothing, and none further up is asked.
`--config FILE` reads FILE in place of 3, 4 and 5, and FILE must exist.
If FILE is called `pyproject.toml`, its tables are looked for under `[tool.fabricatio]`.

## Environment

Names are compared without case; of two spellings of one name, the one in capitals wins.
A variable that is set to nothing counts as not set.
A path is taken as it is, byte for byte.
Other values are written as in a file, but a word or a size needs no quotes: `30s`, `true`, `[\"*.log\", \"target/\"]`.
A list with one glob needs no brackets: `FABRICATIO_CHECKPOINT__EXCLUDE='*.log'`.
";

const TAIL: &str = "
## A workspace is not trusted with its own safety net

An agent edits the workspace, and with it the files there.
`durability` and `lock_timeout` are ignored, with a warning, in a file inside the workspace.
If such a file leads to another `checkpoint_dir` than the other sources give, by naming one or by hiding a file further up, and the workspace's store stands in the directory that they give, `ckpt` stops with `checkpoint-dir-redirected`, shows both origins, and writes nothing.
A flag, the program in code, or the environment settles it.
A file counts as inside if its real path is below the workspace's, or if it is a link that stands there.
This holds for every file, also for the user's own and for `--config FILE`.

## Differences from fabricatio

- `~` and `~/…` at the beginning of a path stand for the home directory; `~name` is a name like any other.
- A relative path in a file starts from the directory of that file; elsewhere from the working directory.
- A wrong type, a value out of range and a broken file are errors that name the file, the line, the key, and what was expected, also where a higher source hides the value.
- An unknown key is a warning that names the nearest known one.
- A variable with one underscore where two are wanted, such as `FABRICATIO_CHECKPOINT_THREADS`, is not read, with a warning.
- A key of `[checkpoint]` that stands in `[ext.checkpoint]` is not read there, with a warning.
- A variable whose value is a whole table, such as `FABRICATIO_CHECKPOINT='{cache_size=5}'`, is not read.
- `.env` files are not read.
";

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_key_has_its_row_and_its_section() {
        let text = reference_markdown();
        for key in keys() {
            assert!(text.contains(&format!("| `{}` |", key.name)) && text.contains(&format!("### `{}`\n", key.name)));
        }
    }

    #[test]
    fn the_committed_reference_is_the_generated_one() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        if !docs.is_dir() {
            return; // A packaged crate has no such directory beside it.
        }
        let committed = std::fs::read_to_string(docs.join("config.md")).unwrap_or_default();
        assert!(committed == reference_markdown(), "docs/config.md is out of date; run `cargo xtask docs`");
    }
}
