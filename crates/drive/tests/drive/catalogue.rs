//! Tests that the drives of the catalogue match their sources.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use std::collections::BTreeSet;

use parlour_drive::angle::Angle;
use parlour_drive::catalogue::{DRIVES, find};
use parlour_drive::description::Description;
use parlour_drive::drive::Drive;
use parlour_drive::electronics::Electronics;
use parlour_drive::mechanics::{Mechanics, Way};
use parlour_units::{Duration, Instant};

fn mechanics(name: &str) -> Mechanics {
    Description::parse(find(name).unwrap()).unwrap().mechanics(Angle::default()).unwrap()
}

/// The mechanical drives.
fn moving() -> impl Iterator<Item = &'static str> {
    let moves = |text: &str| Description::parse(text).unwrap().solid().unwrap().is_none();
    DRIVES.into_iter().filter(move |(_, text)| moves(text)).map(|(name, _)| name)
}

#[test]
fn every_drive_has_the_blocks_that_its_source_counts() {
    let blocks = [
        ("amdahl-6380", 885 * 15 * 80),
        ("dec-rz26", 2_050_860),
        ("hp-c2247a", 2_054_864),
        ("hp-c2249a", 2_687_632),
        ("hp-c2490a", 4_165_272),
        ("hp-c3323a", 2_056_008),
        ("ibm-0661", 949 * 14 * 48),
        ("ibm-dnes-309170w", 18_033_753),
        ("molnar-uw-scsi", 4_640 * 10 * 192),
        ("quantum-atlas-10k", 17_966_953),
        ("quantum-atlas-iii", 17_797_944),
        ("seagate-barracuda", 4_217_670),
        ("seagate-cheetah-15k5", 286_749_487),
        ("seagate-cheetah-4lp", 8_887_940),
        ("seagate-cheetah-9lp", 17_918_387),
        ("seagate-exos-x20", 20_000_588_955_648 / 512),
        ("seagate-st31200w", 2_051_064),
        ("seagate-st41601n", 2_676_846),
        ("wd-4tb", 7_542_225_920),
    ];
    let found: Vec<(&str, u64)> = moving().map(|name| (name, mechanics(name).surface.blocks())).collect();
    assert_eq!(found, blocks);
}

#[test]
fn every_drive_has_electronics_that_can_be() {
    for (name, text) in DRIVES {
        let description = Description::parse(text).unwrap();
        assert!(description.electronics().is_ok(), "{name}");
    }
}

/// The specification's first page: 75,000 reads and 36,000 writes of 4 KiB per second, 500 and 460
/// MB/s, a read in 50 µs.
#[test]
fn the_solid_drive_does_what_its_specification_says() {
    let solid = Description::parse(find("intel-dc-s3700").unwrap()).unwrap().solid().unwrap().unwrap();
    let near = |found: f64, told: f64| assert!((found / told - 1.0).abs() < 0.07, "{found}, {told} told");
    near(solid.access(true, 8).as_secs_f64(), 50e-6);
    near(solid.rate(true, 8), 75_000.0);
    near(solid.rate(false, 8), 36_000.0);
    near(solid.rate(true, 2_048) * 2_048.0 * 512.0, 500e6);
    near(solid.rate(false, 2_048) * 2_048.0 * 512.0, 460e6);
}

/// `papers/README.md` (Stodolsky, Chen) and the mean seeks that the sources give.
#[test]
fn mean_seeks_are_those_of_the_sources() {
    let means =
        [("ibm-0661", 12.69), ("amdahl-6380", 15.0), ("hp-c2247a", 11.4991), ("seagate-exos-x20", 7.4)];
    for (name, mean) in means {
        let found = mechanics(name).seek.mean().as_secs_f64() * 1e3;
        assert!((found - mean).abs() < 0.012 * mean, "{name}: {found} ms");
    }
}

/// Megabytes per second of one access of many blocks.
fn streams(name: &str, way: Way, block: u64) -> f64 {
    const BLOCKS: u64 = 1 << 16;
    let description = Description::parse(find(name).unwrap()).unwrap();
    let mechanics = description.mechanics(Angle::default()).unwrap();
    let mut drive = Drive::new(mechanics, Electronics::default());
    let first = drive.serve(Instant::ZERO, way, block, 1).done;
    let done = drive.serve(first, way, block + 1, BLOCKS).done;
    BLOCKS as f64 * 512.0 / 1e6 / done.since(first).as_secs_f64()
}

