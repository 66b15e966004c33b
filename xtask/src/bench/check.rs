//! `--check`: are the targets kept?
//!
//! A row that is missed is measured again, up to three times, and its best figure counts: a busy machine makes a figure
//! worse, never better than the code.

use std::time::Duration;

use crate::failure::Failure;
use crate::printer;

use super::plan::Plan;
use super::scene::Scene;
use super::series::Series;
use super::statistics::{Time, ratio, spread};
use super::subjects::Built;
use super::table::{MEASURED, heading};
use super::targets::{self, Bound, Target};
use super::tree::Source;

/// What is allowed above a target: two runs of one program differ by that.
const NOISE: f64 = 0.10;
const ATTEMPTS: usize = 3;
/// Files of the tree that the targets are about.
const LARGE_TREE: usize = 100_000;
/// Files of the tree for what is over in a few milliseconds.
const SMALL_TREE: usize = 1000;

/// One row with its figure.
struct Row {
    target: Target,
    /// `None` where the other was not measured.
    figure: Option<f64>,
    /// The same in processor time, which a busy machine changes less. It decides nothing: who waits is not done.
    cpu: Option<f64>,
    attempts: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Pass,
    WithinNoise,
    Miss,
    NotMeasured,
}

/// Measures what has a target, the large tree being `source`, and prints each row; a miss is a failure.
pub(crate) fn run(plan: &Plan, source: &Source, built: &Built) -> Result<(), Failure> {
    let mut rows = String::new();
    let mut missed = 0;
    let mut hold = |targets: &[Target], scene: &dyn Fn() -> Result<Scene, Failure>| {
        let wanted: Vec<Target> = targets.iter().filter(|target| plan.wants(target.verb)).copied().collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let mut scene = scene()?;
        for row in measure(&mut scene, &wanted, plan.rounds)? {
            let verdict = row.verdict(scene.files());
            missed += usize::from(verdict == Verdict::Miss);
            rows += &row.shown(&scene, verdict);
        }
        Ok::<_, Failure>(())
    };
    hold(&targets::OF_A_SMALL_TREE, &|| plan.scene(&Source::Made(SMALL_TREE), built))?;
    hold(&targets::OF_A_HISTORY, &|| plan.history(built))?;
    hold(&targets::OF_A_TREE, &|| plan.scene(source, built))?;
    printer::say(&format!(
        "\n| tree | verb | figure | in CPU time | | target | |\n|---|---|---|---|---|---|---|\n{rows}"
    ));
    if !matches!(source, Source::Made(files) if *files >= LARGE_TREE) {
        printer::note(
            "the targets are those of a tree of 100,000 files; on a smaller one the start of a process counts",
        );
    }
    printer::say(&format!("A figure within {:.0} % of its target is taken for noise.", NOISE * 100.0));
    if missed == 0 { Ok(()) } else { Err(Failure::new(format!("{missed} targets are missed"))) }
}

/// The rows of `targets`, which are in the order of their verbs.
fn measure(scene: &mut Scene, targets: &[Target], rounds: usize) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for group in targets.chunk_by(|a, b| a.verb == b.verb) {
        let mut group: Vec<Row> =
            group.iter().map(|&target| Row { target, figure: None, cpu: None, attempts: 0 }).collect();
        for attempt in 1..=ATTEMPTS {
            let verb = group[0].target.verb;
            printer::step(&verb.to_string(), &format!("on {}, attempt {attempt}", heading(scene.name())));
            let series = scene.measure(verb, rounds)?;
            let files = scene.files();
            for row in group.iter_mut().filter(|row| row.attempts == 0 || row.verdict(files) == Verdict::Miss) {
                row.take(&series, attempt);
            }
            if group.iter().all(|row| row.verdict(files) != Verdict::Miss) {
                break;
            }
        }
        rows.extend(group);
    }
    Ok(rows)
}

/// What the target is about: a ratio, or MiB.
fn figure(target: &Target, time: Time, all: &[Series]) -> Option<f64> {
    let series = |name: &str| all.iter().find(|series| series.subject == name);
    let ckpt = series(MEASURED)?;
    match target.bound {
        Bound::Time { of, above_us, .. } => {
            ratio(time, &ckpt.samples, &series(of)?.samples, Duration::from_micros(above_us))
        }
        Bound::Store { of, .. } => Some(ckpt.store_bytes? as f64 / series(of)?.store_bytes? as f64),
        Bound::Peak { .. } => {
            let peak = spread(ckpt.samples.iter().map(|sample| sample.peak_bytes))?.max;
            Some(peak as f64 / f64::from(1 << 20))
        }
    }
}

impl Row {
    fn take(&mut self, all: &[Series], attempt: usize) {
        let best = |before: Option<f64>, time| match (before, figure(&self.target, time, all)) {
            (Some(best), Some(figure)) => Some(best.min(figure)),
            (best, figure) => figure.or(best),
        };
        (self.figure, self.cpu) = (best(self.figure, Time::Wall), best(self.cpu, Time::Cpu));
        self.attempts = attempt;
    }

