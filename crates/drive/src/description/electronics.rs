//! The electronics in a drive's file: buffer, overheads of commands, and bus.

use parlour_units::Duration;
use serde::Deserialize;

use crate::electronics::{After, Buffer, Overheads, ReadAhead, SecondWrite, WriteBuffered};
use crate::refusal::{DescriptionError, optional, time};

/// `[buffer]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BufferTable {
    /// The number of segments for reads.
    pub read_segments: usize,
    /// The number of blocks of each segment.
    pub segment_blocks: u64,
    /// Whether there is one more segment for writes.
    pub write_segment: bool,
    /// The extent of read-ahead.
    pub read_ahead: ReadAheadName,
    /// The most blocks of read-ahead.
    pub read_ahead_blocks: u64,
    /// Whether read-ahead resumes after a hit.
    pub reads_on_after_hit: bool,
    /// Whether written data can be read from the buffer.
    pub keeps_writes: bool,
    /// Whether the buffer keeps blocks that pass before a request on its first track.
    pub keeps_passing: bool,
    /// Whether read-ahead can stop in the middle of a sector.
    pub stops_within_sector: bool,
    /// Whether a write is complete once its data is in the buffer.
    pub caches_writes: bool,
    /// The fraction of a read that must be in the buffer before the bus is taken.
    pub read_watermark: f64,
    /// The blocks that must be in the buffer before a write begins; the length from which a write
    /// is long; and the blocks for a long write.
    pub write_buffered: (u64, u64, u64),
}

/// `read_ahead`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadAheadName {
    /// None.
    #[default]
    Nothing,
    /// To the end of the track.
    Track,
    /// To the end of the cylinder.
    Cylinder,
    /// A number of blocks.
    Blocks,
    /// To the end of the track, and of the next track.
    TrackAndNext,
}

/// One time; or two times, after a read and after a write.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum AfterTable {
    /// The same time in both cases.
    Always(String),
    /// The time after a read, and after a write.
    Each(String, String),
}

/// `[overheads]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OverheadsTable {
    /// A read that hits the buffer.
    pub read_hit: Option<AfterTable>,
    /// A read that misses the buffer.
    pub read_miss: Option<AfterTable>,
    /// A write.
    pub write: Option<AfterTable>,
    /// Releasing the bus when a read has to wait.
    pub read_disconnect: Option<AfterTable>,
    /// Releasing the bus when the data of a write has arrived.
    pub write_disconnect: Option<String>,
    /// Taking the bus again.
    pub reselect: Option<String>,
    /// Before each transfer.
    pub data_preparation: Option<String>,
    /// Reporting the completion of a read.
    pub read_completion: Option<String>,
    /// Reporting the completion of a write.
    pub write_completion: Option<String>,
    /// The least seek time of a write.
    pub least_write_seek: Option<String>,
    /// The overheads of a write that follows another write elsewhere, on drives that release the
    /// bus before its data.
    pub second_write: Option<SecondWriteTable>,
}

/// `[overheads.second_write]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecondWriteTable {
    /// The command.
    pub command: String,
    /// Releasing the bus the first time.
    pub first_disconnect: String,
    /// The time until the bus is taken again.
    pub gap: String,
    /// Releasing the bus after the data.
    pub second_disconnect: String,
    /// Taking the bus for the completion.
    pub reselect: String,
    /// The delay from the command until the arm starts.
    pub seek_delay: String,
}

/// `[bus]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BusTable {
    /// The time per block of a read.
    pub read_block: Option<String>,
    /// The time per block of a write.
    pub write_block: Option<String>,
}

impl BufferTable {
    /// The model of the buffer.
    pub(super) fn buffer(&self) -> Buffer {
        let (blocks, long, long_blocks) = self.write_buffered;
        Buffer {
            read_segments: self.read_segments,
            segment_blocks: self.segment_blocks,
            write_segment: self.write_segment,
            read_ahead: match self.read_ahead {
                ReadAheadName::Nothing => ReadAhead::Nothing,
                ReadAheadName::Track => ReadAhead::Track(self.read_ahead_blocks),
                ReadAheadName::Cylinder => ReadAhead::Cylinder(self.read_ahead_blocks),
                ReadAheadName::Blocks => ReadAhead::Blocks(self.read_ahead_blocks),
                ReadAheadName::TrackAndNext => ReadAhead::TrackAndNext,
            },
            reads_on_after_hit: self.reads_on_after_hit,
            keeps_writes: self.keeps_writes,
            keeps_passing: self.keeps_passing,
            stops_within_sector: self.stops_within_sector,
            caches_writes: self.caches_writes,
            read_watermark: self.read_watermark,
            write_buffered: WriteBuffered { blocks, long, long_blocks },
        }
    }
}

impl OverheadsTable {
    /// The overheads of commands.
    pub(super) fn overheads(&self) -> Result<Overheads, DescriptionError> {
        Ok(Overheads {
            read_hit: after("overheads.read_hit", self.read_hit.as_ref())?,
            read_miss: after("overheads.read_miss", self.read_miss.as_ref())?,
            write: after("overheads.write", self.write.as_ref())?,
            read_disconnect: after("overheads.read_disconnect", self.read_disconnect.as_ref())?,
            write_disconnect: optional("overheads.write_disconnect", self.write_disconnect.as_deref())?,
            reselect: optional("overheads.reselect", self.reselect.as_deref())?,
            data_preparation: optional("overheads.data_preparation", self.data_preparation.as_deref())?,
            read_completion: optional("overheads.read_completion", self.read_completion.as_deref())?,
            write_completion: optional("overheads.write_completion", self.write_completion.as_deref())?,
            least_write_seek: optional("overheads.least_write_seek", self.least_write_seek.as_deref())?,
            second_write: self.second_write.as_ref().map(SecondWriteTable::second_write).transpose()?,
        })
    }
}

impl SecondWriteTable {
    fn second_write(&self) -> Result<SecondWrite, DescriptionError> {
        Ok(SecondWrite {
            command: time("overheads.second_write.command", &self.command)?,
            first_disconnect: time("overheads.second_write.first_disconnect", &self.first_disconnect)?,
            gap: time("overheads.second_write.gap", &self.gap)?,
            second_disconnect: time("overheads.second_write.second_disconnect", &self.second_disconnect)?,
            reselect: time("overheads.second_write.reselect", &self.reselect)?,
            seek_delay: time("overheads.second_write.seek_delay", &self.seek_delay)?,
        })
    }
}

impl BusTable {
    /// The times per block, of a read and of a write.
    pub(super) fn times(&self) -> Result<(Duration, Duration), DescriptionError> {
        Ok((
            optional("bus.read_block", self.read_block.as_deref())?,
            optional("bus.write_block", self.write_block.as_deref())?,
        ))
    }
}

fn after(key: &'static str, table: Option<&AfterTable>) -> Result<After, DescriptionError> {
    Ok(match table {
        None => After::default(),
        Some(AfterTable::Always(text)) => After { read: time(key, text)?, write: time(key, text)? },
        Some(AfterTable::Each(read, write)) => After { read: time(key, read)?, write: time(key, write)? },
    })
}
