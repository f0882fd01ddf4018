//! Hosts' requests: checked, cut into jobs, answered when all jobs are done.
//!
//! A request counts its jobs. Each end of a job is a signal, [`Signal::HostJobDone`], and the last
//! one answers the request. `read.rs`, `write.rs` and `flush.rs` start the jobs.

mod destage;
mod flush;
mod gather;
mod held;
mod read;
mod state;
mod write;
mod write_back;

pub(crate) use self::state::Hosts;
use self::state::{HostRequest, Origin};
use crate::core::Core;
use crate::exec::job::FailedAccess;
use crate::ids::{HostId, JobId};
use crate::job::Kind;
use crate::mode::Mode;
use crate::request::{Operation, Request, RequestError};
use crate::roster::SlotState;
use crate::roster::places::Places;
use crate::signal::Signal;
use parlour_units::{Sectors, Stripe};

impl Hosts {
    /// Takes a request, whose payload begins at `start` in its buffer.
    pub(crate) fn take_request(&mut self, core: &mut Core, request: Request, start: Sectors) {
        self.last = Some(core.cx.now);
        if matches!(request.operation, Operation::Write { .. }) {
            self.gather.has_come(request.at);
        }
        match self.check(core, &request, start) {
            Ok(()) if request.length.is_zero() && request.operation != Operation::Flush => {
                self.answer(request, Ok(()));
            }
            Ok(()) => {
                let host = self.insert(request, start);
                self.begin(core, host, request);
            }
            Err(error) => self.answer(request, Err(error)),
        }
    }

    fn check(&self, core: &Core, request: &Request, start: Sectors) -> Result<(), RequestError> {
        let block = core.cx.geometry.block();
        let Request { operation, at, length, .. } = *request;
        let writes = !matches!(operation, Operation::Read | Operation::Flush);
        match core.cx.mode {
            Mode::Stopping | Mode::Stopped => return Err(RequestError::Stopping),
            Mode::Superseded => return Err(RequestError::Superseded),
            Mode::Halted => return Err(RequestError::NoSpace),
            Mode::Serving | Mode::ReadOnly => {}
        }
        if writes && core.cx.mode == Mode::ReadOnly {
            return Err(core.cx.refusal());
        }
        if !at.from_start().is_multiple_of(block) || !length.is_multiple_of(block) {
            return Err(RequestError::Misaligned);
        }
        let capacity = core.cx.geometry.capacity();
        if at.from_start() > capacity || length > capacity - at.from_start() {
            return Err(RequestError::BeyondEnd);
        }
        let payload = matches!(operation, Operation::Read | Operation::Write { .. }) && !length.is_zero();
        let fits = request.buffer.is_some_and(|buffer| core.cx.buffers.length(buffer) >= start + length);
        if payload && !fits { Err(RequestError::BadBuffer) } else { Ok(()) }
    }

    /// A plan that a host waits for is done.
    pub(crate) fn plan_done(&mut self, core: &mut Core, id: JobId) {
        match *core.cx.jobs.kind(id) {
            Kind::Read { host } => self.read_done(core, id, host),
            Kind::Flush { host, passed } => self.flush_done(core, id, host, passed),
            Kind::StageSums { host } => self.sums_done(core, id, host),
            Kind::StageEntry { number, lane } => self.entry_done(core, id, (number, lane)),
            Kind::StageLoad { number } => self.unread_done(core, id, number),
            Kind::HostCopy { host } => {
                core.cx.jobs.end(id);
                self.write_copied(core, host);
            }
            Kind::StageRead { host } => {
                core.cx.jobs.end(id);
                core.cx.signal(Signal::HostJobDone(host, Ok(())));
            }
            ref other => unreachable!("no host waits for {other:?}"),
        }
    }

