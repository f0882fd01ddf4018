//! Keeping the bad-block log: when blocks go on it and come off it, and who waits until that is
//! durable.
//!
//! While a member's exclusion is not durable the member would be believed after a crash, with what
//! it has not flushed: so long nothing comes off the list that members hold.

use parlour_units::{Sector, Sectors, Slot, Unit};

use crate::array::Array;
use crate::assembly::Assembly;
use crate::code::UnitSet;
use crate::columns::Window;
use crate::effect::Class;
use crate::format::bad_block_log::{BadBlockLog, Full};
use crate::format::banks::{Banks, Newest, sequence_of_session};
use crate::geometry::Geometry;
use crate::ids::JobId;
use crate::job::{Blind, Kind, Purpose, Stage};
use crate::plan::{Source, Span, Strategy};
use crate::planted::{Bug, is_planted};
use crate::request::RequestError;
use crate::roster::listed::ListedBlocks;
use crate::status::Event;
use crate::stripe::{Gate, hull};

/// How far the list of bad blocks is durable.
#[derive(Debug)]
pub(crate) struct BadBlocks {
    /// What members hold.
    stored: BadBlockLog,
    sequence: u64,
    /// The version that is being written, and what of it.
    writing: Option<(u64, BadBlockLog)>,
    /// Versions that are durable: as a whole, and as to what they put on the list.
    written: u64,
    written_added: u64,
    /// All members have the list from this sequence number on.
    informed_from: u64,
    /// Also one that is being rebuilt has it, in both banks.
    both_from: u64,
    waiters: Vec<JobId>,
}

impl BadBlocks {
    /// The newest of the bad-block logs that were read from members. One that names anything is
    /// written again: not all members have it perhaps.
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
        let newest = Newest::of(assembly.of_whole(bad_block_logs), decode);
        let sequence = sequence_of_session(session_number, newest.sequence());
        // Perhaps one member only has the newest.
        let informed_from = if newest.sequence() > 0 { sequence + 1 } else { 0 };
        // An older one is better than none.
        let mut list = newest.found().unwrap_or_else(|| BadBlockLog::new(geometry.block()));
        // Whatever wrote it, no slot is computed with that the array does not have.
        let start = geometry.data_start();
        let end = start + Sectors::new(geometry.stored().layout.length);
        list.retain(|slot, at| slot.get() < geometry.members() && at >= start && at < end);
        let bad_blocks = BadBlocks {
            stored: list.clone(),
            sequence,
            writing: None,
            written: 0,
            written_added: 0,
            informed_from,
            both_from: 0,
            waiters: Vec::new(),
        };
        (bad_blocks, ListedBlocks::new(list))
    }

    /// The sequence number of the newest.
    pub(crate) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// A member comes to be rebuilt: the list is to be written anew, to both banks.
    pub(crate) fn inform_joining_member(&mut self, geometry: &Geometry) {
        if geometry.bad_block_log_at(0).is_some() {
            self.both_from = self.sequence + 2;
        }
    }

    /// Whether all members have it, since.
    pub(crate) fn members_are_informed(&self) -> bool {
        self.written_sequence() >= self.informed_from
    }

    /// Whether they have it in both banks.
    pub(crate) fn joining_member_is_informed(&self) -> bool {
        self.written_sequence() >= self.both_from
    }

    fn written_sequence(&self) -> u64 {
        self.sequence - u64::from(self.writing.is_some())
    }

    /// Whether members hold it as it is.
    fn is_durable(&self, listed: &ListedBlocks) -> bool {
        self.written == listed.version()
    }

    /// Whether they hold all that is on it.
    pub(crate) fn additions_are_durable(&self, listed: &ListedBlocks) -> bool {
        self.written_added >= listed.last_addition()
    }
}

impl Array {
    /// Puts blocks of `unit`, which cannot be computed, on the list, if there is room.
    pub(crate) fn record_bad_blocks(&mut self, window: Window, unit: Unit) -> Result<(), Full> {
        if !self.records.enabled {
            return Err(Full);
        }
        if let Some((slot, at)) = self.insert_blocks(window, unit)? {
            let length = window.columns.length();
            let stripe = Sector::ZERO + self.cx.geometry.layout().stripe_data() * window.stripe.get();
            self.cx.events.push_back(Event::BadBlocksRecorded { slot, at, length, stripe });
        }
        Ok(())
    }

    /// What could not be read when it was to be compared, after a crash, goes on the list, if there
    /// is room: should it be readable later, nobody knows what it is. Nothing is lost by that where
    /// it can be computed.
    pub(crate) fn record_uncompared(&mut self, window: Window, unit: Unit) -> Result<(), Full> {
        if is_planted(Bug::UncomparedBelieved) {
            return Ok(());
        }
        self.insert_blocks(window, unit).map(drop)
    }

