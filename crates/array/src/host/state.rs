//! The requests of hosts that are not yet answered, and their memory.

use super::held::Gather;
use crate::buffer::BufferId;
use crate::code::UnitSet;
use crate::columns::{Columns, Piece, Window};
use crate::context::Context;
use crate::core::Core;
use crate::effect::Class;
use crate::ids::HostId;
use crate::job::Purpose;
use crate::map::windows;
use crate::mode::Mode;
use crate::plan::{Content, Span};
use crate::read::Turns;
use crate::request::{Completion, Request, RequestError};
use crate::stage::{Range, Stage};
use crate::stripe::StripeWork;
use crate::tuning::QUIET;
use parlour_units::{Instant, Sector, Sectors, Slot, Stripe};
use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct HostRequest {
    pub(super) request: Request,
    /// Where its payload begins in its buffer.
    pub(super) start: Sectors,
    pub(super) jobs: u32,
    pub(super) error: Option<RequestError>,
    /// There are no jobs yet for sectors from here on, up to `until`.
    pub(super) cursor: Sector,
    pub(super) until: Sector,
    pub(super) content: Content,
    pub(super) durable: bool,
    /// Its durability depends on other data of its stripes.
    pub(super) shared: bool,
    /// Its data was flushed, because a durable write was not enough.
    pub(super) flushed: bool,
    /// Whether only whole stripes are processed.
    pub(super) whole_only: bool,
    /// Whether its reads contain only sectors that it asked for.
    pub(super) wanted_only: bool,
    /// How often its read was begun again.
    pub(super) attempts: u32,
    /// The parts of the payload that this attempt of a read takes from the stage.
    pub(super) overlaid: Vec<Columns>,
    pub(super) origin: Origin,
}

/// Whose request it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A host's, which is answered.
    Host,
    /// A write of the array's own, which destages data.
    Destaged,
    /// A write of the array's own, of a stripe that two requests write together.
    Gathered,
}

/// The range of the array that a request is for.
pub(super) fn range_of(request: &Request) -> Range {
    Range::new(request.at, request.length)
}

/// Requests that are not yet answered.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    pub(super) table: Vec<Option<HostRequest>>,
    pub(super) free: Vec<u32>,
    /// Payload memory that hosts hold.
    pub(super) memory: Sectors,
    pub(super) flush_waiters: Vec<HostId>,
    /// Reads of regions that are being recovered after a crash.
    pub(super) recovery_waiters: Vec<HostId>,
    /// The accesses of a read; the vector is kept for its memory.
    pub(super) reads: Vec<(Slot, Sector, Span)>,
    pub(super) pieces: Vec<Piece>,
    pub(super) windows: Vec<Window>,
    /// When the last request came.
    pub(super) last: Option<Instant>,
    pub(super) completions: VecDeque<Completion>,
    /// Counts reads of copies that are chosen in turn.
    pub(super) turns: Turns,
    pub(super) stage: Stage,
    pub(super) gather: Gather,
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

    pub(super) fn insert(&mut self, request: Request, start: Sectors) -> HostId {
        self.insert_of(request, start, Origin::Host)
    }

    /// A write of the array's own. One job is counted until its content is in its buffer.
    pub(super) fn insert_own(&mut self, request: Request, start: Sectors, origin: Origin) -> HostId {
        let host = self.insert_of(request, start, origin);
        self.get(host).jobs = 1;
        host
    }

    fn insert_of(&mut self, request: Request, start: Sectors, origin: Origin) -> HostId {
        let entry = Some(HostRequest {
            request,
            start,
            jobs: 0,
            error: None,
            cursor: request.at + request.length,
            until: request.at + request.length,
            content: Content::Host,
            durable: false,
            shared: false,
            flushed: false,
            whole_only: false,
            wanted_only: false,
            attempts: 0,
            overlaid: Vec::new(),
            origin,
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

    pub(super) fn get(&mut self, id: HostId) -> &mut HostRequest {
        self.table[id.0 as usize].as_mut().expect("a request is named until it is answered")
    }

    pub(crate) fn count(&self) -> usize {
        self.table.len() - self.free.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// When to destage again what could not be destaged.
    pub(crate) fn next_retry(&self) -> Option<Instant> {
        self.stage.stuck
    }

    /// Acknowledged writes that are not in their place yet, as far as they are in memory.
    pub(crate) fn staged(&self) -> Sectors {
        self.stage.map.sectors()
    }

    /// Whether writes that were acknowledged are not in their place yet.
    pub(crate) fn hold_acknowledged(&self) -> bool {
        self.stage.holds_data()
    }

    /// Hosts count as idle from this time on, unless requests are under way.
    pub(crate) fn quiet_from(&self) -> Option<Instant> {
        Some(self.last? + QUIET)
    }

    /// Whether hosts are active, or were a moment ago.
    pub(crate) fn are_busy(&self, now: Instant) -> bool {
        self.count() > self.stage.batch.running() || self.quiet_from().is_some_and(|quiet| quiet > now)
    }

    /// A request's buffer, and where its payload begins there.
    pub(crate) fn host_buffer(&mut self, host: HostId) -> Option<(BufferId, Sectors)> {
        let HostRequest { request, start, .. } = self.get(host);
        request.buffer.map(|buffer| (buffer, *start))
    }

    pub(super) fn answer(&mut self, request: Request, result: Result<(), RequestError>) {
        self.completions.push_back(Completion { tag: request.tag, result });
    }

    /// The stripes that a request touches.
    pub(super) fn stripes_of(&self, core: &Core, request: Request) -> impl Iterator<Item = Stripe> + use<> {
        let data = core.cx.geometry.layout().stripe_data();
        let end = request.at + request.length;
        let first = request.at.from_start() / data;
        (first..end.from_start().get().div_ceil(data.get())).map(Stripe::new)
    }

    /// The windows of a request. The vector is to be given back, to reuse its memory.
    pub(super) fn list_windows(&mut self, core: &mut Core, request: Request) -> Vec<Window> {
        let mut list = std::mem::take(&mut self.windows);
        list.clear();
        list.extend(windows(core.cx.geometry.layout(), request.at, request.length, core.cx.tuning.slice));
        list
    }

    /// Starts a job that `host` waits for.
    pub(super) fn start_host_stripe(
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
        let acknowledged = entry.origin == Origin::Destaged;
        let host = Some(host);
        let work = StripeWork { purpose, window, host, payload, pieces, content, durable, targets };
        let id = core.stripes.start_stripe(&mut core.cx, work);
        if acknowledged {
            core.cx.jobs.get_mut(id).class = Class::Log;
            core.cx.jobs.stripe(id).acknowledged = true;
        }
    }

    /// Answers all requests with an error: the array does nothing more.
    pub(crate) fn refuse_hosts(&mut self, core: &mut Core) {
        let refusal = match core.cx.mode {
            Mode::Superseded => RequestError::Superseded,
            _ => RequestError::NoSpace,
        };
        self.free.clear();
        self.stage.abandon();
        self.gather = Gather::default();
        for HostRequest { request, origin, .. } in std::mem::take(&mut self.table).into_iter().flatten() {
            if origin == Origin::Host {
                self.answer(request, Err(refusal));
            }
        }
    }
}
