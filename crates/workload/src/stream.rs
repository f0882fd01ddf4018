//! Single random requests: kind, length and position.

use std::num::NonZeroU16;

use parlour_units::Duration;

use crate::place::Places;
use crate::random::Random;
use crate::size::Sizes;
use crate::task::{Ask, Kind, Stretch, Task, Way};

/// A sort of requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Sort {
    /// The weight of this sort among the requests.
    pub weight: f64,
    /// The fraction of reads; the others are writes.
    pub reads: f64,
    /// The lengths.
    pub sizes: Sizes,
}

/// Writing back data that was read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Back {
    /// The fraction of reads that are written back.
    pub part: f64,
    /// The time from the answer to the write.
    pub after: Duration,
}

/// A sequence of requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    sorts: Vec<Sort>,
    /// The cumulative weights.
    weights: Vec<f64>,
    places: Places,
    back: Option<Back>,
}

/// Why a stream is invalid.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum StreamError {
    /// It has no sort of requests.
    #[error("a stream has at least one sort of requests")]
    Empty,
    /// A number is not a weight.
    #[error("{0} is no weight: weights are positive")]
    NoWeight(f64),
    /// A number is not a fraction.
    #[error("{0} is no part of all: parts are from 0 to 1")]
    NoPart(f64),
    /// The requests are longer than a volume.
    #[error(
        "requests of up to {most} sectors do not fit a volume of {longest}; make the sizes' upper end smaller"
    )]
    TooLong {
        /// The longest request.
        most: u64,
        /// The longest request that fits.
        longest: u64,
    },
}

/// Checks a fraction.
pub(crate) fn part(part: f64) -> Result<(), StreamError> {
    if (0.0..=1.0).contains(&part) { Ok(()) } else { Err(StreamError::NoPart(part)) }
}

impl Stream {
    /// Requests with one distribution of sizes, of which a fraction are reads.
    pub fn new(reads: f64, sizes: Sizes, places: Places) -> Result<Stream, StreamError> {
        Stream::mixed(vec![Sort { weight: 1.0, reads, sizes }], places)
    }

    /// Requests of several sorts, such as an airline's (Stodolsky et al., figure 26).
    pub fn mixed(sorts: Vec<Sort>, places: Places) -> Result<Stream, StreamError> {
        let (mut weights, mut sum) = (Vec::with_capacity(sorts.len()), 0.0);
        let longest = places.longest();
        for sort in &sorts {
            if sort.weight <= 0.0 || !sort.weight.is_finite() {
                return Err(StreamError::NoWeight(sort.weight));
            }
            part(sort.reads)?;
            if sort.sizes.most() > longest {
                return Err(StreamError::TooLong { most: sort.sizes.most().get(), longest: longest.get() });
            }
            sum += sort.weight;
            weights.push(sum);
        }
        if sorts.is_empty() {
            return Err(StreamError::Empty);
        }
        Ok(Stream { sorts, weights, places, back: None })
    }

    /// The same, but a part of the data that was read is written back; its old content is then
    /// known.
    pub fn written_back(self, back: Back) -> Result<Stream, StreamError> {
        part(back.part)?;
        Ok(Stream { back: Some(back), ..self })
    }

    /// Draws the next request.
    pub fn next(&mut self, random: &mut Random) -> Ask {
        let sort = match &self.sorts[..] {
            [sort] => sort,
            sorts => {
                let at = random.part_of_one() * self.weights[sorts.len() - 1];
                &sorts[self.weights.partition_point(|weight| *weight <= at).min(sorts.len() - 1)]
            }
        };
        let length = sort.sizes.draw(random);
        let at = self.places.draw(random, length);
        let kind = if random.happens(sort.reads) { Kind::Read } else { Kind::Write };
        Ask { kind, at, length }
    }

