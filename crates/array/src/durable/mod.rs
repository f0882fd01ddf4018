//! The array's own metadata, as it is in memory and as far as members hold it; and the fence
//! against other servers. [`Durable::due`] is the order in which it becomes durable.
//!
//! Each kind of metadata is a component of its own. The bitmap and the bad-block log are handed
//! out, because others ask them much that concerns nothing else here; superblocks, tables and fence
//! are asked through [`Durable`].

pub(crate) mod bad_blocks;
mod bitmap;
mod cleaning;
mod fence;
mod resyncing;
pub(crate) mod returning;
mod superblocks;
mod tables;
mod versions;
mod write;

use parlour_units::{Instant, Member, Region, Slot};

pub(crate) use self::bad_blocks::BadBlocks;
pub(crate) use self::bitmap::Bitmap;
use self::fence::{Fence, note_epochs};
pub(crate) use self::superblocks::SuperblocksStart;
use self::superblocks::{Superblocks, Written};
use self::tables::Tables;
pub(crate) use self::tables::WrittenTable;
use crate::context::Context;
use crate::exec::job::FailedAccess;
use crate::exec::progress::Progress;
use crate::format::bitmap::TableEntry;
use crate::format::horizon::{SESSION_END, sequences_are_used};
use crate::identity::Identity;
use crate::ids::JobId;
use crate::mode::Mode;
use crate::roster::SlotState;

/// See the module.
#[derive(Debug)]
pub(crate) struct Durable {
    superblocks: Superblocks,
    bitmap: Bitmap,
    tables: Tables,
    bad_blocks: BadBlocks,
    fence: Fence,
}

/// The metadata that is to be written next, or to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// Superblocks are read, to see whether another server has opened the array.
    Look,
    BadBlockLog,
    Superblocks,
    Bitmap,
    Table,
}

/// What a write of superblocks has achieved that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SuperblocksWritten {
    /// Some member holds them.
    pub(crate) recorded: bool,
    /// The session has begun with them: what carries its numbers would be believed after a crash.
    pub(crate) begins: bool,
}

impl Durable {
    /// The metadata of an array that was just opened. `table_sequence` is the number of the newest
    /// table on members.
    pub(crate) fn new(
        start: SuperblocksStart,
        bitmap: Bitmap,
        table_sequence: u64,
        bad_blocks: BadBlocks,
        writes: bool,
    ) -> Durable {
        let tables = Tables::new(table_sequence, start.session_number);
        let superblocks = Superblocks::new(start, writes);
        Durable { superblocks, bitmap, tables, bad_blocks, fence: Fence::default() }
    }

    /// The write-intent bitmap.
    pub(crate) fn bitmap(&self) -> &Bitmap {
        &self.bitmap
    }

    pub(crate) fn bitmap_mut(&mut self) -> &mut Bitmap {
        &mut self.bitmap
    }

    /// Whether copies of a stripe in `region` may differ: reads of it must all use the same copy.
    pub(crate) fn copies_may_differ(&self, cx: &Context, region: Region) -> bool {
        cx.geometry.keeps_copies() && self.bitmap.needs_resync(region)
    }

    /// The bad-block log.
    pub(crate) fn bad_blocks(&self) -> &BadBlocks {
        &self.bad_blocks
    }

    pub(crate) fn bad_blocks_mut(&mut self) -> &mut BadBlocks {
        &mut self.bad_blocks
    }

    /// The array's name.
    pub(crate) fn name(&self) -> &str {
        self.superblocks.name()
    }

    /// Whether some exclusion (or this session's opening) is not yet durable.
    pub(crate) fn barrier(&self) -> bool {
        self.superblocks.barrier()
    }

    /// Passes, or parks `job` until exclusions are durable.
    pub(crate) fn pass_barrier(&mut self, job: JobId) -> bool {
        let passes = !self.barrier();
        if !passes {
            self.superblocks.wait(job);
        }
        passes
    }

    /// Jobs that wait at the barrier check their condition again.
    pub(crate) fn wake_at_barrier(&mut self, cx: &mut Context) {
        self.superblocks.wake(cx);
    }

    /// Whether the last exclusion could be recorded on no member. After a crash the excluded member
    /// would be believed, and no new write counts as durable.
    pub(crate) fn is_unrecorded(&self) -> bool {
        self.superblocks.is_unrecorded()
    }

