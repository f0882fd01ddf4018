//! What a disk may be asked for, and what its time cannot be told of.

use crate::order::DistributionError;

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
    /// They are read, and written as they come round again, in one access (Stodolsky et al.,
    /// footnote 4).
    Modify,
}

/// Where requests are, seen from the one before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pattern {
    /// Anywhere.
    Uniform,
    /// Anywhere in the cylinders from the first to the last of these.
    Within(u32, u32),
    /// In runs of this many requests in the mean, each where the last one ended, with nothing
    /// between; runs begin anywhere.
    Runs(f64),
}

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
