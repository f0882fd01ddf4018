//! The array's metadata on its members (superblocks, write-intent bitmap, table of the regions'
//! logs), and the order in which it becomes durable.
//!
//! - A region's dirty bit is durable before the first write to the region.
//! - A member's exclusion is durable in the survivors' superblocks before any write completes that
//!   the member missed.
//! - Data and parity are durable before a dirty bit is cleared, and everything is durable before a
//!   superblock says "clean".
//!
//! At most one superblock write and one bitmap write are under way at a time; changes that come
//! meanwhile go into the next one.

mod bad_blocks;
mod fence;
mod informed;
mod stop;
mod table;

use parlour_units::{Instant, Member, Region, Sectors, Slot};

use self::stop::Stop;
use crate::array::Array;
use crate::durable::fence::note_epochs;
use crate::effect::{Action, Class};
use crate::exec::job::FailedAccess;
use crate::format::banks::sequence_of_session;
use crate::format::bitmap::{Bits, StoredBitmap, TableEntry};
use crate::format::horizon::{SESSION_END, sequences_are_used};
use crate::format::superblock::{Entry, EntryState, Recorded, Superblock};
use crate::geometry::{Geometry, SUPERBLOCK};
use crate::identity::Identity;
use crate::ids::JobId;
use crate::job::Kind;
use crate::mode::Mode;
use crate::plan::{Source, Span, Strategy};
use crate::planted::{Bug, is_planted};
use crate::roster::SlotState;
use crate::roster::kept::Kept;

/// A table of the regions' logs that is being written.
#[derive(Debug)]
struct TableWriting {
    sequence: u64,
    /// Regions that wait for this table to be durable.
    regions: Vec<Region>,
    table: Vec<TableEntry>,
}

/// The metadata of the array, as it is in memory and as far as it is durable.
#[derive(Debug)]
pub(crate) struct Records {
    /// Whether any metadata is written; `false` for an array that is opened read-only.
    pub(crate) enabled: bool,
    pub(crate) name: String,
    pub(crate) created: u64,
    sequence: u64,
    pub(crate) session_number: u64,
    pub(crate) sessions: Vec<Identity>,
    pub(crate) clean: bool,
    /// True until all members have this session's first superblock.
    opening: bool,
    /// The member table as it was read. The superblocks of an opening repeat it unchanged: if the
    /// opening does not come to its end, members that were absent have missed nothing.
    found: Vec<Entry>,
    /// All members have a superblock that records the end of this session's opening.
    begun: bool,
    /// Versions of the superblock's content: the newest, the one being written, and the last
    /// written one.
    pub(crate) wanted: u64,
    writing: Option<u64>,
    pub(crate) written: u64,
    /// The version that counts as written reached no member that stands, although the write was
    /// tried with either copy first.
    untold: bool,
    /// The version being written is tried again with the other copy first.
    other_copy: bool,
    /// The version that holds the newest exclusion: no degraded write completes before it is
    /// written.
    exclusion: u64,
    barrier_waiters: Vec<JobId>,
    pub(crate) dirty: Bits,
    durable: Bits,
    pub(crate) resync: Bits,
    /// Regions to be resynced whose parity lacks records that this session has given up: nothing is
    /// computed from that parity.
    pub(crate) outdated: Bits,
    bitmap_sequence: u64,
    bitmap_wanted: bool,
    bitmap_writing: Option<StoredBitmap>,
    /// Regions whose resync bit is durable.
    durable_resync: Bits,
    /// Regions in which absent members may lack data that was written; and those of them for which
    /// this is durable.
    pub(crate) out_of_sync: Bits,
    durable_out_of_sync: Bits,
    /// The table of the regions' logs: how often it was written, which regions wait for the next
    /// one, and the one that is being written.
    table_sequence: u64,
    table_waiters: Vec<Region>,
    table_wanted: bool,
    table_writing: Option<TableWriting>,
    /// All members have the bitmap and the table from these sequence numbers on.
    informed_from: (u64, u64),
    /// A member that is being rebuilt has both banks of the bitmap and of the table from these
    /// sequence numbers on.
    both_from: (u64, u64),
    /// A region that was resynced and is about to be logged again: no new writes begin in it
    /// meanwhile.
    pub(crate) closing: Option<Region>,
    /// A write that the closing region waited for was cut off.
    pub(crate) closing_spoilt: bool,
    bitmap_waiters: Vec<JobId>,
    /// The sequence numbers that all members hold.
    pub(crate) recorded: Recorded,
    /// Writes in flight, by region.
    writers: Vec<u32>,
    /// Regions in use since the last search for idle regions.
    touched: Bits,
    clean_at: Option<Instant>,
    cleaning: bool,
    stop: Option<Stop>,
}

