//! Writes that are answered when an entry with them is durable, and go to their place later.
//!
//! Hosts and destages are two closed loads on the same disks. While a *batch* is destaged, as many
//! destages are under way as the array allows, or as are left of it, and entries wait behind their
//! accesses. What hosts ask for then, and what is destaged, says which of three states it is:
//!
//! - Hosts ask for more. Batches are as large as they may be, and hosts are slowed down to the pace
//!   of destages; what waits then goes out together.
//! - Hosts ask for less. A batch ends, and disks have only entries until a quarter of the stream is
//!   in use again.
//! - Hosts ask for less than large batches destage, and more than small ones do, which are sorted
//!   less: batches become as large as makes both equal.

use super::drive::Order;
use super::lanes::Shared;
use super::write_through::{Found, Other, Writes, fixed_point};
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

/// The largest part of the stream that a batch destages. The next one begins when half of it is
/// done; hosts may write 3/8 of the stream during a whole batch: an eighth of that at once, and the
/// rest evenly.
const LARGEST: f64 = 2.0 * 0.375 * (1.0 + 7.0 * 0.5) / 8.0;
/// A batch begins when this part of the stream is in use.
const QUARTER: f64 = 0.25;
/// The smallest one while there is always one. The oldest entry that is in use
/// was staged just after a batch began: half a batch waited for the next one, and a whole one was
/// destaged before the last of the entry.
const SMALLEST: f64 = QUARTER / 1.5;
/// What waits for room goes out together if there is room for this part of the stream.
const WORTH: f64 = 1.0 / 64.0;
/// The number of rounds: each moves half way.
const ROUNDS: usize = 24;
/// Halvings of the interval of the batch's size.
const HALVINGS: usize = 6;

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
    let together = f64::from(staging.processes).min(staging.holds.1 * WORTH).min(staging.stream.most);
    let batch = |size, together| Batch::of((drive, records, destages), staging, (size, together));
    let large = batch(LARGEST, None)?;
    let (throughput, utilization, measures) = if large.asked >= large.destaged() {
        // Hosts are slowed down to the pace of destages.
        let slowed = batch(LARGEST, Some(together))?;
        (slowed.destaged().min(slowed.asked.max(large.destaged())), slowed.busy(), slowed.found.measures)
    } else {
        let small = batch(QUARTER, None)?;
        if small.asked < small.destaged() {
            // A batch is under way for the part of the time in which it destages what is written.
            let idle = Idle::of(drive, staging, destages.disks);
            let part = (idle.rate / (small.destaged() - small.asked + idle.rate)).min(1.0);
            let mean = |batch: f64, idle: f64| part * batch + (1.0 - part) * idle;
            (mean(small.asked, idle.rate), mean(small.busy(), idle.busy), small.found.measures)
        } else {
            // Batches are as large as they must be to destage what hosts write.
            let (mut low, mut high, mut found) = (SMALLEST, LARGEST, small);
            for _ in 0..HALVINGS {
                let middle = (low * high).sqrt();
                found = batch(middle, None)?;
                if found.asked < found.destaged() { high = middle } else { low = middle }
            }
            (found.destaged().min(found.asked), found.busy(), found.found.measures)
        }
    };
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

/// Disks with entries alone.
struct Idle {
    rate: f64,
    busy: f64,
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
                entries: 1.0,
                order: Order::Random,
            };
        }
        Idle { rate, busy: load.busy }
    }
}

/// Disks with destages and entries.
struct Batch {
    found: Found,
    /// What hosts would write, a second.
    asked: f64,
}

impl Batch {
    /// A batch of this part of the stream. `together` is the number of writes of an entry if hosts
    /// are slowed down to the pace of destages; otherwise as many share one as come.
    fn of(
        (drive, records, destages): (&Drive, &Stream, &Writes),
        staging: &Staging,
        (size, together): (f64, Option<f64>),
    ) -> Result<Batch, NetworkError> {
        let Staging { stream, holds, processes, think } = staging;
        let disks = f64::from(destages.disks);
        let (mut rate, mut other) = (0.0, Other::default());
        let mut entries =
            stream.entries(drive, 0.0, Load { disks: destages.disks, ..Load::default() }, Entries::default());
        let (mut asked, mut found) = (0.0, Found::default());
        for _ in 0..ROUNDS {
            let held = 1.0 / (1.0 / holds.1 + (1.0 / holds.0 - 1.0 / holds.1) / entries.writes);
            let batch = held * size;
            // When half of a batch is done, that half may be all that is left and under way.
            let most = f64::from(destages.processes).min(batch);
            let under_way = most.min(f64::midpoint(batch / 2.0, most)).max(1.0);
            let order = Order::Sweep((under_way / batch).min(1.0));
            let destages = Writes { processes: under_way.round() as u32, ..destages.clone() };
            found = fixed_point(drive, records, &destages, order, other)?;
            let of_others = rate / 1e3 * f64::from(processes - 1) / f64::from(*processes);
            entries = entries.half_way(match together {
                Some(writes) => stream.shared_by(Shared { writes, wait: 0.0 }, drive, found.load),
                None => stream.entries(drive, of_others, found.load, entries),
            });
            let free = f64::from(*processes) / (entries.delay + think) * 1e3;
            asked = f64::midpoint(asked, free * (1.0 - found.still));
            rate = f64::midpoint(rate, asked.min(found.measures.throughput));
            let begun = rate / 1e3 * f64::from(stream.copies) / entries.writes / disks;
            other = Other { beside: entries.beside(begun), queue: begun * entries.at_disk };
        }
        Ok(Batch { found, asked })
    }

    /// What is destaged, a second.
    fn destaged(&self) -> f64 {
        self.found.measures.throughput
    }

    fn busy(&self) -> f64 {
        self.found.load.busy
    }
}
