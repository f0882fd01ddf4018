//! What a workload has before it: so many sectors, in one volume or in several beside one another.

use parlour_units::{Sector, Sectors};

/// An address space of one or several volumes. No request crosses from one to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    /// Where each volume ends, and the next begins.
    ends: Vec<Sector>,
    block: Sectors,
}

/// Why there is no such space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpaceError {
    /// There is no room.
    #[error("{length} sectors have no room for a block of {block}")]
    NoRoom {
        /// Sectors that there are.
        length: u64,
        /// What is to fit.
        block: u64,
    },
    /// Blocks would lie across two volumes.
    #[error("a volume of {length} sectors is no whole number of blocks of {block}")]
    PartOfBlock {
        /// Of the volume.
        length: u64,
        /// A block.
        block: u64,
    },
}

impl Space {
    /// A single volume, of which what is no whole block is not used.
    pub fn new(length: Sectors, block: Sectors) -> Result<Space, SpaceError> {
        if block.is_zero() || length < block {
            return Err(SpaceError::NoRoom { length: length.get(), block: block.get() });
        }
        Ok(Space { ends: vec![Sector::ZERO + length.round_down(block)], block })
    }

    /// Several volumes, one after the other.
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

    /// All of it.
    pub fn length(&self) -> Sectors {
        self.ends[self.ends.len() - 1].from_start()
    }

    /// What requests are aligned to.
    pub fn block(&self) -> Sectors {
        self.block
    }

    /// Each volume: where it begins, and how long it is.
    pub fn each(&self) -> impl Iterator<Item = (Sector, Sectors)> + '_ {
        let starts = std::iter::once(Sector::ZERO).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| (start, *end - start))
    }

    /// The longest request that fits any volume.
    pub fn longest(&self) -> Sectors {
        self.each().map(|(_, length)| length).min().unwrap_or(Sectors::ZERO)
    }

    /// Where a request goes that was to go there: one that would reach beyond a volume ends where
    /// the volume does.
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
