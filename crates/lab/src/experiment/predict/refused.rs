//! Errors of the closed forms: what they do not model, by the key concerned.

use parlour_array::{ExplainError, Geometry};
use parlour_drive::description::DescriptionError;
use parlour_drive::queue::Discipline;
use parlour_model::fork_join::NetworkError;
use parlour_model::order::DistributionError;
use parlour_model::service::ServiceError;
use parlour_model::utilization::Refused;

use crate::experiment::control::Control;
use crate::experiment::prepared::Prepared;
use crate::experiment::workload::{DuringName, PlaceSetting, WorkloadError};

/// Why the closed forms do not apply to a run.
#[derive(Debug, thiserror::Error)]
pub enum Unmodelled {
    /// A key's setting is not modelled.
    #[error("{key}: {what}; simulate it")]
    Key {
        /// The key.
        key: &'static str,
        /// What is not modelled.
        what: &'static str,
    },
    /// The requests of a trace arrive at recorded times.
    #[error("workload.trace: what comes at recorded times is not modelled; simulate it")]
    Recorded,
    /// The arrivals are not a Poisson process.
    #[error("workload.every: only arrivals of a Poisson process are modelled; use rate, or simulate it")]
    Arrivals,
    /// The load exceeds what the disks can serve.
    #[error("workload.rate: more comes than is answered: disks would be busy {:.2} times the time", .0)]
    Unstable(f64),
    /// The workload is invalid.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The array cannot list the accesses of a request.
    #[error("workload: {0}")]
    Request(#[from] ExplainError),
    /// The drive's description is invalid.
    #[error("drive.model: {0}")]
    Description(#[from] DescriptionError),
    /// The drive's service time cannot be computed.
    #[error("drive.model: {0}")]
    Service(#[from] ServiceError),
    /// The network of queues cannot be solved.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The time of a rebuild cannot be computed.
    #[error("health: {0}")]
    Times(DistributionError),
    /// The parity logs cannot be modelled.
    #[error("log: {0}")]
    Logs(#[from] Refused),
}

/// The geometry of a run that was [checked](check).
pub(super) fn geometry(prepared: &Prepared) -> &Geometry {
    prepared.geometry().expect("rivals have no geometry, and are refused")
}

/// Checks that the closed forms model all settings of the file.
pub(super) fn check(prepared: &Prepared) -> Result<(), Unmodelled> {
    let Some(geometry) = prepared.geometry() else {
        let what = "organizations that are simulated only have no closed forms here";
        return Err(Unmodelled::Key { key: "array.organization", what });
    };
    let organization = geometry.organization();
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
        (
            prepared.dead().len() < prepared.health.len() && prepared.rebuilt().is_none(),
            "health",
            "only members that have died in the beginning are modelled, and one that is rebuilt until the end",
        ),
        (
            !prepared.health.is_empty() && geometry.is_journaled(),
            "health",
            "a journal is modelled only where all members are there",
        ),
        (prepared.paths.is_some(), "path", "processors, channels and strings are not modelled"),
        (prepared.discipline != Discipline::Fcfs, "drive.queue", "only fcfs is modelled"),
        (prepared.people_first, "drive.people-first", "accesses that yield to others are not modelled"),
        (geometry.journal_slots() > 0, "journal.devices", "only a journal on members is modelled"),
        (prepared.journal_near_heads, "journal.near-heads", "entries near the heads are not modelled"),
        (
            !prepared.simulated.compression.is_none(),
            "semantics.compressed-to",
            "compressed records are not modelled",
        ),
        (organization.floats(), "array.organization", "data that floats is not modelled"),
        (
            !workload.place.as_ref().is_none_or(uniform),
            "workload.place",
            "only places anywhere in the array are modelled",
        ),
        (
            workload.during.is_some_and(|during| during != DuringName::All),
            "workload.during",
            "requests of a part of the run are not modelled",
        ),
        (workload.write_back.is_some(), "workload.write-back", "what is written back is not modelled"),
    ];
    match refused.into_iter().find(|(is_so, ..)| *is_so) {
        Some((_, key, what)) => Err(Unmodelled::Key { key, what }),
        None => Ok(()),
    }
}