/// The values that the records start from.
#[derive(Debug)]
pub(crate) struct RecordsStart {
    pub(crate) enabled: bool,
    pub(crate) name: String,
    pub(crate) created: u64,
    pub(crate) sequence: u64,
    pub(crate) session_number: u64,
    pub(crate) sessions: Vec<Identity>,
    pub(crate) map: StoredBitmap,
    /// The sequence number of the newest table of applied records.
    pub(crate) table_sequence: u64,
    /// The member table.
    pub(crate) members: Vec<Entry>,
    /// The sequence numbers that all members hold.
    pub(crate) recorded: Recorded,
}

impl Records {
    pub(crate) fn new(start: RecordsStart, regions: u32) -> Records {
        Records {
            enabled: start.enabled,
            name: start.name,
            created: start.created,
            sequence: start.sequence,
            session_number: start.session_number,
            sessions: start.sessions,
            clean: false,
            opening: true,
            found: start.members,
            begun: false,
            untold: false,
            other_copy: false,
            wanted: u64::from(start.enabled),
            writing: None,
            written: 0,
            exclusion: u64::from(start.enabled),
            barrier_waiters: Vec::new(),
            durable: start.map.dirty.clone(),
            // The bitmap that was read at the opening may not be on all members, and bits that were
            // derived from it are on no member.
            durable_resync: match is_planted(Bug::GivenUpReadAtOnce) {
                true => start.map.resync.clone(),
                false => Bits::new(regions),
            },
            durable_out_of_sync: Bits::new(regions),
            out_of_sync: start.map.out_of_sync,
            table_sequence: sequence_of_session(start.session_number, start.table_sequence),
            table_waiters: Vec::new(),
            table_wanted: false,
            table_writing: None,
            informed_from: (0, 0),
            both_from: (0, 0),
            closing: None,
            closing_spoilt: false,
            dirty: start.map.dirty,
            resync: start.map.resync,
            outdated: Bits::new(regions),
            bitmap_sequence: sequence_of_session(start.session_number, start.map.sequence),
            bitmap_wanted: start.enabled,
            bitmap_writing: None,
            bitmap_waiters: Vec::new(),
            recorded: start.recorded,
            writers: vec![0; regions as usize],
            touched: Bits::new(regions),
            clean_at: None,
            cleaning: false,
            stop: None,
        }
    }

    /// Whether `region` needs no resync, or its resync bit is durable. A durable bit that the
    /// bitmap being written is about to clear does not count.
    pub(crate) fn resync_is_durable(&self, region: Region) -> bool {
        let stays = |map: &StoredBitmap| map.resync.get(region);
        !self.resync.get(region)
            || self.durable_resync.get(region) && self.bitmap_writing.as_ref().is_none_or(stays)
    }

    /// Whether [`Records::resync_is_durable`] holds for all regions.
    pub(crate) fn all_resync_is_durable(&self) -> bool {
        self.resync.iter().all(|region| self.resync_is_durable(region))
    }

    /// Whether it is durable that absent members may lack data that is written to `region`.
    fn out_of_sync_is_durable(&self, region: Region) -> bool {
        let stays = |map: &StoredBitmap| map.out_of_sync.get(region);
        self.out_of_sync.get(region)
            && self.durable_out_of_sync.get(region)
            && self.bitmap_writing.as_ref().is_none_or(stays)
    }

    /// The number of regions that are to be resynced, or would have to be if a crash came now.
    pub(crate) fn unsynced(&self) -> u32 {
        let mut regions = self.resync.clone();
        regions.merge(&self.durable_resync);
        if let Some(map) = &self.bitmap_writing {
            regions.merge(&map.resync);
        }
        regions.count()
    }

