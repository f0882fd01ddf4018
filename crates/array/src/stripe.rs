//! Jobs on one stripe: what they wait for, how their plans are chosen, how they end.
//!
//! A job passes its gates in one order: memory, log space, lock, dirty bit, settled parity,
//! exclusions. It reserves memory and log space before it takes its lock, and holds at most one
//! lock. While it holds the lock it waits only for work that needs no stripe lock: writes of the
//! bitmap, writes of superblocks, reintegrations. So no jobs wait in a circle.

mod blind;
mod cached;
mod compare;
mod repair;

use parlour_codec::sector::digest;
use parlour_units::{Region, Sectors, Slot, Stripe};

use crate::buffer::BufferId;
use crate::cache::PrereadCache;
use crate::code::UnitSet;
use crate::columns::{Columns, Piece, Window};
use crate::context::Context;
use crate::durable::Durable;
use crate::effect::{Class, Fault};
use crate::exec::job::FailedAccess;
use crate::exec::locks;
use crate::format::segment::RecordKind;
use crate::ids::{HostId, JobId};
use crate::job::{ATTEMPTS, Blind, Gate, Kind, Probe, Purpose, Stage, StripeJob};
use crate::log::Logs;
use crate::log::{LoadState, Reservation, Reserved};
use crate::plan::{Builder, Content, LogMethod, Lost, StripeView, StripeWrite, is_whole};
use crate::planted::{Bug, is_planted};
use crate::request::RequestError;
use crate::signal::Signal;
use crate::tuning::Tuning;
use crate::update;

/// What a new job is to do.
#[derive(Debug)]
pub(crate) struct StripeWork {
    pub(crate) purpose: Purpose,
    pub(crate) window: Window,
    /// The host that waits for it.
    pub(crate) host: Option<HostId>,
    /// The host's buffer, and where the payload begins there.
    pub(crate) payload: Option<(BufferId, Sectors)>,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) content: Content,
    pub(crate) durable: bool,
    /// The units that it computes, or that it is to do without.
    pub(crate) targets: UnitSet,
}

impl StripeWork {
    /// Work for which no host waits.
    pub(crate) fn own(purpose: Purpose, window: Window, targets: UnitSet) -> StripeWork {
        StripeWork {
            purpose,
            window,
            host: None,
            payload: None,
            pieces: Vec::new(),
            content: Content::Host,
            durable: false,
            targets,
        }
    }
}

/// The jobs on stripes, with what they share: the builder of plans, and the preread cache.
#[derive(Debug)]
pub(crate) struct Stripes {
    builder: Builder,
    cache: PrereadCache,
}

impl Stripes {
    /// No jobs yet.
    pub(crate) fn new(tuning: &Tuning, combined: bool) -> Stripes {
        Stripes { builder: Builder::new(tuning, combined), cache: PrereadCache::new(tuning.preread_cache) }
    }

    /// The preread cache, which watches reads of hosts as well.
    pub(crate) fn cache_mut(&mut self) -> &mut PrereadCache {
        &mut self.cache
    }

    /// The memory that the preread cache holds.
    pub(crate) fn cached(&self) -> Sectors {
        self.cache.in_use()
    }

    /// Starts a job.
    pub(crate) fn start_stripe(&mut self, cx: &mut Context, work: StripeWork) -> JobId {
        let StripeWork { purpose, window, host, payload, pieces, content, durable, targets } = work;
        let layout = cx.geometry.layout();
        let width = u64::from(layout.data_units() + layout.check_units()) + 1;
        let class = match purpose {
            Purpose::Read | Purpose::Write | Purpose::Repair { .. } => Class::Foreground,
            Purpose::Rebuild { .. } | Purpose::Resync { .. } => Class::Rebuild,
            Purpose::Scrub { .. } => Class::Scrub,
        };
        let hull = hull(&pieces).map_or(window.columns.length(), Columns::length);
        // The greatest memory that any plan on these columns takes: every unit and a result. Zeroes
        // that cover the whole stripe take none.
        let memory = if content.unmaps() && is_whole(layout, &pieces) { Sectors::ZERO } else { hull * width };
        let job = StripeJob {
            purpose,
            window,
            region: cx.geometry.region_of(window.stripe).0,
            host,
            payload,
            pieces,
            content,
            durable,
            stage: Stage::Memory,
            memory,
            locked: false,
            writing: false,
            holds_parity: false,
            method: None,
            fragments: Vec::new(),
            reservations: Vec::new(),
            commit_space: Sectors::ZERO,
            entry: None,
            committed: false,
            targets,
            attempts: 0,
            wrote: false,
            repairing: false,
            probe: Probe::NotYet,
            block_by_block: false,
            blind: Blind::No,
        };
        let id = cx.jobs.start(Kind::Stripe(Box::new(job)), class);
        cx.runnable.push_back(id);
        id
    }

