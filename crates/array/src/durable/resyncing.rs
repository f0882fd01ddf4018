//! How far the resync has come: the region that is being resynced, the stripes of it that are
//! done, and what is still to be recorded.

use parlour_units::{Instant, Region, Stripe};

use crate::frontier::Frontier;

/// The state of the resync.
#[derive(Debug, Default)]
pub(super) struct Resyncing {
    region: Option<RegionResync>,
    /// Regions before this one cannot be resynced with the members that are there now.
    pub(super) from: u32,
    /// When the resync was begun, and how many regions needed it then.
    pub(super) began: Option<(Instant, u64)>,
    /// All regions were resynced; this may not be recorded yet.
    pub(super) all_done: bool,
}

/// The region that is being resynced.
#[derive(Debug)]
struct RegionResync {
    region: Region,
    front: Frontier,
    /// Some stripe could not be resynced.
    incomplete: bool,
    /// A write to the region was cut off: check units of resynced stripes may not fit any more.
    spoilt: bool,
    /// The roster's count of changes when the resync of the region began.
    changes: u64,
}

/// How the resync of a region has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// All its check units fit.
    Complete,
    /// Some stripe could not be resynced with the members that are there.
    Incomplete,
    /// It has to be resynced once more.
    Again,
}

impl Resyncing {
    /// The region that is being resynced, and the number of its next stripe.
    pub(super) fn next(&self) -> Option<(Region, u64)> {
        self.region.as_ref().map(|resync| (resync.region, resync.front.next()))
    }

    /// Begins the resync of `region`. `changes` is the roster's count.
    pub(super) fn begin(&mut self, region: Region, changes: u64) {
        let front = Frontier::at(0);
        self.region = Some(RegionResync { region, front, incomplete: false, spoilt: false, changes });
    }

    /// The next stripe is begun.
    pub(super) fn begin_stripe(&mut self) {
        self.current().front.begin();
    }

    /// The next stripe needs nothing, or (unless `possible`) cannot be resynced.
    pub(super) fn skip_stripe(&mut self, possible: bool) {
        let resync = self.current();
        resync.front.skip();
        resync.incomplete |= !possible;
    }

    /// Stripe `index` of `region` has ended.
    pub(super) fn end_stripe(&mut self, region: Region, index: u64, done: bool) {
        if let Some(resync) = self.region.as_mut().filter(|resync| resync.region == region) {
            resync.incomplete |= !done;
            resync.front.end(Stripe::new(index));
        }
    }

    /// All stripes of the region were begun: ends its resync, if all have ended. `changes` is the
    /// roster's count.
    pub(super) fn end(&mut self, changes: u64) -> Option<(Region, Ended)> {
        let resync = self.region.take_if(|resync| resync.front.is_idle())?;
        let region = resync.region;
        // With the members that are there now, what was incomplete may be possible.
        if resync.spoilt || resync.incomplete && changes != resync.changes {
            self.reach_back(region);
        } else if resync.incomplete {
            self.from = region.get() + 1;
        }
        Some((
            region,
            match resync {
                RegionResync { spoilt: true, .. } => Ended::Again,
                RegionResync { incomplete: true, .. } => Ended::Incomplete,
                _ => Ended::Complete,
            },
        ))
    }

    /// `region` may be possible now.
    pub(super) fn reach_back(&mut self, region: Region) {
        self.from = self.from.min(region.get());
    }

    /// A write to `region` left check units that do not fit; its resync may already have passed
    /// them.
    pub(super) fn spoil(&mut self, region: Region) {
        if let Some(resync) = self.region.as_mut().filter(|resync| resync.region == region) {
            resync.spoilt = true;
        }
    }

    /// Whether stripe `index` of `region` was resynced and still fits.
    pub(super) fn has_passed(&self, region: Region, index: u64) -> bool {
        self.region.as_ref().is_some_and(|resync| {
            let sure = resync.region == region && !resync.spoilt && !resync.incomplete;
            sure && resync.front.has(Stripe::new(index))
        })
    }

    fn current(&mut self) -> &mut RegionResync {
        self.region.as_mut().expect("a region is being resynced")
    }
}