    /// Puts blocks on the list. Says where they are, if any was not on it yet.
    fn insert_blocks(&mut self, window: Window, unit: Unit) -> Result<Option<(Slot, Sector)>, Full> {
        if self.cx.geometry.bad_block_log_at(0).is_none() {
            return Err(Full);
        }
        let location = self.cx.roster.current_location(self.cx.geometry.layout().locate(window.stripe, unit));
        let at = self.cx.geometry.absolute(location.at + window.columns.from);
        let any = self.cx.roster.listed.insert(location.slot, at, window.columns.length())?;
        Ok(any.then_some((location.slot, at)))
    }

    /// A stripe job's plan is done. Who wrote to blocks of the list waits until that is known.
    pub(crate) fn stripe_carried_out(&mut self, id: JobId) {
        if self.pass_unlisted(id) {
            self.stripe_done(id);
        }
    }

    /// Passes when who wrote to blocks of the list may go on: it is durable that they are off it.
    fn pass_unlisted(&mut self, id: JobId) -> bool {
        let durable = self.bad_blocks.is_durable(&self.cx.roster.listed);
        let job = self.cx.jobs.get_mut(id);
        let passes = !job.unlisted || durable;
        if passes {
            job.unlisted = false;
        } else {
            self.bad_blocks.waiters.push(id);
        }
        passes
    }

    /// A rebuild or resync cannot compute what it should: it goes on block by block, and what it
    /// cannot compute then goes on the list. Says whether it goes on.
    pub(crate) fn pass_over(&mut self, id: JobId) -> bool {
        let block = self.cx.geometry.block();
        let job = self.cx.jobs.stripe(id);
        if job.window.columns.length() > block {
            job.block_by_block = true;
            job.window.columns.to = job.window.columns.from + block;
            job.stage = Stage::Plan;
            self.cx.runnable.push_back(id);
            return true;
        }
        let (window, targets) = (job.window, job.targets);
        let units = self.cx.geometry.layout().units().filter(|unit| targets.has(*unit));
        let units: Vec<Unit> = units.filter(|_| !is_planted(Bug::PassedOverUnlisted)).collect();
        if units.into_iter().any(|unit| self.record_bad_blocks(window, unit).is_err()) {
            return false;
        }
        self.next_window(id);
        true
    }

    /// A host's write cannot read what it needs for parity, nor can that be computed. What it
    /// writes is known all the same: block by block, it is written without parity, which goes on
    /// the list. Says whether it goes on.
    pub(crate) fn write_blindly(&mut self, id: JobId) -> bool {
        let job = self.cx.jobs.stripe(id);
        let (purpose, stripe, blind) = (job.purpose, job.window.stripe, job.blind);
        let whole = self.cx.roster.missing(&self.cx.geometry, stripe).is_empty();
        let parity = self.cx.geometry.code().has_checks() && !self.cx.geometry.keeps_copies();
        if purpose != Purpose::Write || blind != Blind::No || !whole || !parity {
            return false;
        }
        let columns = hull(&self.cx.jobs.stripe(id).pieces).expect("a write writes something");
        if columns.length() > self.cx.geometry.block() {
            self.begin_blocks(id, columns);
            self.end_stripe(id, Ok(()));
            return true;
        }
        self.give_back_reservations(id);
        self.cx.jobs.stripe(id).blind = Blind::Writes;
        self.replan(id);
        true
    }

    /// A write was done in part, and parity does not fit: what it says of a unit that is missing is
    /// wrong. It goes on the list.
    pub(crate) fn lose_missing(&mut self, id: JobId) {
        let job = self.cx.jobs.stripe(id);
        let (region, stripe) = (job.region, job.window.stripe);
        let missing = self.cx.roster.missing(&self.cx.geometry, stripe);
        let data_missing = self.cx.roster.view(&self.cx.geometry, stripe).any_data(missing);
        if self.cx.geometry.keeps_copies() || !data_missing {
            return;
        }
        let columns = hull(&self.cx.jobs.stripe(id).pieces).expect("a write writes something");
        let check = Unit::new(self.cx.geometry.layout().data_units());
        if self.record_bad_blocks(Window { stripe, columns }, check).is_err() {
            self.give_records_up(region);
        }
    }

