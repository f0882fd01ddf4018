//! Accesses to a disk, and why the time of an access cannot be modelled.

use crate::order::DistributionError;

/// An access to a disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Access {
    /// The operation.
    pub work: Work,
    /// The number of blocks of 512 bytes.
    pub blocks: u64,
    /// The positions of the requests.
    pub pattern: Pattern,
}

/// The operation on the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// Read.
    Read,
    /// Write to the platters.
    Write,
    /// Read, and write one revolution later, in one access (Stodolsky et al., footnote 4).
    Modify,
}

/// The positions of requests, relative to the previous request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pattern {
    /// Uniform.
    Uniform,
    /// Uniform in the cylinders from the first to the last of these.
    Within(u32, u32),
    /// In sequential runs with this mean number of requests, without pauses; a run begins at a
    /// uniform position.
    Runs(f64),
}

/// Why the time of an access cannot be modelled.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ServiceError {
    /// The number of blocks is out of range.
    #[error("a request of {blocks} blocks is not possible; use 1 to {most}")]
    Blocks {
        /// The number of blocks.
        blocks: u64,
        /// The most blocks.
        most: u64,
    },
    /// The cylinders do not exist.
    #[error("cylinders {first} to {last} hold nothing; the drive has cylinders 0 to {end}")]
    Cylinders {
        /// The first cylinder.
        first: u32,
        /// The last cylinder.
        last: u32,
        /// The drive's last cylinder.
        end: u32,
    },
    /// The length of a run is invalid.
    #[error("runs of {0} requests are not possible; use a finite number from 1 on")]
    Run(f64),
    /// Runs are modelled only for reads.
    #[error("runs are modelled for reads only; use uniform places for what is written")]
    WrittenRun,
    /// The drive reports writes before they are on the platters.
    #[error(
        "the drive answers writes from its buffer; what that costs depends on what else it does, and is not modelled: simulate it"
    )]
    CachedWrites,
    /// Writes lose revolutions because the bus is slow.
    #[error(
        "the data of {blocks} blocks comes slower than the platters take it; that is not modelled: use smaller writes, or simulate it"
    )]
    SlowBus {
        /// The number of blocks.
        blocks: u64,
    },
    /// The distribution is invalid.
    #[error(transparent)]
    Distribution(#[from] DistributionError),
}