    /// Advances a job through the gates, as far as they are open.
    pub(crate) fn advance_stripe(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
    ) {
        loop {
            cx.steps += 1;
            let gate = match cx.jobs.stripe(id).stage {
                Stage::Memory => self.memory_gate(cx, id),
                Stage::LogSpace => self.log_space_gate(cx, durable, logs, id),
                Stage::Lock => self.lock_gate(cx, durable, logs, id),
                Stage::Dirty => self.dirty_gate(cx, durable, logs, id),
                Stage::Settle => self.settle_gate(cx, durable, logs, id),
                Stage::Plan => self.plan_gate(cx, durable, logs, id),
                Stage::Running => return,
            };
            if gate != Gate::Pass {
                return;
            }
        }
    }

    fn pass(&mut self, cx: &mut Context, id: JobId, next: Stage) -> Gate {
        cx.jobs.stripe(id).stage = next;
        Gate::Pass
    }

    fn memory_gate(&mut self, cx: &mut Context, id: JobId) -> Gate {
        let StripeJob { memory, purpose, .. } = *cx.jobs.stripe(id);
        // A repair does not wait for memory: the job that waits for it already holds memory, and
        // could otherwise keep the repair waiting forever.
        let waits = !matches!(purpose, Purpose::Repair { .. });
        if !waits {
            cx.scratch.exceed(memory);
        } else if !cx.scratch.reserve(id, memory) {
            return Gate::Wait;
        }
        self.pass(cx, id, Stage::LogSpace)
    }

    /// Lets jobs that wait for memory go on, first come first served.
    pub(crate) fn pump_memory(&mut self, cx: &mut Context) -> bool {
        let mut moved = false;
        while let Some(id) = cx.scratch.grant() {
            cx.jobs.stripe(id).stage = Stage::LogSpace;
            cx.runnable.push_back(id);
            moved = true;
        }
        moved
    }

    fn log_space_gate(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
    ) -> Gate {
        let job = cx.jobs.stripe(id);
        let (region, window) = (job.region, job.window);
        // The job may have waited here, and the array may have changed.
        job.method = None;
        if job.purpose != Purpose::Write || !logs.logs_writes(cx, durable, region) {
            return self.pass(cx, id, Stage::Lock);
        }
        match self.load_gate(cx, durable, logs, region, id) {
            Gate::Pass => {}
            gate => return gate,
        }
        let view = cx.roster.view(&cx.geometry, window.stripe);
        let durable = cx.geometry.is_journaled();
        let known = cx.simulated.old_data_known;
        let job = cx.jobs.stripe(id);
        let write = (&job.pieces[..], job.content);
        let method = update::method(&mut self.builder, view, write, &cx.tuning, known);
        job.method = Some(method);
        if durable && !logs.pass_commit_space(cx, id) {
            return Gate::Wait;
        }
        let view = cx.roster.view(&cx.geometry, window.stripe);
        let job = cx.jobs.stripe(id);
        let fragments = self.builder.fragments(view, &job.pieces, method);
        let index = cx.geometry.layout().region_of(window.stripe).1 as u32;
        let logs = logs;
        if method.is_bare() && !logs.is_live(region, index) {
            cx.jobs.stripe(id).method = Some(method);
            return self.pass(cx, id, Stage::Lock);
        }
        let buffers = &mut cx.buffers;
        match logs.reserve(region, &fragments, |length| buffers.take(length)) {
            Reserved::Granted(fragments, reservations) => {
                let job = cx.jobs.stripe(id);
                (job.method, job.fragments, job.reservations) = (Some(method), fragments, reservations);
                self.pass(cx, id, Stage::Lock)
            }
            Reserved::Later => {
                logs.await_pool(cx, id, method, &fragments);
                logs.give_back_commit_space(cx, id);
                Gate::Wait
            }
            Reserved::Never => {
                logs.give_back_commit_space(cx, id);
                cx.jobs.stripe(id).method = None;
                self.pass(cx, id, Stage::Lock)
            }
        }
    }

