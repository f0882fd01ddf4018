//! The drive of figure 12, its bandwidths (figure 3), and the rough estimates that §2 derives from
//! them.

use std::path::Path;

use parlour_drive::angle::Angle;
use parlour_drive::description::Description;
use parlour_drive::mechanics::Mechanics;
use parlour_model::disk::Disk;
use parlour_model::utilization::coarse::{Bandwidths, IN_PLACE};
use parlour_units::{Duration, Sectors};

use super::example::{DISK, blind};
use super::modelled::{misread, modelled};
use crate::drives;
use crate::reproduce::evidence::EvidenceError;
use crate::reproduce::study::Study;
use parlour_model::utilization::{Logging, Organization, Sublogs};

/// The drive's name in the catalogue.
const DRIVE: &str = "ibm-0661";
/// The track skew in sectors (figure 12).
const SKEW: f64 = 4.0;
/// The length of a data unit.
const UNIT: Sectors = Sectors::new(4);

pub(super) fn numbers(study: Study) -> Study {
    [mechanics, bandwidths, rough].into_iter().fold(study, |study, numbers| numbers(study))
}

/// The seek curve and the skew of our model of the drive.
fn mechanics(study: Study) -> Study {
    let study = modelled(study, "st.seek.min", || Ok(milliseconds(drive()?.seek.time(1))));
    let study = modelled(study, "st.seek.mean", || Ok(own()?.seek));
    let study = modelled(study, "st.seek.max", || {
        let (drive, disk) = (drive()?, own()?);
        Ok(milliseconds(drive.seek.time(disk.cylinders as u32 - 1)))
    });
    modelled(study, "st.skew", || {
        let disk = own()?;
        let sectors = disk.units * UNIT.get() as f64;
        Ok(SKEW / sectors * 2.0 * disk.rotation)
    })
}

fn bandwidths(study: Study) -> Study {
    let study = modelled(study, "st.track", || Ok(DISK.track_size()));
    let study = modelled(study, "st.cyl", || Ok(DISK.cylinder_size()));
    let study = modelled(study, "st.bw.cyl_over_track", || Ok(Bandwidths::of(&DISK).cylinder_over_track));
    modelled(study, "st.bw.track_over_block", || Ok(Bandwidths::of(&DISK).track_over_block))
}

/// §2 and §2.3: the work of maintaining parity for small random accesses, estimated from two ratios
/// of bandwidths; and the space for parity.
fn rough(study: Study) -> Study {
    const LORE: Bandwidths = Bandwidths::LORE;
    let study = modelled(study, "st.coarse.quarter", || {
        Ok(LORE.maintenance_of_a_full_log(&DISK) / (DISK.tracks * DISK.cylinders * DISK.units))
    });
    let study = modelled(study, "st.coarse.eight", || Ok(IN_PLACE / LORE.maintenance(1.0)));
    let study = modelled(study, "st.coarse.A2", || Ok(100.0 * LORE.maintenance(2.0) / IN_PLACE));
    let study = modelled(study, "st.coarse.A0.5", || Ok(100.0 * LORE.maintenance(0.5) / IN_PLACE));
    let study = modelled(study, "st.fig11.limit", || Ok(100.0 * LORE.least_maintenance()));
    let study = modelled(study, "st.fig11.0.7", || Ok(100.0 * LORE.maintenance(0.7)));
    let study = misread(study, "st.space.A2", || space(2.0));
    misread(study, "st.space.A0.5", || space(0.5))
}

/// The space for parity and logs, in percent, with this ratio of log to parity; and the printed
/// reading, which uses RAID 5's overhead rounded to one decimal for each.
fn space(ratio: f64) -> Result<[f64; 2], EvidenceError> {
    let logging = Logging { ratio, sublogs: Sublogs::Striped(1), ..Logging::default() };
    let ours = 100.0 * blind(Organization::ParityLogging(logging))?.space_overhead();
    let raid5 = (1000.0 * blind(Organization::Raid5)?.space_overhead()).floor() / 10.0;
    Ok([ours, (1.0 + ratio) * raid5])
}

/// The drive's description.
pub(super) fn description() -> Result<Description, EvidenceError> {
    drives::find(DRIVE, Path::new("")).map_err(EvidenceError::model)
}

/// Our model of the drive.
pub(super) fn drive() -> Result<Mechanics, EvidenceError> {
    description()?.mechanics(Angle::default()).map_err(EvidenceError::model)
}

/// The time of a seek that passes over this number of cylinders, in milliseconds. The paper's
/// `dist` does not count the destination.
pub(super) fn seek_over(passed: u32) -> Result<f64, EvidenceError> {
    Ok(milliseconds(drive()?.seek.time(passed + 1)))
}

/// This drive as a disk of the models, with the mean seek of its own seek curve.
pub(super) fn own() -> Result<Disk, EvidenceError> {
    Disk::of(&drive()?, UNIT).map_err(EvidenceError::model)
}

pub(super) fn milliseconds(time: Duration) -> f64 {
    1e3 * time.as_secs_f64()
}
