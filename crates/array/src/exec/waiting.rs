//! Jobs that can go on, and jobs that wait.
//!
//! A job that cannot pass is parked where what it waits for is kept. When that changes, all jobs
//! that are parked there are woken, and each looks again. (Where one of them is served and the
//! others are not, there is a queue of its own: for a lock, for memory.)

use std::collections::VecDeque;

use crate::ids::JobId;

/// Jobs that can go on, in the order in which they were woken.
#[derive(Debug, Default)]
pub(crate) struct Runnable(VecDeque<JobId>);

impl Runnable {
    pub(crate) fn push(&mut self, job: JobId) {
        self.0.push_back(job);
    }

    pub(crate) fn pop(&mut self) -> Option<JobId> {
        self.0.pop_front()
    }
}

impl Extend<JobId> for Runnable {
    fn extend<I: IntoIterator<Item = JobId>>(&mut self, jobs: I) {
        self.0.extend(jobs);
    }
}

/// Jobs that wait for the same thing, in the order in which they were parked.
#[derive(Debug, Default)]
pub(crate) struct WaitList(Vec<JobId>);

impl WaitList {
    pub(crate) fn park(&mut self, job: JobId) {
        self.0.push(job);
    }

    pub(crate) fn wake(&mut self, runnable: &mut Runnable) {
        runnable.extend(self.0.drain(..));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = JobId> + '_ {
        self.0.iter().copied()
    }

    /// All jobs, for an owner that wakes them in its own way.
    pub(crate) fn take(&mut self) -> Vec<JobId> {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_go_on_in_the_order_in_which_they_were_parked() {
        let job = |index| JobId { index, generation: 0 };
        let (mut waiting, mut runnable) = (WaitList::default(), Runnable::default());
        runnable.push(job(7));
        [1, 2].into_iter().for_each(|index| waiting.park(job(index)));
        waiting.wake(&mut runnable);
        assert!(waiting.is_empty());
        let order: Vec<JobId> = std::iter::from_fn(|| runnable.pop()).collect();
        assert_eq!(order, [7, 1, 2].map(job));
    }
}
