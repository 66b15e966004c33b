//! The command line: options of all commands, and the list of commands. What belongs to one command stands in its file.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueHint};

use crate::commands::{
    completions, config, diff, doctor, ls, man, prune, redo, reset, rollback, save, show, status, undo, verify,
    workspaces,
};
use crate::paint::ColorChoice;

/// Checkpoints for coding agents: save a directory, compare it, bring it back
///
/// A checkpoint is the state of a whole directory, the workspace. Checkpoints are kept outside of it, in a Git
/// repository of their own, so that the project's repository is never touched. Nothing is lost: a command that changes
/// files saves first what stands there, and `ckpt undo` brings it back.
#[derive(Debug, Parser)]
#[command(name = "ckpt", version, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "\
Without -w the workspace is the nearest directory, from here upwards, that has checkpoints, within the Git repository. \
For the first save it is the root of the Git repository, or this directory where there is none.

Exit codes: 0 done; 1 could not be done; 2 wrong usage; 3 done, but not all could be saved or brought back; \
4 differences, with --exit-code; 130 interrupted.")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options that every command takes.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Work on exactly this directory; paths are then relative to it [env: CKPT_WORKSPACE]
    #[arg(short, long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,
    /// Print one line of JSON on stdout, whatever happens
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print data, warnings and errors only
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print also what is decided on the way
    #[arg(short, long, global = true, action = ArgAction::SetTrue)]
    pub(crate) verbose: bool,
    /// When to colour output
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_possible_values = true)]
    #[arg(long_help = "When to colour output: auto (on a terminal, unless NO_COLOR is set), always or never")]
    pub(crate) color: ColorChoice,
    /// Keep checkpoints below this directory
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) checkpoint_dir: Option<PathBuf>,
    /// Read this configuration file in place of the project's and the user's
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Save(save::SaveArgs),
    Ls(ls::LsArgs),
    Show(show::ShowArgs),
    Status(status::StatusArgs),
    Diff(diff::DiffArgs),
    Rollback(rollback::RollbackArgs),
    Reset(reset::ResetArgs),
    Undo(undo::UndoArgs),
    Redo(redo::RedoArgs),
    Workspaces(workspaces::WorkspacesArgs),
    Prune(prune::PruneArgs),
    Verify(verify::VerifyArgs),
    Doctor(doctor::DoctorArgs),
    Config(config::ConfigArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// Takes a revision as it was typed. What looks like an option is none.
pub(crate) fn revision(text: &str) -> Result<String, String> {
    if text.starts_with('-') {
        return Err("a revision is an id, the beginning of one, HEAD or HEAD~n".to_owned());
    }
    Ok(text.to_owned())
}

/// Whether `--json` is among the arguments, told without clap, whose refusal must come as JSON too.
pub(crate) fn wants_json(argv: &[OsString]) -> bool {
    argv.iter().skip(1).take_while(|word| *word != "--").any(|word| word == "--json")
}

/// The command line as far as it decides where a command works, to put before commands that people paste.
#[derive(Clone, Debug, Default)]
pub(crate) struct Invocation(Vec<OsString>);

impl Invocation {
    /// Keeps the options that name directories and files.
    pub(crate) fn of(global: &GlobalArgs) -> Self {
        let mut words = Vec::new();
        let options =
            [("-w", &global.workspace), ("--checkpoint-dir", &global.checkpoint_dir), ("--config", &global.config)];
        for (name, value) in options {
            if let Some(value) = value {
                words.extend([name.into(), value.into()]);
            }
        }
        Self(words)
    }

    /// Writes a command that does what it says when it is pasted in the same directory.
    pub(crate) fn command<W: Into<OsString>>(&self, words: impl IntoIterator<Item = W>) -> String {
        let words = ["ckpt".into()].into_iter().chain(self.0.iter().cloned()).chain(words.into_iter().map(Into::into));
        words.map(crate::quoting::shell).collect::<Vec<_>>().join(" ")
    }

    /// Writes a command that is about no workspace.
    pub(crate) fn command_for_none<W: Into<OsString>>(&self, words: impl IntoIterator<Item = W>) -> String {
        self.without_workspace().command(words)
    }

    /// The same for another workspace.
    pub(crate) fn command_for<W: Into<OsString>>(
        &self,
        workspace: PathBuf,
        words: impl IntoIterator<Item = W>,
    ) -> String {
        let mut other = self.without_workspace();
        other.0.splice(0..0, ["-w".into(), workspace.into()]);
        other.command(words)
    }

    fn without_workspace(&self) -> Self {
        let mut other = self.clone();
        if let Some(at) = other.0.iter().position(|word| word == "-w") {
            other.0.drain(at..at + 2);
        }
        other
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn argv(words: &str) -> Vec<OsString> {
        words.split(' ').map(Into::into).collect()
    }

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_option_and_command_has_its_help() {
        let mut command = Cli::command();
        command.build();
        for sub in command.get_subcommands() {
            assert!(sub.get_about().is_some(), "{} has no help", sub.get_name());
            for arg in sub.get_arguments() {
                assert!(arg.get_help().is_some(), "{} {} has no help", sub.get_name(), arg.get_id());
            }
        }
    }

    #[test]
    fn json_is_seen_before_clap() {
        assert!(wants_json(&argv("ckpt --bad --json")));
        assert!(wants_json(&argv("ckpt save --json x")));
        assert!(!wants_json(&argv("ckpt save -- --json")));
    }

    #[test]
    fn global_options_stand_before_and_after_the_command() {
        for line in ["ckpt -w a --json save x", "ckpt save x -w a --json"] {
            let cli = Cli::try_parse_from(argv(line)).unwrap();
            assert_eq!(cli.global.workspace, Some("a".into()));
            assert!(cli.global.json);
        }
    }

    #[test]
    fn pasted_commands_work_in_the_same_place() {
        let cli = Cli::try_parse_from(["ckpt", "-w", "a b", "--config", "c.toml", "undo"]).unwrap();
        let invocation = Invocation::of(&cli.global);
        assert_eq!(invocation.command(["undo"]), "ckpt -w 'a b' --config c.toml undo");
        assert_eq!(invocation.command_for("/x".into(), ["ls"]), "ckpt -w /x --config c.toml ls");
        assert_eq!(invocation.command_for_none(["workspaces"]), "ckpt --config c.toml workspaces");
        assert_eq!(Invocation::default().command_for("/x".into(), ["ls"]), "ckpt -w /x ls");
    }

    #[test]
    fn a_revision_does_not_look_like_an_option() {
        assert!(Cli::try_parse_from(argv("ckpt reset -- -x")).is_err());
        assert!(Cli::try_parse_from(argv("ckpt rollback HEAD -- -x")).is_ok());
    }
}
