//! The reference of the command line, `docs/cli.md`, from the definitions that the program itself uses.

use std::fmt::{Arguments, Write};

use clap::{Arg, Command, CommandFactory};

use crate::args::Cli;
use crate::codes::{ERRORS, FINDINGS, WARNINGS};
use crate::schemas::{self, SCHEMAS};

/// Writes the page.
pub(crate) fn markdown() -> String {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut text = HEAD.trim_start().to_owned();
    line(&mut text, format_args!("\n## Global options\n"));
    options(&mut text, command.get_arguments().filter(|arg| arg.is_global_set()));
    text.push_str(BEFORE_COMMANDS);
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        section(&mut text, sub);
    }
    text.push_str(ENVIRONMENT);
    for key in ckpt_config::keys() {
        line(&mut text, format_args!("| `{}` | the key `{}` of the configuration |", key.variable(), key.name));
    }
    codes(&mut text, "Errors", "`error.code` in JSON, one word each.", ERRORS);
    codes(&mut text, "Warnings", "`warnings[].code` in JSON; in text a line that begins with `warning:`.", WARNINGS);
    codes(
        &mut text,
        "Findings",
        "`findings[].code` of `ckpt doctor --json`, besides those of errors and warnings.",
        FINDINGS,
    );
    text.push_str(JSON);
    for (name, schema) in SCHEMAS {
        line(&mut text, format_args!("\n### `ckpt.{name}/1`\n\n```json\n{}```", schemas::own_part(schema)));
    }
    text.push_str(DEFINITIONS);
    let definitions: Vec<_> = schemas::definitions().into_iter().map(|(_, definition)| definition).collect();
    line(&mut text, format_args!("```json\n{{\n  \"$defs\": {{\n{}\n  }}\n}}\n```", definitions.join(",\n")));
    text.trim_end().to_owned()
}

fn section(text: &mut String, sub: &Command) {
    line(text, format_args!("\n### `ckpt {}`\n", sub.get_name()));
    let usage = sub.clone().render_usage().to_string();
    line(text, format_args!("```\n{}\n```\n", usage.trim_start_matches("Usage: ").trim()));
    let about = sub.get_long_about().or(sub.get_about()).map(ToString::to_string).unwrap_or_default();
    line(text, format_args!("{}\n", sentences(&about)));
    let is_own = |arg: &&Arg| !arg.is_global_set() && arg.get_id() != "help";
    options(text, sub.get_arguments().filter(is_own));
}

/// A line for each argument: how it is written, what it does, its default.
fn options<'a>(text: &mut String, args: impl Iterator<Item = &'a Arg>) {
    for arg in args.filter(|arg| !arg.is_hide_set()) {
        let value = match (arg.get_value_names(), arg.get_action().takes_values()) {
            (Some(names), true) => names.iter().map(|name| format!(" <{name}>")).collect(),
            _ => String::new(),
        };
        let flags = [arg.get_short().map(|short| format!("-{short}")), arg.get_long().map(|long| format!("--{long}"))];
        let flags: Vec<_> = flags.into_iter().flatten().collect();
        let written = if flags.is_empty() { value.trim().to_owned() } else { flags.join(", ") + &value };
        let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
        let is_default_shown = arg.get_action().takes_values() && !help.contains("default");
        let defaults: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
        let default = match defaults.as_slice() {
            [] => String::new(),
            _ if !is_default_shown => String::new(),
            defaults => format!(" Default: `{}`.", defaults.join(" ")),
        };
        line(text, format_args!("- `{written}`: {}.{default}", help.trim_end_matches('.')));
    }
}

fn codes(text: &mut String, title: &str, about: &str, table: &[(&str, &str)]) {
    line(text, format_args!("\n## {title}\n\n{about}\n\n| code | means |\n|---|---|"));
    for (code, meaning) in table {
        line(text, format_args!("| `{code}` | {meaning} |"));
    }
}

/// One sentence a line, as in every page.
fn sentences(about: &str) -> String {
    let mut text = String::new();
    let mut rest = about;
    while let Some(at) = rest.find(". ") {
        text.push_str(&rest[..=at]);
        rest = &rest[at + 2..];
        text.push(if rest.starts_with(|c: char| c.is_uppercase() || c == '`') { '\n' } else { ' ' });
    }
    let mut text = text + rest;
    // The first line of a help text has no full stop.
    if let Some(at) = text.find("\n\n") {
        text.insert(at, '.');
    } else if !text.ends_with('.') {
        text.push('.');
    }
    text
}

fn line(text: &mut String, content: Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{content}");
}

const HEAD: &str = "
# Command line

<!-- Generated from the definitions in crates/cli; `cargo xtask docs` writes it anew. -->

