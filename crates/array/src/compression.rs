//! How much shorter update records are in the log than what they change, in simulations.

use parlour_units::Sectors;
use serde::{Deserialize, Serialize};

/// The length of update records in log buffers and segments, as a part of what they change
/// (Stodolsky §11). The array owns no payload, so the workload states it, in thousandths.
///
/// A record takes whole sectors and at least one, because that is what a segment's header can say:
/// it counts the start of each record in sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u16", into = "u16")]
pub struct Compression(u16);

/// The length of a record that is not compressed.
const WHOLE: u16 = 1_000;

impl Compression {
    /// Records are as long as what they change.
    pub const NONE: Compression = Compression(WHOLE);

    /// Records of this many thousandths; none if that is no part.
    pub fn of(thousandths: u16) -> Option<Compression> {
        (1..=WHOLE).contains(&thousandths).then_some(Compression(thousandths))
    }

    /// Whether records are as long as what they change.
    pub fn is_none(self) -> bool {
        self == Compression::NONE
    }

    /// The length of a record that changes `length`.
    pub(crate) fn stored(self, length: Sectors) -> Sectors {
        Sectors::new((length.get() * u64::from(self.0)).div_ceil(WHOLE.into()))
    }

    /// The most that a record of `stored` can change.
    pub(crate) fn changed(self, stored: Sectors) -> Sectors {
        Sectors::new(stored.get() * u64::from(WHOLE) / u64::from(self.0))
    }
}

impl Default for Compression {
    fn default() -> Compression {
        Compression::NONE
    }
}

impl TryFrom<u16> for Compression {
    type Error = &'static str;

    fn try_from(thousandths: u16) -> Result<Compression, Self::Error> {
        Compression::of(thousandths).ok_or("a compressed record is 1 to 1000 thousandths long")
    }
}

impl From<Compression> for u16 {
    fn from(Compression(thousandths): Compression) -> u16 {
        thousandths
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_record_takes_whole_sectors_and_at_least_one() {
        let stored = |thousandths, length| {
            let compression = Compression::of(thousandths).expect("it is a part");
            compression.stored(Sectors::new(length)).get()
        };
        assert_eq!([1, 4, 7].map(|length| stored(1_000, length)), [1, 4, 7]);
        assert_eq!([1, 4, 7].map(|length| stored(500, length)), [1, 2, 4]);
        assert_eq!([1, 4, 128].map(|length| stored(1, length)), [1, 1, 1]);
        assert_eq!([0, 1_001].map(Compression::of), [None, None]);
    }

    proptest! {
        #[test]
        fn what_is_cut_to_fit_fits_and_one_sector_more_would_not(thousandths in 1..=1_000_u16, room in 1..5_000_u64) {
            let compression = Compression::of(thousandths).expect("it is a part");
            let most = compression.changed(Sectors::new(room));
            prop_assert!(most.get() >= room);
            prop_assert!(compression.stored(most).get() <= room);
            prop_assert!(compression.stored(most + Sectors::new(1)).get() > room);
        }
    }
}
