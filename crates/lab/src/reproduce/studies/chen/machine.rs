//! The Amdahl machine: its arrays, drives and requests, as input of the closed forms.

use std::path::Path;

use parlour_drive::mechanics::Mechanics;
use parlour_model::mirror::{Distance, SteadyHeads};
use parlour_model::raid::disk_time::{DiskTimes, throughput_per_disk};
use parlour_model::raid::efficiency::Alignment;
use parlour_model::raid::lifetime::{Costs, Idle};
use parlour_model::raid::synchronization::Positioning;
use parlour_model::raid::{Array, Direction, Level, Request};

use crate::drives;
use crate::reproduce::evidence::{Evidence, EvidenceError};

/// The paper's levels, with their names in the experiments.
pub(super) const LEVELS: [(Level, &str); 3] =
    [(Level::Raid0, "RAID 0"), (Level::Raid1, "RAID 1"), (Level::Raid5, "RAID 5")];
/// The levels without RAID 0, to which they are compared.
pub(super) const REDUNDANT: [(Level, &str); 2] = [LEVELS[1], LEVELS[2]];

/// Disks of user data (section 6).
pub(super) const DATA_DISKS: u32 = 10;
/// Sectors of a track (table 1).
const SECTORS: f64 = 10.0;
/// A track, which is the stripe unit, in thousands of bytes: ten sectors of 4 KB.
const TRACK_KB: f64 = 40.0 * 1.024;
/// The mean seek (table 1).
const SEEK_MS: f64 = 15.0;
/// A revolution (section 7.1.1).
pub(super) const REVOLUTION_MS: f64 = 16.7;
/// The maximum transfer rate in MB/s (table 1), and the length of a track in the same MB.
const RATE: f64 = 2.4;
const TRACK_MB: f64 = 40.0 / 1_024.0;
/// The processor time of an access, as in the experiments; between 1.5 and 1.8 (section 7.1).
pub(super) const IO_CPU_MS: f64 = 1.65;
/// The seek time that the nearer of two heads saves in section 7.2.
const SEEK_SAVED_MS: f64 = 4.0;
/// The mean small request of section 8.1, as a fraction of a track.
const SMALL: f64 = 6.0 / 40.0;
/// The smallest and largest of the large requests, their mean and their standard deviation, in
/// tracks, as in the experiments.
const LARGE_TRACKS: (i32, i32) = (1, 150);
const LARGE_MEAN: f64 = 37.5;
const LARGE_DEVIATION: f64 = 37.5;
/// Where distributions are cut off, in standard deviations from the mean.
const TAIL: f64 = 8.0;

pub(super) const INDIVIDUAL: Request = Request { first: 0, units: 1 };
pub(super) const FULL: Request = Request { first: 0, units: DATA_DISKS };

/// An array of this level with room for ten disks of data.
pub(super) fn array(level: Level) -> Result<Array, EvidenceError> {
    Array::for_data(level, DATA_DISKS).map_err(EvidenceError::model)
}

/// The mechanics of the drive of the experiments.
pub(super) fn mechanics() -> Result<Mechanics, EvidenceError> {
    let description = drives::find("amdahl-6380", Path::new("")).map_err(EvidenceError::model)?;
    description.mechanics(Default::default()).map_err(EvidenceError::model)
}

/// The revolution of that drive, in milliseconds.
pub(super) fn revolution() -> Result<f64, EvidenceError> {
    Ok(mechanics()?.spindle.revolution.as_secs_f64() * 1e3)
}

/// The transfer time of a track at the drive's rate, in milliseconds.
pub(super) fn transfer() -> f64 {
    TRACK_MB / RATE * 1e3
}

/// The disk times of a track, from printed numbers.
pub(super) fn disk_times(evidence: &Evidence) -> Result<DiskTimes, EvidenceError> {
    let transfer = evidence.published("ch.xfer")?;
    Ok(DiskTimes { seek: SEEK_MS, revolution: REVOLUTION_MS, transfer, seek_saved: SEEK_SAVED_MS })
}

