//! How much of long requests may be under way beside other clients' short ones.
//!
//! Alone, a client has all that members can use. Beside short requests of another client, only so
//! much is under way that these are answered about as fast as they are when nothing else is going
//! on. How much that is depends on members and array, so it is learnt: the window shrinks by half
//! with each short request that takes much longer than usual, and grows slowly with each that does
//! not.

use parlour_array::Operation;
use parlour_units::{Duration, Instant};

/// Bytes of long requests under way when no other client would wait.
pub(super) const ALONE: u64 = 8 << 20;
/// The least that is under way beside others; one piece always is.
const LEAST: u64 = 256 << 10;
/// How fast the window grows: so many bytes an answer.
const STEP: u64 = 32 << 10;
/// A short request may take so many times as long as usual.
const TOLERANCE: u64 = 3;
/// A client that sent a short request is expected to send more for so long.
const MEMORY: Duration = Duration::from_secs(10);
/// What is usual follows one answer in so many.
const INERTIA: u64 = 8;

/// See the module.
#[derive(Debug)]
pub(super) struct Pace {
    window: u64,
    /// How long short requests take while no long one is under way; by kind.
    usual: [Option<u64>; 3],
    /// The clients that sent short requests last, and when: the last, and the last that is another.
    recent: [Option<(u32, Instant)>; 2],
}

/// Requests that take about equally long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Write,
    /// Durable writes, flushes.
    Durable,
}

impl Kind {
    pub(super) fn of(operation: Operation) -> Kind {
        match operation {
            Operation::Read => Kind::Read,
            Operation::Write { durable: true }
            | Operation::WriteZeroes { durable: true, .. }
            | Operation::Flush => Kind::Durable,
            Operation::Write { .. } | Operation::WriteZeroes { .. } | Operation::Trim => Kind::Write,
        }
    }
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { window: LEAST, usual: [None; 3], recent: [None; 2] }
    }
}

impl Pace {
    /// A short request of `client` came.
    pub(super) fn came(&mut self, client: u32, now: Instant) {
        if self.recent[0].is_some_and(|(last, _)| last != client) {
            self.recent[1] = self.recent[0];
        }
        self.recent[0] = Some((client, now));
    }

    /// Bytes of long requests that may be under way, of which the next is `client`'s.
    pub(super) fn window(&self, client: u32, now: Instant) -> u64 {
        let waits = |(other, at): (u32, Instant)| other != client && now.since(at) <= MEMORY;
        if self.recent.into_iter().flatten().any(waits) { self.window } else { ALONE }
    }

    /// A short request took so long while no long one was under way.
    pub(super) fn learn(&mut self, kind: Kind, took: Duration) {
        let usual = &mut self.usual[kind as usize];
        let took = took.nanoseconds();
        *usual = Some(usual.map_or(took, |usual| usual - usual / INERTIA + took / INERTIA));
    }

    /// A short request took so long beside a long one of another client.
    pub(super) fn adapt(&mut self, kind: Kind, took: Duration) {
        let usual = self.usual[kind as usize];
        if usual.is_some_and(|usual| took.nanoseconds() <= usual.saturating_mul(TOLERANCE)) {
            self.window = (self.window + STEP).min(ALONE);
        } else {
            self.window = (self.window / 2).max(LEAST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    const USUAL: Duration = Duration::from_micros(100);

    #[test]
    fn a_client_alone_is_not_held_back_by_its_own_short_requests() {
        let mut pace = Pace::default();
        pace.came(1, at(0));
        assert_eq!(pace.window(1, at(0)), ALONE);
        assert_eq!(pace.window(2, at(0)), LEAST);
    }

    #[test]
    fn another_clients_short_requests_hold_back_for_a_while_also_between_ones_own() {
        let mut pace = Pace::default();
        pace.came(1, at(0));
        pace.came(2, at(1));
        pace.came(2, at(2));
        assert_eq!(pace.window(2, at(10)), LEAST);
        assert_eq!(pace.window(2, at(11)), ALONE);
        assert_eq!(pace.window(1, at(11)), LEAST);
    }

    #[test]
    fn the_window_grows_while_short_requests_are_answered_as_usual_and_shrinks_where_they_are_not() {
        let mut pace = Pace::default();
        pace.came(1, at(0));
        pace.learn(Kind::Write, USUAL);
        for _ in 0..300 {
            pace.adapt(Kind::Write, USUAL * 2);
        }
        assert_eq!(pace.window(2, at(0)), ALONE);
        pace.adapt(Kind::Write, USUAL * 4);
        assert_eq!(pace.window(2, at(0)), ALONE / 2);
        for _ in 0..10 {
            pace.adapt(Kind::Write, USUAL * 4);
        }
        assert_eq!(pace.window(2, at(0)), LEAST);
    }

    #[test]
    fn what_is_not_known_to_be_usual_is_not_taken_for_it() {
        let mut pace = Pace::default();
        pace.came(1, at(0));
        pace.learn(Kind::Durable, USUAL * 100);
        pace.adapt(Kind::Read, USUAL);
        assert_eq!(pace.window(2, at(0)), LEAST);
    }
}
