//! The spare sectors of a zone, and the blocks that were moved away from bad sectors.
//!
//! The sectors (or tracks) of a zone are numbered in the order in which blocks would fill it
//! without spares and bad sectors. A bad one is *slipped*: all later ones in its group, which is
//! the part of the zone that shares spares, move by one. A *defect* is replaced by another place.

/// The group that shares spares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// A zone. Slips are tracks, and spares are tracks too.
    ZoneOfTracks,
    /// A zone.
    Zone,
    /// This many consecutive cylinders.
    Cylinders(u32),
    /// A track.
    Track,
    /// The whole drive: spares are at its end, and a slip moves blocks into the next zone.
    Drive,
}

/// The dimensions of a zone without spares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The number of cylinders.
    pub cylinders: u64,
    /// The number of tracks of a cylinder.
    pub heads: u64,
    /// The number of sectors of a track.
    pub sectors: u64,
}

/// Why spares are invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SparingError {
    /// There are more spares than sectors or tracks.
    #[error("{spares} spares leave nothing of the {size} that share them")]
    NothingLeft {
        /// The number of spares.
        spares: u64,
        /// The number of sectors or tracks in the group.
        size: u64,
    },
    /// A slip is beyond the zone.
    #[error("slip {0} lies beyond the zone's end")]
    SlipBeyond(u64),
}

/// Converts the number of a block in its zone to the number of a sector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sparing {
    /// The number of sectors of an item: one, or those of a track.
    grain: u64,
    /// The number of items that share spares, and of those that hold blocks.
    group: u64,
    usable: u64,
    /// Slips, sorted: the [key](Sparing::key) of the first item that each one moves.
    slips: Vec<u64>,
    /// Items that are replaced, and their replacements, sorted.
    defects: Vec<(u64, u64)>,
    /// Whether a slip in a group also rotates the tracks after it.
    turns: bool,
}

/// The position of a block among its zone's sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    /// The number of its sector.
    pub(crate) sector: u64,
    /// The number of sectors by which its track is rotated.
    pub(crate) turned: u64,
}

impl Sparing {
    /// The sparing of a zone with these dimensions. Slips are numbered as in the drive's own
    /// tables.
    pub fn new(
        sharing: Sharing,
        shape: Shape,
        spares: u64,
        slips: &[u64],
        defects: &[(u64, u64)],
    ) -> Result<Sparing, SparingError> {
        let Shape { cylinders, heads, sectors } = shape;
        let all = cylinders * heads * sectors;
        let (grain, group) = match sharing {
            Sharing::ZoneOfTracks => (sectors, cylinders * heads),
            Sharing::Zone | Sharing::Drive => (1, all),
            Sharing::Cylinders(range) => (1, u64::from(range) * heads * sectors),
            Sharing::Track => (1, sectors),
        };
        // At the drive's end, the number of slipped sectors is missing.
        let spares = if sharing == Sharing::Drive { slips.len() as u64 } else { spares };
        let usable = group
            .checked_sub(spares)
            .filter(|usable| *usable > 0)
            .ok_or(SparingError::NothingLeft { spares, size: group })?;
        if let Some(beyond) = slips.iter().find(|slip| **slip >= all / grain) {
            return Err(SparingError::SlipBeyond(*beyond));
        }
        let turns = matches!(sharing, Sharing::Track | Sharing::Cylinders(1));
        let mut defects = defects.to_vec();
        defects.sort_unstable();
        let mut sparing = Sparing { grain, group, usable, slips: Vec::new(), defects, turns };
        sparing.slips = first_moved(slips, group, usable)
            .iter()
            .map(|(group, first)| sparing.key(*group, *first))
            .collect();
        Ok(sparing)
    }

    /// Combines a group and an item in it into one number, in order. A slip that moves no item of
    /// its group has a key after all of them.
    fn key(&self, group: u64, item: u64) -> u64 {
        group * (self.usable + 1) + item
    }

    /// The number of slips before `group`.
    fn slips_before(&self, group: u64) -> usize {
        if group == 0 { 0 } else { self.slips.partition_point(|slip| *slip < self.key(group, 0)) }
    }

    /// The item of block `block` without bad sectors: its group and its number in the group; and
    /// the block's sector in the item.
    fn item(&self, block: u64) -> ((u64, u64), u64) {
        let (item, within) = match self.grain {
            1 => (block, 0),
            grain => (block / grain, block % grain),
        };
        match item < self.usable {
            true => ((0, item), within),
            false => ((item / self.usable, item % self.usable), within),
        }
    }

    /// The position of block `block` of the zone.
    pub(crate) fn spot(&self, block: u64) -> Spot {
        let ((group, rest), within) = self.item(block);
        let (mut moved, mut before) = (0, 0);
        if !self.slips.is_empty() {
            before = self.slips_before(group);
            let key = self.key(group, rest);
            moved = self.slips[before..].partition_point(|slip| *slip <= key);
        }
        let mut item = group * self.group + rest + moved as u64;
        if let Ok(index) = self.defects.binary_search_by_key(&item, |(bad, _)| *bad) {
            item = self.defects[index].1;
        }
        let turned = if self.turns { before as u64 } else { 0 };
        Spot { sector: item * self.grain + within, turned }
    }

