//! The positions of requests.

use parlour_units::{Sector, Sectors};

use crate::random::Random;
use crate::space::Space;

/// A distribution of positions.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// Uniform over all blocks.
    Uniform,
    /// Uniform, aligned to the request's natural boundary: its own size, or a stripe if it is
    /// larger.
    Natural {
        /// The alignment of large requests.
        stripe: Sectors,
    },
    /// Positions with as few partial stripes as possible. A request of at least a stripe begins or
    /// ends with a stripe, with equal probability. A smaller request begins with a unit; all units
    /// are equally likely (the aligned distribution of Chen et al., sections 6 and 8.1.4).
    Striped {
        /// The stripe unit.
        unit: Sectors,
        /// The number of units of a stripe.
        units: u64,
    },
    /// Of each group of `period` units, the first `hot` are hot: a fraction of all requests begins
    /// in these, the rest in the others. If the period is a stripe, this gives hot disks (the
    /// unaligned distribution of Chen et al., section 6). A request begins anywhere in its unit
    /// where it fits; a longer request begins with the unit.
    HotUnits {
        /// The stripe unit.
        unit: Sectors,
        /// The number of units in a group.
        period: u64,
        /// The number of hot units in a group.
        hot: u64,
        /// The fraction of requests to hot units.
        requests: f64,
    },
    /// A fraction of all requests goes to the first part of the space.
    Hot {
        /// The fraction of requests.
        requests: f64,
        /// The fraction of the space.
        places: f64,
    },
    /// Uniform within a part of the space, from the first fraction to the second.
    Within(f64, f64),
    /// The nth block with a probability proportional to 1/n^exponent. The blocks are scattered over
    /// the space.
    Zipf(f64),
    /// Sequential runs of requests; each run begins at a random position.
    Runs {
        /// The number of requests in a run.
        length: u64,
    },
}

/// A sequence of positions.
#[derive(Clone, Debug, PartialEq)]
pub struct Places {
    place: Place,
    space: Space,
    /// For runs: the next position, and the number of requests left.
    run: (Sector, u64),
}

/// Why positions are invalid.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum PlaceError {
    /// A number is not a fraction.
    #[error("{0} is no part: parts are above 0, and at most 1")]
    NoPart(f64),
    /// The exponent is invalid.
    #[error("{0} is no exponent of a zipf distribution: it is above 0, and at most 10")]
    NoExponent(f64),
    /// A run has no requests.
    #[error("a run has at least one request")]
    NoRun,
    /// The stripe unit is not a whole number of blocks.
    #[error("a stripe unit of {unit} sectors is no whole number of blocks of {block}")]
    NoUnit {
        /// The unit.
        unit: u64,
        /// The block.
        block: u64,
    },
    /// No unit is hot, or all are.
    #[error("{hot} hot units of {period}: at least one is hot, and at least one is not")]
    NoHotUnits {
        /// The number of hot units.
        hot: u64,
        /// The number of units in a group.
        period: u64,
    },
    /// The space is smaller than a stripe or a group.
    #[error("{space} sectors are less than one stripe of {stripe}")]
    NoStripe {
        /// The sectors of the space.
        space: u64,
        /// The sectors of a stripe.
        stripe: u64,
    },
}

impl Places {
    /// Positions in a space, aligned to its blocks.
    pub fn new(place: Place, space: &Space) -> Result<Places, PlaceError> {
        let part = |part: f64| (part > 0.0 && part <= 1.0).then_some(()).ok_or(PlaceError::NoPart(part));
        let stripe = |unit, units| stripe(space, unit, units);
        match &place {
            Place::Uniform => {}
            Place::Natural { stripe } => unit(space, *stripe)?,
            Place::Striped { unit, units } => stripe(*unit, *units)?,
            Place::HotUnits { unit, period, hot, requests } => {
                stripe(*unit, *period)?;
                if *hot == 0 || hot >= period {
                    return Err(PlaceError::NoHotUnits { hot: *hot, period: *period });
                }
                part(*requests)?;
            }
            Place::Hot { requests, places } => part(*requests).and(part(*places))?,
            Place::Within(from, _) if !(0.0..1.0).contains(from) => return Err(PlaceError::NoPart(*from)),
            Place::Within(from, to) => part(*to).and(part(to - from))?,
            Place::Zipf(exponent) if *exponent > 0.0 && *exponent <= 10.0 => {}
            Place::Zipf(exponent) => return Err(PlaceError::NoExponent(*exponent)),
            Place::Runs { length: 0 } => return Err(PlaceError::NoRun),
            Place::Runs { .. } => {}
        }
        Ok(Places { place, space: space.clone(), run: (Sector::ZERO, 0) })
    }

