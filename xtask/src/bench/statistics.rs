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

/// The ratio of the times of two subjects, round by round: what else the machine did in a round was done to both, and
/// falls out. `None` if they share no round.
pub(crate) fn ratio(of: &[Sample], to: &[Sample]) -> Option<f64> {
    ratio_above(of, to, Duration::ZERO)
}

/// The same after `above` was taken from each time of `of`.
pub(crate) fn ratio_above(of: &[Sample], to: &[Sample], above: Duration) -> Option<f64> {
    let pairs = of.iter().zip(to).filter(|(_, to)| !to.wall.is_zero());
    let ratios = pairs.map(|(of, to)| of.wall.saturating_sub(above).as_secs_f64() / to.wall.as_secs_f64());
    Some(spread(ratios)?.median)
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
        assert_eq!(ratio(&samples(&[20, 90, 30]), &samples(&[10, 30, 10])), Some(3.0));
        assert_eq!(ratio(&samples(&[20]), &[]), None);
        assert_eq!(ratio_above(&samples(&[20]), &samples(&[10]), Duration::from_millis(10)), Some(1.0));
    }
}
