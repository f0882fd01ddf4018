//! Stodolsky, Holland, Courtright and Gibson: parity logging.
//!
//! Numbers, in the order of the paper: the [`disk`] and what §2 reckons roughly, what [`logging`] costs, what the
//! [`others`] cost and need, and how long until data is lost ([`lifetimes`]). Figures: [`curves`] that follow
//! from formulas, [`layouts`], [`tables`], and [`peaks`] that were simulated.

mod curves;
mod disk;
mod layouts;
mod lifetimes;
mod logging;
mod others;
mod peaks;
mod tables;

use parlour_model::disk::Disk;
use parlour_model::utilization::{Array, Logging, LoggingModel, Model, Organization, Reading, Sublogs};

use crate::reproduce::evidence::EvidenceError;
use crate::reproduce::paper::Paper;
use crate::reproduce::study::{Finding, Study};
use crate::reproduce::value::Value;

/// The disk of the paper's examples.
const DISK: Disk = Disk::IBM_0661;
/// The disks of its example.
const DISKS: u32 = 22;

pub(super) fn study() -> Study {
    let study = Study::of(Paper::Stodolsky);
    let parts = [
        disk::numbers,
        logging::numbers,
        others::numbers,
        lifetimes::numbers,
        peaks::numbers,
        curves::figures,
        layouts::figures,
        tables::figures,
        peaks::figures,
    ];
    parts.into_iter().fold(study, |study, numbers| numbers(study))
}

/// Says what is compared: an organization with its parameters.
type Make = fn() -> Organization;

/// A number that a model alone gives.
fn modelled<T: Into<Value> + 'static>(
    study: Study,
    id: &'static str,
    value: fn() -> Result<T, EvidenceError>,
) -> Study {
    study.number(id, move |_| Ok(Finding::model(value()?)))
}

/// A number for which a model gives two: by our reading, and by the printed one.
fn misread(study: Study, id: &'static str, values: fn() -> Result<[f64; 2], EvidenceError>) -> Study {
    study.number(id, move |_| {
        let [ours, printed] = values()?;
        Ok(Finding::model(ours).printed_reading(printed))
    })
}

fn model(array: Array) -> Result<Model, EvidenceError> {
    array.model().map_err(EvidenceError::model)
}

/// The array of figure 12, whose writes read the old data first.
fn blind(organization: Organization) -> Result<Model, EvidenceError> {
    model(Array::example(organization))
}

/// The same where old data is known.
fn known(organization: Organization) -> Result<Model, EvidenceError> {
    model(Array { preread: false, ..Array::example(organization) })
}

/// The same with old data known or not.
fn example(organization: Organization, preread: bool) -> Result<Model, EvidenceError> {
    model(Array { preread, ..Array::example(organization) })
}

/// The example's parity logging, with its unstriped log.
fn unstriped() -> Organization {
    Organization::ParityLogging(Logging::default())
}

/// With its log on so many disks.
fn striped(sublogs: u32) -> Organization {
    let sublogs = Sublogs::Striped(sublogs);
    Organization::ParityLogging(Logging { sublogs, ..Logging::default() })
}

/// By another reading of the formulas.
fn read_as(reading: Reading) -> Organization {
    Organization::ParityLogging(Logging { reading, ..Logging::default() })
}

/// What belongs to its logs, of an array that is known to have them.
fn logs(model: &Model) -> &LoggingModel {
    model.logging().expect("it is an array with logs")
}