    /// Some accesses of a plan that a host waits for failed.
    pub(crate) fn plan_broken(&mut self, core: &mut Core, id: JobId, failures: &[FailedAccess]) {
        match *core.cx.jobs.kind(id) {
            Kind::Read { host } => self.read_broken(core, (id, host), failures),
            Kind::Flush { host, .. } => self.flush_broken(core, (id, host), failures),
            Kind::StageEntry { number, lane } => self.entry_broken(core, id, (number, lane), failures),
            Kind::StageLoad { number } => self.unread_broken(core, id, number),
            ref other => unreachable!("no host waits for {other:?}"),
        }
    }

    fn begin(&mut self, core: &mut Core, host: HostId, request: Request) {
        // One job is counted until all jobs are started, so that none of them ends the request
        // early.
        self.get(host).jobs = 1;
        match request.operation {
            Operation::Read => {
                core.cx.counters.host_reads += 1;
                core.cx.counters.host_read += request.length.get();
                self.begin_read(core, host, request);
            }
            Operation::Write { .. } => {
                core.cx.counters.host_writes += 1;
                core.cx.counters.host_written += request.length.get();
                self.begin_change(core, host, request);
            }
            Operation::WriteZeroes { .. } | Operation::Trim => self.begin_change(core, host, request),
            Operation::Flush => {
                core.cx.counters.host_flushes += 1;
                if !self.needs_no_flush(core) {
                    self.get(host).jobs += 1;
                    self.flush_waiters.push(host);
                    self.resume_hosts(core);
                }
            }
        }
        self.host_job_done(core, host, Ok(()));
    }

    /// One of a request's jobs is done.
    pub(crate) fn host_job_done(&mut self, core: &mut Core, host: HostId, result: Result<(), RequestError>) {
        let entry = self.get(host);
        entry.error = entry.error.or(result.err());
        entry.jobs -= 1;
        if entry.jobs > 0 {
            return;
        }
        if entry.error.is_none() && entry.cursor < entry.until {
            return self.continue_write(core, host);
        }
        if entry.durable && core.durable.is_unrecorded() {
            entry.error.get_or_insert(RequestError::Lost);
        }
        let &mut HostRequest { request, error, durable, flushed, shared, origin, .. } = entry;
        if error.is_none() && durable && !flushed && (shared || self.durability_is_shared(core, request)) {
            return self.flush_before_answer(core, host);
        }
        core.stripes.cache_mut().read_ends(host);
        self.table[host.0 as usize] = None;
        self.free.push(host.0);
        let result = error.map_or(Ok(()), Err);
        match origin {
            Origin::Host => {
                self.stage.end_passing(host);
                self.gather.ended(host);
                self.answer(request, result);
            }
            Origin::Destaged => self.destage_ended(core, host, result),
            Origin::Gathered => self.gathered_ended(core, host, result),
        }
    }

    /// Whether the durability of a write depends on several members: the content of a missing data
    /// unit is spread over all others, and is durable only when they all are.
    fn durability_is_shared(&self, core: &Core, request: Request) -> bool {
        !core.durable.is_whole(&core.cx)
            && core.cx.geometry.keeps_parity()
            && self.stripes_of(core, request).any(|stripe| {
                // With a log, a durable record shows what each write changes, and one member is
                // enough.
                let recorded = core.cx.geometry.is_journaled()
                    && core.logs.logs_writes(&core.cx, &core.durable, core.cx.geometry.region_of(stripe).0);
                !recorded && self.is_short_of_members(core, stripe)
            })
    }

    /// Whether a member of `stripe` is missing or not yet whole. A member whose rebuild has ended
    /// counts as not whole until that is durable.
    fn is_short_of_members(&self, core: &Core, stripe: Stripe) -> bool {
        let places = core.cx.roster.places(&core.cx.geometry);
        let homes = Places::of_layout(core.cx.geometry.layout());
        places.slots(stripe).zip(homes.slots(stripe)).any(|(slot, home)| {
            core.durable.known_state(&core.cx, slot) != SlotState::Active
                || slot != home && core.durable.lacks_units(&core.cx, home)
        })
    }
}
