//! Writes that are answered when they are in their place, after an entry with their records.

use super::own::{Begun, Moves, Own, Writes, ratio};
use super::{Drive, Entries, Load, Stream};
use crate::bursts::{Choosing, Population};
use crate::fork_join::{Beside, Measures, Network, NetworkError};

/// The means of an array whose requests are answered then.
///
/// # Errors
/// The parameters are invalid.
pub fn write_through(drive: &Drive, stream: &Stream, writes: &Writes) -> Result<Measures, NetworkError> {
    Ok(fixed_point(drive, stream, writes, Begun::Anywhere, (Other::default(), None))?.measures)
}

/// The fixed point.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    pub(super) measures: Measures,
    pub(super) load: Load,
    entries: Entries,
    /// The part of the time for which processes stand still.
    pub(super) still: f64,
}

/// The number of rounds: each moves half way. Fewer are enough from near by.
const ROUNDS: usize = 30;
const ROUNDS_FROM_NEAR: usize = 5;

/// The entries of another stream, which are written meanwhile.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Other {
    pub(super) beside: Beside,
    /// The mean number of them at a disk.
    pub(super) queue: f64,
}

/// Looks for the throughput from which delays and other work follow that lead to it.
pub(super) fn fixed_point(
    drive: &Drive,
    stream: &Stream,
    writes: &Writes,
    places: Begun,
    (other, near): (Other, Option<Found>),
) -> Result<Found, NetworkError> {
    let disks = f64::from(writes.disks);
    // Of one process, no request comes while another is under way.
    let others = f64::from(writes.processes - 1) / f64::from(writes.processes);
    let own = Own::of(writes);
    let mut load = Load { disks: writes.disks, variation: own.variation, ..Load::default() };
    let mut entries = stream.entries(drive, 0.0, load, Entries::default());
    let (mut throughput, mut found, mut still) = (None, Measures::default(), 0.0);
    if let Some(near) = near {
        (load, entries, throughput) = (near.load, near.entries, Some(near.measures.throughput));
    }
    for _ in 0..if near.is_some() { ROUNDS_FROM_NEAR } else { ROUNDS } {
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
        let moves =
            Moves { entries: begun + other.beside.accesses, requests: rate, away: later.beside.accesses };
        let more = own.seeks(drive, &mut load, places, (stream, &entries), moves);
        // A request's own entry is before its writes: it meets those of others only.
        let met = entries.beside(begun * others) + later.beside + other.beside;
        let phases = writes.phases.iter().map(|phase| more.before(phase, &entries)).collect();
        let think = writes.think + writes.entries * entries.delay;
        let network = Network::of(writes.disks, phases, think)?.partly_served().beside(met);
        found = network.with(writes.processes)?;
        still = later.still;
        found.throughput *= 1.0 - still;
        let busy = (found.utilization + beside.busy - later.beside.busy) * (1.0 - later.still) + later.busy;
        load.busy = busy.min(1.0);
        // (Entries wait less than others, since they choose. A network that takes their work in its
        // queues as it finds it would have disks that are busy for more than all of the time.)
        found.throughput /= busy.max(1.0);
        load.queue = found.at_disk + begun * entries.at_disk + later.busy + other.queue;
        let all = rate * own.accesses / disks + begun + other.beside.accesses;
        let of_entries = begun * entries.service + other.beside.busy;
        let time = rate / disks * own.time(more) + of_entries;
        load.served = ratio(time, all);
        load.work = ratio(of_entries, time + later.busy);
        load.over = load.served * (1.0 - own.variation * own.variation).max(0.0) / 2.0;
        throughput = Some(throughput.map_or(found.throughput, |old| f64::midpoint(old, found.throughput)));
    }
    let throughput = throughput.unwrap_or_default();
    let response = f64::from(writes.processes) / throughput * 1e3 - writes.think;
    let queue = response * throughput / 1e3;
    let measures = Measures { throughput, response, queue, utilization: load.busy, ..found };
    Ok(Found { measures, load, entries, still })
}
