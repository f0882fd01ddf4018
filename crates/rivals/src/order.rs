//! What overlaps goes in the order of its arrival: a job begins when no earlier one has a unit that
//! one of the two writes.

use std::ops::Range;

/// Jobs that have begun or wait, in the order of their arrival.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    job: u32,
    units: Range<u64>,
    writes: bool,
    begun: bool,
}

impl Entry {
    fn conflicts(&self, units: &Range<u64>, writes: bool) -> bool {
        (self.writes || writes) && self.units.start < units.end && units.start < self.units.end
    }
}

impl Order {
    /// A job arrives. Returns whether it may begin at once.
    pub(crate) fn enter(&mut self, job: u32, units: Range<u64>, writes: bool) -> bool {
        let begun = self.is_free(&units, writes);
        self.entries.push(Entry { job, units, writes, begun });
        begun
    }

    /// Whether a job could begin at once.
    pub(crate) fn is_free(&self, units: &Range<u64>, writes: bool) -> bool {
        !self.entries.iter().any(|entry| entry.conflicts(units, writes))
    }

    /// A job is done. Returns those that may begin now.
    pub(crate) fn leave(&mut self, job: u32) -> Vec<u32> {
        let own = |entry: &Entry| entry.job == job && entry.begun;
        let index = self.entries.iter().position(own).expect("what leaves has begun");
        let gone = self.entries.remove(index);
        let mut may_begin = Vec::new();
        for index in index..self.entries.len() {
            let (earlier, rest) = self.entries.split_at_mut(index);
            let entry = &mut rest[0];
            let waited = !entry.begun && entry.conflicts(&gone.units, gone.writes);
            if waited && !earlier.iter().any(|other| other.conflicts(&entry.units, entry.writes)) {
                entry.begun = true;
                may_begin.push(entry.job);
            }
        }
        may_begin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_keep_their_order_and_reads_go_together() {
        let mut order = Order::default();
        assert!(order.enter(1, 0..4, false));
        assert!(order.enter(2, 2..6, false), "two reads");
        assert!(!order.enter(3, 3..4, true), "a write waits for both");
        assert!(!order.enter(4, 3..4, false), "a read waits for the write before it");
        assert!(order.enter(5, 4..9, false));
        assert_eq!(order.leave(1), []);
        assert_eq!(order.leave(2), [3]);
        assert_eq!(order.leave(3), [4]);
    }
}
