//! Which writes are staged: those that are cheaper to write twice than to write alone.

use crate::format::commit_entry::write_length;
use crate::geometry::Geometry;
use crate::stage::map::Range;

/// The longest write that is staged takes this part of a lane of the stream of writes.
const LONGEST: u64 = 16;

/// Whether a write is staged: it covers no whole stripe, and is not long.
pub(crate) fn is_short(geometry: &Geometry, range: Range) -> bool {
    let stripe = geometry.layout().stripe_data();
    let (first, last) = (range.from.from_start().round_up(stripe), range.to.from_start().round_down(stripe));
    first >= last && write_length(range.length(), geometry.block()) * LONGEST <= geometry.lane_of_writes()
}