/// The disk times of a small request.
pub(super) fn small_disk_times(evidence: &Evidence) -> Result<DiskTimes, EvidenceError> {
    let times = disk_times(evidence)?;
    Ok(DiskTimes { transfer: times.transfer * SMALL, ..times })
}

/// The large requests of section 8.1: normally distributed, in whole tracks.
pub(super) fn large_sizes() -> Vec<(u32, f64)> {
    let (least, most) = LARGE_TRACKS;
    let reach = (TAIL * LARGE_DEVIATION) as i32;
    let around = -reach..=reach + LARGE_MEAN as i32;
    // Sizes are rounded up: on average by half a track.
    let weight =
        |tracks: i32| (-0.5 * ((f64::from(tracks) - 0.5 - LARGE_MEAN) / LARGE_DEVIATION).powi(2)).exp();
    around.map(|tracks| (tracks.clamp(least, most).unsigned_abs(), weight(tracks))).collect()
}

/// The throughput of each disk in MB/s, when disks are saturated with requests for tracks.
pub(super) fn track_throughput(
    evidence: &Evidence,
    level: Level,
    direction: Direction,
    request: Request,
) -> Result<f64, EvidenceError> {
    let time = disk_times(evidence)?.of(array(level)?, direction, request);
    Ok(throughput_per_disk(f64::from(request.units) * TRACK_KB, time))
}

/// The same for small requests.
pub(super) fn small_throughput(
    evidence: &Evidence,
    level: Level,
    direction: Direction,
) -> Result<f64, EvidenceError> {
    let time = small_disk_times(evidence)?.of(array(level)?, direction, INDIVIDUAL);
    Ok(throughput_per_disk(SMALL * TRACK_KB, time))
}

/// The same for large requests.
pub(super) fn large_throughput(
    evidence: &Evidence,
    level: Level,
    direction: Direction,
    alignment: Alignment,
) -> Result<f64, EvidenceError> {
    let (times, array, sizes) = (disk_times(evidence)?, array(level)?, large_sizes());
    let plain = array.nonredundant();
    let (mut kilobytes, mut taken) = (0.0, 0.0);
    for (units, weight) in &sizes {
        kilobytes += weight * f64::from(*units) * TRACK_KB;
        taken += weight * times.of(plain, direction, Request { first: 0, units: *units });
    }
    let relative = times.mean_relative_throughput(array, direction, &sizes, alignment);
    Ok(throughput_per_disk(kilobytes, taken) * relative)
}

/// The model of an idle machine, for requests with the printed overhead.
pub(super) fn idle(evidence: &Evidence, overhead: &str) -> Result<Idle, EvidenceError> {
    let mechanics = mechanics()?;
    let cylinders = mechanics.seek.longest() + 1;
    let single = Distance::independent(1, cylinders).map_err(EvidenceError::model)?;
    let heads = SteadyHeads::new(2).map_err(EvidenceError::model)?;
    let nearer = heads.distance(cylinders).map_err(EvidenceError::model)?;
    let positioning = |distance: &Distance| {
        Positioning::new(distance, &mechanics.seek, revolution()?).map_err(EvidenceError::model)
    };
    let costs = Costs {
        overhead: evidence.published(overhead)?,
        io_cpu: IO_CPU_MS,
        transfer: evidence.published("ch.xfer")?,
    };
    Ok(Idle { positioning: positioning(&single)?, nearer: positioning(&nearer)?, costs })
}

/// The transfer times of small requests in milliseconds, with their weights: whole sectors, for
/// exponentially distributed sizes.
pub(super) fn small_transfers(evidence: &Evidence) -> Result<Vec<(f64, f64)>, EvidenceError> {
    let sector = evidence.published("ch.xfer")? / SECTORS;
    let further = 1.0 - 1.0 / (SMALL * SECTORS);
    let tail = 0..(TAIL * SECTORS) as i32;
    Ok(tail.map(|more| (sector * f64::from(more + 1), further.powi(more))).collect())
}
