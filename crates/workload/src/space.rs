//! The address space of a workload, in one or several volumes.

use parlour_units::{Sector, Sectors};

/// An address space of one or several volumes. No request crosses a border between volumes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    /// The end of each volume, where the next one begins.
    ends: Vec<Sector>,
    block: Sectors,
}

/// Why a space is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpaceError {
    /// It is smaller than a block.
    #[error("{length} sectors have no room for a block of {block}")]
    NoRoom {
        /// The sectors of the space.
        length: u64,
        /// The block.
        block: u64,
    },
    /// A volume is not a whole number of blocks.
    #[error("a volume of {length} sectors is no whole number of blocks of {block}")]
    PartOfBlock {
        /// The sectors of the volume.
        length: u64,
        /// The block.
        block: u64,
    },
}

impl Space {
    /// A single volume. A remainder that is not a whole block is not used.
    pub fn new(length: Sectors, block: Sectors) -> Result<Space, SpaceError> {
        if block.is_zero() || length < block {
            return Err(SpaceError::NoRoom { length: length.get(), block: block.get() });
        }
        Ok(Space { ends: vec![Sector::ZERO + length.round_down(block)], block })
    }

    /// Several consecutive volumes.
    pub fn volumes(lengths: &[Sectors], block: Sectors) -> Result<Space, SpaceError> {
        let mut ends = Vec::with_capacity(lengths.len());
        let mut end = Sector::ZERO;
        for length in lengths {
            let (length, block) = (length.get(), block.get());
            if block == 0 || length < block {
                return Err(SpaceError::NoRoom { length, block });
            }
            if !length.is_multiple_of(block) {
                return Err(SpaceError::PartOfBlock { length, block });
            }
            end = end + Sectors::new(length);
            ends.push(end);
        }
        if ends.is_empty() {
            return Err(SpaceError::NoRoom { length: 0, block: block.get() });
        }
        Ok(Space { ends, block })
    }

    /// The length of all volumes.
    pub fn length(&self) -> Sectors {
        self.ends[self.ends.len() - 1].from_start()
    }

    /// The alignment of requests.
    pub fn block(&self) -> Sectors {
        self.block
    }

    /// The first sector and the length of each volume.
    pub fn each(&self) -> impl Iterator<Item = (Sector, Sectors)> + '_ {
        let starts = std::iter::once(Sector::ZERO).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| (start, *end - start))
    }

    /// The length of the longest request that fits into every volume.
    pub fn longest(&self) -> Sectors {
        self.each().map(|(_, length)| length).min().unwrap_or(Sectors::ZERO)
    }

    /// The position of a request: if it would cross the end of its volume, it is moved to end
    /// there.
    pub fn fit(&self, at: Sector, length: Sectors) -> Sector {
        let volume = self.ends.partition_point(|end| *end <= at).min(self.ends.len() - 1);
        let end = self.ends[volume].from_start();
        if at.from_start() + length <= end { at } else { Sector::ZERO + end.saturating_sub(length) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_end_where_their_volume_does() {
        let block = Sectors::new(8);
        let space = Space::volumes(&[Sectors::new(80), Sectors::new(160)], block).unwrap();
        let fit = |at, length| space.fit(Sector::new(at), Sectors::new(length)).get();
        assert_eq!([fit(0, 80), fit(72, 8), fit(72, 16), fit(80, 16), fit(232, 80)], [0, 72, 64, 80, 160]);
        assert_eq!((space.length(), space.longest()), (Sectors::new(240), Sectors::new(80)));
        let each: Vec<_> = space.each().map(|(at, length)| (at.get(), length.get())).collect();
        assert_eq!(each, [(0, 80), (80, 160)]);
    }

    #[test]
    fn volumes_are_whole_blocks() {
        let block = Sectors::new(8);
        let wrong = Space::volumes(&[Sectors::new(80), Sectors::new(81)], block);
        assert_eq!(wrong, Err(SpaceError::PartOfBlock { length: 81, block: 8 }));
        assert_eq!(Space::volumes(&[], block), Err(SpaceError::NoRoom { length: 0, block: 8 }));
        assert_eq!(Space::new(Sectors::new(83), block).unwrap().length(), Sectors::new(80));
    }
}
