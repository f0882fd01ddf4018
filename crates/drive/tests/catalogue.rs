//! The drives of the catalogue are what their sources say.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use std::collections::BTreeSet;

use parlour_drive::angle::Angle;
use parlour_drive::catalogue::{DRIVES, find};
use parlour_drive::description::Description;
use parlour_drive::mechanics::Mechanics;

fn mechanics(name: &str) -> Mechanics {
    Description::parse(find(name).unwrap()).unwrap().mechanics(Angle::default()).unwrap()
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
        ("quantum-atlas-10k", 17_966_953),
        ("quantum-atlas-iii", 17_797_944),
        ("seagate-barracuda", 4_217_670),
        ("seagate-cheetah-15k5", 286_749_487),
        ("seagate-cheetah-4lp", 8_887_940),
        ("seagate-cheetah-9lp", 17_918_387),
        ("seagate-st41601n", 2_676_846),
        ("wd-4tb", 7_542_225_920),
    ];
    let found = DRIVES.map(|(name, _)| (name, mechanics(name).surface.blocks()));
    assert_eq!(found, blocks);
}

#[test]
fn every_drive_has_electronics_that_can_be() {
    for (name, text) in DRIVES {
        let description = Description::parse(text).unwrap();
        assert!(description.electronics().is_ok(), "{name}");
    }
}

/// `papers/README.md` (Stodolsky, Chen) and the mean seeks that the sources give.
#[test]
fn mean_seeks_are_those_of_the_sources() {
    let means = [("ibm-0661", 12.69), ("amdahl-6380", 15.0), ("hp-c2247a", 11.4991)];
    for (name, mean) in means {
        let found = mechanics(name).seek.mean().as_secs_f64() * 1e3;
        assert!((found - mean).abs() < 0.012 * mean, "{name}: {found} ms");
    }
}

/// No two blocks share a sector; blocks of a track follow one another.
#[test]
fn blocks_have_places_of_their_own() {
    for (name, _) in DRIVES {
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
    for (name, _) in DRIVES {
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
