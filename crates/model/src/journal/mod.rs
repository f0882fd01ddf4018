//! An array whose writes wait for an entry of a journal on its members.
//!
//! A closed network of queues as in [`fork_join`](crate::fork_join), in which entries are
//!
//! - a *delay* of each write: the time until a lane is free ([`lanes`]), and that of the entry,
//! - *other accesses* of the disks: an entry is written once for all writes that share it, on the
//!   disks that have the least to do ([`choice`]).
//!
//! Both follow from the throughput, and the throughput from them: [`write_through`] and
//! [`write_back`] look for the fixed point. What is written later to logs and parity comes in
//! [bursts](crate::bursts). Times are in ms, and throughputs in requests a second.

pub mod choice;
mod cycle;
mod drive;
pub mod lanes;
mod own;
mod write_back;
mod write_through;

pub use drive::Drive;
use drive::{Nearest, Order};
pub use own::Writes;
pub use write_back::{Staging, write_back};
pub use write_through::write_through;

use std::num::NonZeroU32;

use crate::fork_join::Beside;
use crate::order::Distribution;
use choice::Choice;
use lanes::{Shared, shared};

/// A stream of entries.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// The number of lanes.
    pub lanes: u32,
    /// The number of disks to which each entry goes.
    pub copies: u32,
    /// The most writes of an entry.
    pub most: f64,
    /// The transfer of an entry with one write, and what each further one adds.
    pub transfer: (f64, f64),
}

/// What entries find at the disks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Load {
    disks: u32,
    /// The part of the time for which a disk is busy, and the mean number of its accesses.
    busy: f64,
    queue: f64,
    /// The mean time of an access, and what of one that is under way is over.
    served: f64,
    over: f64,
    /// The coefficient of variation of an access's time.
    variation: f64,
    /// The fraction of the time of accesses that is entries'.
    work: f64,
    /// The fraction of heads that are at the journal.
    there: f64,
    /// The places of the others.
    order: Order,
}

/// The entries of a stream, in the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Entries {
    /// The writes of an entry.
    writes: f64,
    /// From a write until its entry is durable.
    delay: f64,
    /// From when an entry begins until it is durable.
    taken: f64,
    /// The time of each disk for it; and with the time for which it waits there.
    service: f64,
    at_disk: f64,
    /// The probability that it waits for another access.
    behind: f64,
    /// The probability that an idle disk whose head is at the data gets it.
    taking: f64,
    /// The mean number of its disks whose heads were not at the journal.
    moved: f64,
    /// The part of the time for which all lanes are in use.
    all: f64,
}

/// What is over, in the mean, of an entry that is in service: (1 - c²) / 2 of its time. The
/// variation c is that of a revolution, a third of the time.
const OVER: f64 = (1.0 - 1.0 / 9.0) / 2.0;

impl Entries {
    /// What they are to other accesses, if `begun` of them come to each disk in a ms.
    fn beside(&self, begun: f64) -> Beside {
        Beside {
            busy: begun * self.service,
            work: begun * (self.at_disk - self.service * OVER) * self.service,
            ordered: 0.0,
            accesses: begun,
        }
    }

    fn half_way(self, to: Entries) -> Entries {
        Entries {
            writes: f64::midpoint(self.writes, to.writes),
            delay: f64::midpoint(self.delay, to.delay),
            taken: f64::midpoint(self.taken, to.taken),
            service: f64::midpoint(self.service, to.service),
            at_disk: f64::midpoint(self.at_disk, to.at_disk),
            behind: f64::midpoint(self.behind, to.behind),
            taking: f64::midpoint(self.taking, to.taking),
            moved: f64::midpoint(self.moved, to.moved),
            all: f64::midpoint(self.all, to.all),
        }
    }
}

impl Stream {
    /// The entries of writes that come at `rate`. `before` is what they were when `load` was found.
    fn entries(&self, drive: &Drive, rate: f64, load: Load, before: Entries) -> Entries {
        self.shared_by(shared(self.lanes, rate, before.taken), drive, load)
    }

    /// The entries of writes that share them so.
    fn shared_by(&self, shared: Shared, drive: &Drive, load: Load) -> Entries {
        let writes = shared.writes.min(self.most);
        let Load { disks, queue, work, there, order, variation, .. } = load;
        let chosen = Choice { disks, copies: self.copies, queue, entries: work, variation }.chosen();
        let Nearest { seek, moved } = drive.nearest(order, self.copies, chosen.equal, there);
        let transfer = self.transfer.0 + self.transfer.1 * (writes - 1.0);
        let copies = f64::from(self.copies);
        // The last of several has the longest wait for its sectors.
        let last = drive.revolution * copies / (copies + 1.0);
        let ahead = (chosen.ahead * load.served - chosen.busy * load.over).max(0.0);
        let taken = ahead + seek + last + transfer;
        let service = seek + drive.revolution / 2.0 + transfer;
        Entries {
            writes,
            delay: shared.wait + taken,
            taken,
            service,
            at_disk: ahead + service,
            behind: chosen.busy,
            taking: (moved / (chosen.equal * (1.0 - there)).max(1.0)).min(1.0),
            moved,
            all: shared.all,
        }
    }

    /// How much fuller the fullest lane is than all are in the mean, if so many entries are in
    /// each.
    ///
    /// While a lane is free, the emptiest free one takes the next entry. While all are in use, it
    /// is the one that is done first, after times that are exponential, and it takes what has come
    /// meanwhile: both vary as much as their mean.
    fn fullest(&self, entries: &Entries, in_lane: f64) -> f64 {
        let lanes = NonZeroU32::new(self.lanes).unwrap_or(NonZeroU32::MIN);
        let variation = entries.all * (2.0 / in_lane.max(2.0)).sqrt();
        Distribution::normal(1.0, variation).map_or(1.0, |share| share.expected_maximum(lanes))
    }
}
