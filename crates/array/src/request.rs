//! Hosts' requests and their completions.

use parlour_units::{Sector, Sectors};

use crate::buffer::BufferId;

/// The driver's name for a request; the array returns it unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u64);

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Read into the request's buffer.
    Read,
    /// Write the request's buffer. With `durable`, the write is answered when it would survive a
    /// power failure (FUA).
    Write {
        /// Whether to answer only when it is durable.
        durable: bool,
    },
    /// Write zeroes. They are written like other data, but whole stripes may be unmapped.
    WriteZeroes {
        /// Whether stripes may be unmapped (if NBD's NO_HOLE is not set).
        may_unmap: bool,
        /// Whether to refuse the request if it would be as slow as a write (NBD's FAST_ZERO).
        fast_only: bool,
        /// Whether to answer only when it is durable.
        durable: bool,
    },
    /// The content is no longer needed; later reads of it are undefined.
    Trim,
    /// Make all requests durable that were answered before.
    Flush,
}

/// One request of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The driver's name for the request.
    pub tag: Tag,
    /// The operation.
    pub operation: Operation,
    /// The first sector in the array; a multiple of the block size.
    pub at: Sector,
    /// The length; a multiple of the block size. Zero for a flush.
    pub length: Sectors,
    /// The payload of a read or write, taken by [`Array::reserve`](crate::Array::reserve).
    pub buffer: Option<BufferId>,
}

/// A request is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The request's name.
    pub tag: Tag,
    /// The result.
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
    /// The array is read-only.
    #[error("the array is read-only")]
    ReadOnly,
    /// The array is read-only because a member has run out of space.
    #[error("the array is read-only, because a member has no space left")]
    NoSpace,
    /// More members are missing than the organization tolerates, or a block has lost its last
    /// redundancy.
    #[error("data is lost: more has failed here than the organization survives")]
    Lost,
    /// Zeroes could only be written slowly, and the host asked for an error in this case.
    #[error("zeroes cannot be written fast here")]
    NotFast,
    /// The array is stopping.
    #[error("the array is stopping")]
    Stopping,
    /// Another server has opened the array.
    #[error("another server has opened the array: this one neither reads nor writes it any more")]
    Superseded,
}
