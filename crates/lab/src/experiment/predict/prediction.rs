//! The result of a prediction.

use parlour_model::fork_join::Measures;
use serde::Serialize;

use super::refused::geometry;
use super::stage::AccessTime;
use super::state::State;
use crate::experiment::prepared::Prepared;

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

impl Prediction {
    /// The prediction for an array in a state, which has these means.
    pub(super) fn of(prepared: &Prepared, state: &State, found: Measures) -> Prediction {
        let members = u32::from(geometry(prepared).members());
        let left = members - state.dead;
        Prediction {
            throughput: found.throughput,
            throughput_per_member: found.throughput / f64::from(members),
            mb_per_second: found.throughput * state.stages.bytes / 1e6,
            response_ms: found.response,
            under_way: found.queue,
            utilization: found.utilization.min(1.0) * f64::from(left) / f64::from(members),
            access_ms: state.timed.access_time(),
            rebuild_s: None,
            assumed: state.assumed(prepared),
        }
    }
}
