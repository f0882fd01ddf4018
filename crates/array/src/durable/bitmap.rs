//! The write-intent bitmap: which regions may be inconsistent after a crash, in memory and as far
//! as members hold it, and which jobs wait for it.
//!
//! - A region's dirty bit is durable before the first write to the region.
//! - Data and parity are durable before a dirty bit is cleared ([`super::cleaning`]).
//! - A region that absent members may miss is marked before it is written to
//!   ([`super::returning`]).
//!
//! At most one write of the bitmap is under way; changes that come meanwhile go into the next one.

use parlour_units::{Instant, Region, Slot, Stripe};

use super::cleaning::Cleaning;
use super::resyncing::{Ended, Resyncing};
use super::versions::Versions;
use super::write::write_to_all;
use crate::context::Context;
use crate::effect::Class;
use crate::exec::progress::Progress;
use crate::exec::waiting::WaitList;
use crate::format::banks::sequence_of_session;
use crate::format::bitmap::{Bits, StoredBitmap};
use crate::ids::JobId;
use crate::job::Kind;
use crate::mode::Mode;
use crate::signal::Signal;
use crate::status::Event;

/// See the module.
#[derive(Debug)]
pub(crate) struct Bitmap {
    dirty: Bits,
    durable: Bits,
    resync: Bits,
    /// Regions whose resync bit is durable.
    durable_resync: Bits,
    /// Regions to be resynced whose parity lacks records that this session has given up: nothing is
    /// computed from that parity.
    outdated: Bits,
    /// Regions in which absent members may lack data that was written; and those of them for which
    /// this is durable.
    out_of_sync: Bits,
    durable_out_of_sync: Bits,
    versions: Versions,
    wanted: bool,
    writing: Option<StoredBitmap>,
    waiters: WaitList,
    /// Writes in flight, by region.
    writers: Vec<u32>,
    cleaning: Cleaning,
    /// A region that was resynced and is about to be logged again: no new writes begin in it
    /// meanwhile.
    closing: Option<Region>,
    /// A write that the closing region waited for was cut off.
    closing_spoilt: bool,
    resyncing: Resyncing,
}

impl Bitmap {
    /// The bitmap of an array that was opened with `found` as the newest on its members.
    pub(crate) fn new(found: StoredBitmap, session_number: u64, regions: u32, writes: bool) -> Bitmap {
        Bitmap {
            durable: found.dirty.clone(),
            // The bitmap that was read at the opening may not be on all members, and bits that were
            // derived from it are on no member.
            durable_resync: Bits::new(regions),
            durable_out_of_sync: Bits::new(regions),
            out_of_sync: found.out_of_sync,
            dirty: found.dirty,
            resync: found.resync,
            outdated: Bits::new(regions),
            versions: Versions::new(sequence_of_session(session_number, found.sequence)),
            wanted: writes,
            writing: None,
            waiters: WaitList::default(),
            writers: vec![0; regions as usize],
            cleaning: Cleaning::new(regions),
            closing: None,
            closing_spoilt: false,
            resyncing: Resyncing::default(),
        }
    }

    /// The number of dirty regions.
    pub(crate) fn dirty_count(&self) -> u32 {
        self.dirty.count()
    }

    /// Whether `region`'s check units do not fit, or may not fit.
    pub(crate) fn needs_resync(&self, region: Region) -> bool {
        self.resync.get(region)
    }

