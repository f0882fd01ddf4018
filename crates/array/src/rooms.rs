//! The components of the array, and the routing between them.
//!
//! A component calls those below it, which it gets as arguments. What concerns one above it, it
//! signals, or says with a plan's [`Progress`]; [`Rooms`] finds the component that has to act:
//! [`Rooms::handle`] for signals, [`Rooms::follow`] for plans. Signals are handled after each
//! answered effect, after each job that went on, and after each round of [`Rooms::pump`].

use parlour_units::Instant;

use crate::admin_error::AdminError;
use crate::context::{Context, Start};
use crate::core::Core;
use crate::durable::Durable;
use crate::effect::{EffectId, Fault, Outcome};
use crate::exec::job::FailedAccess;
use crate::exec::progress::Progress;
use crate::exec::run::Answered;
use crate::host::Hosts;
use crate::ids::JobId;
use crate::job::{Kind, Owner};
use crate::log::Logs;
use crate::maintenance::Maintenance;
use crate::mode::Mode;
use crate::signal::Signal;
use crate::status::{Event, FailureCause};
use crate::stripe::Stripes;
use crate::update;

/// The components, from the bottom up. Maintenance and hosts do not know each other.
#[derive(Debug)]
pub(crate) struct Rooms {
    pub(crate) core: Core,
    pub(crate) maintenance: Maintenance,
    pub(crate) hosts: Hosts,
}

impl Rooms {
    /// The rooms of an array that has just been opened, with no work under way.
    pub(crate) fn new(start: Start, durable: Durable, logs: Logs, now: Instant) -> Rooms {
        let builder = update::builder(&start.geometry, &start.tuning, start.simulated);
        let stripes = Stripes::new(builder, &start.tuning);
        let core = Core { cx: Context::new(start, now), durable, logs, stripes, stop: None };
        Rooms { core, maintenance: Maintenance::default(), hosts: Hosts::default() }
    }

    /// The array was opened: what is known is reported, and what follows from it begins.
    ///
    /// With `force`, writes that were acknowledged may be lost.
    pub(crate) fn begin(&mut self, events: impl Iterator<Item = Event>, force: bool) {
        let Rooms { core, maintenance, hosts } = self;
        core.cx.events.extend(events);
        hosts.take_up_stage(core, force);
        core.durable.inform_members(&core.cx);
        maintenance.take_up(core);
        core.logs.start_recovery();
        self.work();
    }

    /// Advances the time, does `change`, and lets all jobs go on that can.
    pub(crate) fn change<T>(&mut self, now: Instant, change: impl FnOnce(&mut Rooms) -> T) -> T {
        self.core.cx.advance_clock(now);
        let done = change(self);
        self.work();
        done
    }

    /// The same for a command, which may be refused: then nothing has changed.
    pub(crate) fn command<T>(
        &mut self,
        now: Instant,
        command: impl FnOnce(&mut Rooms) -> Result<T, AdminError>,
    ) -> Result<T, AdminError> {
        self.core.cx.advance_clock(now);
        let done = command(self)?;
        self.work();
        Ok(done)
    }

    /// Takes the outcome of an effect, and of those that were merged into it.
    pub(crate) fn complete(&mut self, effect: EffectId, outcome: Outcome<'_>) {
        let merged = self.core.cx.effects.answered(effect);
        let mut goes_on = self.answer_effect(effect, outcome);
        for part in merged {
            self.handle_signals();
            goes_on |= self.answer_effect(part, outcome);
        }
        if goes_on {
            self.work();
        } else {
            assert!(self.core.cx.signals.is_empty(), "an answer that only counts signals nothing");
        }
    }

    /// Takes the outcome of one effect. Returns whether that may let other jobs go on. While the
    /// array serves, an answer that does not end its job's plan concerns this job alone.
    fn answer_effect(&mut self, effect: EffectId, outcome: Outcome<'_>) -> bool {
        if self.is_abandoned() {
            return true;
        }
        let Answered { id, undurable, ends_phase, unlists } = self.core.cx.answer(effect, outcome);
        if let Some(failure) = &undurable {
            self.maintenance.note_undurable(&mut self.core, failure);
        }
        let mut advanced = false;
        if ends_phase {
            let progress = self.core.cx.phase_done(id);
            advanced = progress != Progress::Running;
            self.follow(id, progress);
        }
        advanced || unlists || undurable.is_some() || self.core.cx.mode != Mode::Serving
    }

    /// The driver's timeout has come.
    pub(crate) fn handle_timeout(&mut self) {
        self.core.clean_idle_regions();
        self.work();
    }