    /// The length of the longest request that fits into every volume.
    pub fn longest(&self) -> Sectors {
        self.space.longest()
    }

    /// The position of a request of this size. It ends within its volume if that has room for it.
    pub fn draw(&mut self, random: &mut Random, size: Sectors) -> Sector {
        let block = self.space.block().get();
        let blocks = self.space.length().get() / block;
        let last = blocks.saturating_sub(size.get().div_ceil(block));
        let number = match self.place {
            Place::Uniform => random.below(last + 1),
            Place::Natural { stripe } => {
                let to = size.min(stripe).max(self.space.block()).round_up(self.space.block()).get() / block;
                random.below(last / to + 1) * to
            }
            Place::Striped { unit, units } => {
                striped(random, size.get().div_ceil(block), unit.get() / block, units, blocks)
            }
            Place::HotUnits { unit, period, hot, requests } => {
                let hot = (period, hot, requests);
                hot_unit(random, size.get().div_ceil(block), unit.get() / block, hot, blocks)
            }
            Place::Hot { requests, places } => {
                let hot = ((blocks as f64 * places) as u64).clamp(1, last + 1);
                match random.happens(requests) || hot > last {
                    true => random.below(hot),
                    false => hot + random.below(last + 1 - hot),
                }
            }
            Place::Within(from, to) => {
                let first = ((blocks as f64 * from) as u64).min(last);
                let end = ((blocks as f64 * to) as u64).min(last + 1).max(first + 1);
                first + random.below(end - first)
            }
            Place::Zipf(exponent) => scattered(zipf(random, exponent, last + 1), last + 1),
            Place::Runs { length } => return self.next_of_run(random, size, length, last),
        };
        self.space.fit(Sector::new(number * block), size)
    }

    fn next_of_run(&mut self, random: &mut Random, size: Sectors, length: u64, last: u64) -> Sector {
        let ((next, left), block) = (self.run, self.space.block().get());
        let goes_on = left > 0 && next.get() <= last * block && self.space.fit(next, size) == next;
        let (at, left) = match goes_on {
            true => (next, left - 1),
            false => (self.space.fit(Sector::new(random.below(last + 1) * block), size), length - 1),
        };
        self.run = (at + size, left);
        at
    }
}

fn unit(space: &Space, unit: Sectors) -> Result<(), PlaceError> {
    let block = space.block();
    let whole = !unit.is_zero() && unit.is_multiple_of(block);
    whole.then_some(()).ok_or(PlaceError::NoUnit { unit: unit.get(), block: block.get() })
}

fn stripe(space: &Space, length: Sectors, units: u64) -> Result<(), PlaceError> {
    unit(space, length)?;
    let stripe = length.get().saturating_mul(units);
    let fits = units > 0 && stripe <= space.length().get();
    fits.then_some(()).ok_or(PlaceError::NoStripe { space: space.length().get(), stripe })
}

/// All in blocks: a request of at least a stripe begins or ends with one, a smaller one begins with
/// a unit.
fn striped(random: &mut Random, size: u64, unit: u64, units: u64, blocks: u64) -> u64 {
    let (stripe, last) = (unit * units, blocks.saturating_sub(size));
    if size < stripe {
        return random.below(last / unit + 1) * unit;
    }
    if random.happens(0.5) {
        return random.below(last / stripe + 1) * stripe;
    }
    // It ends with a stripe, at an end that is not before its own length.
    let (first, end) = (size.div_ceil(stripe), blocks / stripe);
    if first > end { 0 } else { (first + random.below(end - first + 1)) * stripe - size }
}