    fn lock_gate(&mut self, cx: &mut Context, durable: &mut Durable, logs: &mut Logs, id: JobId) -> Gate {
        if matches!(cx.jobs.stripe(id).purpose, Purpose::Repair { .. }) && !cx.writes {
            // An array that is opened read-only repairs nothing.
            return self.end_stripe(cx, durable, logs, id, Err(RequestError::Lost));
        }
        if logs.repairs_parity(cx, id) {
            return match logs.parity_repair_gate(cx, id) {
                Gate::Refused => self.end_stripe(cx, durable, logs, id, Err(cx.refusal())),
                gate => gate,
            };
        }
        let job = cx.jobs.stripe(id);
        let mode = match job.purpose {
            Purpose::Read => locks::Mode::Shared,
            _ if is_planted(Bug::LocksShared) => locks::Mode::Shared,
            _ => locks::Mode::Exclusive,
        };
        let stripe = job.window.stripe;
        // If the lock is granted later, the job comes back here and already has it.
        let unlocked = matches!(job.purpose, Purpose::Rebuild { .. }) && is_planted(Bug::RebuildWithoutLock);
        if !job.locked && !unlocked {
            cx.jobs.stripe(id).locked = true;
            if !cx.locks.take(stripe, mode, id) {
                return Gate::Wait;
            }
        }
        self.pass(cx, id, Stage::Dirty)
    }

    fn dirty_gate(&mut self, cx: &mut Context, durable: &mut Durable, logs: &mut Logs, id: JobId) -> Gate {
        let job = cx.jobs.stripe(id);
        let region = job.region;
        let writes = match job.purpose {
            Purpose::Write => true,
            // These jobs write what the region should contain anyway: it need not be marked dirty
            // before.
            Purpose::Read
            | Purpose::Repair { .. }
            | Purpose::Rebuild { .. }
            | Purpose::Resync { .. }
            | Purpose::Scrub { .. } => false,
        };
        let (writing, repairs) = (job.writing, matches!(job.purpose, Purpose::Repair { .. }));
        if repairs {
            durable.bitmap_mut().note_repair(cx, region);
        }
        if !writes || writing {
            return self.pass(cx, id, Stage::Settle);
        }
        if cx.takes_no_writes() {
            return self.end_stripe(cx, durable, logs, id, Err(cx.refusal()));
        }
        if cx.geometry.code().has_checks() && !durable.bitmap_mut().enter(cx, region, id) {
            if durable.bitmap().closed() == Some(region) {
                // The region is closed when all its writers are done, and their repairs may need
                // this lock.
                self.let_go_of_stripe(cx, logs, id);
                cx.jobs.stripe(id).stage = Stage::Lock;
            }
            return Gate::Wait;
        }
        cx.jobs.stripe(id).writing = cx.geometry.code().has_checks();
        self.pass(cx, id, Stage::Settle)
    }

    /// A job that uses the parity in place waits until the log's records of its stripe are in the
    /// parity. From then on, it keeps the region from being reintegrated.
    fn settle_gate(&mut self, cx: &mut Context, durable: &mut Durable, logs: &mut Logs, id: JobId) -> Gate {
        let job = cx.jobs.stripe(id);
        let logged = matches!(job.method, Some(LogMethod::Update | LogMethod::Overwrite));
        let cancels = job.method.is_some_and(LogMethod::is_bare) && !job.reservations.is_empty();
        let (region, stripe) = (job.region, job.window.stripe);
        let (holds, logs_writes) = (job.holds_parity, logs.logs_writes(cx, durable, region));
        if logs.is_left_to_redo(cx, stripe) {
            return self.refuse_stripe(cx, durable, logs, id);
        }
        if !logs.exist() || holds && (!logged || logs_writes) {
            return self.pass(cx, id, Stage::Plan);
        }
        if logged && logs_writes {
            // The content of a missing unit has to be computed from the parity.
            let missing = cx.roster.missing(&cx.geometry, stripe);
            let computes = cx.jobs.stripe(id).pieces.iter().any(|piece| missing.has(piece.unit));
            if !computes {
                return self.pass(cx, id, Stage::Plan);
            }
            match self.load_gate(cx, durable, logs, region, id) {
                Gate::Pass => {}
                gate => return gate,
            }
            return self.settled_gate(cx, durable, logs, region, stripe, false, id);
        }
        let stale = cx.geometry.is_journaled() && cx.jobs.stripe(id).method.is_some();
        if logged || (cancels || stale) && !logs_writes {
            // The array has changed since the room was reserved.
            self.give_back_reservations(cx, durable, logs, id);
            return Gate::Pass;
        }
        match self.load_gate(cx, durable, logs, region, id) {
            Gate::Pass => {}
            gate => return gate,
        }
        let index = cx.geometry.region_of(stripe).1;
        if !cx.writes && logs.is_live(region, index) {
            // The parity lacks records of the log, and an array that writes nothing cannot bring it
            // up to date.
            return self.end_stripe(cx, durable, logs, id, Err(RequestError::Lost));
        }
        self.settled_gate(cx, durable, logs, region, stripe, cancels, id)
    }

    pub(crate) fn give_back_reservations(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
    ) {
        let job = cx.jobs.stripe(id);
        let reservations = std::mem::take(&mut job.reservations);
        job.fragments.clear();
        job.method = None;
        job.committed = false;
        logs.give_back_commit_space(cx, id);
        logs.give_back(&reservations);
        logs.after_reservations(cx, durable, &reservations);
    }

