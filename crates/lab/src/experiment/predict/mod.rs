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
mod rebuilding;
mod refused;
mod stage;
mod stages;
mod state;

use parlour_array::NotWhole;
use parlour_model::fork_join::Measures;
use parlour_units::Duration;
use parlour_workload::random::Random;
use serde::Serialize;

use super::prepared::Prepared;
pub use clock::Clocks;
use rebuilding::Rebuilding;
pub use refused::Unmodelled;
pub use stage::AccessTime;
use state::{Asked, State};

/// The prediction of closed forms for a run. The names are those of
/// [`Figures`](crate::figures::Figures).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// Requests per second.
    pub throughput: f64,
    /// Requests per second, divided by the number of members.
    pub throughput_per_member: f64,
    /// Megabytes (of 1,000,000 bytes) per second.
    pub mb_per_second: f64,
    /// The mean time from a request to its answer.
    pub response_ms: f64,
    /// The mean number of requests under way.
    pub under_way: f64,
    /// The fraction of the time in which a member is busy, in the mean of all; dead ones are not.
    pub utilization: f64,
    /// The mean components of a host access's time, without queueing.
    pub access_ms: AccessTime,
    /// The time of the rebuild, in seconds, if the run lasts until a member is rebuilt.
    pub rebuild_s: Option<f64>,
    /// The assumptions of the prediction.
    pub assumed: Vec<&'static str>,
}

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
        Ok(state.prediction(self, found))
    }
}

impl State {
    /// The prediction for an array in this state, which has these means.
    fn prediction(&self, prepared: &Prepared, found: Measures) -> Prediction {
        let members = u32::from(refused::geometry(prepared).members());
        let left = members - self.dead;
        Prediction {
            throughput: found.throughput,
            throughput_per_member: found.throughput / f64::from(members),
            mb_per_second: found.throughput * self.stages.bytes / 1e6,
            response_ms: found.response,
            under_way: found.queue,
            utilization: found.utilization.min(1.0) * f64::from(left) / f64::from(members),
            access_ms: self.timed.access_time(),
            rebuild_s: None,
            assumed: self.assumed(prepared),
        }
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