    /// Whether the bitmap is being written, or is waiting to be written.
    pub(crate) fn bitmap_is_under_way(&self) -> bool {
        self.bitmap_writing.is_some() || self.enabled && self.bitmap_wanted
    }

    /// The last session whose opening came to its end.
    pub(crate) fn last_completed(&self) -> Option<Identity> {
        self.sessions.get(usize::from(self.opening)).copied()
    }

    /// Whether the last exclusion could be recorded on no member. After a crash the excluded member
    /// would be believed, and no new write counts as durable.
    pub(crate) fn is_untold(&self) -> bool {
        self.untold
    }

    /// Requests a write of the bitmap.
    pub(crate) fn want_bitmap(&mut self) {
        self.bitmap_wanted = true;
    }

    /// Whether the superblocks that name this session are written: it is opened, or about to be.
    pub(crate) fn has_opened(&self) -> bool {
        !self.opening
    }

    /// Whether records and segments with numbers of this session would be believed after a crash.
    pub(crate) fn session_is_known(&self) -> bool {
        self.begun || !self.enabled
    }

    /// Whether some exclusion (or this session's opening) is not yet durable.
    pub(crate) fn barrier(&self) -> bool {
        self.written < self.exclusion
    }

    /// Marks `region` as in use, so that it is not idle at the next search.
    pub(crate) fn touch(&mut self, region: Region) {
        self.touched.set(region);
    }

    /// Whether superblocks are being written.
    pub(crate) fn are_superblocks_written(&self) -> bool {
        self.writing.is_some()
    }

    /// The sequence number of the newest superblock.
    pub(crate) fn sequence(&self) -> u64 {
        self.sequence
    }

    fn superblock_due(&self) -> bool {
        self.enabled && self.wanted > self.written && self.writing.is_none()
    }
}

impl Array {
    /// Requests a write of all superblocks.
    pub(crate) fn record_change(&mut self) {
        if self.records.enabled {
            self.records.wanted += 1;
        }
    }

    /// Requests a write of all superblocks; no write completes before it is done.
    pub(crate) fn record_exclusion(&mut self) {
        self.record_change();
        self.records.exclusion = if self.records.enabled { self.records.wanted } else { 0 };
    }

    /// Passes, or parks `job` until exclusions are durable.
    pub(crate) fn pass_barrier(&mut self, job: JobId) -> bool {
        let passes = !self.records.barrier() || is_planted(Bug::WritesBeforeExclusion);
        if !passes {
            self.records.barrier_waiters.push(job);
        }
        passes
    }

    /// Passes when `region` is durably dirty, and counts a writer in it; else parks `job`.
    pub(crate) fn enter_region(&mut self, region: Region, job: JobId) -> bool {
        let records = &mut self.records;
        records.touched.set(region);
        if records.closing == Some(region) {
            records.bitmap_waiters.push(job);
            return false;
        }
        let held = !is_planted(Bug::MissedForgotten) && !is_planted(Bug::WritesBeforeExclusion);
        let awaits = self.cx.roster.awaits_members() && held;
        let durably = records.durable.get(region) && (!awaits || records.out_of_sync_is_durable(region));
        if self.cx.tuning.bitmap && records.enabled && !durably && !is_planted(Bug::WritesBeforeDirtyBit) {
            records.dirty.set(region);
            if awaits {
                records.out_of_sync.set(region);
            }
            records.bitmap_wanted = true;
            records.bitmap_waiters.push(job);
            return false;
        }
        records.dirty.set(region);
        records.writers[region.as_usize()] += 1;
        self.expect_cleaning();
        true
    }

    /// A repair wrote to `region`. Until that is flushed, a member that becomes absent may lack it.
    pub(crate) fn note_repair(&mut self, region: Region) {
        if self.cx.mode == Mode::Serving && self.records.enabled && self.cx.tuning.bitmap {
            self.records.bitmap_wanted |= !self.records.dirty.get(region);
            self.records.dirty.set(region);
            self.note_out_of_sync(region);
            self.records.touched.set(region);
            self.expect_cleaning();
        }
    }

