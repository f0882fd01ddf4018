//! The electronics between the platters and the bus: overheads, buffer, read-ahead, cached writes.

use parlour_units::Duration;

use crate::mechanics::Way;

/// The electronics of a drive. With none, an access costs only the time of the mechanical parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Electronics {
    /// The buffer.
    pub buffer: Buffer,
    /// The overheads of commands.
    pub overheads: Overheads,
    /// The time per block on the bus, for reads and for writes.
    pub bus: (Duration, Duration),
}

/// A buffer in segments, each of which holds consecutive blocks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Buffer {
    /// The number of segments for reads; zero if nothing is kept.
    pub read_segments: usize,
    /// The number of blocks of each segment.
    pub segment_blocks: u64,
    /// The extent of read-ahead.
    pub read_ahead: ReadAhead,
    /// Whether read-ahead resumes after a request that was completely in the buffer.
    pub reads_on_after_hit: bool,
    /// Whether written data can be read from the buffer.
    pub keeps_writes: bool,
    /// Whether writes have their own segment.
    pub write_segment: bool,
    /// Whether the buffer keeps blocks that pass before the first requested block on its track,
    /// once the heads are there.
    pub keeps_passing: bool,
    /// Whether read-ahead can stop in the middle of a sector for another request.
    pub stops_within_sector: bool,
    /// A write is complete once its data is in the buffer.
    pub caches_writes: bool,
    /// The fraction of a read that must be in the buffer before the bus is taken again.
    pub read_watermark: f64,
    /// The blocks that must be in the buffer before a write to the platters begins.
    pub write_buffered: WriteBuffered,
}

/// The part of a write that must be in the buffer before the write to the platters begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteBuffered {
    /// The most blocks of a short write.
    pub blocks: u64,
    /// Writes of at least this many blocks are long; 0 if there are no long writes.
    pub long: u64,
    /// The most blocks of a long write.
    pub long_blocks: u64,
}

/// The extent of read-ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadAhead {
    /// None.
    #[default]
    Nothing,
    /// To the end of the track on which the request ends, and at most this many blocks.
    Track(u64),
    /// To the end of the cylinder, and at most this many blocks.
    Cylinder(u64),
    /// This many blocks.
    Blocks(u64),
    /// To the end of the track with the block after the request; and of the next track, if the
    /// segment is larger than that track.
    TrackAndNext,
}

/// A time that depends on the previous request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct After {
    /// After a read.
    pub read: Duration,
    /// After a write.
    pub write: Duration,
}

impl After {
    /// The time after a request of kind `way`.
    pub fn after(&self, way: Way) -> Duration {
        match way {
            Way::Read => self.read,
            Way::Write => self.write,
        }
    }
}

/// The overheads of commands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overheads {
    /// A read that hits the buffer.
    pub read_hit: After,
    /// A read that misses the buffer.
    pub read_miss: After,
    /// A write.
    pub write: After,
    /// Releasing the bus when a read has to wait.
    pub read_disconnect: After,
    /// Releasing the bus when the data of a write has arrived.
    pub write_disconnect: Duration,
    /// Taking the bus again.
    pub reselect: Duration,
    /// Before each transfer.
    pub data_preparation: Duration,
    /// Reporting the completion of a read.
    pub read_completion: Duration,
    /// Reporting the completion of a write.
    pub write_completion: Duration,
    /// The least seek time of a write.
    pub least_write_seek: Duration,
    /// The overheads of a write that follows another write elsewhere, on drives that release the
    /// bus before its data.
    pub second_write: Option<SecondWrite>,
}

/// The overheads of a write that releases the bus before its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SecondWrite {
    /// The command.
    pub command: Duration,
    /// Releasing the bus the first time.
    pub first_disconnect: Duration,
    /// The time until the bus is taken again.
    pub gap: Duration,
    /// Releasing the bus after the data.
    pub second_disconnect: Duration,
    /// Taking the bus for the completion.
    pub reselect: Duration,
    /// The delay from the command until the arm starts.
    pub seek_delay: Duration,
}
