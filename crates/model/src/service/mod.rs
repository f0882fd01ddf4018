//! The service time of a disk: the model of Shriver and of Barve et al. that Varki and Wang cite
//! (§2.2), for a drive of the catalogue.
//!
//! The cited papers are not available in full. They are cited for requests that are uniform over
//! all cylinders or over neighbouring ones, or that come in sequential runs, on drives with zones.
//! The following choices are made here:
//!
//! - *Seek.* From one uniform random block to another: cylinders are weighted by their blocks. The
//!   mean and all moments are computed from the drive's curve, not from its value at the mean
//!   distance.
//! - *Rotation.* Uniform over a revolution, unless the drive takes a track's sectors in any order,
//!   or the request continues where the last one ended.
//! - *Transfer.* By zone, weighted by the blocks of each zone; with the cost of skews and switches
//!   for each track or cylinder that a request crosses.
//! - *Overheads.* As in the drive's file, for requests that follow others of the same kind. A read
//!   keeps the bus from when the blocks that the drive waits for are in the buffer; if the bus is
//!   slower than the platters, the bus determines the time.
//!
//! The results for a size hold for requests that begin at any block. If all begin at multiples of a
//! size, they may cross fewer or more ends of tracks.
//!
//! The modules: [`seek`] (distances and their probabilities), [`tracks`] (from one track to the
//! next), `arrivals` (where the heads arrive on the first track), [`positioning`] (the distribution
//! of seek and rotation).

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

/// The time of an access on a disk with these parts.
///
/// # Errors
/// The access is invalid, or its time is not modelled.
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
