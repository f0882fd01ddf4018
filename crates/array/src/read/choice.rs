//! The choice of the copy that answers a read, and all questions that are asked about it by name.
//! No other module compares read policies.

use parlour_units::Unit;
use serde::{Deserialize, Serialize};

use super::turns::Turns;
use crate::code::Code;
use crate::organization::RefusedCombination;

/// How near a copy is. The copy with the least is read first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Load {
    /// The accesses outstanding at its member.
    pub(crate) queue: u32,
    /// The sectors between the member's head and the copy.
    pub(crate) distance: u64,
}

/// Which copy answers a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadChoice {
    /// There is one copy only.
    Direct,
    /// The first copy that can be read.
    Primary,
    /// The copies in turn.
    RoundRobin,
    /// The copy whose member has the fewest accesses outstanding; ties go to the nearest head.
    ShortestQueue,
    /// The copy whose member's head is nearest.
    NearestHead,
    /// A pseudo-random copy, determined by the request's number. The same requests read the same
    /// copies.
    Random,
}

impl ReadChoice {
    /// All choices.
    pub const ALL: [ReadChoice; 6] = [
        ReadChoice::Direct,
        ReadChoice::Primary,
        ReadChoice::RoundRobin,
        ReadChoice::ShortestQueue,
        ReadChoice::NearestHead,
        ReadChoice::Random,
    ];

    /// Checks that there is a choice of copies exactly if there are copies.
    pub(crate) fn check_on(self, code: Code) -> Result<(), RefusedCombination> {
        match (code.is_copy(), self == ReadChoice::Direct) {
            (true, true) => Err(RefusedCombination::ManyCopies),
            (false, false) => Err(RefusedCombination::OneCopy),
            (true, false) | (false, true) => Ok(()),
        }
    }

    /// The one of `copies` to read; `None` if there are none. `load` is that of a copy's member.
    pub(crate) fn pick(
        self,
        mut copies: impl Iterator<Item = Unit>,
        load: impl Fn(Unit) -> Load,
        turns: &mut Turns,
    ) -> Option<Unit> {
        match self {
            ReadChoice::Direct | ReadChoice::Primary => copies.next(),
            ReadChoice::RoundRobin => turns.next(copies),
            ReadChoice::Random => turns.random(copies),
            ReadChoice::ShortestQueue => copies.min_by_key(|unit| load(*unit)),
            ReadChoice::NearestHead => copies.min_by_key(|unit| load(*unit).distance),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_of_copies_goes_with_copies_alone() {
        for read in ReadChoice::ALL {
            let directly = read == ReadChoice::Direct;
            let (of_copies, of_one) = match directly {
                true => (Err(RefusedCombination::ManyCopies), Ok(())),
                false => (Ok(()), Err(RefusedCombination::OneCopy)),
            };
            assert_eq!(read.check_on(Code::Copy), of_copies, "{read:?}");
            assert_eq!(read.check_on(Code::None), of_one, "{read:?}");
            assert_eq!(read.check_on(Code::ReedSolomon), of_one, "{read:?}");
        }
    }
}