    /// Passes when it is durable that parity is unrecoverable where the job is about to write
    /// without it.
    pub(crate) fn blind_gate(&mut self, id: JobId) -> Gate {
        let job = self.cx.jobs.stripe(id);
        let (stripe, blind) = (job.window.stripe, job.blind);
        if blind != Blind::Writes {
            return Gate::Pass;
        }
        let check = Unit::new(self.cx.geometry.layout().data_units());
        for piece in job.pieces.clone() {
            let window = Window { stripe, columns: piece.columns };
            if self.record_bad_blocks(window, check).is_err() {
                return self.end_stripe(id, Err(RequestError::Lost));
            }
        }
        if self.bad_blocks.additions_are_durable(&self.cx.roster.listed)
            || is_planted(Bug::WritesBeforeListed)
        {
            return Gate::Pass;
        }
        self.bad_blocks.waiters.push(id);
        Gate::Wait
    }

    /// What was written without parity is there: parity is computed from it, where that is
    /// possible.
    pub(crate) fn recompute_parity(&mut self, id: JobId) {
        let job = self.cx.jobs.stripe(id);
        job.blind = Blind::Wrote;
        let (stripe, pieces) = (job.window.stripe, job.pieces.clone());
        self.let_go_of_stripe(id);
        let check = Unit::new(self.cx.geometry.layout().data_units());
        for piece in pieces {
            self.start_repair(id, Window { stripe, columns: piece.columns }, UnitSet::of(check));
        }
    }

    pub(crate) fn bad_block_log_due(&self) -> bool {
        let (bad_blocks, listed) = (&self.bad_blocks, &self.cx.roster.listed);
        let due = if self.records.barrier() {
            !bad_blocks.additions_are_durable(listed)
        } else {
            !bad_blocks.is_durable(listed)
        };
        let joining = self.both_banks_may_be_written() && !bad_blocks.joining_member_is_informed();
        // (An opening that does not come to its end leaves no trace.)
        self.records.enabled
            && self.records.has_opened()
            && (due || joining || !bad_blocks.members_are_informed())
            && bad_blocks.writing.is_none()
    }

    /// Writes the list to all members, once what was written to blocks that are off it is durable.
    pub(crate) fn write_bad_block_log(&mut self) {
        let Some((_, length)) = self.cx.geometry.bad_block_log_at(0) else { return };
        let mut list = self.cx.roster.listed.list().clone();
        if self.records.barrier() {
            list.merge(&self.bad_blocks.stored);
        }
        self.bad_blocks.sequence += 1;
        let sequence = self.bad_blocks.sequence;
        let (at, _) = self
            .cx
            .geometry
            .bad_block_log_at((sequence % 2) as usize)
            .expect("there is room for bad-block logs");
        let id = self.cx.jobs.start(Kind::BadBlockLog, Class::Metadata);
        if !is_planted(Bug::ListedWithoutFlush) {
            self.cx.plan_flushes(id);
        }
        let bytes = list.encode(self.cx.identity, sequence);
        self.bad_blocks.writing = Some((self.cx.roster.listed.version(), list));
        let job = self.cx.jobs.get_mut(id);
        job.metadata = bytes;
        job.plan.strategy = Strategy::Metadata;
        job.plan.next_phase();
        for (slot, _) in self.cx.roster.standing() {
            job.plan.write(slot, at, Span::new(Source::Metadata, Sectors::ZERO, length), true);
        }
        self.start_plan(id, None, &[]);
    }

    /// The list is written, or as far as members let it be.
    pub(crate) fn bad_block_log_written(&mut self, id: JobId, whole: bool) {
        let job = self.cx.jobs.get(id);
        let begun = (job.next_step as usize) == job.plan.steps.len();
        self.end_job(id);
        let (version, stored) = self.bad_blocks.writing.take().expect("a list writing was under way");
        if !whole && !begun {
            // A flush failed: the list was not touched.
            self.bad_blocks.sequence -= 1;
            self.bad_blocks.informed_from = self.bad_blocks.informed_from.min(self.bad_blocks.sequence + 1);
            self.bad_blocks.both_from = self.bad_blocks.both_from.min(self.bad_blocks.sequence + 2);
            return;
        }
        if whole {
            self.records.recorded.list = self.bad_blocks.sequence;
        }
        self.bad_blocks.written_added = version;
        // (What came off it meanwhile is perhaps not flushed, though the list be as it was: it is
        // written again.)
        if version == self.cx.roster.listed.version() && stored == *self.cx.roster.listed.list() {
            self.bad_blocks.written = version;
        }
        self.bad_blocks.stored = stored;
        for id in std::mem::take(&mut self.bad_blocks.waiters) {
            if self.cx.jobs.stripe(id).stage != Stage::Running {
                self.cx.runnable.push_back(id);
            } else {
                self.stripe_carried_out(id);
            }
        }
    }
}
