//! When dirty regions are looked for that are idle, to be marked clean.

use parlour_units::{Instant, Region};

use crate::context::Context;
use crate::format::bitmap::Bits;
use crate::mode::Mode;

/// See the module.
#[derive(Debug)]
pub(super) struct Cleaning {
    /// Regions in use since the last search.
    touched: Bits,
    regions: u32,
    /// The next search.
    at: Option<Instant>,
    /// Members are being flushed, so that idle regions can be marked clean.
    flushing: bool,
}

impl Cleaning {
    pub(super) fn new(regions: u32) -> Cleaning {
        Cleaning { touched: Bits::new(regions), regions, at: None, flushing: false }
    }

    /// `region` is in use.
    pub(super) fn touch(&mut self, region: Region) {
        self.touched.set(region);
    }

    /// Whether `region` was in use since the last search.
    pub(super) fn is_touched(&self, region: Region) -> bool {
        self.touched.get(region)
    }

    /// Some dirty region may become clean. Without a bitmap no region is durably marked dirty, and
    /// there is nothing to do.
    pub(super) fn expect(&mut self, cx: &Context) {
        if cx.tuning.bitmap && self.at.is_none() {
            self.at = Some(cx.now + cx.tuning.clean_after);
        }
    }

    /// When to search.
    pub(super) fn deadline(&self, cx: &Context) -> Option<Instant> {
        let idle = cx.mode == Mode::Serving && cx.writes && !self.flushing;
        // Some member had to be kept although it could not flush: the regions written there stay
        // dirty.
        self.at.filter(|_| idle && !cx.roster.has_lost_writes())
    }

    /// A search found idle regions: members are flushed.
    pub(super) fn begin(&mut self) {
        self.flushing = true;
    }

    /// Members are flushed.
    pub(super) fn end(&mut self) {
        self.flushing = false;
    }

    /// A search at `now` has ended. The next one comes if there are `more` regions.
    pub(super) fn search_again(&mut self, cx: &Context, now: Instant, more: bool) {
        self.touched = Bits::new(self.regions);
        self.at = more.then_some(now + cx.tuning.clean_after);
    }

    /// The members could not be flushed: the search is repeated later.
    pub(super) fn postpone(&mut self, cx: &Context) {
        self.flushing = false;
        self.at = Some(cx.now + cx.tuning.clean_after);
    }
}
