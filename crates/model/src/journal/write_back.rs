//! Writes that are answered when an entry with them is durable, and go to their place later.
//!
//! Hosts and destages are two closed loads on the same disks. For each number of destages under
//! way, a fixed point says how fast they are, and what hosts would stage beside them: entries wait
//! behind the destages' accesses. How many are under way follows from what is staged, which
//! [`cycle`](super::cycle) follows over time. The more of it there is, the nearer are the places of
//! two destages in a row.

use super::cycle::{Passed, QUARTER, Rates, Stage};
use super::drive::Order;
use super::lanes::Shared;
use super::own::{Begun, Writes};
use super::write_through::{Found, Other, fixed_point};
use super::{Drive, Entries, Load, Stream};
use crate::fork_join::{Measures, NetworkError};

/// How writes are staged.
#[derive(Clone, Debug, PartialEq)]
pub struct Staging {
    /// The stream of writes.
    pub stream: Stream,
    /// The writes that the stream holds, if each had an entry of its own, and if they took nothing
    /// but their payload.
    pub holds: (f64, f64),
    /// The number of processes.
    pub processes: u32,
    /// The time for which they think between requests.
    pub think: f64,
}

/// What waits for room goes out together if there is room for this part of the stream.
const WORTH: f64 = 1.0 / 64.0;
/// The number of rounds: each moves half way.
const ROUNDS: usize = 12;
/// The rounds in which the number of destages of a sweep is found.
const SWEEPS: usize = 3;
/// Between 1 and the most, the numbers of destages under way for which rates are computed grow by
/// this.
const FINE: f64 = 1.6;

/// The means of an array that writes back. `destages` are its destages: their processes are those
/// that are under way.
///
/// # Errors
/// The parameters are invalid.
pub fn write_back(
    drive: &Drive,
    records: &Stream,
    destages: &Writes,
    staging: &Staging,
) -> Result<Measures, NetworkError> {
    let idle = Idle::of(drive, staging, destages.disks);
    let (mut passed, mut found) = (Passed { in_sweep: staging.holds.1 / 4.0, ..Passed::default() }, None);
    for _ in 0..SWEEPS {
        let mut rates = vec![idle.rates(staging)];
        let at = |under_way, pace| {
            let places = Begun::InOrder(passed.in_sweep);
            Batch::of((drive, records, destages), staging, (under_way, places), pace)
        };
        for under_way in numbers(destages.processes) {
            let batch = if under_way < destages.processes {
                // The rest of a batch: nobody is slowed down then.
                at(under_way, Pace::Free)?
            } else {
                at_most(at, under_way)?
            };
            rates.push(batch.rates(staging));
            found = Some(batch.found);
        }
        let in_sweep = passed.in_sweep;
        passed = Stage { rates, phases: destages.phases.len() }.passed();
        passed.in_sweep = f64::midpoint(passed.in_sweep, in_sweep);
    }
    let (throughput, utilization) = (passed.staged * 1e3, passed.busy);
    let measures = found.map_or_else(Measures::default, |found| found.measures);
    let response = f64::from(staging.processes) / throughput * 1e3 - staging.think;
    Ok(Measures {
        processes: staging.processes,
        response,
        throughput,
        queue: response * throughput / 1e3,
        utilization,
        ..measures
    })
}

/// The most destages: hosts may be slowed down to their pace.
fn at_most(at: impl Fn(u32, Pace) -> Result<Batch, NetworkError>, most: u32) -> Result<Batch, NetworkError> {
    let batch = at(most, Pace::AsDestaged)?;
    if batch.asked < batch.destaged() {
        return Ok(batch);
    }
    Ok(Batch { asked: batch.asked, ..at(most, Pace::Together)? })
}

/// 1 to `most`, with gaps that grow.
fn numbers(most: u32) -> Vec<u32> {
    let mut numbers = vec![1_u32];
    while let Some(last) = numbers.last().copied().filter(|last| *last < most) {
        numbers.push(((f64::from(last) * FINE).round() as u32).clamp(last + 1, most));
    }
    numbers
}

/// Disks with entries alone.
struct Idle {
    rate: f64,
    busy: f64,
    entries: Entries,
}

