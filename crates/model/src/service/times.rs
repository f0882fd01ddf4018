//! How long a disk takes for a request, by what the time is made of; and how long the last of
//! several.

use std::num::NonZeroU32;

use parlour_drive::mechanics::Way;

use super::moments::Moments;
use crate::fork_join::Phase;
use crate::order::{Distribution, DistributionError};

/// How long a disk takes for a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Service {
    /// Moving the arm.
    pub seek: Moments,
    /// Waiting for the platters.
    pub rotation: Moments,
    /// From the first sector that passes to the last that is handed on.
    pub transfer: Moments,
    /// What commands cost, in ms.
    pub overhead: f64,
    /// Of what commands cost: what comes before the arm moves, in ms.
    pub lead: f64,
    /// Of the transfer: what the sectors take to pass, in ms.
    pub passing: f64,
    /// Of one turn of the platters, in ms.
    pub revolution: f64,
    /// The whole.
    pub distribution: Distribution,
    /// Which way the first transfer goes.
    pub(super) way: Way,
    /// The part of accesses to places that are drawn, and their mean seek in ms: not those that go
    /// on in a run.
    pub(super) drawn: (f64, f64),
    /// Seek and rotation to each of some places that are as likely.
    pub(super) targets: Vec<Target>,
}

/// A place that the siblings of a request have in common.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Target {
    /// Seek and rotation, from anywhere.
    pub(super) positioning: Distribution,
    /// Rotation alone.
    pub(super) latency: Distribution,
}

/// Places that are looked at: as likely each.
pub(super) const TARGETS: usize = 24;

impl Service {
    /// In ms.
    pub fn mean(&self) -> f64 {
        self.seek.mean + self.rotation.mean + self.transfer.mean + self.overhead
    }

    /// In ms.
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

    /// The mean time of the last of so many siblings of one request, in ms.
    ///
    /// Siblings are at the same place of their disks, or nearly. So their transfers take the same
    /// time, and those whose arms are far away are so together: their times are not independent.
    /// What is independent is the rotation (spindles turn each for itself), and where the arms come
    /// from, but for the disks on which the request before was, too: there they come from the same
    /// place. `together` is the part of those, from 0 to 1: of a request on k of n disks k/n, in
    /// the mean.
    pub fn last_of(&self, siblings: NonZeroU32, together: f64) -> f64 {
        let count = self.targets.len().max(1) as f64;
        let mean = |of: fn(&Target) -> &Distribution| {
            self.targets.iter().map(|target| of(target).expected_maximum(siblings)).sum::<f64>() / count
        };
        let (together, (part, seek)) = (together.clamp(0.0, 1.0), self.drawn);
        let from_one_place = seek + mean(|target| &target.latency);
        let from_anywhere = mean(|target| &target.positioning);
        let last = together * from_one_place + (1.0 - together) * from_anywhere;
        // Siblings begin a run together, and go on with it together.
        let one = self.targets.iter().map(|target| target.positioning.mean()).sum::<f64>() / count;
        self.mean() + part * (last - one).max(0.0)
    }

    /// From when the last sector has passed until the access is done, in the mean, in ms.
    pub fn after_passing(&self) -> f64 {
        self.transfer.mean - self.passing + self.overhead - self.lead
    }

    /// A fork and join of so many siblings, whose last takes as long as [`Service::last_of`] says.
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

    /// The times as the paper takes them: positioning is normal, the rest its mean; the maximum as
    /// printed.
    ///
    /// # Errors
    /// None where the service is one that [`service`](super::service) made.
    pub fn printed(&self) -> Result<Distribution, DistributionError> {
        Distribution::printed(self.mean(), self.positioning().deviation())
    }

    /// The same with the exact maximum.
    ///
    /// # Errors
    /// None where the service is one that [`service`](super::service) made.
    pub fn normal(&self) -> Result<Distribution, DistributionError> {
        Distribution::normal(self.mean(), self.positioning().deviation())
    }
}