    /// Whether superblocks record that this session has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.superblocks.has_begun()
    }

    /// Whether records and segments with numbers of this session would be believed after a crash.
    pub(crate) fn session_is_known(&self, cx: &Context) -> bool {
        self.superblocks.has_begun() || !cx.writes
    }

    /// Whether a flush is one of all members that count after a crash: none that stands has failed
    /// to flush, and it is recorded which members are excluded.
    pub(crate) fn flushes_hold(&self, cx: &Context) -> bool {
        !cx.roster.has_lost_writes() && !self.is_unrecorded()
    }

    /// Requests a write of all superblocks.
    pub(crate) fn record_change(&mut self, cx: &Context) {
        self.superblocks.record_change(cx);
    }

    /// Requests a write of all superblocks; no write completes before it is done.
    pub(crate) fn record_exclusion(&mut self, cx: &Context) {
        self.superblocks.record_exclusion(cx);
    }

    /// The frontier of the rebuild of `slot` as superblocks record it, or are about to.
    pub(crate) fn frontier(&self, cx: &Context, slot: Slot) -> u64 {
        self.superblocks.frontier(cx, slot)
    }

    /// Requests a write of all superblocks with this frontier of the rebuild of `slot`.
    pub(crate) fn record_frontier(&mut self, cx: &Context, slot: Slot, frontier: u64) {
        self.superblocks.set_frontier(cx, slot, frontier);
        self.superblocks.record_change(cx);
    }

    /// The member in `slot` is whole, and the newest content of superblocks says so.
    pub(crate) fn await_rebuilt(&mut self, cx: &Context, slot: Slot) {
        self.superblocks.await_rebuilt(cx, slot);
    }

    /// The state of `slot` after a crash: a rebuilt member is whole only when that is recorded.
    pub(crate) fn known_state(&self, cx: &Context, slot: Slot) -> SlotState {
        let state = cx.roster.state(slot);
        let unrecorded = self.superblocks.awaits_rebuilt(slot) && state == SlotState::Active;
        if unrecorded { SlotState::Rebuilding } else { state }
    }

    /// Whether units of `slot` would be neither on a member there nor in spare room after a crash.
    pub(crate) fn lacks_units(&self, cx: &Context, slot: Slot) -> bool {
        // (What is at home again also stays in spare room until that is recorded.)
        let is_back = cx.roster.state(slot) == SlotState::Active;
        cx.roster.lacks_units(slot)
            || self.superblocks.awaits_rebuilt(slot) && !(is_back && cx.roster.is_moved(slot))
    }

    /// Whether all members are active, and would be after a crash: no end of a rebuild is still to
    /// be recorded.
    pub(crate) fn is_whole(&self, cx: &Context) -> bool {
        !cx.roster.is_degraded() && !self.superblocks.awaits_any_rebuilt()
    }

    /// Whether superblocks record a clean shutdown, or are about to.
    pub(crate) fn is_clean(&self) -> bool {
        self.superblocks.is_clean()
    }

    /// Whether superblocks record a clean shutdown.
    pub(crate) fn has_recorded_clean(&self) -> bool {
        self.is_clean() && self.superblocks.is_current()
    }

    /// Requests a write of superblocks that record a clean shutdown.
    pub(crate) fn record_clean(&mut self, cx: &Context) {
        self.superblocks.set_clean(true);
        self.superblocks.record_change(cx);
    }

    /// The shutdown is not clean any more.
    pub(crate) fn take_back_clean(&mut self) {
        self.superblocks.set_clean(false);
    }

    /// Requests a write of the table.
    pub(crate) fn want_table(&mut self) {
        self.tables.want();
    }

    /// Whether a table is being written.
    pub(crate) fn is_writing_table(&self) -> bool {
        self.tables.versions().is_writing()
    }

    /// `region` waits for the next table: it must be durable which of its records are in the
    /// parity, or need not be redone, before it goes on.
    pub(crate) fn await_table(&mut self, region: Region) {
        self.tables.want_for(region);
    }
}

/// Which members hold the metadata of this session.
impl Durable {
    /// Requests writes of bitmap and table to all members.
    pub(crate) fn inform_members(&mut self, cx: &Context) {
        self.bitmap.want();
        if cx.geometry.is_journaled() {
            self.tables.want();
        }
        self.bitmap.versions_mut().inform_members();
        self.tables.versions_mut().inform_members();
    }

    /// Requests writes of bitmap, table and bad-block log to all members, to both banks.
    pub(crate) fn inform_joining_member(&mut self, cx: &Context) {
        self.bitmap.versions_mut().inform_joining_member();
        self.tables.versions_mut().inform_joining_member();
        self.bad_blocks.inform_joining_member(&cx.geometry);
    }

    /// Whether all members hold bitmap, table and bad-block log of this session.
    pub(crate) fn members_are_informed(&self, cx: &Context) -> bool {
        self.bitmap.versions().members_are_informed()
            && (self.tables.versions().members_are_informed() || !cx.geometry.is_journaled())
            && self.bad_blocks.versions().members_are_informed()
    }

