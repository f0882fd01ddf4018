//! What requests do: their own accesses to data, and the seeks before them.

use parlour_drive::mechanics::Way;

use super::drive::{Order, Sweep};
use super::{Drive, Entries, Load, Stream};
use crate::bursts::Later;
use crate::fork_join::{Phase, Undisturbed};

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

/// The order of places in which requests begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Begun {
    Anywhere,
    /// So many begin while the places are gone through once.
    InOrder(f64),
}

/// A request's own accesses to data.
pub(super) struct Own {
    pub(super) accesses: f64,
    /// Those of them that read.
    reads: f64,
    /// The number of their disks: those whose sectors are read and then written count once.
    pub(super) needed: f64,
    /// Their mean time, and its coefficient of variation.
    pub(super) service: f64,
    pub(super) variation: f64,
    /// Requests under way, on so many disks.
    processes: f64,
    disks: f64,
}

/// By how much seeks are longer than those between random places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MoreSeek {
    read: f64,
    write: f64,
}

/// Accesses a ms that move a disk's head.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Moves {
    /// Entries that come to the disk.
    pub(super) entries: f64,
    /// Requests that begin, on all disks.
    pub(super) requests: f64,
    /// To logs and parity.
    pub(super) away: f64,
}

impl Own {
    pub(super) fn of(writes: &Writes) -> Own {
        let over = |value: fn(&Phase) -> f64| -> f64 {
            writes.phases.iter().map(|phase| phase.visits * f64::from(phase.siblings) * value(phase)).sum()
        };
        let accesses = over(|_| 1.0);
        let service = ratio(over(|phase| phase.service), accesses);
        Own {
            accesses,
            reads: over(|phase| if phase.way == Way::Read { 1.0 } else { 0.0 }),
            needed: over(|phase| 1.0 - phase.undisturbed.map_or(0.0, |times| times.again)),
            service,
            variation: ratio(over(|phase| phase.deviation), accesses * service),
            processes: writes.processes.into(),
            disks: writes.disks.into(),
        }
    }

    /// The mean time of all accesses of a request together.
    pub(super) fn time(&self, more: MoreSeek) -> f64 {
        self.accesses * self.service + self.reads * more.read + (self.accesses - self.reads) * more.write
    }

    /// Finds out where heads are, and the seeks that follow from it.
    pub(super) fn seeks(
        &self,
        drive: &Drive,
        load: &mut Load,
        places: Begun,
        (stream, entries): (&Stream, &Entries),
        moves: Moves,
    ) -> MoreSeek {
        // A write where the same request has read does not move the head, if the disk was idle.
        let again = (self.accesses - self.needed) * load.busy;
        let data = moves.requests * (self.needed + again) / self.disks;
        // As many heads come to the journal as leave it.
        let came = moves.entries * entries.moved / f64::from(stream.copies);
        load.there = f64::midpoint(load.there, ratio(came, data + moves.away).min(1.0));
        let away = ratio(moves.away, data + moves.away);
        let [read, write] = [self.reads_in(places), self.writes_in(places, (stream, entries))];
        load.order = write;
        let more = |order| drive.more_seek(order, load.there, away);
        MoreSeek { read: more(read), write: more(write) }
    }

    /// The order of the accesses that read: that in which requests begin.
    fn reads_in(&self, places: Begun) -> Order {
        let Begun::InOrder(begun) = places else { return Order::Random };
        self.sweep(self.reads, ratio(self.disks, self.reads * begun))
    }

    /// The order of the accesses that write, when the entry of their request is durable. What all
    /// lanes hold is answered in any order: two of it are a third of that apart in the mean.
    fn writes_in(&self, places: Begun, (stream, entries): (&Stream, &Entries)) -> Order {
        let Begun::InOrder(begun) = places else { return Order::Random };
        let writes = self.accesses - self.reads;
        let in_lanes = (f64::from(stream.lanes) * entries.writes).min(self.processes);
        self.sweep(writes, ratio(self.disks, writes * begun).max(in_lanes / begun / 3.0))
    }

    /// So many accesses of each request, this far apart.
    ///
    /// Each disk serves in the order of arrival. What was begun together is read one after the
    /// other, and then written: the arm goes from the one to the other once for all that is under
    /// way.
    fn sweep(&self, accesses: f64, apart: f64) -> Order {
        let turns = if self.reads > 0.0 { ratio(self.disks, accesses * self.processes) } else { 0.0 };
        Order::Sweep(Sweep { apart: apart.min(1.0 / 3.0), begins: turns.min(1.0) })
    }
}

impl MoreSeek {
    /// The phase with this. If it follows another one at the same place, an entry of the request is
    /// between them, which may take the disk itself.
    pub(super) fn before(self, phase: &Phase, entries: &Entries) -> Phase {
        let more = if phase.way == Way::Read { self.read } else { self.write };
        let (service, last) = (phase.service + more, phase.last + more);
        let undisturbed = phase.undisturbed.map(|times| Undisturbed {
            service: times.service + entries.taking * (service - times.service),
            last: times.last + (1.0 - (1.0 - entries.taking).powf(phase.again())) * (last - times.last),
            after: entries.delay,
            ..times
        });
        Phase { service, last, undisturbed, ..*phase }
    }
}

pub(super) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
