//! Finds members that are much slower than the other members.
//!
//! Every ten seconds, the median time of each member's reads and writes in these ten seconds is
//! compared with the median of the other members' medians. A member becomes slow when its median is
//! at least eight times as long, and at least eight milliseconds, twice in a row. It is no longer
//! slow when its median is at most twice as long, or under eight milliseconds, twice in a row. A
//! few long accesses do not change a median. Members with few accesses are not judged.

use parlour_units::{Duration, Instant};

/// The time between two comparisons.
const WINDOW: Duration = Duration::from_secs(10);
/// A member with fewer accesses in that time is not judged.
const LEAST: u32 = 16;
/// The number of comparisons in a row that must agree.
const AGREEING: u8 = 2;
/// The least power of two, in nanoseconds, of a slow member's median: about 8 ms.
const SHORTEST: usize = 23;
/// Powers of two above the others' median for a slow member: eight times as long.
const SLOWER: usize = 3;
/// Powers of two above the others' median for a member that is no longer slow: twice as long.
const ALIKE: usize = 1;

/// Counts the access times of each member.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    tallies: Vec<Tally>,
    due: Instant,
}

#[derive(Clone, Debug)]
struct Tally {
    /// The number of accesses for each power of two of the time in nanoseconds.
    times: [u32; 64],
    /// Comparisons in a row that contradict `slow`.
    against: u8,
    slow: bool,
}

/// A member becomes slow, or is no longer slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) member: u16,
    pub(crate) slow: bool,
    /// The member's median and the other members' median; each at most twice as long as measured.
    pub(crate) median: Duration,
    pub(crate) siblings: Duration,
}

impl Pace {
    /// Counts an access of `member` that took this time, or has taken it so far.
    pub(crate) fn note(&mut self, member: u16, time: Duration) {
        let index = usize::from(member);
        if index >= self.tallies.len() {
            self.tallies.resize(index + 1, Tally { times: [0; 64], against: 0, slow: false });
        }
        self.tallies[index].times[power(time)] += 1;
    }

    /// Whether the next comparison is due.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.due <= now
    }

    /// Whether `member` is slow.
    pub(crate) fn is_slow(&self, member: u16) -> bool {
        self.tallies.get(usize::from(member)).is_some_and(|tally| tally.slow)
    }

    /// Compares the members, and starts to count again.
    pub(crate) fn look(&mut self, now: Instant) -> Vec<Change> {
        self.due = now + WINDOW;
        let medians: Vec<Option<usize>> = self.tallies.iter().map(Tally::median).collect();
        let mut changes = Vec::new();
        for (index, tally) in self.tallies.iter_mut().enumerate() {
            tally.times = [0; 64];
            let mut others: Vec<usize> = medians
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != index)
                .filter_map(|(_, m)| *m)
                .collect();
            others.sort_unstable();
            let (Some(own), Some(siblings)) = (medians[index], others.get(others.len() / 2).copied()) else {
                continue;
            };
            if tally.judge(own, siblings) {
                let (median, siblings) = (length(own), length(siblings));
                changes.push(Change { member: index as u16, slow: tally.slow, median, siblings });
            }
        }
        changes
    }
}

impl Tally {
    fn median(&self) -> Option<usize> {
        let count: u32 = self.times.iter().sum();
        let mut passed = 0;
        let reaches_half = |times: &u32| {
            passed += times;
            passed * 2 >= count
        };
        (count >= LEAST).then(|| self.times.iter().position(reaches_half))?
    }

    /// Counts a comparison. Returns whether `slow` changes.
    fn judge(&mut self, own: usize, siblings: usize) -> bool {
        let speaks_against = match self.slow {
            false => own >= siblings + SLOWER && own >= SHORTEST,
            true => own <= siblings + ALIKE || own < SHORTEST,
        };
        self.against = if speaks_against { self.against + 1 } else { 0 };
        let changes = self.against == AGREEING;
        if changes {
            self.slow = !self.slow;
            self.against = 0;
        }
        changes
    }
}

fn power(time: Duration) -> usize {
    time.nanoseconds().max(1).ilog2() as usize
}

/// The longest time that counts as this power of two.
fn length(power: usize) -> Duration {
    Duration::from_nanoseconds(u64::MAX >> (63 - power))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One window in which each member's accesses take the given time.
    fn window(pace: &mut Pace, milliseconds: &[u64]) -> Vec<(u16, bool)> {
        for (member, time) in milliseconds.iter().enumerate() {
            (0..LEAST).for_each(|_| pace.note(member as u16, Duration::from_millis(*time)));
        }
        pace.look(Instant::ZERO).iter().map(|change| (change.member, change.slow)).collect()
    }

    #[test]
    fn a_member_is_slow_after_two_windows_and_no_longer_after_two() {
        let mut pace = Pace::default();
        assert_eq!(window(&mut pace, &[4, 100, 5, 4]), []);
        assert_eq!(window(&mut pace, &[4, 100, 5, 4]), [(1, true)]);
        assert!(pace.is_slow(1));
        assert_eq!(window(&mut pace, &[4, 60, 5, 4]), []);
        assert_eq!(window(&mut pace, &[4, 5, 5, 4]), []);
        assert_eq!(window(&mut pace, &[4, 5, 5, 4]), [(1, false)]);
    }

    #[test]
    fn one_bad_window_some_long_accesses_and_short_times_say_nothing() {
        let mut pace = Pace::default();
        for times in [[4, 100], [4, 4], [4, 100]] {
            assert_eq!(window(&mut pace, &times), []);
        }
        let mut pace = Pace::default();
        for _ in 0..3 {
            (0..LEAST / 2).for_each(|_| pace.note(1, Duration::from_secs(5)));
            (0..LEAST).for_each(|_| pace.note(1, Duration::from_millis(4)));
            assert_eq!(window(&mut pace, &[4]), []);
        }
        for _ in 0..3 {
            assert_eq!(window(&mut pace, &[0, 1]), []);
        }
    }

    #[test]
    fn who_has_no_siblings_or_few_accesses_is_not_judged() {
        let mut pace = Pace::default();
        for _ in 0..3 {
            assert_eq!(window(&mut pace, &[1_000]), []);
            pace.note(1, Duration::from_secs(3));
            assert_eq!(window(&mut pace, &[4]), []);
        }
    }
}
