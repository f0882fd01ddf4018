//! The distribution of seek and rotation together.

use parlour_drive::mechanics::{Mechanics, Way};
use parlour_units::Duration;

use super::moments::{Moments, milliseconds};
use super::seek::Span;
use crate::order::{Distribution, DistributionError};

/// The time until something wanted passes: uniform between two times, in ms. If the heads arrive
/// among wanted sectors, it is the time of the access in addition to its transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// The shortest.
    pub from: f64,
    /// The longest.
    pub to: f64,
}

impl Latency {
    /// Its mean and variance.
    pub(super) fn moments(&self) -> Moments {
        let width = self.to - self.from;
        Moments { mean: (self.from + self.to) / 2.0, variance: width * width / 12.0 }
    }
}

/// The distribution of the time of the arm between two random positions: times in increasing order,
/// and their probabilities.
#[derive(Clone, Debug, PartialEq)]
pub struct Positioning {
    /// Times in ms; the cumulative probability; and the cumulative sum of times, weighted by their
    /// probabilities.
    times: Vec<(f64, f64, f64)>,
    seek: Moments,
}

/// The bins of a distribution: each is a thousandth of the longest time.
const BINS: usize = 1_000;
/// The most distances that are distinguished; of more, neighbours are combined.
const MOST_DISTANCES: usize = 4_096;

impl Positioning {
    /// Over the cylinders of a span. No movement is shorter than `least` ms.
    pub(super) fn new(mechanics: &Mechanics, span: &Span, way: Way, least: f64) -> Positioning {
        Positioning::over(mechanics, &span.distances(), way, least)
    }

    /// Over distances with these probabilities.
    pub(super) fn over(mechanics: &Mechanics, distances: &[f64], way: Way, least: f64) -> Positioning {
        let stride = distances.len().div_ceil(MOST_DISTANCES);
        let heads = mechanics.surface.zones().first().map_or(1.0, |zone| zone.shape.heads as f64);
        let settle = match way {
            Way::Read => 0.0,
            Way::Write => mechanics.write_settle.nanoseconds as f64 / 1e6,
        };
        let time = |moving: Duration| match moving > Duration::ZERO {
            true => (milliseconds(moving) + settle).max(least),
            false => least,
        };
        let mut likely = Vec::with_capacity(2 * distances.len().min(MOST_DISTANCES) + 2);
        // Distance zero, which takes no time, is separate.
        likely.push((time(Duration::ZERO), distances[0] / heads));
        likely.push((time(mechanics.head_switch), distances[0] * (1.0 - 1.0 / heads)));
        for (number, parts) in distances[1..].chunks(stride).enumerate() {
            let (middle, part) = (1 + number * stride + parts.len() / 2, parts.iter().sum::<f64>());
            let seek = mechanics.seek.time(middle as u32);
            likely.push((time(seek), part / heads));
            likely.push((time(seek.max(mechanics.head_switch)), part * (1.0 - 1.0 / heads)));
        }
        let seek = Moments::mixed(likely.iter().map(|(time, part)| (*part, Moments::fixed(*time))));
        likely.sort_by(|a, b| a.0.total_cmp(&b.0));
        let sum = |(parts, sum): &mut (f64, f64), (time, part): (f64, f64)| {
            (*parts, *sum) = (*parts + part, *sum + part * time);
            Some((time, *parts, *sum))
        };
        Positioning { times: likely.into_iter().scan((0.0, 0.0), sum).collect(), seek }
    }

    /// For an arm that need not move.
    pub(super) fn at_once() -> Positioning {
        Positioning { times: vec![(0.0, 1.0, 0.0)], seek: Moments::default() }
    }

    /// The seek time alone.
    pub(super) fn seek(&self) -> Moments {
        self.seek
    }

    /// The probability of at most `time`, and its integral up to there.
    fn seeks_within(&self, time: f64) -> (f64, f64) {
        match self.times.partition_point(|(seek, ..)| *seek <= time) {
            0 => (0.0, 0.0),
            count => {
                let (_, part, sum) = self.times[count - 1];
                (part, part * time - sum)
            }
        }
    }

    /// The probability that something wanted passes within `time`.
    fn within(&self, time: f64, latency: Latency) -> f64 {
        let ((part, now), (_, before)) =
            (self.seeks_within(time - latency.from), self.seeks_within(time - latency.to));
        if latency.to > latency.from { (now - before) / (latency.to - latency.from) } else { part }
    }

    /// The distribution of the whole time: latencies with the times after them, in ms, each with
    /// its weight.
    pub(super) fn distribution(
        &self,
        cases: &[(f64, Latency, f64)],
    ) -> Result<Distribution, DistributionError> {
        let seeks = |index: usize| self.times[index].0;
        let ends = cases.iter().map(|(_, latency, rest)| [latency.from + rest, latency.to + rest]);
        let wider = |[least, most]: [f64; 2], [from, to]: [f64; 2]| [least.min(from), most.max(to)];
        let [least, most] = ends.fold([f64::INFINITY, 0.0], wider);
        let (least, most) = (least + seeks(0), most + seeks(self.times.len() - 1));
        let edges: Vec<f64> =
            (0..=BINS).map(|bin| least + (most - least) * bin as f64 / BINS as f64).collect();
        let below = |edge: &f64| -> f64 {
            cases.iter().map(|(weight, latency, rest)| weight * self.within(edge - rest, *latency)).sum()
        };
        let below: Vec<f64> = edges.iter().map(below).collect();
        let counts: Vec<f64> = below.windows(2).map(|pair| (pair[1] - pair[0]).max(0.0)).collect();
        Distribution::histogram(&edges, &counts)
    }
}