/// All in blocks: a position within a hot unit, or within another.
fn hot_unit(
    random: &mut Random,
    size: u64,
    unit: u64,
    (period, hot, requests): (u64, u64, f64),
    blocks: u64,
) -> u64 {
    let round = random.below(blocks / (unit * period));
    let number = match random.happens(requests) {
        true => random.below(hot),
        false => hot + random.below(period - hot),
    };
    let within = if size < unit { random.below(unit - size + 1) } else { 0 };
    (round * period + number) * unit + within
}

/// A rank from 0 on, below `count`, by inversion of the continuous distribution.
fn zipf(random: &mut Random, exponent: f64, count: u64) -> u64 {
    let (part, last) = (random.part_of_one(), count as f64 + 1.0);
    let rank = match (exponent - 1.0).abs() < 1e-9 {
        true => last.powf(part),
        false => {
            let power = 1.0 - exponent;
            (1.0 + part * (last.powf(power) - 1.0)).powf(power.recip())
        }
    };
    (rank as u64).clamp(1, count) - 1
}

/// Scatters ranks, so that consecutive ranks are far apart: a permutation of the numbers below
/// `count`.
fn scattered(rank: u64, count: u64) -> u64 {
    let mut step = ((count as f64 * 0.618_033_988_749_895) as u64).max(1);
    while gcd(step, count) != 1 {
        step += 1;
    }
    (u128::from(rank) * u128::from(step) % u128::from(count)) as u64
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn places(place: Place) -> Places {
        Places::new(place, &Space::new(Sectors::new(8_000), Sectors::new(8)).unwrap()).unwrap()
    }

    fn any_place() -> impl Strategy<Value = Place> {
        prop_oneof![
            Just(Place::Uniform),
            (1_u64..40).prop_map(|blocks| Place::Natural { stripe: Sectors::new(blocks * 8) }),
            (1_u64..20, 1_u64..20)
                .prop_map(|(blocks, units)| Place::Striped { unit: Sectors::new(blocks * 8), units }),
            (1_u64..20, 1_u64..10, 1_u64..10, 0.01..1.0).prop_map(|(blocks, hot, cold, requests)| {
                Place::HotUnits { unit: Sectors::new(blocks * 8), period: hot + cold, hot, requests }
            }),
            (0.01..1.0, 0.01..1.0).prop_map(|(requests, places)| Place::Hot { requests, places }),
            (0.0..0.5, 0.6..1.0).prop_map(|(from, to)| Place::Within(from, to)),
            (0.1..3.0).prop_map(Place::Zipf),
            (1_u64..20).prop_map(|length| Place::Runs { length }),
        ]
    }

    proptest! {
        #[test]
        fn requests_stay_within_the_space(place in any_place(), blocks in 1_u64..60, seed in any::<u64>()) {
            let (mut places, mut random) = (places(place), Random::new(seed));
            for _ in 0..50 {
                let at = places.draw(&mut random, Sectors::new(blocks * 8));
                prop_assert!(at.get() % 8 == 0 && at.get() + blocks * 8 <= 8_000, "{at:?}");
            }
        }

        #[test]
        fn requests_do_not_cross_from_one_volume_to_the_next(place in any_place(), blocks in 1_u64..60, seed in any::<u64>()) {
            let lengths = [Sectors::new(4_000), Sectors::new(480), Sectors::new(3_520)];
            let space = Space::volumes(&lengths, Sectors::new(8)).unwrap();
            let (mut places, mut random) = (Places::new(place, &space).unwrap(), Random::new(seed));
            for _ in 0..50 {
                let at = places.draw(&mut random, Sectors::new(blocks * 8)).get();
                let end = at + blocks * 8;
                prop_assert!(end <= 4_000 || (at >= 4_000 && end <= 4_480) || (at >= 4_480 && end <= 8_000), "{at}");
            }
        }

        #[test]
        fn scattering_is_a_permutation(count in 1_u64..500) {
            let mut all: Vec<u64> = (0..count).map(|rank| scattered(rank, count)).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn hot_places_get_their_part() {
        let (mut places, mut random) = (places(Place::Hot { requests: 0.8, places: 0.2 }), Random::new(1));
        let hot = (0..10_000).filter(|_| places.draw(&mut random, Sectors::new(8)).get() < 1_600).count();
        assert!((7_800..8_200).contains(&hot), "{hot}");
    }

    #[test]
    fn hot_units_get_their_part_each_as_much() {
        let unit = Sectors::new(40);
        let (mut places, mut random) =
            (places(Place::HotUnits { unit, period: 10, hot: 2, requests: 0.6 }), Random::new(1));
        let mut counts = [0; 10];
        for _ in 0..100_000 {
            let at = places.draw(&mut random, Sectors::new(16)).get();
            assert!(at % 40 + 16 <= 40, "{at} crosses a unit");
            counts[(at / 40 % 10) as usize] += 1;
        }
        assert!(counts[..2].iter().all(|count| (29_000..31_000).contains(count)), "{counts:?}");
        assert!(counts[2..].iter().all(|count| (4_700..5_300).contains(count)), "{counts:?}");
    }

    /// Chen et al., section 8.1.4: requests larger than a stripe begin or end with one.
    #[test]
    fn large_requests_begin_or_end_with_a_stripe_and_small_ones_begin_with_a_unit() {
        let (unit, units) = (Sectors::new(40), 5);
        let (mut places, mut random) = (places(Place::Striped { unit, units }), Random::new(1));
        let mut begin = 0;
        for _ in 0..10_000 {
            let at = places.draw(&mut random, Sectors::new(248)).get();
            begin += u32::from(at % 200 == 0);
            assert!(at % 200 == 0 || (at + 248) % 200 == 0, "{at}");
            assert_eq!(places.draw(&mut random, Sectors::new(16)).get() % 40, 0);
        }
        assert!((4_800..5_200).contains(&begin), "{begin}");
    }

    #[test]
    fn impossible_places_are_refused() {
        let space = Space::new(Sectors::new(8_000), Sectors::new(8)).unwrap();
        let error = |place| Places::new(place, &space).unwrap_err();
        assert_eq!(error(Place::Hot { requests: 0.5, places: 0.0 }), PlaceError::NoPart(0.0));
        let unit = Sectors::new(12);
        assert_eq!(error(Place::Striped { unit, units: 5 }), PlaceError::NoUnit { unit: 12, block: 8 });
        let unit = Sectors::new(2_000);
        assert_eq!(
            error(Place::Striped { unit, units: 5 }),
            PlaceError::NoStripe { space: 8_000, stripe: 10_000 }
        );
        let hot = Place::HotUnits { unit, period: 4, hot: 4, requests: 0.5 };
        assert_eq!(error(hot), PlaceError::NoHotUnits { hot: 4, period: 4 });
        assert_eq!(error(Place::Runs { length: 0 }), PlaceError::NoRun);
    }

    #[test]
    fn the_first_rank_of_a_zipf_distribution_is_the_most_likely() {
        let mut random = Random::new(1);
        let mut counts = [0; 100];
        (0..100_000).for_each(|_| counts[zipf(&mut random, 1.0, 100) as usize] += 1);
        assert!(counts[0] > 12_000 && counts[0] > 3 * counts[4] && counts[99] > 0, "{counts:?}");
    }

    #[test]
    fn runs_go_on_where_they_were() {
        let (mut places, mut random) = (places(Place::Runs { length: 4 }), Random::new(1));
        let drawn: Vec<u64> = (0..8).map(|_| places.draw(&mut random, Sectors::new(16)).get()).collect();
        let steps: Vec<bool> = drawn.windows(2).map(|pair| pair[1] == pair[0] + 16).collect();
        assert_eq!(steps, [true, true, true, false, true, true, true]);
    }
}