    /// Whether a new member holds all of these in both banks.
    pub(crate) fn joining_member_is_informed(&self, cx: &Context) -> bool {
        self.members_are_informed(cx)
            && self.bitmap.versions().joining_member_is_informed()
            && (self.tables.versions().joining_member_is_informed() || !cx.geometry.is_journaled())
            && self.bad_blocks.versions().joining_member_is_informed()
    }

    /// Whether the session is about to begin: all members get one bank of this session.
    fn is_beginning(&self) -> bool {
        !self.superblocks.is_opening() && !self.superblocks.has_begun()
    }

    /// Whether both banks may be written.
    fn both_banks_may_be_written(&self, cx: &Context) -> bool {
        let stops = matches!(cx.mode, Mode::Stopping | Mode::Stopped);
        self.superblocks.has_begun() && !self.barrier() && !stops
    }

    /// Takes the numbers of one more session when many numbers of the current one are used, so that
    /// they never run out. No write goes on before superblocks record the new session number.
    /// `used` says whether logs have used many of a session's numbers.
    pub(crate) fn renew_session(&mut self, cx: &Context, used: impl Fn(u64) -> bool) {
        let session = self.superblocks.session_number();
        let settled = self.superblocks.has_begun() && !self.barrier() && !self.is_clean();
        if !cx.writes || !settled || session + 1 >= SESSION_END {
            return;
        }
        let banks = [self.bitmap.versions(), self.tables.versions(), self.bad_blocks.versions()];
        let newest = banks.map(|versions| versions.sequence()).into_iter().max().unwrap_or(0);
        if used(session) || sequences_are_used(session, newest) {
            self.superblocks.renew_session(cx);
        }
    }

    /// Superblocks with this session's number are on all members that stand. Returns the number.
    pub(crate) fn number_on(&mut self) -> u64 {
        // The table that is written when the array stops must carry the session number that
        // superblocks name.
        let session = self.superblocks.session_number();
        self.tables.versions_mut().number_on(session);
        session
    }
}

/// What is due, and its writing.
impl Durable {
    /// Whether superblocks are being read; nothing is written meanwhile.
    pub(crate) fn is_looking(&self) -> bool {
        self.fence.is_looking()
    }

    /// Whether superblocks were read lately and named no other server: if not, nothing is written
    /// that can wait.
    pub(crate) fn has_looked(&self, cx: &Context) -> bool {
        !self.fence.is_looking() && !self.fence.is_due(cx, false, false)
    }

    /// When superblocks are to be read again, if they are not read earlier for another reason.
    pub(crate) fn look_deadline(&self, cx: &Context) -> Option<Instant> {
        self.fence.deadline(cx, self.superblocks.is_writing())
    }

    /// What is due. `logs_begun` says whether the commit log, if there is one, has a first entry of
    /// this session in each of its streams.
    pub(crate) fn due(&self, cx: &Context, logs_begun: bool) -> Option<Due> {
        let superblocks = self.superblocks_are_due(cx, logs_begun);
        if self.fence.is_due(cx, self.superblocks.is_writing(), superblocks) {
            Some(Due::Look)
        } else if !cx.writes {
            None
        } else if self.bad_block_log_is_due(cx) {
            Some(Due::BadBlockLog)
        } else if superblocks {
            Some(Due::Superblocks)
        } else if self.bitmap_is_due(cx) {
            Some(Due::Bitmap)
        } else if self.table_is_due(cx) {
            Some(Due::Table)
        } else {
            None
        }
    }

    /// Before superblocks record that the session has begun, all members must have the metadata
    /// that perhaps only one member had when it was read. Before superblocks record the progress of
    /// a rebuild, the blocks that the rebuild has passed over must be on the durable bad-block log.
    fn superblocks_are_due(&self, cx: &Context, logs_begun: bool) -> bool {
        let may = || {
            let informed = self.has_begun() || self.members_are_informed(cx) && logs_begun;
            informed && self.bad_blocks.additions_are_durable(cx.roster.listed())
        };
        cx.writes && self.superblocks.is_due() && (self.superblocks.is_opening() || may())
    }

    fn bad_block_log_is_due(&self, cx: &Context) -> bool {
        let both_banks = self.both_banks_may_be_written(cx);
        // (An opening that does not come to its end writes nothing.)
        !self.superblocks.is_opening()
            && self.bad_blocks.is_due(cx.roster.listed(), self.barrier(), both_banks)
    }

    fn bitmap_is_due(&self, cx: &Context) -> bool {
        let versions = self.bitmap.versions();
        let joining = || versions.is_before_both() && self.both_banks_may_be_written(cx);
        // An opening that does not come to its end writes no bitmap. While an exclusion is not
        // durable, no new bitmap is written: after a crash the excluded member would be called
        // older than the others, although it has missed nothing.
        let may_begin = || !self.barrier() || self.is_beginning() && versions.is_before_first();
        (self.bitmap.is_wanted() || joining()) && !versions.is_writing() && may_begin()
    }

