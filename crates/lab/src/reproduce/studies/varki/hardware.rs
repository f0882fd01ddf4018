//! The drive, and the array of these drives (§3.1).

use std::path::{Path, PathBuf};

use parlour_drive::angle::Angle;
use parlour_drive::electronics::Electronics;
use parlour_drive::mechanics::Mechanics;

use crate::drives;
use crate::experiment::Experiment;
use crate::reproduce::evidence::EvidenceError;
use crate::reproduce::experiments;
use crate::reproduce::study::{Finding, Study};
use crate::reproduce::value::Value;

/// The HP C2240 with 13 surfaces (table 2).
const DRIVE: &str = "hp-c2247a";
/// The experiment on the array: requests of exactly k units.
pub(super) const UNITS: &str = "varki/units";
/// The bytes of a sector.
const SECTOR: f64 = 512.0;

pub(super) fn numbers(study: Study) -> Study {
    study
        .number("va.cap", |_| {
            let (mechanics, _) = drive()?;
            Ok(Finding::model(mechanics.surface.blocks() as f64 * SECTOR / 1e9))
        })
        .number("va.spt", |_| {
            let (mechanics, _) = drive()?;
            let tracks = mechanics.surface.zones().iter().map(|zone| zone.shape.sectors as f64);
            let (least, most) = tracks
                .fold((f64::INFINITY, 0.0_f64), |(least, most), track| (least.min(track), most.max(track)));
            Ok(Finding::model(Value::Range(least, most)))
        })
        .number("va.21", |_| Ok(Finding::model(data_drives()?)))
}

/// The drive of the catalogue.
pub(super) fn drive() -> Result<(Mechanics, Electronics), EvidenceError> {
    let description = drives::find(DRIVE, Path::new("")).map_err(EvidenceError::model)?;
    let mechanics = description.mechanics(Angle::default()).map_err(EvidenceError::model)?;
    Ok((mechanics, description.electronics().map_err(EvidenceError::model)?))
}

/// The number of data units in a row of all groups, from the layout of the simulated array.
fn data_drives() -> Result<f64, EvidenceError> {
    let path = PathBuf::from(format!("experiments/{UNITS}.toml"));
    let text = experiments::find(UNITS).ok_or_else(|| EvidenceError::NoExperiment(UNITS.to_owned()))?;
    let experiment = Experiment::parse(&path, text, &[]).map_err(EvidenceError::model)?;
    let point = experiment.points().map_err(EvidenceError::model)?.swap_remove(0);
    let prepared = point.setup.prepare(&path).map_err(EvidenceError::model)?;
    let layout = prepared.geometry().expect("the paper's arrays are no rivals").layout();
    Ok(f64::from(layout.data_units() * layout.groups()))
}