    /// When the driver must come back, if it gives no other input before. (An array that was
    /// abandoned only waits for its effects to return.)
    pub(crate) fn timeout(&self) -> Option<Instant> {
        if self.is_abandoned() {
            return None;
        }
        let Core { cx, durable, .. } = &self.core;
        let works = self.maintenance.has_work(cx, durable) || self.hosts.hold_acknowledged();
        let waits = works && self.hosts.is_empty();
        let quiet = self.hosts.quiet_from().filter(|quiet| waits && *quiet > cx.now);
        let retry = self.hosts.next_retry().filter(|_| cx.mode == Mode::Serving && !cx.takes_no_writes());
        let cleaning = durable.bitmap().clean_deadline(cx);
        let looking = durable.look_deadline(cx);
        let release = self.hosts.next_release();
        [cleaning, looking, quiet, retry, release].into_iter().flatten().min()
    }

    fn is_abandoned(&self) -> bool {
        self.core.cx.mode.is_abandoned()
    }

    /// Lets all jobs go on that can.
    pub(crate) fn work(&mut self) {
        self.handle_signals();
        // (Work that is left after an unclean stop is done after the next opening.)
        while self.core.cx.mode != Mode::Stopped && !self.is_abandoned() {
            while !self.is_abandoned()
                && let Some(job) = self.core.cx.runnable.pop()
            {
                self.core.advance_stripe(job);
                self.handle_signals();
            }
            let went_on = self.pump();
            if !self.handle_signals() && !went_on {
                break;
            }
        }
        // Hosts are answered as soon as no effect uses their payload.
        if self.is_abandoned() && self.core.cx.effects.none_flies() {
            self.hosts.refuse_hosts(&mut self.core);
        }
    }

    /// Asks one component after the other whether it can go on, until one did something. Returns
    /// whether one did. The order decides the order of effects.
    fn pump(&mut self) -> bool {
        let hosts_wait = !self.hosts.is_empty();
        self.core.pump_memory()
            || self.pump_maintenance()
            || self.retry_pool_waiters()
            || self.core.pump_logs(hosts_wait)
            || self.hosts.pump_held(&mut self.core)
            || self.hosts.pump_stage(&mut self.core)
            || self.core.pump_metadata()
            || self.core.pump_stop(hosts_wait, self.hosts.hold_acknowledged())
    }

    /// Lets maintenance go on, if there is any. Returns whether it did anything.
    fn pump_maintenance(&mut self) -> bool {
        let Rooms { core, maintenance, hosts } = self;
        maintenance.is_wanted(&core.cx, &core.durable) && {
            let busy = hosts.are_busy(core.cx.now);
            maintenance.pump(core, busy)
        }
    }

    /// Lets jobs that wait for a log buffer try again. Returns whether there were any.
    fn retry_pool_waiters(&mut self) -> bool {
        let Some(waiters) = self.core.logs.take_pool_waiters_to_retry() else { return false };
        for waiter in waiters {
            let Core { cx, durable, logs, .. } = &mut self.core;
            if let Some(job) = logs.tries_again(cx, durable, waiter) {
                self.core.advance_stripe(job);
                self.handle_signals();
            }
        }
        true
    }

    /// Handles what components have signalled. Returns whether there was anything.
    #[inline]
    fn handle_signals(&mut self) -> bool {
        !self.core.cx.signals.is_empty() && self.handle_waiting()
    }

    fn handle_waiting(&mut self) -> bool {
        let mut any = false;
        while !self.is_abandoned()
            && let Some(signal) = self.core.cx.signals.pop()
        {
            any = true;
            self.handle(signal);
        }
        any
    }

