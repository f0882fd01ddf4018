//! Polls for a moment before the thread sleeps.
//!
//! A host that sends one request at a time sends the next within microseconds of the answer, and
//! waking a thread takes longer than that. So after a short wait, the next wait begins with
//! polling. If nothing arrives within the moment, the thread sleeps, and does not poll again until
//! a wait has been short.

use parlour_units::Duration;

/// How long to poll: about the time that sleeping and waking cost.
const MOMENT: Duration = Duration::from_micros(50);

/// Whether the last wait was short, so that polling is useful.
#[derive(Debug, Default)]
pub(super) struct BusyPoll {
    awake: bool,
}

impl BusyPoll {
    /// Whether to poll once more after waiting this long.
    pub(super) fn is_worth(&self, waited: Duration) -> bool {
        self.awake && waited < MOMENT
    }

    /// Records the length of a wait that has ended.
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
