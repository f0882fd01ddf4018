//! The next events of hosts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use parlour_units::Instant;

/// An event of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wake {
    /// A process has finished thinking, and begins a task.
    Begin(u32),
    /// A task has finished thinking, and sends requests.
    Go(u32),
    /// A request that follows an answer after a pause is due.
    Later(u32),
    /// A task of an open load arrives.
    Arrive(u16),
}

/// Events by time. Events with equal times keep the order in which they were scheduled.
#[derive(Default)]
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<(u64, u64, Wake)>>,
    order: u64,
}

impl Timers {
    pub(super) fn schedule(&mut self, at: Instant, wake: Wake) {
        self.order += 1;
        self.heap.push(Reverse((at.nanoseconds(), self.order, wake)));
    }

    /// The time of the next event.
    pub(super) fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, ..))| Instant::from_nanoseconds(*at))
    }

    pub(super) fn pop(&mut self) -> Option<Wake> {
        self.heap.pop().map(|Reverse((_, _, wake))| wake)
    }
}