    /// Passes when the headers of the region's log are known.
    fn load_gate(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        region: Region,
        id: JobId,
    ) -> Gate {
        match logs.regions.get(&region).map_or(LoadState::Known, |log| log.load) {
            LoadState::Known => Gate::Pass,
            LoadState::Stalled => self.refuse_stripe(cx, durable, logs, id),
            LoadState::Unknown | LoadState::Loading => {
                logs.region(region).waiters.push(id);
                logs.want_parity(cx, durable, region);
                Gate::Wait
            }
        }
    }

    /// There is no space or memory for what the job needs: it ends.
    fn refuse_stripe(&mut self, cx: &mut Context, durable: &mut Durable, logs: &mut Logs, id: JobId) -> Gate {
        let purpose = cx.jobs.stripe(id).purpose;
        let result = if self.had_without_repair(cx, purpose) { Ok(()) } else { Err(cx.refusal()) };
        self.end_stripe(cx, durable, logs, id, result)
    }

    /// Passes when `stripe` has no live records (or the job is about to cancel them) and no
    /// reintegration runs.
    fn settled_gate(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        region: Region,
        stripe: Stripe,
        cancels: bool,
        id: JobId,
    ) -> Gate {
        let suspended = logs.is_suspended(cx, region);
        let index = cx.geometry.layout().region_of(stripe).1 as u32;
        let logs = logs;
        let live = logs.is_live(region, index) && !cancels && !is_planted(Bug::ParityBehindLogUsed);
        let log = logs.region(region);
        if log.reintegrating.is_none() && live && suspended {
            return self.refuse_stripe(cx, durable, logs, id);
        }
        if live || log.reintegrating.is_some() || log.queued {
            log.waiters.push(id);
            if live {
                logs.want_parity(cx, durable, region);
            }
            logs.wake_parity_repairers(cx);
            return Gate::Wait;
        }
        log.holders += 1;
        cx.jobs.stripe(id).holds_parity = true;
        self.pass(cx, id, Stage::Plan)
    }

    fn plan_gate(&mut self, cx: &mut Context, durable: &mut Durable, logs: &mut Logs, id: JobId) -> Gate {
        if !durable.pass_barrier(id) {
            return Gate::Wait;
        }
        let refuses = cx.takes_no_writes();
        let job = cx.jobs.stripe(id);
        let logged = matches!(job.method, Some(LogMethod::Update | LogMethod::Overwrite));
        let region = job.region;
        if job.purpose == Purpose::Write && refuses {
            return self.end_stripe(cx, durable, logs, id, Err(cx.refusal()));
        }
        if matches!(job.purpose, Purpose::Scrub { .. }) && durable.bitmap().needs_resync(region) {
            // The region came to need a resync while the job waited.
            cx.signal(Signal::ScrubSkipped);
            return self.end_stripe(cx, durable, logs, id, Ok(()));
        }
        if logged && !logs.logs_writes(cx, durable, region) {
            return self.pass(cx, id, Stage::Settle);
        }
        if !self.method_holds(cx, durable, logs, id) {
            return Gate::Pass;
        }
        if self.narrows_repair(cx, durable, logs, id) {
            return Gate::Ended;
        }
        if !self.pass_without_record(cx, durable, logs, id) {
            return Gate::Wait;
        }
        match self.blind_gate(cx, durable, logs, id) {
            Gate::Pass => {}
            gate => return gate,
        }
        match self.build(cx, durable, logs, id) {
            Ok(()) => {
                self.pass(cx, id, Stage::Running);
                self.run(cx, logs, id);
                Gate::Wait
            }
            Err(Lost) => {
                cx.release_buffers(id);
                self.end_stripe(cx, durable, logs, id, Err(RequestError::Lost))
            }
        }
    }

    /// Whether the method by which the job writes to its log is still possible; if not, the job
    /// goes back to an earlier gate.
    fn method_holds(&mut self, cx: &mut Context, durable: &mut Durable, logs: &mut Logs, id: JobId) -> bool {
        let job = cx.jobs.stripe(id);
        let (stripe, method, holds) = (job.window.stripe, job.method, job.holds_parity);
        if !cx.geometry.is_journaled() || method.is_none() {
            return true;
        }
        let missing = cx.roster.missing(&cx.geometry, stripe);
        let computes = cx.jobs.stripe(id).pieces.iter().any(|piece| missing.has(piece.unit));
        let region = cx.jobs.stripe(id).region;
        if !logs.logs_writes(cx, durable, region) {
            self.give_back_reservations(cx, durable, logs, id);
            cx.jobs.stripe(id).stage = Stage::Settle;
            return false;
        }
        match method {
            Some(LogMethod::Cancel) if !missing.is_empty() => {
                self.give_back_reservations(cx, durable, logs, id);
                self.let_go_of_stripe(cx, logs, id);
                cx.jobs.stripe(id).stage = Stage::LogSpace;
                false
            }
            Some(LogMethod::Update) if computes && !holds => {
                cx.jobs.stripe(id).stage = Stage::Settle;
                false
            }
            _ => true,
        }
    }

