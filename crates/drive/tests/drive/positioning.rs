//! The time by which `sptf` compares accesses is the time that the chosen one takes.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use parlour_drive::angle::Angle;
use parlour_drive::catalogue::DRIVES;
use parlour_drive::description::Description;
use parlour_drive::drive::Drive;
use parlour_drive::mechanics::Way;
use parlour_units::{Duration, Instant};

/// A drive that a few accesses have left in some state, and the time of the last answer.
fn busy(description: &Description, random: &mut impl FnMut(u64) -> u64) -> (Drive, Instant) {
    let mechanics = description.mechanics(Angle::default()).unwrap();
    let mut drive = Drive::new(mechanics, description.electronics().unwrap());
    let (blocks, mut now) = (drive.mechanics().surface.blocks() / 64, Instant::ZERO);
    for _ in 0..1 + random(4) {
        let way = if random(2) == 0 { Way::Read } else { Way::Write };
        now = drive.serve(now, way, random(blocks), 8).done;
        now = now + Duration::from_nanoseconds(random(1_000_000));
    }
    (drive, now)
}

/// Regression test. It was counted from the present moment also where the arm was still busy with
/// what the buffer held, and a block counted as near that passes before its command is over.
#[test]
fn a_write_begins_when_its_positioning_time_says() {
    let mut state = 1_u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for (name, text) in DRIVES {
        let description = Description::parse(text).unwrap();
        if description.solid().unwrap().is_some() {
            continue;
        }
        for round in 0..200 {
            let (drive, now) = busy(&description, &mut random);
            let block = random(drive.mechanics().surface.blocks() / 64);
            let begins = now + drive.positioning(drive.departure(now), Way::Write, (block, 1));
            let transfer = {
                let place = drive.mechanics().surface.place(block);
                drive.mechanics().spindle.pass(1, place.track)
            };
            let mut served = drive.clone();
            served.serve(now, Way::Write, block, 1);
            let written = served.flush(now);
            let late = written.nanoseconds().abs_diff((begins + transfer).nanoseconds());
            assert!(late < 2_000, "{name}, {round}: {late} ns");
        }
    }
}

/// Regression test. What the buffer has was taken to be read from the platters, where it passes
/// only a turn later: so reads in a row were served in any order, and each round lost a turn.
#[test]
fn reads_in_a_row_are_nearest_in_their_order() {
    const BLOCKS: u64 = 128;
    for (name, text) in DRIVES {
        let description = Description::parse(text).unwrap();
        if description.solid().unwrap().is_some() {
            continue;
        }
        let electronics = description.electronics().unwrap();
        if electronics.buffer.segment_blocks < 4 * BLOCKS {
            continue;
        }
        let mut drive = Drive::new(description.mechanics(Angle::default()).unwrap(), electronics);
        let mut now = drive.serve(Instant::ZERO, Way::Read, 0, BLOCKS).done;
        let mut waiting = vec![1, 2, 3, 4];
        for next in 5..64 {
            let departure = drive.departure(now);
            let far = |index: &u64| drive.positioning(departure, Way::Read, (index * BLOCKS, BLOCKS));
            let nearest = *waiting.iter().min_by_key(|index| far(index)).unwrap();
            assert_eq!(nearest, waiting[0], "{name}");
            now = drive.serve(now, Way::Read, nearest * BLOCKS, BLOCKS).done;
            waiting.retain(|index| *index != nearest);
            waiting.push(next);
        }
    }
}
