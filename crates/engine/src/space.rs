//! Setting space aside on members: metadata and commit logs must not run out of it; data, parity and the logs of regions may
//! stay sparse. (Where those find no space, what is in the commit logs counts, and the array becomes read-only.)

use parlour_array::{Geometry, SUPERBLOCK};
use parlour_units::Sector;

use crate::member::{Member, MemberError};

/// Sets space aside on `member` for its superblocks, maps, tables, lists and commit log.
pub(crate) fn preallocate_metadata(member: &Member, geometry: &Geometry) -> Result<(), MemberError> {
    member.preallocate(Sector::ZERO, geometry.data_start().from_start())?;
    let [_, second] = Geometry::superblock_places(member.length());
    member.preallocate(second, SUPERBLOCK)
}