    /// The number of blocks, from `block` of the zone on, that are in consecutive sectors: up to
    /// the end of the group, or to a sector that was slipped or replaced.
    pub(crate) fn straight(&self, block: u64) -> u64 {
        let ((group, rest), within) = self.item(block);
        let key = self.key(group, rest);
        let next = self.slips.partition_point(|slip| *slip <= key);
        let mut items = self.usable - rest;
        if let Some(slip) = self.slips.get(next) {
            items = items.min(slip - key);
        }
        if !self.defects.is_empty() {
            let stands = group * self.group + rest + (next - self.slips_before(group)) as u64;
            let bad = self.defects.partition_point(|(bad, _)| *bad < stands);
            items = self.defects.get(bad).map_or(items, |(bad, _)| items.min((bad - stands).max(1)));
        }
        items * self.grain - within
    }
}

/// For each slip, the first item of its group that it moves, after the slips before it in the list
/// have moved items.
fn first_moved(slips: &[u64], group: u64, usable: u64) -> Vec<(u64, u64)> {
    let mut moved: Vec<(u64, u64)> = Vec::with_capacity(slips.len());
    for slip in slips {
        let (number, place) = (slip / group, slip % group);
        let reaches = |item: u64| {
            let before = moved.iter().filter(|(other, first)| *other == number && *first <= item);
            place <= item + before.count() as u64
        };
        // A later item has been moved at least as far, so bisection works.
        let (mut low, mut high) = (0, usable);
        while low < high {
            let middle = low + (high - low) / 2;
            if reaches(middle) { high = middle } else { low = middle + 1 }
        }
        moved.push((number, low));
    }
    moved.sort_unstable();
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { cylinders: 6, heads: 2, sectors: 10 };

    fn spots(sparing: &Sparing, blocks: std::ops::Range<u64>) -> Vec<u64> {
        blocks.map(|block| sparing.spot(block).sector).collect()
    }

    #[test]
    fn without_slips_spares_are_passed_over() {
        let track = Sparing::new(Sharing::Track, SHAPE, 2, &[], &[]).unwrap();
        assert_eq!(spots(&track, 6..10), [6, 7, 10, 11]);
        let cylinder = Sparing::new(Sharing::Cylinders(1), SHAPE, 3, &[], &[]).unwrap();
        assert_eq!(spots(&cylinder, 15..19), [15, 16, 20, 21]);
        let range = Sparing::new(Sharing::Cylinders(2), SHAPE, 3, &[], &[]).unwrap();
        assert_eq!(spots(&range, 35..39), [35, 36, 40, 41]);
        let zone = Sparing::new(Sharing::Zone, SHAPE, 3, &[], &[]).unwrap();
        assert_eq!(spots(&zone, 115..117), [115, 116]);
    }

    #[test]
    fn a_slip_moves_on_what_follows_in_its_group() {
        let zone = Sparing::new(Sharing::Zone, SHAPE, 3, &[4, 5, 9], &[]).unwrap();
        assert_eq!(spots(&zone, 2..9), [2, 3, 6, 7, 8, 10, 11]);
        let track = Sparing::new(Sharing::Track, SHAPE, 2, &[13], &[]).unwrap();
        assert_eq!(spots(&track, 7..17), [7, 10, 11, 12, 14, 15, 16, 17, 18, 20]);
        assert_eq!(track.spot(15).turned, 0);
        assert_eq!(track.spot(16).turned, 1, "tracks after it begin a sector later");
    }

    #[test]
    fn slips_count_in_the_order_of_the_list() {
        let sparing = Sparing::new(Sharing::Zone, SHAPE, 9, &[50, 20, 51], &[]).unwrap();
        let walk = |block: u64| [50, 20, 51].iter().fold(block, |at, slip| at + u64::from(*slip <= at));
        for block in 0..111 {
            assert_eq!(sparing.spot(block).sector, walk(block), "block {block}");
        }
    }

    #[test]
    fn slips_of_tracks_move_whole_tracks() {
        let sparing = Sparing::new(Sharing::ZoneOfTracks, SHAPE, 2, &[1], &[(3, 11)]).unwrap();
        assert_eq!(spots(&sparing, 8..12), [8, 9, 20, 21]);
        assert_eq!(spots(&sparing, 20..22), [110, 111], "the fourth track is bad");
    }

    #[test]
    fn straight_runs_end_at_spares_slips_and_defects() {
        for sharing in [Sharing::Track, Sharing::Cylinders(2), Sharing::Zone, Sharing::ZoneOfTracks] {
            let sectors = sharing != Sharing::ZoneOfTracks;
            let (slips, defects) =
                if sectors { (vec![4, 5, 33], vec![(41, 119)]) } else { (vec![1], vec![(3, 11)]) };
            let sparing = Sparing::new(sharing, SHAPE, 3 - u64::from(!sectors), &slips, &defects).unwrap();
            let all = spots(&sparing, 0..80);
            for (block, pair) in all.windows(2).enumerate() {
                let goes_on = sparing.straight(block as u64) > 1;
                assert!(!goes_on || pair[1] == pair[0] + 1, "{sharing:?}, block {block}");
                let ends = (block as u64 + 1).is_multiple_of(sparing.usable * sparing.grain);
                assert!(goes_on || ends || pair[1] != pair[0] + 1, "{sharing:?}, block {block} goes on");
            }
        }
    }

    #[test]
    fn what_leaves_nothing_is_refused() {
        let nothing = Sparing::new(Sharing::Track, SHAPE, 10, &[], &[]);
        assert_eq!(nothing, Err(SparingError::NothingLeft { spares: 10, size: 10 }));
        assert_eq!(Sparing::new(Sharing::Zone, SHAPE, 1, &[120], &[]), Err(SparingError::SlipBeyond(120)));
    }
}
