//! The phases of the Bonnie benchmark, as Molnar used it: sequential passes through a file, and
//! random seeks in it.

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

/// Why a phase is invalid.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum BonnieError {
    /// A pass through the file is invalid.
    #[error(transparent)]
    Pass(#[from] PassError),
    /// The random seeks are invalid.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// The random seeks are invalid.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// The random seeks are invalid.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The random seeks are invalid.
    #[error(transparent)]
    Space(#[from] SpaceError),
}

/// The phases of Bonnie on a drive or an array: a file is written block by block, rewritten and
/// read; then processes read blocks of it at random.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Phase {
    /// The file is written.
    Write,
    /// Each block is read, and written back.
    Rewrite,
    /// The file is read.
    Read,
    /// Processes read blocks at random, and write a part of them back. (In Bonnie three processes,
    /// and a tenth of the blocks.)
    Seeks {
        /// The number of processes.
        processes: u32,
        /// The fraction of blocks that is written back.
        written: f64,
    },
}

/// Bonnie's file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bonnie {
    /// Its length. It is at the beginning of the space.
    pub file: Sectors,
    /// The length of a read or write. (Bonnie's is 16 KiB, but file systems read ahead and write
    /// behind in longer accesses.)
    pub block: Sectors,
    /// The number of accesses that the file system has under way at once for a process that goes
    /// sequentially.
    pub at_once: NonZeroU16,
    /// For rewriting and seeking: the time between the answer for a block and the program's next
    /// request.
    pub thinks: Duration,
}

impl Bonnie {
    /// The processes of a phase, and their requests.
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