Data goes to stdout, everything else to stderr, so that `id=$(ckpt save)` works.
Output can be read without colour; a progress bar is shown on a terminal only, after half a second.
What `ckpt` prints for people may change; programs read the exit code, the output of `-z`, and JSON.

## Exit codes

| code | means |
|---|---|
| 0 | done, also when paths were left out by rule; they are listed |
| 1 | could not be done |
| 2 | wrong usage: the command line alone is wrong, whatever the state of things |
| 3 | done, but something was not captured or not brought back that should have been: unreadable, unstable, a conflict; id or changes are on stdout all the same. With `save --strict` any path that was left out |
| 4 | there are differences, with `--exit-code` |
| 130 | interrupted by Ctrl-C; a restore that had begun was taken back. A second Ctrl-C ends at once, and the next command finishes the restore |

A dry run ends with the code that the command would end with, as far as can be told beforehand.

## Workspace

With `-w DIR`, or `CKPT_WORKSPACE` in the environment, the workspace is exactly that directory.
Else it is the nearest directory with checkpoints, from the current one upwards, never above the root of the Git repository that holds the current directory.
Where there is none, `save` takes the root of that repository, or the current directory if it is in none, and says so; other commands say that nothing is saved yet.
The home directory, `/` and a parent of the checkpoint directory are taken only with `save --force-workspace`.

A path on the command line is relative to the current directory; with `-w` or `CKPT_WORKSPACE` it is relative to the workspace.
It may be absolute, begin with `./` or hold `..`, as long as it stays in the workspace; a link inside the workspace is an entry of its own and never followed.
Paths in text are shown as they would be typed there; in JSON and in patches they are relative to the workspace.

A revision is the id of a checkpoint, at least 4 digits of its beginning if no other checkpoint begins so, `HEAD`, or `HEAD~n`, n steps back along what head was made from.
";

const BEFORE_COMMANDS: &str = "
## Commands
";

const ENVIRONMENT: &str = "
## Environment

| variable | means |
|---|---|
| `CKPT_WORKSPACE` | the workspace, as `-w`; set to nothing it is not set |
| `NO_COLOR` | if set and not empty: no colour, unless `--color always` |
| `TERM` | `dumb`: no colour, unless `--color always` |
| `HOME` | where checkpoints are kept by default; not taken as a workspace by accident |
| `XDG_CONFIG_HOME` | where the user's `fabricatio/fabricatio.toml` is, on Linux |
";

const JSON: &str = "
## JSON

With `--json` a command prints exactly one line on stdout, whatever happens, and nothing on stderr unless `-v` is given.
Every object has `schema`, `workspace` (absolute, or null) and `warnings`.
A failure is `ckpt.error/1`, wrong usage included; the exit code is the same as without `--json`.

- Ids have 40 digits, times are RFC 3339 in UTC with milliseconds, names of numbers end in their unit: `_ms`, `_bytes`.
- Paths are relative to the workspace, with `/`; what is outside of it is absolute.
- A path, message or patch that is not UTF-8 has a second field that ends in `_base64`, with every byte as it is.
- `more` is the number of entries that the main list lacks.
- A hint that is about a command ends in a colon, a blank and the command.
- Within a version fields are only added: ignore those that you do not know.

The schemas below are also files, `crates/cli/schemas/<name>.json`, each complete with its definitions.
";

const DEFINITIONS: &str = "
### Definitions

What the schemas refer to as `#/$defs/…`.

";

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_command_option_and_code_is_there() {
        let text = markdown();
        for sub in Cli::command().get_subcommands() {
            assert!(text.contains(&format!("\n### `ckpt {}`\n", sub.get_name())));
            for long in sub.get_arguments().filter_map(Arg::get_long) {
                assert!(text.contains(&format!("--{long}")), "{long}");
            }
        }
        for (code, _) in ERRORS.iter().chain(WARNINGS) {
            assert!(text.contains(&format!("| `{code}` |")));
        }
    }

    #[test]
    fn a_line_has_one_sentence() {
        assert_eq!(
            sentences("Do it\n\nFirst, e.g. this. Then `that`. `More`."),
            "Do it.\n\nFirst, e.g. this.\nThen `that`.\n`More`."
        );
        assert_eq!(sentences("Do it"), "Do it.");
    }

    #[test]
    fn the_committed_reference_is_the_generated_one() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        if !docs.is_dir() {
            return; // A packaged crate has no such directory beside it.
        }
        let committed = std::fs::read_to_string(docs.join("cli.md")).unwrap_or_default();
        assert!(committed == markdown() + "\n", "docs/cli.md is out of date; run `cargo xtask docs`");
    }
}
