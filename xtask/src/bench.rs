//! `cargo xtask bench`: what ckpt takes beside what people use in its place, and beside what cannot be left out.
//!
//! Everybody runs in turn, in the same rounds, on the same edits, so that what else the machine does is done to all.
//! Ratios are worth keeping, times are one machine's.

mod chart;
mod check;
mod corpus;
mod counts;
mod disk;
mod json;
mod machine;
mod measure;
mod plan;
mod random;
mod scene;
mod series;
mod statistics;
mod subject;
mod subjects;
mod system_calls;
mod table;
mod targets;
mod tree;
mod verb;
mod witness;

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::printer;
use crate::workspace::Workspace;

use self::machine::Machine;
use self::plan::{Peers, Plan, Size};
use self::series::Series;
use self::tree::Source;

/// Sizes of trees, in files.
const SIZES: [usize; 3] = [1_000, 10_000, 100_000];
const LARGE: usize = 1_000_000;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Hold ckpt against its targets, and fail if one is missed; on one tree, of 100,000 files if no other is named.
    #[arg(long, conflicts_with_all = ["large", "json", "svg"])]
    check: bool,
    /// Count system calls, bytes written and waits for the disk on a tree of 1,000 files, and fail if one of the counts
    /// grew; needs strace.
    #[arg(long, conflicts_with = "check")]
    counts: bool,
    /// Only a tree of this many files; may be given several times. Default: 1,000, 10,000 and 100,000.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    files: Vec<u32>,
    /// Only make a tree here: how a run makes its trees.
    #[arg(long, value_name = "DIR", requires = "files", hide = true)]
    make: Option<PathBuf>,
    /// A copy of this directory in place of made trees.
    #[arg(long, value_name = "DIR", conflicts_with = "files")]
    dir: Option<PathBuf>,
    /// Also a tree of 1,000,000 files, a file of 1 GiB and 10,000 stores; wants an hour and 60 GiB.
    #[arg(long)]
    large: bool,
    /// Only this verb, by the name that tables have for it; may be given several times.
    #[arg(long, value_name = "NAME")]
    verb: Vec<String>,
    /// How often each verb is measured; those that write the whole tree at most three times.
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Leave out programs that are not always there: jj, restic, borg, unedit, chkpt.
    #[arg(long)]
    no_peers: bool,
    /// A Python of version 3.12 or later that has the package fabricatio-checkpoint.
    #[arg(long, value_name = "PROGRAM")]
    python: Option<PathBuf>,
    /// Write every sample, the machine and the versions as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a chart for each verb on each tree into this directory.
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// Where trees and stores are made, on the file system that is to be measured. Default: the temporary directory.
    #[arg(long, value_name = "DIR")]
    at: Option<PathBuf>,
}

impl Args {
    fn plan(&self) -> Plan {
        Plan {
            sources: self.sources(),
            verbs: self.verb.clone(),
            rounds: usize::from(self.rounds),
            size: if self.large { Size::Large } else { Size::Usual },
            peers: if self.no_peers { Peers::None } else { Peers::Installed { python: self.python.clone() } },
            at: self.at.clone().unwrap_or_else(std::env::temp_dir),
        }
    }

    fn sources(&self) -> Vec<Source> {
        if let Some(dir) = &self.dir {
            return vec![Source::Copied(dir.clone())];
        }
        let mut sizes: Vec<usize> = self.files.iter().map(|&files| files as usize).collect();
        if sizes.is_empty() {
            sizes.extend(SIZES);
            sizes.extend(self.large.then_some(LARGE));
        }
        sizes.into_iter().map(Source::Made).collect()
    }
}

/// Measures, and prints tables.
pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<(), Failure> {
    if let (Some(root), [files]) = (&args.make, &*args.files) {
        return corpus::make(root, *files as usize);
    }
    if args.counts {
        return counts(workspace);
    }
    let verbs: Vec<String> = verb::all().map(|verb| verb.to_string()).collect();
    if let Some(unknown) = args.verb.iter().find(|name| !verbs.contains(name)) {
        let names = table::unique(verbs.iter().map(String::as_str)).join(", ");
        return Err(Failure::new(format!("there is no verb {unknown}")).hint(format!("they are: {names}")));
    }
    let plan = args.plan();
    if args.check {
        // The targets are about what is there on every machine.
        let plan = Plan { peers: Peers::None, ..plan };
        if args.files.len() > 1 {
            return Err(Failure::new("the targets are held on one tree").hint("name one number of files"));
        }
        let built = subjects::build(workspace)?;
        return plan.sources.last().map_or(Ok(()), |source| check::run(&plan, source, &built));
    }
    let missing = plan.missing();
    for name in &missing {
        printer::note(&format!("not there to be measured: {name}"));
    }
    let built = subjects::build(workspace)?;
    let machine = Machine::look(workspace, &plan.at, &missing)?;
    let all = plan.run(&built)?;
    printer::say(&format!("\n{}\n{}", machine.shown(), table::markdown(&all)));
    if let Some(file) = &args.json {
        write(file, &json::text(&machine, &all))?;
    }
    args.svg.as_deref().map_or(Ok(()), |dir| write_charts(dir, &all))
}

/// A chart for each verb on each tree.
fn write_charts(dir: &Path, all: &[Series]) -> Result<(), Failure> {
    fs::create_dir_all(dir).map_err(|err| Failure::at("create", dir, err))?;
    for tree in table::unique(all.iter().map(|series| series.tree.as_str())) {
        let of_tree = all.iter().filter(|series| series.tree == tree);
        for verb in table::unique(of_tree.map(|series| series.verb.as_str())) {
            let Some(chart) = chart::svg(all, tree, verb) else { continue };
            let name = tree.replace([' ', ','], "-");
            write(&dir.join(format!("{verb}-{name}.svg")), &chart)?;
        }
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|err| Failure::at("write", path, err))
}

/// The counts alone, which are the same on every machine; where they cannot be taken that is said, and is no failure.
pub(crate) fn counts(workspace: &Workspace) -> Result<(), Failure> {
    counts::run(workspace)
}
