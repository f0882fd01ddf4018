//! One pool of memory for prereads, log buffers and reintegrations, instead of a share for each
//! (Stodolsky §11).
//!
//! Each use keeps a minimum that the others never get, and with which it can go on: so what frees
//! memory never waits for others to free some. All beyond the minima goes to who asks first.

use parlour_units::Sectors;

use crate::context::Context;
use crate::geometry::Geometry;
use crate::log::Logs;
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
}

impl SharedMemory {
    /// A pool that has room for the minima, however small it was to be.
    pub(in crate::log) fn new(total: Sectors, least: Parts) -> SharedMemory {
        SharedMemory { total: total.max(sum(least)), least }
    }

    /// The most that a use may have, while the others have what `used` says.
    pub(in crate::log) fn limit(&self, of: Use, used: Parts) -> Sectors {
        let others = USES.into_iter().filter(|other| *other != of).map(|other| other as usize);
        let kept = others.fold(Sectors::ZERO, |sum, other| sum + used[other].max(self.least[other]));
        // (Repairs, and what a crash left to be redone, may exceed the limits.)
        self.total.saturating_sub(kept).max(self.least[of as usize])
    }

    fn least(&self, of: Use) -> Sectors {
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

/// With this much memory, a region's log and parity are read at once.
fn most_of_reintegration(geometry: &Geometry, tuning: &Tuning) -> Sectors {
    let (log, parity) = region(geometry);
    tuning.reintegration_memory.min(log + parity)
}

impl Logs {
    /// What is in use.
    fn used(&self, cx: &Context) -> Parts {
        let buffers = self.segment_length * u64::from(self.in_memory);
        [cx.scratch.in_use(), buffers, self.reintegration_memory]
    }

    /// If memory is shared: log buffers and prereads may take what the other uses leave now.
    pub(crate) fn share_memory(&mut self, cx: &mut Context) {
        let Some(shared) = &self.shared else { return };
        let used = self.used(cx);
        cx.scratch.set_limit(shared.limit(Use::Scratch, used));
        if !self.segment_length.is_zero() {
            let buffers = shared.limit(Use::Buffers, used) / self.segment_length;
            let limit = u32::try_from(buffers).unwrap_or(u32::MAX).max(self.least_buffers);
            self.freed |= limit > self.pool_limit;
            self.pool_limit = limit;
        }
    }

    /// Whether another reintegration may start.
    pub(in crate::log) fn has_reintegration_memory(&self, cx: &Context) -> bool {
        let few = self.running < cx.tuning.reintegration_buffers.max(1);
        few && self.shared.is_none_or(|shared| {
            let limit = shared.limit(Use::Reintegrations, self.used(cx));
            self.running == 0 || self.reintegration_memory + shared.least(Use::Reintegrations) <= limit
        })
    }

    /// Memory for a reintegration that starts: what is free, as far as it can use it.
    pub(in crate::log) fn reintegration_share(&self, cx: &Context) -> Option<Sectors> {
        let shared = self.shared?;
        let free = shared.limit(Use::Reintegrations, self.used(cx)).saturating_sub(self.reintegration_memory);
        let least = shared.least(Use::Reintegrations);
        Some(free.min(most_of_reintegration(&cx.geometry, &cx.tuning)).max(least))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ZERO: Parts = [Sectors::ZERO; 3];

    fn parts(lengths: [u64; 3]) -> Parts {
        lengths.map(Sectors::new)
    }

    #[test]
    fn what_others_leave_unused_is_lent_but_for_their_minima() {
        let pool = SharedMemory::new(Sectors::new(100), parts([10, 20, 30]));
        let limits = |used| USES.map(|of| pool.limit(of, used).get());
        assert_eq!(limits(ZERO), [50, 60, 70]);
        assert_eq!(limits(parts([50, 0, 0])), [50, 20, 30]);
        assert_eq!(limits(parts([15, 0, 40])), [40, 45, 65]);
    }

    #[test]
    fn a_pool_has_room_for_the_minima() {
        let pool = SharedMemory::new(Sectors::ZERO, parts([10, 20, 30]));
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
            let pool = SharedMemory::new(Sectors::new(total), least);
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