    /// With `journal`, a write without a record passes only when it is durable that its region is
    /// to be resynced after a crash. If the write can be logged by now, it begins again.
    fn pass_without_record(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
    ) -> bool {
        let job = cx.jobs.stripe(id);
        let (purpose, region, method) = (job.purpose, job.region, job.method);
        if purpose == Purpose::Read || !cx.geometry.is_journaled() || !cx.writes {
            return true;
        }
        if purpose != Purpose::Write {
            // Records that were given up count after a crash until their resync bit is durable;
            // they must not be applied to new parity.
            return durable.bitmap_mut().pass_resync_durable(region, id);
        }
        if method.is_some() {
            return true;
        }
        // Parity on the bad-block log is computed from the data, whatever a record contains. But a
        // zero record that still counts would be redone after a crash, and would undo a write that
        // has no record.
        if cx.jobs.stripe(id).blind != Blind::No {
            if logs.commits.zeroes_count(region) {
                durable.bitmap_mut().mark_to_resync(cx, region);
            }
            return durable.bitmap_mut().pass_resync_durable(region, id);
        }
        if logs.logs_writes(cx, durable, region) {
            self.let_go_of_stripe(cx, logs, id);
            cx.jobs.stripe(id).stage = Stage::LogSpace;
            cx.runnable.push_back(id);
            return false;
        }
        durable.bitmap_mut().pass_unlogged(region, id)
    }

    /// Builds the plan for the array as it now is.
    fn build(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
    ) -> Result<(), Lost> {
        let cached = self.take_cached(cx, id);
        if let StripeJob { purpose: Purpose::Resync { .. }, window, .. } = *cx.jobs.stripe(id) {
            // A member may have been lost since the job started.
            let targets = cx.roster.resync_targets(&cx.geometry, window.stripe).ok_or(Lost)?;
            cx.jobs.stripe(id).targets = targets;
        }
        let stripe = cx.jobs.stripe(id).window.stripe;
        let unsynced = !cx.geometry.keeps_copies() && durable.bitmap().is_in_doubt(cx, stripe);
        let outdated = unsynced && durable.bitmap().is_outdated(cx.geometry.layout().region_of(stripe).0);
        let behind = if logs.repairs_parity(cx, id) { logs.behind(cx, id) } else { Vec::new() };
        let job = cx.jobs.get_mut(id);
        let Some(Kind::Stripe(stripe_job)) = &mut job.kind else { unreachable!("a stripe job") };
        let floats = cx.roster.floats();
        let view = StripeView { cached: &cached, floats, ..cx.roster.view(&cx.geometry, stripe) };
        let plan = &mut job.plan;
        plan.clear();
        let builder = &mut self.builder;
        match stripe_job.purpose {
            // The unit's member is there but cannot read it, and the parity does not fit.
            Purpose::Read if unsynced && !stripe_job.targets.is_empty() => Err(Lost),
            // A unit that is on no member is not computed from parity that lacks records.
            Purpose::Read if outdated && view.any_data(view.missing) => Err(Lost),
            Purpose::Rebuild { .. } if outdated && view.any_data(stripe_job.targets) => Err(Lost),
            Purpose::Read => {
                builder.read_degraded(plan, view.without(stripe_job.targets), &stripe_job.pieces)
            }
            Purpose::Write => {
                let StripeJob { pieces, content, durable, fragments, reservations, method, .. } =
                    stripe_job.as_ref();
                let write = StripeWrite { pieces, content: *content, durable: *durable };
                if stripe_job.blind != Blind::No {
                    return builder.write_data_alone(plan, view, write);
                }
                let told = if reservations.is_empty() { &[][..] } else { fragments };
                update::plan(builder, plan, view, write, *method, told)
            }
            // Parity that may not fit its data would make good data bad; the parity itself is
            // computed from the data alone.
            Purpose::Repair { .. }
                if unsynced && view.any_data(stripe_job.targets) && !is_planted(Bug::RepairFromUnsynced) =>
            {
                Err(Lost)
            }
            Purpose::Repair { .. } if stripe_job.probe.is_under_way() => {
                builder.probe(plan, view, stripe_job.targets, stripe_job.window.columns);
                Ok(())
            }
            Purpose::Repair { .. } => {
                let columns = stripe_job.window.columns;
                builder.reconstruct(plan, view, stripe_job.targets, columns, &behind, true)
            }
            Purpose::Resync { .. } if stripe_job.targets.is_empty() => Ok(()),
            Purpose::Rebuild { .. } | Purpose::Resync { .. } => {
                let columns = stripe_job.window.columns;
                builder.reconstruct(plan, view, stripe_job.targets, columns, &[], false)
            }
            Purpose::Scrub { .. } if stripe_job.repairing => {
                let columns = stripe_job.window.columns;
                builder.reconstruct(plan, view, stripe_job.targets, columns, &[], false)
            }
            Purpose::Scrub { .. } if view.missing.is_empty() => {
                builder.verify(plan, view, stripe_job.window.columns);
                Ok(())
            }
            Purpose::Scrub { .. } => Err(Lost),
        }
    }

