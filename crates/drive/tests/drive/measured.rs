//! Compares drive models with measurements of real drives.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use parlour_drive::angle::Angle;
use parlour_drive::catalogue::find;
use parlour_drive::description::Description;
use parlour_drive::drive::Drive;
use parlour_drive::validate::{demerit, modelled, read_trace};

/// The distance from the measured distribution, in milliseconds.
fn distance(name: &str, trace: &str) -> f64 {
    let description = Description::parse(find(name).unwrap()).unwrap();
    let mechanics = description.mechanics(Angle::default()).unwrap();
    let mut drive = Drive::new(mechanics, description.electronics().unwrap());
    let trace = read_trace(trace).unwrap();
    let measured: Vec<_> = trace.iter().map(|request| request.took).collect();
    demerit(&modelled(&mut drive, &trace), &measured)
}

/// The distance of DiskSim 4.0 is 0.090 ms.
#[test]
fn the_hp_c2247a_is_as_near_as_disksim() {
    let distance = distance("hp-c2247a", include_str!("../../../../drives/traces/hp-c2247a.trace"));
    assert!(distance < 1.5 * 0.090, "{distance} ms");
}

/// The distance of DiskSim 4.0 is 0.107 ms.
#[test]
fn the_seagate_cheetah_9lp_is_as_near_as_disksim() {
    let distance =
        distance("seagate-cheetah-9lp", include_str!("../../../../drives/traces/seagate-cheetah-9lp.trace"));
    assert!(distance < 1.5 * 0.107, "{distance} ms");
}
