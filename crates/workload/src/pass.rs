//! Going through a stretch from one end to the other: what copies, backups and Bonnie's phases do
//! (Molnar).

use parlour_units::Sectors;

use crate::space::Space;
use crate::task::{Stretch, Task};

/// Passes through a stretch, divided evenly among streams. Each process is a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Pass {
    /// What is gone through, and how.
    stretch: Stretch,
    streams: u32,
    /// How often each stream goes through its part, and how often it has.
    passes: Option<u64>,
    done: Vec<u64>,
}

/// Why there is no such pass.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum PassError {
    /// It is not there.
    #[error("{length} sectors from {at} on are not within one volume")]
    Beyond {
        /// From there.
        at: u64,
        /// As far as that.
        length: u64,
    },
    /// Parts of blocks.
    #[error(
        "a pass is in whole blocks of {block} sectors: neither {part} sectors at once nor a start at {at}"
    )]
    PartOfBlock {
        /// At once.
        part: u64,
        /// From there.
        at: u64,
        /// A block.
        block: u64,
    },
    /// Streams without anything.
    #[error("{length} sectors are too few for {streams} streams")]
    TooManyStreams {
        /// All of it.
        length: u64,
        /// So many.
        streams: u32,
    },
}

impl Pass {
    /// So many streams through parts of a stretch; without a number of passes again and again. What
    /// is no whole number of blocks at its end is left out.
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
