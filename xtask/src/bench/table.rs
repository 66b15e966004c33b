//! The figures as Markdown.

use std::time::Duration;

use super::series::{Series, find};
use super::statistics::{Spread, spread};

/// Whose ratios are shown: its time over that of each other.
pub(crate) const MEASURED: &str = "ckpt";

/// For each tree a table of times and ratios, and one of all figures.
pub(crate) fn markdown(all: &[Series]) -> String {
    let mut text = String::new();
    for tree in unique(all.iter().map(|series| series.tree.as_str())) {
        let of_tree: Vec<Series> = all.iter().filter(|series| series.tree == tree).cloned().collect();
        text += &format!("### {}\n\n{}\n{}\n", heading(tree), ratios(&of_tree), details(&of_tree));
    }
    text
}

/// How a tree is called.
pub(crate) fn heading(tree: &str) -> String {
    if tree.parse::<u64>().is_ok() { format!("{} files", grouped(tree)) } else { tree.to_owned() }
}

/// A row for each verb: the time of ckpt, and that of the others with what ckpt takes of it.
fn ratios(all: &[Series]) -> String {
    let subjects = unique(all.iter().map(|series| series.subject));
    let others: Vec<&str> = subjects.into_iter().filter(|name| *name != MEASURED).collect();
    let mut text = format!("| | {MEASURED} | {} |\n|---|{}\n", others.join(" | "), "---|".repeat(others.len() + 1));
    for verb in unique(all.iter().map(|series| series.verb.as_str())) {
        let Some(tree) = all.first().map(|series| series.tree.as_str()) else { break };
        let ckpt = find(all, tree, verb, MEASURED);
        let mut cells = vec![ckpt.and_then(median).map_or(String::new(), shown)];
        for other in &others {
            let other = find(all, tree, verb, other);
            let ratio = ckpt.zip(other).and_then(|(ckpt, other)| ckpt.ratio_to(other));
            cells.push(match (other.and_then(median), ratio) {
                (Some(time), Some(ratio)) => format!("{} ({ratio:.2})", shown(time)),
                (Some(time), None) => shown(time),
                (None, _) => String::new(),
            });
        }
        text += &format!("| {verb} | {} |\n", cells.join(" | "));
    }
    text + &format!("\nIn brackets: the time of {MEASURED} over this one, median of the ratios of the rounds.\n")
}

fn details(all: &[Series]) -> String {
    let mut text =
        String::from("| | | wall | min | max | CPU | peak memory | store |\n|---|---|---|---|---|---|---|---|\n");
    for series in all {
        let Some(wall) = spread(series.samples.iter().map(|sample| sample.wall)) else { continue };
        let Some(cpu) = spread(series.samples.iter().map(|sample| sample.cpu)) else { continue };
        let Some(peak) = spread(series.samples.iter().map(|sample| sample.peak_bytes)) else { continue };
        let Spread { median, min, max } = wall;
        let times = [median, min, max, cpu.median].map(shown).join(" | ");
        let store = series.store_bytes.map_or(String::new(), mebibytes);
        let (verb, subject, peak) = (&series.verb, series.subject, mebibytes(peak.median));
        text += &format!("| {verb} | {subject} | {times} | {peak} | {store} |\n");
    }
    text
}

fn median(series: &Series) -> Option<Duration> {
    spread(series.samples.iter().map(|sample| sample.wall)).map(|spread| spread.median)
}

/// A time with three digits that count.
pub(crate) fn shown(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1000.0;
    match ms {
        ms if ms < 10.0 => format!("{ms:.2} ms"),
        ms if ms < 100.0 => format!("{ms:.1} ms"),
        ms if ms < 1000.0 => format!("{ms:.0} ms"),
        ms => format!("{:.2} s", ms / 1000.0),
    }
}

/// Bytes in MiB.
pub(crate) fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// A number with its thousands apart.
fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Each once, in the order in which they come first.
pub(crate) fn unique<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::statistics::Sample;

    fn series(verb: &str, subject: &'static str, ms: u64) -> Series {
        let sample = Sample { wall: Duration::from_millis(ms), cpu: Duration::from_millis(2), peak_bytes: 3 << 20 };
        Series { tree: "1000".into(), verb: verb.into(), subject, samples: vec![sample], store_bytes: None }
    }

    #[test]
    fn rows_have_times_and_ratios() {
        let all = [series("save-0", "ckpt", 10), series("save-0", "git", 40), series("start", "empty", 1)];
        let text = markdown(&all);
        assert!(text.starts_with("### 1,000 files\n\n| | ckpt | git | empty |\n|---|---|---|---|\n"), "{text}");
        assert!(text.contains("| save-0 | 10.0 ms | 40.0 ms (0.25) |  |\n"), "{text}");
        assert!(text.contains("| start |  |  | 1.00 ms |\n"), "{text}");
        assert!(text.contains("| save-0 | git | 40.0 ms | 40.0 ms | 40.0 ms | 2.00 ms | 3.0 MiB |  |\n"), "{text}");
    }

    #[test]
    fn times_and_sizes_are_short() {
        assert_eq!(
            [1, 12_340, 123_400, 1_234_000].map(|us| shown(Duration::from_micros(us))),
            ["0.00 ms", "12.3 ms", "123 ms", "1.23 s"]
        );
        assert_eq!(grouped("1000000"), "1,000,000");
    }
}
