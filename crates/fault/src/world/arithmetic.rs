//! The computations that the array asks its driver for.

use parlour_array::{Action, Array, Effect, Outcome};
use parlour_codec::sector::SectorKey;
use parlour_units::Instant;

use crate::content::{SECTOR, SectorBytes};
use crate::payload::Payload;

/// What computations need beside payload.
#[derive(Debug)]
pub(super) struct Arithmetic {
    /// The key of the array's checksums.
    key: SectorKey,
    /// The unique name of the key: the checksum of a sector that is not zero.
    key_name: u64,
    /// The sectors and checksums of the effect at hand.
    sectors: Vec<SectorBytes>,
    sums: Vec<u64>,
}

impl Arithmetic {
    pub(super) fn of(array: &Array) -> Arithmetic {
        let key = array.sector_key();
        Arithmetic { key_name: key.checksum(&[1; SECTOR]), key, sectors: Vec::new(), sums: Vec::new() }
    }

    /// Carries out a computation, and tells the array the result.
    pub(super) fn compute(&mut self, array: &mut Array, payload: &mut Payload, now: Instant, effect: Effect) {
        if effect.action != Action::Checksum {
            let alike = payload.compute(array, effect);
            let outcome = if alike { Outcome::Done } else { Outcome::Differs };
            return array.complete(now, effect.id, outcome);
        }
        payload.gather(array, effect, &mut self.sectors);
        let key = (self.key_name, &self.key);
        self.sums.clear();
        self.sums.extend(self.sectors.drain(..).map(|sector| sector.checksum(key)));
        array.complete(now, effect.id, Outcome::Checksums(&self.sums));
    }
}
