//! What lies between the platters and the bus: overheads, buffers, read-ahead, cached writes.

use parlour_units::Duration;

use crate::mechanics::Way;

/// A drive's electronics. Without any, accesses cost what the moving parts cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Electronics {
    /// How its buffer is used.
    pub buffer: Buffer,
    /// What commands cost beside the work that they ask for.
    pub overheads: Overheads,
    /// The time that a block takes on the bus, read and written.
    pub bus: (Duration, Duration),
}

/// A buffer in segments, each of which holds blocks that follow one another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Buffer {
    /// How many segments reads may use; none if nothing is kept.
    pub read_segments: usize,
    /// How many blocks each has room for.
    pub segment_blocks: u64,
    /// How far it reads on.
    pub read_ahead: ReadAhead,
    /// Whether it reads on after all that was asked for was there.
    pub reads_on_after_hit: bool,
    /// Whether what was written can be read from it.
    pub keeps_writes: bool,
    /// Whether writes have a segment of their own.
    pub write_segment: bool,
    /// Whether it keeps what passes on a track before the first block that is asked for, once the
    /// heads are there.
    pub keeps_passing: bool,
    /// Whether reading on stops in the middle of a sector when another place is wanted.
    pub stops_within_sector: bool,
    /// A write is complete once its data is in the buffer.
    pub caches_writes: bool,
    /// The part of a read that must be there before the bus is taken again.
    pub read_watermark: f64,
    /// Blocks that must be there before a write begins on the platters: most, and from which size
    /// on more.
    pub write_buffered: WriteBuffered,
}

/// How much of a write must be in the buffer before it begins on the platters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteBuffered {
    /// Of short writes, at most.
    pub blocks: u64,
    /// Writes of this many blocks and more are long; none is if this is 0.
    pub long: u64,
    /// Of long writes.
    pub long_blocks: u64,
}

/// How far a drive reads on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadAhead {
    /// Not at all.
    #[default]
    Nothing,
    /// To the end of the track on which the request ends, and at most so many blocks.
    Track(u64),
    /// To the end of the cylinder, and at most so many blocks.
    Cylinder(u64),
    /// So many blocks.
    Blocks(u64),
    /// To the end of the track with the block after the request; one track more if the segment
    /// holds more than that track.
    TrackAndNext,
}

/// After which kind of request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct After {
    /// After a read.
    pub read: Duration,
    /// After a write.
    pub write: Duration,
}

impl After {
    /// The one that counts after `way`.
    pub fn after(&self, way: Way) -> Duration {
        match way {
            Way::Read => self.read,
            Way::Write => self.write,
        }
    }
}

/// What commands cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overheads {
    /// A read of what is in the buffer.
    pub read_hit: After,
    /// A read of what is not.
    pub read_miss: After,
    /// A write.
    pub write: After,
    /// Leaving the bus when a read has to wait.
    pub read_disconnect: After,
    /// Leaving it when the data of a write is there.
    pub write_disconnect: Duration,
    /// Taking it again.
    pub reselect: Duration,
    /// Before each transfer.
    pub data_preparation: Duration,
    /// Telling that a read is done.
    pub read_completion: Duration,
    /// Telling that a write is.
    pub write_completion: Duration,
    /// A write's arm does not get there sooner.
    pub least_write_seek: Duration,
    /// What a write costs that follows another elsewhere, on drives that leave the bus before its
    /// data.
    pub second_write: Option<SecondWrite>,
}

/// The overheads of a write that leaves the bus before its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SecondWrite {
    /// The command.
    pub command: Duration,
    /// Leaving the bus first.
    pub first_disconnect: Duration,
    /// Until it is taken again.
    pub gap: Duration,
    /// Leaving it after the data.
    pub second_disconnect: Duration,
    /// Taking it for the completion.
    pub reselect: Duration,
    /// The arm starts so much after the command.
    pub seek_delay: Duration,
}