    /// Draws the next request, and the one that follows from it.
    pub(crate) fn begin(&mut self, random: &mut Random) -> Task {
        let ask @ Ask { kind, at, length } = self.next(random);
        match self.back {
            Some(Back { part, after }) if kind == Kind::Read => {
                let way = Way::Back { after, part };
                Task::through(Stretch { at, length, part: length, at_once: NonZeroU16::MIN, way })
            }
            _ => Task::once(ask),
        }
    }

    pub(crate) fn writes_back(&self) -> bool {
        self.back.is_some()
    }
}

#[cfg(test)]
mod tests {
    use parlour_units::Sectors;

    use super::*;
    use crate::place::Place;
    use crate::size::Size;
    use crate::space::Space;

    const KIB: f64 = 2.0;

    fn places() -> Places {
        let space = Space::new(Sectors::new(1 << 24), Sectors::new(1)).unwrap();
        Places::new(Place::Natural { stripe: Sectors::new(48) }, &space).unwrap()
    }

    fn fixed(kib: f64) -> Sizes {
        Sizes::new(Size::Fixed(kib * KIB), Sectors::new(1), Sectors::new(1), Sectors::new(48)).unwrap()
    }

    /// Stodolsky et al., figure 26.
    #[test]
    fn an_airlines_requests_are_on_their_natural_boundaries_and_have_its_means() {
        let sort = |reads, weight, kib| Sort { weight, reads, sizes: fixed(kib) };
        let sorts = vec![
            sort(1.0, 20.0, 1.0),
            sort(1.0, 20.0, 2.0),
            sort(1.0, 33.0, 4.0),
            sort(1.0, 9.0, 24.0),
            sort(0.0, 9.0, 1.0),
            sort(0.0, 7.0, 8.0),
            sort(0.0, 2.0, 24.0),
        ];
        let (mut stream, mut random) = (Stream::mixed(sorts, places()).unwrap(), Random::new(1));
        let (mut reads, mut writes) = ((0_u32, 0), (0_u32, 0));
        for _ in 0..200_000 {
            let ask = stream.next(&mut random);
            assert!(ask.at.get().is_multiple_of(ask.length.get()), "{ask:?}");
            let sums = if ask.kind == Kind::Read { &mut reads } else { &mut writes };
            *sums = (sums.0 + 1, sums.1 + ask.length.get());
        }
        let mean = |(count, sum): (u32, u64)| sum as f64 / KIB / f64::from(count);
        assert!((f64::from(reads.0) / 2e5 - 0.82).abs() < 0.005);
        // As listed, 4.98 and 6.28 KB; the text says 4.61 and 5.71.
        assert!((mean(reads) / (408.0 / 82.0) - 1.0).abs() < 0.01);
        assert!((mean(writes) / (113.0 / 18.0) - 1.0).abs() < 0.02);
    }

    #[test]
    fn what_was_read_is_written_back_as_often_as_it_says() {
        let back = Back { part: 0.1, after: Duration::ZERO };
        let mut stream = Stream::new(1.0, fixed(8.0), places()).unwrap().written_back(back).unwrap();
        let mut random = Random::new(1);
        let written = (0..20_000).filter(|_| {
            let mut task = stream.begin(&mut random);
            let read = task.next_ask().expect("it reads");
            task.answered(&read, &mut random).is_some_and(|(_, write)| write.at == read.at)
        });
        assert!((1_850..2_150).contains(&written.count()));
    }

    #[test]
    fn impossible_streams_are_refused() {
        assert_eq!(Stream::new(1.5, fixed(8.0), places()), Err(StreamError::NoPart(1.5)));
        assert_eq!(Stream::mixed(vec![], places()), Err(StreamError::Empty));
        let space = Space::new(Sectors::new(32), Sectors::new(1)).unwrap();
        let few = Places::new(Place::Uniform, &space).unwrap();
        let error = Stream::new(1.0, fixed(8.0), few).unwrap_err();
        assert_eq!(error, StreamError::TooLong { most: 48, longest: 32 });
    }
}
