//! The state that all components share: the array's shape and settings, the time, the members, and
//! the plans that are being carried out.
//!
//! A component's method takes the context as an argument. State of a single component is kept in
//! the component itself.

use std::collections::VecDeque;

use parlour_units::Instant;

use crate::buffer::Buffers;
use crate::exec::effects::Effects;
use crate::exec::job::Jobs;
use crate::exec::locks::Locks;
use crate::exec::scratch::Scratch;
use crate::exec::waiting::Runnable;
use crate::geometry::Geometry;
use crate::identity::Identity;
use crate::job::Kind;
use crate::mode::Mode;
use crate::request::RequestError;
use crate::roster::Roster;
use crate::signal::{Signal, Signals};
use crate::status::{Counters, Event};
use crate::tuning::{Simulated, Tuning};

/// See the module.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) geometry: Geometry,
    pub(crate) tuning: Tuning,
    pub(crate) simulated: Simulated,
    pub(crate) identity: Identity,
    pub(crate) mode: Mode,
    /// Whether members may be written to.
    pub(crate) writes: bool,
    /// Whether a member has run out of space. Then no new data is written.
    pub(crate) lacks_space: bool,
    pub(crate) now: Instant,
    pub(crate) roster: Roster,
    pub(crate) jobs: Jobs<Kind>,
    pub(crate) buffers: Buffers,
    pub(crate) locks: Locks,
    pub(crate) effects: Effects,
    pub(crate) scratch: Scratch,
    /// Jobs that can go on.
    pub(crate) runnable: Runnable,
    pub(crate) counters: Counters,
    pub(crate) events: VecDeque<Event>,
    pub(crate) signals: Signals,
}

/// The initial values of a context.
pub(crate) struct Start {
    pub(crate) geometry: Geometry,
    pub(crate) tuning: Tuning,
    pub(crate) simulated: Simulated,
    pub(crate) identity: Identity,
    pub(crate) mode: Mode,
    /// Whether members may be written to.
    pub(crate) writes: bool,
    pub(crate) roster: Roster,
}

impl Context {
    /// A context with no work under way.
    pub(crate) fn new(start: Start, now: Instant) -> Context {
        let Start { geometry, tuning, simulated, identity, mode, writes, roster } = start;
        Context {
            scratch: Scratch::new(tuning.scratch_memory),
            geometry,
            tuning,
            simulated,
            identity,
            mode,
            writes,
            lacks_space: false,
            now,
            roster,
            jobs: Jobs::default(),
            buffers: Buffers::new(),
            locks: Locks::default(),
            effects: Effects::new(writes),
            runnable: Runnable::default(),
            counters: Counters::default(),
            events: VecDeque::new(),
            signals: Signals::default(),
        }
    }

    /// The error with which a read-only array refuses writes.
    pub(crate) fn refusal(&self) -> RequestError {
        if self.lacks_space { RequestError::NoSpace } else { RequestError::ReadOnly }
    }

    /// Whether writes are refused, including those that were submitted before.
    pub(crate) fn takes_no_writes(&self) -> bool {
        self.mode == Mode::ReadOnly || self.lacks_space
    }

    /// Whether unreadable sectors may be written again; true also while the array is being stopped.
    pub(crate) fn may_repair(&self) -> bool {
        self.writes && !self.takes_no_writes()
    }

    /// Whether a host's read that was planned before this turn is under way.
    pub(crate) fn reads_are_older(&self, turn: u64) -> bool {
        self.jobs.any(|kind, planned| matches!(kind, Kind::Read { .. }) && planned < turn)
    }

    /// Tells a component above of something: see [`Signal`].
    pub(crate) fn signal(&mut self, signal: Signal) {
        self.signals.push(signal);
    }

    /// Advances the time; it never goes back.
    pub(crate) fn advance_clock(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }
}
