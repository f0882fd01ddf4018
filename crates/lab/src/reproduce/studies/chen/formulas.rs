//! Numbers that follow from other printed numbers.

use parlour_drive::seek::SeekCurve;
use parlour_model::mirror::Distance;
use parlour_model::raid::disk_time::DiskTimes;
use parlour_model::raid::efficiency::{efficiency, parity_passed};
use parlour_model::raid::synchronization::{Positioning, latest_rotation};
use parlour_model::raid::{Array, Direction, Level, Request};

use super::machine::{self, DATA_DISKS, INDIVIDUAL, REVOLUTION_MS, array};
use crate::reproduce::evidence::EvidenceError;
use crate::reproduce::study::{Finding, Study};
use crate::reproduce::value::Value;

/// The numbers of disks for which a formula in N is tried.
const TRIED: std::ops::RangeInclusive<u32> = 2..=20;
/// "An average size (4 full stripes, or 40 tracks) request" (section 8.1.3).
const AVERAGE: Request = Request { first: 0, units: 4 * DATA_DISKS };
/// The accepted relative difference between two ways to compute the same number.
const SAME: f64 = 1e-9;

pub(super) fn of(study: Study) -> Study {
    study
        .number("ch.eff.raid5", |_| raid5_efficiency())
        .number("ch.small25", |_| {
            Ok(Finding::model(100.0 * efficiency(array(Level::Raid5)?, Direction::Write, INDIVIDUAL)))
        })
        .number("ch.rot", |_| Ok(Finding::model(machine::revolution()? / 2.0)))
        .number("ch.40", |evidence| {
            let times = machine::disk_times(evidence)?;
            Ok(Finding::model(times.of(array(Level::Raid0)?, Direction::Write, INDIVIDUAL)))
        })
        .number("ch.72", |evidence| Ok(Finding::model(machine::disk_times(evidence)?.read_and_rewrite())))
        // These two continue from printed numbers: 72, and about 40 over 144.
        .number("ch.144", |evidence| Ok(Finding::model(2.0 * evidence.published("ch.72")?)))
        .number("ch.28", |evidence| {
            Ok(Finding::model(100.0 * evidence.published("ch.40")? / evidence.published("ch.144")?))
        })
        .number("ch.110", |evidence| {
            let times = machine::disk_times(evidence)?;
            Ok(Finding::model(100.0 * relative(times, Level::Raid1, Direction::Read)?))
        })
        .number("ch.sync10", |_| rotations())
        .number("ch.1of6", |evidence| {
            let part = |times| relative(times, Level::Raid5, Direction::Write);
            let small = part(machine::small_disk_times(evidence)?)?;
            Ok(Finding::model(100.0 * (small - part(machine::disk_times(evidence)?)?)))
        })
        .number("ch.5pct", |_| {
            let passed = parity_passed(array(Level::Raid5)?, AVERAGE) as f64;
            Ok(Finding::model(100.0 * passed / f64::from(AVERAGE.units)))
        })
        .number("ch.3.6", |evidence| {
            Ok(Finding::model(machine::idle(evidence, "ch.ovh.ind")?.positioning.penalty(2)))
        })
}

/// The throughput of individual requests relative to RAID 0, from disk times.
fn relative(times: DiskTimes, level: Level, direction: Direction) -> Result<f64, EvidenceError> {
    Ok(times.relative_throughput(array(level)?, direction, INDIVIDUAL))
}

/// Checks that RAID 5's fraction of data, and the efficiency of its large writes by their accesses,
/// are (N-1)/N.
fn raid5_efficiency() -> Result<Finding, EvidenceError> {
    let mut holds = true;
    for disks in TRIED {
        let array = Array::new(Level::Raid5, disks).map_err(EvidenceError::model)?;
        let full = Request { first: 0, units: disks - 1 };
        let printed = (f64::from(disks) - 1.0) / f64::from(disks);
        holds &= (array.storage_efficiency() - printed).abs() < SAME;
        holds &= (efficiency(array, Direction::Write, full) - printed).abs() < SAME;
    }
    Ok(Finding::model(Value::Holds(holds)))
}

/// Compares the formula for the longest of N rotations with the mean of the maximum of N random
/// rotations, computed from their distribution.
fn rotations() -> Result<Finding, EvidenceError> {
    let still = SeekCurve::table(&[(1, 1.0), (2, 1.0)], 1).map_err(EvidenceError::model)?;
    let nowhere = Distance::independent(1, 1).map_err(EvidenceError::model)?;
    let rotation = Positioning::new(&nowhere, &still, REVOLUTION_MS).map_err(EvidenceError::model)?;
    let near = |disks| (latest_rotation(disks, REVOLUTION_MS) - rotation.latest(disks)).abs() < SAME;
    Ok(Finding::model(Value::Holds(TRIED.into_iter().all(near))))
}