    /// Applied records must be durable in the parity of members that are believed; a member whose
    /// exclusion is not durable would be believed after a crash.
    fn table_is_due(&self, cx: &Context) -> bool {
        let versions = self.tables.versions();
        let joining =
            || cx.geometry.is_journaled() && versions.is_before_both() && self.both_banks_may_be_written(cx);
        // (The first table of a session says nothing new.)
        let begins = || self.is_beginning() && versions.is_before_first();
        // Parity on the bad-block log, and blocks that could not be compared, may lack records.
        // That must be durable before the table says that the records are applied.
        let listed = || self.bad_blocks.additions_are_durable(cx.roster.listed());
        let wanted = self.tables.is_wanted() || joining();
        wanted && (!self.barrier() || begins()) && listed() && !versions.is_writing()
    }

    /// Reads superblocks of all members that are written to.
    pub(crate) fn look(&mut self, cx: &mut Context) -> (JobId, Progress) {
        let members: Vec<Member> =
            self.superblocks.members(cx).into_iter().map(|(member, _)| member).collect();
        self.fence.look(cx, &members)
    }

    /// Superblocks were read, except those in `failures`. Returns a member to which another server
    /// has written, and the session of that server.
    pub(crate) fn looked(
        &mut self,
        cx: &mut Context,
        id: JobId,
        failures: &[FailedAccess],
    ) -> Option<(Member, Identity)> {
        self.fence.looked(cx, self.superblocks.sessions(), id, failures)
    }

    pub(crate) fn write_superblocks(&mut self, cx: &mut Context) -> (JobId, Progress) {
        self.fence.superblocks_change();
        self.superblocks.write(cx)
    }

    /// A write of superblocks has ended, except on the members in `failures`. `None` if they do not
    /// count, and are written again.
    pub(crate) fn superblocks_ended(
        &mut self,
        cx: &mut Context,
        id: JobId,
        failures: &[FailedAccess],
    ) -> Option<SuperblocksWritten> {
        note_epochs(cx, id, failures);
        let Written::Counts { recorded } = self.superblocks.end(cx, id, failures) else { return None };
        self.superblocks.report_rebuilt(cx, recorded);
        let awaits = cx.roster.awaits_members() || cx.roster.has_lost_writes();
        // (The superblocks of an opening repeat the members as they were found. If the array is
        // being stopped, the next opening forgets what absent members lacked.)
        let records = self.superblocks.is_current() && !self.superblocks.is_opening();
        if records && cx.mode == Mode::Serving && !awaits {
            self.bitmap.forget_out_of_sync();
        }
        let begins = self.superblocks.step_stage(cx);
        Some(SuperblocksWritten { recorded, begins })
    }

    pub(crate) fn write_bad_block_log(&mut self, cx: &mut Context) -> Option<(JobId, Progress)> {
        let barrier = self.barrier();
        self.bad_blocks.write(cx, barrier)
    }

    /// A write of the bad-block log has ended. Unless `whole`, some members do not have it. Returns
    /// the jobs that waited for it.
    pub(crate) fn bad_block_log_ended(&mut self, cx: &mut Context, id: JobId, whole: bool) -> Vec<JobId> {
        let (sequence, waiting) = self.bad_blocks.written(cx, id, whole);
        if let Some(sequence) = sequence {
            self.superblocks.recorded_mut().list = sequence;
        }
        waiting
    }

    /// A write of the bitmap has ended. Unless `whole`, some members do not have it.
    pub(crate) fn bitmap_ended(&mut self, cx: &mut Context, whole: bool) {
        let sequence = self.bitmap.written(cx);
        if whole {
            self.superblocks.recorded_mut().map = sequence;
        }
    }

    pub(crate) fn write_table(&mut self, cx: &mut Context, table: Vec<TableEntry>) -> (JobId, Progress) {
        self.tables.write(cx, table)
    }

    /// A write of the table has ended. Unless `whole`, some members do not have it.
    pub(crate) fn table_ended(&mut self, whole: bool) -> WrittenTable {
        let written = self.tables.written();
        if whole {
            self.superblocks.recorded_mut().table = written.sequence;
        }
        written
    }

    /// The flush before regions are marked clean has ended. `live` says which regions' logs hold
    /// records.
    pub(crate) fn idle_regions_flushed(&mut self, cx: &Context, whole: bool, live: impl Fn(Region) -> bool) {
        // If a member was failed meanwhile, it would be believed after a crash until its exclusion
        // is durable, although it lacks writes that it has not flushed. Or a member had to be kept,
        // and could not flush.
        if !whole || self.barrier() || cx.roster.has_lost_writes() {
            self.bitmap.idle_regions_not_flushed(cx);
        } else {
            self.bitmap.idle_regions_flushed(cx, live);
        }
    }
}