impl Idle {
    fn of(drive: &Drive, staging: &Staging, disks: u32) -> Idle {
        let Staging { stream, processes, think, .. } = staging;
        let (mut rate, mut load) = (0.0, Load { disks, ..Load::default() });
        let mut entries = stream.entries(drive, 0.0, load, Entries::default());
        for _ in 0..ROUNDS {
            let of_others = rate / 1e3 * f64::from(processes - 1) / f64::from(*processes);
            entries = entries.half_way(stream.entries(drive, of_others, load, entries));
            rate = f64::midpoint(rate, f64::from(*processes) / (entries.delay + think) * 1e3);
            let begun = rate / 1e3 * f64::from(stream.copies) / entries.writes / f64::from(disks);
            load = Load {
                disks,
                busy: (begun * entries.service).min(1.0),
                queue: begun * entries.at_disk,
                served: entries.service,
                over: entries.service / 2.0,
                variation: 1.0 / 3.0,
                work: 1.0,
                there: 1.0,
                order: Order::Random,
            };
        }
        Idle { rate, busy: load.busy, entries }
    }

    fn rates(&self, staging: &Staging) -> Rates {
        Rates { asked: self.rate / 1e3, busy: self.busy, ..staging.rates(&self.entries) }
    }
}

impl Staging {
    /// What such entries take of the stream and its lanes.
    fn rates(&self, entries: &Entries) -> Rates {
        let ((alone, payload), lanes) = (self.holds, f64::from(self.stream.lanes));
        let takes = 1.0 / payload + (1.0 / alone - 1.0 / payload) / entries.writes.max(1.0);
        let in_lane = QUARTER / (takes * entries.writes * lanes);
        Rates { takes, fullest: self.stream.fullest(entries, in_lane), ..Rates::default() }
    }
}

/// How fast hosts stage what they ask for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pace {
    Free,
    /// Not faster than is destaged.
    AsDestaged,
    /// They are slowed down to that: what waits goes out together.
    Together,
}

/// Disks with so many destages under way, and entries.
struct Batch {
    under_way: u32,
    found: Found,
    /// What hosts would write, a second, and their entries.
    asked: f64,
    entries: Entries,
}

impl Batch {
    /// `under_way` destages, which begin at these places.
    fn of(
        (drive, records, destages): (&Drive, &Stream, &Writes),
        staging: &Staging,
        (under_way, places): (u32, Begun),
        pace: Pace,
    ) -> Result<Batch, NetworkError> {
        let Staging { stream, processes, think, holds } = staging;
        let disks = f64::from(destages.disks);
        let together = f64::from(*processes).min(holds.1 * WORTH).min(stream.most);
        let destages = Writes { processes: under_way, ..destages.clone() };
        let (mut rate, mut other, mut asked, mut near) = (0.0, Other::default(), 0.0, None);
        let mut found = Found::default();
        let mut load = Load { disks: destages.disks, ..Load::default() };
        let mut entries = stream.entries(drive, 0.0, load, Entries::default());
        for _ in 0..ROUNDS {
            found = fixed_point(drive, records, &destages, places, (other, near))?;
            near = Some(found);
            load = found.load;
            let of_others = rate / 1e3 * f64::from(processes - 1) / f64::from(*processes);
            entries = entries.half_way(match pace {
                Pace::Together => {
                    stream.shared_by(Shared { writes: together, ..Shared::default() }, drive, load)
                }
                _ => stream.entries(drive, of_others, load, entries),
            });
            let free = f64::from(*processes) / (entries.delay + think) * 1e3;
            asked = f64::midpoint(asked, free * (1.0 - found.still));
            let most = if pace == Pace::Free { f64::INFINITY } else { found.measures.throughput };
            rate = f64::midpoint(rate, asked.min(most));
            let begun = rate / 1e3 * f64::from(stream.copies) / entries.writes / disks;
            other = Other { beside: entries.beside(begun), queue: begun * entries.at_disk };
        }
        Ok(Batch { under_way, found, asked, entries })
    }

    /// What is destaged, a second.
    fn destaged(&self) -> f64 {
        self.found.measures.throughput
    }

    fn rates(&self, staging: &Staging) -> Rates {
        Rates {
            under_way: self.under_way.into(),
            destaged: self.destaged() / 1e3,
            asked: self.asked / 1e3,
            busy: self.found.load.busy,
            ..staging.rates(&self.entries)
        }
    }
}
