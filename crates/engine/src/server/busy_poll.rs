//! Looking again for a moment before going to sleep.
//!
//! A host that asks one thing at a time asks the next within microseconds of the answer, and to be
//! woken takes longer than that. So when the last wait was short the next one is spent awake; a
//! wait that outlasts the moment is slept through, and no other is watched until one is short
//! again.

use parlour_units::Duration;

/// How long to stay awake: about what going to sleep and being woken costs.
const MOMENT: Duration = Duration::from_micros(50);

/// Whether staying awake has been worth it of late.
#[derive(Debug, Default)]
pub(super) struct BusyPoll {
    awake: bool,
}

impl BusyPoll {
    /// Whether to look once more after so long.
    pub(super) fn is_worth(&self, waited: Duration) -> bool {
        self.awake && waited < MOMENT
    }

    /// A wait is over that took so long.
    pub(super) fn learn(&mut self, waited: Duration) {
        self.awake = waited < MOMENT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_short_waits_are_spent_awake_and_no_longer_than_a_moment() {
        let mut busy_poll = BusyPoll::default();
        assert!(!busy_poll.is_worth(Duration::ZERO));
        busy_poll.learn(Duration::from_micros(10));
        assert!(busy_poll.is_worth(Duration::from_micros(49)));
        assert!(!busy_poll.is_worth(MOMENT));
        busy_poll.learn(Duration::from_millis(1));
        assert!(!busy_poll.is_worth(Duration::ZERO));
    }
}
