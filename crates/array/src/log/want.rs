//! Wants and wake-ups: asking for parity that is up to date, letting go of it, and waking jobs that
//! wait for a lock or for space.

use parlour_units::{Region, Slot};

use crate::context::Context;
use crate::log::{LoadState, Logs, RegionLog};
use crate::signal::Signal;

impl Logs {
    /// A job needs `region`'s parity to be up to date, or room in its log: the region is
    /// reintegrated.
    pub(crate) fn want_parity(&mut self, cx: &mut Context, region: Region) {
        let suspended = self.is_suspended(cx, region);
        let log = self.region(region);
        log.wanted = true;
        match log.load {
            LoadState::Unknown => cx.signal(Signal::LogWanted(region)),
            LoadState::Loading | LoadState::Stalled => {}
            LoadState::Known if !cx.writes || suspended => {}
            LoadState::Known if log.queued || log.reintegrating.is_some() => {}
            LoadState::Known => {
                log.queued = true;
                self.queue.push_back(region);
            }
        }
    }

    /// The stripes of `region` are rebuilt, and then those of the next one of its group: it is
    /// reintegrated meanwhile, so that they do not wait.
    pub(crate) fn want_parity_after(&mut self, cx: &mut Context, region: Region) {
        let next = Region::new(region.get() + u32::from(cx.geometry.layout().groups()));
        let is_due = |log: &RegionLog| log.load == LoadState::Known && !log.live.is_empty() && !log.wanted;
        if self.regions.get(next).is_some_and(is_due) {
            self.want_parity(cx, next);
        }
    }

    /// Reintegrates all regions that have live records.
    pub(crate) fn want_all_parity(&mut self, cx: &mut Context) {
        let live: Vec<Region> =
            self.regions.regions().filter(|region| self.region_is_live(*region)).collect();
        live.into_iter().for_each(|region| self.want_parity(cx, region));
    }

    /// Whether the member in `slot` holds all that logs of which it has a copy hold. If not, they
    /// are to be reintegrated: what is appended from now on goes to it as well. (A log with one
    /// copy is lost with its member.)
    pub(crate) fn are_copied_to(&mut self, cx: &mut Context, slot: Slot) -> bool {
        if cx.geometry.log_copies() < 2 {
            return true;
        }
        let lacking: Vec<Region> =
            self.regions.regions().filter(|region| !self.is_copied_to(cx, *region, slot)).collect();
        // (What was asked for is not asked for again at each look.)
        let asked: Vec<Region> =
            lacking.iter().copied().filter(|region| !self.regions[*region].wanted).collect();
        asked.into_iter().for_each(|region| self.want_parity(cx, region));
        lacking.is_empty()
    }

    fn is_copied_to(&self, cx: &Context, region: Region, slot: Slot) -> bool {
        let log = &self.regions[region];
        let lacks = |index: &u32| {
            let segment = self.segment(*index);
            let stored = segment.position.is_some() && !segment.records.is_empty();
            stored && !self.stands_on(cx, region, *index, slot)
        };
        let holds = cx.geometry.log_slots(region).any(|other| other == slot);
        !holds || log.is_read() && log.half_done.is_none() && !log.segments.iter().any(lacks)
    }

    /// A job no longer uses `region`'s parity in place.
    pub(crate) fn let_go_of_parity(&mut self, region: Region) {
        let log = self.region(region);
        assert!(log.holders > 0, "parity is let go of as often as it is held");
        log.holders -= 1;
    }

    /// A stripe's lock was given back, or its holder waits for a reintegration: parity repairs try
    /// again to get it.
    pub(crate) fn wake_parity_repairers(&mut self, cx: &mut Context) {
        self.parity_repairers.wake(&mut cx.runnable);
    }

    /// Jobs that wait for space look again.
    pub(crate) fn wake_commit_waiters(&mut self, cx: &mut Context) {
        self.commits.waiters.wake(&mut cx.runnable);
        if let Some(streams) = &mut self.commits.streams {
            streams.forgetting.wake(&mut cx.runnable);
        }
    }
}