    /// All regions that are to be resynced.
    pub(crate) fn to_resync(&self) -> impl Iterator<Item = Region> + '_ {
        self.resync.iter()
    }

    /// The number of regions that are to be resynced.
    pub(crate) fn resync_count(&self) -> u32 {
        self.resync.count()
    }

    /// Whether `region`'s parity lacks records that this session has given up.
    pub(crate) fn is_outdated(&self, region: Region) -> bool {
        self.outdated.get(region)
    }

    /// Whether `region` needs no resync, or its resync bit is durable. A durable bit that the
    /// bitmap being written is about to clear does not count.
    pub(crate) fn resync_is_durable(&self, region: Region) -> bool {
        let stays = |map: &StoredBitmap| map.resync.get(region);
        !self.resync.get(region) || self.durable_resync.get(region) && self.writing.as_ref().is_none_or(stays)
    }

    /// Whether [`Bitmap::resync_is_durable`] holds for all regions.
    pub(crate) fn all_resync_is_durable(&self) -> bool {
        self.resync.iter().all(|region| self.resync_is_durable(region))
    }

    /// Whether it is durable that absent members may lack data that is written to `region`.
    fn out_of_sync_is_durable(&self, region: Region) -> bool {
        let stays = |map: &StoredBitmap| map.out_of_sync.get(region);
        self.out_of_sync.get(region)
            && self.durable_out_of_sync.get(region)
            && self.writing.as_ref().is_none_or(stays)
    }

    /// The number of regions that are to be resynced, or would have to be if a crash came now.
    pub(crate) fn unsynced(&self) -> u32 {
        let mut regions = self.resync.clone();
        regions.merge(&self.durable_resync);
        if let Some(map) = &self.writing {
            regions.merge(&map.resync);
        }
        regions.count()
    }

    /// The number of regions in which absent members may lack data.
    pub(crate) fn out_of_sync_count(&self) -> u32 {
        self.out_of_sync.count()
    }

    /// Passes when `region` is durably dirty, and counts a writer in it; else parks `job`.
    pub(crate) fn enter(&mut self, cx: &Context, region: Region, job: JobId) -> bool {
        self.cleaning.touch(region);
        if self.closing == Some(region) {
            self.waiters.park(job);
            return false;
        }
        let awaits = cx.roster.awaits_members();
        let durably = self.durable.get(region) && (!awaits || self.out_of_sync_is_durable(region));
        if cx.tuning.bitmap && cx.writes && !durably {
            self.dirty.set(region);
            if awaits {
                self.out_of_sync.set(region);
            }
            self.wanted = true;
            self.waiters.park(job);
            return false;
        }
        self.dirty.set(region);
        self.writers[region.as_usize()] += 1;
        self.cleaning.expect(cx);
        true
    }

    /// A writer of `region` is done.
    pub(crate) fn leave(&mut self, cx: &mut Context, region: Region) {
        self.cleaning.touch(region);
        if self.resync.get(region) {
            // A unit that could not be resynced may have been overwritten.
            self.resyncing.reach_back(region);
        }
        let writers = &mut self.writers[region.as_usize()];
        assert!(*writers > 0, "a region is left as often as it is entered");
        *writers -= 1;
        if *writers == 0 && self.closing == Some(region) {
            cx.signal(Signal::RegionDrained(region));
        }
    }

    /// A repair wrote to `region`. Until that is flushed, a member that becomes absent may lack it.
    pub(crate) fn note_repair(&mut self, cx: &Context, region: Region) {
        if cx.mode == Mode::Serving && cx.writes && cx.tuning.bitmap {
            self.wanted |= !self.dirty.get(region);
            self.dirty.set(region);
            self.note_out_of_sync(cx, region);
            self.cleaning.touch(region);
            self.cleaning.expect(cx);
        }
    }

    /// Marks `region` as in use, so that it is not idle at the next search.
    pub(crate) fn touch(&mut self, cx: &Context, region: Region) {
        self.cleaning.touch(region);
        self.cleaning.expect(cx);
    }

    /// `region`'s check units do not fit, or may not fit.
    pub(crate) fn mark_to_resync(&mut self, cx: &Context, region: Region) {
        if !self.resync.get(region) {
            self.resync.set(region);
            self.note_out_of_sync(cx, region);
            self.wanted = true;
        }
        self.resyncing.spoil(region);
        self.closing_spoilt |= self.closing == Some(region);
    }

    /// `region` is to be resynced because its parity lacks records that are given up.
    pub(crate) fn give_records_up(&mut self, cx: &Context, region: Region) {
        self.mark_outdated(region);
        self.mark_to_resync(cx, region);
    }

    /// The parity of `region`, which is to be resynced, lacks records that are given up.
    pub(crate) fn mark_outdated(&mut self, region: Region) {
        self.outdated.set(region);
    }

    /// `region`'s check units fit again.
    fn note_resynced(&mut self, cx: &Context, region: Region) {
        self.resync.clear(region);
        self.outdated.clear(region);
        // The resync's writes are not yet flushed: the region stays dirty until they are.
        self.dirty.set(region);
        self.wanted = true;
        self.touch(cx, region);
    }

    /// Absent members will miss what is written in `region`.
    fn note_out_of_sync(&mut self, cx: &Context, region: Region) {
        if cx.roster.awaits_members() {
            self.out_of_sync.set(region);
        }
    }

    /// A member that had to be kept could not flush the dirty regions: if it becomes absent later,
    /// it lacks that data.
    pub(crate) fn note_unflushed(&mut self) {
        self.out_of_sync.merge(&self.dirty);
        self.wanted = true;
    }

    /// A member that may return is about to be excluded: it may lack what was not durable on it,
    /// and check units that are computed without it.
    pub(super) fn note_may_return(&mut self) {
        self.out_of_sync.merge(&self.dirty);
        self.out_of_sync.merge(&self.resync);
        self.wanted = true;
    }

    /// No member that may return is absent any more, and superblocks record that.
    pub(super) fn forget_out_of_sync(&mut self) {
        if self.out_of_sync.count() > 0 {
            self.out_of_sync = Bits::new(self.writers.len() as u32);
            self.wanted = true;
        }
    }

    /// The rebuild of the returning member in `slot` skips the regions that it still holds. (What
    /// another failed slot has moved there meanwhile, it does not hold.)
    pub(crate) fn skip_what_was_kept(&self, cx: &mut Context, slot: Slot) {
        if !cx.roster.is_returning(slot) || cx.roster.moved_slots().any(|moved| moved != slot) {
            return;
        }
        let layout = cx.geometry.layout();
        let misses = |region: u32| self.out_of_sync.get(Region::new(region));
        loop {
            let next = Stripe::new(cx.roster.rebuilt(slot).next());
            if next.get() == layout.stripes() {
                return;
            }
            let (mut regions, end) = layout.regions_beside(next);
            let to = match regions.any(misses) {
                true if misses(layout.region_of(next).0.get()) => return,
                true => next.get() + 1,
                false => end,
            };
            cx.roster.rebuilt_mut(slot).skip_to(to);
        }
    }

    /// Passes when it is durable that `region` is to be resynced after a crash, because its check
    /// units are about to be written without a record. Otherwise parks `job`.
    pub(crate) fn pass_unlogged(&mut self, region: Region, job: JobId) -> bool {
        self.resync.set(region);
        self.pass_resync_durable(region, job)
    }

    /// Passes when `region` needs no resync, or its resync bit is durable. Otherwise parks `job`.
    pub(crate) fn pass_resync_durable(&mut self, region: Region, job: JobId) -> bool {
        if self.resync_is_durable(region) {
            return true;
        }
        self.wanted = true;
        self.waiters.park(job);
        false
    }

    /// Jobs that wait for the bitmap check their condition again.
    pub(crate) fn wake(&mut self, cx: &mut Context) {
        self.waiters.wake(&mut cx.runnable);
    }
}

