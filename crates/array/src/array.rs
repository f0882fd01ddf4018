//! The array's public face: it takes inputs from its driver and answers with effects to carry out.
//! (`rooms.rs` has the components behind it.)
//!
//! How to drive it:
//!
//! 1. Call [`Array::submit`] for hosts' requests, [`Array::complete`] for outcomes of effects, and
//!    [`Array::handle_timeout`] when the time of [`Array::poll_timeout`] has come.
//! 2. After each of these calls, drain [`Array::poll_effect`], [`Array::poll_completion`],
//!    [`Array::poll_event`] and [`Array::poll_release`] until each returns `None`.
//!
//! A read's payload is in its buffer when its completion is polled. The driver gives the buffer
//! back with [`Array::release`]. A write's buffer is given back in the same way, after its
//! completion.

use parlour_codec::sector::SectorKey;
use parlour_units::{Instant, Sector, Sectors, Stripe, Unit};

use crate::buffer::{BufferId, Part, Slice};
use crate::core::Core;
use crate::effect::{Action, Effect, EffectId, Outcome};
use crate::geometry::Geometry;
use crate::layout::{Location, Occupant};
use crate::mode::Mode;
use crate::plan::Step;
use crate::request::{Completion, Request};
use crate::rooms::Rooms;
use crate::status::Event;

/// A disk array. See the module for how to drive it.
#[derive(Debug)]
pub struct Array {
    pub(crate) rooms: Rooms,
}

impl Array {
    /// The array's shape.
    pub fn geometry(&self) -> &Geometry {
        &self.rooms.core.cx.geometry
    }

    /// The key of the sectors' checksums ([`Action::Checksum`]).
    pub fn sector_key(&self) -> SectorKey {
        SectorKey::new(self.rooms.core.cx.identity.0)
    }

    /// Whether the array serves requests, and which.
    pub fn mode(&self) -> Mode {
        self.rooms.core.cx.mode
    }

    /// Takes a credit and a buffer for a host's payload of `length`. `None` if the memory for hosts
    /// is all in use: call again after a completion.
    pub fn reserve(&mut self, length: Sectors) -> Option<BufferId> {
        self.rooms.hosts.reserve(&mut self.rooms.core.cx, length)
    }

    /// A write is being received. An earlier one that ends where it begins may wait for it with its
    /// last stripe, for a few milliseconds, so that the stripe is written as a whole. Nothing
    /// depends on whether the write comes.
    pub fn expect_write(&mut self, now: Instant, at: Sector, length: Sectors) {
        self.rooms.hosts.expect_write(&self.rooms.core, now, at, length);
    }

    /// Gives back the credit and the buffer of [`Array::reserve`].
    pub fn release(&mut self, buffer: BufferId) {
        self.rooms.hosts.release(&mut self.rooms.core.cx, buffer);
    }

    /// The length of a buffer.
    pub fn buffer_length(&self, buffer: BufferId) -> Sectors {
        self.rooms.core.cx.buffers.length(buffer)
    }

    /// A buffer whose memory the driver may take back.
    pub fn poll_release(&mut self) -> Option<BufferId> {
        self.rooms.core.cx.buffers.poll_release()
    }

    /// The next completion of a request.
    pub fn poll_completion(&mut self) -> Option<Completion> {
        self.rooms.hosts.poll_completion()
    }

