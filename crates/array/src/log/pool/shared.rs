//! One pool of memory for prereads, log buffers and reintegrations, instead of a share for each
//! (Stodolsky §11).
//!
//! Each use keeps a minimum that the others never get, and with which it can go on: so what frees
//! memory never waits for others to free some.
//!
//! Jobs hold memory for prereads while they wait for a log buffer, and log buffers are full while
//! they wait for a reintegration. So memory that goes to who asks first goes to those who wait, and
//! those for whom they wait have only their minima. Therefore a use takes little of what those keep
//! for whom it waits.

use parlour_units::Sectors;

use crate::geometry::Geometry;
use crate::tuning::Tuning;

/// What memory is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::log) enum Use {
    Scratch,
    Buffers,
    Reintegrations,
}

const USES: [Use; 3] = [Use::Scratch, Use::Buffers, Use::Reintegrations];

/// A length of memory for each use.
pub(in crate::log) type Parts = [Sectors; USES.len()];

/// The pool.
#[derive(Clone, Copy, Debug)]
pub(in crate::log) struct SharedMemory {
    total: Sectors,
    least: Parts,
    /// The most that reintegrations have a use for.
    reintegrations: Sectors,
}

impl SharedMemory {
    /// A pool that has room for the minima, however small it was to be.
    pub(in crate::log) fn new(total: Sectors, least: Parts, reintegrations: Sectors) -> SharedMemory {
        SharedMemory { total: total.max(sum(least)), least, reintegrations }
    }

    /// What `other` keeps, in use or not, when `of` asks.
    fn kept(&self, other: Use, of: Use) -> Sectors {
        let part = |count| Sectors::new(self.total.get() / count);
        let share = match (other, of) {
            (Use::Scratch, _) => Sectors::ZERO,
            (Use::Buffers, Use::Scratch) => part(2),
            (Use::Buffers, _) => part(3),
            (Use::Reintegrations, _) => part(3).min(self.reintegrations),
        };
        share.max(self.least(other))
    }

    /// The most that a use may have, while the others have what `used` says.
    pub(in crate::log) fn limit(&self, of: Use, used: Parts) -> Sectors {
        let others = USES.into_iter().filter(|other| *other != of);
        let kept = others.map(|other| used[other as usize].max(self.kept(other, of)));
        let kept = kept.fold(Sectors::ZERO, |sum, part| sum + part);
        // (Repairs, and what a crash left to be redone, may exceed the limits.)
        self.total.saturating_sub(kept).max(self.least[of as usize])
    }

    /// The minimum of a use.
    pub(in crate::log) fn least(&self, of: Use) -> Sectors {
        self.least[of as usize]
    }
}

fn sum(parts: Parts) -> Sectors {
    parts.into_iter().fold(Sectors::ZERO, |sum, part| sum + part)
}

/// The minima of an array whose pool of log buffers has at least `buffers`.
pub(in crate::log) fn minima(geometry: &Geometry, tuning: &Tuning, buffers: Sectors) -> Parts {
    // The most that a job reserves: all units of a slice, and what is computed of them.
    let layout = geometry.layout();
    let slice = tuning.slice.min(layout.unit_length());
    let scratch = slice * (u64::from(layout.width()) + geometry.code().sums().max(1) as u64);
    let reintegration = match geometry.is_journaled() {
        // Intents have room in the commit log for few passes only.
        true => least_of_reintegration(geometry),
        false => Sectors::new(most_of_reintegration(geometry, tuning).get() / 4),
    };
    [scratch, buffers, reintegration]
}

/// The log of a region, and its parity.
fn region(geometry: &Geometry) -> (Sectors, Sectors) {
    let Some(logs) = geometry.layout().logs() else { return (Sectors::ZERO, Sectors::ZERO) };
    let checks = u64::from(geometry.layout().check_units());
    let parity = geometry.layout().unit_length() * (u64::from(logs.shape().stripes) * checks);
    (Sectors::new(logs.shape().segment) * u64::from(logs.segments()), parity)
}

/// Each pass of a reintegration takes room in the commit log until all are done: this much memory
/// makes few passes enough.
pub(in crate::log) fn least_of_reintegration(geometry: &Geometry) -> Sectors {
    region(geometry).0 * (1 + u64::from(geometry.layout().check_units()))
}

/// The most that all reintegrations at once have a use for.
pub(in crate::log) fn most_of_reintegrations(geometry: &Geometry, tuning: &Tuning) -> Sectors {
    most_of_reintegration(geometry, tuning) * u64::from(tuning.reintegration_buffers.max(1))
}

/// With this much memory, a region's log and parity are read at once.
pub(in crate::log) fn most_of_reintegration(geometry: &Geometry, tuning: &Tuning) -> Sectors {
    let (log, parity) = region(geometry);
    tuning.reintegration_memory.min(log + parity)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ZERO: Parts = [Sectors::ZERO; 3];

    fn parts(lengths: [u64; 3]) -> Parts {
        lengths.map(Sectors::new)
    }

    fn pool(total: u64, least: Parts) -> SharedMemory {
        SharedMemory::new(Sectors::new(total), least, Sectors::new(1_000))
    }

    #[test]
    fn what_is_not_in_use_is_lent_but_for_a_part_of_those_for_whom_others_wait() {
        let pool = pool(600, parts([10, 20, 30]));
        let limits = |used| USES.map(|of| pool.limit(of, used).get());
        assert_eq!(limits(ZERO), [100, 390, 390]);
        assert_eq!(limits(parts([100, 0, 0])), [100, 300, 300]);
        assert_eq!(limits(parts([0, 390, 0])), [10, 390, 200]);
        assert_eq!(limits(parts([0, 0, 390])), [10, 200, 390]);
    }

    #[test]
    fn reintegrations_keep_no_more_than_they_have_a_use_for() {
        let pool = SharedMemory::new(Sectors::new(600), ZERO, Sectors::new(50));
        assert_eq!(pool.limit(Use::Scratch, ZERO), Sectors::new(250));
        assert_eq!(pool.limit(Use::Buffers, ZERO), Sectors::new(550));
    }

    #[test]
    fn a_pool_has_room_for_the_minima() {
        let pool = pool(0, parts([10, 20, 30]));
        assert_eq!(USES.map(|of| pool.limit(of, ZERO).get()), [10, 20, 30]);
    }

    proptest! {
        #[test]
        fn never_more_than_the_pool_is_in_use_and_each_use_always_gets_its_minimum(
            total in 0..500_u64,
            least in [0..50_u64, 0..50_u64, 0..50_u64],
            steps in prop::collection::vec((0..3_usize, 1..200_u64, any::<bool>()), 1..200),
        ) {
            let (least, mut used) = (parts(least), ZERO);
            let pool = pool(total, least);
            for (of, length, takes) in steps {
                let (kind, length) = (USES[of], Sectors::new(length));
                let limit = pool.limit(kind, used);
                prop_assert!(limit >= least[of], "with its minimum, each use can go on");
                if !takes {
                    used[of] = used[of].saturating_sub(length);
                } else if used[of] + length <= limit {
                    used[of] += length;
                }
                prop_assert!(sum(used) <= pool.total);
            }
        }
    }
}
