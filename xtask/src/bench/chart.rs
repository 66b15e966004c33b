//! Bars as SVG: one chart for a verb on a tree, a bar for each subject, the fastest on top.
//!
//! No script, no font of our own, and colours that can be read on a light page and on a dark one.

use std::time::Duration;

use super::series::Series;
use super::statistics::spread;
use super::table::{MEASURED, heading, shown};

const WIDTH: u32 = 720;
const LABELS: u32 = 190;
const VALUES: u32 = 80;
const ROW: u32 = 26;
const TOP: u32 = 40;

/// One bar.
struct Bar {
    label: &'static str,
    time: Duration,
}

/// The chart of the series of one verb on one tree; `None` where there is nothing to compare.
pub(crate) fn svg(all: &[Series], tree: &str, verb: &str) -> Option<String> {
    let of_verb = all.iter().filter(|series| series.tree == tree && series.verb == verb);
    let bars = of_verb.filter_map(|series| {
        let time = spread(series.samples.iter().map(|sample| sample.wall))?.median;
        Some(Bar { label: series.subject, time })
    });
    let mut bars: Vec<Bar> = bars.collect();
    bars.sort_by_key(|bar| bar.time);
    let longest = bars.last().filter(|_| bars.len() > 1)?.time.as_secs_f64();
    let height = TOP + ROW * u32::try_from(bars.len()).ok()? + 8;
    let title = escaped(&format!("{verb}, {}", heading(tree)));
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" role=\"img\" font-family=\"sans-serif\" font-size=\"13\">\n<title>{title}</title>\n\
         <text x=\"8\" y=\"22\" fill=\"#7d8590\" font-size=\"15\">{title}</text>\n"
    );
    for (bar, place) in bars.iter().zip(0u32..) {
        let top = TOP + place * ROW;
        let room = f64::from(WIDTH - LABELS - VALUES - 16);
        // A bar of no width would not be seen to be there.
        let width = (bar.time.as_secs_f64() / longest * room).max(1.0);
        let colour = if bar.label.starts_with(MEASURED) { "#2f81f7" } else { "#8b949e" };
        let (label, value) = (escaped(bar.label), shown(bar.time));
        let (line, end) = (top + 15, f64::from(LABELS) + width + 8.0);
        text += &format!(
            "<text x=\"{}\" y=\"{line}\" fill=\"#7d8590\" text-anchor=\"end\">{label}</text>\n\
             <rect x=\"{LABELS}\" y=\"{top}\" width=\"{width:.1}\" height=\"20\" rx=\"2\" fill=\"{colour}\"/>\n\
             <text x=\"{end:.1}\" y=\"{line}\" fill=\"#7d8590\">{value}</text>\n",
            LABELS - 8
        );
    }
    Some(text + "</svg>\n")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::statistics::Sample;

    fn series(subject: &'static str, ms: u64) -> Series {
        let samples = vec![Sample { wall: Duration::from_millis(ms), ..Sample::default() }];
        Series { tree: "1000".into(), verb: "save-1".into(), subject, samples, store_bytes: None }
    }

    #[test]
    fn bars_are_as_long_as_their_times() {
        let chart = svg(&[series("git & co", 200), series("ckpt", 50)], "1000", "save-1").unwrap();
        assert!(chart.contains("<title>save-1, 1,000 files</title>"), "{chart}");
        let [first, second] =
            chart.match_indices("width=\"").skip(1).map(|(at, _)| &chart[at..]).collect::<Vec<_>>()[..]
        else {
            panic!("{chart}")
        };
        assert!(first.starts_with("width=\"108.5\"") && second.starts_with("width=\"434.0\""), "{chart}");
        assert!(chart.contains(">git &amp; co</text>") && chart.contains(">50.0 ms</text>"), "{chart}");
    }

    #[test]
    fn one_alone_is_no_chart() {
        assert!(svg(&[series("ckpt", 1)], "1000", "save-1").is_none());
    }
}
