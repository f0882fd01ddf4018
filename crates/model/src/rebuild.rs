//! The time of a rebuild beside the requests of hosts.
//!
//! A step of a rebuild reads a unit from each of k disks and writes what it computes to one more;
//! then the next step begins. Each of its reads waits for the accesses of hosts that are at its
//! disk. These k disks have queues of different lengths, and the step waits for the longest.
//!
//! While a disk is busy, the number of accesses that wait there is taken as in a closed network of
//! n like queues in which M accesses wait, of which each arrangement is as likely as any other:
//!
//! > P(q) ∝ yᵠ C(M − q + n − 2, n − 2).
//!
//! (With exponential times that is exact. With others, only the means that are given are.) y is how
//! much slower the disk is than others to the hosts, because the rebuild reads this one more than
//! others, like the copy of a mirrored disk.
//!
//! What the rebuild costs the hosts are [bursts](crate::bursts): its reads are on all k disks at
//! the same time.

use std::num::NonZeroU32;

use crate::order::{Distribution, DistributionError};

/// The time of an access, in ms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Time {
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
}

/// The accesses of hosts at each disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hosts {
    /// The mean number of accesses at a disk: waiting, or in service.
    pub at_disk: f64,
    /// The part of the time for which one is in service.
    pub busy: f64,
    /// The number of disks.
    pub disks: f64,
    /// The time of an access.
    pub access: Time,
}

/// A step of a rebuild.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The number of disks that are read: k.
    pub read: NonZeroU32,
    /// The time of each read.
    pub reading: Time,
    /// The time of the write.
    pub writing: Time,
    /// The number of disks of which those are that are read.
    pub among: f64,
}

/// The fraction of arrangements that is left out.
const RARE: f64 = 1e-9;

/// The longest queue.
const LONGEST: usize = 10_000;

/// The largest part of the time for which a rebuild reads a disk.
const MOST_READ: f64 = 0.95;

/// The number of rounds until steps and hosts' queues fit each other: each moves half way.
const ROUNDS: usize = 8;

/// The number of times that stand for a normal distribution.
const POINTS: u32 = 9;

impl Hosts {
    /// No accesses.
    pub const NONE: Hosts =
        Hosts { at_disk: 0.0, busy: 0.0, disks: 1.0, access: Time { mean: 0.0, deviation: 0.0 } };

    /// The probabilities that 0, 1, … accesses are at a disk that is slower than others by this
    /// factor.
    fn lengths(&self, slower: f64) -> Vec<f64> {
        if self.busy <= 0.0 {
            return vec![1.0];
        }
        let busy = self.busy.min(1.0);
        let waiting = waiting((self.at_disk / busy - 1.0).max(0.0), self.disks, slower);
        std::iter::once(1.0 - busy).chain(waiting.into_iter().map(|part| busy * part)).collect()
    }

    /// The time of an access behind those of the hosts.
    fn behind(&self, slower: f64, access: Time) -> Result<Distribution, DistributionError> {
        let Time { mean, deviation } = self.access;
        let variance = deviation * deviation;
        // Of the access in service a part is done: the rest is as with arrivals at random times.
        let variation = if mean > 0.0 { variance / (mean * mean) } else { 0.0 };
        let rest = mean * (1.0 + variation) / 2.0;
        let rest_variance = mean * mean * (1.0 + 3.0 * variation) / 3.0 - rest * rest;
        let mut points = Vec::new();
        for (length, probability) in self.lengths(slower).into_iter().enumerate() {
            let waiting = length.saturating_sub(1) as f64;
            let served = if length > 0 { 1.0 } else { 0.0 };
            let time = served * rest + waiting * mean + access.mean;
            let squares =
                served * rest_variance.max(0.0) + waiting * variance + access.deviation * access.deviation;
            let normal = Distribution::normal(time, squares.sqrt())?;
            for point in 0..POINTS {
                let part = (f64::from(point) + 0.5) / f64::from(POINTS);
                points.push((probability / f64::from(POINTS), normal.quantile(part).max(0.0)));
            }
        }
        Distribution::weighted(points.into_iter())
    }
}

