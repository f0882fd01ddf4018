//! Keeping the bad-block log: when blocks go on it and come off it, and who waits until that is
//! durable.
//!
//! While a member's exclusion is not durable the member would be believed after a crash, with what
//! it has not flushed: so long nothing comes off the list that members hold.

use parlour_units::{Sector, Sectors, Slot, Unit};

use crate::assembly::Assembly;
use crate::columns::Window;
use crate::context::Context;
use crate::effect::Class;
use crate::exec::run::Progress;
use crate::format::bad_block_log::{BadBlockLog, Full};
use crate::format::banks::{Banks, Newest, sequence_of_session};
use crate::geometry::Geometry;
use crate::ids::JobId;
use crate::job::Kind;
use crate::plan::{Source, Span, Strategy};
use crate::planted::{Bug, is_planted};
use crate::roster::listed::ListedBlocks;
use crate::status::Event;

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
    pub(crate) fn is_durable(&self, listed: &ListedBlocks) -> bool {
        self.written == listed.version()
    }

    /// Whether they hold all that is on it.
    pub(crate) fn additions_are_durable(&self, listed: &ListedBlocks) -> bool {
        self.written_added >= listed.last_addition()
    }

    /// `job` goes on when the list is written.
    pub(crate) fn wait(&mut self, job: JobId) {
        self.waiters.push(job);
    }

    /// Whether the list is to be written. While an exclusion is not durable (`barrier`) nothing
    /// comes off it.
    pub(crate) fn is_due(&self, listed: &ListedBlocks, barrier: bool, both_banks: bool) -> bool {
        let due = if barrier { !self.additions_are_durable(listed) } else { !self.is_durable(listed) };
        let joining = both_banks && !self.joining_member_is_informed();
        (due || joining || !self.members_are_informed()) && self.writing.is_none()
    }

    /// Writes the list to all members, once what was written to blocks that are off it is durable.
    pub(crate) fn write(&mut self, cx: &mut Context, barrier: bool) -> Option<(JobId, Progress)> {
        let (_, length) = cx.geometry.bad_block_log_at(0)?;
        let mut list = cx.roster.listed.list().clone();
        if barrier {
            list.merge(&self.stored);
        }
        self.sequence += 1;
        let bank = (self.sequence % 2) as usize;
        let (at, _) = cx.geometry.bad_block_log_at(bank).expect("there is room for bad-block logs");
        let id = cx.jobs.start(Kind::BadBlockLog, Class::Metadata);
        if !is_planted(Bug::ListedWithoutFlush) {
            cx.plan_flushes(id);
        }
        let job = cx.jobs.get_mut(id);
        job.metadata = list.encode(cx.identity, self.sequence);
        self.writing = Some((cx.roster.listed.version(), list));
        job.plan.strategy = Strategy::Metadata;
        job.plan.next_phase();
        for (slot, _) in cx.roster.standing() {
            job.plan.write(slot, at, Span::new(Source::Metadata, Sectors::ZERO, length), true);
        }
        let turn = cx.roster.turn();
        Some((id, cx.start_plan(id, turn, None, &[])))
    }

    /// The list is written, or as far as members let it be. Returns the sequence number that all of
    /// them have, if they do, and the jobs that waited.
    pub(crate) fn written(&mut self, cx: &mut Context, id: JobId, whole: bool) -> (Option<u64>, Vec<JobId>) {
        let job = cx.jobs.get(id);
        let begun = (job.next_step as usize) == job.plan.steps.len();
        cx.jobs.end(id);
        let (version, stored) = self.writing.take().expect("a list writing was under way");
        if !whole && !begun {
            // A flush failed: the list was not touched.
            self.sequence -= 1;
            self.informed_from = self.informed_from.min(self.sequence + 1);
            self.both_from = self.both_from.min(self.sequence + 2);
            return (None, Vec::new());
        }
        self.written_added = version;
        // (What came off it meanwhile is perhaps not flushed, though the list be as it was: it is
        // written again.)
        if version == cx.roster.listed.version() && stored == *cx.roster.listed.list() {
            self.written = version;
        }
        self.stored = stored;
        (whole.then_some(self.sequence), std::mem::take(&mut self.waiters))
    }
}

/// Puts blocks of `unit`, which cannot be computed, on the list, if there is room.
pub(crate) fn record(cx: &mut Context, window: Window, unit: Unit) -> Result<(), Full> {
    if !cx.writes {
        return Err(Full);
    }
    if let Some((slot, at)) = insert(cx, window, unit)? {
        let length = window.columns.length();
        let stripe = Sector::ZERO + cx.geometry.layout().stripe_data() * window.stripe.get();
        cx.events.push_back(Event::BadBlocksRecorded { slot, at, length, stripe });
    }
    Ok(())
}

/// What could not be read when it was to be compared, after a crash, goes on the list, if there is
/// room: if it becomes readable later, what it holds is not known. Nothing is lost by that where it
/// can be computed.
pub(crate) fn record_uncompared(cx: &mut Context, window: Window, unit: Unit) -> Result<(), Full> {
    if is_planted(Bug::UncomparedBelieved) {
        return Ok(());
    }
    insert(cx, window, unit).map(drop)
}

/// Puts blocks on the list. Says where they are, if any was not on it yet.
fn insert(cx: &mut Context, window: Window, unit: Unit) -> Result<Option<(Slot, Sector)>, Full> {
    if cx.geometry.bad_block_log_at(0).is_none() {
        return Err(Full);
    }
    let location = cx.roster.current_location(cx.geometry.layout().locate(window.stripe, unit));
    let at = cx.geometry.absolute(location.at + window.columns.from);
    let any = cx.roster.listed.insert(location.slot, at, window.columns.length())?;
    Ok(any.then_some((location.slot, at)))
}