/// A region that is closed to new writes, to be logged again.
impl Bitmap {
    /// Lets no new writes begin in `region`. Returns whether none is under way.
    pub(crate) fn close(&mut self, region: Region) -> bool {
        self.closing = Some(region);
        self.writers[region.as_usize()] == 0
    }

    /// The region that is closed.
    pub(crate) fn closed(&self) -> Option<Region> {
        self.closing
    }

    /// If a write in the closed region was cut off, opens the region and returns `true`: it has to
    /// be resynced once more.
    pub(crate) fn reopen_if_spoilt(&mut self, cx: &mut Context, region: Region) -> bool {
        let spoilt = std::mem::take(&mut self.closing_spoilt);
        if spoilt {
            self.closing = None;
            self.resyncing.reach_back(region);
            self.wake(cx);
        }
        spoilt
    }

    /// Opens the closed region: its check units fit, and it is logged again.
    pub(crate) fn reopen(&mut self, cx: &mut Context, region: Region) {
        self.closing = None;
        self.note_resynced(cx, region);
        self.report_resync(cx);
    }
}

/// The resync.
impl Bitmap {
    /// Whether `stripe`'s check units do not fit its data, or may not: its region is to be
    /// resynced, and the stripe was not resynced yet.
    pub(crate) fn is_in_doubt(&self, cx: &Context, stripe: Stripe) -> bool {
        let (region, index) = cx.geometry.layout().region_of(stripe);
        let closed = self.closing == Some(region) && !self.closing_spoilt;
        self.resync.get(region) && !self.resyncing.has_passed(region, index) && !closed
    }

    /// The region to resync next.
    pub(crate) fn next_resync(&self, cx: &Context) -> Option<Region> {
        // While nothing can be logged, what is resynced would have to be again and again.
        let unlogged = cx.geometry.is_journaled() && cx.roster.lacks_any();
        self.resync.next(self.resyncing.from).filter(|_| !unlogged)
    }

