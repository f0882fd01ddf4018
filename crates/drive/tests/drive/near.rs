//! Writes that go where the heads are.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use parlour_drive::angle::Angle;
use parlour_drive::catalogue;
use parlour_drive::description::Description;
use parlour_drive::drive::Drive;
use parlour_drive::mechanics::Way;
use parlour_units::{Duration, Instant};

/// A ring of this many blocks, at the drive's beginning.
const RING: u64 = 1_000;
/// A block far away from it.
const FAR: u64 = 500_000;

fn drive(ring: u64) -> Drive {
    let description = Description::parse(catalogue::find("ibm-0661").unwrap()).unwrap();
    let mut drive =
        Drive::new(description.mechanics(Angle::default()).unwrap(), description.electronics().unwrap());
    drive.write_near(std::iter::once(0..ring));
    drive
}

/// Moves the arm away, writes blocks of the ring, and returns how long that took.
fn written(drive: &mut Drive, now: &mut Instant, at: u64, blocks: u64) -> Duration {
    let away = drive.serve(*now, Way::Read, FAR + at * 101 % 100_000, 1).done;
    *now = drive.serve(away, Way::Write, at, blocks).done;
    now.since(away)
}

#[test]
fn a_write_near_the_heads_costs_neither_a_seek_nor_half_a_turn() {
    let (mut drive, mut now) = (drive(RING), Instant::ZERO);
    let mut all = Duration::ZERO;
    for at in (0..RING).step_by(5) {
        all = all + written(&mut drive, &mut now, at, 5);
    }
    let revolution = drive.mechanics().spindle.revolution;
    let mean = Duration::from_nanoseconds(all.nanoseconds() / (RING / 5));
    assert!(mean * 5 < revolution * 2, "{mean} of {revolution}");
}

/// The ring is written round and round, in one cylinder: its track has 48 sectors.
#[test]
fn what_a_ring_passes_over_is_free() {
    let (mut drive, mut now) = (drive(40), Instant::ZERO);
    let mut longest = Duration::ZERO;
    for round in 0..200 {
        // Every third write is left out, as on a member that does not take each entry.
        for at in (0..40).step_by(4).filter(|at| (at / 4 + round) % 3 > 0) {
            longest = longest.max(written(&mut drive, &mut now, at, 4));
        }
    }
    let revolution = drive.mechanics().spindle.revolution;
    assert!(longest < revolution * 2, "{longest} of {revolution}");
}

#[test]
fn what_was_written_is_read_where_it_is_and_the_rest_in_its_place() {
    let (mut drive, mut now) = (drive(RING), Instant::ZERO);
    written(&mut drive, &mut now, 0, 8);
    let there = drive.arm();
    let read = |drive: &mut Drive, at| {
        let away = drive.serve(now, Way::Read, 2 * FAR / 3, 1).done;
        assert!(drive.serve(away, Way::Read, at, 8).parts.seek > Duration::ZERO);
        drive.arm()
    };
    assert_eq!(read(&mut drive, 0), there);
    assert_eq!(read(&mut drive, 8).cylinder, 0);
}

#[test]
fn a_ring_that_has_no_room_on_the_kept_tracks_is_written_to_its_place() {
    let kept = (u64::from(drive(1).mechanics().seek.longest()) + 1) * 48;
    let (mut drive, mut now) = (drive(kept + 480), Instant::ZERO);
    for at in (0..kept + 480).step_by(480) {
        written(&mut drive, &mut now, at, 480);
        let own = drive.mechanics().surface.place(at + 479).cylinder;
        assert_eq!(drive.arm().cylinder == own, at + 480 > kept, "block {at} of {kept}");
    }
}

#[test]
fn a_write_begins_when_its_positioning_time_says() {
    let (mut drive, mut now) = (drive(RING), Instant::ZERO);
    for at in (0..RING - 10).step_by(3) {
        let away = drive.serve(now, Way::Read, FAR + at * 31 % 100_000, 1).done;
        let begins = away + drive.positioning(drive.departure(away), Way::Write, (at, 3));
        assert_eq!(drive.cylinder(at), drive.arm().cylinder);
        now = drive.serve(away, Way::Write, at, 3).done;
        let transfer = drive.mechanics().spindle.pass(3, 48);
        let late = drive.flush(away).nanoseconds().abs_diff((begins + transfer).nanoseconds());
        assert!(late < 2_000, "{at}: {late} ns");
    }
}
