//! Updates in memory, from which sorted runs come out.
//!
//! Replacement selection (Knuth, volume 3, section 5.4.1): what comes out next is the smallest that
//! is not smaller than what came out last. So runs are about twice as long as the memory. Updates
//! of one parity unit that meet in memory become one.

use std::collections::BTreeSet;

/// Updates by the parity unit that they change.
#[derive(Clone, Debug, Default)]
pub(super) struct Sorter {
    /// Those that still fit into the run that comes out.
    current: BTreeSet<u32>,
    /// Those of the next run.
    next: BTreeSet<u32>,
    /// The least that fits into the current run.
    floor: u32,
}

/// A part of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    /// The parity units, in order.
    pub(super) updates: Vec<u32>,
    /// Whether a run begins with it.
    pub(super) begins: bool,
}

impl Sorter {
    /// The updates in memory.
    pub(super) fn len(&self) -> usize {
        self.current.len() + self.next.len()
    }

    /// Adds an update. Returns false if there was one of this parity unit, with which it is one
    /// now.
    pub(super) fn add(&mut self, parity: u32) -> bool {
        if self.current.contains(&parity) || self.next.contains(&parity) {
            return false;
        }
        match parity >= self.floor {
            true => self.current.insert(parity),
            false => self.next.insert(parity),
        }
    }

    /// Takes out up to `most` updates: of one run.
    pub(super) fn take(&mut self, most: usize) -> Chunk {
        let begins = self.floor == 0;
        let updates: Vec<u32> = (0..most).map_while(|_| self.current.pop_first()).collect();
        self.floor = updates.last().map_or(self.floor, |last| last + 1);
        if self.current.is_empty() {
            self.end_run();
        }
        Chunk { updates, begins }
    }

    /// What comes out next begins a run.
    pub(super) fn end_run(&mut self) {
        self.current.append(&mut self.next);
        self.floor = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_sorted_and_longer_than_the_memory() {
        let mut sorter = Sorter::default();
        let (mut runs, mut state, mut added) = (Vec::<Vec<u32>>::new(), 1_u64, 0);
        while added < 20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            added += usize::from(sorter.add((state >> 40) as u32));
            if sorter.len() == 1_000 {
                let Chunk { updates, begins } = sorter.take(50);
                match runs.last_mut() {
                    Some(run) if !begins => run.extend(updates),
                    _ => runs.push(updates),
                }
            }
        }
        assert!(runs.iter().all(|run| run.is_sorted()));
        let whole = &runs[1..runs.len() - 1];
        let mean = whole.iter().map(Vec::len).sum::<usize>() / whole.len();
        assert!((1_800..2_100).contains(&mean), "{mean} in the mean of {}", whole.len());
        assert_eq!(runs.iter().map(Vec::len).sum::<usize>() + sorter.len(), added, "none is lost");
    }

    #[test]
    fn updates_of_one_parity_unit_become_one() {
        let mut sorter = Sorter::default();
        assert_eq!([7, 3, 7].map(|parity| sorter.add(parity)), [true, true, false]);
        assert_eq!(sorter.take(1), Chunk { updates: vec![3], begins: true });
        assert!(sorter.add(2), "it is for the next run");
        assert_eq!(sorter.take(9), Chunk { updates: vec![7], begins: false });
        assert_eq!(sorter.take(9), Chunk { updates: vec![2], begins: true });
    }
}