    fn run(&mut self, cx: &mut Context, logs: &mut Logs, id: JobId) {
        let job = cx.jobs.stripe(id);
        let (payload, purpose) = (job.payload, job.purpose);
        let logs = logs;
        let place = |reservation: &Reservation| {
            let buffer = logs.segment(reservation.segment).buffer;
            (buffer.expect("what is reserved is in memory until it is filled"), reservation.start)
        };
        let reservations: Vec<(BufferId, Sectors)> = job.reservations.iter().map(place).collect();
        if purpose == Purpose::Write {
            cx.counters.strategy(cx.jobs.get(id).plan.strategy);
        }
        let turn = cx.roster.turn();
        cx.run(id, turn, payload, &reservations);
    }

    /// The payloads of the plan's log records are in memory: the records count from here on, and
    /// the data is written next.
    pub(crate) fn commit_records(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
    ) {
        let index = cx.jobs.stripe(id).window.stripe;
        let (_, index) = cx.geometry.region_of(index);
        let job = cx.jobs.stripe(id);
        let kind = match job.method {
            Some(LogMethod::Update) => RecordKind::Update,
            Some(LogMethod::Overwrite) => RecordKind::Overwrite,
            _ => RecordKind::Cancel,
        };
        let (fragments, reservations) =
            (std::mem::take(&mut job.fragments), std::mem::take(&mut job.reservations));
        job.committed = true;
        let sums = std::mem::take(&mut cx.jobs.get_mut(id).checksums);
        let mut sums = sums.into_iter();
        let digests = fragments.iter().map(|fragment| match fragment.bare {
            true => 0,
            false => digest(sums.by_ref().take(fragment.columns.length().get() as usize)),
        });
        let logs = logs;
        logs.commit(index, &fragments, &reservations, kind, digests);
        let many = logs.records > cx.tuning.live_records;
        let region = cx.jobs.stripe(id).region;
        logs.after_reservations(cx, durable, &reservations);
        if many {
            logs.want_parity(cx, durable, region);
        }
    }

    /// A stripe job's plan is done.
    pub(crate) fn stripe_done(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
    ) {
        let purpose = cx.jobs.stripe(id).purpose;
        match purpose {
            Purpose::Read => {
                self.end_stripe(cx, durable, logs, id, Ok(()));
            }
            Purpose::Write => {
                self.keep_written(cx, id);
                if cx.jobs.stripe(id).blind == Blind::Writes {
                    self.recompute_parity(cx, logs, id);
                } else {
                    self.end_stripe(cx, durable, logs, id, Ok(()));
                }
            }
            Purpose::Repair { .. } if cx.jobs.stripe(id).probe.is_under_way() => {
                self.end_stripe(cx, durable, logs, id, Ok(()));
            }
            Purpose::Repair { .. } => {
                let good = cx.jobs.get(id).differing.is_empty();
                cx.counters.repaired += u64::from(good);
                if good {
                    self.end_stripe(cx, durable, logs, id, Ok(()));
                } else {
                    self.verification_failed(cx, durable, logs, id);
                }
            }
            Purpose::Rebuild { .. } | Purpose::Resync { .. } => self.next_window(cx, durable, logs, id),
            Purpose::Scrub { repair } => self.compared(cx, durable, logs, id, repair),
        }
    }

