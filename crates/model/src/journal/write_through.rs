//! Writes that are answered when they are in their place, after an entry with their records.

use super::drive::Order;
use super::{Drive, Entries, Load, Stream};
use crate::bursts::{Choosing, Later, Population};
use crate::fork_join::{Beside, Measures, Network, NetworkError, Phase, Undisturbed};

/// What requests do, and who sends them.
#[derive(Clone, Debug, PartialEq)]
pub struct Writes {
    /// The number of disks.
    pub disks: u32,
    /// The accesses of a request, apart from entries.
    pub phases: Vec<Phase>,
    /// The mean number of entries for which a request waits.
    pub entries: f64,
    /// What a request causes later, apart from entries, over all disks.
    pub later: Later,
    /// The number of processes.
    pub processes: u32,
    /// The time for which they think between requests.
    pub think: f64,
}

/// The means of such an array.
///
/// # Errors
/// The parameters are invalid.
pub fn write_through(drive: &Drive, stream: &Stream, writes: &Writes) -> Result<Measures, NetworkError> {
    Ok(fixed_point(drive, stream, writes, Order::Random, Other::default())?.measures)
}

/// The fixed point.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    pub(super) measures: Measures,
    pub(super) load: Load,
    /// The part of the time for which processes stand still.
    pub(super) still: f64,
}

/// The number of rounds: each moves half way.
const ROUNDS: usize = 30;

/// The entries of another stream, which are written meanwhile.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Other {
    pub(super) beside: Beside,
    /// The mean number of them at a disk.
    pub(super) queue: f64,
}

/// Looks for the throughput from which delays and other work follow that lead to it. Accesses
/// to data are in this order.
pub(super) fn fixed_point(
    drive: &Drive,
    stream: &Stream,
    writes: &Writes,
    order: Order,
    other: Other,
) -> Result<Found, NetworkError> {
    let disks = f64::from(writes.disks);
    // Of one process, no request comes while another is under way.
    let others = f64::from(writes.processes - 1) / f64::from(writes.processes);
    let own = Own::of(writes);
    let mut load = Load { disks: writes.disks, order, ..Load::default() };
    let mut entries = stream.entries(drive, 0.0, load, Entries::default());
    let (mut throughput, mut found, mut still) = (None, Measures::default(), 0.0);
    for _ in 0..ROUNDS {
        let rate: f64 = throughput.unwrap_or(0.0) / 1e3;
        entries = entries.half_way(stream.entries(drive, rate * writes.entries * others, load, entries));
        let begun = rate * writes.entries * f64::from(stream.copies) / entries.writes / disks;
        let cycle = f64::from(writes.processes) / rate.max(f64::MIN_POSITIVE);
        let later = writes.later.felt(Population {
            rate,
            disks,
            needed: own.needed,
            cycle,
            service: own.service,
            choosing: Choosing { rate: begun * disks * entries.behind, most: stream.lanes },
        });
        let beside = entries.beside(begun) + later.beside + other.beside;
        load.entries = ratio(beside.accesses, beside.accesses + rate * own.accesses / disks);
        let more = drive.more_seek(order, load.entries);
        let phases = writes.phases.iter().map(|phase| delayed(phase, more, entries.delay)).collect();
        let think = writes.think + writes.entries * entries.delay;
        let network = Network::of(writes.disks, phases, think)?.partly_served().beside(beside);
        found = network.with(writes.processes)?;
        still = later.still;
        found.throughput *= 1.0 - still;
        load.busy = ((found.utilization + beside.busy - later.beside.busy) * (1.0 - later.still)
            + later.busy)
            .min(1.0);
        load.queue = found.at_disk + begun * entries.at_disk + later.busy + other.queue;
        let all = rate * own.accesses / disks + begun + other.beside.accesses;
        let service = own.service + more;
        let of_entries = begun * entries.service + other.beside.busy;
        load.served = ratio(rate * own.accesses / disks * service + of_entries, all);
        load.over = load.served * (1.0 - own.variation * own.variation).max(0.0) / 2.0;
        throughput = Some(throughput.map_or(found.throughput, |old| f64::midpoint(old, found.throughput)));
    }
    let throughput = throughput.unwrap_or_default();
    let response = f64::from(writes.processes) / throughput * 1e3 - writes.think;
    let queue = response * throughput / 1e3;
    let measures = Measures { throughput, response, queue, utilization: load.busy, ..found };
    Ok(Found { measures, load, still })
}

/// A request's own accesses to data.
struct Own {
    accesses: f64,
    /// The number of their disks: those whose sectors are read and then written count once.
    needed: f64,
    /// Their mean time, and its coefficient of variation.
    service: f64,
    variation: f64,
}

impl Own {
    fn of(writes: &Writes) -> Own {
        let over = |value: fn(&Phase) -> f64| -> f64 {
            writes.phases.iter().map(|phase| phase.visits * f64::from(phase.siblings) * value(phase)).sum()
        };
        let accesses = over(|_| 1.0);
        let service = ratio(over(|phase| phase.service), accesses);
        let again = |phase: &Phase| if phase.undisturbed.is_some() { 0.0 } else { 1.0 };
        let needed = over(again);
        Own { accesses, needed, service, variation: ratio(over(|phase| phase.deviation), accesses * service) }
    }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// A phase of data with `more` seek. If it follows another one at the same place, an entry that
/// takes `delay` is between them.
fn delayed(phase: &Phase, more: f64, delay: f64) -> Phase {
    let undisturbed = phase.undisturbed.map(|times| Undisturbed { after: delay, ..times });
    Phase { service: phase.service + more, last: phase.last + more, undisturbed, ..*phase }
}
