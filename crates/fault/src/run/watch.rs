//! Observes a run, from some event on: keeps the moments at which it may be cut off, and says when
//! it is to be interrupted.

use parlour_array::Counters;

use super::moment::Moment;
use crate::rig::Rig;
use crate::script::What;

/// The observations of a run.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The moments that differ from the ones just before them.
    pub(crate) moments: Vec<Moment>,
    /// The number of steps; and the number of those that were part of the recovery, if there was
    /// one.
    pub(crate) steps: u64,
    pub(crate) recovery: Option<u64>,
    /// The interruption has happened.
    pub(crate) interrupted: bool,
    /// The regions that the last session has reintegrated, and redone.
    pub(crate) reintegrations: u64,
    pub(crate) redone: u64,
}

/// The observer of a run.
#[derive(Debug, Default)]
pub(super) struct Watch {
    looks: bool,
    keeps: bool,
    /// The interruption, and the number of steps before it.
    interruption: Option<(u64, What)>,
    seen: Seen,
}

impl Watch {
    /// Once observation begins, keeps the moments, or interrupts after a number of steps.
    pub(super) fn new(keeps: bool, interruption: Option<(u64, What)>) -> Watch {
        Watch { keeps, interruption, ..Watch::default() }
    }

    /// Begins observation.
    pub(super) fn begin(&mut self) {
        self.looks = true;
    }

    /// Keeps this moment, if it differs from the last one.
    pub(super) fn look(&mut self, rig: &mut Rig<'_>) {
        if !self.looks || !self.keeps {
            return;
        }
        let moment = Moment::of(rig, self.seen.moments.last());
        self.seen.moments.extend(moment);
    }

    /// Counts a step. Returns the interruption if it is time.
    pub(super) fn count_step(&mut self) -> Option<What> {
        self.seen.steps += u64::from(self.looks);
        let steps = self.seen.steps;
        self.interruption.take_if(|(after, _)| *after == steps).map(|(_, what)| what)
    }

    /// The interruption has happened, or the array does not promise to survive it now.
    pub(super) fn interrupted(&mut self, happened: bool) {
        self.seen.interrupted = happened;
    }

    /// All steps so far were part of the recovery.
    pub(super) fn recovered(&mut self) {
        self.seen.recovery = Some(self.seen.steps);
    }

    /// Ends observation, and returns its results.
    pub(super) fn end(&mut self, counters: &Counters) -> Seen {
        let seen = std::mem::take(self).seen;
        Seen { reintegrations: counters.reintegrations, redone: counters.redone, ..seen }
    }
}
