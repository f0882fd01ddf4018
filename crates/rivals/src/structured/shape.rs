//! Segments on members: each is a row of equal pieces, one of them parity, that moves as in a
//! left-symmetric RAID 5.

use parlour_units::{Member, Sector, Sectors};

/// Where segments and their units are.
///
/// A segment's data is row after row: slot `s` is in row `s / columns`, so that a few rows, with
/// their parity, can be written alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) members: u16,
    pub(super) unit: Sectors,
    /// The units of a segment on each member.
    pub(super) rows: u32,
    pub(super) segments: u32,
}

impl Shape {
    /// The data units of a row.
    pub(super) fn columns(&self) -> u32 {
        u32::from(self.members) - 1
    }

    /// The data units of a segment.
    pub(super) fn slots(&self) -> u32 {
        self.rows * self.columns()
    }

    /// The segment of a place, which is the number of a slot among those of all segments.
    pub(super) fn segment(&self, place: u32) -> u32 {
        place / self.slots()
    }

    /// The first place of a segment.
    pub(super) fn first(&self, segment: u32) -> u32 {
        segment * self.slots()
    }

    /// The member and the sector of a place.
    pub(super) fn at(&self, place: u32) -> (Member, Sector) {
        let (segment, slot) = (self.segment(place), place % self.slots());
        let (row, column) = (slot / self.columns(), slot % self.columns());
        (self.member(segment, column), self.row(segment, row))
    }

    /// The member of a column. The column after the data is parity.
    pub(super) fn member(&self, segment: u32, column: u32) -> Member {
        let members = u32::from(self.members);
        let parity = members - 1 - segment % members;
        Member::new(((parity + 1 + column) % members) as u16)
    }

    /// The sector at which a row of a segment begins on each member.
    pub(super) fn row(&self, segment: u32, row: u32) -> Sector {
        Sector::ZERO + self.unit * (u64::from(segment) * u64::from(self.rows) + u64::from(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_places_are_one() {
        let shape = Shape { members: 5, unit: Sectors::new(4), rows: 3, segments: 7 };
        let mut seen: Vec<(u16, u64)> = (0..7 * shape.slots())
            .map(|place| shape.at(place))
            .chain((0..7).flat_map(|segment| {
                (0..3).map(move |row| (shape.member(segment, 4), shape.row(segment, row)))
            }))
            .map(|(member, at)| (member.get(), at.get()))
            .collect();
        seen.sort_unstable();
        let all = (0..5).flat_map(|member| (0..21).map(move |row| (member, row * 4)));
        assert_eq!(seen, all.collect::<Vec<_>>());
    }

    #[test]
    fn parity_moves_left_and_data_starts_after_it() {
        let shape = Shape { members: 4, unit: Sectors::new(1), rows: 1, segments: 4 };
        let parity = [0, 1, 2, 3, 4].map(|segment| shape.member(segment, 3).get());
        assert_eq!(parity, [3, 2, 1, 0, 3], "the last column");
        assert_eq!([0, 1, 2].map(|column| shape.member(0, column).get()), [0, 1, 2]);
    }
}
