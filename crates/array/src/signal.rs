//! Signals: what a component tells those above it, which it cannot call.
//!
//! A component's method puts signals into the context. After each call of a component the array
//! handles them one after the other. What a handler signals itself is handled before the signals
//! that were waiting, as if it had been called from where it was signalled.

use std::collections::VecDeque;

use parlour_units::{Member, Region, Slot, Stripe};

use crate::code::UnitSet;
use crate::columns::Window;
use crate::exec::job::FailedAccess;
use crate::exec::progress::Progress;
use crate::ids::{HostId, JobId};
use crate::job::Purpose;
use crate::request::RequestError;

/// See the module.
#[derive(Debug)]
pub(crate) enum Signal {
    /// A plan has come so far that its owner has to act.
    Progress(JobId, Progress),
    /// The headers of the region's log are to be read.
    LogWanted(Region),
    /// A stripe job's records could not be committed, because these accesses failed.
    Broken(JobId, Vec<FailedAccess>),
    /// A job waits for a repair of these units.
    Repair { parent: JobId, window: Window, targets: UnitSet },
    /// A pass of the region's reintegration has written nothing, and what it could not read, by
    /// these accesses, could not be repaired.
    PassLost(Region, Vec<FailedAccess>),
    /// A member does not keep what this repair has written to it: it is to be excluded.
    Unfaithful { member: Member, repair: JobId },
    /// A repair that `parent` waits for has ended.
    RepairEnded { parent: JobId, result: Result<(), RequestError> },
    /// What a job could not read is repaired, or (if `lost`) some of it could not be.
    Repaired { job: JobId, lost: bool },
    /// One of the jobs of a host's request has ended.
    HostJobDone(HostId, Result<(), RequestError>),
    /// The durability of a host's write depends on other data of its stripe: all members are
    /// flushed before a durable write is answered.
    DurabilityIsShared(HostId),
    /// A host's write is to be done block by block in this window.
    WriteInBlocks { host: HostId, window: Window },
    /// So is a host's read, as far as it is of `units`.
    ReadInBlocks { host: HostId, window: Window, units: UnitSet },
    /// A job of rebuild, resync or scrub has ended.
    MaintenanceStripeEnded { purpose: Purpose, stripe: Stripe, result: Result<(), RequestError> },
    /// A stripe that a scrub has begun is not compared after all.
    ScrubSkipped,
    /// A scrub found units that do not fit.
    Mismatch { window: Window, repaired: bool, located: Option<Slot> },
    /// A scrub met a block that could be neither read nor repaired.
    Uncompared,
    /// Flushes of hosts may be able to start.
    FlushesMayStart,
    /// A region was recovered, or the members' states are recorded: reads that waited for that may
    /// go on.
    ReadsMayGoOn,
    /// The last write has ended that the closed region waited for.
    RegionDrained(Region),
}

/// The signals that are not handled yet.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    /// In the order in which they are handled.
    waiting: VecDeque<Signal>,
    /// Given since the last one was taken.
    fresh: Vec<Signal>,
}

impl Signals {
    pub(crate) fn push(&mut self, signal: Signal) {
        self.fresh.push(signal);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.fresh.is_empty() && self.waiting.is_empty()
    }

    /// The signal to handle next.
    pub(crate) fn pop(&mut self) -> Option<Signal> {
        while self.fresh.len() > 1
            && let Some(signal) = self.fresh.pop()
        {
            self.waiting.push_front(signal);
        }
        self.fresh.pop().or_else(|| self.waiting.pop_front())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_handler_signals_comes_before_what_waited() {
        let region = |signal| match signal {
            Some(Signal::RegionDrained(region)) => Some(region.get()),
            _ => None,
        };
        let mut signals = Signals::default();
        let push = |signals: &mut Signals, number| signals.push(Signal::RegionDrained(Region::new(number)));
        [1, 2].into_iter().for_each(|number| push(&mut signals, number));
        assert_eq!(region(signals.pop()), Some(1));
        [3, 4].into_iter().for_each(|number| push(&mut signals, number));
        let order: Vec<Option<u32>> = (0..4).map(|_| region(signals.pop())).collect();
        assert_eq!(order, [Some(3), Some(4), Some(2), None]);
    }
}
