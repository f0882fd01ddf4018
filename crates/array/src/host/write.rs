//! Writes, zeroes and trims: cut into windows, a part of a long request at a time.

use crate::buffer::BufferId;
use crate::code::UnitSet;
use crate::columns::Window;
use crate::core::Core;
use crate::effect::Class;
use crate::host::state::{HostRequest, Hosts};
use crate::ids::HostId;
use crate::job::{Kind, Purpose};
use crate::map::pieces;
use crate::plan::{Content, Source, Span};
use crate::request::{Operation, Request, RequestError};
use crate::signal::Signal;
use parlour_units::{Sector, Sectors};

/// The number of stripes of a request that are processed at once; a long request goes on when these
/// are done.
const STRIPES_AT_ONCE: u64 = 64;

impl Hosts {
    pub(super) fn begin_write(
        &mut self,
        core: &mut Core,
        host: HostId,
        request: Request,
        content: Content,
        durable: bool,
    ) {
        self.note_write(host, request, content, durable);
        self.continue_write(core, host);
    }

    /// Notes what a request writes. There are no jobs for it yet.
    pub(super) fn note_write(&mut self, host: HostId, request: Request, content: Content, durable: bool) {
        let entry = self.get(host);
        (entry.cursor, entry.until) = (request.at, request.at + request.length);
        (entry.content, entry.durable) = (content, durable);
    }

    /// Copies `parts` of buffers behind one another into the buffer `to` of one of the array's own
    /// writes, which goes on then (`write_copied`).
    pub(super) fn copy_parts(
        &mut self,
        core: &mut Core,
        (host, to, class): (HostId, BufferId, Class),
        parts: impl IntoIterator<Item = (BufferId, Sectors, Sectors)>,
    ) {
        let id = core.cx.jobs.start(Kind::HostCopy { host }, class);
        let mut at = Sectors::ZERO;
        for (from, start, length) in parts {
            core.cx.buffers.hold(from);
            let job = core.cx.jobs.get_mut(id);
            job.held.push(from);
            let source = Span::new(Source::Buffer(from), start, length);
            job.plan.xor(Span::new(Source::Buffer(to), at, length), [source]);
            at += length;
        }
        let turn = core.cx.roster.turn();
        core.cx.run(id, turn, None, &[]);
    }

    /// The content of one of the array's own writes is in its buffer: it is written to its place.
    pub(super) fn write_copied(&mut self, core: &mut Core, host: HostId) {
        let request = self.get(host).request;
        let durable = request.operation == Operation::Write { durable: true };
        self.begin_write(core, host, request, Content::Host, durable);
        core.cx.signal(Signal::HostJobDone(host, Ok(())));
    }

    /// Starts jobs on the next stripes of a request that writes, zeroes or trims.
    pub(super) fn continue_write(&mut self, core: &mut Core, host: HostId) {
        let &mut HostRequest { request, cursor, until, .. } = self.get(host);
        let data = core.cx.geometry.layout().stripe_data();
        let next = Sector::ZERO + data * (cursor.from_start() / data + STRIPES_AT_ONCE);
        let next = next.min(until).max(cursor);
        let part = Request { at: cursor, length: next - cursor, ..request };
        let entry = self.get(host);
        entry.cursor = next;
        // One job is counted until all jobs are started, so that the request does not go on early.
        entry.jobs += 1;
        self.begin_windows(core, host, request, part);
        core.cx.signal(Signal::HostJobDone(host, Ok(())));
    }

    /// Starts jobs on a part of a request.
    pub(super) fn begin_windows(&mut self, core: &mut Core, host: HostId, request: Request, part: Request) {
        let whole_only = self.get(host).whole_only;
        let list = self.list_windows(core, part);
        for window in &list {
            if !whole_only || self.is_whole(core, request, *window) {
                self.begin_window(core, host, request, *window);
            }
        }
        self.windows = list;
    }

    /// A write's window is cut into blocks, each of which is written separately.
    pub(crate) fn begin_blocks(&mut self, core: &mut Core, host: HostId, window: Window) {
        let request = self.get(host).request;
        for columns in window.columns.blocks(core.cx.geometry.block()) {
            self.begin_window(core, host, request, Window { columns, ..window });
        }
    }

    pub(super) fn begin_window(&mut self, core: &mut Core, host: HostId, request: Request, window: Window) {
        let mut found = Vec::new();
        pieces(core.cx.geometry.layout(), request.at, request.length, window, &mut found);
        if found.is_empty() {
            return;
        }
        self.start_host_stripe(core, Purpose::Write, window, host, found, UnitSet::NONE);
    }

    pub(super) fn begin_zeroes(
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

    pub(super) fn is_made_of_stripes(&self, core: &Core, request: Request) -> bool {
        let data = core.cx.geometry.layout().stripe_data();
        request.at.from_start().is_multiple_of(data) && request.length.is_multiple_of(data)
    }

    /// Whole stripes are unmapped; smaller parts of a trim are ignored.
    pub(super) fn begin_trim(&mut self, core: &mut Core, host: HostId, request: Request) {
        if self.members_unmap(core) {
            self.get(host).whole_only = true;
            self.begin_write(core, host, request, Content::Zeroes { may_unmap: true }, false);
        }
    }

    /// Whether a request covers the window in all data units.
    pub(super) fn is_whole(&self, core: &Core, request: Request, window: Window) -> bool {
        let mut found = Vec::new();
        pieces(core.cx.geometry.layout(), request.at, request.length, window, &mut found);
        found.len() == usize::from(core.cx.geometry.layout().data_units())
            && found.iter().all(|piece| piece.columns == window.columns)
    }

    pub(super) fn members_unmap(&self, core: &Core) -> bool {
        core.cx.roster.all_unmap()
    }
}
