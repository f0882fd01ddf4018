//! Entries of a stream with lanes.
//!
//! Each lane has one entry under way. A write that comes while a lane is free begins an entry;
//! otherwise it waits, and the lane that is free next takes all that wait. With Poisson arrivals
//! and exponential times this is a Markov chain, whose states are the lanes in use and, when all
//! are, the number of writes that wait.

/// How writes share entries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shared {
    /// The mean number of writes of an entry.
    pub writes: f64,
    /// The mean time for which a write waits until its entry begins, in ms.
    pub wait: f64,
    /// The part of the time for which all lanes are in use.
    pub all: f64,
}

/// How writes that come at `rate` (a ms) share the entries of `lanes`, each of which takes `taken`
/// ms.
///
/// With l lanes, a = rate × taken, and p(b) the probability of b lanes in use, of which b < l:
///
/// > p(b) = p(0) aᵇ / b!,  p(l, none waits) = p(l − 1) a / l,  p(l, n wait) = p(l, none) rⁿ,
/// > r = a / (a + l).
pub fn shared(lanes: u32, rate: f64, taken: f64) -> Shared {
    let (load, most) = (rate * taken, f64::from(lanes.max(1)));
    if load <= 0.0 {
        return Shared { writes: 1.0, ..Shared::default() };
    }
    let (mut state, mut sum, mut under_way) = (1.0, 1.0, 0.0);
    for busy in 1..lanes {
        let busy = f64::from(busy);
        state *= load / busy;
        sum += state;
        under_way += state * busy;
    }
    let none_waits = state * load / most;
    let some_wait = none_waits * load / most;
    let waiting = some_wait * (load + most) / most;
    sum += none_waits + some_wait;
    under_way += (none_waits + some_wait) * most;
    let all = (none_waits + some_wait) / sum;
    Shared { writes: load * sum / under_way, wait: waiting / sum / rate, all }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_writes_have_an_entry_each() {
        let Shared { writes, wait, .. } = shared(4, 0.01, 10.0);
        assert!(writes < 1.001 && wait < 0.001, "{writes} writes, {wait} ms");
    }

    #[test]
    fn many_writes_share_what_lanes_can_write() {
        // Lanes are always in use: 4 entries in each 10 ms, among 40 writes.
        let Shared { writes, wait, all } = shared(4, 4.0, 10.0);
        assert!(all > 0.95, "{all} of the time");
        assert!((writes - 10.0).abs() < 0.15, "{writes} writes");
        // The next lane is free after a quarter of that, and exponential times have no memory.
        assert!((wait - 2.5).abs() < 0.2, "{wait} ms");
    }

    #[test]
    fn one_lane_takes_what_came_during_the_entry_before() {
        let Shared { writes, wait, .. } = shared(1, 1.0, 10.0);
        assert!((writes - 10.1).abs() < 0.1, "{writes} writes");
        assert!((wait - 9.9).abs() < 0.1, "{wait} ms");
    }
}