/// The probabilities that 0, 1, … accesses wait at a busy disk, where `mean` wait at each in the
/// mean, and one is `slower` than others by this factor.
fn waiting(mean: f64, disks: f64, slower: f64) -> Vec<f64> {
    if disks <= 1.0 {
        // All that wait are there.
        let all = (mean.round() as usize).min(LONGEST);
        return (0..=all).map(|length| if length == all { 1.0 } else { 0.0 }).collect();
    }
    let all = disks * mean;
    let more = |length: f64| slower * (all - length) / (all + disks - 2.0 - length).max(f64::MIN_POSITIVE);
    let (mut lengths, mut sum) = (vec![1.0], 1.0);
    while lengths.len() < LONGEST {
        let next = lengths[lengths.len() - 1] * more(lengths.len() as f64 - 1.0);
        if next.is_nan() || next < RARE * sum {
            break;
        }
        lengths.push(next);
        sum += next;
    }
    lengths.iter_mut().for_each(|part| *part /= sum);
    lengths
}

impl Step {
    /// The time from one step to the next, in ms, with these accesses of hosts at the disks that
    /// are read and at those that are written: as many as if nothing were rebuilt.
    ///
    /// # Errors
    /// A time is negative, or not finite.
    pub fn time(&self, read: &Hosts, written: &Hosts) -> Result<f64, DistributionError> {
        let writing = written.behind(1.0, self.writing)?.mean();
        let beside = |slower: f64| -> Result<f64, DistributionError> {
            Ok(read.behind(slower, self.reading)?.expected_maximum(self.read) + writing)
        };
        let mut time = beside(1.0)?;
        // The hosts' queues depend on how often the rebuild reads.
        for _ in 0..ROUNDS {
            time = f64::midpoint(time, beside(self.slower(read, time))?);
        }
        Ok(time)
    }

    /// How much slower than others a disk is that is read, to hosts, if a step takes this time.
    fn slower(&self, hosts: &Hosts, time: f64) -> f64 {
        let disks = hosts.disks;
        let (read, among) = (f64::from(self.read.get()), self.among.min(disks));
        let busy = (self.reading.mean * read / among / time).min(MOST_READ);
        (1.0 - busy * among / disks) / (1.0 - busy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Time = Time { mean: 20.0, deviation: 0.0 };

    fn step(read: u32, among: u32) -> Step {
        let read = NonZeroU32::new(read).expect("some");
        let writing = Time { mean: 10.0, deviation: 0.0 };
        Step { read, reading: READ, writing, among: among.into() }
    }

    fn time(step: Step, hosts: Hosts) -> f64 {
        step.time(&hosts, &Hosts::NONE).expect("all times are sound")
    }

    #[test]
    fn without_hosts_a_step_takes_as_long_as_a_read_and_a_write() {
        assert!((time(step(10, 10), Hosts::NONE) - 30.0).abs() < 1e-9);
    }

    #[test]
    fn the_longest_of_several_queues_is_waited_for() {
        let access = Time { mean: 20.0, deviation: 20.0 };
        let hosts = Hosts { at_disk: 1.0, busy: 0.5, disks: 100.0, access };
        // Exponential times of 20 ms and a read, of which one waits for one in the mean.
        let one = time(step(1, 100), hosts);
        assert!((one - 50.0).abs() < 1.0, "{one}");
        let longest = time(step(10, 100), hosts);
        assert!(longest > one + 40.0, "{longest}");
    }

    #[test]
    fn all_accesses_wait_at_an_only_disk() {
        let hosts = Hosts { at_disk: 4.0, busy: 1.0, disks: 1.0, access: READ };
        assert_eq!(hosts.lengths(1.0), [0.0, 0.0, 0.0, 0.0, 1.0]);
    }

    #[test]
    fn few_disks_with_few_accesses_have_no_long_queues() {
        let access = Time { mean: 20.0, deviation: 5.0 };
        let many = Hosts { at_disk: 3.0, busy: 0.75, disks: 100.0, access };
        let few = Hosts { disks: 4.0, ..many };
        let mean = |hosts: Hosts| {
            hosts.lengths(1.0).iter().enumerate().map(|(length, part)| length as f64 * part).sum::<f64>()
        };
        assert!((mean(many) - 3.0).abs() < 1e-3 && (mean(few) - 3.0).abs() < 1e-3);
        assert!(time(step(4, 4), few) < time(step(4, 4), many));
    }

    #[test]
    fn hosts_gather_at_the_disk_that_is_read_more_than_others() {
        let access = Time { mean: 20.0, deviation: 5.0 };
        let hosts = Hosts { at_disk: 3.0, busy: 0.8, disks: 6.0, access };
        let (always, in_turn) = (time(step(1, 1), hosts), time(step(1, 6), hosts));
        assert!(always > 1.2 * in_turn, "{always}, {in_turn}");
    }
}