    /// A stripe job's plan failed: the plan is dropped, and a new one is made for the array as it
    /// now is.
    pub(crate) fn stripe_broken(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
        failures: &[FailedAccess],
    ) {
        let written = self.has_perhaps_written(cx, id);
        let job = cx.jobs.stripe(id);
        job.attempts += 1;
        job.wrote |= written;
        let (purpose, attempts, region) = (job.purpose, job.attempts, job.region);
        let no_space = failures.iter().any(|failure| failure.fault.is_of_space());
        if purpose == Purpose::Write
            && (no_space || cx.still_standing(failures))
            && cx.jobs.stripe(id).wrote
            && !(no_space && logs.leave_to_redo(cx, durable, id))
        {
            // Some units may be written and some not.
            self.give_up_landing(cx, logs, id);
            durable.bitmap_mut().mark_to_resync(cx, region);
            self.lose_missing(cx, durable, id);
        }
        // In all other cases in which a committed write failed, its member is gone, and the parity
        // shows what that member should hold.
        self.end_landing(cx, logs, id);
        if no_space {
            self.refuse_stripe(cx, durable, logs, id);
            return;
        }
        if let Purpose::Rebuild { slot, since } = purpose
            && cx.roster.member_since(slot, since).is_none()
        {
            // The member that was to be rebuilt is gone.
            self.end_stripe(cx, durable, logs, id, Err(RequestError::Lost));
            return;
        }
        if cx.still_standing(failures) || attempts > ATTEMPTS {
            self.end_stripe(cx, durable, logs, id, Err(RequestError::Lost));
            return;
        }
        // A member that was failed for the error is gone: its sectors do not count as unreadable.
        let stands = |failure: &&FailedAccess| cx.roster.slot_of(failure.member).is_some();
        let unreadable = failures.iter().filter(stands).any(|failure| failure.fault == Fault::Unreadable);
        match purpose {
            // A lost unit cannot be computed from an unreadable one, unless another copy is left.
            Purpose::Rebuild { .. } | Purpose::Resync { .. }
                if unreadable && !self.begin_again_from_another_copy(cx, id, failures) =>
            {
                if !self.pass_over(cx, durable, logs, id) {
                    self.end_stripe(cx, durable, logs, id, Err(RequestError::Lost));
                }
            }
            Purpose::Repair { parent } if unreadable && self.halve_repair(cx, durable, logs, id, parent) => {}
            Purpose::Repair { .. } if unreadable && self.reads_back(cx, id, failures) => {}
            Purpose::Repair { .. } if unreadable && self.probe_target(cx, id) => self.replan(cx, id),
            // If there is another copy, it is read next, and both are rewritten from it.
            Purpose::Repair { .. } if unreadable && self.repair_more(cx, id, failures) => self.replan(cx, id),
            Purpose::Repair { .. } if unreadable || is_planted(Bug::RepairLostWithMember) => {
                self.end_stripe(cx, durable, logs, id, Err(RequestError::Lost));
            }
            // A member is gone, perhaps the one with the unit to be repaired: the job that waits
            // plans again for the members that are left.
            Purpose::Repair { .. } => {
                self.end_stripe(cx, durable, logs, id, Ok(()));
            }
            Purpose::Read if unreadable && !cx.may_repair() && self.repair_more(cx, id, failures) => {
                self.replan(cx, id);
            }
            _ if unreadable => {
                // The repair needs the stripe's lock.
                self.let_go_of_stripe(cx, logs, id);
                for failure in failures.iter().filter(|failure| failure.fault == Fault::Unreadable) {
                    self.start_repairs(cx, id, failure);
                }
                if cx.jobs.get(id).repairs == 0 {
                    self.stripe_repaired(cx, durable, logs, id, false);
                }
            }
            _ => self.replan(cx, id),
        }
    }

    /// Whether copies are left besides those that could not be read. If so, the job starts at the
    /// stripe's first window again, because other jobs may write to the stripe while it is
    /// repaired.
    fn begin_again_from_another_copy(
        &mut self,
        cx: &mut Context,
        id: JobId,
        failures: &[FailedAccess],
    ) -> bool {
        let unit_length = cx.geometry.layout().unit_length();
        let first = Columns::new(Sectors::ZERO, cx.tuning.slice.min(unit_length));
        let stripe = cx.jobs.stripe(id).window.stripe;
        let missing = cx.roster.missing(&cx.geometry, stripe);
        let layout = cx.geometry.layout();
        let unreadable =
            |slot: Slot| failures.iter().any(|failure| cx.roster.slot_of(failure.member) == Some(slot));
        let left =
            layout.units().any(|unit| !missing.has(unit) && !unreadable(layout.locate(stripe, unit).slot));
        let another = cx.geometry.keeps_copies() && left && !is_planted(Bug::RebuildFromOneCopyOnly);
        if another {
            cx.jobs.stripe(id).window.columns = first;
        }
        another
    }

    pub(crate) fn replan(&mut self, cx: &mut Context, id: JobId) {
        let job = cx.jobs.stripe(id);
        if job.committed {
            // The records count, however much of the data is written: from here on the stripe is
            // updated in place.
            job.committed = false;
            job.method = None;
        }
        cx.jobs.stripe(id).stage = Stage::Lock;
        cx.runnable.push_back(id);
    }