    /// The next event to report.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.rooms.core.cx.events.pop_front()
    }

    /// The next effect to carry out. Foreground work comes first.
    #[inline]
    pub fn poll_effect(&mut self) -> Option<Effect> {
        if self.rooms.core.cx.effects.are_handed_out() { None } else { self.rooms.core.cx.poll_effect() }
    }

    /// The parts of an effect that is not answered yet, in order: what it reads, writes or computes
    /// with.
    pub fn parts(&self, effect: EffectId) -> impl Iterator<Item = Part<'_>> + Clone {
        let (slices, metadata) = self.slices(effect);
        slices.iter().map(|slice| Part::of(*slice, metadata))
    }

    /// The length of all parts of an effect together.
    pub fn parts_length(&self, effect: EffectId) -> Sectors {
        self.slices(effect).0.iter().fold(Sectors::ZERO, |sum, slice| sum + slice.length)
    }

    /// The coefficients of an [`Action::Sum`](crate::Action::Sum): by output, then by source.
    ///
    /// # Panics
    /// If the effect is no sum, or was answered already.
    pub fn coefficients(&self, effect: EffectId) -> &[u8] {
        self.rooms.core.cx.coefficients(effect)
    }

    /// The same parts as slices, and the metadata to which some of them refer.
    pub(crate) fn slices(&self, effect: EffectId) -> (&[Slice], &[u8]) {
        self.rooms.core.cx.slices(effect)
    }

    /// Takes a host's request. It is answered by a completion, at once if it is refused.
    pub fn submit(&mut self, now: Instant, request: Request) {
        self.submit_part(now, request, Sectors::ZERO);
    }

    /// The same for a part of a longer request, whose payload begins at `start` in the buffer. Each
    /// part is answered separately.
    pub fn submit_part(&mut self, now: Instant, request: Request, start: Sectors) {
        self.rooms.change(now, |rooms| rooms.hosts.take_request(&mut rooms.core, request, start));
    }

    /// Takes the outcome of an effect.
    ///
    /// # Panics
    /// If the effect was never handed out or was answered before.
    pub fn complete(&mut self, now: Instant, effect: EffectId, outcome: Outcome<'_>) {
        self.rooms.core.cx.advance_clock(now);
        self.rooms.complete(effect, outcome);
    }

    /// When the driver must call [`Array::handle_timeout`]. (Other inputs may do some of what is
    /// due then, and change this time.)
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.rooms.timeout()
    }

    /// The time that [`Array::poll_timeout`] named has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.rooms.core.cx.advance_clock(now);
        self.rooms.handle_timeout();
    }

    /// The current place of the first sector of `unit`; it differs from the layout's only if units
    /// float, or are in spare room.
    pub fn location(&self, stripe: Stripe, unit: Unit) -> Location {
        let cx = &self.rooms.core.cx;
        cx.roster.places(&cx.geometry).locate(stripe, unit)
    }

    /// What is at `location` now: the inverse of [`Array::location`].
    pub fn occupant(&self, location: Location) -> Occupant {
        let cx = &self.rooms.core.cx;
        cx.roster.places(&cx.geometry).occupant(location)
    }

    /// Whether the job of this read writes to the same place next, as soon as its record is durable
    /// on journal devices: an arm that waits there for a turn of the platters saves an access. For
    /// simulations with combined accesses ([`Simulated::combined`](crate::Simulated)). Must be
    /// called before the read is answered.
    ///
    /// Nothing depends on it: if the arm does not wait, or not long enough, the write is an access
    /// of its own.
    pub fn is_written_next(&self, effect: EffectId) -> bool {
        let Core { cx, durable, logs, .. } = &self.rooms.core;
        if !cx.simulated.combined || !logs.take_entries_on_devices(cx, durable) {
            return false;
        }
        let Some(id) = cx.jobs.of_effect(effect) else { return false };
        let plan = &cx.jobs.get(id).plan;
        let Action::Read { member, at, length } = plan.steps[effect.step() as usize].action else {
            return false;
        };
        let writes = |step: &Step| match step.action {
            Action::Write { member: other, at: start, length: long, .. } => {
                (other, start, long) == (member, at, length)
            }
            _ => false,
        };
        plan.commit_before.is_some() && plan.steps.iter().any(writes)
    }

    /// The places on its member to which the unit of an [`Action::Float`] may be written, in the
    /// order of sectors; each is the first sector of a position. The driver must call this when the
    /// access begins, and must answer the effect before it begins another access to the member.
    pub fn free_positions(&self, effect: EffectId) -> impl Iterator<Item = Sector> + '_ {
        let job =
            self.rooms.core.cx.jobs.of_effect(effect).expect("positions are asked for before the answer");
        let found = match self.rooms.core.cx.jobs.get(job).action(effect.step()) {
            Action::Float { member, at, .. } => Some((member, at)),
            _ => None,
        };
        found.into_iter().flat_map(|(member, at)| self.rooms.core.cx.roster.free_positions(member, at))
    }
}
