//! Limits the bytes of long requests under way, to protect other clients' short requests.
//!
//! A client that is alone may use all that the members can do. Beside short requests of another
//! client, the limit (the window) is such that these are answered about as fast as without long
//! requests. The right window depends on the members and the array, so it is learnt. Each short
//! request that takes much longer than usual halves the window; each other one enlarges it a
//! little.

use parlour_array::Operation;
use parlour_units::{Duration, Instant};

/// The window, in bytes, if no other client sends short requests.
pub(super) const ALONE: u64 = 8 << 20;
/// The smallest window. One slice is always under way.
const LEAST: u64 = 256 << 10;
/// The window grows by this many bytes with each answer.
const STEP: u64 = 32 << 10;
/// A short request may take this many times as long as usual.
const TOLERANCE: u64 = 3;
/// A client that sent a short request is expected to send more within this time.
const MEMORY: Duration = Duration::from_secs(10);
/// The usual time moves towards each new time by one part in this many.
const INERTIA: u64 = 8;

/// The pace, described in the module's documentation.
#[derive(Debug)]
pub(super) struct Pace {
    window: u64,
    /// How long short requests take while no long request is under way, by kind.
    usual: [Option<u64>; 3],
    /// The two clients that most recently sent short requests, and when. The second is another
    /// client than the first.
    recent: [Option<(u32, Instant)>; 2],
}

/// A kind of request whose requests take about equally long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Write,
    /// Durable writes and flushes.
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
    /// Records that a short request of `client` has arrived.
    pub(super) fn came(&mut self, client: u32, now: Instant) {
        if self.recent[0].is_some_and(|(last, _)| last != client) {
            self.recent[1] = self.recent[0];
        }
        self.recent[0] = Some((client, now));
    }

    /// The bytes of long requests that may be under way if the next one is `client`'s.
    pub(super) fn window(&self, client: u32, now: Instant) -> u64 {
        let waits = |(other, at): (u32, Instant)| other != client && now.since(at) <= MEMORY;
        if self.recent.into_iter().flatten().any(waits) { self.window } else { ALONE }
    }

    /// Records the time of a short request that ran while no long request was under way.
    pub(super) fn learn(&mut self, kind: Kind, took: Duration) {
        let usual = &mut self.usual[kind as usize];
        let took = took.nanoseconds();
        *usual = Some(usual.map_or(took, |usual| usual - usual / INERTIA + took / INERTIA));
    }

    /// Records the time of a short request that ran beside a long request of another client, and
    /// adapts the window.
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
