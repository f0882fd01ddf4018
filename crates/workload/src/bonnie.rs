//! Bonnie's phases, as Molnar has them: a file from one end to the other, and seeks in it.

use std::num::NonZeroU16;

use parlour_units::{Duration, Sector, Sectors};

use crate::delay::Delay;
use crate::pass::{Pass, PassError};
use crate::place::{Place, PlaceError, Places};
use crate::size::{Size, SizeError, Sizes};
use crate::source::{Load, Pattern};
use crate::space::{Space, SpaceError};
use crate::stream::{Back, Stream, StreamError};
use crate::task::{Kind, Stretch, Way};

/// Why there is no such phase.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum BonnieError {
    /// Of a pass through the file.
    #[error(transparent)]
    Pass(#[from] PassError),
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

/// What Bonnie measures of a drive or an array: a file is written block by block, rewritten, and
/// read, and then processes read blocks of it at random.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Phase {
    /// The file is written.
    Write,
    /// Each block is read, and written back.
    Rewrite,
    /// The file is read.
    Read,
    /// So many processes read blocks at random, and write a part of them back. (Bonnie: three
    /// processes, and a tenth.)
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
    /// What is read and written at once. (Bonnie's: 16 KiB; but file systems read ahead and write
    /// behind in longer accesses.)
    pub block: Sectors,
    /// Accesses that a file system has under way at once for a process that goes on from block to
    /// block.
    pub at_once: NonZeroU16,
    /// Of rewriting and seeking: what the program does between a block's answer and what it asks
    /// for next.
    pub thinks: Duration,
}

impl Bonnie {
    /// The processes of a phase, and what they do.
    pub fn phase(&self, phase: Phase, space: &Space) -> Result<(Load, Pattern), BonnieError> {
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

    fn seeks(&self, processes: u32, written: f64, space: &Space) -> Result<(Load, Pattern), BonnieError> {
        let (_, first) = space.each().next().unwrap_or_default();
        if self.file > first {
            return Err(PassError::Beyond { at: 0, length: self.file.get() }.into());
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
}
