//! What hosts ask of the array.

use parlour_units::{Sector, Sectors};

use crate::buffer::BufferId;

/// The driver's own name for a request; the array gives it back unread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u64);

/// What a host wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Fill the request's buffer.
    Read,
    /// Write the request's buffer; with `durable`, answer when it would survive a power failure
    /// (FUA).
    Write {
        /// Whether to answer only when it is durable.
        durable: bool,
    },
    /// Write zeroes. They are written like any data, but whole stripes may give their space back.
    WriteZeroes {
        /// Whether space may be given back (absent NBD's NO_HOLE).
        may_unmap: bool,
        /// Refuse rather than be as slow as a write (NBD's FAST_ZERO).
        fast_only: bool,
        /// Whether to answer only when it is durable.
        durable: bool,
    },
    /// The content is no longer needed; what is read there afterwards is not defined.
    Trim,
    /// Make durable all that was answered before.
    Flush,
}

/// One request of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The driver's name for it.
    pub tag: Tag,
    /// What to do.
    pub operation: Operation,
    /// Where in the array; a multiple of the block size.
    pub at: Sector,
    /// How much; a multiple of the block size. Zero for a flush.
    pub length: Sectors,
    /// The payload of a read or write, taken by [`Array::reserve`](crate::Array::reserve).
    pub buffer: Option<BufferId>,
}

/// A request is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Which one.
    pub tag: Tag,
    /// How it ended.
    pub result: Result<(), RequestError>,
}

/// Why a request was not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// It reaches beyond the end of the array.
    #[error("the request reaches beyond the end of the array")]
    BeyondEnd,
    /// It is not aligned to the block size.
    #[error("the request is not aligned to the array's block size")]
    Misaligned,
    /// Its buffer is missing or too small.
    #[error("the request's buffer does not fit its length")]
    BadBuffer,
    /// The array may not be written.
    #[error("the array is read-only")]
    ReadOnly,
    /// The array may not be written, because a member has run out of space.
    #[error("the array is read-only, because a member has no space left")]
    NoSpace,
    /// More members are missing than the organization survives, or a block has lost its last
    /// redundancy.
    #[error("data is lost: more has failed here than the organization survives")]
    Lost,
    /// It could only be done slowly, and the host asked to be told.
    #[error("zeroes cannot be written fast here")]
    NotFast,
    /// The array is stopping.
    #[error("the array is stopping")]
    Stopping,
    /// Another server has opened the array.
    #[error("another server has opened the array: this one neither reads nor writes it any more")]
    Superseded,
}
