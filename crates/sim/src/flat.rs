//! A drive without mechanics: times that do not depend on where and when, and several accesses at
//! once.

use parlour_drive::mechanics::Way;
use parlour_drive::solid::Solid;
use parlour_units::{Duration, Instant};
use parlour_workload::delay::Delay;
use parlour_workload::random::Random;

/// What such a drive is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlatModel {
    /// What a read takes, but for its blocks.
    pub read: Delay,
    /// What a write takes.
    pub write: Delay,
    /// What each block takes on top that is read.
    pub read_block: Duration,
    /// And each that is written.
    pub write_block: Duration,
    /// What a flush takes.
    pub flush: Duration,
    /// How many accesses it serves at once.
    pub units: u16,
    /// Blocks of 512 bytes; none: as many as are wanted.
    pub blocks: Option<u64>,
}

impl FlatModel {
    /// One unit, as long as it is wanted, that takes nothing for a flush, and nothing for blocks.
    pub fn station(service: Delay) -> FlatModel {
        FlatModel {
            read: service,
            write: service,
            read_block: Duration::ZERO,
            write_block: Duration::ZERO,
            flush: Duration::ZERO,
            units: 1,
            blocks: None,
        }
    }
}

impl From<&Solid> for FlatModel {
    fn from(solid: &Solid) -> FlatModel {
        FlatModel {
            read: Delay::Fixed(solid.read),
            write: Delay::Fixed(solid.write),
            read_block: solid.read_block,
            write_block: solid.write_block,
            flush: solid.flush,
            units: solid.units,
            blocks: Some(solid.blocks),
        }
    }
}

/// Such a drive.
#[derive(Clone, Debug)]
pub struct Flat {
    model: FlatModel,
    random: Random,
}

impl Flat {
    /// A drive whose times are drawn from `random`, as far as they are drawn at all.
    pub fn new(model: FlatModel, random: Random) -> Flat {
        Flat { model, random }
    }

    /// How many accesses it serves at once.
    pub fn units(&self) -> u16 {
        self.model.units.max(1)
    }

    /// Its blocks, if they are counted.
    pub fn blocks(&self) -> Option<u64> {
        self.model.blocks
    }

    /// When an access is done that begins now.
    pub(crate) fn serve(&mut self, now: Instant, way: Way, blocks: u64) -> Instant {
        let (delay, block) = match way {
            Way::Read => (self.model.read, self.model.read_block),
            Way::Write => (self.model.write, self.model.write_block),
        };
        now + delay.draw(&mut self.random) + block * blocks
    }

    /// When a flush is done that begins now.
    pub(crate) fn flush(&self, now: Instant) -> Instant {
        now + self.model.flush
    }
}
