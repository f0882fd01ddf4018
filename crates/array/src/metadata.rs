//! What metadata is written next, and what goes on when it is written: see
//! [`durable`](crate::durable).

use parlour_units::{Member, Region};

use crate::core::{Core, Stop};
use crate::durable::Due;
use crate::exec::job::FailedAccess;
use crate::ids::JobId;
use crate::job::{Kind, Stage};
use crate::log::Logs;
use crate::mode::Mode;
use crate::signal::Signal;
use crate::status::Event;

impl Core {
    /// Starts writes of metadata that are due. Returns whether it started any.
    pub(crate) fn pump_metadata(&mut self) -> bool {
        if self.stop.is_none() {
            let most = self.cx.tuning.session_records;
            let used = |session| self.logs.have_used(session, most);
            self.durable.renew_session(&self.cx, used);
        }
        if self.durable.is_looking() {
            return false;
        }
        let logs_begun = self.durable.has_begun() || self.logs.commit_log_is_begun();
        let Some(due) = self.durable.due(&self.cx, logs_begun) else { return false };
        let started = match due {
            Due::Look => Some(self.durable.look(&mut self.cx)),
            Due::BadBlockLog => self.durable.write_bad_block_log(&mut self.cx),
            Due::Superblocks => Some(self.durable.write_superblocks(&mut self.cx)),
            Due::Bitmap => Some(self.durable.bitmap_mut().write(&mut self.cx)),
            Due::Table => {
                self.write_table();
                None
            }
        };
        if let Some((id, progress)) = started {
            self.cx.signal_progress(id, progress);
        }
        true
    }

    /// Writes the table of the regions' logs.
    pub(crate) fn write_table(&mut self) {
        // A member whose exclusion is not durable would be believed after a crash: it lacks what
        // was redone.
        let table = self.logs.table(!self.durable.barrier());
        let (id, progress) = self.durable.write_table(&mut self.cx, table);
        self.cx.signal_progress(id, progress);
    }

    /// Writes the bitmap of a stop: only regions with records in their logs are dirty.
    pub(crate) fn write_last_bitmap(&mut self) {
        let live = live_regions(&self.logs);
        self.durable.bitmap_mut().clean_all(live);
        let (id, progress) = self.durable.bitmap_mut().write(&mut self.cx);
        self.cx.signal_progress(id, progress);
    }

    /// A plan that works on metadata has ended, except on the members in `failures`.
    pub(crate) fn metadata_ended(&mut self, id: JobId, failures: &[FailedAccess]) {
        let whole = failures.is_empty();
        match self.cx.jobs.kind(id) {
            Kind::CleanFlush => self.idle_regions_flushed(id, whole),
            Kind::Look => self.looked(id, failures),
            Kind::BadBlockLog => self.bad_block_log_written(id, whole),
            _ => self.metadata_written(id, failures),
        }
    }

    /// A metadata write has ended, except on the members in `failures`.
    fn metadata_written(&mut self, id: JobId, failures: &[FailedAccess]) {
        let whole = failures.is_empty();
        match self.cx.jobs.get_mut(id).kind.take() {
            Some(Kind::Superblock) => self.superblocks_written(id, failures),
            Some(Kind::Bitmap) => {
                self.durable.bitmap_ended(&mut self.cx, whole);
                self.cx.signal(Signal::ReadsMayGoOn);
                self.durable.bitmap_mut().wake(&mut self.cx);
            }
            Some(Kind::Table) => {
                self.next_stop(Stop::Table, Stop::Bitmap);
                self.table_written(whole);
            }
            Some(Kind::StopFlush) => self.next_stop(Stop::Flushing, Stop::Table),
            other => unreachable!("{other:?} is no metadata"),
        }
        self.cx.jobs.end(id);
    }

    fn superblocks_written(&mut self, id: JobId, failures: &[FailedAccess]) {
        let Some(written) = self.durable.superblocks_ended(&mut self.cx, id, failures) else {
            return;
        };
        // The end of a rebuild may be recorded: entries could stand on more members now.
        self.logs.look_for_exposed();
        if written.begins {
            self.logs.append_what_waited(&mut self.cx, &mut self.durable);
        }
        if !self.durable.barrier() {
            if written.recorded {
                let session = self.durable.number_on();
                self.logs.may_number_up_to(session);
            }
            self.durable.wake_at_barrier(&mut self.cx);
            self.cx.signal(Signal::ReadsMayGoOn);
        }
        if self.durable.has_recorded_clean() {
            self.cx.mode = Mode::Stopped;
        }
    }

    fn table_written(&mut self, whole: bool) {
        let written = self.durable.table_ended(whole);
        self.logs.table_written(&written.table);
        for region in written.regions {
            if self.durable.bitmap().closed() == Some(region) {
                self.logs.log_again(&mut self.cx, &mut self.durable, region);
            } else if !self.logs.settle(&mut self.cx, &mut self.durable, region) {
                self.logs.drop_reintegrated(&mut self.cx, &mut self.durable, region);
            }
        }
    }

    fn bad_block_log_written(&mut self, id: JobId, whole: bool) {
        for id in self.durable.bad_block_log_ended(&mut self.cx, id, whole) {
            if self.cx.jobs.stripe(id).stage != Stage::Running {
                self.cx.runnable.push(id);
            } else {
                self.stripes.stripe_carried_out(&mut self.cx, &mut self.durable, &mut self.logs, id);
            }
        }
    }

    /// Flushes all members if regions were idle since the last search, to mark these regions clean.
    pub(crate) fn clean_idle_regions(&mut self) {
        let live = live_regions(&self.logs);
        let flush = self.durable.bitmap_mut().flush_idle_regions(&mut self.cx, live);
        if let Some((id, progress)) = flush {
            self.cx.signal_progress(id, progress);
        }
    }

    fn idle_regions_flushed(&mut self, id: JobId, whole: bool) {
        self.cx.jobs.end(id);
        let live = live_regions(&self.logs);
        self.durable.idle_regions_flushed(&self.cx, whole, live);
    }

    /// Superblocks were read, except those in `failures`.
    fn looked(&mut self, id: JobId, failures: &[FailedAccess]) {
        if let Some((member, session)) = self.durable.looked(&mut self.cx, id, failures) {
            self.abandon(Mode::Superseded, Event::Superseded { member, session });
        }
    }

    /// A member has no space for a write. The member is not at fault and is not excluded, but the
    /// array can no longer write.
    pub(crate) fn out_of_space(&mut self, member: Member) {
        if self.cx.lacks_space {
            return;
        }
        self.cx.lacks_space = true;
        if self.cx.mode == Mode::Serving {
            self.cx.mode = Mode::ReadOnly;
        }
        self.cx.events.push_back(Event::OutOfSpace { member });
        self.wake_all();
    }

    /// All jobs that wait for something that may never come check their condition again.
    pub(crate) fn wake_all(&mut self) {
        self.durable.bitmap_mut().wake(&mut self.cx);
        self.durable.wake_at_barrier(&mut self.cx);
        self.cx.runnable.extend(self.logs.take_pool_waiters());
        self.logs.wake_commit_waiters(&mut self.cx);
    }
}

/// Which regions' logs hold records that are not in the parity.
fn live_regions(logs: &Logs) -> impl Fn(Region) -> bool {
    move |region| logs.region_is_live(region)
}
