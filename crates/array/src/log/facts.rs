//! Facts about the logs: whether a region is recovering, suspended or lost, and whether its writes
//! are logged.

use parlour_units::{Region, Sector, Slot, Stripe};

use crate::context::Context;
use crate::durable::Durable;
use crate::log::reintegrate::state::Reintegration;
use crate::log::{LoadState, Logs, Segment, SegmentState};
use crate::mode::Mode;
use crate::roster::SlotState;
use crate::update;

impl Logs {
    /// Whether writes to `region` are recorded now. With `journal` they are while the members of
    /// the region's log, if it has one, stand; otherwise only while all members do.
    pub(crate) fn logs_writes(&self, cx: &Context, durable: &Durable, region: Region) -> bool {
        if !self.exist() || durable.bitmap().needs_resync(region) {
            return false;
        }
        let open = match cx.geometry.is_journaled() {
            true => {
                let serves = matches!(cx.mode, Mode::Serving | Mode::Stopping);
                serves && !cx.takes_no_writes() && cx.writes
            }
            false => cx.mode == Mode::Serving,
        };
        open && update::is_recorded(&cx.geometry, self.log_stands(cx, region), durable.is_whole(cx))
    }

    /// Whether members that hold a copy of `region`'s whole log are active.
    pub(crate) fn log_stands(&self, cx: &Context, region: Region) -> bool {
        let is_active = |slot| cx.roster.state(slot) == SlotState::Active;
        !cx.roster.is_degraded() || cx.geometry.log_stands(region, is_active)
    }

    /// The same of members that have been in their slots since `turn`.
    pub(in crate::log) fn log_stood_since(&self, cx: &Context, region: Region, turn: u64) -> bool {
        cx.geometry.log_stands(region, |slot| stood_since(cx, slot, turn))
    }

    /// Whether `region` is not yet brought up to its records; until then hosts must not see it.
    pub(crate) fn is_recovering(&self, region: Region) -> bool {
        let log = self.regions.get(region);
        log.is_some_and(|log| log.recovery.is_some())
    }

    /// Whether the members that held `region`'s log when the array was opened still hold it, or a
    /// copy of it.
    pub(crate) fn remembered_log_stands(&self, cx: &Context, region: Region) -> bool {
        self.log_stood_since(cx, region, 0)
    }

    /// Whether a segment of `region` was on members that were failed, and on no other.
    pub(crate) fn log_is_lost(&self, cx: &Context, region: Region) -> bool {
        if cx.roster.is_whole_since(0) {
            return false;
        }
        let Some(log) = self.regions.get(region) else { return false };
        let lost = |index: &u32| {
            let segment = self.segment(*index);
            let stored = segment.state == SegmentState::Stored && !segment.records.is_empty();
            stored && !self.segment_stands(cx, region, *index)
        };
        log.segments.iter().any(lost)
    }

    /// Whether a member to which a segment was appended still stands.
    pub(crate) fn segment_stands(&self, cx: &Context, region: Region, index: u32) -> bool {
        self.standing_copies(cx, region, index).next().is_some()
    }

    /// Whether the member in `slot` holds a segment, if it has a copy of its sublog at all.
    pub(in crate::log) fn stands_on(&self, cx: &Context, region: Region, index: u32, slot: Slot) -> bool {
        let mut copies =
            (0..cx.geometry.log_copies()).map(|copy| (copy, self.copy_at(cx, region, index, copy).0));
        let of_slot = copies.find(|(_, other)| *other == slot);
        of_slot.is_none_or(|(copy, _)| self.standing_copies(cx, region, index).any(|other| other == copy))
    }

    /// The copies of a segment that stand.
    pub(in crate::log) fn standing_copies(
        &self,
        cx: &Context,
        region: Region,
        index: u32,
    ) -> impl Iterator<Item = u16> {
        let Segment { copies, turn, .. } = *self.segment(index);
        (0..cx.geometry.log_copies()).filter(move |copy| {
            let (slot, _) = self.copy_at(cx, region, index, *copy);
            copies.has(*copy) && cx.roster.member_since(slot, turn).is_some()
        })
    }

    /// Where a segment that is not in memory is read.
    pub(in crate::log) fn segment_at(&self, cx: &Context, region: Region, index: u32) -> (Slot, Sector) {
        let copy = self.standing_copies(cx, region, index).next().unwrap_or(0);
        self.copy_at(cx, region, index, copy)
    }

    fn copy_at(&self, cx: &Context, region: Region, index: u32, copy: u16) -> (Slot, Sector) {
        let position = self.segment(index).position.expect("what is not in memory is in a position");
        let location = cx.geometry.log_segment_at(region, position, copy).expect("a logged layout");
        (location.slot, cx.geometry.absolute(location.at))
    }

    /// Whether some of `region`'s data is on no active member.
    pub(crate) fn misses_data(&self, cx: &Context, region: Region) -> bool {
        let mut slots = (0..cx.geometry.members()).map(Slot::new);
        slots.any(|slot| cx.roster.lacks_units(slot) && cx.geometry.layout().region_has_data_on(region, slot))
    }

    /// Whether `region` is not reintegrated until the array is opened again. Either its own
    /// reintegration was suspended, or the commit log holds intents that must be finished before
    /// any others.
    pub(crate) fn is_suspended(&self, cx: &Context, region: Region) -> bool {
        if !cx.geometry.is_journaled() {
            return false;
        }
        let own = self.regions.get(region).is_some_and(|log| log.suspended);
        own || self.blocked
    }

    /// Whether the region's content is not known and stays unknown until the array is opened again.
    pub(crate) fn is_stalled(&self, region: Region) -> bool {
        let log = self.regions.get(region);
        log.is_some_and(|log| log.load == LoadState::Stalled && log.recovery.is_some())
    }

    /// Whether `stripe` cannot be read until the array is opened again, because a committed write
    /// may have written a part of its data.
    pub(crate) fn is_left_to_redo(&self, cx: &Context, stripe: Stripe) -> bool {
        if !cx.lacks_space {
            return false;
        }
        let (region, index) = cx.geometry.region_of(stripe);
        self.regions.get(region).is_some_and(|log| log.unlanded.contains(&index))
    }

    /// The reintegration of `region`, which is under way.
    pub(in crate::log) fn reintegration(&mut self, region: Region) -> &mut Reintegration {
        let log = self.region(region);
        log.reintegrating.as_mut().expect("it is under way")
    }
}

/// Whether the member in `slot` is active, and has been there since `turn`.
pub(in crate::log) fn stood_since(cx: &Context, slot: Slot, turn: u64) -> bool {
    cx.roster.state(slot) == SlotState::Active && cx.roster.member_since(slot, turn).is_some()
}
