//! Going through a stretch from one end to the other: what copies, backups and Bonnie's phases do (Molnar).

use std::num::NonZeroU16;

use parlour_units::{Duration, Sector, Sectors};

use crate::delay::Delay;
use crate::place::{Place, PlaceError, Places};
use crate::size::{Size, SizeError, Sizes};
use crate::source::{Load, Pattern};
use crate::space::{Space, SpaceError};
use crate::stream::{Back, Stream, StreamError};
use crate::task::{Kind, Stretch, Task, Way};

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
    /// Of random seeks.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// Of random seeks.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// Of random seeks.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// Of random seeks.
    #[error(transparent)]
    Space(#[from] SpaceError),
}

impl Pass {
    /// So many streams through parts of a stretch; without a number of passes again and again. What is no whole number of blocks
    /// at its end is left out.
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

/// What Bonnie measures of a drive or an array: a file is written block by block, rewritten, and read, and then processes read
/// blocks of it at random.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Phase {
    /// The file is written.
    Write,
    /// Each block is read, and written back.
    Rewrite,
    /// The file is read.
    Read,
    /// So many processes read blocks at random, and write a part of them back. (Bonnie: three processes, and a tenth.)
    Seeks {
        /// How many.
        processes: u32,
        /// Of blocks.
        written: f64,
    },
}

/// A file as Bonnie has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bonnie {
    /// How long it is. It lies at the beginning of the space.
    pub file: Sectors,
    /// What is read and written at once. (Bonnie's: 16 KiB; but file systems read ahead and write behind in longer accesses.)
    pub block: Sectors,
    /// Accesses that a file system has under way at once for a process that goes on from block to block.
    pub at_once: NonZeroU16,
    /// Of rewriting and seeking: what the program does between a block's answer and what it asks for next.
    pub thinks: Duration,
}

impl Bonnie {
    /// The processes of a phase, and what they do.
    pub fn phase(&self, phase: Phase, space: &Space) -> Result<(Load, Pattern), PassError> {
        let way = match phase {
            Phase::Write => Way::Once(Kind::Write),
            Phase::Rewrite => Way::Back { after: self.thinks, part: 1.0 },
            Phase::Read => Way::Once(Kind::Read),
            Phase::Seeks { processes, written } => return self.seeks(processes, written, space),
        };
        let (at, length) = (Sector::ZERO, self.file);
        let stretch = Stretch { at, length, part: self.block, at_once: self.at_once, way };
        let load = Load::Closed { processes: 1, think: Delay::Fixed(Duration::ZERO) };
        Ok((load, Pattern::Pass(Pass::new(stretch, 1, Some(1), space)?)))
    }

    fn seeks(&self, processes: u32, written: f64, space: &Space) -> Result<(Load, Pattern), PassError> {
        let (_, first) = space.each().next().unwrap_or_default();
        if self.file > first {
            return Err(PassError::Beyond { at: 0, length: self.file.get() });
        }
        let sizes = Sizes::new(Size::Fixed(self.block.get() as f64), space.block(), self.block, self.block)?;
        let file = Space::new(self.file, space.block())?;
        let places = Places::new(Place::Natural { stripe: self.block }, &file)?;
        let stream = Stream::new(1.0, sizes, places)?;
        let stream = stream.written_back(Back { part: written, after: self.thinks })?;
        Ok((Load::Closed { processes, think: Delay::Fixed(self.thinks) }, Pattern::Stream(stream)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

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
    fn bonnies_phases_do_what_they_say() {
        let (file, block) = (Sectors::new(320), Sectors::new(16));
        let bonnie = Bonnie { file, block, at_once: NonZeroU16::MIN, thinks: Duration::from_millis(1) };
        let kinds = |phase| {
            let (_, mut pattern) = bonnie.phase(phase, &space()).unwrap();
            let (mut random, mut kinds) = (Random::new(1), (0, 0));
            for _ in 0..1_000 {
                let Some(mut task) = pattern.begin(0, &mut random).unwrap() else { break };
                let mut next = task.next_ask();
                while let Some(ask) = next {
                    assert!(ask.at.get() + 16 <= 320 && ask.at.get().is_multiple_of(16));
                    *if ask.kind == Kind::Read { &mut kinds.0 } else { &mut kinds.1 } += 1;
                    next = task.answered(&ask, &mut random).map(|(_, ask)| ask).or_else(|| task.next_ask());
                }
            }
            kinds
        };
        assert_eq!(
            [kinds(Phase::Write), kinds(Phase::Rewrite), kinds(Phase::Read)],
            [(0, 20), (20, 20), (20, 0)]
        );
        let (reads, writes) = kinds(Phase::Seeks { processes: 3, written: 0.1 });
        assert!(reads == 1_000 && (70..130).contains(&writes), "{reads} {writes}");
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
