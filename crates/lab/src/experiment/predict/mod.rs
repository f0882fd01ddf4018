//! Predicts the results of a run with closed forms, where they apply: without simulating events, in
//! almost no time.
//!
//! The array itself lists the accesses of each request, phase by phase; `stages` takes the mean
//! over a sample of requests. Each phase is a fork and join in a network of queues (Varki and Wang;
//! [`parlour_model::fork_join`]), with service times from the drive ([`parlour_model::service`]).
//! The background work of parity logging comes in bursts (`logs`; [`parlour_model::bursts`]).
//! Entries of a journal are delays of writes and other accesses of the disks (`journal`;
//! [`parlour_model::journal`]). While a member is rebuilt, hosts and rebuild are two loads on the
//! same disks, and each is what the other leaves it (`rebuilding`; [`parlour_model::rebuild`]).

mod clock;
mod journal;
mod logs;
mod prediction;
mod rebuilding;
mod refused;
mod stage;
mod stages;
mod state;

use parlour_array::NotWhole;
use parlour_workload::random::Random;

use super::prepared::Prepared;
pub use clock::Clocks;
pub use prediction::Prediction;
use rebuilding::Rebuilding;
pub use refused::Unmodelled;
pub use stage::AccessTime;
use state::{Asked, State};

impl Prepared {
    /// Predicts this run. `clocks` keeps the service times of drives for the next run.
    ///
    /// # Errors
    /// The closed forms do not apply to this run. The error says why.
    pub fn predict(&self, clocks: &mut Clocks) -> Result<Prediction, Unmodelled> {
        refused::check(self)?;
        let mut random = Random::new(self.seed);
        let mut sources = self.sources(None, &mut random)?;
        let mut asked = Asked { source: &mut sources[0], random };
        let mut clock = clocks.of(self)?;
        if let Some(rebuilding) = Rebuilding::of(self)? {
            return rebuilding.predict(self, &mut asked, &mut clock);
        }
        let dead = self.dead();
        let not_whole = NotWhole { failed: &dead, rebuilding: &[] };
        let state = State::of(self, &mut asked, &mut clock, not_whole)?;
        let found = state.under(asked.source.load(), &[])?;
        Ok(Prediction::of(self, &state, found))
    }
}
