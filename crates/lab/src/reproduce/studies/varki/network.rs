//! Simulates the network of figure 1 directly, without an array: siblings' service times are
//! independent random numbers.
//!
//! An array's siblings lie at the same position of each drive, so their times are not independent,
//! as the model assumes. This simulation shows the model's error when they are independent.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use parlour_model::order::Distribution;
use parlour_workload::random::Random;

use super::grid::{Cell, DISKS, Maximum, grid, mean};
use crate::reproduce::evidence::{Evidence, EvidenceError};
use crate::reproduce::study::{Finding, Study};

/// The requests of the warm-up, in thousandths of the counted requests.
const WARM_UP: u64 = 125;
/// The seed of the random numbers.
const SEED: u64 = 1;
/// The number of service times, each equally likely: quantiles at even distances.
const TIMES: usize = 4_096;

pub(super) fn numbers(study: Study) -> Study {
    study.number("va.6pct.iid", |evidence| {
        let found = Finding::simulated(error(evidence)?);
        Ok(found.noted(
            "here nothing but the network of figure 1 is simulated, with the drive's service times drawn each for itself: in an array siblings lie \
             at one place of each drive",
        ))
    })
}

/// The mean error of the model with the printed maximum, in percent. The number of counted requests
/// is that of the simulated array.
fn error(evidence: &Evidence) -> Result<f64, EvidenceError> {
    let cells = grid(evidence)?;
    let of_one_load = cells.chunk_by(|one, next| one.load == next.load).map(|cells| {
        let times = quantiles(&cells[0].load.times()?.unit);
        Ok(mean(cells.iter().map(|cell| (cell.model(Maximum::Printed) / response(cell, &times) - 1.0).abs())))
    });
    Ok(mean(of_one_load.collect::<Result<Vec<_>, EvidenceError>>()?) * 100.0)
}

fn quantiles(times: &Distribution) -> Vec<f64> {
    (0..TIMES).map(|number| times.quantile((number as f64 + 0.5) / TIMES as f64)).collect()
}

/// The mean response time with these service times, in milliseconds.
///
/// Requests are handled in the order of time, and each disk serves them in the order of arrival. So
/// the only state is the time at which each disk is free again.
fn response(cell: &Cell, times: &[f64]) -> f64 {
    let mut random = Random::new(SEED);
    let mut free = [0.0_f64; DISKS as usize];
    let mut ready: BinaryHeap<Reverse<Moment>> = (0..cell.processes).map(|_| Reverse(Moment(0.0))).collect();
    let warm_up = cell.requests * WARM_UP / 1_000;
    let mut sum = 0.0;
    for number in 0..warm_up + cell.requests {
        let Some(Reverse(Moment(asked))) = ready.pop() else { break };
        let first = random.below(u64::from(DISKS)) as usize;
        let last = (0..cell.load.siblings.get() as usize).fold(asked, |last, sibling| {
            let disk = &mut free[(first + sibling) % DISKS as usize];
            *disk = disk.max(asked) + times[random.below(TIMES as u64) as usize];
            last.max(*disk)
        });
        if number >= warm_up {
            sum += last - asked;
        }
        ready.push(Reverse(Moment(last + random.exponential(cell.think))));
    }
    sum / cell.requests as f64
}

/// A time with a total order, for the heap.
#[derive(Clone, Copy, Debug)]
struct Moment(f64);

impl PartialEq for Moment {
    fn eq(&self, other: &Moment) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Moment {}

impl PartialOrd for Moment {
    fn partial_cmp(&self, other: &Moment) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Moment {
    fn cmp(&self, other: &Moment) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::figures::Interval;
    use crate::reproduce::studies::varki::grid::Load;

    fn cell(siblings: u32, processes: u32, think: f64) -> Cell {
        let siblings = NonZeroU32::new(siblings).expect("there is one");
        let load = Load { size: String::new(), siblings, sectors: 1 };
        let simulated = Interval { mean: 1.0, interval: None };
        Cell { load, think, processes, requests: 100_000, simulated, model: [1.0; 4] }
    }

    fn near(ours: f64, wanted: f64) {
        assert!((ours / wanted - 1.0).abs() < 0.01, "{ours} instead of {wanted}");
    }

    #[test]
    fn a_single_process_waits_for_the_last_of_its_siblings() {
        // Two times, 1 and 3, are equally likely: the largest of four is 1 in one case of sixteen.
        near(response(&cell(4, 1, 5.0), &halves()), 3.0 - 2.0 / 16.0);
    }

    #[test]
    fn processes_that_are_on_all_disks_wait_for_one_another() {
        // Fixed times: each request waits for the two before it.
        near(response(&cell(24, 3, 0.0), &[2.0; TIMES]), 6.0);
    }

    fn halves() -> Vec<f64> {
        (0..TIMES).map(|number| if number % 2 == 0 { 1.0 } else { 3.0 }).collect()
    }
}
