//! A drive without mechanics: access times that do not depend on position or time, and several
//! accesses at once.

use parlour_drive::mechanics::Way;
use parlour_drive::solid::Solid;
use parlour_units::{Duration, Instant};
use parlour_workload::delay::Delay;
use parlour_workload::random::Random;

/// The parameters of a drive without mechanics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlatModel {
    /// The time of a read, without the time for its blocks.
    pub read: Delay,
    /// The time of a write, without the time for its blocks.
    pub write: Delay,
    /// The additional time for each block that is read.
    pub read_block: Duration,
    /// The additional time for each block that is written.
    pub write_block: Duration,
    /// The time of a flush.
    pub flush: Duration,
    /// The number of accesses that it serves at once.
    pub units: u16,
    /// The number of blocks of 512 bytes; none for an unlimited number.
    pub blocks: Option<u64>,
}

impl FlatModel {
    /// A drive of unlimited length with one unit. A flush takes no time, and blocks take no
    /// additional time.
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

/// A drive without mechanics.
#[derive(Clone, Debug)]
pub struct Flat {
    model: FlatModel,
    random: Random,
}

impl Flat {
    /// A drive whose random times are drawn from `random`.
    pub fn new(model: FlatModel, random: Random) -> Flat {
        Flat { model, random }
    }

    /// The number of accesses that it serves at once.
    pub fn units(&self) -> u16 {
        self.model.units.max(1)
    }

    /// The number of its blocks, if it is limited.
    pub fn blocks(&self) -> Option<u64> {
        self.model.blocks
    }

    /// When an access that begins now is done.
    pub(crate) fn serve(&mut self, now: Instant, way: Way, blocks: u64) -> Instant {
        let (delay, block) = match way {
            Way::Read => (self.model.read, self.model.read_block),
            Way::Write => (self.model.write, self.model.write_block),
        };
        now + delay.draw(&mut self.random) + block * blocks
    }

    /// When a flush that begins now is done.
    pub(crate) fn flush(&self, now: Instant) -> Instant {
        now + self.model.flush
    }
}
