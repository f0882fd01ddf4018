//! Which log buffers are to be appended next.

use parlour_units::Region;

use crate::context::Context;
use crate::durable::Durable;
use crate::log::Logs;

impl Logs {
    /// The first sealed segment whose reservations are all committed or given back.
    pub(in crate::log) fn next_ready(&self, region: Region) -> Option<u32> {
        let log = self.regions.get(region)?;
        log.sealed.iter().copied().find(|index| self.segment(*index).unfilled == 0)
    }

    /// Whether log buffers of `region` hold records of entries up to number `last`.
    pub(in crate::log) fn is_due(&self, region: Region, last: u64) -> bool {
        let log = &self.regions[region];
        let buffers = log.sealed.iter().copied().chain(log.open);
        let oldest = |index: u32| self.segment(index).commits.iter().copied().flatten().next();
        log.recovery.is_none() && buffers.filter_map(oldest).any(|name| name.number <= last)
    }

    /// A region whose log buffers hold records of entries up to number `last`, and can be appended
    /// or closed.
    pub(in crate::log) fn due_region(&self, last: u64) -> Option<Region> {
        let open = self.open.iter().filter(|region| !self.sealed.get(*region));
        let mut due = self.sealed.iter().chain(open).filter(|region| self.is_due(*region, last));
        due.find(|region| self.may_append(*region) || self.closable(*region).is_some())
    }

    /// The open segment of `region`, if it can be closed.
    pub(in crate::log) fn closable(&self, region: Region) -> Option<u32> {
        let open = self.regions[region].open;
        open.filter(|index| {
            let segment = self.segment(*index);
            segment.unfilled == 0 && !segment.records.is_empty()
        })
    }

    /// Whether `region` has segments that are ready to be appended, and no other work is under way
    /// there.
    fn may_append(&self, region: Region) -> bool {
        let log = &self.regions[region];
        let idle = log.recovery.is_none() && !log.wanted && !log.queued && log.reintegrating.is_none();
        idle && self.next_ready(region).is_some()
    }

    /// The region with the most sealed segments, of those that may be appended to.
    pub(crate) fn kept_back(&self, cx: &Context, durable: &Durable) -> Option<Region> {
        if !durable.session_is_known(cx) {
            return None;
        }
        let regions = self.sealed.iter().filter(|region| self.may_append(*region));
        regions.max_by_key(|region| self.regions[*region].sealed.len())
    }
}
