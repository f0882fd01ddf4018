//! How long a disk takes for a request: the model of Shriver and of Barve et al. that Varki and Wang cite (§2.2), for a drive of the
//! catalogue.
//!
//! The papers that are cited are not at hand in full; what they are cited for is: requests that are spread uniformly over all cylinders,
//! or over some that are neighbours, or that come in sequential runs; drives with zones. What is left open is chosen here:
//!
//! - *Seek.* From one uniformly drawn block to another: cylinders count by the blocks that they hold. The mean and all moments are over
//!   the drive's own curve, and not the curve at the mean distance.
//! - *Rotation.* Evenly distributed over a revolution, unless the drive takes a track's sectors in any order, or the request goes on
//!   where the last one ended.
//! - *Transfer.* By zone, weighted by the blocks of each; with every track or cylinder that a request crosses it costs what skews and
//!   switches make of it.
//! - *Overheads.* As the drive's file tells them, for requests that follow others of the same kind. A read keeps the bus from when so
//!   much of it is in the buffer as the drive waits for; where the bus is slower than the platters it is the bus that counts.
//!
//! What is said of a request of some size holds for one that begins anywhere: where all begin at multiples of a size, they may cross
//! fewer ends of tracks, or more.
//!
//! Read [`seek`] (how far, and how likely), [`tracks`] (from one track to the next), `arrivals` (where
//! on the first track heads arrive), [`positioning`] (seek and rotation, as a distribution).

mod arrivals;
mod disk;
pub mod positioning;
mod runs;
pub mod seek;
pub mod tracks;

use std::num::NonZeroU32;

use parlour_drive::electronics::Electronics;
use parlour_drive::mechanics::{Mechanics, Way};
use parlour_units::Duration;

use crate::fork_join::Phase;
use crate::order::{Distribution, DistributionError};
use disk::Disk;
use seek::Span;

/// What a disk is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Access {
    /// What is done with the blocks.
    pub work: Work,
    /// How many blocks of 512 bytes.
    pub blocks: u64,
    /// Where they are.
    pub pattern: Pattern,
}

/// What is done with blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// They are read.
    Read,
    /// They are written, onto the platters.
    Write,
    /// They are read, and written as they come round again, in one access (Stodolsky et al., footnote 4).
    Modify,
}

/// Where requests are, seen from the one before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pattern {
    /// Anywhere.
    Uniform,
    /// Anywhere in the cylinders from the first to the last of these.
    Within(u32, u32),
    /// In runs of this many requests in the mean, each where the last one ended, with nothing between; runs begin anywhere.
    Runs(f64),
}

/// A mean and a variance, in ms and ms².
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// Milliseconds.
    pub mean: f64,
    /// Square milliseconds.
    pub variance: f64,
}

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
    way: Way,
    /// The part of accesses to places that are drawn, and their mean seek in ms: not those that go on in a run.
    drawn: (f64, f64),
    /// Seek and rotation to each of some places that are as likely.
    targets: Vec<Target>,
}

/// A place that the siblings of a request have in common.
#[derive(Clone, Debug, PartialEq)]
struct Target {
    /// Seek and rotation, from anywhere.
    positioning: Distribution,
    /// Rotation alone.
    latency: Distribution,
}

/// Places that are looked at: as likely each.
const TARGETS: usize = 24;

/// Why a disk's time cannot be told.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ServiceError {
    /// Nothing is asked for, or more than there is.
    #[error("a request of {blocks} blocks is not possible; use 1 to {most}")]
    Blocks {
        /// What was asked for.
        blocks: u64,
        /// What there is.
        most: u64,
    },
    /// No such cylinders.
    #[error("cylinders {first} to {last} hold nothing; the drive has cylinders 0 to {end}")]
    Cylinders {
        /// The first.
        first: u32,
        /// The last.
        last: u32,
        /// The drive's last.
        end: u32,
    },
    /// Not a length.
    #[error("runs of {0} requests are not possible; use a finite number from 1 on")]
    Run(f64),
    /// Something that only reads are modelled for.
    #[error("runs are modelled for reads only; use uniform places for what is written")]
    WrittenRun,
    /// Writes are answered before they are done.
    #[error(
        "the drive answers writes from its buffer; what that costs depends on what else it does, and is not modelled: simulate it"
    )]
    CachedWrites,
    /// Writes lose revolutions.
    #[error(
        "the data of {blocks} blocks comes slower than the platters take it; that is not modelled: use smaller writes, or simulate it"
    )]
    SlowBus {
        /// The size.
        blocks: u64,
    },
    /// Times are none.
    #[error(transparent)]
    Distribution(#[from] DistributionError),
}

pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.nanoseconds() as f64 / 1e6
}

impl Moments {
    /// Of what is always the same.
    pub fn fixed(mean: f64) -> Moments {
        Moments { mean, variance: 0.0 }
    }

    /// The standard deviation, in ms.
    pub fn deviation(&self) -> f64 {
        self.variance.sqrt()
    }

    /// Of something that is, with each weight, one of these; weights sum to 1.
    pub(crate) fn mixed(parts: impl Iterator<Item = (f64, Moments)>) -> Moments {
        let add = |(mean, square): (f64, f64), (weight, part): (f64, Moments)| {
            (mean + weight * part.mean, square + weight * (part.variance + part.mean * part.mean))
        };
        let (mean, square) = parts.fold((0.0, 0.0), add);
        Moments { mean, variance: (square - mean * mean).max(0.0) }
    }
}

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
    /// Siblings are at the same place of their disks, or nearly. So their transfers take the same time, and those whose arms are far away
    /// are so together: their times are not independent. What is independent is the rotation (spindles turn each for itself), and where
    /// the arms come from, but for the disks on which the request before was, too: there they come from the same place. `together` is the
    /// part of those, from 0 to 1: of a request on k of n disks k/n, in the mean.
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

    /// The times as the paper takes them: positioning is normal, the rest its mean; the maximum as printed.
    ///
    /// # Errors
    /// None where the service is one that [`service`] made.
    pub fn printed(&self) -> Result<Distribution, DistributionError> {
        Distribution::printed(self.mean(), self.positioning().deviation())
    }

    /// The same with the exact maximum.
    ///
    /// # Errors
    /// None where the service is one that [`service`] made.
    pub fn normal(&self) -> Result<Distribution, DistributionError> {
        Distribution::normal(self.mean(), self.positioning().deviation())
    }
}

/// How long a disk with these parts takes for an access.
///
/// # Errors
/// The disk cannot be asked so, or its answer is not modelled.
pub fn service(
    mechanics: &Mechanics,
    electronics: &Electronics,
    access: Access,
) -> Result<Service, ServiceError> {
    let Access { work, blocks, pattern } = access;
    let span = Span::of(&mechanics.surface, pattern)?;
    if blocks == 0 || blocks as f64 > span.blocks {
        return Err(ServiceError::Blocks { blocks, most: span.blocks as u64 });
    }
    if work != Work::Read && electronics.buffer.caches_writes {
        return Err(ServiceError::CachedWrites);
    }
    let disk = Disk { mechanics, electronics, span };
    match pattern {
        Pattern::Runs(_) if work != Work::Read => Err(ServiceError::WrittenRun),
        Pattern::Runs(length) => disk.run(blocks, length),
        Pattern::Uniform | Pattern::Within(..) => disk.random(work, blocks),
    }
}
