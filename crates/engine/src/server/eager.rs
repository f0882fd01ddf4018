//! Asking the frontend again without asking the kernel first whether that is worth it.
//!
//! Under load it is: the next requests have come while the last were served, and a system call is
//! saved. When it turns out that nothing has come, a call was wasted, and it is left for a while.

use super::ready::Ready;

/// Turns in a row without looking at anything but the frontend and the members.
const TURNS: u32 = 16;
/// Turns with requests that pass after a vain attempt.
const RELUCTANCE: u32 = 8;

/// Whether it has been worth it of late.
#[derive(Debug, Default)]
pub(super) struct Eagerness {
    /// Turns that may still pass before everything is looked at.
    turns: u32,
    /// Turns with requests until it is tried again.
    reluctant: u32,
}

impl Eagerness {
    /// Whether the frontend is to be asked at once.
    pub(super) fn is_eager(&self) -> bool {
        self.turns > 0
    }

    /// A turn is done that looked at what is `ready` and got so many requests.
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
