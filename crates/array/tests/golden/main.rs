//! Golden images: arrays as each version of the format has left them on their members, in `v1/`,
//! `v2/` and so on.
//!
//! Images of the current version can be opened and read right, and creation writes the same bytes
//! as when they were made. Images of other versions are refused with their version. `cargo xtask
//! golden` writes the images of the current version anew.

#![allow(clippy::disallowed_methods, reason = "the test, not the array, reads and writes golden files")]

#[path = "../common/mod.rs"]
mod common;
mod image;
mod scenarios;

use std::path::{Path, PathBuf};
use std::{env, fs};

use common::{Disk, Random, SEED, World, candidate};
use image::Golden;
use parlour_array::{FORMAT_VERSION, Geometry, Repair, SUPERBLOCK_BYTES, SuperblockError};
use parlour_codec::checksum::crc32c;
use parlour_units::Sectors;
use scenarios::{Left, Scenario, scenarios};

fn folder(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/v{version}"))
}

/// The image of a scenario in the current version; written anew on request.
fn golden(scenario: &Scenario) -> Golden {
    let path = folder(FORMAT_VERSION).join(format!("{}.img", scenario.name));
    if env::var_os("PARLOUR_GOLDEN").is_some_and(|value| value == "write") {
        fs::create_dir_all(folder(FORMAT_VERSION)).expect("the folder can be made");
        fs::write(&path, scenario.make().encode()).expect("the file can be written");
    }
    let bytes = fs::read(&path).unwrap_or_else(|error| {
        panic!("{}: {error}; `cargo xtask golden` writes the images of a new version", path.display())
    });
    Golden::decode(&bytes)
}

fn open(scenario: &Scenario, disks: Vec<Disk>) -> World {
    let order = (0..disks.len()).filter(|index| !disks[*index].dead).collect();
    World::open(&scenario.setup, disks, order, Random(SEED), 90, false)
        .unwrap_or_else(|error| panic!("{}: {error}", scenario.name))
}

fn assert_reads(scenario: &Scenario, world: &mut World, golden: &Golden) {
    for (at, length) in &golden.written {
        let read = world.read_now(*at, *length).unwrap_or_else(|error| panic!("{}: {error}", scenario.name));
        assert!(read == scenarios::content(*at, *length), "{} at sector {at}", scenario.name);
    }
}

#[test]
fn arrays_of_this_version_open_and_read_right() {
    for scenario in scenarios() {
        let golden = golden(&scenario);
        let mut world = open(&scenario, golden.disks.clone());
        assert_reads(&scenario, &mut world, &golden);
        world.settle();
        assert_eq!(world.array.unsynced_regions(), 0, "{}", scenario.name);
        if world.array.geometry().fault_tolerance() > 0 {
            assert_eq!(world.scrub(Repair::Nothing).mismatches, 0, "{}", scenario.name);
        }
        // What it writes from there on can be read after the next opening.
        let mut world = world.restart();
        assert_reads(&scenario, &mut world, &golden);
    }
}

/// An image with records in its logs is useful only if it really has them.
#[test]
fn images_hold_what_they_are_for() {
    for scenario in scenarios() {
        let golden = golden(&scenario);
        let holds = |magic: &[u8]| {
            let sectors = golden.disks.iter().flat_map(|disk| disk.bytes.chunks(512));
            sectors.filter(|sector| sector.starts_with(magic)).count() > 0
        };
        let superblocks =
            golden.disks.iter().enumerate().map(|(index, disk)| candidate(disk, index).superblock);
        let newest = superblocks.flatten().max_by_key(|one| (one.session_number, one.sequence));
        let unclean = newest.is_none_or(|superblock| !superblock.clean);
        assert_eq!(unclean, scenario.left == Left::Unclean, "{}", scenario.name);
        if scenario.has_live_logs() {
            assert!(holds(b"PRLRSEGM"), "{}", scenario.name);
            assert_eq!(holds(b"PRLRCMMT"), scenario.name.starts_with("logged"), "{}", scenario.name);
        }
    }
}

