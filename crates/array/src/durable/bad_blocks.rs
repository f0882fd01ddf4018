//! Writing the bad-block log: which of its versions are durable, and which jobs wait for that.
//!
//! While a member's exclusion is not durable, the member would be believed after a crash, although
//! it lacks writes that it has not flushed. Therefore no block is removed from the stored list
//! meanwhile.

use parlour_units::{Sector, Sectors, Slot, Unit};

use super::versions::Versions;
use crate::assembly::Assembly;
use crate::columns::Window;
use crate::context::Context;
use crate::effect::Class;
use crate::exec::progress::Progress;
use crate::exec::waiting::WaitList;
use crate::format::bad_block_log::{BadBlockLog, Cause, Full};
use crate::format::banks::{Banks, sequence_of_session};
use crate::geometry::Geometry;
use crate::ids::JobId;
use crate::job::{Kind, Purpose};
use crate::plan::{Source, Span, Strategy};
use crate::roster::listed::ListedBlocks;
use crate::status::Event;

/// The state of the bad-block log on members.
#[derive(Debug)]
pub(crate) struct BadBlocks {
    /// The list that members hold.
    stored: BadBlockLog,
    versions: Versions,
    /// The version that is being written, and its content.
    writing: Option<(u64, BadBlockLog)>,
    /// The last version that is durable, and the last one whose additions are durable.
    written: u64,
    written_added: u64,
    waiters: WaitList,
}

impl BadBlocks {
    /// Takes the newest bad-block log that was read from members. Unless it is empty it is written
    /// again, because perhaps not all members have it.
    pub(crate) fn newest(
        assembly: &Assembly,
        bad_block_logs: &[Banks],
        session_number: u64,
    ) -> (BadBlocks, ListedBlocks) {
        let (array, geometry) = (assembly.superblock.array, &assembly.geometry);
        let horizon = assembly.horizon();
        let decode = |bytes: &[u8]| {
            let list = BadBlockLog::decode(bytes, array, geometry.block());
            list.filter(|(sequence, _)| horizon.reaches(*sequence))
        };
        let newest = assembly.newest(bad_block_logs, decode);
        let mut versions = Versions::new(sequence_of_session(session_number, newest.sequence()));
        if newest.sequence() > 0 {
            // Perhaps only one member has the newest list.
            versions.inform_members();
        }
        // An older list is better than none.
        let place = geometry.bad_block_log_at(0).map_or(Sectors::ZERO, |(_, length)| length);
        let mut list = newest.found().unwrap_or_else(|| BadBlockLog::new(geometry.block(), place));
        // Only blocks that this array has are used, whatever the list contains.
        let start = geometry.data_start();
        let end = start + Sectors::new(geometry.stored().layout.length);
        list.retain(|slot, at| slot.get() < geometry.members() && at >= start && at < end);
        let bad_blocks = BadBlocks {
            stored: list.clone(),
            versions,
            writing: None,
            written: 0,
            written_added: 0,
            waiters: WaitList::default(),
        };
        (bad_blocks, ListedBlocks::new(list))
    }

    pub(super) fn versions(&self) -> &Versions {
        &self.versions
    }

    /// A member is to be rebuilt: the list must be written again, to both banks.
    pub(super) fn inform_joining_member(&mut self, geometry: &Geometry) {
        if geometry.bad_block_log_at(0).is_some() {
            self.versions.inform_joining_member();
        }
    }

    /// Whether members hold the current list.
    pub(crate) fn is_durable(&self, listed: &ListedBlocks) -> bool {
        self.written == listed.version()
    }

    /// Whether members hold all blocks that are on the current list.
    pub(crate) fn additions_are_durable(&self, listed: &ListedBlocks) -> bool {
        self.written_added >= listed.last_addition()
    }

    /// `job` goes on when the list is written.
    pub(crate) fn wait(&mut self, job: JobId) {
        self.waiters.park(job);
    }

    /// Whether the list is to be written. While an exclusion is not durable (`barrier`), no block
    /// is removed from the stored list.
    pub(crate) fn is_due(&self, listed: &ListedBlocks, barrier: bool, both_banks: bool) -> bool {
        let due = if barrier { !self.additions_are_durable(listed) } else { !self.is_durable(listed) };
        let joining = both_banks && self.versions.is_before_both();
        (due || joining || self.versions.is_before_first()) && !self.versions.is_writing()
    }

