//! Long writes in a row: the last stripe of one, of which it covers only the beginning, is written
//! together with the beginning of the next one, as a whole stripe.
//!
//! A part is held back only while a write of the rest of its stripe is likely to come: the driver
//! has announced it, or the write before this one is still under way, so that its client keeps
//! several under way. In either case there is a limit to the time.
//! `docs/decisions/gathered-writes.md` has the reasons.
//!
//! Invariants:
//! - A held part is one job of its request, and so is the stripe that it becomes a part of.
//! - A request has at most one part held, which begins with its stripe.
//! - Copies are memory for hosts, and bounded with it.

use parlour_units::{Instant, Sector, Sectors, Stripe};

use super::held::{Held, PATIENCE_BEHIND, Together};
use super::state::{HostRequest, Hosts, Origin, range_of};
use crate::buffer::BufferId;
use crate::core::Core;
use crate::effect::Class;
use crate::ids::HostId;
use crate::mode::Mode;
use crate::plan::Content;
use crate::request::{Operation, Request, RequestError, Tag};
use crate::signal::Signal;
use crate::stage::Range;

impl Hosts {
    /// The driver is receiving a write. (Nothing waits for one that will be refused.)
    pub(crate) fn expect_write(&mut self, core: &Core, now: Instant, at: Sector, length: Sectors) {
        let capacity = core.cx.geometry.capacity();
        if at.from_start() <= capacity && length <= capacity - at.from_start() {
            self.gather.expect(now, Range::new(at, length));
        }
    }

    /// When the driver must come back, because a part is held back no longer.
    pub(crate) fn next_release(&self) -> Option<Instant> {
        self.gather.next()
    }

    /// Begins a write: its first stripe together with the end of the one before, if that waits, and
    /// without its last one, if that may wait.
    pub(super) fn begin_gathered(&mut self, core: &mut Core, host: HostId, request: Request, durable: bool) {
        self.note_write(host, request, Content::Host, durable);
        if self.complete(core, host, request) {
            let first = stripe_at(core, request.at);
            self.get(host).cursor = range_of_stripe(core, first).to;
        }
        if let Some(held) = self.end_to_hold(core, host, request) {
            self.gather.hold(held);
            let entry = self.get(host);
            (entry.until, entry.jobs) = (held.range.from, entry.jobs + 1);
        }
        self.continue_write(core, host);
    }

    /// If a held part ends where this request begins, writes the stripe for both. Returns whether
    /// it does.
    fn complete(&mut self, core: &mut Core, host: HostId, request: Request) -> bool {
        let range = range_of(&request);
        let Some(held) = self.gather.first(|held| held.rest.from == range.from) else { return false };
        self.gather.take(held.host);
        let whole = Range { from: held.range.from, to: held.rest.to };
        let buffer = match range.to >= whole.to {
            true => self.reserve(&mut core.cx, whole.length()),
            false => None,
        };
        let Some(buffer) = buffer else {
            self.let_go(core, held);
            return false;
        };
        self.write_together(core, (held, host), whole, buffer);
        true
    }

    /// Copies the parts of `whole` that the two requests write behind one another, and writes them.
    fn write_together(
        &mut self,
        core: &mut Core,
        (held, host): (Held, HostId),
        whole: Range,
        buffer: BufferId,
    ) {
        core.cx.counters.gathered += 1;
        self.get(host).jobs += 1;
        let hosts = [held.host, host];
        let durable = hosts.iter().any(|host| self.get(*host).durable);
        let request = Request {
            tag: Tag(0),
            operation: Operation::Write { durable },
            at: whole.from,
            length: whole.length(),
            buffer: Some(buffer),
        };
        let own = self.insert_own(request, Sectors::ZERO, Origin::Gathered);
        self.gather.begin(Together { own, hosts, buffer });
        let parts = hosts.into_iter().zip([held.range, held.rest]).map(|(host, part)| {
            let (from, start) = self.host_buffer(host).expect("a write has a payload");
            let start = start + (part.from - self.get(host).request.at);
            (from, start, part.length())
        });
        let parts: Vec<_> = parts.collect();
        self.copy_parts(core, (own, buffer, Class::Foreground), parts);
    }

    /// A stripe that was written for two requests is done.
    pub(super) fn gathered_ended(&mut self, core: &mut Core, own: HostId, result: Result<(), RequestError>) {
        let Some(Together { hosts, buffer, .. }) = self.gather.end(own) else { return };
        self.release(&mut core.cx, buffer);
        hosts.into_iter().for_each(|host| core.cx.signal(Signal::HostJobDone(host, result)));
    }

    /// The end of a request, if it is to wait for the next one.
    fn end_to_hold(&self, core: &Core, host: HostId, request: Request) -> Option<Held> {
        let Range { from, to } = range_of(&request);
        let stripe = range_of_stripe(core, stripe_at(core, to));
        let rest = Range { from: to, to: stripe.to };
        let worth = core.cx.geometry.keeps_parity() && core.cx.mode == Mode::Serving;
        let ends_within = from <= stripe.from && stripe.from < to;
        if !worth || !ends_within {
            return None;
        }
        let (now, behind) = (core.cx.now, self.write_before(from));
        let until = self.gather.awaits(now, rest).max(behind.map(|_| now + PATIENCE_BEHIND))?;
        Some(Held { host, range: Range { from: stripe.from, to }, rest, behind, until })
    }

    /// The write under way that ends where one begins.
    fn write_before(&self, at: Sector) -> Option<HostId> {
        let is_before = |entry: &HostRequest| {
            let writes = matches!(entry.request.operation, Operation::Write { .. });
            writes && entry.origin == Origin::Host && range_of(&entry.request).to == at
        };
        let index = self.table.iter().position(|entry| entry.as_ref().is_some_and(is_before))?;
        Some(HostId(index as u32))
    }

    /// Writes a held part that waits for nothing any more. Returns whether there was one.
    pub(crate) fn pump_held(&mut self, core: &mut Core) -> bool {
        let serves = core.cx.mode == Mode::Serving;
        let now = core.cx.now;
        let is_likely = |held: &Held| held.behind.is_some() || self.gather.awaits(now, held.rest).is_some();
        let waits = |held: &Held| serves && held.until > now && is_likely(held);
        let Some(held) = self.gather.first(|held| !waits(held)) else { return false };
        self.gather.take(held.host);
        self.let_go(core, held);
        true
    }

    /// Writes a part that was held.
    fn let_go(&mut self, core: &mut Core, Held { host, range, .. }: Held) {
        let request = self.get(host).request;
        let part = Request { at: range.from, length: range.length(), ..request };
        self.begin_windows(core, host, request, part);
        core.cx.signal(Signal::HostJobDone(host, Ok(())));
    }
}

/// The stripe that `at` is in.
fn stripe_at(core: &Core, at: Sector) -> Stripe {
    Stripe::new(at.from_start() / core.cx.geometry.layout().stripe_data())
}

fn range_of_stripe(core: &Core, stripe: Stripe) -> Range {
    let data = core.cx.geometry.layout().stripe_data();
    Range::new(Sector::ZERO + data * stripe.get(), data)
}