    fn handle(&mut self, signal: Signal) {
        let Rooms { core, maintenance, hosts } = self;
        match signal {
            Signal::Progress(id, progress) => self.follow(id, progress),
            Signal::LogWanted(region) => core.logs.load(&mut core.cx, &mut core.durable, region),
            Signal::Broken(id, failures) => core.stripe_broken(id, &failures),
            Signal::Repair { parent, window, targets } => {
                core.stripes.start_repair(&mut core.cx, parent, window, targets);
            }
            Signal::RepairEnded { parent, result } => core.repair_ended(parent, result),
            Signal::Repaired { job, lost } => match core.cx.jobs.kind(job) {
                Kind::Reintegrate { region } => {
                    let region = *region;
                    core.logs.parity_repaired(&mut core.cx, &mut core.durable, job, region, lost);
                }
                _ => hosts.read_repaired(core, job, lost),
            },
            Signal::PassLost(region, failures) => {
                maintenance.exclude_unreadable_joining_members(core, &failures);
                core.logs.pass_lost(&mut core.cx, &mut core.durable, region, &failures);
            }
            Signal::Unfaithful { member, repair } => {
                maintenance.fail_member(core, member, FailureCause::Unfaithful);
                core.unfaithful_judged(repair, member);
            }
            Signal::HostJobDone(host, result) => hosts.host_job_done(core, host, result),
            Signal::DurabilityIsShared(host) => hosts.share_durability(host),
            Signal::WriteInBlocks { host, window } => hosts.begin_blocks(core, host, window),
            Signal::ReadInBlocks { host, window, units } => {
                hosts.read_blocks(core, host, window, units);
            }
            Signal::MaintenanceStripeEnded { purpose, stripe, result } => {
                maintenance.stripe_ended(core, purpose, stripe, result);
            }
            Signal::ScrubSkipped => maintenance.skip_scrubbed(),
            Signal::Mismatch { window, repaired, located } => {
                maintenance.note_mismatch(&mut core.cx, window, (repaired, located));
            }
            Signal::Uncompared => maintenance.note_uncompared(),
            Signal::RegionDrained(region) => {
                maintenance.flush_resynced(&mut core.cx, &mut core.durable, region);
            }
            Signal::FlushesMayStart => hosts.resume_hosts(core),
            Signal::ReadsMayGoOn => hosts.resume_recovered_hosts(core),
        }
    }

    /// Does what the plan needs from its owner, until the plan waits or has ended.
    fn follow(&mut self, id: JobId, mut progress: Progress) {
        loop {
            match progress {
                Progress::Running => return,
                Progress::Commits if self.core.commit_plan(id) => progress = self.core.cx.next_phase(id),
                Progress::Commits => return,
                Progress::Done => return self.plan_done(id),
                Progress::Broken => return self.plan_broken(id),
            }
        }
    }

    /// A plan is done: its owner goes on.
    fn plan_done(&mut self, id: JobId) {
        self.core.cx.release_buffers(id);
        self.blame_for_repeated(id, &[]);
        let core = &mut self.core;
        match core.cx.jobs.kind(id).owner() {
            Owner::Hosts => self.hosts.plan_done(core, id),
            Owner::Stripes => core.stripe_carried_out(id),
            Owner::Logs => core.logs.plan_done(&mut core.cx, &mut core.durable, id),
            Owner::Maintenance => self.maintenance.plan_ended(core, id, true),
            Owner::Durable => core.metadata_ended(id, &[]),
        }
    }

    /// Some step of a plan failed, and all others of its phase are answered.
    fn plan_broken(&mut self, id: JobId) {
        let core = &mut self.core;
        core.cx.release_buffers(id);
        let mut failures = std::mem::take(&mut core.cx.jobs.get_mut(id).failures);
        core.blame_for_space(id, &mut failures);
        if core.halt_unrecorded(id, &failures) {
            return;
        }
        let others = self.blame_for_repeated(id, &failures);
        self.blame(id, &others);
        let core = &mut self.core;
        match core.cx.jobs.kind(id).owner() {
            Owner::Hosts => self.hosts.plan_broken(core, id, &failures),
            Owner::Stripes => core.stripe_broken(id, &failures),
            Owner::Logs => core.logs.plan_broken(&mut core.cx, &mut core.durable, id, &failures),
            Owner::Maintenance => self.maintenance.plan_ended(core, id, false),
            Owner::Durable => core.metadata_ended(id, &failures),
        }
    }

    /// A read that failed and was repeated in parts is one error of its member, whether all parts
    /// could be read or not. Returns the failures that are not of such parts.
    fn blame_for_repeated(&mut self, id: JobId, failures: &[FailedAccess]) -> Vec<FailedAccess> {
        let repeated = self.core.cx.take_repeated(id);
        let is_part = |whole: &FailedAccess, failure: &FailedAccess| {
            failure.fault == Fault::Unreadable && whole.contains(failure)
        };
        for whole in &repeated {
            let failed = failures.iter().find(|part| is_part(whole, part)).unwrap_or(whole);
            self.maintenance.note_failure(&mut self.core, failed);
        }
        let of_none = |failure: &&FailedAccess| !repeated.iter().any(|whole| is_part(whole, failure));
        failures.iter().filter(of_none).copied().collect()
    }

    /// The members of failed accesses are at fault: maintenance excludes those that it must. (Where
    /// a member could not make something durable, that was acted on when the access was answered.)
    fn blame(&mut self, id: JobId, failures: &[FailedAccess]) {
        let looks = matches!(self.core.cx.jobs.kind(id), Kind::Look);
        for failure in failures.iter().filter(|failure| !failure.undurable) {
            if looks {
                self.maintenance.note_looked(&mut self.core, failure);
            } else {
                self.maintenance.note_failure(&mut self.core, failure);
            }
        }
    }
}
