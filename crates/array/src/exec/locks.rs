//! Stripe locks: jobs on the same stripe wait for one another, jobs on different stripes do not.
//!
//! A job holds at most one lock, and takes it after it has its memory and log space. So jobs never
//! wait in a circle.

use std::collections::VecDeque;

use parlour_units::Stripe;

use crate::hash::ByStripe;
use crate::ids::JobId;

/// How a stripe is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Together with other jobs that only read.
    Shared,
    /// Alone.
    Exclusive,
}

#[derive(Debug)]
struct Lock {
    mode: Mode,
    holders: u32,
    waiting: VecDeque<(JobId, Mode)>,
}

/// The locks that are held now.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    held: ByStripe<Stripe, Lock>,
    /// Queues of released locks, kept for their memory.
    spare: Vec<VecDeque<(JobId, Mode)>>,
}

impl Locks {
    /// Takes the lock and returns `true`, or queues `job` for it and returns `false`.
    pub(crate) fn take(&mut self, stripe: Stripe, mode: Mode, job: JobId) -> bool {
        let spare = &mut self.spare;
        let fresh = || Lock { mode, holders: 0, waiting: spare.pop().unwrap_or_default() };
        let lock = self.held.entry(stripe).or_insert_with(fresh);
        let shares = lock.mode == Mode::Shared && mode == Mode::Shared && lock.waiting.is_empty();
        if lock.holders == 0 || shares {
            lock.mode = mode;
            lock.holders += 1;
            return true;
        }
        lock.waiting.push_back((job, mode));
        false
    }

    /// The number of stripes that are locked.
    pub(crate) fn count(&self) -> usize {
        self.held.len()
    }

    /// The number of jobs that hold the lock of `stripe`.
    pub(crate) fn holders(&self, stripe: Stripe) -> u32 {
        self.held.get(&stripe).map_or(0, |lock| lock.holders)
    }

    /// Whether a job holds the exclusive lock of `stripe`.
    pub(crate) fn is_exclusive(&self, stripe: Stripe) -> bool {
        self.held.get(&stripe).is_some_and(|lock| lock.mode == Mode::Exclusive)
    }

    /// Gives the lock back. Calls `granted` with each job that holds it now.
    pub(crate) fn release(&mut self, stripe: Stripe, mut granted: impl FnMut(JobId)) {
        let lock = self.held.get_mut(&stripe).expect("only a held lock is released");
        assert!(lock.holders > 0, "only a held lock is released");
        lock.holders -= 1;
        if lock.holders > 0 {
            return;
        }
        let Some((job, mode)) = lock.waiting.pop_front() else {
            let lock = self.held.remove(&stripe).expect("it was there");
            self.spare.push(lock.waiting);
            return;
        };
        lock.mode = mode;
        lock.holders = 1;
        granted(job);
        while mode == Mode::Shared && lock.waiting.front().is_some_and(|(_, next)| *next == Mode::Shared) {
            let (job, _) = lock.waiting.pop_front().expect("there is a front");
            lock.holders += 1;
            granted(job);
        }
    }
}
