//! Sequential passes through a range: the requests of copies, backups and Bonnie's phases (Molnar).

use parlour_units::Sectors;

use crate::space::Space;
use crate::task::{Stretch, Task};

/// Passes through a range that is divided evenly among streams. Each process is a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Pass {
    /// The range, and how it is accessed.
    stretch: Stretch,
    streams: u32,
    /// The number of passes of each stream, and the number that each has done.
    passes: Option<u64>,
    done: Vec<u64>,
}

/// Why a pass is invalid.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum PassError {
    /// The range is not within one volume.
    #[error("{length} sectors from {at} on are not within one volume")]
    Beyond {
        /// Its first sector.
        at: u64,
        /// Its length.
        length: u64,
    },
    /// The accesses are not whole blocks.
    #[error(
        "a pass is in whole blocks of {block} sectors: neither {part} sectors at once nor a start at {at}"
    )]
    PartOfBlock {
        /// The length of an access.
        part: u64,
        /// The first sector.
        at: u64,
        /// The block.
        block: u64,
    },
    /// There are more streams than blocks.
    #[error("{length} sectors are too few for {streams} streams")]
    TooManyStreams {
        /// The length of the range.
        length: u64,
        /// The number of streams.
        streams: u32,
    },
}

impl Pass {
    /// Streams through equal parts of a range, with a number of passes or without end. A remainder
    /// that is not a whole block is not accessed.
    pub fn new(
        stretch: Stretch,
        streams: u32,
        passes: Option<u64>,
        space: &Space,
    ) -> Result<Pass, PassError> {
        let Stretch { at, length, part, .. } = stretch;
        let block = space.block();
        if part.is_zero() || !part.is_multiple_of(block) || !at.from_start().is_multiple_of(block) {
            return Err(PassError::PartOfBlock { part: part.get(), at: at.get(), block: block.get() });
        }
        let end = at.get().checked_add(length.get());
        if end.is_none_or(|end| end > space.length().get()) || space.fit(at, length) != at {
            return Err(PassError::Beyond { at: at.get(), length: length.get() });
        }
        let each = Sectors::new(length.get() / u64::from(streams.max(1))).round_down(block);
        if streams == 0 || each.is_zero() {
            return Err(PassError::TooManyStreams { length: length.get(), streams });
        }
        let stretch = Stretch { length: each, ..stretch };
        Ok(Pass { stretch, streams, passes, done: vec![0; streams as usize] })
    }

    /// The next pass of this process, if there is one.
    pub(crate) fn begin(&mut self, process: u32) -> Option<Task> {
        let stream = process % self.streams;
        let done = &mut self.done[stream as usize];
        if self.passes.is_some_and(|passes| *done >= passes) {
            return None;
        }
        *done += 1;
        let at = self.stretch.at + self.stretch.length * u64::from(stream);
        Some(Task::through(Stretch { at, ..self.stretch }))
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use parlour_units::Sector;

    use super::*;
    use crate::random::Random;
    use crate::task::{Kind, Way};

    fn space() -> Space {
        Space::volumes(&[Sectors::new(1_000), Sectors::new(1_000)], Sectors::new(8)).unwrap()
    }

    fn stretch(at: u64, length: u64) -> Stretch {
        let way = Way::Once(Kind::Read);
        let (at, length, part) = (Sector::new(at), Sectors::new(length), Sectors::new(16));
        Stretch { at, length, part, at_once: NonZeroU16::MIN, way }
    }

    #[test]
    fn streams_divide_a_stretch_and_end_after_their_passes() {
        let mut pass = Pass::new(stretch(80, 100), 3, Some(2), &space()).unwrap();
        let mut places = Vec::new();
        for process in [0, 1, 2, 0] {
            let mut task = pass.begin(process).unwrap();
            while let Some(ask) = task.next_ask() {
                places.push((ask.at.get(), ask.length.get()));
                task.answered(&ask, &mut Random::new(1));
            }
        }
        let each = |at| [(at, 16), (at + 16, 16)];
        assert_eq!(places, [each(80), each(112), each(144), each(80)].concat());
        assert_eq!(pass.begin(0), None);
        assert!(pass.begin(1).is_some());
    }

    #[test]
    fn impossible_passes_are_refused() {
        let error = |stretch, streams| Pass::new(stretch, streams, None, &space()).unwrap_err();
        assert_eq!(error(stretch(904, 100), 1), PassError::Beyond { at: 904, length: 100 });
        assert_eq!(error(stretch(u64::MAX - 7, 100), 1), PassError::Beyond { at: u64::MAX - 7, length: 100 });
        assert_eq!(error(stretch(0, 100), 13), PassError::TooManyStreams { length: 100, streams: 13 });
        assert_eq!(error(stretch(4, 100), 1), PassError::PartOfBlock { part: 16, at: 4, block: 8 });
    }
}
