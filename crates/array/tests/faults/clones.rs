//! A member that is put back in an earlier state: a copy that was taken while the array was served,
//! or a device that lost writes which it had reported as durable. Its own metadata shows that it is
//! older, and it is not believed.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use crate::common::{Disk, Random, SEED, Setup, World, payload};
use parlour_array::{AssemblyError, Event, FailureCause};
use parlour_units::Slot;

const SPAN: u64 = 16 * 4 * 24;

fn setups() -> [Setup; 4] {
    let logged = Setup { member_length: 6 * 2_048, ..Setup::logged(5) };
    [Setup::named("raid1", 2), Setup::named("raid5", 4), Setup::named("parity-logging", 5), logged]
}

/// An array that was written everywhere, and is still served.
fn written(setup: &Setup) -> (World, Vec<u8>) {
    let mut world = World::new(setup, SEED);
    let content = write_all(&mut world);
    (world, content)
}

fn write_all(world: &mut World) -> Vec<u8> {
    let content = payload(&mut Random(SEED), SPAN);
    for (index, part) in content.chunks(64 * 512).enumerate() {
        world.write_now(index as u64 * 64, part).unwrap();
    }
    content
}

/// Writes new content to half of it.
fn write_on(world: &mut World, content: &mut [u8], seed: u64) {
    let mut random = Random(seed);
    for index in 0..SPAN / 16 {
        let bytes = payload(&mut random, 8);
        world.write_now(index * 16, &bytes).unwrap();
        content[index as usize * 16 * 512..][..bytes.len()].copy_from_slice(&bytes);
    }
}

fn older(world: &World) -> Vec<Slot> {
    let slot = |event: &Event| match event {
        Event::MemberFailed { slot, cause: FailureCause::Older } => Some(*slot),
        _ => None,
    };
    world.events.iter().filter_map(slot).collect()
}

fn check(world: &mut World, content: &[u8]) {
    for (index, part) in content.chunks(8 * 512).enumerate() {
        assert!(world.read_now(index as u64 * 8, 8).unwrap() == part, "block {index} reads old");
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_copy_of_a_member_that_was_taken_while_the_array_was_served_is_not_believed() {
    for setup in setups() {
        for slot in 0..usize::from(setup.members) {
            let (mut world, mut content) = written(&setup);
            let copy: Disk = world.disks[slot].clone();
            write_on(&mut world, &mut content, 3);
            world.stop();
            world.disks[slot] = copy;
            let mut world = world.reopen(false).unwrap();
            assert_eq!(older(&world), [Slot::new(slot as u16)], "{:?}", setup.organization);
            check(&mut world, &content);
            assert_ne!(world.array.status().members[slot].state, "active");
        }
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_copy_of_a_replacement_that_was_taken_as_soon_as_it_was_rebuilt_is_not_believed() {
    for setup in setups() {
        let mut world = World::new(&setup, SEED);
        // (The former content of the new member contains no metadata of the array.)
        world.replace(1);
        world.settle_until(|world| world.array.status().members[1].state == "active");
        let disk = world.disks.len() - 1;
        let copy: Disk = world.disks[disk].clone();
        let content = write_all(&mut world);
        world.stop();
        world.disks[disk] = copy;
        let mut world = world.reopen(false).unwrap();
        assert_eq!(older(&world), [Slot::new(1)], "{:?}", setup.organization);
        check(&mut world, &content);
        assert_ne!(world.array.status().members[1].state, "active");
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_copy_that_is_put_back_after_a_kill_is_not_believed_once_metadata_was_written_twice() {
    // (If records stay in logs, no region becomes idle: the age does not show until the array is
    // stopped.)
    for setup in [Setup::named("raid1", 2), Setup::named("raid5", 4)] {
        let (mut world, mut content) = written(&setup);
        let copy = world.disks[1].clone();
        for seed in 0..3 {
            // Regions become idle and are marked clean, and then dirty again.
            world.settle();
            write_on(&mut world, &mut content, seed);
        }
        world.settle();
        world.disks[1] = copy;
        let mut world = world.reopen(false).unwrap();
        assert_eq!(older(&world), [Slot::new(1)], "{:?}", setup.organization);
        check(&mut world, &content);
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn members_that_are_needed_and_older_are_believed_only_if_that_is_accepted() {
    let setup = Setup::named("raid5", 4);
    let (mut world, mut content) = written(&setup);
    let copies = [world.disks[0].clone(), world.disks[2].clone()];
    write_on(&mut world, &mut content, 3);
    world.stop();
    [world.disks[0], world.disks[2]] = copies;
    let (disks, random) = (world.disks.clone(), world.random.clone());
    let order: Vec<usize> = (0..4).collect();
    let opened = World::open(&setup, disks.clone(), order.clone(), random.clone(), 70, false);
    let error = opened.err().unwrap();
    assert!(
        matches!(&error, AssemblyError::OlderMembers { older } if older == "member 0, member 2"),
        "{error}"
    );
    assert!(World::open(&setup, disks, order, random, 70, true).is_ok());
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn no_member_is_called_older_wherever_the_array_is_killed() {
    for setup in setups() {
        for seed in 0..60 {
            let mut world = World::new(&setup, SEED + seed);
            world.all_volatile();
            let mut random = Random(seed);
            for _ in 0..3 {
                for _ in 0..random.below(60) {
                    let at = random.below(SPAN / 8) * 8;
                    world.write(at, &payload(&mut random, 8));
                }
                for _ in 0..random.below(200) {
                    world.step();
                }
                world = world.crash(false).unwrap();
                assert_eq!(older(&world), [], "{:?}, seed {seed}", setup.organization);
            }
            world.settle();
            let world = world.restart();
            assert_eq!(older(&world), [], "{:?}, seed {seed}", setup.organization);
        }
    }
}

/// Tests of the tests. A planted bug affects the whole process, so this module has no other test.
#[cfg(feature = "planted-bugs")]
mod planted {
    use parlour_array::Bug;

    use crate::common::find_each;

    const TESTS: [fn(); 5] = [
        super::a_copy_of_a_replacement_that_was_taken_as_soon_as_it_was_rebuilt_is_not_believed,
        super::a_copy_of_a_member_that_was_taken_while_the_array_was_served_is_not_believed,
        super::a_copy_that_is_put_back_after_a_kill_is_not_believed_once_metadata_was_written_twice,
        super::members_that_are_needed_and_older_are_believed_only_if_that_is_accepted,
        super::no_member_is_called_older_wherever_the_array_is_killed,
    ];

    #[test]
    fn every_bug_of_older_members_is_found() {
        find_each(&Bug::OF_OLDER_MEMBERS, &TESTS);
    }
}
