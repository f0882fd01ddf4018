//! A drive without mechanics: times that do not depend on where and when, and several accesses at once.

use parlour_drive::mechanics::Way;
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
    /// What each block takes on top.
    pub block: Duration,
    /// What a flush takes.
    pub flush: Duration,
    /// How many accesses it serves at once.
    pub units: u16,
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

    /// When an access is done that begins now.
    pub(crate) fn serve(&mut self, now: Instant, way: Way, blocks: u64) -> Instant {
        let delay = match way {
            Way::Read => self.model.read,
            Way::Write => self.model.write,
        };
        now + delay.draw(&mut self.random) + self.model.block * blocks
    }

    /// When a flush is done that begins now.
    pub(crate) fn flush(&self, now: Instant) -> Instant {
        now + self.model.flush
    }
}
