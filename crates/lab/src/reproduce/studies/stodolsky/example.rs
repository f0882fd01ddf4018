//! The array of the paper's examples, in all the ways in which it is organized.

use parlour_model::disk::Disk;
use parlour_model::utilization::{Array, Logging, LoggingModel, Model, Organization, Reading, Sublogs};

use crate::reproduce::evidence::EvidenceError;

/// The disk of the paper's examples.
pub(super) const DISK: Disk = Disk::IBM_0661;
/// The disks of its example.
pub(super) const DISKS: u32 = 22;

/// Degrees of log striping that are shown.
pub(super) const SUBLOGS: std::ops::RangeInclusive<u32> = 1..=13;

/// Says what is compared: an organization with its parameters.
pub(super) type Make = fn() -> Organization;

/// What the models say of an array.
pub(super) fn model(array: Array) -> Result<Model, EvidenceError> {
    array.model().map_err(EvidenceError::model)
}

/// The array of figure 12, whose writes read the old data first.
pub(super) fn blind(organization: Organization) -> Result<Model, EvidenceError> {
    model(Array::example(organization))
}

/// The same where old data is known.
pub(super) fn known(organization: Organization) -> Result<Model, EvidenceError> {
    model(Array { preread: false, ..Array::example(organization) })
}

/// The same with old data known or not.
pub(super) fn example(organization: Organization, preread: bool) -> Result<Model, EvidenceError> {
    model(Array { preread, ..Array::example(organization) })
}

/// The example's parity logging, with its unstriped log.
pub(super) fn unstriped() -> Organization {
    Organization::ParityLogging(Logging::default())
}

/// With its log on so many disks.
pub(super) fn striped(sublogs: u32) -> Organization {
    let sublogs = Sublogs::Striped(sublogs);
    Organization::ParityLogging(Logging { sublogs, ..Logging::default() })
}

/// By another reading of the formulas.
pub(super) fn read_as(reading: Reading) -> Organization {
    Organization::ParityLogging(Logging { reading, ..Logging::default() })
}

/// What belongs to its logs, of an array that is known to have them.
pub(super) fn logs(model: &Model) -> &LoggingModel {
    model.logging().expect("it is an array with logs")
}
