//! Figures of layouts: 1, 6 to 9, 14, 28 and 29. The array draws those layouts that it supports;
//! the others are drawn by the paper's rule, and their titles say so.

use parlour_array::{Geometry, LogCreation};
use parlour_units::{Region, Sectors};

use super::example::DISK;
use crate::reproduce::drawing::{self, Parity, aligned, columns};
use crate::reproduce::evidence::EvidenceError;
use crate::reproduce::figure::{Content, Panel};
use crate::reproduce::study::Study;
use crate::settings::{ConsistencyName, OrganizationSettings};

/// The numbers of disks in the paper's drawings.
const FEW: u16 = 4;
const SOME: u16 = 5;
const MANY: u16 = 10;
/// Nine data disks in a square, and a parity disk for each row and column.
const SQUARE: u16 = 15;
/// The stripe units: the default, and one so long that a whole region can be drawn.
const UNIT: Sectors = Sectors::new(128);
const LONG_UNIT: Sectors = Sectors::new(2048);

pub(super) fn figures(study: Study) -> Study {
    let layout = |options: &str| format!("parlour layout --member-size 64MiB {options}");
    let one = |organization: &str| layout(&format!("--rows 4 --members 4 --organization {organization}"));
    let regions = |sublogs: u16| {
        let options = format!("--sublogs {sublogs} --regions 10 --log-ratio 1 --consistency bitmap");
        layout(&format!("--rows 5 {options}"))
    };
    let doubly = layout(
        "--members 10 --tolerance 2 --sublogs 2 --regions 10 --log-ratio 1 --consistency bitmap --unit 1MiB --region 0",
    );
    let report = "parlour reproduce stodolsky --report out";
    study
        .figure("st.fig1", LEVELS.map(|(name, _)| one(name)).join("\n"), |_| levels())
        .figure("st.fig6", report, |_| Ok(by_rule(roles(false))))
        .figure("st.fig7", report, |_| Ok(by_rule(roles(true))))
        .figure("st.fig8", format!("{0}\n{0} --unit 1MiB --region 0", regions(1)), |_| {
            let [regions, inset] = [logging(1, UNIT)?, logging(1, LONG_UNIT)?];
            Ok(vec![
                Panel::titled("regions", Content::Drawing(drawing::regions(&regions, SOME.into()))),
                Panel::titled(
                    "region 0",
                    Content::Drawing(drawing::region(&inset, Region::new(0), usize::MAX)),
                ),
            ])
        })
        .figure("st.fig9", regions(2), |_| {
            let drawn = drawing::regions(&logging(2, UNIT)?, SOME.into());
            Ok(vec![Panel::only(Content::Drawing(drawn))])
        })
        .figure("st.fig14", report, |_| Ok(by_rule(floating())))
        .figure("st.fig28", layout("--rows 4 --members 15 --organization raid-2d"), |_| two_dimensional())
        .figure("st.fig29", doubly, |_| {
            let drawn = drawing::region(&double(LONG_UNIT)?, Region::new(0), usize::MAX);
            Ok(vec![Panel::only(Content::Drawing(drawn))])
        })
}

fn by_rule(drawn: String) -> Vec<Panel> {
    vec![Panel::titled("by the paper's rule", Content::Drawing(drawn))]
}

/// The organizations of figure 1.
const LEVELS: [(&str, &str); 4] = [
    ("raid0", "RAID level 0: nonredundant"),
    ("raid10", "RAID level 1: mirroring"),
    ("raid4", "RAID level 4"),
    ("raid5", "RAID level 5"),
];

fn levels() -> Result<Vec<Panel>, EvidenceError> {
    let drawn = LEVELS.into_iter().map(|(name, title)| {
        let array = drawing::array(&named(name), FEW, LogCreation::default())?;
        Ok(Panel::titled(title, Content::Drawing(drawing::units(&array, FEW.into(), Parity::Units))))
    });
    drawn.collect()
}

