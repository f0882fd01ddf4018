//! When dirty regions are looked for that are idle, to be marked clean.
//!
//! To mark a region clean and dirty again takes two writes of the bitmap on all members, and the
//! second one delays a host. To keep it dirty takes a resync of the region after a crash. So, while
//! hosts write, a region stays dirty for longer than an array without writers leaves it dirty.

use parlour_units::{Instant, Region};

use crate::context::Context;
use crate::format::bitmap::Bits;
use crate::mode::Mode;

/// While others are in use, a region is idle after so many searches between which it was not.
const SEARCHES_BESIDE_OTHERS: u8 = 12;

/// See the module.
#[derive(Debug)]
pub(super) struct Cleaning {
    /// Regions in use since the last search.
    touched: Bits,
    /// By region: the searches since its last use, before the last one.
    searches: Box<[u8]>,
    /// The next search.
    at: Option<Instant>,
    /// Members are being flushed, so that idle regions can be marked clean.
    flushing: bool,
}

impl Cleaning {
    pub(super) fn new(regions: u32) -> Cleaning {
        let searches = vec![0; regions as usize].into();
        Cleaning { touched: Bits::new(regions), searches, at: None, flushing: false }
    }

    /// `region` is in use.
    pub(super) fn touch(&mut self, region: Region) {
        self.touched.set(region);
    }

    /// Which regions are idle: they were not in use for one search, or for more while others were.
    pub(super) fn idle(&self) -> impl Fn(Region) -> bool {
        let least = if self.touched.count() == 0 { 1 } else { SEARCHES_BESIDE_OTHERS };
        move |region| !self.touched.get(region) && self.searches[region.as_usize()] + 1 >= least
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
        for (region, searches) in (0..).map(Region::new).zip(&mut self.searches) {
            let more = (*searches + 1).min(SEARCHES_BESIDE_OTHERS);
            *searches = if self.touched.get(region) { 0 } else { more };
        }
        self.touched = Bits::new(self.searches.len() as u32);
        self.at = more.then_some(now + cx.tuning.clean_after);
    }

    /// The members could not be flushed: the search is repeated later.
    pub(super) fn postpone(&mut self, cx: &Context) {
        self.flushing = false;
        self.at = Some(cx.now + cx.tuning.clean_after);
    }
}
