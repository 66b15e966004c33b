//! Where and with what was measured: a figure without that says nothing.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde::Serialize;

use crate::failure::Failure;
use crate::program::Program;
use crate::workspace::Workspace;

use super::subject::{find_program, with};
use super::witness::printed;

/// The machine, the commit, and the versions of programs.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) cores: usize,
    pub(crate) processor: String,
    pub(crate) memory_bytes: u64,
    pub(crate) kernel: String,
    pub(crate) file_system: String,
    pub(crate) commit: String,
    pub(crate) rustc: String,
    /// Name and what it says about its version.
    pub(crate) versions: Vec<(String, String)>,
    /// Who could have been measured and is not installed.
    pub(crate) missing: Vec<String>,
}

/// Programs that say their version, and how they are asked.
const PROGRAMS: [(&str, &str); 8] = [
    ("git", "--version"),
    ("jj", "--version"),
    ("restic", "version"),
    ("borg", "--version"),
    ("unedit", "--version"),
    ("chkpt", "--version"),
    ("tar", "--version"),
    ("zstd", "--version"),
];

impl Machine {
    /// Looks at this machine; `at` is where is measured. What it does not tell is empty.
    pub(crate) fn look(workspace: &Workspace, at: &Path, missing: &[&str]) -> Result<Self, Failure> {
        let git = |args: &[&str]| Program::new("git", workspace.root()).args(args).text();
        let is_changed = !git(&["status", "--porcelain"])?.is_empty();
        let commit = git(&["rev-parse", "--short=12", "HEAD"])? + if is_changed { ", changed" } else { "" };
        let said = |program: &Path, arg: &str| {
            let text = printed(with(Command::new(program), [arg])).unwrap_or_default();
            text.lines().next().unwrap_or_default().to_owned()
        };
        let versions = PROGRAMS.iter().filter_map(|(name, arg)| {
            let program = find_program(name)?;
            Some(((*name).to_owned(), said(&program, arg)))
        });
        let file = |path: &str| fs::read_to_string(path).unwrap_or_default();
        Ok(Self {
            cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            processor: field(&file("/proc/cpuinfo"), "model name").to_owned(),
            memory_bytes: kibibytes(field(&file("/proc/meminfo"), "MemTotal")) * 1024,
            kernel: file("/proc/sys/kernel/osrelease").trim().to_owned(),
            // A heading and the type; `stat -f` has one word for all versions of ext.
            file_system: printed(with(with(Command::new("df"), ["--output=fstype"]), [at]))
                .map_or(String::new(), |text| text.lines().last().unwrap_or_default().to_owned()),
            commit,
            rustc: said(Path::new("rustc"), "--version"),
            versions: versions.collect(),
            missing: missing.iter().map(|&name| name.to_owned()).collect(),
        })
    }

    /// As Markdown.
    pub(crate) fn shown(&self) -> String {
        let Self { cores, processor, memory_bytes, kernel, file_system, commit, rustc, .. } = self;
        let gibibytes = memory_bytes >> 30;
        let mut text = format!(
            "{cores} cores of {processor}, {gibibytes} GiB of memory, {file_system}, Linux {kernel}; commit {commit}, \
             {rustc}.\n\nPrograms: "
        );
        let told = |(name, version): &(String, String)| if version.is_empty() { name } else { version }.clone();
        let versions: Vec<String> = self.versions.iter().map(told).collect();
        text += &format!("{}.\n", versions.join("; "));
        if !self.missing.is_empty() {
            text += &format!("Not there to be measured: {}.\n", self.missing.join(", "));
        }
        text
    }
}

/// The value of the first line `name: value` of a file of the kernel.
fn field<'a>(text: &'a str, name: &str) -> &'a str {
    let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs.find(|(key, _)| key.trim() == name).map_or("", |(_, value)| value.trim())
}

fn kibibytes(value: &str) -> u64 {
    value.trim_end_matches(" kB").parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_kernel_are_read() {
        let text = "processor\t: 0\nmodel name\t: A CPU: fast\nmodel name\t: B\n";
        assert_eq!(field(text, "model name"), "A CPU: fast");
        assert_eq!(field(text, "bogomips"), "");
        assert_eq!(kibibytes("16384 kB"), 16384);
    }
}
