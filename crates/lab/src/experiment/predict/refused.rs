//! What closed forms say nothing of, by the key that it hangs on.

use parlour_array::ExplainError;
use parlour_array::organization::Update;
use parlour_drive::description::DescriptionError;
use parlour_drive::queue::Discipline;
use parlour_model::fork_join::NetworkError;
use parlour_model::service::ServiceError;
use parlour_model::utilization::Refused;

use crate::experiment::control::Control;
use crate::experiment::prepared::Prepared;
use crate::experiment::workload::{PlaceSetting, WorkloadError};

/// Why closed forms say nothing of a run.
#[derive(Debug, thiserror::Error)]
pub enum Unmodelled {
    /// They are of less than is told.
    #[error("{key}: {what}; simulate it")]
    Key {
        /// The key.
        key: &'static str,
        /// What is not modelled.
        what: &'static str,
    },
    /// Requests come when they came.
    #[error("workload.trace: what comes at recorded times is not modelled; simulate it")]
    Recorded,
    /// Requests do not come by chance.
    #[error("workload.every: only arrivals of a Poisson process are modelled; use rate, or simulate it")]
    Arrivals,
    /// More comes than can be served.
    #[error("workload.rate: more comes than is answered: disks would be busy {:.2} times the time", .0)]
    Unstable(f64),
    /// Nobody can ask so.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The array says nothing of a request.
    #[error("workload: {0}")]
    Request(#[from] ExplainError),
    /// The drive cannot be made.
    #[error("drive.model: {0}")]
    Description(#[from] DescriptionError),
    /// The drive's time cannot be told.
    #[error("drive.model: {0}")]
    Service(#[from] ServiceError),
    /// The network cannot be.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The logs cannot be.
    #[error("log: {0}")]
    Logs(#[from] Refused),
}

/// Whether closed forms are of all that the file says.
pub(super) fn check(prepared: &Prepared) -> Result<(), Unmodelled> {
    let organization = prepared.geometry.organization();
    let workload = &prepared.workloads[0];
    let uniform = |place: &PlaceSetting| {
        matches!(place, PlaceSetting::Uniform | PlaceSetting::Natural(_) | PlaceSetting::Striped(..))
    };
    let refused = [
        (prepared.arrays > 1, "arrays", "one array is modelled, not several"),
        (prepared.workloads.len() > 1, "workload", "one source of requests is modelled, not several"),
        (
            prepared.control != Control::Once,
            "control",
            "what is found by running again and again is not modelled",
        ),
        (!prepared.health.is_empty(), "health", "only arrays all of whose members are there are modelled"),
        (prepared.paths.is_some(), "path", "processors, channels and strings are not modelled"),
        (prepared.discipline != Discipline::Fcfs, "drive.queue", "only fcfs is modelled"),
        (prepared.people_first, "drive.people-first", "accesses that yield to others are not modelled"),
        (
            prepared.geometry.is_logged(),
            "array.consistency",
            "records that are durable before their data are not modelled",
        ),
        (organization.update == Update::Floating, "array.organization", "data that floats is not modelled"),
        (
            !workload.place.as_ref().is_none_or(uniform),
            "workload.place",
            "only places anywhere in the array are modelled",
        ),
        (workload.write_back.is_some(), "workload.write-back", "what is written back is not modelled"),
    ];
    match refused.into_iter().find(|(is_so, ..)| *is_so) {
        Some((_, key, what)) => Err(Unmodelled::Key { key, what }),
        None => Ok(()),
    }
}
