//! How long a rebuild takes: a member of the simulated array dies, and a spare takes its slot.

use std::path::Path;

use parlour_sim::control::ControlError;
use parlour_units::Sectors;

use crate::experiment::build::BuildError;
use crate::experiment::health::HealthSettings;
use crate::experiment::prepared::PointError;
use crate::experiment::setup::{ControlSettings, MeasureSettings, Setup};
use crate::experiment::workload::{SizeSetting, WorkloadSettings};
use crate::settings::Size;

/// Why the time of a rebuild is not known.
#[derive(Debug, thiserror::Error)]
pub enum RebuildError {
    /// The run cannot be made.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The run failed.
    #[error("the rebuild cannot be simulated: {0}; give reliability.rebuild, as \"12h\"")]
    Run(#[from] ControlError<PointError>),
    /// The array has nothing from which a member is rebuilt.
    #[error("a member of an array without redundancy is not rebuilt; give reliability.rebuild, as \"12h\"")]
    Nothing,
}

/// How much of each drive is used in the simulation by default.
const SAMPLE: Sectors = Sectors::new(1 << 21);
/// The requests of an array without load: one in a hundred seconds.
const IDLE: f64 = 0.01;

/// The hours of a rebuild of the file's array on its drives, under its load. A part of each drive
/// is simulated, and the rest is taken to be rebuilt at the same rate.
pub(super) fn hours(setup: &Setup, path: &Path) -> Result<f64, RebuildError> {
    let (geometry, _, length) = setup.geometry(path)?;
    if geometry.fault_tolerance() == 0 {
        return Err(RebuildError::Nothing);
    }
    let sample = setup.reliability.rebuild_sample.map_or(SAMPLE, Size::sectors).min(length);
    let run = Setup {
        arrays: Some(1),
        member_size: Some(sample.into()),
        health: vec![
            HealthSettings { die: Some(0), ..HealthSettings::default() },
            HealthSettings { spare: Some(true), ..HealthSettings::default() },
        ],
        workload: if setup.workload.is_empty() { vec![idle()] } else { setup.workload.clone() },
        measure: MeasureSettings {
            warm_up: Some(0),
            requests: Some(1),
            until_rebuilt: Some(true),
            ..MeasureSettings::default()
        },
        control: ControlSettings::default(),
        ..setup.clone()
    };
    let outcome = run.prepare(path)?.run()?;
    let took =
        outcome.happened.rebuilds.iter().find_map(|(_, _, took)| *took).ok_or(RebuildError::Nothing)?;
    Ok(took / 3_600.0 * (length.get() as f64 / sample.get() as f64))
}

fn idle() -> WorkloadSettings {
    WorkloadSettings {
        rate: Some(IDLE),
        reads: Some(1.0),
        size: Some(SizeSetting::Fixed(Size::from(Sectors::new(8)))),
        ..WorkloadSettings::default()
    }
}