    /// A writer of `region` is done.
    pub(crate) fn leave_region(&mut self, region: Region) {
        self.records.touched.set(region);
        if self.records.resync.get(region) {
            // A unit that could not be resynced may have been overwritten, so a resync may succeed
            // now.
            self.maintenance.resync_from = self.maintenance.resync_from.min(region.get());
        }
        let writers = &mut self.records.writers[region.as_usize()];
        assert!(*writers > 0, "a region is left as often as it is entered");
        *writers -= 1;
        if *writers == 0 && self.records.closing == Some(region) {
            self.flush_resynced(region);
        }
    }

    /// `region`'s check units do not fit, or may not fit.
    pub(crate) fn need_resync(&mut self, region: Region) {
        if !self.records.resync.get(region) {
            self.records.resync.set(region);
            self.note_out_of_sync(region);
            self.records.bitmap_wanted = true;
        }
        self.spoil_resync(region);
    }

    /// `region` needs a resync because records of writes to it are given up.
    pub(crate) fn give_records_up(&mut self, region: Region) {
        self.records.outdated.set(region);
        self.need_resync(region);
    }

    /// `region`'s check units fit again.
    pub(crate) fn resynced(&mut self, region: Region) {
        self.records.resync.clear(region);
        self.records.outdated.clear(region);
        // The resync's writes are not yet flushed: the region stays dirty until they are.
        self.records.dirty.set(region);
        self.records.bitmap_wanted = true;
        self.records.touched.set(region);
        self.expect_cleaning();
    }

    /// Some dirty region may become clean. Without a bitmap no region is durably marked dirty, and
    /// there is nothing to do.
    pub(crate) fn expect_cleaning(&mut self) {
        if self.cx.tuning.bitmap && self.records.clean_at.is_none() {
            self.records.clean_at = Some(self.cx.now + self.cx.tuning.clean_after);
        }
    }

    pub(crate) fn clean_deadline(&self) -> Option<Instant> {
        let idle = self.cx.mode == Mode::Serving && self.records.enabled && !self.records.cleaning;
        // Some member had to be kept although it could not flush: the regions written there stay
        // dirty.
        self.records.clean_at.filter(|_| idle && !self.cx.roster.has_lost_writes())
    }

    /// Flushes all members if regions were idle since the last search, to mark these regions clean.
    pub(crate) fn clean_idle_regions(&mut self) {
        let Some(due) = self.clean_deadline().filter(|due| *due <= self.cx.now) else { return };
        let any = self.idle_regions().next().is_some();
        if any {
            self.records.cleaning = true;
            let job = self.cx.jobs.start(Kind::CleanFlush, Class::Metadata);
            if !is_planted(Bug::CleanWithoutFlush) {
                self.cx.plan_flushes(job);
            }
            self.start_plan(job, None, &[]);
            return;
        }
        self.records.touched = Bits::new(self.records.writers.len() as u32);
        let more = self.regions_to_clean().next().is_some();
        self.records.clean_at = more.then_some(due.max(self.cx.now) + self.cx.tuning.clean_after);
    }