/// Tests the drives that are known from their data sheets or from published measurements.
#[test]
fn long_accesses_have_the_rates_of_the_sources() {
    let near = |found: f64, told: f64| assert!((found / told - 1.0).abs() < 0.04, "{found}, {told} told");
    for way in [Way::Read, Way::Write] {
        near(streams("seagate-exos-x20", way, 0), 285.0);
        near(streams("molnar-uw-scsi", way, 0), 8.0);
    }
    // Hauser et al.: the media rates, 3.3 to 5.9 MB/s.
    let surface = mechanics("seagate-st31200w").surface;
    let revolution = mechanics("seagate-st31200w").spindle.revolution.as_secs_f64();
    let rates: Vec<f64> =
        surface.zones().iter().map(|zone| zone.shape.sectors as f64 * 512.0 / 1e6 / revolution).collect();
    near(rates[0], 5.9);
    near(rates[8], 3.3);
    let tracks: u64 = surface.zones().iter().map(|zone| zone.shape.cylinders * 9).sum();
    near(surface.blocks() as f64 / tracks as f64, 84.0);
}

/// No two blocks share a sector, and the blocks of a track are consecutive.
#[test]
fn blocks_have_places_of_their_own() {
    for name in moving() {
        let surface = mechanics(name).surface;
        for zone in surface.zones() {
            let blocks = zone.blocks.min(20_000);
            for first in
                [zone.first, zone.first + (zone.blocks - blocks) / 2, zone.first + zone.blocks - blocks]
            {
                let places: BTreeSet<(u32, u32, u64)> = (first..first + blocks)
                    .map(|block| {
                        let place = surface.place(block);
                        let sector = place.angle.revolutions() * f64::from(place.track);
                        (place.cylinder, place.head, (sector * 16.0).round() as u64)
                    })
                    .collect();
                assert_eq!(places.len() as u64, blocks, "{name}, from block {first} on");
            }
        }
    }
}

#[test]
fn runs_end_with_their_tracks() {
    for name in moving() {
        let surface = mechanics(name).surface;
        let mut block = 0;
        for _ in 0..2_000 {
            let (place, blocks, sectors) = surface.run(block, u64::MAX);
            assert!(
                blocks >= 1 && sectors >= blocks && sectors <= place.track.into(),
                "{name}, block {block}"
            );
            let last = surface.place(block + blocks - 1);
            assert_eq!((last.cylinder, last.head), (place.cylinder, place.head), "{name}, block {block}");
            block += blocks;
            let next = surface.place(block);
            assert_ne!((next.cylinder, next.head), (place.cylinder, place.head), "{name}, block {block}");
        }
    }
}

/// Regression: over a fast bus the host has a block as soon as it has passed the head, and requests
/// the next one when that begins to pass. The drive then lost a whole revolution.
#[test]
fn drives_that_read_on_are_read_at_the_rate_of_their_platters() {
    for name in ["seagate-st31200w", "molnar-uw-scsi", "seagate-exos-x20"] {
        let description = Description::parse(find(name).unwrap()).unwrap();
        let mut drive = Drive::new(mechanics(name), description.electronics().unwrap());
        let (mut now, blocks) = (Instant::ZERO, 128);
        for number in 0..1_000 {
            now = drive.serve(now, Way::Read, number * blocks, blocks).done;
        }
        let outermost = &drive.mechanics().surface.zones()[0].shape;
        let track = drive.mechanics().spindle.revolution.as_secs_f64();
        let platters = track * (1_000 * blocks) as f64 / outermost.sectors as f64;
        let took = now.since(Instant::ZERO).as_secs_f64();
        assert!(took < platters * 1.5, "{name}: {took} s, {platters} s under the heads");
    }
}

/// The same over a bus that is faster than the platters. The buffer takes as much data as it has
/// room for at once, and the rest as the platters take the data before it. Regression: the buffer
/// was once unlimited.
#[test]
fn drives_that_cache_writes_take_them_at_the_rate_of_their_platters() {
    for name in ["molnar-uw-scsi", "seagate-exos-x20"] {
        let description = Description::parse(find(name).unwrap()).unwrap();
        let mechanics = mechanics(name);
        let (track, revolution) = (mechanics.surface.zones()[0].shape.sectors, mechanics.spindle.revolution);
        let passes = track as f64 / revolution.as_secs_f64();
        let mut drive = Drive::new(mechanics, description.electronics().unwrap());
        let (mut now, blocks, count) = (Instant::ZERO, 128, 40_000);
        for number in 0..count {
            now = drive.serve(now, Way::Write, number * blocks, blocks).done;
            if number == 0 {
                assert!(now < Instant::ZERO + Duration::from_millis(3), "{name}: the first is only sent");
            }
        }
        let rate = (count * blocks) as f64 / now.since(Instant::ZERO).as_secs_f64();
        assert!(
            (0.8..1.0).contains(&(rate / passes)),
            "{name}: {rate} blocks a second, of which {passes} pass"
        );
    }
}
