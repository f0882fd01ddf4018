//! Numbers that follow from printed numbers: means, costs, and Bang per Buck.

use std::path::Path;

use parlour_drive::angle::Angle;
use parlour_model::retrieval::{self, Configuration, Indicators, bang_per_buck, track_rate};

use crate::drives;
use crate::reproduce::evidence::{Evidence, EvidenceError};
use crate::reproduce::study::{Finding, Study};
use crate::reproduce::value::Value;

/// The number of rows of table I.
pub(super) const ROWS: usize = 14;
/// A volume of six disks, with one disk's space for parity.
const RAID5: Configuration = Configuration::Raid5 { disks: 6 };
/// The sizes of files, in KB: the smallest, the step, and the number of sizes ("Procedures").
pub(super) const SIZES: (f64, f64, u8) = (50.0, 25.0, 10);
/// The drive.
const DRIVE: &str = "seagate-st31200w";
/// Numbers that the paper takes as given.
const PREMISES: [&str; 4] = ["ha.price", "ha.price.plain", "ha.disks", "ha.disk.space"];

pub(super) fn numbers(study: Study) -> Study {
    let study = PREMISES
        .into_iter()
        .fold(study, |study, id| study.not_derivable(id, "a premise, taken over as it stands"));
    let study = study
        .number("ha.avg", |_| Ok(Finding::model(mean_size())))
        .number("ha.rate", |_| rates())
        .number("ha.cap.simple", |evidence| Ok(Finding::model(capacity(evidence, Configuration::Simple)?)))
        .number("ha.cap.raid5", |evidence| Ok(Finding::model(capacity(evidence, RAID5)?)))
        .number("ha.cap.raid01", |evidence| Ok(Finding::model(capacity(evidence, Configuration::Raid01)?)));
    let study = costs(study);
    (1..=ROWS).fold(study, |study, row| {
        study.number(format!("ha.t1.{row:02}"), move |evidence| Ok(Finding::model(bang(evidence, row)?)))
    })
}

/// Table II: the cost of a gigabyte, and Bang per Buck.
fn costs(study: Study) -> Study {
    let managed = [
        ("ha.t2.cost.raid01", "ha.t2.bpb.3-disk_RAID_0+1", 1, Configuration::Raid01),
        ("ha.t2.cost.raid5", "ha.t2.bpb.6-disk_RAID_5", 10, RAID5),
        ("ha.t2.cost.raid0", "ha.t2.bpb.6-disk_RAID_0", 2, Configuration::Raid0),
    ];
    let study = managed.into_iter().fold(study, |study, (cost_of, per_buck, row, configuration)| {
        study
            .number(cost_of, move |evidence| Ok(Finding::model(cost(evidence, "ha.price", configuration)?)))
            .number(per_buck, move |evidence| {
                let cost = cost(evidence, "ha.price", configuration)?;
                Ok(Finding::model(bang_per_buck(bang(evidence, row)?, cost)))
            })
    });
    study
        .number("ha.t2.cost.simple", |evidence| {
            let [cost, printed] = plain(evidence)?;
            Ok(Finding::model(cost).printed_reading(printed))
        })
        .number("ha.t2.bpb.simple_volumes", |evidence| {
            let bang = bang(evidence, 6)?;
            let [per_buck, printed] = plain(evidence)?.map(|cost| bang_per_buck(bang, cost));
            Ok(Finding::model(per_buck).printed_reading(printed))
        })
}

/// The cost of a gigabyte of simple volumes without management in K$: correctly, and as printed
/// (with the capacity of RAID 5).
fn plain(evidence: &Evidence) -> Result<[f64; 2], EvidenceError> {
    let cost = |configuration| cost(evidence, "ha.price.plain", configuration);
    Ok([cost(Configuration::Simple)?, cost(RAID5)?])
}

/// The cost of a gigabyte, in K$.
fn cost(evidence: &Evidence, price: &str, configuration: Configuration) -> Result<f64, EvidenceError> {
    Ok(retrieval::cost(evidence.published(price)? / 1e3, capacity(evidence, configuration)?))
}

/// The capacity for data, in gigabytes.
fn capacity(evidence: &Evidence, configuration: Configuration) -> Result<f64, EvidenceError> {
    let disks = evidence.published("ha.disks")? as u32;
    let each = evidence.published("ha.disk.space")? / 1e3;
    configuration.capacity(disks, each).map_err(EvidenceError::model)
}

/// The Bang of a row of table I, computed from its other two columns, in MB/s.
fn bang(evidence: &Evidence, row: usize) -> Result<f64, EvidenceError> {
    Ok(printed(evidence, row)?.bang(mean_size()))
}

/// The two indicators of a row of table I.
pub(super) fn printed(evidence: &Evidence, row: usize) -> Result<Indicators, EvidenceError> {
    let retrieval = evidence.published(&format!("ha.art.{row:02}"))?;
    let additional = evidence.published(&format!("ha.aat.{row:02}"))?;
    Ok(Indicators { retrieval, additional })
}

pub(super) fn mean_size() -> f64 {
    retrieval::mean(sizes())
}

/// The sizes of files, in KB.
pub(super) fn sizes() -> impl Iterator<Item = f64> {
    let (least, step, sizes) = SIZES;
    (0..sizes).map(move |size| least + step * f64::from(size))
}

/// The media rate of our model of the drive, from the innermost zone to the outermost, in MB/s.
fn rates() -> Result<Finding, EvidenceError> {
    let description = drives::find(DRIVE, Path::new("")).map_err(EvidenceError::model)?;
    let mechanics = description.mechanics(Angle::default()).map_err(EvidenceError::model)?;
    let revolutions = 60.0 / mechanics.spindle.revolution.as_secs_f64();
    let rates = description.zones.iter().map(|zone| track_rate(zone.sectors_per_track, revolutions));
    let (least, most) =
        rates.fold((f64::INFINITY, 0.0_f64), |(least, most), rate| (least.min(rate), most.max(rate)));
    Ok(Finding::model(Value::Range(least, most)))
}
