//! How long a disk takes for a request: the model of Shriver and of Barve et al. that Varki and
//! Wang cite (§2.2), for a drive of the catalogue.
//!
//! The papers that are cited are not at hand in full; what they are cited for is: requests that are
//! spread uniformly over all cylinders, or over some that are neighbours, or that come in
//! sequential runs; drives with zones. What is left open is chosen here:
//!
//! - *Seek.* From one uniformly drawn block to another: cylinders count by the blocks that they
//!   hold. The mean and all moments are over the drive's own curve, and not the curve at the mean
//!   distance.
//! - *Rotation.* Evenly distributed over a revolution, unless the drive takes a track's sectors in
//!   any order, or the request goes on where the last one ended.
//! - *Transfer.* By zone, weighted by the blocks of each; with every track or cylinder that a
//!   request crosses it costs what skews and switches make of it.
//! - *Overheads.* As the drive's file tells them, for requests that follow others of the same kind.
//!   A read keeps the bus from when so much of it is in the buffer as the drive waits for; where
//!   the bus is slower than the platters it is the bus that counts.
//!
//! What is said of a request of some size holds for one that begins anywhere: where all begin at
//! multiples of a size, they may cross fewer ends of tracks, or more.
//!
//! Read [`seek`] (how far, and how likely), [`tracks`] (from one track to the next), `arrivals`
//! (where on the first track heads arrive), [`positioning`] (seek and rotation, as a distribution).

mod access;
mod arrivals;
mod disk;
mod moments;
pub mod positioning;
mod runs;
pub mod seek;
mod times;
pub mod tracks;

use parlour_drive::electronics::Electronics;
use parlour_drive::mechanics::Mechanics;

pub use access::{Access, Pattern, ServiceError, Work};
use disk::Disk;
pub use moments::Moments;
use seek::Span;
pub use times::Service;

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
