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
use crate::geometry::Geometry;
use crate::identity::Identity;
use crate::ids::JobId;
use crate::job::Kind;
use crate::mode::Mode;
use crate::roster::Roster;
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
    pub(crate) now: Instant,
    pub(crate) roster: Roster,
    pub(crate) jobs: Jobs<Kind>,
    pub(crate) buffers: Buffers,
    pub(crate) locks: Locks,
    pub(crate) effects: Effects,
    pub(crate) scratch: Scratch,
    /// Jobs that can go on.
    pub(crate) runnable: VecDeque<JobId>,
    pub(crate) counters: Counters,
    pub(crate) events: VecDeque<Event>,
    /// The number of gates and waiting jobs that were examined.
    pub(crate) steps: u64,
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
            now,
            roster,
            jobs: Jobs::default(),
            buffers: Buffers::new(),
            locks: Locks::default(),
            effects: Effects::new(writes),
            runnable: VecDeque::new(),
            counters: Counters::default(),
            events: VecDeque::new(),
            steps: 0,
        }
    }

    /// Advances the time; it never goes back.
    pub(crate) fn advance_clock(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }
}
