//! A drive without mechanics, such as a solid-state drive: latencies that do not depend on the
//! position, and several accesses at once.

use parlour_units::{Bytes, Duration};
use serde::Deserialize;

use crate::refusal::{DescriptionError, optional, time};

/// `[solid]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SolidTable {
    /// The number of blocks of 512 bytes.
    pub blocks: u64,
    /// The number of accesses that it works on at once. Others wait in the order of arrival.
    #[serde(default = "one")]
    pub units: u16,
    /// The time of a read, without the time for its blocks.
    pub read: String,
    /// The time of a write, without the time for its blocks.
    pub write: String,
    /// The additional time for each block that is read.
    #[serde(default)]
    pub read_block: Option<String>,
    /// The additional time for each block that is written.
    #[serde(default)]
    pub write_block: Option<String>,
    /// The time of a flush.
    #[serde(default)]
    pub flush: Option<String>,
}

fn one() -> u16 {
    1
}

/// A drive without mechanics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Solid {
    /// The number of blocks of 512 bytes.
    pub blocks: u64,
    /// The number of accesses that it works on at once.
    pub units: u16,
    /// The time of a read, without the time for its blocks.
    pub read: Duration,
    /// The time of a write, without the time for its blocks.
    pub write: Duration,
    /// The additional time for each block that is read.
    pub read_block: Duration,
    /// The additional time for each block that is written.
    pub write_block: Duration,
    /// The time of a flush.
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
    /// The capacity.
    pub fn capacity(&self) -> Bytes {
        Bytes::new(self.blocks * 512)
    }

    /// The time of an access.
    pub fn access(&self, reads: bool, blocks: u64) -> Duration {
        let (latency, block) =
            if reads { (self.read, self.read_block) } else { (self.write, self.write_block) };
        latency + block * blocks
    }

    /// The number of accesses of this many blocks per second, with as many under way as it works
    /// on.
    pub fn rate(&self, reads: bool, blocks: u64) -> f64 {
        f64::from(self.units) / self.access(reads, blocks).as_secs_f64().max(1e-9)
    }
}
