//! A drive without mechanics, as a solid-state drive is: latencies that do not depend on the place,
//! and several accesses at once.

use parlour_units::{Bytes, Duration};
use serde::Deserialize;

use crate::refusal::{DescriptionError, optional, time};

/// `[solid]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SolidTable {
    /// Blocks of 512 bytes.
    pub blocks: u64,
    /// Accesses that it works on at once; others wait in the order of coming.
    #[serde(default = "one")]
    pub units: u16,
    /// What a read takes, but for its blocks.
    pub read: String,
    /// What a write takes.
    pub write: String,
    /// What each block takes on top that is read.
    #[serde(default)]
    pub read_block: Option<String>,
    /// And each that is written.
    #[serde(default)]
    pub write_block: Option<String>,
    /// What a flush takes.
    #[serde(default)]
    pub flush: Option<String>,
}

fn one() -> u16 {
    1
}

/// Such a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Solid {
    /// Blocks of 512 bytes.
    pub blocks: u64,
    /// Accesses that it works on at once.
    pub units: u16,
    /// What a read takes, but for its blocks.
    pub read: Duration,
    /// What a write takes.
    pub write: Duration,
    /// What each block takes on top that is read.
    pub read_block: Duration,
    /// And each that is written.
    pub write_block: Duration,
    /// What a flush takes.
    pub flush: Duration,
}

impl SolidTable {
    pub(crate) fn solid(&self) -> Result<Solid, DescriptionError> {
        if self.blocks == 0 || self.units == 0 {
            return Err(DescriptionError::EmptySolid);
        }
        Ok(Solid {
            blocks: self.blocks,
            units: self.units,
            read: time("solid.read", &self.read)?,
            write: time("solid.write", &self.write)?,
            read_block: optional("solid.read_block", self.read_block.as_deref())?,
            write_block: optional("solid.write_block", self.write_block.as_deref())?,
            flush: optional("solid.flush", self.flush.as_deref())?,
        })
    }
}

impl Solid {
    /// What it holds.
    pub fn capacity(&self) -> Bytes {
        Bytes::new(self.blocks * 512)
    }

    /// How long an access takes.
    pub fn access(&self, reads: bool, blocks: u64) -> Duration {
        let (latency, block) =
            if reads { (self.read, self.read_block) } else { (self.write, self.write_block) };
        latency + block * blocks
    }

    /// Accesses of so many blocks in a second, with as many under way as it works on.
    pub fn rate(&self, reads: bool, blocks: u64) -> f64 {
        f64::from(self.units) / self.access(reads, blocks).as_secs_f64().max(1e-9)
    }
}
