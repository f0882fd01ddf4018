//! A code and a layout that only tests have: two check units, each the parity of half of the data,
//! on fixed members. All else takes them as they come: writes, degraded reads and writes, rebuild,
//! resync, scrub, and two losses where the code survives them.
#![cfg(feature = "test-choices")]

mod common;

use common::{Random, SEED, Setup, World, payload};
use parlour_array::{AdminError, Repair};
use parlour_units::Slot;

/// Four data units and two check units: data is on slots 5 to 2, the first half's parity on slot 1,
/// the second half's on slot 0.
fn setup() -> Setup {
    Setup::named("halves", 6)
}

/// An array with content, and the content.
fn written(setup: &Setup, random: &mut Random) -> (World, Vec<u8>) {
    let mut world = World::new(setup, SEED);
    world.settle();
    let content = payload(random, world.capacity());
    assert_eq!(world.write_now(0, &content), Ok(()));
    (world, content)
}

/// Writes and reads at random places, and compares.
fn use_it(world: &mut World, content: &mut [u8], random: &mut Random) {
    for _ in 0..200 {
        let length = 1 + random.below(100);
        let at = random.below(world.capacity() - length);
        let range = at as usize * 512..(at + length) as usize * 512;
        if random.below(2) == 0 {
            let bytes = payload(random, length);
            assert_eq!(world.write_now(at, &bytes), Ok(()), "{at}+{length}");
            content[range].copy_from_slice(&bytes);
        } else {
            assert!(world.read_now(at, length).expect("it can be read") == content[range], "{at}+{length}");
        }
    }
}

fn fail(world: &mut World, slot: u16) -> Result<(), AdminError> {
    let result = world.array.fail(world.now, Slot::new(slot));
    world.drain();
    result
}

fn all_fits(world: &mut World, content: &[u8]) {
    assert_eq!(world.scrub(Repair::Nothing).mismatches, 0);
    assert!(world.read_now(0, world.capacity()).expect("it can be read") == content);
}

#[test]
fn an_array_of_another_code_and_layout_is_used_and_opened_again() {
    let random = &mut Random(SEED);
    let (mut world, mut content) = written(&setup(), random);
    use_it(&mut world, &mut content, random);
    all_fits(&mut world, &content);
    let mut world = world.restart();
    use_it(&mut world, &mut content, random);
    all_fits(&mut world, &content);
}

#[test]
fn a_resync_computes_both_check_units() {
    let (mut world, content) = written(&Setup { zeroed: false, ..setup() }, &mut Random(SEED));
    assert_eq!(world.array.unsynced_regions(), 0);
    all_fits(&mut world, &content);
}

#[test]
fn each_member_is_done_without_and_rebuilt() {
    for slot in 0..6 {
        let random = &mut Random(SEED ^ u64::from(slot));
        let (mut world, mut content) = written(&setup(), random);
        fail(&mut world, slot).expect("it can be done without");
        use_it(&mut world, &mut content, random);
        world.replace(slot);
        use_it(&mut world, &mut content, random);
        world.settle();
        all_fits(&mut world, &content);
    }
}

#[test]
fn two_members_are_done_without_if_no_half_loses_both() {
    // Each half's units: two of data, and their parity.
    let halves = [[5, 4, 1], [3, 2, 0]];
    for (first, second) in halves[0].iter().flat_map(|a| halves[1].map(|b| (*a, b))) {
        let random = &mut Random(SEED ^ u64::from(first * 6 + second));
        let (mut world, mut content) = written(&setup(), random);
        fail(&mut world, first).expect("it can be done without");
        use_it(&mut world, &mut content, random);
        fail(&mut world, second).expect("it can be done without");
        assert!(!world.array.status().lost);
        use_it(&mut world, &mut content, random);
        world.replace(first);
        world.settle();
        use_it(&mut world, &mut content, random);
        world.replace(second);
        world.settle();
        all_fits(&mut world, &content);
    }
}

#[test]
fn a_member_whose_half_has_lost_one_already_is_kept() {
    let random = &mut Random(SEED);
    for (first, second) in [(5, 4), (4, 1), (3, 0), (2, 3)] {
        let (mut world, content) = written(&setup(), random);
        fail(&mut world, first).expect("it can be done without");
        assert!(matches!(fail(&mut world, second), Err(AdminError::Needed(slot)) if slot.get() == second));
        assert!(world.read_now(0, world.capacity()).expect("it can be read") == content);
    }
}

#[test]
fn a_scrub_repairs_either_check_unit() {
    let random = &mut Random(SEED);
    for slot in [0, 1] {
        let (mut world, content) = written(&setup(), random);
        let at = world.array.geometry().data_start().bytes() as usize;
        world.disk_at(slot).bytes[at] ^= 1;
        let report = world.scrub(Repair::ParityFromData);
        assert_eq!((report.mismatches, report.repaired), (1, 1));
        all_fits(&mut world, &content);
    }
}

#[test]
fn an_unreadable_block_is_repaired_beside_a_lost_member() {
    let random = &mut Random(SEED);
    for (lost, unreadable) in [(5, 3), (1, 2), (4, 0)] {
        let (mut world, content) = written(&setup(), random);
        fail(&mut world, lost).expect("it can be done without");
        let at = world.array.geometry().data_start().get();
        world.disk_at(unreadable).unreadable.insert(at);
        assert!(world.read_now(0, world.capacity()).expect("it can be read") == content);
        world.replace(lost);
        world.settle();
        all_fits(&mut world, &content);
    }
}
