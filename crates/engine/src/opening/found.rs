//! What is read from a member before the array is put together.

use parlour_array::record::{CandidateInput, OpeningInputs};
use parlour_array::{Assembly, Geometry, SUPERBLOCK_BYTES, is_long_enough};
use parlour_units::{Sector, Sectors};

use super::Note;
use crate::fault::Failure;
use crate::member::Member;

/// An open member and both copies of its superblock.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) member: Member,
    superblocks: [Vec<u8>; 2],
}

impl Found {
    /// Reads the superblocks of `member`. One copy that can be read is enough.
    pub(super) fn read(member: Member) -> Result<Found, Note> {
        match superblock_copies(&member) {
            [Err(failure), Err(_)] => Err(Note::Unreadable { path: member.path().into(), failure }),
            copies => {
                let superblocks = copies.map(Result::unwrap_or_default);
                Ok(Found { member, superblocks })
            }
        }
    }

    pub(super) fn input(&self) -> CandidateInput {
        CandidateInput {
            name: self.member.path().display().to_string(),
            length: self.member.length().get(),
            unmaps: self.member.can_punch(),
            superblocks: self.superblocks.clone(),
        }
    }
}

/// Both copies of a member's superblock, as they are; empty where it is too short to have them.
pub(crate) fn superblock_copies(member: &Member) -> [Result<Vec<u8>, Failure>; 2] {
    let length = member.length();
    if !is_long_enough(length) {
        let first = length.bytes().get() >= SUPERBLOCK_BYTES as u64;
        return [
            if first { read(member, Sector::ZERO, SUPERBLOCK_BYTES) } else { Ok(Vec::new()) },
            Ok(Vec::new()),
        ];
    }
    Geometry::superblock_places(length).map(|at| read(member, at, SUPERBLOCK_BYTES))
}

/// Adds both maps, tables and lists of the member in the next place to `inputs`.
pub(super) fn read_records(member: Option<&Member>, geometry: &Geometry, inputs: &mut OpeningInputs) {
    let read = |at: Sector, length: Sectors| read_block(member?, at, length);
    inputs.maps.push([0, 1].map(|slot| read(geometry.map_place(slot), geometry.map_length())));
    if geometry.layout().logs().is_some() {
        inputs.tables.push([0, 1].map(|slot| read(geometry.table_place(slot), geometry.table_length())));
    }
    if geometry.list_place(0).is_some() {
        let list = |slot| geometry.list_place(slot).and_then(|(at, length)| read(at, length));
        inputs.lists.push([0, 1].map(list));
    }
}

/// The commit log of the member in each place; empty where there is none, or it cannot be read.
pub(super) fn read_commit_logs(assembly: &Assembly, found: &[Found]) -> Vec<Vec<u8>> {
    let (at, length) = assembly.geometry.commit_log();
    let read = |place: &Option<usize>| {
        let index = place.filter(|_| !length.is_zero())?;
        read_block(&found[index].member, at, length)
    };
    assembly.places.iter().map(|place| read(place).unwrap_or_default()).collect()
}

/// `length` of the member from `at`, if it can be read.
pub(crate) fn read_block(member: &Member, at: Sector, length: Sectors) -> Option<Vec<u8>> {
    read(member, at, length.bytes().as_usize()).ok()
}

fn read(member: &Member, at: Sector, length: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = vec![0; length];
    member.read_at(at, &mut bytes)?;
    Ok(bytes)
}
