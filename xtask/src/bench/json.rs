//! The figures for programs.

use serde::Serialize;

use super::machine::Machine;
use super::series::{Series, find};
use super::table::MEASURED;

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    machine: &'a Machine,
    series: Vec<Measured<'a>>,
}

#[derive(Serialize)]
struct Measured<'a> {
    tree: &'a str,
    verb: &'a str,
    subject: &'a str,
    /// In the order of rounds, as the two below.
    wall_ns: Vec<u128>,
    cpu_ns: Vec<u128>,
    peak_bytes: Vec<u64>,
    /// After a first save.
    store_bytes: Option<u64>,
    /// The time of ckpt over this one's, median of the ratios of the rounds.
    ckpt_takes: Option<f64>,
}

/// All samples and the ratios.
pub(crate) fn text(machine: &Machine, all: &[Series]) -> String {
    let series = all.iter().map(|series| {
        let ckpt = find(all, &series.tree, &series.verb, MEASURED);
        let samples = &series.samples;
        Measured {
            tree: &series.tree,
            verb: &series.verb,
            subject: series.subject,
            wall_ns: samples.iter().map(|sample| sample.wall.as_nanos()).collect(),
            cpu_ns: samples.iter().map(|sample| sample.cpu.as_nanos()).collect(),
            peak_bytes: samples.iter().map(|sample| sample.peak_bytes).collect(),
            store_bytes: series.store_bytes,
            ckpt_takes: ckpt.and_then(|ckpt| ckpt.ratio_to(series)),
        }
    });
    let report = Report { schema: "ckpt.bench/1", machine, series: series.collect() };
    let text = serde_json::to_string_pretty(&report).expect("numbers and words are always JSON");
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::statistics::Sample;
    use std::time::Duration;

    #[test]
    fn every_sample_is_there() {
        let machine = Machine {
            cores: 2,
            processor: "A".into(),
            memory_bytes: 1,
            kernel: String::new(),
            file_system: String::new(),
            commit: String::new(),
            rustc: String::new(),
            versions: vec![("git".into(), "git version 2".into())],
            missing: Vec::new(),
        };
        let sample = |ms| Sample { wall: Duration::from_millis(ms), ..Sample::default() };
        let series = |subject, samples| Series {
            tree: "1000".into(),
            verb: "save-0".into(),
            subject,
            samples,
            store_bytes: None,
        };
        let all = [series("ckpt", vec![sample(1), sample(1)]), series("git", vec![sample(4), sample(4)])];
        let json: serde_json::Value = serde_json::from_str(&text(&machine, &all)).unwrap();
        assert_eq!(json["series"][1]["wall_ns"][1], 4_000_000);
        assert_eq!(json["series"][1]["ckpt_takes"], 0.25);
        assert_eq!(json["machine"]["versions"][0][1], "git version 2");
    }
}