#[test]
fn a_new_array_has_the_bytes_that_its_version_says() {
    for scenario in scenarios().into_iter().filter(|scenario| scenario.left == Left::Created) {
        let (ours, golden) = (scenario.make(), golden(&scenario));
        for (index, (ours, golden)) in ours.disks.iter().zip(&golden.disks).enumerate() {
            let differs = ours.bytes.iter().zip(&golden.bytes).position(|(ours, golden)| ours != golden);
            assert!(
                differs.is_none() && ours.bytes.len() == golden.bytes.len(),
                "{}: what creation writes to member {index} has changed at byte {differs:?}, and the version of the format \
                 ({FORMAT_VERSION}) has not: raise FORMAT_VERSION in crates/array/src/format/superblock.rs, or add a feature bit, \
                 and describe the change in docs/format.md; then `cargo xtask golden` writes the images anew",
                scenario.name
            );
        }
    }
}

/// The folders of all versions, with their numbers.
fn versions() -> Vec<(u32, PathBuf)> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let folders = fs::read_dir(all).expect("it is there").map(|entry| entry.expect("it can be read").path());
    let version = |path: PathBuf| Some((path.file_name()?.to_str()?.strip_prefix('v')?.parse().ok()?, path));
    folders.filter_map(version).collect()
}

#[test]
fn arrays_of_other_versions_are_refused_by_their_number() {
    let others: Vec<(u32, PathBuf)> =
        versions().into_iter().filter(|(version, _)| *version != FORMAT_VERSION).collect();
    assert!(others.iter().any(|(version, _)| *version == 1), "the first version's images are kept");
    for (version, folder) in others {
        let images =
            fs::read_dir(folder).expect("it is there").map(|entry| entry.expect("it is there").path());
        for path in images.filter(|path| path.extension().is_some_and(|extension| extension == "img")) {
            let disks = Golden::decode(&fs::read(&path).expect("it can be read")).disks;
            for (index, disk) in disks.iter().enumerate() {
                let refused = candidate(disk, index).superblock.expect_err("it is of another version");
                assert_eq!(refused, SuperblockError::Version(version), "{}", path.display());
                let said = refused.to_string();
                let named = said.contains(&format!("version {version};"));
                assert!(named && said.contains(&format!("version {FORMAT_VERSION}")), "{said}");
            }
        }
    }
}

/// Sets bits of a feature word in all superblocks.
fn with_features(disks: &mut [Disk], at: usize, bits: u64) {
    for disk in disks {
        let length = Sectors::new(disk.bytes.len() as u64 / 512);
        for copy in Geometry::superblocks_at(length) {
            let block = &mut disk.bytes[copy.bytes() as usize..][..SUPERBLOCK_BYTES];
            let word = u64::from_le_bytes(block[at..at + 8].try_into().expect("eight bytes")) | bits;
            block[at..at + 8].copy_from_slice(&word.to_le_bytes());
            block[12..16].fill(0);
            let checksum = crc32c(block);
            block[12..16].copy_from_slice(&checksum.to_le_bytes());
        }
    }
}

#[test]
fn an_unknown_feature_is_refused_by_its_bit_unless_it_is_compatible() {
    let scenario = scenarios().into_iter().find(|scenario| scenario.name == "raid5-stopped");
    let scenario = scenario.expect("it is among them");
    let golden = golden(&scenario);
    let (compatible, read_only, incompatible) = (16, 24, 32);
    let mut disks = golden.disks.clone();
    with_features(&mut disks, incompatible, 1 << 40);
    for (index, disk) in disks.iter().enumerate() {
        let refused = candidate(disk, index).superblock.expect_err("it needs what is not known");
        assert!(refused.to_string().contains("0x10000000000"), "{refused}");
    }
    let mut disks = golden.disks.clone();
    with_features(&mut disks, read_only, 1 << 40);
    let order: Vec<usize> = (0..disks.len()).collect();
    let refused = World::try_open(&scenario.setup, disks, order.clone(), Random(1), 90, false, false);
    let Err((_, disks)) = refused else { panic!("it may only be read") };
    assert!(World::try_open(&scenario.setup, disks, order, Random(1), 90, false, true).is_ok());
    let mut disks = golden.disks.clone();
    with_features(&mut disks, compatible, 1 << 40);
    assert_reads(&scenario, &mut open(&scenario, disks), &golden);
}