    fn at_most(&self, files: usize) -> f64 {
        match self.target.bound {
            Bound::Time { at_most, .. } | Bound::Store { at_most, .. } => at_most,
            Bound::Peak { mebibytes, bytes_per_file } => {
                mebibytes as f64 + (bytes_per_file * files as u64) as f64 / f64::from(1 << 20)
            }
        }
    }

    fn verdict(&self, files: usize) -> Verdict {
        let at_most = self.at_most(files);
        match self.figure {
            None => Verdict::NotMeasured,
            Some(figure) if figure <= at_most => Verdict::Pass,
            Some(figure) if figure <= at_most * (1.0 + NOISE) => Verdict::WithinNoise,
            Some(_) => Verdict::Miss,
        }
    }

    fn shown(&self, scene: &Scene, verdict: Verdict) -> String {
        let what = match self.target.bound {
            Bound::Time { of, above_us: 0, .. } => format!("× {of}"),
            Bound::Time { of, above_us, .. } => format!("× {of} + {:.1} ms", above_us as f64 / 1000.0),
            Bound::Store { of, .. } => format!("× store of {of}"),
            Bound::Peak { .. } => "MiB at the peak".to_owned(),
        };
        let word = match verdict {
            Verdict::Pass => "pass",
            Verdict::WithinNoise => "pass within noise",
            Verdict::Miss => "**miss**",
            Verdict::NotMeasured => "not measured: the other is not installed",
        };
        let number = |figure: Option<f64>| figure.map_or("–".to_owned(), |figure| format!("{figure:.2}"));
        // What one process did many times is no whole process, and sizes have no time.
        let is_of_processes = matches!(self.target.bound, Bound::Time { above_us: 0, .. });
        let (figure, cpu) = (number(self.figure), number(self.cpu.filter(|_| is_of_processes)));
        let verb = self.target.verb;
        let (tree, at_most) = (heading(scene.name()), self.at_most(scene.files()));
        let attempts = if self.attempts > 1 { format!(", {} attempts", self.attempts) } else { String::new() };
        format!("| {tree} | {verb} | {figure} | {cpu} | {what} | ≤ {at_most:.2} | {word}{attempts} |\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::statistics::Sample;
    use crate::bench::verb::Verb;

    fn series(subject: &'static str, ms: u64, peak: u64) -> Series {
        let sample = Sample { wall: Duration::from_millis(ms), cpu: Duration::ZERO, peak_bytes: peak << 20 };
        let (tree, verb) = ("1000".to_owned(), "save-0".to_owned());
        Series { tree, verb, subject, samples: vec![sample], store_bytes: Some(ms) }
    }

    fn verdict(bound: Bound, all: &[Series]) -> Verdict {
        let mut row = Row { target: Target { verb: Verb::Save(0), bound }, figure: None, cpu: None, attempts: 0 };
        row.take(all, 1);
        row.verdict(1 << 20)
    }

    #[test]
    fn figures_are_held_against_their_bounds() {
        let all = [series("ckpt", 11, 20), series("bare walk", 10, 3)];
        let walk = |at_most, above_us| Bound::Time { of: "bare walk", at_most, above_us };
        assert_eq!(verdict(walk(1.1, 0), &all), Verdict::Pass);
        assert_eq!(verdict(walk(1.0, 1000), &all), Verdict::Pass);
        assert_eq!(verdict(walk(1.05, 0), &all), Verdict::WithinNoise);
        assert_eq!(verdict(walk(0.9, 0), &all), Verdict::Miss);
        assert_eq!(verdict(Bound::Time { of: "tar", at_most: 1.0, above_us: 0 }, &all), Verdict::NotMeasured);
        assert_eq!(verdict(Bound::Store { of: "bare walk", at_most: 0.5 }, &all), Verdict::Miss);
        assert_eq!(verdict(Bound::Peak { mebibytes: 16, bytes_per_file: 4 }, &all), Verdict::Pass);
        assert_eq!(verdict(Bound::Peak { mebibytes: 14, bytes_per_file: 1 }, &all), Verdict::Miss);
    }

    #[test]
    fn the_best_attempt_counts() {
        let bound = Bound::Time { of: "bare walk", at_most: 1.0, above_us: 0 };
        let target = Target { verb: Verb::Save(0), bound };
        let mut row = Row { target, figure: None, cpu: None, attempts: 0 };
        for (ms, attempt) in [(20, 1), (10, 2), (30, 3)] {
            row.take(&[series("ckpt", ms, 1), series("bare walk", 10, 1)], attempt);
        }
        assert_eq!((row.figure, row.attempts), (Some(1.0), 3));
    }
}
