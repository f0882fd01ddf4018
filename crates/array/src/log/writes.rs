//! A write on its way through the logs: its space, its records in memory, its landing.

use parlour_codec::sector::digest;
use parlour_units::Sectors;

use super::Logs;
use super::at_risk::Admission;
use super::segment::Reserved;
use crate::buffer::BufferId;
use crate::context::Context;
use crate::durable::Durable;
use crate::format::segment::RecordKind;
use crate::ids::JobId;
use crate::job::{Blind, Gate};
use crate::plan::{Builder, LogMethod};
use crate::update;

impl Logs {
    /// Chooses how a write is recorded, and reserves the space that this takes in log buffers and
    /// in the commit log. A write that cannot be recorded passes without.
    pub(crate) fn space_gate(
        &mut self,
        cx: &mut Context,
        durable: &Durable,
        builder: &mut Builder,
        id: JobId,
    ) -> Gate {
        let job = cx.jobs.stripe(id);
        let (region, stripe) = (job.region, job.window.stripe);
        // The job may have waited here, and the array may have changed.
        job.logging.method = None;
        if !self.logs_writes(cx, durable, region) {
            return Gate::Pass;
        }
        match self.load_gate(cx, region, id) {
            Gate::Pass => {}
            gate => return gate,
        }
        let known = cx.simulated.old_data_known;
        let job = cx.jobs.stripe(id);
        let write = (&job.pieces[..], job.content);
        let view = cx.roster.view(&cx.geometry, stripe);
        let method = match job.blind {
            Blind::Anew => update::ANEW,
            _ => update::method(builder, view, write, &cx.tuning, known),
        };
        let method = match update::risks_blocks(&cx.geometry, method) {
            false => method,
            true if cx.jobs.stripe(id).acknowledged => update::riskless(&cx.geometry),
            true => match self.admit_whole_stripe(cx, id) {
                Admission::Granted => method,
                Admission::Later => return Gate::Wait,
                Admission::Refused => update::riskless(&cx.geometry),
            },
        };
        cx.jobs.stripe(id).logging.method = Some(method);
        if cx.geometry.is_journaled() && !self.pass_commit_space(cx, id) {
            return Gate::Wait;
        }
        let view = cx.roster.view(&cx.geometry, stripe);
        let fragments = builder.fragments(view, &cx.jobs.stripe(id).pieces, method);
        let index = cx.geometry.layout().region_of(stripe).1 as u32;
        if method.is_bare() && !self.is_live(region, index) {
            return Gate::Pass;
        }
        self.share_memory(cx);
        let buffers = &mut cx.buffers;
        let compression = self.compression_of(method);
        match self.reserve(region, (&fragments, compression), |length| buffers.take(length)) {
            Reserved::Granted(fragments, reservations) => {
                let logging = &mut cx.jobs.stripe(id).logging;
                (logging.fragments, logging.reservations) = (fragments, reservations);
                Gate::Pass
            }
            Reserved::Later => {
                self.await_pool(cx, id, method, &fragments);
                self.give_back_commit_space(cx, id);
                Gate::Wait
            }
            Reserved::Never => {
                self.give_back_commit_space(cx, id);
                cx.jobs.stripe(id).logging.method = None;
                Gate::Pass
            }
        }
    }

    /// Where the records of a plan go: buffers, and where the records begin there.
    pub(crate) fn places(&self, cx: &mut Context, id: JobId) -> Vec<(BufferId, Sectors)> {
        cx.jobs.stripe(id).logging.reservations.iter().map(|reservation| self.place(reservation)).collect()
    }

    /// With `bitmap`: the payloads of the plan's log records are in memory, so the records count
    /// from here on, and the data is written next.
    pub(crate) fn commit_in_memory(&mut self, cx: &mut Context, durable: &mut Durable, id: JobId) {
        let job = cx.jobs.stripe(id);
        let (region, stripe, logging) = (job.region, job.window.stripe, &mut job.logging);
        let kind = match logging.method {
            Some(LogMethod::Update) => RecordKind::Update,
            Some(LogMethod::Overwrite) => RecordKind::Overwrite,
            _ => RecordKind::Cancel,
        };
        let fragments = std::mem::take(&mut logging.fragments);
        let reservations = std::mem::take(&mut logging.reservations);
        logging.committed = true;
        let sums = std::mem::take(&mut cx.jobs.get_mut(id).checksums);
        let mut sums = sums.into_iter();
        let digests = fragments.iter().map(|fragment| match fragment.bare {
            true => 0,
            false => digest(sums.by_ref().take(fragment.columns.length().get() as usize)),
        });
        self.commit(cx.geometry.region_of(stripe).1, &fragments, &reservations, kind, digests);
        let many = self.live_records() > cx.tuning.live_records;
        self.after_reservations(cx, durable, &reservations);
        if many {
            self.want_parity(cx, region);
        }
    }

    /// Gives back the room in log buffers and in the commit log: the write is not logged any more.
    pub(crate) fn withdraw(&mut self, cx: &mut Context, durable: &mut Durable, id: JobId) {
        let logging = &mut cx.jobs.stripe(id).logging;
        let reservations = std::mem::take(&mut logging.reservations);
        logging.fragments.clear();
        logging.method = None;
        logging.committed = false;
        self.give_back_commit_space(cx, id);
        self.give_back(&reservations);
        self.after_reservations(cx, durable, &reservations);
    }

    /// A job ends: gives back what it still has in the logs.
    pub(crate) fn end_logging(&mut self, cx: &mut Context, durable: &mut Durable, id: JobId) {
        let logging = &cx.jobs.stripe(id).logging;
        if !logging.reservations.is_empty() || !logging.commit_space.is_zero() {
            self.withdraw(cx, durable, id);
        }
        self.end_risk(cx, id);
        self.land(cx, id);
    }

    /// The data of a committed write is on its members, as far as it will ever be.
    pub(crate) fn land(&mut self, cx: &mut Context, id: JobId) {
        let job = cx.jobs.stripe(id);
        if let (Some((name, epoch)), region) = (job.logging.entry.take(), job.region) {
            self.landed(cx, region, name, epoch);
        }
    }

    /// The data of a committed write is not on its members, although they stand. Its records count
    /// until it is durable that the region is to be resynced.
    pub(crate) fn give_up_landing(&mut self, cx: &mut Context, id: JobId) {
        if let Some((name, _)) = cx.jobs.stripe(id).logging.entry {
            self.keep_until_resync(name);
        }
    }
}
