//! The history of a run: its state at a limited number of points in time, however long it takes.

use parlour_units::{Duration, Instant};

use crate::world::World;

/// The state at one point in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// The time since the measurement began.
    pub at: Duration,
    /// Requests under way.
    pub under_way: usize,
    /// Accesses that wait for a member, over all members.
    pub waiting: usize,
    /// The most accesses that wait for one member.
    pub longest_queue: usize,
    /// Log buffers in use.
    pub log_buffers: u32,
    /// Log records that are not reintegrated yet.
    pub log_records: u64,
}

/// Points at equal intervals. The interval doubles as time passes.
#[derive(Clone, Debug)]
pub struct History {
    began: Instant,
    period: Duration,
    next: Instant,
    points: Vec<Point>,
}

impl History {
    const MOST: usize = 512;

    pub(crate) fn new(began: Instant) -> History {
        History { began, period: Duration::from_millis(1), next: began, points: Vec::new() }
    }

    /// The points, in order.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The interval between two points.
    pub fn period(&self) -> Duration {
        self.period
    }

    /// Whether the next point is due.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        now >= self.next
    }

    /// Records the state before the event at `now`.
    pub(crate) fn record(&mut self, now: Instant, world: &World, under_way: usize) {
        let queues = || world.members().map(crate::member::Member::waiting);
        let state = Point {
            at: Duration::ZERO,
            under_way,
            waiting: queues().sum(),
            longest_queue: queues().max().unwrap_or(0),
            log_buffers: world.logs().map(|log| log.buffers).sum(),
            log_records: world.logs().map(|log| log.live_records).sum(),
        };
        while self.is_due(now) {
            self.push(state);
        }
    }

    fn push(&mut self, state: Point) {
        self.points.push(Point { at: self.next.since(self.began), ..state });
        if self.points.len() == History::MOST {
            let mut index = 0;
            self.points.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.period = self.period * 2;
        }
        // The last point may have been removed: the next is one interval after the last that is
        // left.
        let last = self.points.last().map_or(Duration::ZERO, |point| point.at);
        self.next = self.began + last + self.period;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_even_and_not_many_however_long_it_takes() {
        let mut history = History::new(Instant::from_nanoseconds(5));
        for under_way in 0..3_000 {
            history.push(Point { under_way, ..Point::default() });
        }
        assert!((History::MOST / 2..History::MOST).contains(&history.points().len()));
        let apart = |pair: &[Point]| pair[1].at - pair[0].at;
        assert!(history.points().windows(2).all(|pair| apart(pair) == history.period()));
        assert!(history.points().windows(2).all(|pair| pair[0].under_way < pair[1].under_way));
    }
}