    /// The region that is being resynced, and the number of its next stripe. If none is, the next
    /// region is begun.
    pub(crate) fn resync_position(&mut self, cx: &Context) -> Option<(Region, u64)> {
        if self.resyncing.next().is_none() {
            let region = self.next_resync(cx)?;
            self.resyncing.began.get_or_insert((cx.now, u64::from(self.resync.count())));
            self.resyncing.begin(region, cx.roster.changes());
        }
        self.resyncing.next()
    }

    /// Whether a region is being resynced.
    pub(crate) fn is_resyncing(&self) -> bool {
        self.resyncing.next().is_some()
    }

    /// When the resync was begun, and how many regions needed it then.
    pub(crate) fn resync_began(&self) -> Option<(Instant, u64)> {
        self.resyncing.began
    }

    /// The next stripe is being resynced.
    pub(crate) fn begin_stripe(&mut self) {
        self.resyncing.begin_stripe();
    }

    /// The next stripe needs nothing, or (unless `possible`) cannot be resynced.
    pub(crate) fn skip_stripe(&mut self, possible: bool) {
        self.resyncing.skip_stripe(possible);
    }

    /// The job on stripe `index` of `region` has ended.
    pub(crate) fn end_stripe(&mut self, region: Region, index: u64, done: bool) {
        self.resyncing.end_stripe(region, index, done);
    }

    /// All stripes of the region were begun. If all have ended, returns the region if it is to be
    /// closed, so that it can be logged again.
    pub(crate) fn end_region(&mut self, cx: &mut Context) -> Option<Option<Region>> {
        let (region, ended) = self.resyncing.end(cx.roster.changes())?;
        match ended {
            Ended::Again => return Some(None),
            Ended::Incomplete => {}
            Ended::Complete if cx.geometry.is_journaled() => return Some(Some(region)),
            Ended::Complete => self.note_resynced(cx, region),
        }
        self.report_resync(cx);
        Some(None)
    }

    /// Regions that could not be resynced before may be possible now.
    pub(crate) fn resync_again(&mut self) {
        self.resyncing.from = 0;
    }

    fn report_resync(&mut self, cx: &mut Context) {
        if self.resync.count() == 0 {
            self.resyncing.all_done = true;
            self.report_recorded_resync(cx);
        } else if self.next_resync(cx).is_none() {
            cx.events.push_back(Event::ResyncIncomplete);
        }
    }

    /// Reports the end of a resync once it is recorded.
    fn report_recorded_resync(&mut self, cx: &mut Context) {
        if self.resyncing.all_done && self.unsynced() == 0 {
            self.resyncing.all_done = false;
            self.resyncing.began = None;
            cx.events.push_back(Event::ResyncDone);
        }
    }
}

/// Regions become clean.
impl Bitmap {
    /// When idle regions are to be looked for.
    pub(crate) fn clean_deadline(&self, cx: &Context) -> Option<Instant> {
        self.cleaning.deadline(cx)
    }

    /// Looks for idle regions, if that is due; if there are any, all members are to be flushed.
    /// `live` says which regions' logs hold records.
    pub(crate) fn flush_idle_regions(
        &mut self,
        cx: &mut Context,
        live: impl Fn(Region) -> bool,
    ) -> Option<(JobId, Progress)> {
        let due = self.cleaning.deadline(cx).filter(|due| *due <= cx.now)?;
        if self.idle(&live).next().is_none() {
            let more = self.to_clean(&live).next().is_some();
            self.cleaning.search_again(cx, due.max(cx.now), more);
            return None;
        }
        self.cleaning.begin();
        let id = cx.jobs.start(Kind::CleanFlush, Class::Metadata);
        cx.plan_flushes(id);
        let turn = cx.roster.turn();
        Some((id, cx.start_plan(id, turn, None, &[])))
    }

    /// All members are flushed: regions that are still idle are clean.
    pub(super) fn idle_regions_flushed(&mut self, cx: &Context, live: impl Fn(Region) -> bool) {
        let idle: Vec<Region> = self.idle(&live).collect();
        for region in &idle {
            self.dirty.clear(*region);
            self.durable.clear(*region);
        }
        self.wanted |= !idle.is_empty();
        self.cleaning.end();
        let more = self.to_clean(&live).next().is_some();
        self.cleaning.search_again(cx, cx.now, more);
    }

