//! Polls the frontend directly, without first asking the kernel whether it is ready.
//!
//! Under load this saves a system call, because the next requests have arrived while the last ones
//! were served. If none have arrived, a call was wasted, and direct polling stops for a number of
//! turns.

use super::ready::Ready;

/// The most turns in a row that look only at the frontend and the members.
const TURNS: u32 = 16;
/// The number of turns with requests before the next attempt, after one that found no requests.
const RELUCTANCE: u32 = 8;

/// Whether direct polling has been useful recently.
#[derive(Debug, Default)]
pub(super) struct Eagerness {
    /// The turns that may still pass before all descriptors are checked.
    turns: u32,
    /// The turns with requests before the next attempt.
    reluctant: u32,
}

impl Eagerness {
    /// Whether to poll the frontend directly.
    pub(super) fn is_eager(&self) -> bool {
        self.turns > 0
    }

    /// Records a turn: the descriptors that it checked, and the number of requests that it got.
    pub(super) fn learn(&mut self, ready: &Ready, submitted: u32) {
        match (ready.everything, submitted) {
            (true, 0) => {}
            (true, _) if self.reluctant > 0 => self.reluctant -= 1,
            (true, _) => self.turns = TURNS,
            (false, 0) => (self.turns, self.reluctant) = (0, RELUCTANCE),
            (false, _) => self.turns -= 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn everything() -> Ready {
        Ready { everything: true, ..Ready::default() }
    }

    #[test]
    fn it_lasts_while_requests_come_and_not_for_ever() {
        let mut eagerness = Eagerness::default();
        eagerness.learn(&everything(), 3);
        for _ in 0..TURNS {
            assert!(eagerness.is_eager());
            eagerness.learn(&Ready::frontend_only(), 3);
        }
        assert!(!eagerness.is_eager());
    }

    #[test]
    fn a_vain_attempt_is_not_repeated_at_once() {
        let mut eagerness = Eagerness::default();
        eagerness.learn(&everything(), 1);
        eagerness.learn(&Ready::frontend_only(), 0);
        for _ in 0..=RELUCTANCE {
            assert!(!eagerness.is_eager());
            eagerness.learn(&everything(), 1);
        }
        assert!(eagerness.is_eager());
    }
}
