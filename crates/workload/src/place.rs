//! Where a request goes.

use parlour_units::{Sector, Sectors};

use crate::random::Random;

/// A distribution of places.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// Anywhere, aligned to the block.
    Uniform,
    /// Anywhere, aligned to the request's own size, or to a stripe where it is larger (Chen et al., section 6).
    Aligned {
        /// What large requests are aligned to.
        stripe: Sectors,
    },
    /// A part of all requests goes to a part of all places, the first.
    Hot {
        /// Of requests.
        requests: f64,
        /// Of places.
        places: f64,
    },
    /// Within a stretch: from this part of all places to that.
    Within(f64, f64),
    /// The nth block with a probability of 1/n^exponent; the blocks stand all over, not side by side.
    Zipf(f64),
    /// One after the other, so many requests in a row; then somewhere else.
    Runs {
        /// Requests in a row.
        length: u64,
    },
}

/// Places, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Places {
    place: Place,
    space: Sectors,
    block: Sectors,
    /// Of runs: where the next one goes, and how many are left.
    run: (Sector, u64),
}

/// Why places cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum PlaceError {
    /// No part of anything.
    #[error("{0} is no part: parts are above 0, and at most 1")]
    NoPart(f64),
    /// An exponent that is none.
    #[error("{0} is no exponent of a zipf distribution: it is above 0, and at most 10")]
    NoExponent(f64),
    /// Nothing comes in a row.
    #[error("a run has at least one request")]
    NoRun,
    /// There is no room.
    #[error("{space} sectors have no room for a block of {block}")]
    NoRoom {
        /// Sectors that there are.
        space: u64,
        /// What is to fit.
        block: u64,
    },
}

impl Places {
    /// Places in `space`, each aligned to `block`.
    pub fn new(place: Place, space: Sectors, block: Sectors) -> Result<Places, PlaceError> {
        let part = |part: f64| (part > 0.0 && part <= 1.0).then_some(()).ok_or(PlaceError::NoPart(part));
        match &place {
            Place::Uniform | Place::Aligned { .. } => {}
            Place::Hot { requests, places } => part(*requests).and(part(*places))?,
            Place::Within(from, _) if !(0.0..1.0).contains(from) => return Err(PlaceError::NoPart(*from)),
            Place::Within(from, to) => part(*to).and(part(to - from))?,
            Place::Zipf(exponent) if *exponent > 0.0 && *exponent <= 10.0 => {}
            Place::Zipf(exponent) => return Err(PlaceError::NoExponent(*exponent)),
            Place::Runs { length: 0 } => return Err(PlaceError::NoRun),
            Place::Runs { .. } => {}
        }
        if block.is_zero() || space < block {
            return Err(PlaceError::NoRoom { space: space.get(), block: block.get() });
        }
        Ok(Places { place, space, block, run: (Sector::ZERO, 0) })
    }

    /// Where a request of this size goes. It ends within the space if there is room for it at all.
    pub fn draw(&mut self, random: &mut Random, size: Sectors) -> Sector {
        let block = self.block.get();
        let blocks = self.space.get() / block;
        let last = blocks.saturating_sub(size.get().div_ceil(block));
        let number = match self.place {
            Place::Uniform => random.below(last + 1),
            Place::Aligned { stripe } => {
                let to = size.min(stripe).max(self.block).round_up(self.block).get() / block;
                random.below(last / to + 1) * to
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
        Sector::new(number * block)
    }

    fn next_of_run(&mut self, random: &mut Random, size: Sectors, length: u64, last: u64) -> Sector {
        let (next, left) = self.run;
        let fits = next.get() <= last * self.block.get();
        let at = if left > 0 && fits { next } else { Sector::new(random.below(last + 1) * self.block.get()) };
        let left = if left > 0 && fits { left - 1 } else { length - 1 };
        self.run = (at + size, left);
        at
    }
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

/// Ranks that follow one another stand far apart: a permutation of what is below `count`.
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
        Places::new(place, Sectors::new(8_000), Sectors::new(8)).unwrap()
    }

    fn any_place() -> impl Strategy<Value = Place> {
        prop_oneof![
            Just(Place::Uniform),
            (1_u64..40).prop_map(|blocks| Place::Aligned { stripe: Sectors::new(blocks * 8) }),
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