    /// The members could not be flushed, or not all of them.
    pub(super) fn idle_regions_not_flushed(&mut self, cx: &Context) {
        self.cleaning.postpone(cx);
    }

    /// Dirty regions that become clean once they are idle.
    fn to_clean(&self, live: impl Fn(Region) -> bool) -> impl Iterator<Item = Region> {
        self.dirty.iter().filter(move |region| !self.resync.get(*region) && !live(*region))
    }

    fn idle(&self, live: impl Fn(Region) -> bool) -> impl Iterator<Item = Region> {
        let idle = self.cleaning.idle();
        self.to_clean(live).filter(move |region| self.writers[region.as_usize()] == 0 && idle(*region))
    }

    /// The array is being stopped and all members are flushed: only regions with live logs are
    /// dirty.
    pub(crate) fn clean_all(&mut self, live: impl Fn(Region) -> bool) {
        let clean: Vec<Region> = self.dirty.iter().filter(|region| !live(*region)).collect();
        clean.into_iter().for_each(|region| self.dirty.clear(region));
    }
}

/// Writing the bitmap.
impl Bitmap {
    pub(super) fn versions(&self) -> &Versions {
        &self.versions
    }

    pub(super) fn versions_mut(&mut self) -> &mut Versions {
        &mut self.versions
    }

    /// Whether the bitmap is being written, or is waiting to be written.
    pub(crate) fn is_under_way(&self, cx: &Context) -> bool {
        self.writing.is_some() || cx.writes && self.wanted
    }

    /// Requests a write to all members.
    pub(super) fn want(&mut self) {
        self.wanted = true;
    }

    /// Whether the bitmap differs from the one that was written last.
    pub(super) fn is_wanted(&self) -> bool {
        self.wanted
    }

    /// Writes the bitmap to all members.
    pub(crate) fn write(&mut self, cx: &mut Context) -> (JobId, Progress) {
        self.wanted = false;
        let (sequence, bank) = self.versions.begin();
        let map = StoredBitmap {
            sequence,
            dirty: self.dirty.clone(),
            resync: self.resync.clone(),
            out_of_sync: self.out_of_sync.clone(),
        };
        let length = cx.geometry.bitmap_length();
        let block = map.encode(cx.identity, length.bytes().as_usize());
        let at = cx.geometry.bitmap_at(bank);
        self.writing = Some(map);
        let id = cx.jobs.start(Kind::Bitmap, Class::Metadata);
        (id, write_to_all(cx, id, at, (block, length)))
    }

    /// The bitmap was written, except on members that are excluded for it. Returns its sequence
    /// number.
    pub(super) fn written(&mut self, cx: &mut Context) -> u64 {
        let map = self.writing.take().expect("a bitmap was being written");
        self.versions.end();
        self.durable = map.dirty;
        self.durable_resync = map.resync;
        self.durable_out_of_sync = map.out_of_sync;
        // Regions that became idle while the bitmap was written are marked clean in the next one.
        let idle = |region: &Region| !self.dirty.get(*region);
        let idle: Vec<Region> = self.durable.iter().filter(idle).collect();
        idle.into_iter().for_each(|region| self.durable.clear(region));
        self.report_recorded_resync(cx);
        map.sequence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_that_a_bitmap_under_way_clears_are_not_durable() {
        let (one, none) = (Bits::full(1), Bits::new(1));
        let map = StoredBitmap { sequence: 1, dirty: none.clone(), resync: none.clone(), out_of_sync: none };
        let mut bitmap = Bitmap::new(map.clone(), 1, 1, true);
        let region = Region::new(0);
        (bitmap.resync, bitmap.durable_resync) = (one.clone(), one.clone());
        (bitmap.out_of_sync, bitmap.durable_out_of_sync) = (one.clone(), one.clone());
        assert!(bitmap.resync_is_durable(region) && bitmap.out_of_sync_is_durable(region));
        bitmap.writing = Some(map.clone());
        assert!(!bitmap.resync_is_durable(region) && !bitmap.out_of_sync_is_durable(region));
        bitmap.writing = Some(StoredBitmap { resync: one.clone(), out_of_sync: one, ..map });
        assert!(bitmap.resync_is_durable(region) && bitmap.out_of_sync_is_durable(region));
    }
}
