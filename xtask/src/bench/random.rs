//! Numbers that look random and are the same in every run and on every machine.
//!
//! SplitMix64: a few lines, good enough for file trees, and nobody's upgrade changes the trees under the figures.

/// A generator; the same seed gives the same numbers.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: usize, high: usize) -> usize {
        let count = (high - low) as u64 + 1;
        low + usize::try_from(self.number() % count).expect("less than a usize that was given")
    }

    /// One of `choices`.
    pub(crate) fn choose<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.between(0, choices.len() - 1)]
    }

    /// A number above 0 and up to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.number() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// A number of the normal distribution with mean 0 and deviation 1 (Box and Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.unit().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// A number of the Pareto distribution from 1 upwards: few words are used often.
    pub(crate) fn pareto(&mut self, alpha: f64) -> f64 {
        self.unit().powf(-1.0 / alpha)
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let mut random = Random::new(1);
        assert_eq!([random.number(), random.number()], [0x910A_2DEC_8902_5CC1, 0xBEEB_8DA1_658E_EC67]);
    }

    #[test]
    fn the_normal_distribution_has_its_deviation() {
        let mut random = Random::new(7);
        let numbers: Vec<f64> = (0..20_000).map(|_| random.normal()).collect();
        let mean = numbers.iter().sum::<f64>() / 20_000.0;
        let variance = numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
    }
}
