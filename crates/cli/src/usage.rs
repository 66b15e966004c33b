//! Command lines that clap answers itself: help, version, and what is wrong with a line. With `--json` these are objects
//! too.

use std::ffi::OsString;
use std::path::Path;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use serde::Serialize;

use crate::args;
use crate::errors::{Exit, Failure, Result};
use crate::paint::ColorChoice;
use crate::printer::{Printer, Verbosity};
use crate::quoting;

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

/// Options of other tools, with those that say the same here.
const OPTIONS_OF_OTHERS: [(&str, &str); 3] = [("-C", "-w"), ("--git-dir", "--checkpoint-dir"), ("--work-tree", "-w")];

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
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand if !is_json => {
            printer.usage(&text);
            return Exit::Usage;
        }
        _ => Err(failure(argv, &refusal)),
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
    if let Some(ContextValue::String(option)) = refusal.get(ContextKind::InvalidArg)
        && let Some((_, ours)) = OPTIONS_OF_OTHERS.iter().find(|(others, _)| others == option)
    {
        refusal.insert(ContextKind::SuggestedArg, ContextValue::String((*ours).to_owned()));
    }
    if refusal.kind() == ErrorKind::MissingRequiredArgument
        && command_in(&refusal.render().to_string()).as_deref() == Some("ckpt rollback")
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
fn failure(argv: &[OsString], refusal: &clap::Error) -> Failure {
    let text = refusal.render().to_string();
    let sentence: Vec<_> = text.lines().take_while(|line| !line.trim().is_empty()).map(str::trim).collect();
    let sentence = sentence.join(" ").replace("invalid digit found in string", "it is no number");
    let has_empty_word = argv.iter().any(|word| word.is_empty());
    let message = match refusal.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => "a command is missing",
        ErrorKind::InvalidValue if sentence.ends_with("none was supplied") && has_empty_word => {
            "an empty word is neither a path nor any other value"
        }
        _ => sentence.trim_start_matches("error: "),
    };
    // That an unknown option could be a value behind `--` is true, and nothing that anybody meant.
    let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    let tip = tip.filter(|tip| !tip.contains("as a value")).map(str::to_owned);
    let command = command_in(&text).unwrap_or_else(|| given_command(argv));
    let hint = path_for_reset(argv, refusal, &command).or(tip);
    Failure::usage(message).hint(hint.unwrap_or_else(|| format!("see what it takes: {command} --help")))
}

/// What brings one path back, where somebody gave one to a reset.
fn path_for_reset(argv: &[OsString], refusal: &clap::Error, command: &str) -> Option<String> {
    let Some(ContextValue::String(path)) = refusal.get(ContextKind::InvalidArg) else { return None };
    if refusal.kind() != ErrorKind::UnknownArgument || command != "ckpt reset" || path.starts_with('-') {
        return None;
    }
    let at = argv.iter().rposition(|word| *word == **path)?;
    let command = argv.iter().position(|word| word == "reset")?;
    // The revision is the word between, if there is one and no option.
    let [revision] = argv.get(command + 1..at)? else { return None };
    if revision.as_encoded_bytes().starts_with(b"-") {
        return None;
    }
    let [revision, path] = [revision, &argv[at]].map(|word| quoting::shell(Path::new(word)));
    Some(format!("a reset is of the whole workspace; for one path: ckpt rollback {revision} {path}"))
}

/// The command that clap took the line for, where it says how that is used.
fn command_in(text: &str) -> Option<String> {
    let usage = text.lines().find_map(|line| line.trim().strip_prefix("Usage: "))?;
    let is_word = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase());
    Some(usage.split(' ').take_while(is_word).collect::<Vec<_>>().join(" "))
}

/// The command that a line begins with, as far as there is one.
fn given_command(argv: &[OsString]) -> String {
    let ours = args::Cli::command();
    let given = argv.iter().skip(1).find(|word| ours.find_subcommand(word).is_some());
    given.map_or("ckpt".to_owned(), |word| format!("ckpt {}", word.display()))
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
        let argv: Vec<_> = words.iter().map(OsString::from).collect();
        failure(&argv, &improved(args::Cli::try_parse_from(words).unwrap_err()))
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
    fn what_was_meant_is_named() {
        let path = refused(&["ckpt", "reset", "HEAD~2", "a b"]);
        assert!(path.hint.as_deref().unwrap().ends_with("ckpt rollback 'HEAD~2' 'a b'"));
        assert!(refused(&["ckpt", "-C", "dir", "ls"]).hint.as_deref().unwrap().contains("'-w'"));
    }

    #[test]
    fn a_refusal_is_one_sentence() {
        let unknown = refused(&["ckpt", "ls", "--bad"]);
        assert_eq!(unknown.message, "unexpected argument '--bad' found");
        assert_eq!(unknown.hint.as_deref(), Some("see what it takes: ckpt ls --help"));
        assert_eq!(refused(&["ckpt", "--json"]).message, "a command is missing");
        let missing = refused(&["ckpt", "rollback"]);
        assert!(missing.message.contains("<REV>"), "{}", missing.message);
        assert!(refused(&["ckpt", "rollback", "HEAD", ""]).message.contains("empty"));
        assert!(!refused(&["ckpt", "save", "-m"]).message.contains("empty"));
        assert!(refused(&["ckpt", "ls", "-n", "x"]).message.ends_with("it is no number"));
    }
}
