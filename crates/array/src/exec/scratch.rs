//! The budget of scratch memory, and the jobs that wait for a share of it.

use std::collections::VecDeque;

use parlour_units::Sectors;

use crate::ids::JobId;

/// See the module.
#[derive(Debug)]
pub(crate) struct Scratch {
    limit: Sectors,
    in_use: Sectors,
    /// Waiting jobs with the memory that each needs, first come first served.
    waiting: VecDeque<(JobId, Sectors)>,
}

impl Scratch {
    pub(crate) fn new(limit: Sectors) -> Scratch {
        Scratch { limit, in_use: Sectors::ZERO, waiting: VecDeque::new() }
    }

    /// From now on jobs may have so much.
    pub(crate) fn set_limit(&mut self, limit: Sectors) {
        self.limit = limit;
    }

    /// Reserves `memory` for `job`, or queues the job and returns false.
    pub(crate) fn reserve(&mut self, job: JobId, memory: Sectors) -> bool {
        let granted = self.waiting.is_empty() && self.fits(memory);
        if granted {
            self.in_use += memory;
        } else {
            self.waiting.push_back((job, memory));
        }
        granted
    }

    /// Reserves `memory` even if that exceeds the budget.
    pub(crate) fn exceed(&mut self, memory: Sectors) {
        self.in_use += memory;
    }

    /// Gives `memory` back.
    pub(crate) fn release(&mut self, memory: Sectors) {
        self.in_use = self.in_use - memory;
    }

    /// Reserves the memory of the first waiting job and returns the job, if the memory is free now.
    pub(crate) fn grant(&mut self) -> Option<JobId> {
        let (job, memory) = *self.waiting.front()?;
        if !self.fits(memory) {
            return None;
        }
        self.waiting.pop_front();
        self.in_use += memory;
        Some(job)
    }

    pub(crate) fn in_use(&self) -> Sectors {
        self.in_use
    }

    /// A job that needs more than the whole budget gets it when no other job has any.
    fn fits(&self, memory: Sectors) -> bool {
        self.in_use.is_zero() || self.in_use + memory <= self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(index: u32) -> JobId {
        JobId { index, generation: 0 }
    }

    #[test]
    fn who_comes_first_is_served_first_though_a_later_one_would_fit() {
        let mut scratch = Scratch::new(Sectors::new(10));
        assert!(scratch.reserve(job(0), Sectors::new(6)));
        assert!(!scratch.reserve(job(1), Sectors::new(5)));
        assert!(!scratch.reserve(job(2), Sectors::new(1)), "it would overtake");
        assert_eq!(scratch.grant(), None);
        scratch.release(Sectors::new(6));
        assert_eq!([scratch.grant(), scratch.grant(), scratch.grant()], [Some(job(1)), Some(job(2)), None]);
        assert_eq!(scratch.in_use(), Sectors::new(6));
    }

    #[test]
    fn what_exceeds_the_budget_is_served_alone() {
        let mut scratch = Scratch::new(Sectors::new(10));
        assert!(scratch.reserve(job(0), Sectors::new(1)));
        assert!(!scratch.reserve(job(1), Sectors::new(20)));
        scratch.release(Sectors::new(1));
        assert_eq!(scratch.grant(), Some(job(1)));
    }
}
