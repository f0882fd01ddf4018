//! What metadata is written next, and what goes on when it is written: see
//! [`durable`](crate::durable).

use parlour_units::Region;

use crate::array::Array;
use crate::durable::Due;
use crate::effect::Fault;
use crate::exec::job::FailedAccess;
use crate::ids::JobId;
use crate::job::{Kind, Stage};
use crate::log::Logs;
use crate::mode::Mode;
use crate::status::{Event, FailureCause};
use crate::stopping::Stop;

impl Array {
    /// Starts writes of metadata that are due. Returns whether it started any.
    pub(crate) fn pump_metadata(&mut self) -> bool {
        if self.stop.is_none() {
            let most = self.core.cx.tuning.session_records;
            let used = |session| self.core.logs.have_used(session, most);
            self.core.durable.renew_session(&self.core.cx, used);
        }
        if self.core.durable.is_looking() {
            return false;
        }
        let logs_begun = self.core.durable.has_begun() || self.core.logs.commit_logs_are_begun(&self.core.cx);
        let Some(due) = self.core.durable.due(&self.core.cx, logs_begun) else { return self.pump_stop() };
        let started = match due {
            Due::Look => Some(self.core.durable.look(&mut self.core.cx)),
            Due::BadBlockLog => self.core.durable.write_bad_block_log(&mut self.core.cx),
            Due::Superblocks => Some(self.core.durable.write_superblocks(&mut self.core.cx)),
            Due::Bitmap => Some(self.core.durable.bitmap_mut().write(&mut self.core.cx)),
            Due::Table => {
                self.write_table();
                None
            }
        };
        if let Some((id, progress)) = started {
            self.follow(id, progress);
        }
        true
    }

    /// Writes the table of the regions' logs.
    pub(crate) fn write_table(&mut self) {
        let table = self.core.logs.table();
        let (id, progress) = self.core.durable.write_table(&mut self.core.cx, table);
        self.follow(id, progress);
    }

    /// Writes the bitmap of a stop: only regions with records in their logs are dirty.
    pub(crate) fn write_last_bitmap(&mut self) {
        let live = live_regions(&self.core.logs);
        self.core.durable.bitmap_mut().clean_all(live);
        let (id, progress) = self.core.durable.bitmap_mut().write(&mut self.core.cx);
        self.follow(id, progress);
    }

    /// A metadata write has ended, except on the members in `failures`.
    pub(crate) fn metadata_written(&mut self, id: JobId, failures: &[FailedAccess]) {
        let whole = failures.is_empty();
        match self.core.cx.jobs.get_mut(id).kind.take() {
            Some(Kind::Superblock) => self.superblocks_written(id, failures),
            Some(Kind::Bitmap) => {
                self.core.durable.bitmap_ended(&mut self.core.cx, whole);
                self.hosts.resume_recovered_hosts(&mut self.core);
                self.core.durable.bitmap_mut().wake(&mut self.core.cx);
            }
            Some(Kind::Table) => {
                self.next_stop(Stop::Table, Stop::Bitmap);
                self.table_written(whole);
            }
            Some(Kind::StopFlush) => self.next_stop(Stop::Flushing, Stop::Table),
            other => unreachable!("{other:?} is no metadata"),
        }
        self.core.cx.jobs.end(id);
    }

    fn superblocks_written(&mut self, id: JobId, failures: &[FailedAccess]) {
        let Some(written) = self.core.durable.superblocks_ended(&mut self.core.cx, id, failures) else {
            return;
        };
        if written.begins {
            self.core.logs.append_what_waited(&mut self.core.cx, &mut self.core.durable);
        }
        if !self.core.durable.barrier() {
            if written.recorded {
                let session = self.core.durable.number_on();
                self.core.logs.may_number_up_to(session);
            }
            self.core.durable.wake_at_barrier(&mut self.core.cx);
            self.hosts.resume_recovered_hosts(&mut self.core);
        }
        if self.core.durable.has_recorded_clean() {
            self.core.cx.mode = Mode::Stopped;
        }
    }

    fn table_written(&mut self, whole: bool) {
        let written = self.core.durable.table_ended(whole);
        self.core.logs.table_written(&written.table);
        for region in written.regions {
            if self.core.durable.bitmap().closed() == Some(region) {
                self.maintenance.close_resynced(
                    &mut self.core.cx,
                    &mut self.core.durable,
                    &mut self.core.logs,
                    region,
                );
            } else {
                self.core.logs.drop_reintegrated(&mut self.core.cx, &mut self.core.durable, region);
            }
        }
    }

    pub(crate) fn bad_block_log_written(&mut self, id: JobId, whole: bool) {
        for id in self.core.durable.bad_block_log_ended(&mut self.core.cx, id, whole) {
            if self.core.cx.jobs.stripe(id).stage != Stage::Running {
                self.core.cx.runnable.push_back(id);
            } else {
                self.core.stripes.stripe_carried_out(
                    &mut self.core.cx,
                    &mut self.core.durable,
                    &mut self.core.logs,
                    id,
                );
            }
        }
    }

    /// Flushes all members if regions were idle since the last search, to mark these regions clean.
    pub(crate) fn clean_idle_regions(&mut self) {
        let live = live_regions(&self.core.logs);
        let flush = self.core.durable.bitmap_mut().flush_idle_regions(&mut self.core.cx, live);
        if let Some((id, progress)) = flush {
            self.follow(id, progress);
        }
    }

    pub(crate) fn idle_regions_flushed(&mut self, id: JobId, whole: bool) {
        self.core.cx.jobs.end(id);
        let live = live_regions(&self.core.logs);
        self.core.durable.idle_regions_flushed(&self.core.cx, whole, live);
    }

    /// A superblock could not be read. A member that does not answer is excluded, if the array
    /// survives that. An unreadable copy has no other consequence, because the two copies are read
    /// in turn.
    pub(crate) fn note_looked(&mut self, failure: &FailedAccess) {
        let cause = match failure.fault {
            Fault::Gone => FailureCause::Gone,
            Fault::Truncated => FailureCause::Truncated,
            _ => return,
        };
        self.fail_member_if_possible(failure.member, cause);
    }

    /// Superblocks were read, except those in `failures`.
    pub(crate) fn looked(&mut self, id: JobId, failures: &[FailedAccess]) {
        if let Some((member, session)) = self.core.durable.looked(&mut self.core.cx, id, failures) {
            self.abandon(Mode::Superseded, Event::Superseded { member, session });
        }
    }

    /// All jobs that wait for something that may never come check their condition again.
    pub(crate) fn wake_all(&mut self) {
        self.core.durable.bitmap_mut().wake(&mut self.core.cx);
        self.core.durable.wake_at_barrier(&mut self.core.cx);
        self.core.cx.runnable.extend(self.core.logs.take_pool_waiters());
        self.core.logs.wake_commit_waiters(&mut self.core.cx);
    }
}

/// Which regions' logs hold records that are not in the parity.
fn live_regions(logs: &Logs) -> impl Fn(Region) -> bool {
    move |region| logs.region_is_live(region)
}