    /// Flushes all members that were written, so that writes to blocks which are off the list are
    /// durable, and then writes the list to all members.
    pub(crate) fn write(&mut self, cx: &mut Context, barrier: bool) -> Option<(JobId, Progress)> {
        let (_, length) = cx.geometry.bad_block_log_at(0)?;
        let mut list = cx.roster.listed().list().clone();
        if barrier {
            list.merge(&self.stored);
        }
        let (sequence, bank) = self.versions.begin();
        let (at, _) = cx.geometry.bad_block_log_at(bank).expect("there is room for bad-block logs");
        let id = cx.jobs.start(Kind::BadBlockLog, Class::Metadata);
        cx.plan_flushes(id);
        let job = cx.jobs.get_mut(id);
        job.metadata = list.encode(cx.identity, sequence);
        self.writing = Some((cx.roster.listed().version(), list));
        job.plan.strategy = Strategy::Metadata;
        job.plan.next_phase();
        for (slot, _) in cx.roster.standing() {
            job.plan.write(slot, at, Span::new(Source::Metadata, Sectors::ZERO, length), true);
        }
        let turn = cx.roster.turn();
        Some((id, cx.start_plan(id, turn, None, &[])))
    }

    /// A write of the list has ended, perhaps with failures. Returns the sequence number, if all
    /// members have it, and the jobs that waited.
    pub(crate) fn written(&mut self, cx: &mut Context, id: JobId, whole: bool) -> (Option<u64>, Vec<JobId>) {
        let job = cx.jobs.get(id);
        let begun = (job.next_step as usize) == job.plan.steps.len();
        cx.jobs.end(id);
        let (version, stored) = self.writing.take().expect("a list writing was under way");
        if !whole && !begun {
            // A flush failed: the list was not written.
            self.versions.withdraw();
            return (None, Vec::new());
        }
        self.versions.end();
        self.written_added = version;
        // (The list may have changed meanwhile and changed back. Then writes to blocks that came
        // off it may not be flushed, and it is written again.)
        if version == cx.roster.listed().version() && stored == *cx.roster.listed().list() {
            self.written = version;
        }
        if stored != self.stored {
            // A member may be the last one, and unable to read a bank.
            self.versions.repeat();
        }
        self.stored = stored;
        (whole.then_some(self.versions.sequence()), self.waiters.take())
    }
}

/// Puts blocks of `unit` that cannot be computed on the list, if there is room, wherever it is
/// stored.
pub(crate) fn record(cx: &mut Context, window: Window, unit: Unit) -> Result<(), Full> {
    let places = places_of(cx, window, unit);
    places.into_iter().try_for_each(|place| record_at(cx, Cause::Unreadable, place, window))
}

/// The same for blocks of a unit that a rebuild or a resync passes over.
pub(crate) fn record_passed_over(
    cx: &mut Context,
    purpose: Purpose,
    window: Window,
    unit: Unit,
) -> Result<(), Full> {
    match purpose {
        Purpose::Rebuild(rebuilds) => {
            let place = cx.rebuilt_at(rebuilds, window, unit);
            place.map_or(Ok(()), |place| record_at(cx, Cause::Unreadable, place, window))
        }
        _ => record(cx, window, unit),
    }
}

/// Puts blocks of a data unit on the list whose content is lost, if there is room. What stands in
/// their place, or is computed for it, fits the check units.
pub(crate) fn record_lost(cx: &mut Context, window: Window, unit: Unit) -> Result<(), Full> {
    // (What hosts have lost is lost wherever the unit is.)
    record_at(cx, Cause::Lost, cx.home_of(window, unit), window)
}

/// Puts blocks on the list, if there is room, that could not be read when they were to be compared
/// after a crash: if they become readable later, it is not known which version they hold. If they
/// can be computed from the rest of the stripe, nothing is lost.
pub(crate) fn record_uncompared(cx: &mut Context, window: Window, unit: Unit) -> Result<(), Full> {
    let places = places_of(cx, window, unit);
    places.into_iter().try_for_each(|place| insert(cx, Cause::Unreadable, place, window).map(drop))
}

/// Where a part of a unit is stored: in spare room too, if it is just coming home from there.
fn places_of(cx: &Context, window: Window, unit: Unit) -> Vec<(Slot, Sector)> {
    std::iter::once(cx.location_of(window, unit)).chain(cx.second_of(window, unit)).collect()
}

/// Puts the blocks of a window of the unit at this place on the list, and reports them if they are
/// new.
fn record_at(cx: &mut Context, cause: Cause, (slot, at): (Slot, Sector), window: Window) -> Result<(), Full> {
    if !cx.writes {
        return Err(Full);
    }
    if insert(cx, cause, (slot, at), window)? {
        let length = window.columns.length();
        let stripe = Sector::ZERO + cx.geometry.layout().stripe_data() * window.stripe.get();
        cx.events.push_back(match cause {
            Cause::Unreadable => Event::BadBlocksRecorded { slot, at, length, stripe },
            Cause::Lost => Event::BlocksLost { slot, at, length, stripe },
        });
    }
    Ok(())
}

/// Puts blocks on the list. Returns whether any was new.
fn insert(cx: &mut Context, cause: Cause, (slot, at): (Slot, Sector), window: Window) -> Result<bool, Full> {
    match cx.geometry.bad_block_log_at(0) {
        None => Err(Full),
        Some(_) => cx.roster.list(cause, slot, at, window.columns.length()),
    }
}
