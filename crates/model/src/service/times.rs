//! The service time of a disk by its parts, and the time of the last of several disks.

use std::num::NonZeroU32;

use parlour_drive::mechanics::Way;

use super::moments::Moments;
use crate::fork_join::Phase;
use crate::order::{Distribution, DistributionError};

/// The service time of a disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Service {
    /// The seek.
    pub seek: Moments,
    /// The rotational delay.
    pub rotation: Moments,
    /// From the first sector that passes to the last block that is transferred.
    pub transfer: Moments,
    /// The overhead of commands, in ms.
    pub overhead: f64,
    /// The part of the overhead before the arm moves, in ms.
    pub lead: f64,
    /// The part of the transfer in which the sectors pass, in ms.
    pub passing: f64,
    /// The time of a revolution, in ms.
    pub revolution: f64,
    /// The distribution of the whole time.
    pub distribution: Distribution,
    /// The direction of the first transfer.
    pub(super) way: Way,
    /// The fraction of accesses to random positions, and their mean seek in ms; without those that
    /// continue a run.
    pub(super) drawn: (f64, f64),
    /// Seek and rotation to each of several equally likely positions.
    pub(super) targets: Vec<Target>,
}

/// A position that the siblings of a request have in common.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Target {
    /// Seek and rotation from a random position.
    pub(super) positioning: Distribution,
    /// Rotation alone.
    pub(super) latency: Distribution,
}

/// The number of positions that are considered, all equally likely.
pub(super) const TARGETS: usize = 24;

impl Service {
    /// The mean, in ms.
    pub fn mean(&self) -> f64 {
        self.seek.mean + self.rotation.mean + self.transfer.mean + self.overhead
    }

    /// The standard deviation, in ms.
    pub fn deviation(&self) -> f64 {
        (self.seek.variance + self.rotation.variance + self.transfer.variance).sqrt()
    }

    /// Seek and rotation: p of the paper.
    pub fn positioning(&self) -> Moments {
        Moments {
            mean: self.seek.mean + self.rotation.mean,
            variance: self.seek.variance + self.rotation.variance,
        }
    }

    /// The mean time of the last of `siblings` of one request, in ms.
    ///
    /// Siblings are at the same, or nearly the same, position of their disks. So their transfers
    /// take the same time, and if the seek is long for one it is long for all: their times are not
    /// independent. Independent are the rotations, because spindles are not synchronized, and the
    /// arms' previous positions, except for disks that the previous request used too: these start
    /// at the same position. `together` is the fraction of such disks, from 0 to 1: k/n on average
    /// for a request on k of n disks.
    pub fn last_of(&self, siblings: NonZeroU32, together: f64) -> f64 {
        let count = self.targets.len().max(1) as f64;
        let mean = |of: fn(&Target) -> &Distribution| {
            self.targets.iter().map(|target| of(target).expected_maximum(siblings)).sum::<f64>() / count
        };
        let (together, (part, seek)) = (together.clamp(0.0, 1.0), self.drawn);
        let from_one_place = seek + mean(|target| &target.latency);
        let from_anywhere = mean(|target| &target.positioning);
        let last = together * from_one_place + (1.0 - together) * from_anywhere;
        // Siblings begin a run together, and continue it together.
        let one = self.targets.iter().map(|target| target.positioning.mean()).sum::<f64>() / count;
        self.mean() + part * (last - one).max(0.0)
    }

    /// The mean time from when the last sector has passed until the access is done, in ms.
    pub fn after_passing(&self) -> f64 {
        self.transfer.mean - self.passing + self.overhead - self.lead
    }

    /// A fork and join with this number of siblings, whose last one takes the time of
    /// [`Service::last_of`].
    pub fn phase(&self, siblings: NonZeroU32, together: f64) -> Phase {
        Phase {
            visits: 1.0,
            siblings: siblings.get(),
            way: self.way,
            service: self.mean(),
            deviation: self.deviation(),
            last: self.last_of(siblings, together),
            undisturbed: None,
        }
    }

    /// The times with the paper's assumptions: positioning is normal, the rest is constant; the
    /// maximum is the printed formula.
    ///
    /// # Errors
    /// None for a service that [`service`](super::service) made.
    pub fn printed(&self) -> Result<Distribution, DistributionError> {
        Distribution::printed(self.mean(), self.positioning().deviation())
    }

    /// The same with the exact maximum.
    ///
    /// # Errors
    /// None for a service that [`service`](super::service) made.
    pub fn normal(&self) -> Result<Distribution, DistributionError> {
        Distribution::normal(self.mean(), self.positioning().deviation())
    }
}
