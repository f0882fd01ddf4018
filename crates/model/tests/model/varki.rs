//! Numbers that Varki and Wang print about the drive and the array (§3.1), compared with the
//! catalogue. (Those of §4 need simulations.)
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use crate::common::Parts;

/// va.cap, va.spt: table 2.
#[test]
fn the_drive_of_table_2_is_the_catalogues() {
    let surface = Parts::find("hp-c2247a").mechanics.surface;
    assert_eq!(surface.blocks(), 2_054_864);
    assert_eq!(format!("{:.2}", surface.blocks() as f64 * 512.0 / 1e9), "1.05");
    assert_eq!(surface.zones().len(), 8);
    let tracks: Vec<u64> = surface.zones().iter().map(|zone| zone.shape.sectors).collect();
    assert_eq!((tracks.iter().min(), tracks.iter().max()), (Some(&56), Some(&96)));
    let mean = surface.blocks() as f64 / f64::from(2_051 * 13);
    assert!((56.0..=96.0).contains(&mean), "{mean} sectors on a track in the mean");
}