fn logging(sublogs: u16, unit: Sectors) -> Result<Geometry, EvidenceError> {
    drawing::array(&logged(unit), SOME, striped(sublogs))
}

fn striped(sublogs: u16) -> LogCreation {
    LogCreation { sublogs: Some(sublogs), regions: Some(10), ratio: Some(1.0), ..LogCreation::default() }
}

fn logged(unit: Sectors) -> OrganizationSettings {
    OrganizationSettings {
        unit: Some(unit.into()),
        consistency: Some(ConsistencyName::Bitmap),
        ..named("parity-logging")
    }
}

/// Figure 29: an array that survives two failures. Each region has its log twice, on two disks
/// each.
fn double(unit: Sectors) -> Result<Geometry, EvidenceError> {
    let settings = OrganizationSettings { tolerance: Some(2), ..logged(unit) };
    drawing::array(&settings, MANY, striped(2))
}

fn named(organization: &str) -> OrganizationSettings {
    OrganizationSettings { organization: Some(organization.to_owned()), ..Default::default() }
}

/// Figures 6 and 7: each region has a disk for parity and one for its log. They are always the last
/// two disks, or move left from region to region. (This program's array supports only the layouts
/// of figures 8 and 9.)
fn roles(rotated: bool) -> String {
    let disks = usize::from(SOME);
    let role = |region: usize, disk: usize| {
        let role = if rotated { (disk + region) % disks } else { disk };
        match disks - role {
            1 => format!("Log Reg {region}"),
            2 => format!("Parity Reg {region}"),
            _ => "Data".to_owned(),
        }
    };
    columns(
        "region",
        disks,
        (0..disks).map(|region| (0..disks).map(|disk| vec![role(region, disk)]).collect()),
    )
}

/// Figure 14: the cylinder of an example. A unit is replaced: its new place is the first free place
/// that passes under a head after the old unit was read and the head was switched.
fn floating() -> String {
    const TRACKS: usize = 4;
    const UNITS: usize = 6;
    /// The free places by track and offset; together as many as a track has.
    const FREE: [(usize, usize); UNITS] = [(0, 5), (1, 1), (1, 3), (2, 0), (2, 2), (3, 4)];
    /// The place of the replaced unit.
    const OLD: (usize, usize) = (0, 1);
    let switch = (DISK.head_switch / DISK.transfer()).ceil() as usize;
    // The number of units that pass from the end of the old unit to the beginning of a place.
    let wait = |(track, offset): (usize, usize)| {
        let least = if track == OLD.0 { 0 } else { switch };
        (least..least + UNITS).find(|passed| (OLD.1 + 1 + passed) % UNITS == offset).unwrap_or(UNITS)
    };
    let new = FREE.into_iter().min_by_key(|place| wait(*place)).unwrap_or(OLD);
    let place = |track: usize, offset: usize| match (track, offset) {
        at if at == OLD => "D (old)".to_owned(),
        at if at == new => "D (new)".to_owned(),
        at if FREE.contains(&at) => "free".to_owned(),
        _ => "taken".to_owned(),
    };
    let header = std::iter::once("track".to_owned()).chain((0..UNITS).map(|unit| format!("offset {unit}")));
    let tracks = (0..TRACKS).map(|track| {
        std::iter::once(track.to_string()).chain((0..UNITS).map(|unit| place(track, unit))).collect()
    });
    let lines: Vec<Vec<String>> = std::iter::once(header.collect()).chain(tracks).collect();
    aligned(&lines)
}

/// Figure 28: data disks in a square, with a parity disk for each row and each column. (Disk 5
/// occurs only once here.)
fn two_dimensional() -> Result<Vec<Panel>, EvidenceError> {
    let array = drawing::array(&named("raid-2d"), SQUARE, LogCreation::default())?;
    Ok(vec![Panel::titled(
        "parity rotates over the disks, and does not in the paper",
        Content::Drawing(drawing::units(&array, FEW.into(), Parity::Units)),
    )])
}