    /// Gives back the lock and the hold on the parity.
    pub(crate) fn let_go_of_stripe(&mut self, cx: &mut Context, logs: &mut Logs, id: JobId) {
        let job = cx.jobs.stripe(id);
        let (stripe, region) = (job.window.stripe, job.region);
        if std::mem::take(&mut job.holds_parity) {
            logs.let_go_of_parity(region);
        }
        if std::mem::take(&mut cx.jobs.stripe(id).locked) {
            let runnable = &mut cx.runnable;
            cx.locks.release(stripe, |job| runnable.push_back(job));
            logs.wake_parity_repairers(cx);
        }
    }

    /// Ends a stripe job and gives back all that it holds.
    pub(crate) fn end_stripe(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
        result: Result<(), RequestError>,
    ) -> Gate {
        if result.is_err() && cx.jobs.stripe(id).repairing {
            self.report_mismatch(cx, id, false);
        }
        self.let_go_of_stripe(cx, logs, id);
        let job = cx.jobs.stripe(id);
        if !job.reservations.is_empty() || !job.commit_space.is_zero() {
            self.give_back_reservations(cx, durable, logs, id);
        }
        self.end_landing(cx, logs, id);
        let job = cx.jobs.stripe(id);
        let (region, memory, purpose, host) = (job.region, job.memory, job.purpose, job.host);
        let stripe = job.window.stripe;
        if job.writing {
            durable.bitmap_mut().leave(cx, region);
        }
        cx.scratch.release(memory);
        cx.jobs.end(id);
        match purpose {
            Purpose::Read | Purpose::Write => {
                let host = host.expect("a host waits for it");
                cx.signal(Signal::HostJobDone(host, result));
            }
            Purpose::Repair { parent } => self.repair_ended(cx, durable, logs, parent, result),
            Purpose::Rebuild { .. } | Purpose::Resync { .. } | Purpose::Scrub { .. } => {
                cx.signal(Signal::MaintenanceStripeEnded { purpose, stripe, result });
            }
        }
        Gate::Ended
    }

    /// Whether this repair may end successfully without a result, because the job that waits for it
    /// can do without it. A scrub cannot: it would ask for the same repair again.
    fn had_without_repair(&self, cx: &Context, purpose: Purpose) -> bool {
        let Purpose::Repair { parent } = purpose else { return false };
        let waits = &cx.jobs.get(parent).kind;
        !matches!(waits, Some(Kind::Stripe(job)) if matches!(job.purpose, Purpose::Scrub { .. }))
    }

    /// Whether a write whose plan failed may have changed the content of members, or is committed.
    /// (Plans read before they write.)
    fn has_perhaps_written(&self, cx: &Context, id: JobId) -> bool {
        let job = cx.jobs.get(id);
        let Some(Kind::Stripe(stripe)) = &job.kind else { unreachable!("a stripe job") };
        let begun = &job.plan.steps[..job.next_step as usize];
        let writes = begun.iter().any(|step| step.action.changes());
        writes || stripe.committed || stripe.entry.is_some()
    }

    /// The data of a committed write is on its members, as far as it will ever be.
    fn end_landing(&mut self, cx: &mut Context, logs: &mut Logs, id: JobId) {
        let job = cx.jobs.stripe(id);
        if let (Some((name, epoch)), region) = (job.entry.take(), job.region) {
            logs.landed(cx, region, name, epoch);
        }
    }

    /// The data of a committed write is not on its members, although they stand. Its records count
    /// until it is durable that the region is to be resynced.
    fn give_up_landing(&mut self, cx: &mut Context, logs: &mut Logs, id: JobId) {
        if let Some((name, _)) = cx.jobs.stripe(id).entry {
            let commits = &mut logs.commits;
            commits.keep(name);
            commits.orphan(name);
        }
    }

    /// A maintenance job goes on to the next columns of its stripe, or ends.
    pub(crate) fn next_window(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
    ) {
        let unit = cx.geometry.layout().unit_length();
        let (slice, block) = (cx.tuning.slice, cx.geometry.block());
        let job = cx.jobs.stripe(id);
        let slice = if job.block_by_block { block } else { slice };
        let from = job.window.columns.to;
        if from == unit {
            self.end_stripe(cx, durable, logs, id, Ok(()));
            return;
        }
        job.window.columns = Columns::new(from, (from + slice).min(unit));
        job.stage = Stage::Plan;
        cx.runnable.push_back(id);
    }
}

/// The range from the first to the last column that pieces touch.
pub(crate) fn hull(pieces: &[Piece]) -> Option<Columns> {
    let from = pieces.iter().map(|piece| piece.columns.from).min()?;
    let to = pieces.iter().map(|piece| piece.columns.to).max()?;
    Some(Columns::new(from, to))
}
