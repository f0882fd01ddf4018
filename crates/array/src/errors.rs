//! Read errors of a member, which lose weight with time.

use parlour_units::{Duration, Instant};

/// After this time, half of a member's read errors are forgotten, as in Linux's md.
pub(crate) const HALF_LIFE: Duration = Duration::from_secs(3_600);

/// The errors that still count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RecentErrors {
    count: u32,
    /// The time from which half-lives are counted.
    since: Instant,
}

impl RecentErrors {
    /// Adds an error. Returns how many counted before it, and how many count now.
    pub(crate) fn add(&mut self, now: Instant) -> (u32, u32) {
        let before = self.at(now);
        self.since = if before == 0 { now } else { self.since + HALF_LIFE * self.half_lives(now) };
        self.count = before.saturating_add(1);
        (before, self.count)
    }

    /// The number of errors that count at `now`.
    pub(crate) fn at(&self, now: Instant) -> u32 {
        let halvings = u32::try_from(self.half_lives(now)).unwrap_or(u32::MAX);
        self.count.checked_shr(halvings).unwrap_or(0)
    }

    fn half_lives(&self, now: Instant) -> u64 {
        now.since(self.since).nanoseconds() / HALF_LIFE.nanoseconds()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hours(hours: u64) -> Instant {
        Instant::ZERO + HALF_LIFE * hours
    }

    #[test]
    fn errors_are_halved_in_each_half_life() {
        let mut errors = RecentErrors::default();
        for number in 0..9 {
            assert_eq!(errors.add(hours(100)), (number, number + 1));
        }
        let counts = [100, 101, 102, 103, 104, 1_000].map(|hour| errors.at(hours(hour)));
        assert_eq!(counts, [9, 4, 2, 1, 0, 0]);
        assert_eq!(errors.add(hours(102)), (2, 3));
        assert_eq!(errors.at(hours(103)), 1, "they are halved from the same moment on");
        assert_eq!(errors.add(hours(200)), (0, 1));
        assert_eq!(
            errors.at(hours(200) + (HALF_LIFE - Duration::from_secs(1))),
            1,
            "a new count begins anew"
        );
    }
}
