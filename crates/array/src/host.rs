//! Hosts' requests: checked, cut into jobs, answered when all jobs are done.

use std::collections::VecDeque;

use parlour_units::{Duration, Instant, Region, Sector, Sectors, Slot, Stripe, Unit};

use crate::buffer::BufferId;
use crate::code::UnitSet;
use crate::columns::{Columns, Piece, Window};
use crate::context::Context;
use crate::core::Core;
use crate::effect::{Class, Fault};
use crate::exec::job::FailedAccess;
use crate::ids::{HostId, JobId};
use crate::job::{ATTEMPTS, Kind, Purpose};
use crate::map::{pieces, windows};
use crate::mode::Mode;
use crate::organization::ReadChoice;
use crate::plan::{Content, Source, Span};
use crate::planted::{Bug, is_planted};
use crate::request::{Completion, Operation, Request, RequestError};
use crate::roster::SlotState;
use crate::stripe::StripeWork;

#[derive(Debug)]
struct HostRequest {
    request: Request,
    /// Where its payload begins in its buffer.
    start: Sectors,
    jobs: u32,
    error: Option<RequestError>,
    /// There are no jobs yet for sectors from here on.
    cursor: Sector,
    content: Content,
    durable: bool,
    /// Its data was flushed, because a durable write was not enough.
    flushed: bool,
    /// Whether only whole stripes are processed.
    whole_only: bool,
    /// Whether its reads contain only sectors that it asked for.
    wanted_only: bool,
    /// How often its read was begun again.
    attempts: u32,
}

/// A number that looks unrelated to `count`, by the finalizer of SplitMix64.
fn mixed(count: u64) -> u64 {
    let mut z = count.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The number of stripes of a request that are processed at once; a long request goes on when these
/// are done.
const STRIPES_AT_ONCE: u64 = 64;

/// Hosts count as idle after they were silent for this long; until then maintenance leaves them
/// room.
const QUIET: Duration = Duration::from_millis(50);

/// Requests that are not yet answered.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    table: Vec<Option<HostRequest>>,
    free: Vec<u32>,
    /// Payload memory that hosts hold.
    memory: Sectors,
    flush_waiters: Vec<HostId>,
    /// Reads of regions that are being recovered after a crash.
    recovery_waiters: Vec<HostId>,
    /// The accesses of a read; the vector is kept for its memory.
    reads: Vec<(Slot, Sector, Span)>,
    pieces: Vec<Piece>,
    windows: Vec<Window>,
    /// When the last request came.
    last: Option<Instant>,
    completions: VecDeque<Completion>,
    /// Counts reads of copies that are chosen in turn.
    turn: u64,
}

impl Hosts {
    /// Takes a buffer for a payload of `length`. `None` if the memory for hosts is all in use.
    pub(crate) fn reserve(&mut self, cx: &mut Context, length: Sectors) -> Option<BufferId> {
        if self.memory + length > cx.tuning.host_memory && !self.memory.is_zero() {
            return None;
        }
        self.memory += length;
        Some(cx.buffers.take(length))
    }

    /// Gives a buffer back.
    pub(crate) fn release(&mut self, cx: &mut Context, buffer: BufferId) {
        self.memory = self.memory - cx.buffers.length(buffer);
        cx.buffers.release(buffer);
    }

    /// The memory of payloads.
    pub(crate) fn memory(&self) -> Sectors {
        self.memory
    }

