//! The example array of the paper, in all its organizations.

use parlour_model::disk::Disk;
use parlour_model::utilization::{Array, Logging, LoggingModel, Model, Organization, Reading, Sublogs};

use crate::reproduce::evidence::EvidenceError;

/// The disk of the paper's examples.
pub(super) const DISK: Disk = Disk::IBM_0661;
/// The number of disks of the example.
pub(super) const DISKS: u32 = 22;

/// The degrees of log striping that figures show.
pub(super) const SUBLOGS: std::ops::RangeInclusive<u32> = 1..=13;

/// Makes an organization with its parameters, for a comparison.
pub(super) type Make = fn() -> Organization;

/// Returns the model of an array.
pub(super) fn model(array: Array) -> Result<Model, EvidenceError> {
    array.model().map_err(EvidenceError::model)
}

/// The array of figure 12, whose writes read the old data first.
pub(super) fn blind(organization: Organization) -> Result<Model, EvidenceError> {
    model(Array::example(organization))
}

/// The same array with known old data.
pub(super) fn known(organization: Organization) -> Result<Model, EvidenceError> {
    model(Array { preread: false, ..Array::example(organization) })
}

/// The same array, with prereads of old data or without.
pub(super) fn example(organization: Organization, preread: bool) -> Result<Model, EvidenceError> {
    model(Array { preread, ..Array::example(organization) })
}

/// The example's parity logging, with an unstriped log.
pub(super) fn unstriped() -> Organization {
    Organization::ParityLogging(Logging::default())
}

/// The same with its log striped over this number of disks.
pub(super) fn striped(sublogs: u32) -> Organization {
    let sublogs = Sublogs::Striped(sublogs);
    Organization::ParityLogging(Logging { sublogs, ..Logging::default() })
}

/// The same by another reading of the formulas.
pub(super) fn read_as(reading: Reading) -> Organization {
    Organization::ParityLogging(Logging { reading, ..Logging::default() })
}

/// The logs of a model whose array has logs.
pub(super) fn logs(model: &Model) -> &LoggingModel {
    model.logging().expect("it is an array with logs")
}
