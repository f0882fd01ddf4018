//! Other computed numbers: floating's maps (§4), LRAID-X4 (§10), and the workloads (figures 2, 12
//! and 26).

use parlour_model::disk::Disk;
use parlour_model::utilization::load::{AIRLINE, PROCESSES_PER_DISK, Way, mean_size, share, tpc_a_bytes};
use parlour_model::utilization::lraid;
use parlour_model::utilization::space::floating_map;
use parlour_model::utilization::{Array, Organization};

use super::disk::seek_over;
use super::example::{DISK, DISKS, blind, model};
use super::modelled::{misread, modelled};
use crate::reproduce::evidence::EvidenceError;
use crate::reproduce::study::{Finding, Study};
use crate::reproduce::value::Value;

/// The tracks of a cylinder and the numbers of disks with which footnote 6 is checked.
const SHAPES: [(u32, u32); 4] = [(14, 22), (2, 2), (5, 9), (19, 4)];
/// The number of cylinders that `Tfewtrackseek` passes over, and the number of tracks of a
/// subsequence with memory for 2% of a disk (§10).
const FEW_TRACKS: u32 = 5;
const SUBSEQUENCE: f64 = 2.4;
/// The transactions per second of figure 2's system.
const TRANSACTIONS: f64 = 250.0;
const BITS_PER_KB: f64 = 8.0 * 1024.0;

pub(super) fn numbers(study: Study) -> Study {
    [floating, lraid_x4, workloads].into_iter().fold(study, |study, numbers| numbers(study))
}

fn floating(study: Study) -> Study {
    let study = modelled(study, "st.float.bits", || Ok(floating_map(&DISK)));
    let study = modelled(study, "st.float.kb", || Ok(floating_map(&DISK) / BITS_PER_KB));
    let study = misread(study, "st.float.total", || {
        let rounded = (floating_map(&DISK) / BITS_PER_KB).round();
        Ok([blind(Organization::Floating)?.memory(), f64::from(DISKS) * rounded])
    });
    let study = modelled(study, "st.float.space", || Ok(Value::Holds(footnote_6()?)));
    modelled(study, "st.float.5.52", || {
        let positioning = DISK.seek + DISK.rotation + DISK.head_switch;
        Ok((DISK.floating_update() - positioning) / DISK.rotation * DISK.units)
    })
}

/// Checks that free tracks and parity take `(T+N-1)/(TN)` of the space.
fn footnote_6() -> Result<bool, EvidenceError> {
    let mut holds = true;
    for (tracks, disks) in SHAPES {
        let (t, n) = (f64::from(tracks), f64::from(disks));
        let disk = Disk { tracks: t, ..DISK };
        let array = model(Array { disk, disks, ..Array::example(Organization::Floating) })?;
        holds &= (array.space_overhead() - (t + n - 1.0) / (t * n)).abs() < 1e-12;
    }
    Ok(holds)
}

fn lraid_x4(study: Study) -> Study {
    let study = modelled(study, "st.lraid.624", with_little_memory);
    let study = modelled(study, "st.lraid.28.4", || Ok(with_little_memory()? / f64::from(DISKS)));
    let study = modelled(study, "st.lraid.760", with_enough_memory);
    let study = study.number("st.lraid.34.5", |evidence| {
        Ok(Finding::model(evidence.published("st.lraid.760")? / f64::from(DISKS)))
    });
    modelled(study, "st.lraid.80", || Ok(100.0 * with_little_memory()? / with_enough_memory()?))
}

fn with_little_memory() -> Result<f64, EvidenceError> {
    Ok(lraid::peak_throughput(&DISK, seek_over(FEW_TRACKS)?, SUBSEQUENCE))
}

fn with_enough_memory() -> Result<f64, EvidenceError> {
    Ok(lraid::most_throughput(&DISK, seek_over(FEW_TRACKS)?))
}

fn workloads(study: Study) -> Study {
    let study = modelled(study, "st.fig2.mb", || Ok(tpc_a_bytes(1.0) / 1e6));
    let study = modelled(study, "st.fig2.gb", || Ok(tpc_a_bytes(TRANSACTIONS) / 1e9));
    let study = modelled(study, "st.fig26.reads", || Ok(100.0 * share(&AIRLINE, Way::Read)));
    let study = modelled(study, "st.fig26.read", || Ok(mean_size(&AIRLINE, Way::Read)));
    let study = modelled(study, "st.fig26.write", || Ok(mean_size(&AIRLINE, Way::Write)));
    modelled(study, "st.users", || Ok(f64::from(PROCESSES_PER_DISK * DISKS)))
}
