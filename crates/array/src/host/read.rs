//! Reads: directly from members where that is possible, and stripe by stripe otherwise.

use crate::code::UnitSet;
use crate::columns::{Columns, Piece, Window};
use crate::core::Core;
use crate::effect::{Class, Fault};
use crate::exec::job::FailedAccess;
use crate::host::state::{HostRequest, Hosts};
use crate::ids::{HostId, JobId};
use crate::job::{ATTEMPTS, Kind, Purpose};
use crate::map::pieces;
use crate::plan::{Source, Span};
use crate::read::Load;
use crate::request::{Request, RequestError};
use crate::signal::Signal;
use parlour_units::{Region, Sector, Sectors, Slot, Stripe, Unit};

impl Hosts {
    /// Reads directly what can be read, in as few accesses as possible, and starts a job on each
    /// stripe with missing units.
    pub(super) fn begin_read(&mut self, core: &mut Core, host: HostId, request: Request) {
        let logged = core.cx.geometry.is_journaled();
        let refused = |stripe| {
            core.logs.is_stalled(core.cx.geometry.region_of(stripe).0)
                || core.logs.is_left_to_redo(&core.cx, stripe)
                || core.logs.is_doubtful(stripe)
        };
        if logged && self.stripes_of(core, request).any(refused) {
            let refusal = core.cx.refusal();
            self.get(host).error.get_or_insert(refusal);
            return;
        }
        if self.waits_for_recovery(core, request) || !self.stage.unread.is_empty() {
            self.hasten_recoveries(core, request);
            self.get(host).jobs += 1;
            self.recovery_waiters.push(host);
            return;
        }
        self.read_staged(core, host, request);
        if self.reads_lost(core, host, request) {
            self.get(host).error.get_or_insert(RequestError::Lost);
            return;
        }
        let mut reads = std::mem::take(&mut self.reads);
        let mut found = std::mem::take(&mut self.pieces);
        let mut missing = false;
        let whole_unit = core.cx.geometry.layout().unit_length();
        for stripe in self.stripes_of(core, request) {
            let window = Window { stripe, columns: Columns::new(Sectors::ZERO, whole_unit) };
            pieces(core.cx.geometry.layout(), request.at, request.length, window, &mut found);
            self.cut_staged(host, &mut found);
            for piece in &found {
                match self.choose_unit(core, stripe, piece) {
                    Some(unit) => {
                        let location = core.cx.roster.places(&core.cx.geometry).locate(stripe, unit);
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

    /// Whether some of the request's blocks are lost.
    fn reads_lost(&mut self, core: &Core, host: HostId, request: Request) -> bool {
        let listed = core.cx.roster.listed();
        if listed.list().is_empty() {
            return false;
        }
        let mut found = Vec::new();
        let columns = Columns::new(Sectors::ZERO, core.cx.geometry.layout().unit_length());
        self.stripes_of(core, request).any(|stripe| {
            let window = Window { stripe, columns };
            pieces(core.cx.geometry.layout(), request.at, request.length, window, &mut found);
            self.cut_staged(host, &mut found);
            found.iter().any(|piece| {
                let window = Window { stripe, columns: piece.columns };
                let (slot, at) = core.cx.home_of(window, piece.unit);
                listed.lost(slot, at, piece.columns.length()).next().is_some()
            })
        })
    }

    /// Whether data that is read now might change after a crash. That is so if a region is still to
    /// be brought up to its records, if a record was given up and would be redone, or if copies may
    /// differ and it is not yet recorded which members are excluded.
    pub(super) fn waits_for_recovery(&self, core: &Core, request: Request) -> bool {
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

    pub(super) fn hasten_recoveries(&mut self, core: &mut Core, request: Request) {
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
            core.cx.signal(Signal::HostJobDone(host, Ok(())));
        }
        self.resume_hosts(core);
    }

    pub(super) fn start_direct_read(
        &mut self,
        core: &mut Core,
        host: HostId,
        reads: &mut Vec<(Slot, Sector, Span)>,
    ) {
        self.get(host).jobs += 1;
        let id = core.cx.jobs.start(Kind::Read { host }, Class::Foreground);
        self.note_read(core, host);
        let mut merging = core.cx.tuning.merging();
        if self.get(host).wanted_only {
            merging.gap = Sectors::ZERO;
        }
        let plan = &mut core.cx.jobs.get_mut(id).plan;
        plan.read_merged(reads, merging);
        plan.narrows = true;
        let buffer = self.host_buffer(host);
        let turn = core.cx.roster.turn();
        core.cx.run(id, turn, buffer, &[]);
    }

    /// The unit to read `piece` from; `None` if it must be computed.
    pub(super) fn choose_unit(&mut self, core: &mut Core, stripe: Stripe, piece: &Piece) -> Option<Unit> {
        if !core.cx.geometry.keeps_copies() {
            let has = core.cx.roster.has(&core.cx.geometry, stripe, piece.unit);
            return has.then_some(piece.unit);
        }
        self.choose_copy(core, stripe, piece.columns)
    }

    pub(super) fn choose_copy(&mut self, core: &mut Core, stripe: Stripe, columns: Columns) -> Option<Unit> {
        let layout = core.cx.geometry.layout();
        let places = core.cx.roster.places(&core.cx.geometry);
        let readable = |unit: &Unit| core.cx.roster.readable(places.slot(stripe, *unit), stripe);
        let mut copies = layout.units().filter(readable);
        // Until a region is resynced its copies may differ. All reads must use the copy that the
        // others will be rewritten from. While a job rewrites the stripe's copies, perhaps from one
        // that is lost meanwhile, none is read directly.
        if core.durable.copies_may_differ(&core.cx, layout.region_of(stripe).0) {
            return copies.next().filter(|_| !core.cx.locks.is_exclusive(stripe));
        }
        let load = |unit: Unit| {
            let location = places.locate(stripe, unit);
            let member = core.cx.roster.member_at(location.slot).expect("a readable place has a member");
            let (queue, head) = core.cx.roster.queue(member);
            let at = core.cx.geometry.data_start() + (location.at + columns.from).from_start();
            Load { queue, distance: head.get().abs_diff(at.get()) }
        };
        core.cx.geometry.organization().read.pick(copies, load, &mut self.turns)
    }

    pub(super) fn begin_degraded_reads(&mut self, core: &mut Core, host: HostId, request: Request) {
        let list = self.list_windows(core, request);
        for window in &list {
            let mut found = Vec::new();
            pieces(core.cx.geometry.layout(), request.at, request.length, *window, &mut found);
            self.cut_staged(host, &mut found);
            found.retain(|piece| self.choose_unit(core, window.stripe, piece).is_none());
            if !found.is_empty() {
                core.cx.counters.degraded_reads += 1;
                self.start_host_stripe(core, Purpose::Read, *window, host, found, UnitSet::NONE);
            }
        }
        self.windows = list;
    }

    pub(crate) fn read_done(&mut self, core: &mut Core, id: JobId, host: HostId) {
        core.cx.jobs.end(id);
        self.keep_read(core, host);
        core.cx.signal(Signal::HostJobDone(host, Ok(())));
    }

    /// The cache watches a read, to notice whether its data is overwritten before the read ends.
    pub(super) fn note_read(&mut self, core: &mut Core, host: HostId) {
        let request = self.get(host).request;
        if core.stripes.cache_mut().takes(request.length) {
            let stripes: Vec<Stripe> = self.stripes_of(core, request).collect();
            let stale = stripes.iter().any(|stripe| core.cx.locks.is_exclusive(*stripe));
            core.stripes.cache_mut().read_begins(host, stripes, stale);
        }
    }

    pub(super) fn keep_read(&mut self, core: &mut Core, host: HostId) {
        let &mut HostRequest { request, start, jobs, ref overlaid, .. } = self.get(host);
        let overlaid = !overlaid.is_empty();
        // Units that another job of the same request computes are not in the buffer yet. What is
        // staged is not what members hold.
        if !core.stripes.cache_mut().read_ends(host) || jobs != 1 || overlaid {
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

    /// Some accesses of a read failed: unreadable sectors are repaired, and then the whole read is
    /// repeated for the array as it now is.
    pub(crate) fn read_broken(
        &mut self,
        core: &mut Core,
        (id, host): (JobId, HostId),
        failures: &[FailedAccess],
    ) {
        if core.cx.jobs.get(id).plan.reads_through() {
            return self.read_wanted_only(core, id, host);
        }
        if failures.iter().any(|failure| failure.fault.is_of_space()) {
            // Nothing is lost: the system lacked space or memory for the access.
            return self.read_failed(core, id, host, core.cx.refusal());
        }
        let unreadable = failures.iter().all(|failure| failure.fault == Fault::Unreadable);
        let kept = core.cx.still_standing(failures);
        if kept && (core.cx.geometry.is_logged() || !core.cx.geometry.keeps_parity()) {
            return self.read_failed(core, id, host, RequestError::Lost);
        }
        // A member that fails and is kept can take no repair; its stripes may have lost less than
        // the array has.
        if kept || !core.cx.may_repair() && unreadable {
            // If a member was failed for the error, nothing is computed here: the whole read is
            // repeated without that member.
            return match failures.iter().all(|failure| core.cx.roster.slot_of(failure.member).is_some()) {
                true => self.compute_unreadable(core, (id, host), failures),
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
    pub(super) fn read_wanted_only(&mut self, core: &mut Core, id: JobId, host: HostId) {
        self.get(host).wanted_only = true;
        self.read_again(core, id, host);
    }

    /// An array that must not write answers from the rest of the stripe and repairs nothing.
    pub(super) fn compute_unreadable(
        &mut self,
        core: &mut Core,
        (id, host): (JobId, HostId),
        failures: &[FailedAccess],
    ) {
        core.cx.jobs.end(id);
        core.stripes.cache_mut().read_ends(host);
        let unreadable = failures.iter().flat_map(|failure| core.cx.unreadable_windows(failure));
        let unreadable: Vec<(Window, Unit)> = unreadable.collect();
        for (window, unit) in unreadable {
            let region = core.cx.geometry.region_of(window.stripe).0;
            let unit = UnitSet::of(unit);
            let computable = core.cx.roster.view(&core.cx.geometry, window.stripe).computable(unit) == unit;
            match computable && !core.durable.copies_may_differ(&core.cx, region) {
                true => self.start_read(core, host, window, unit, unit),
                // Only blocks that the first copy cannot read may be read from another one. And
                // where nothing is left to compute from, some blocks can perhaps be read.
                false => self.read_blocks(core, host, window, unit),
            }
        }
        core.cx.signal(Signal::HostJobDone(host, Ok(())));
    }

    /// Reads the part of a request that lies in `units` in a window block by block.
    pub(crate) fn read_blocks(&mut self, core: &mut Core, host: HostId, window: Window, units: UnitSet) {
        for columns in window.columns.blocks(core.cx.geometry.block()) {
            self.start_read(core, host, Window { columns, ..window }, units, UnitSet::NONE);
        }
    }

    /// Reads the part of a request that lies in `units` in a window, as if the units `without`
    /// could not be read.
    pub(super) fn start_read(
        &mut self,
        core: &mut Core,
        host: HostId,
        window: Window,
        units: UnitSet,
        without: UnitSet,
    ) {
        let request = self.get(host).request;
        let mut found = Vec::new();
        pieces(core.cx.geometry.layout(), request.at, request.length, window, &mut found);
        self.cut_staged(host, &mut found);
        // With copies, any of them may be the one that was read.
        let copies = core.cx.geometry.keeps_copies();
        found.retain(|piece| copies || units.has(piece.unit));
        if found.is_empty() {
            return;
        }
        self.start_host_stripe(core, Purpose::Read, window, host, found, without);
    }

    fn read_failed(&mut self, core: &mut Core, id: JobId, host: HostId, error: RequestError) {
        core.cx.jobs.end(id);
        core.stripes.cache_mut().read_ends(host);
        core.cx.signal(Signal::HostJobDone(host, Err(error)));
    }

    /// The data that `id` could not read is repaired: the host's read begins again.
    pub(crate) fn read_again(&mut self, core: &mut Core, id: JobId, host: HostId) {
        core.cx.jobs.end(id);
        let entry = self.get(host);
        entry.attempts += 1;
        if entry.attempts > ATTEMPTS {
            core.stripes.cache_mut().read_ends(host);
            return core.cx.signal(Signal::HostJobDone(host, Err(RequestError::Lost)));
        }
        let request = entry.request;
        self.begin_read(core, host, request);
        core.cx.signal(Signal::HostJobDone(host, Ok(())));
    }

    /// What a direct read could not read is repaired, or (if `lost`) could not be.
    pub(crate) fn read_repaired(&mut self, core: &mut Core, id: JobId, lost: bool) {
        match *core.cx.jobs.kind(id) {
            Kind::Read { host } if lost => self.read_failed(core, id, host, RequestError::Lost),
            Kind::Read { host } => self.read_again(core, id, host),
            ref other => unreachable!("{other:?} waits for no repair"),
        }
    }
}