    /// The next completion of a request.
    pub(crate) fn poll_completion(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    fn insert(&mut self, request: Request, start: Sectors) -> HostId {
        let entry = Some(HostRequest {
            request,
            start,
            jobs: 0,
            error: None,
            cursor: request.at + request.length,
            content: Content::Host,
            durable: false,
            flushed: false,
            whole_only: false,
            wanted_only: false,
            attempts: 0,
        });
        match self.free.pop() {
            Some(index) => {
                self.table[index as usize] = entry;
                HostId(index)
            }
            None => {
                self.table.push(entry);
                HostId(self.table.len() as u32 - 1)
            }
        }
    }

    fn get(&mut self, id: HostId) -> &mut HostRequest {
        self.table[id.0 as usize].as_mut().expect("a request is named until it is answered")
    }

    pub(crate) fn count(&self) -> usize {
        self.table.len() - self.free.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Hosts count as idle from this time on, unless requests are under way.
    pub(crate) fn quiet_from(&self) -> Option<Instant> {
        Some(self.last? + QUIET)
    }

    /// Whether hosts are active, or were a moment ago.
    pub(crate) fn are_busy(&self, now: Instant) -> bool {
        !self.is_empty() || self.quiet_from().is_some_and(|quiet| quiet > now)
    }
}

impl Hosts {
    /// Takes a request, whose payload begins at `start` in its buffer.
    pub(crate) fn take_request(&mut self, core: &mut Core, request: Request, start: Sectors) {
        self.last = Some(core.cx.now);
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
        match core.cx.jobs.kind(id) {
            Kind::Read { .. } => self.read_done(core, id),
            Kind::Flush { .. } => self.flush_done(core, id),
            other => unreachable!("no host waits for {other:?}"),
        }
    }

    /// Some accesses of a plan that a host waits for failed.
    pub(crate) fn plan_broken(&mut self, core: &mut Core, id: JobId, failures: &[FailedAccess]) {
        match core.cx.jobs.kind(id) {
            Kind::Read { .. } => self.read_broken(core, id, failures),
            Kind::Flush { .. } => self.flush_broken(core, id, failures),
            other => unreachable!("no host waits for {other:?}"),
        }
    }

    /// What a direct read could not read is repaired, or (if `lost`) could not be.
    pub(crate) fn read_repaired(&mut self, core: &mut Core, id: JobId, lost: bool) {
        match core.cx.jobs.kind(id) {
            Kind::Read { .. } if lost => self.read_failed(core, id, RequestError::Lost),
            Kind::Read { host } => {
                let host = *host;
                self.read_again(core, id, host);
            }
            other => unreachable!("{other:?} waits for no repair"),
        }
    }

    /// Answers all requests with an error: the array does nothing more.
    pub(crate) fn refuse_hosts(&mut self, core: &mut Core) {
        let refusal = match core.cx.mode {
            Mode::Superseded => RequestError::Superseded,
            _ => RequestError::NoSpace,
        };
        self.free.clear();
        for HostRequest { request, .. } in std::mem::take(&mut self.table).into_iter().flatten() {
            self.answer(request, Err(refusal));
        }
    }

    fn answer(&mut self, request: Request, result: Result<(), RequestError>) {
        self.completions.push_back(Completion { tag: request.tag, result });
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
            Operation::Write { durable } => {
                core.cx.counters.host_writes += 1;
                core.cx.counters.host_written += request.length.get();
                self.begin_write(core, host, request, Content::Host, durable);
            }
            Operation::WriteZeroes { may_unmap, fast_only, durable } => {
                self.begin_zeroes(core, host, request, may_unmap && !durable, fast_only, durable);
            }
            Operation::Trim => self.begin_trim(core, host, request),
            Operation::Flush => {
                core.cx.counters.host_flushes += 1;
                self.get(host).jobs += 1;
                self.flush_waiters.push(host);
                self.resume_hosts(core);
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
        let end = entry.request.at + entry.request.length;
        if entry.error.is_none() && entry.cursor < end {
            return self.continue_write(core, host);
        }
        if entry.durable && core.durable.is_unrecorded() {
            entry.error.get_or_insert(RequestError::Lost);
        }
        let (request, error) = (entry.request, entry.error);
        if error.is_none() && entry.durable && !entry.flushed && self.durability_is_shared(core, request) {
            return self.flush_before_answer(core, host);
        }
        core.stripes.cache_mut().read_ends(host);
        self.table[host.0 as usize] = None;
        self.free.push(host.0);
        self.answer(request, error.map_or(Ok(()), Err));
    }

    /// Whether the durability of a write depends on several members: the content of a missing data
    /// unit is spread over all others, and is durable only when they all are.
    fn durability_is_shared(&self, core: &Core, request: Request) -> bool {
        !core.durable.is_whole(&core.cx)
            && core.cx.geometry.keeps_parity()
            && !is_planted(Bug::DegradedDurableNotFlushed)
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
        let layout = core.cx.geometry.layout();
        let mut slots = layout.units().map(|unit| layout.locate(stripe, unit).slot);
        slots.any(|slot| core.durable.known_state(&core.cx, slot) != SlotState::Active)
    }

    fn flush_before_answer(&mut self, core: &mut Core, host: HostId) {
        let entry = self.get(host);
        (entry.flushed, entry.jobs) = (true, 1);
        self.flush_waiters.push(host);
        self.resume_hosts(core);
    }

    /// A request's buffer, and where its payload begins there.
    pub(crate) fn host_buffer(&mut self, host: HostId) -> Option<(BufferId, Sectors)> {
        let HostRequest { request, start, .. } = self.get(host);
        request.buffer.map(|buffer| (buffer, *start))
    }

    // Reads.

    /// Reads directly what can be read, in as few accesses as possible, and starts a job on each
    /// stripe with missing units.
    fn begin_read(&mut self, core: &mut Core, host: HostId, request: Request) {
        let logged = core.cx.geometry.is_journaled();
        let refused = |stripe| {
            core.logs.is_stalled(core.cx.geometry.region_of(stripe).0)
                || core.logs.is_left_to_redo(&core.cx, stripe)
        };
        if logged && self.stripes_of(core, request).any(refused) {
            let refusal = core.cx.refusal();
            self.get(host).error.get_or_insert(refusal);
            return;
        }
        if self.waits_for_recovery(core, request) {
            self.hasten_recoveries(core, request);
            self.get(host).jobs += 1;
            self.recovery_waiters.push(host);
            return;
        }
        let mut reads = std::mem::take(&mut self.reads);
        let mut found = std::mem::take(&mut self.pieces);
        let mut missing = false;
        let whole_unit = core.cx.geometry.layout().unit_length();
        for stripe in self.stripes_of(core, request) {
            let window = Window { stripe, columns: Columns::new(Sectors::ZERO, whole_unit) };
            pieces(core.cx.geometry.layout(), request.at, request.length, window, &mut found);
            for piece in &found {
                match self.choose_unit(core, stripe, piece) {
                    Some(unit) => {
                        let location =
                            core.cx.roster.current_location(core.cx.geometry.layout().locate(stripe, unit));
                        let at = core.cx.geometry.absolute(location.at + piece.columns.from);
                        reads.push((
                            location.slot,
                            at,
                            Span::new(Source::Host, piece.host, piece.columns.length()),
                        ));
                    }
                    None => missing = true,
                }
            }
        }
        if !reads.is_empty() {
            self.start_direct_read(core, host, &mut reads);
        }
        self.reads = reads;
        self.pieces = found;
        if missing {
            self.begin_degraded_reads(core, host, request);
        }
    }

    /// Whether data that is read now might change after a crash. That is so if a region is still to
    /// be brought up to its records, if a record was given up and would be redone, or if copies may
    /// differ and it is not yet recorded which members are excluded.
    fn waits_for_recovery(&self, core: &Core, request: Request) -> bool {
        let layout = core.cx.geometry.layout();
        let unrecorded = core.cx.geometry.keeps_copies() && core.durable.barrier();
        if !core.cx.geometry.is_journaled() && !unrecorded {
            return false;
        }
        self.stripes_of(core, request).any(|stripe| {
            let region = layout.region_of(stripe).0;
            let recorded = !core.cx.writes || core.durable.bitmap().resync_is_durable(region);
            let given_up = core.cx.geometry.is_journaled() && !recorded;
            core.logs.is_recovering(region)
                || given_up
                || unrecorded && core.durable.bitmap().needs_resync(region)
        })
    }

    fn hasten_recoveries(&mut self, core: &mut Core, request: Request) {
        let regions: Vec<Region> = self
            .stripes_of(core, request)
            .map(|stripe| core.cx.geometry.layout().region_of(stripe).0)
            .collect();
        regions.into_iter().for_each(|region| core.logs.hasten_recovery(region));
    }

    /// A region was recovered, or the members' states are recorded: reads that waited for that
    /// check again.
    pub(crate) fn resume_recovered_hosts(&mut self, core: &mut Core) {
        for host in std::mem::take(&mut self.recovery_waiters) {
            let request = self.get(host).request;
            self.begin_read(core, host, request);
            self.host_job_done(core, host, Ok(()));
        }
        self.resume_hosts(core);
    }

    fn start_direct_read(&mut self, core: &mut Core, host: HostId, reads: &mut Vec<(Slot, Sector, Span)>) {
        self.get(host).jobs += 1;
        let id = core.cx.jobs.start(Kind::Read { host }, Class::Foreground);
        self.note_read(core, host);
        let mut merging = core.cx.tuning.merging();
        if self.get(host).wanted_only {
            merging.gap = Sectors::ZERO;
        }
        core.cx.jobs.get_mut(id).plan.read_merged(reads, merging);
        let buffer = self.host_buffer(host);
        let turn = core.cx.roster.turn();
        core.cx.run(id, turn, buffer, &[]);
    }

    /// The unit to read `piece` from; `None` if it must be computed.
    fn choose_unit(&mut self, core: &mut Core, stripe: Stripe, piece: &Piece) -> Option<Unit> {
        let layout = core.cx.geometry.layout();
        if !core.cx.geometry.keeps_copies() {
            let location = layout.locate(stripe, piece.unit);
            let readable = !core.cx.roster.is_degraded() || core.cx.roster.readable(location.slot, stripe);
            return readable.then_some(piece.unit);
        }
        self.choose_copy(core, stripe, piece.columns)
    }

    fn choose_copy(&mut self, core: &mut Core, stripe: Stripe, columns: Columns) -> Option<Unit> {
        let layout = core.cx.geometry.layout();
        let readable = |unit: &Unit| core.cx.roster.readable(layout.locate(stripe, *unit).slot, stripe);
        let mut copies = layout.units().filter(readable);
        // Until a region is resynced its copies may differ. All reads must use the copy that the
        // others will be rewritten from. While a job rewrites the stripe's copies, perhaps from one
        // that is lost meanwhile, none is read directly.
        if core.durable.bitmap().needs_resync(layout.region_of(stripe).0) {
            return copies.next().filter(|_| !core.cx.locks.is_exclusive(stripe));
        }
        let member = |unit: Unit| {
            let location = layout.locate(stripe, unit);
            let member = core.cx.roster.member_at(location.slot).expect("a readable place has a member");
            let (queue, head) = core.cx.roster.queue(member);
            let at = core.cx.geometry.data_start() + (location.at + columns.from).from_start();
            let distance = head.get().abs_diff(at.get());
            (queue, distance)
        };
        match core.cx.geometry.organization().read {
            ReadChoice::Direct | ReadChoice::Primary => copies.next(),
            choice @ (ReadChoice::RoundRobin | ReadChoice::Random) => {
                let copies: Vec<Unit> = copies.collect();
                let number = if choice == ReadChoice::Random { mixed(self.turn) } else { self.turn };
                let turn = number.checked_rem(copies.len() as u64)?;
                self.turn += 1;
                Some(copies[turn as usize])
            }
            ReadChoice::ShortestQueue => copies.min_by_key(|unit| member(*unit)),
            ReadChoice::NearestHead => copies.min_by_key(|unit| member(*unit).1),
        }
    }

    fn begin_degraded_reads(&mut self, core: &mut Core, host: HostId, request: Request) {
        let list = self.list_windows(core, request);
        for window in &list {
            let mut found = Vec::new();
            pieces(core.cx.geometry.layout(), request.at, request.length, *window, &mut found);
            found.retain(|piece| self.choose_unit(core, window.stripe, piece).is_none());
            if !found.is_empty() {
                core.cx.counters.degraded_reads += 1;
                self.start_host_stripe(core, Purpose::Read, *window, host, found, UnitSet::NONE);
            }
        }
        self.windows = list;
    }

    pub(crate) fn read_done(&mut self, core: &mut Core, id: JobId) {
        let Some(Kind::Read { host }) = core.cx.jobs.get_mut(id).kind.take() else { unreachable!("a read") };
        core.cx.jobs.end(id);
        self.keep_read(core, host);
        self.host_job_done(core, host, Ok(()));
    }

    /// The cache watches a read, to notice whether its data is overwritten before the read ends.
    fn note_read(&mut self, core: &mut Core, host: HostId) {
        let request = self.get(host).request;
        if core.stripes.cache_mut().takes(request.length) {
            let stripes: Vec<Stripe> = self.stripes_of(core, request).collect();
            let stale = stripes.iter().any(|stripe| core.cx.locks.is_exclusive(*stripe));
            core.stripes.cache_mut().read_begins(host, stripes, stale);
        }
    }

    fn keep_read(&mut self, core: &mut Core, host: HostId) {
        let HostRequest { request, start, jobs, .. } = *self.get(host);
        // Units that another job of the same request computes are not in the buffer yet.
        if !core.stripes.cache_mut().read_ends(host) || jobs != 1 {
            return;
        }
        let unit = core.cx.geometry.layout().unit_length();
        let mut content = Vec::new();
        let mut found = Vec::new();
        for stripe in self.stripes_of(core, request) {
            let window = Window { stripe, columns: Columns::new(Sectors::ZERO, unit) };
            pieces(core.cx.geometry.layout(), request.at, request.length, window, &mut found);
            content.extend(found.iter().map(|piece| (stripe, *piece)));
        }
        let buffer = request.buffer.expect("a read has a payload");
        core.stripes.keep_content(&mut core.cx, (buffer, start), content);
    }

    /// The stripes that a request touches.
    fn stripes_of(&self, core: &Core, request: Request) -> impl Iterator<Item = Stripe> + use<> {
        let data = core.cx.geometry.layout().stripe_data();
        let end = request.at + request.length;
        let first = request.at.from_start() / data;
        (first..end.from_start().get().div_ceil(data.get())).map(Stripe::new)
    }

    /// Some accesses of a read failed: unreadable sectors are repaired, and then the whole read is
    /// repeated for the array as it now is.
    pub(crate) fn read_broken(&mut self, core: &mut Core, id: JobId, failures: &[FailedAccess]) {
        if core.cx.jobs.get(id).plan.reads_through() {
            return self.read_wanted_only(core, id);
        }
        if core.cx.still_standing(failures) {
            return self.read_failed(core, id, RequestError::Lost);
        }
        if failures.iter().any(|failure| failure.fault.is_of_space()) {
            // Nothing is lost: the system lacked space or memory for the access.
            return self.read_failed(core, id, core.cx.refusal());
        }
        if !core.cx.may_repair() && failures.iter().all(|failure| failure.fault == Fault::Unreadable) {
            // If a member was failed for the error, nothing is computed here: the whole read is
            // repeated without that member.
            return match failures.iter().all(|failure| core.cx.roster.slot_of(failure.member).is_some()) {
                true => self.compute_unreadable(core, id, failures),
                false => core.stripes.repairs_done(&mut core.cx, &mut core.durable, &mut core.logs, id),
            };
        }
        for failure in failures.iter().filter(|failure| failure.fault == Fault::Unreadable) {
            core.stripes.start_repairs(&mut core.cx, id, failure);
        }
        if core.cx.jobs.get(id).repairs == 0 {
            core.stripes.repairs_done(&mut core.cx, &mut core.durable, &mut core.logs, id);
        }
    }

    /// The sectors that failed may be ones that the host did not ask for: the read is repeated
    /// without these.
    fn read_wanted_only(&mut self, core: &mut Core, id: JobId) {
        let Some(Kind::Read { host }) = core.cx.jobs.get_mut(id).kind.take() else { unreachable!("a read") };
        self.get(host).wanted_only = true;
        self.read_again(core, id, host);
    }

    /// An array that must not write answers from the rest of the stripe and repairs nothing.
    fn compute_unreadable(&mut self, core: &mut Core, id: JobId, failures: &[FailedAccess]) {
        let Some(Kind::Read { host }) = core.cx.jobs.get_mut(id).kind.take() else { unreachable!("a read") };
        core.cx.jobs.end(id);
        core.stripes.cache_mut().read_ends(host);
        let block = core.cx.geometry.block();
        let unreadable = failures.iter().flat_map(|failure| core.cx.unreadable_windows(failure));
        let unreadable: Vec<(Window, Unit)> = unreadable.collect();
        for (window, unit) in unreadable {
            let Window { stripe, columns } = window;
            let differ = core.cx.geometry.keeps_copies()
                && core.durable.bitmap().needs_resync(core.cx.geometry.region_of(stripe).0);
            if !differ {
                self.start_read(core, host, window, UnitSet::of(unit));
                continue;
            }
            // Copies that may differ are still read from the first one, except blocks that cannot
            // be read there.
            for index in 0..columns.length() / block {
                let from = columns.from + block * index;
                let columns = Columns::new(from, from + block);
                self.start_read(core, host, Window { stripe, columns }, UnitSet::NONE);
            }
        }
        self.host_job_done(core, host, Ok(()));
    }

    /// Reads the part of a request that lies in a window, as if the units `without` could not be
    /// read.
    fn start_read(&mut self, core: &mut Core, host: HostId, window: Window, without: UnitSet) {
        let request = self.get(host).request;
        let mut found = Vec::new();
        pieces(core.cx.geometry.layout(), request.at, request.length, window, &mut found);
        // With copies, any of them may be the one that was read.
        let copies = core.cx.geometry.keeps_copies();
        found.retain(|piece| copies || without.has(piece.unit));
        if found.is_empty() {
            return;
        }
        self.start_host_stripe(core, Purpose::Read, window, host, found, without);
    }

    pub(crate) fn read_failed(&mut self, core: &mut Core, id: JobId, error: RequestError) {
        let Some(Kind::Read { host }) = core.cx.jobs.get_mut(id).kind.take() else { unreachable!("a read") };
        core.cx.jobs.end(id);
        core.stripes.cache_mut().read_ends(host);
        self.host_job_done(core, host, Err(error));
    }

    /// The data that `id` could not read is repaired: the host's read begins again.
    pub(crate) fn read_again(&mut self, core: &mut Core, id: JobId, host: HostId) {
        core.cx.jobs.end(id);
        let entry = self.get(host);
        entry.attempts += 1;
        if entry.attempts > ATTEMPTS {
            core.stripes.cache_mut().read_ends(host);
            return self.host_job_done(core, host, Err(RequestError::Lost));
        }
        let request = entry.request;
        self.begin_read(core, host, request);
        self.host_job_done(core, host, Ok(()));
    }

    // Writes.

    fn begin_write(
        &mut self,
        core: &mut Core,
        host: HostId,
        request: Request,
        content: Content,
        durable: bool,
    ) {
        let entry = self.get(host);
        (entry.cursor, entry.content, entry.durable) = (request.at, content, durable);
        self.continue_write(core, host);
    }

    /// Starts jobs on the next stripes of a request that writes, zeroes or trims.
    fn continue_write(&mut self, core: &mut Core, host: HostId) {
        let &mut HostRequest { request, cursor, whole_only, .. } = self.get(host);
        let data = core.cx.geometry.layout().stripe_data();
        let end = request.at + request.length;
        let next = Sector::ZERO + data * (cursor.from_start() / data + STRIPES_AT_ONCE);
        let part = Request { at: cursor, length: next.min(end) - cursor, ..request };
        let list = self.list_windows(core, part);
        let entry = self.get(host);
        entry.cursor = next.min(end);
        // One job is counted until all jobs are started, so that the request does not go on early.
        entry.jobs += 1;
        for window in &list {
            if !whole_only || self.is_whole(core, request, *window) {
                self.begin_window(core, host, request, *window);
            }
        }
        self.windows = list;
        self.host_job_done(core, host, Ok(()));
    }

    /// A write's window is cut into blocks, each of which is written separately.
    pub(crate) fn begin_blocks(&mut self, core: &mut Core, host: HostId, window: Window) {
        let request = self.get(host).request;
        let block = core.cx.geometry.block();
        let columns = window.columns;
        for index in 0..columns.length() / block {
            let from = columns.from + block * index;
            let window = Window { columns: Columns::new(from, from + block), ..window };
            self.begin_window(core, host, request, window);
        }
    }

    /// The windows of a request. The vector is to be given back, to reuse its memory.
    fn list_windows(&mut self, core: &mut Core, request: Request) -> Vec<Window> {
        let mut list = std::mem::take(&mut self.windows);
        list.clear();
        list.extend(windows(core.cx.geometry.layout(), request.at, request.length, core.cx.tuning.slice));
        list
    }

    fn begin_window(&mut self, core: &mut Core, host: HostId, request: Request, window: Window) {
        let mut found = Vec::new();
        pieces(core.cx.geometry.layout(), request.at, request.length, window, &mut found);
        if found.is_empty() {
            return;
        }
        self.start_host_stripe(core, Purpose::Write, window, host, found, UnitSet::NONE);
    }

    /// Starts a job that `host` waits for.
    fn start_host_stripe(
        &mut self,
        core: &mut Core,
        purpose: Purpose,
        window: Window,
        host: HostId,
        pieces: Vec<Piece>,
        targets: UnitSet,
    ) {
        let payload = self.host_buffer(host);
        let entry = self.get(host);
        entry.jobs += 1;
        let (content, durable) = (entry.content, entry.durable);
        let host = Some(host);
        core.stripes.start_stripe(
            &mut core.cx,
            StripeWork { purpose, window, host, payload, pieces, content, durable, targets },
        );
    }

    fn begin_zeroes(
        &mut self,
        core: &mut Core,
        host: HostId,
        request: Request,
        may_unmap: bool,
        fast: bool,
        durable: bool,
    ) {
        let unmaps = may_unmap && self.members_unmap(core);
        if fast && !(unmaps && self.is_made_of_stripes(core, request)) {
            self.get(host).error = Some(RequestError::NotFast);
            return;
        }
        core.cx.counters.host_writes += 1;
        core.cx.counters.host_written += request.length.get();
        self.begin_write(core, host, request, Content::Zeroes { may_unmap: unmaps }, durable);
    }

    fn is_made_of_stripes(&self, core: &Core, request: Request) -> bool {
        let data = core.cx.geometry.layout().stripe_data();
        request.at.from_start().is_multiple_of(data) && request.length.is_multiple_of(data)
    }

    /// Whole stripes are unmapped; smaller parts of a trim are ignored.
    fn begin_trim(&mut self, core: &mut Core, host: HostId, request: Request) {
        if self.members_unmap(core) {
            self.get(host).whole_only = true;
            self.begin_write(core, host, request, Content::Zeroes { may_unmap: true }, false);
        }
    }

    /// Whether a request covers the window in all data units.
    fn is_whole(&self, core: &Core, request: Request, window: Window) -> bool {
        let mut found = Vec::new();
        pieces(core.cx.geometry.layout(), request.at, request.length, window, &mut found);
        found.len() == usize::from(core.cx.geometry.layout().data_units())
            && found.iter().all(|piece| piece.columns == window.columns)
    }

    fn members_unmap(&self, core: &Core) -> bool {
        core.cx.roster.all_unmap()
    }

    // Flushes.

    /// Starts the flushes that may start.
    pub(crate) fn resume_hosts(&mut self, core: &mut Core) {
        if self.flush_lacks_parity(core) {
            let refusal = core.cx.refusal();
            let waiters = std::mem::take(&mut self.flush_waiters);
            waiters.into_iter().for_each(|host| self.host_job_done(core, host, Err(refusal)));
        }
        if self.flush_waiters.is_empty() || !self.flush_may_start(core) {
            return;
        }
        for host in std::mem::take(&mut self.flush_waiters) {
            if core.cx.roster.has_lost_writes() || core.durable.is_unrecorded() {
                self.host_job_done(core, host, Err(RequestError::Lost));
                continue;
            }
            let id = core.cx.jobs.start(Kind::Flush { host }, Class::Foreground);
            if !is_planted(Bug::FlushDoesNothing) {
                core.cx.plan_flushes(id);
            }
            core.cx.run_own(id);
        }
    }

    /// Whether parity that stands in for a missing member's data stays behind its log until the
    /// next opening.
    fn flush_lacks_parity(&self, core: &Core) -> bool {
        let lacks = core.cx.counters.out_of_space
            && !core.cx.geometry.is_journaled()
            && !core.durable.is_whole(&core.cx);
        lacks && core.logs.any_stalled()
    }

    /// Whether a flush may start. If a member is missing, its data is in the parity alone, which
    /// must first be up to date.
    fn flush_may_start(&mut self, core: &mut Core) -> bool {
        let behind = !core.cx.geometry.is_journaled()
            && !core.durable.is_whole(&core.cx)
            && core.logs.any_live()
            && !is_planted(Bug::DegradedFlushBeforeParity);
        if behind {
            core.logs.want_all_parity(&mut core.cx, &mut core.durable);
        }
        !behind && !core.durable.barrier()
    }

    pub(crate) fn flush_done(&mut self, core: &mut Core, id: JobId) {
        let Some(Kind::Flush { host }) = core.cx.jobs.get_mut(id).kind.take() else {
            unreachable!("a flush")
        };
        core.cx.jobs.end(id);
        if core.durable.barrier() || core.cx.roster.has_lost_writes() || core.durable.is_unrecorded() {
            // A member failed meanwhile, perhaps because it could not flush, and would be believed
            // after a crash.
            self.flush_waiters.push(host);
            return self.resume_hosts(core);
        }
        self.host_job_done(core, host, Ok(()));
    }

    /// A member that could not be flushed is failed by now. The others are flushed again after its
    /// exclusion is durable.
    pub(crate) fn flush_broken(&mut self, core: &mut Core, id: JobId, failures: &[FailedAccess]) {
        let Some(Kind::Flush { host }) = core.cx.jobs.get_mut(id).kind.take() else {
            unreachable!("a flush")
        };
        core.cx.jobs.end(id);
        let lost =
            core.cx.still_standing(failures) || failures.iter().any(|failure| !failure.fault.is_of_member());
        if lost {
            self.host_job_done(core, host, Err(RequestError::Lost));
        } else {
            self.flush_waiters.push(host);
            self.resume_hosts(core);
        }
    }
}
