//! Command lines that clap answers itself: help, version, and what is wrong with a line. With `--json` these are objects
//! too.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use serde::Serialize;

use crate::args;
use crate::errors::{Exit, Failure, Result};
use crate::paint::ColorChoice;
use crate::printer::{Printer, Verbosity};

/// Words of other tools, with the command that does the same here, or that comes nearest and destroys nothing.
const WORDS_OF_OTHERS: [(&str, &str); 22] = [
    ("list", "ls"),
    ("log", "ls"),
    ("history", "ls"),
    ("commit", "save"),
    ("checkpoint", "save"),
    ("snapshot", "save"),
    ("create", "save"),
    ("restore", "rollback"),
    ("checkout", "reset"),
    ("revert", "undo"),
    ("stash", "save"),
    ("delete", "prune"),
    ("drop", "prune"),
    ("forget", "prune"),
    ("remove", "prune"),
    ("rm", "prune"),
    ("clean", "prune"),
    ("gc", "prune"),
    ("check", "verify"),
    ("fsck", "verify"),
    ("repair", "verify"),
    ("info", "doctor"),
];

/// Global options whose value is a word of its own.
const VALUED: [&str; 5] = ["-w", "--workspace", "--color", "--checkpoint-dir", "--config"];

/// The body of `ckpt.help/1` and `ckpt.version/1`.
#[derive(Serialize)]
struct Body {
    text: String,
}

/// The command line as clap takes it: its own command `help` knows no options, and would refuse `--json`.
pub(crate) fn understood(argv: &[OsString]) -> Vec<OsString> {
    let takes_value = |word: &OsString| VALUED.iter().any(|option| word == option);
    let words = argv.iter().skip(1);
    let before = argv.iter();
    // The command is the first word that is neither an option nor the value of one.
    let is_command =
        |(word, before): &(&OsString, &OsString)| !word.as_encoded_bytes().starts_with(b"-") && !takes_value(before);
    let is_help = words.zip(before).find(is_command).is_some_and(|(word, _)| word == "help");
    argv.iter().filter(|word| !(is_help && *word == "--json")).cloned().collect()
}

/// Prints what clap has to say.
pub(crate) fn answer(argv: &[OsString], refusal: clap::Error) -> Exit {
    let refusal = improved(refusal);
    let is_json = args::wants_json(argv);
    let printer = Printer::new(is_json, Verbosity::Normal, ColorChoice::Auto);
    let text = refusal.render();
    let printed = match refusal.kind() {
        ErrorKind::DisplayHelp => information(&printer, "ckpt.help/1", &text),
        ErrorKind::DisplayVersion => information(&printer, "ckpt.version/1", &text),
        _ if is_json => Err(failure(&refusal)),
        _ => {
            printer.usage(&text);
            return Exit::Usage;
        }
    };
    match printed {
        Ok(()) => Exit::Done,
        Err(failure) => {
            printer.failure(&failure, None);
            failure.exit
        }
    }
}

/// A refusal with what clap cannot know: what other tools call a command, and that a rollback needs paths, too, which is
/// said better where a revision was given.
fn improved(mut refusal: clap::Error) -> clap::Error {
    if let Some(ContextValue::String(word)) = refusal.get(ContextKind::InvalidSubcommand)
        && let Some((_, ours)) = WORDS_OF_OTHERS.iter().find(|(others, _)| others == word)
    {
        refusal.insert(ContextKind::SuggestedSubcommand, ContextValue::String((*ours).to_owned()));
    }
    if refusal.kind() == ErrorKind::MissingRequiredArgument
        && command_of(&refusal.render().to_string()) == "ckpt rollback"
    {
        let missing = ["<REV>", "<PATH>..."].map(str::to_owned).into();
        refusal.insert(ContextKind::InvalidArg, ContextValue::Strings(missing));
    }
    refusal
}

fn information(printer: &Printer, schema: &str, text: &clap::builder::StyledStr) -> Result<()> {
    if printer.out().is_on() {
        printer.data(text.ansi().to_string())?;
    } else {
        printer.data(text.to_string())?;
    }
    printer.object(schema, None, Body { text: text.to_string().trim_end().to_owned() })
}

/// The refusal in our form: its first sentence, and what clap suggests or the help to read.
fn failure(refusal: &clap::Error) -> Failure {
    let text = refusal.render().to_string();
    let sentence: Vec<_> = text.lines().take_while(|line| !line.trim().is_empty()).map(str::trim).collect();
    let sentence = sentence.join(" ");
    let message = match refusal.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => "a command is missing",
        _ => sentence.trim_start_matches("error: "),
    };
    let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    let hint = tip.map_or_else(|| format!("see what it takes: {} --help", command_of(&text)), str::to_owned);
    Failure::usage(message).hint(hint)
}

/// The command that was meant, with what belongs to it left off.
fn command_of(text: &str) -> String {
    let usage = text.lines().find_map(|line| line.trim().strip_prefix("Usage: ")).unwrap_or("ckpt");
    let is_word = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase());
    usage.split(' ').take_while(is_word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn a_value_is_no_command() {
        let argv = |words: &str| words.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(understood(&argv("ckpt -w help --json status")), argv("ckpt -w help --json status"));
        assert_eq!(understood(&argv("ckpt --json help save")), argv("ckpt help save"));
    }

    fn refused(words: &[&str]) -> Failure {
        failure(&improved(args::Cli::try_parse_from(words).unwrap_err()))
    }

    #[test]
    fn help_is_given_as_an_object_too() {
        let argv = ["ckpt", "help", "save", "--json"].map(OsString::from);
        let refusal = args::Cli::try_parse_from(understood(&argv)).unwrap_err();
        assert_eq!(refusal.kind(), ErrorKind::DisplayHelp);
        let argv = ["ckpt", "save", "help", "--json"].map(OsString::from);
        assert!(args::Cli::try_parse_from(understood(&argv)).unwrap().global.json);
    }

    #[test]
    fn a_refusal_is_one_sentence() {
        let unknown = refused(&["ckpt", "ls", "--bad"]);
        assert_eq!(unknown.message, "unexpected argument '--bad' found");
        assert_eq!(unknown.hint.as_deref(), Some("see what it takes: ckpt ls --help"));
        assert_eq!(refused(&["ckpt", "--json"]).message, "a command is missing");
        let missing = refused(&["ckpt", "rollback"]);
        assert!(missing.message.contains("<REV>"), "{}", missing.message);
    }
}
