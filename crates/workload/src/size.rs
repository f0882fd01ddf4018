//! The lengths of requests.

use parlour_units::Sectors;

use crate::random::Random;

/// A distribution of sizes, in sectors.
#[derive(Clone, Debug, PartialEq)]
pub enum Size {
    /// Constant.
    Fixed(f64),
    /// Exponential, with this mean.
    Exponential(f64),
    /// Normal.
    Normal {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        deviation: f64,
    },
    /// Uniform between two sizes.
    Uniform(f64, f64),
    /// One of several sizes, each with its weight.
    Mix(Vec<(f64, f64)>),
}

/// The sizes of requests: drawn from a distribution, limited at both ends, and rounded to whole
/// blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    size: Size,
    block: Sectors,
    least: Sectors,
    most: Sectors,
    /// For a mix: the cumulative weights.
    weights: Vec<f64>,
}

/// Why sizes are invalid.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SizeError {
    /// A number is not a size.
    #[error("{0} sectors is no size")]
    NoSize(f64),
    /// A number is not a weight.
    #[error("{0} is no weight: weights are positive")]
    NoWeight(f64),
    /// A mix has no size.
    #[error("a mix has at least one size")]
    Empty,
    /// No size is within the limits.
    #[error("sizes are to be between {least} and {most} sectors, in blocks of {block}: there are none")]
    Ends {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
        /// The block.
        block: u64,
    },
}

impl Sizes {
    /// Sizes of at least `least` and at most `most` sectors, rounded up to whole blocks. A value
    /// beyond a limit becomes the limit.
    pub fn new(size: Size, block: Sectors, least: Sectors, most: Sectors) -> Result<Sizes, SizeError> {
        let sound =
            |value: f64| (value >= 0.0 && value.is_finite()).then_some(()).ok_or(SizeError::NoSize(value));
        match &size {
            Size::Fixed(value) | Size::Exponential(value) => sound(*value)?,
            Size::Normal { mean, deviation } => sound(*mean).and(sound(*deviation))?,
            Size::Uniform(from, to) => sound(*from).and(sound(to - from))?,
            Size::Mix(sizes) if sizes.is_empty() => return Err(SizeError::Empty),
            Size::Mix(sizes) => sizes.iter().try_for_each(|(value, weight)| {
                sound(*value)?;
                (*weight > 0.0 && weight.is_finite()).then_some(()).ok_or(SizeError::NoWeight(*weight))
            })?,
        }
        let (least, most) = (least.max(block).round_up(block), most.round_down(block));
        if block.is_zero() || least > most {
            return Err(SizeError::Ends { least: least.get(), most: most.get(), block: block.get() });
        }
        let weights = match &size {
            Size::Mix(sizes) => sizes
                .iter()
                .scan(0.0, |sum, (_, weight)| {
                    *sum += weight;
                    Some(*sum)
                })
                .collect(),
            _ => Vec::new(),
        };
        Ok(Sizes { size, block, least, most, weights })
    }

    /// Draws the next size.
    pub fn draw(&self, random: &mut Random) -> Sectors {
        let drawn = match &self.size {
            Size::Fixed(size) => *size,
            Size::Exponential(mean) => random.exponential(*mean),
            Size::Normal { mean, deviation } => random.normal(*mean, *deviation),
            Size::Uniform(from, to) => from + (to - from) * random.part_of_one(),
            Size::Mix(sizes) => {
                let all = self.weights.last().copied().unwrap_or(0.0);
                let at = random.part_of_one() * all;
                let index = self.weights.partition_point(|weight| *weight <= at);
                sizes[index.min(sizes.len() - 1)].0
            }
        };
        // A negative value becomes zero, and then the least size.
        Sectors::new(drawn.ceil() as u64).min(self.most).round_up(self.block).max(self.least)
    }

    /// The largest possible size.
    pub fn most(&self) -> Sectors {
        self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(size: Size) -> f64 {
        let sizes = Sizes::new(size, Sectors::new(1), Sectors::new(1), Sectors::new(1 << 30)).unwrap();
        let mut random = Random::new(3);
        (0..100_000).map(|_| sizes.draw(&mut random).get()).sum::<u64>() as f64 / 1e5
    }

    #[test]
    fn sizes_have_their_means() {
        assert!((mean(Size::Fixed(12.0)) - 12.0).abs() < 1e-9);
        // Rounding up adds half a sector on average.
        assert!((mean(Size::Exponential(1_000.0)) / 1_000.5 - 1.0).abs() < 0.01);
        assert!((mean(Size::Normal { mean: 1_000.0, deviation: 100.0 }) / 1_000.5 - 1.0).abs() < 0.01);
        assert!((mean(Size::Uniform(100.0, 300.0)) / 200.5 - 1.0).abs() < 0.01);
        assert!((mean(Size::Mix(vec![(10.0, 3.0), (50.0, 1.0)])) / 20.0 - 1.0).abs() < 0.01);
    }

    #[test]
    fn sizes_are_whole_blocks_between_their_ends() {
        let (block, least, most) = (Sectors::new(8), Sectors::new(9), Sectors::new(100));
        let sizes = Sizes::new(Size::Normal { mean: 50.0, deviation: 80.0 }, block, least, most).unwrap();
        let mut random = Random::new(3);
        for _ in 0..10_000 {
            let size = sizes.draw(&mut random);
            assert!(
                size.is_multiple_of(block) && size >= Sectors::new(16) && size <= Sectors::new(96),
                "{size:?}"
            );
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        let new =
            |size, least, most| Sizes::new(size, Sectors::new(8), Sectors::new(least), Sectors::new(most));
        assert!(
            new(Size::Exponential(1e300), 8, 16)
                .is_ok_and(|sizes| sizes.draw(&mut Random::new(1)).get() == 16)
        );
        assert_eq!(new(Size::Fixed(-1.0), 8, 16), Err(SizeError::NoSize(-1.0)));
        assert_eq!(new(Size::Mix(vec![]), 8, 16), Err(SizeError::Empty));
        assert_eq!(new(Size::Mix(vec![(8.0, 0.0)]), 8, 16), Err(SizeError::NoWeight(0.0)));
        assert_eq!(new(Size::Fixed(8.0), 17, 16), Err(SizeError::Ends { least: 24, most: 16, block: 8 }));
    }
}
