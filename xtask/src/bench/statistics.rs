//! What samples say: median, least and most, and ratios pair by pair.

use std::time::Duration;

/// One run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sample {
    /// From start to end.
    pub(crate) wall: Duration,
    /// Time of all processors, of all processes, in the kernel and outside.
    pub(crate) cpu: Duration,
    /// The most memory of one process, in bytes.
    pub(crate) peak_bytes: u64,
}

/// Median, least and most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spread<T> {
    pub(crate) median: T,
    pub(crate) min: T,
    pub(crate) max: T,
}

/// `None` of nothing.
pub(crate) fn spread<T: Copy + PartialOrd>(values: impl IntoIterator<Item = T>) -> Option<Spread<T>> {
    let mut values: Vec<T> = values.into_iter().collect();
    values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    Some(Spread { median: *values.get(values.len() / 2)?, min: *values.first()?, max: *values.last()? })
}

/// Which time of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Time {
    Wall,
    Cpu,
}

/// The ratio of the times of two subjects, round by round, after `above` was taken from each time of `of`: what else the
/// machine did in a round was done to both, and falls out. `None` if they share no round.
pub(crate) fn ratio(time: Time, of: &[Sample], to: &[Sample], above: Duration) -> Option<f64> {
    let seconds = |sample: &Sample, above| match time {
        Time::Wall => sample.wall.saturating_sub(above).as_secs_f64(),
        Time::Cpu => sample.cpu.saturating_sub(above).as_secs_f64(),
    };
    let pairs = of.iter().zip(to).map(|(of, to)| (seconds(of, above), seconds(to, Duration::ZERO)));
    Some(spread(pairs.filter(|(_, to)| *to > 0.0).map(|(of, to)| of / to))?.median)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(times: &[u64]) -> Vec<Sample> {
        times.iter().map(|&ms| Sample { wall: Duration::from_millis(ms), ..Sample::default() }).collect()
    }

    #[test]
    fn spreads() {
        assert_eq!(spread([3, 1, 2]), Some(Spread { median: 2, min: 1, max: 3 }));
        assert_eq!(spread::<u8>([]), None);
    }

    #[test]
    fn ratios_are_taken_in_pairs() {
        // In the second round the machine was busy: the ratio of the medians would be 2.
        let wall =
            |of: &[u64], to: &[u64], above| ratio(Time::Wall, &samples(of), &samples(to), Duration::from_millis(above));
        assert_eq!(wall(&[20, 90, 30], &[10, 30, 10], 0), Some(3.0));
        assert_eq!(wall(&[20], &[], 0), None);
        assert_eq!(wall(&[20], &[10], 10), Some(1.0));
    }
}