    /// Dirty regions that become clean once they are idle.
    fn regions_to_clean(&self) -> impl Iterator<Item = Region> + '_ {
        let live = |region: &Region| self.logs.as_ref().is_some_and(|logs| logs.region_is_live(*region));
        self.records.dirty.iter().filter(move |region| !self.records.resync.get(*region) && !live(region))
    }

    fn idle_regions(&self) -> impl Iterator<Item = Region> + '_ {
        let records = &self.records;
        let idle = |region: &Region| {
            records.writers[region.as_usize()] == 0 && !records.touched.get(*region)
                || is_planted(Bug::DirtyBitClearedEarly)
        };
        self.regions_to_clean().filter(idle)
    }

    pub(crate) fn clean_flush_done(&mut self, id: JobId) {
        if self.records.barrier() || self.cx.roster.has_lost_writes() {
            // A member was failed meanwhile. Until its exclusion is durable it would be believed
            // after a crash, although it lacks writes that it has not flushed. Or a member had to
            // be kept, and could not flush.
            return self.clean_flush_broken(id);
        }
        self.end_job(id);
        let idle: Vec<Region> = self.idle_regions().collect();
        for region in &idle {
            self.records.dirty.clear(*region);
            self.records.durable.clear(*region);
        }
        self.records.bitmap_wanted |= !idle.is_empty();
        self.records.cleaning = false;
        self.records.touched = Bits::new(self.records.writers.len() as u32);
        let more = self.regions_to_clean().next().is_some();
        self.records.clean_at = more.then_some(self.cx.now + self.cx.tuning.clean_after);
    }

    pub(crate) fn clean_flush_broken(&mut self, id: JobId) {
        self.end_job(id);
        self.records.cleaning = false;
        self.records.clean_at = Some(self.cx.now + self.cx.tuning.clean_after);
    }

    /// Takes the numbers of one more session when many numbers of the current one are used, so that
    /// they never run out. No write goes on before superblocks record the new session number.
    fn renew_session(&mut self) {
        let records = &self.records;
        let session = records.session_number;
        // (The remaining numbers are enough until a stop is over.)
        let settled = records.begun && !records.barrier() && records.stop.is_none() && !records.clean;
        let may = records.enabled && settled && session + 1 < SESSION_END;
        let recorded =
            self.logs.as_ref().is_some_and(|logs| logs.have_used(session, self.cx.tuning.session_records));
        let banks = records.bitmap_sequence.max(records.table_sequence).max(self.bad_blocks.sequence());
        if may && (recorded || sequences_are_used(session, banks)) {
            self.records.session_number += 1;
            self.record_exclusion();
        }
    }

    /// Superblocks with this session's number are on all members that stand.
    fn number_on(&mut self) {
        let records = &mut self.records;
        if let Some(logs) = &mut self.logs {
            logs.may_number_up_to(records.session_number);
        }
        // The table that is written when the array stops must carry the session number that
        // superblocks name.
        let sequence = sequence_of_session(records.session_number, records.table_sequence);
        records.informed_from.1 += sequence - records.table_sequence;
        records.both_from.1 += sequence - records.table_sequence;
        records.table_sequence = sequence;
    }

    /// Starts writes of metadata that are due. Returns whether it started any.
    pub(crate) fn pump_records(&mut self) -> bool {
        self.renew_session();
        if self.fence.is_looking() {
            return false;
        }
        if self.look_if_due() {
            true
        } else if self.bad_block_log_due() {
            self.write_bad_block_log();
            true
        } else if self.superblock_due() {
            self.write_superblocks();
            true
        } else if self.bitmap_due() {
            self.write_bitmap();
            true
        } else if self.table_due() {
            self.write_table();
            true
        } else {
            self.pump_stop()
        }
    }

    /// Before superblocks record that the session has begun, all members must have the metadata
    /// that perhaps only one member had when it was read. Before superblocks record the progress of
    /// a rebuild, the blocks that the rebuild has passed over must be on the durable bad-block log.
    fn superblock_due(&self) -> bool {
        let tells = || {
            let informed = self.records.begun || self.members_are_informed();
            informed && self.bad_blocks.additions_are_durable(&self.cx.roster.listed)
        };
        self.records.superblock_due() && (self.records.opening || tells())
    }

    fn bitmap_due(&self) -> bool {
        let records = &self.records;
        // An opening that does not come to its end writes no bitmap. While an exclusion is not
        // durable, no new bitmap is written: after a crash the excluded member would be called
        // older than the others, although it has missed nothing.
        let may_begin = !records.barrier() || self.bitmap_begins();
        let wanted = records.bitmap_wanted || self.bitmap_is_due_for_joining_member();
        records.enabled && wanted && records.bitmap_writing.is_none() && may_begin
    }

    fn write_superblocks(&mut self) {
        self.records.writing = Some(self.records.wanted);
        self.records.sequence += 1;
        self.fence.superblocks_change();
        let id = self.cx.jobs.start(Kind::Superblock, Class::Metadata);
        let members = self.superblock_members();
        let table = if self.records.opening { self.records.found.clone() } else { self.member_table() };
        let superblock = |(member, entry): &(Member, u16)| self.superblock(*member, *entry, table.clone());
        let blocks: Vec<Superblock> = members.iter().map(superblock).collect();
        let job = self.cx.jobs.get_mut(id);
        job.plan.strategy = Strategy::Metadata;
        for block in &blocks {
            job.metadata.extend(block.encode());
        }
        for round in 0..2 {
            if round == 0 || !is_planted(Bug::SuperblockCopiesAtOnce) {
                job.plan.next_phase();
            }
            for (index, (member, _)) in members.iter().enumerate() {
                let worse = self.cx.roster.worse_copy(*member);
                let at = Geometry::superblocks_at(blocks[index].member_length)[(round + worse) % 2];
                let span = Span::new(Source::Metadata, SUPERBLOCK * index as u64, SUPERBLOCK);
                job.plan.write(*member, at, span, !is_planted(Bug::SuperblockNotDurable));
            }
        }
        self.start_plan(id, None, &[]);
    }

    /// The members that get a superblock, each with its index in the member table.
    pub(crate) fn superblock_members(&self) -> Vec<(Member, u16)> {
        if self.records.opening {
            let entry = |member: &Member| {
                let identity = self.cx.roster.info(*member).identity;
                self.records.found.iter().position(|entry| entry.member == identity)
            };
            let standing = self.cx.roster.standing().map(|(_, member)| member);
            let members = standing.chain(self.cx.roster.spares().iter().copied());
            return members.filter_map(|member| Some((member, entry(&member)? as u16))).collect();
        }
        let slots = self.cx.geometry.members();
        let spares = self.cx.roster.spares().iter().enumerate();
        let standing = self.cx.roster.standing().map(|(slot, member)| (member, slot.get()));
        standing.chain(spares.map(|(index, member)| (*member, slots + index as u16))).collect()
    }

    fn superblock(&self, member: Member, entry: u16, table: Vec<Entry>) -> Superblock {
        let info = self.cx.roster.info(member);
        let records = &self.records;
        Superblock {
            array: self.cx.identity,
            member: info.identity,
            entry,
            member_length: info.length,
            sequence: records.sequence,
            session_number: records.session_number,
            sessions: records.sessions.clone(),
            clean: records.clean,
            opening: records.opening,
            writable: true,
            copy: 0,
            geometry: *self.cx.geometry.stored(),
            name: records.name.clone(),
            created: records.created,
            table,
            recorded: records.recorded,
        }
    }

    fn member_table(&self) -> Vec<Entry> {
        let slot = |slot: Slot| {
            let keeps = self.cx.roster.keeps(slot);
            let state = match self.cx.roster.state(slot) {
                SlotState::Active => EntryState::Active,
                SlotState::Failed => keeps.map_or(EntryState::Failed, Kept::entry),
                SlotState::Rebuilding => EntryState::Rebuilding {
                    frontier: self.maintenance.durable_frontier,
                    returning: keeps.is_some(),
                },
            };
            Entry { member: self.cx.roster.identity(slot), state }
        };
        let spare = |member: &Member| Entry {
            member: self.cx.roster.info(*member).identity,
            state: EntryState::Spare,
        };
        self.cx.roster.slots().map(slot).chain(self.cx.roster.spares().iter().map(spare)).collect()
    }

    fn write_bitmap(&mut self) {
        self.records.bitmap_wanted = false;
        self.records.bitmap_sequence += 1;
        let map = StoredBitmap {
            sequence: self.records.bitmap_sequence,
            dirty: self.records.dirty.clone(),
            resync: self.records.resync.clone(),
            out_of_sync: self.records.out_of_sync.clone(),
        };
        let length = self.cx.geometry.bitmap_length();
        let block = map.encode(self.cx.identity, length.bytes().as_usize());
        let at = self.cx.geometry.bitmap_at((map.sequence % 2) as usize);
        self.records.bitmap_writing = Some(map);
        let id = self.cx.jobs.start(Kind::Bitmap, Class::Metadata);
        self.write_to_all(id, at, block, length);
    }

    /// Writes the same metadata to all standing members, durably.
    fn write_to_all(&mut self, id: JobId, at: parlour_units::Sector, block: Vec<u8>, length: Sectors) {
        let job = self.cx.jobs.get_mut(id);
        let lax = match &job.kind {
            Some(Kind::Bitmap) => is_planted(Bug::MapNotDurable),
            _ => is_planted(Bug::TableNotDurable),
        };
        job.metadata = block;
        job.plan.strategy = Strategy::Metadata;
        for (slot, _) in self.cx.roster.standing() {
            job.plan.write(slot, at, Span::new(Source::Metadata, Sectors::ZERO, length), !lax);
        }
        self.start_plan(id, None, &[]);
    }

    /// A metadata write is done. Unless `whole`, some members do not have it.
    pub(crate) fn record_done(&mut self, id: JobId, whole: bool) {
        self.note_epochs_of_superblocks(id, &[]);
        if whole {
            self.note_recorded(id);
        }
        match self.cx.jobs.get_mut(id).kind.take() {
            Some(Kind::Superblock) => self.superblocks_written(true),
            Some(Kind::Bitmap) => self.bitmap_written(),
            Some(Kind::Table) => {
                self.next_stop(Stop::Table, Stop::Map);
                self.applied_recorded();
            }
            Some(Kind::StopFlush) => self.next_stop(Stop::Flushing, Stop::Table),
            other => unreachable!("{other:?} is no record"),
        }
        self.end_job(id);
    }

    /// All members hold the metadata that the job wrote.
    fn note_recorded(&mut self, id: JobId) {
        let records = &mut self.records;
        match self.cx.jobs.get(id).kind {
            Some(Kind::Bitmap) => {
                let map = records.bitmap_writing.as_ref();
                records.recorded.map = map.map_or(records.recorded.map, |map| map.sequence);
            }
            Some(Kind::Table) => {
                let table = records.table_writing.as_ref();
                records.recorded.table = table.map_or(records.recorded.table, |table| table.sequence);
            }
            _ => {}
        }
    }

    fn note_epochs_of_superblocks(&mut self, id: JobId, failures: &[FailedAccess]) {
        if matches!(self.cx.jobs.get(id).kind, Some(Kind::Superblock)) {
            note_epochs(&mut self.cx, id, failures);
        }
    }

    pub(crate) fn writers_in(&self, region: Region) -> u32 {
        self.records.writers[region.as_usize()]
    }

    /// A metadata write failed on some members. A member that the array survives losing is failed
    /// by now, and the survivors' superblocks will be written again; other members stay as they
    /// are.
    pub(crate) fn record_broken(&mut self, id: JobId, failures: &[FailedAccess]) {
        if !matches!(self.cx.jobs.get(id).kind, Some(Kind::Superblock)) {
            return self.record_done(id, false);
        }
        self.note_epochs_of_superblocks(id, failures);
        let untold = !self.is_told(id, failures);
        let changed = self.records.writing.is_some_and(|version| self.records.wanted > version);
        let other_copy = untold && !self.records.other_copy;
        if changed || other_copy {
            if untold {
                self.cx.roster.swap_copies();
            }
            self.records.other_copy = untold && !changed;
            self.records.writing = None;
            self.end_job(id);
        } else {
            self.superblocks_written(!untold);
            self.end_job(id);
        }
    }

    /// Whether at least one copy of the superblock was written on some member that stands.
    fn is_told(&self, id: JobId, failures: &[FailedAccess]) -> bool {
        let job = self.cx.jobs.get(id);
        let steps = &job.plan.steps;
        let first = steps.iter().take_while(|step| step.phase == steps[0].phase).count();
        let written = |action: Action| {
            let Action::Write { member, at, .. } = action else { return false };
            let failed = failures.iter().any(|failure| (failure.member, failure.at) == (member, at));
            !failed && self.cx.roster.slot_of(member).is_some()
        };
        job.actions().take(first).any(written)
    }

    fn superblocks_written(&mut self, told: bool) {
        (self.records.untold, self.records.other_copy) = (!told, false);
        self.records.written = self.records.writing.take().expect("a superblock writing was under way");
        self.announce_rebuilt();
        self.forget_out_of_sync();
        if std::mem::take(&mut self.records.opening) {
            // Data and parity are not written before all members record that the opening has come
            // to its end: a member without that record has missed nothing.
            self.records.recorded.opened = self.records.session_number;
            self.record_exclusion();
        } else if !std::mem::replace(&mut self.records.begun, true) {
            self.append_what_waited();
        }
        if !self.records.barrier() {
            if told {
                self.number_on();
            }
            self.cx.runnable.extend(self.records.barrier_waiters.drain(..));
            self.resume_recovered_hosts();
        }
        if self.records.clean && self.records.written == self.records.wanted {
            self.cx.mode = Mode::Stopped;
        }
    }

    fn bitmap_written(&mut self) {
        let map = self.records.bitmap_writing.take().expect("a map writing was under way");
        self.records.durable = map.dirty;
        self.records.durable_resync = map.resync;
        self.records.durable_out_of_sync = map.out_of_sync;
        self.announce_resynced();
        self.resume_recovered_hosts();
        self.cx.runnable.extend(self.records.bitmap_waiters.drain(..));
        // Regions that became idle while the bitmap was written are marked clean in the next one.
        let idle = &self.records.dirty;
        let still: Vec<Region> = self.records.durable.iter().filter(|region| !idle.get(*region)).collect();
        still.into_iter().for_each(|region| self.records.durable.clear(region));
    }

    fn applied_recorded(&mut self) {
        let Some(TableWriting { regions, table, .. }) = self.records.table_writing.take() else { return };
        if let Some(logs) = &mut self.logs {
            logs.table_written(&table);
        }
        for region in regions {
            if self.records.closing == Some(region) {
                self.close_resynced(region);
            } else {
                self.drop_reintegrated(region);
            }
        }
    }

    /// Passes when it is durable that `region` is to be resynced after a crash, because its check
    /// units are about to be written without a record. Otherwise parks `job`.
    pub(crate) fn pass_unlogged(&mut self, region: Region, job: JobId) -> bool {
        self.records.resync.set(region);
        self.pass_resync_durable(region, job)
    }

    /// Passes when `region` needs no resync, or its resync bit is durable. Otherwise parks `job`.
    pub(crate) fn pass_resync_durable(&mut self, region: Region, job: JobId) -> bool {
        let records = &mut self.records;
        if records.resync_is_durable(region) {
            return true;
        }
        records.bitmap_wanted = true;
        records.bitmap_waiters.push(job);
        false
    }

    /// Jobs that wait for the bitmap check their condition again.
    pub(crate) fn wake_bitmap_waiters(&mut self) {
        self.cx.runnable.extend(self.records.bitmap_waiters.drain(..));
    }

    /// All jobs that wait for something that may never come check their condition again.
    pub(crate) fn wake_all(&mut self) {
        self.wake_bitmap_waiters();
        self.cx.runnable.extend(self.records.barrier_waiters.drain(..));
        if let Some(logs) = &mut self.logs {
            self.cx.runnable.extend(logs.take_pool_waiters());
        }
        self.wake_commit_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_map_under_way_takes_back_is_not_durable() {
        let (one, none) = (Bits::full(1), Bits::new(1));
        let map = StoredBitmap { sequence: 1, dirty: none.clone(), resync: none.clone(), out_of_sync: none };
        let mut records = Records::new(
            RecordsStart {
                enabled: true,
                name: String::new(),
                created: 0,
                sequence: 1,
                session_number: 1,
                sessions: Vec::new(),
                map: map.clone(),
                table_sequence: 0,
                members: Vec::new(),
                recorded: Recorded::default(),
            },
            1,
        );
        let region = Region::new(0);
        (records.resync, records.durable_resync) = (one.clone(), one.clone());
        (records.out_of_sync, records.durable_out_of_sync) = (one.clone(), one.clone());
        assert!(records.resync_is_durable(region) && records.out_of_sync_is_durable(region));
        records.bitmap_writing = Some(map.clone());
        assert!(!records.resync_is_durable(region) && !records.out_of_sync_is_durable(region));
        records.bitmap_writing = Some(StoredBitmap { resync: one.clone(), out_of_sync: one, ..map });
        assert!(records.resync_is_durable(region) && records.out_of_sync_is_durable(region));
    }
}
