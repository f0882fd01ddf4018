//! The queue of a drive, and its scheduling.

use std::collections::VecDeque;

use parlour_units::{Duration, Instant};

use crate::mechanics::Arm;

/// The order in which waiting accesses are served.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Discipline {
    /// First come, first served.
    #[default]
    Fcfs,
    /// The nearest cylinder first.
    Sstf,
    /// Continues in one direction as long as accesses wait there, then turns back.
    Look,
    /// Continues in one direction, then starts again at the lowest cylinder.
    Clook,
    /// The nearest first, where turning back adds a fraction of the number of cylinders to the
    /// distance: V(R) of Geist and Daniel (1987). V(0) is SSTF, V(1) is LOOK.
    Vscan(f64),
    /// The shortest positioning time first, minus a multiple of the waiting time.
    Sptf {
        /// The weight of waiting time against positioning time.
        ageing: f64,
    },
}

/// A waiting access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting<T> {
    /// The access.
    pub access: T,
    /// Its cylinder.
    pub cylinder: u32,
    /// When it arrived.
    pub since: Instant,
    /// Its urgency. An access waits until no access with a lower number waits: 0 is the most
    /// urgent.
    pub class: u8,
}

/// The queue of a drive.
#[derive(Clone, Debug)]
pub struct Queue<T> {
    discipline: Discipline,
    cylinders: u32,
    /// In the order of arrival.
    waiting: VecDeque<Waiting<T>>,
    inwards: bool,
}

impl<T: Copy> Queue<T> {
    /// An empty queue, for a drive with this many cylinders.
    pub fn new(discipline: Discipline, cylinders: u32) -> Queue<T> {
        Queue { discipline, cylinders, waiting: VecDeque::new(), inwards: true }
    }

    /// Whether the order depends on cylinders.
    pub fn looks_at_cylinders(&self) -> bool {
        self.discipline != Discipline::Fcfs
    }

    /// The number of waiting accesses.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether no access waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds a waiting access.
    pub fn push(&mut self, waiting: Waiting<T>) {
        self.waiting.push_back(waiting);
    }

    /// Removes and returns the next access, for the current position of the arm. `positioning`
    /// returns the time until the heads are over an access's first sector.
    pub fn pop(
        &mut self,
        arm: Arm,
        now: Instant,
        mut positioning: impl FnMut(&T) -> Duration,
    ) -> Option<Waiting<T>> {
        let class = self.waiting.iter().map(|waiting| waiting.class).min()?;
        let inwards = self.inwards;
        let discipline = self.discipline;
        let cylinders = f64::from(self.cylinders);
        let behind = |cylinder: u32| if inwards { cylinder < arm.cylinder } else { cylinder > arm.cylinder };
        let mut cost = |waiting: &Waiting<T>| -> f64 {
            let distance = f64::from(waiting.cylinder.abs_diff(arm.cylinder));
            let turned = f64::from(u8::from(behind(waiting.cylinder)));
            match discipline {
                Discipline::Fcfs => 0.0,
                Discipline::Sstf => distance,
                Discipline::Look => distance + turned * cylinders,
                Discipline::Vscan(part) => distance + turned * part * cylinders,
                // Accesses behind the arm come after all those ahead of it, the lowest cylinder
                // first.
                Discipline::Clook if waiting.cylinder < arm.cylinder => {
                    cylinders + f64::from(waiting.cylinder)
                }
                Discipline::Clook => distance,
                Discipline::Sptf { ageing } => {
                    let waited = now.since(waiting.since).nanoseconds() as f64;
                    positioning(&waiting.access).nanoseconds() as f64 - ageing * waited
                }
            }
        };
        let mut best: Option<(usize, f64)> = None;
        for (index, waiting) in self.waiting.iter().enumerate().filter(|(_, waiting)| waiting.class == class)
        {
            let cost = cost(waiting);
            // Among equals, the one that arrived first.
            if best.is_none_or(|(_, least)| cost < least) {
                best = Some((index, cost));
            }
            if discipline == Discipline::Fcfs {
                break;
            }
        }
        let (index, _) = best?;
        let next = self.waiting.remove(index)?;
        if next.cylinder != arm.cylinder {
            self.inwards = next.cylinder > arm.cylinder;
        }
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order in which accesses to these cylinders are served. The arm begins at 50, and moves
    /// to each.
    fn order(discipline: Discipline, cylinders: &[u32]) -> Vec<u32> {
        let mut queue = Queue::new(discipline, 100);
        for (number, cylinder) in cylinders.iter().enumerate() {
            let since = Instant::from_nanoseconds(number as u64);
            queue.push(Waiting { access: *cylinder, cylinder: *cylinder, since, class: 0 });
        }
        let mut arm = Arm { cylinder: 50, head: 0 };
        std::iter::from_fn(|| {
            let now = Instant::from_nanoseconds(1_000);
            let far = |cylinder: &u32| Duration::from_nanoseconds(cylinder.abs_diff(arm.cylinder).into());
            let next = queue.pop(arm, now, far)?;
            arm.cylinder = next.cylinder;
            Some(next.cylinder)
        })
        .collect()
    }

    #[test]
    fn each_discipline_has_its_order() {
        let cylinders = [60, 10, 45, 90, 52, 20];
        assert_eq!(order(Discipline::Fcfs, &cylinders), cylinders);
        assert_eq!(order(Discipline::Sstf, &cylinders), [52, 45, 60, 90, 20, 10]);
        assert_eq!(order(Discipline::Look, &cylinders), [52, 60, 90, 45, 20, 10]);
        assert_eq!(order(Discipline::Clook, &cylinders), [52, 60, 90, 10, 20, 45]);
        assert_eq!(order(Discipline::Vscan(0.0), &cylinders), order(Discipline::Sstf, &cylinders));
        assert_eq!(order(Discipline::Vscan(1.0), &cylinders), order(Discipline::Look, &cylinders));
        assert_eq!(order(Discipline::Vscan(0.1), &cylinders), [52, 60, 45, 20, 10, 90]);
        assert_eq!(order(Discipline::Sptf { ageing: 0.0 }, &cylinders), order(Discipline::Sstf, &cylinders));
        assert_eq!(order(Discipline::Sptf { ageing: 1e6 }, &cylinders), cylinders, "the oldest first");
    }

    #[test]
    fn what_is_less_urgent_waits() {
        let mut queue = Queue::new(Discipline::Fcfs, 100);
        for (access, class) in [(1, 1), (2, 0), (3, 1), (4, 0)] {
            queue.push(Waiting { access, cylinder: 0, since: Instant::ZERO, class });
        }
        let mut next = || queue.pop(Arm::default(), Instant::ZERO, |_| Duration::ZERO).map(|one| one.access);
        assert_eq!([next(), next(), next(), next(), next()], [Some(2), Some(4), Some(1), Some(3), None]);
    }
}
