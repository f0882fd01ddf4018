//! What is promised for returning members.

use parlour_array::organization::{Code, Consistency};
use parlour_array::{Fault, Mode, Operation, Outcome};

use super::scene::{
    PLACE, check, come_back, come_back_from, fail, fill, may_return, resync_meanwhile, settle_whole, setups,
};
use crate::common::{Random, SEED, Setup, World, payload};

#[test]
fn only_what_was_missed_is_rebuilt_on_a_member_that_comes_back() {
    for setup in setups() {
        let mut world = World::new(&setup, SEED);
        let mut random = Random(SEED);
        let mut content = fill(&mut world, &mut random);
        let mut world = world.restart();
        fail(&mut world);
        let new = payload(&mut random, 40);
        world.write_now(100, &new).unwrap();
        content[100 * 512..][..new.len()].copy_from_slice(&new);
        world.settle();
        let before = world.disks[usize::from(PLACE)].writes;
        let missed = come_back(&mut world);
        settle_whole(&mut world);
        let regions = world.array.geometry().layout().region_count();
        assert!(missed >= 1 && missed < regions, "{missed} of {regions}");
        let written = world.disks[usize::from(PLACE)].writes - before;
        let stripes = world.array.geometry().layout().stripes();
        assert!(written > 0 && written < stripes / 2 + 40, "{written} writes, {stripes} stripes");
        check(&mut world, &content);
    }
}

#[test]
fn a_member_that_was_rebuilt_whole_and_goes_away_afterwards_comes_back() {
    for setup in setups() {
        let mut world = World::new(&setup, SEED);
        let mut random = Random(SEED);
        let mut content = fill(&mut world, &mut random);
        world.settle();
        fail(&mut world);
        world.replace(PLACE);
        settle_whole(&mut world);
        let disk = *world.numbers.last().unwrap();
        fail(&mut world);
        let new = payload(&mut random, 40);
        world.write_now(100, &new).unwrap();
        content[100 * 512..][..new.len()].copy_from_slice(&new);
        world.settle();
        let missed = come_back_from(&mut world, disk);
        settle_whole(&mut world);
        let regions = world.array.geometry().layout().region_count();
        assert!(missed >= 1 && missed < regions, "{missed} of {regions}");
        check(&mut world, &content);
    }
}

#[test]
fn what_a_member_had_not_flushed_when_it_went_away_is_rebuilt() {
    for setup in setups() {
        let mut world = World::new(&setup, SEED);
        world.all_volatile();
        let mut random = Random(SEED);
        let content = payload(&mut random, world.capacity());
        world.write_now(0, &content).unwrap();
        fail(&mut world);
        world.disks[usize::from(PLACE)].power_loss(&mut random, 0);
        world.settle();
        come_back(&mut world);
        settle_whole(&mut world);
        check(&mut world, &content);
    }
}

/// Regression test. The member did not hold the record that the opening had come to its end, and
/// was taken for a member that was used separately.
#[test]
fn a_member_that_is_failed_as_soon_as_the_array_serves_comes_back() {
    for setup in setups() {
        for steps in 0..8 {
            let mut world = World::new(&setup, SEED);
            world.settle_until(|world| world.array.mode() == Mode::Serving);
            for _ in 0..steps {
                world.step();
            }
            fail(&mut world);
            world.settle();
            come_back(&mut world);
            settle_whole(&mut world);
        }
    }
}

#[test]
fn what_was_missed_is_still_known_after_a_crash() {
    for setup in setups() {
        // In other cases a degraded array that was not stopped cannot be opened.
        let opens = setup.organization.code == Code::Copy || setup.consistency == Consistency::Journal;
        if !opens {
            continue;
        }
        let mut world = World::new(&setup, SEED);
        world.all_volatile();
        let mut random = Random(SEED);
        let mut content = payload(&mut random, world.capacity());
        world.write_now(0, &content).unwrap();
        fail(&mut world);
        let new = payload(&mut random, 40);
        world.write_now(100, &new).unwrap();
        world.do_now(Operation::Flush, 0, 0, None).0.unwrap();
        content[100 * 512..][..new.len()].copy_from_slice(&new);
        let mut world = world.crash(false).unwrap();
        world.settle();
        come_back(&mut world);
        settle_whole(&mut world);
        check(&mut world, &content);
    }
}

/// The content of a missing member is in the check unit alone: a write is not durable before the
/// check unit is.
#[test]
fn what_is_durable_while_a_member_is_away_is_read_after_a_cut_of_power() {
    #[derive(Clone, Copy, Debug)]
    enum Case {
        DurableWrites,
        Flush,
        FlushOfWhatWasWrittenBefore,
    }
    let cases = [Case::DurableWrites, Case::Flush, Case::FlushOfWhatWasWrittenBefore];
    for (setup, case) in setups().into_iter().flat_map(|setup| cases.map(|case| (setup.clone(), case))) {
        let mut world = World::new(&setup, SEED);
        world.settle();
        world.all_volatile();
        let before = matches!(case, Case::FlushOfWhatWasWrittenBefore);
        if !before {
            fail(&mut world);
            world.settle();
        }
        let content = payload(&mut Random(SEED), 100);
        for (at, sector) in (0..).zip(content.chunks(512)) {
            let write = Operation::Write { durable: matches!(case, Case::DurableWrites) };
            world.do_now(write, at, 1, Some(sector)).0.unwrap();
        }
        if before {
            fail(&mut world);
        }
        if !matches!(case, Case::DurableWrites) {
            world.do_now(Operation::Flush, 0, 0, None).0.unwrap();
        }
        let mut world = world.crash(true).unwrap();
        assert!(world.read_now(0, 100).unwrap() == content, "{:?}, {case:?}", setup.organization);
    }
}

#[test]
fn what_was_resynced_meanwhile_is_rebuilt() {
    assert_eq!(resync_meanwhile(), 0);
}

#[test]
fn an_image_of_a_member_from_an_earlier_session_is_not_taken_for_it() {
    for setup in setups() {
        let mut world = World::new(&setup, SEED);
        world.write_now(0, &payload(&mut Random(1), 20)).unwrap();
        world.stop();
        let slot = usize::from(PLACE);
        let image = world.disks[slot].clone();
        let mut world = world.reopen(false).unwrap();
        world.write_now(0, &payload(&mut Random(2), 20)).unwrap();
        assert_eq!(may_return(&world, &world.disks[slot]), None, "it is here");
        fail(&mut world);
        assert_eq!(may_return(&world, &image), None);
        assert!(may_return(&world, &world.disks[slot]).is_some());
        // It may not return either after another member has taken the slot.
        world.replace(PLACE);
        assert_eq!(may_return(&world, &world.disks[slot]), None);
    }
}

#[test]
fn a_copy_of_a_member_that_was_taken_earlier_in_the_session_is_not_taken_for_it() {
    for (name, members) in [("raid1", 2), ("raid5", 4)] {
        let mut world = World::new(&Setup::named(name, members), SEED);
        world.write_now(0, &payload(&mut Random(1), 20)).unwrap();
        let slot = usize::from(PLACE);
        let copy = world.disks[slot].clone();
        for round in 0..3 {
            // Regions become idle and are marked clean, and then dirty again.
            world.settle();
            world.write_now(0, &payload(&mut Random(round), 20)).unwrap();
        }
        world.settle();
        fail(&mut world);
        assert_eq!(may_return(&world, &copy), None, "{name}");
        assert!(may_return(&world, &world.disks[slot]).is_some(), "{name}");
        // The same after the array was stopped without it.
        world.stop();
        let mut disks = world.disks.clone();
        disks[slot].dead = true;
        world.disks = disks;
        let genuine = world.disks[slot].clone();
        let world = world.reopen(false).unwrap();
        assert_eq!(may_return(&world, &copy), None, "{name}, opened again");
        assert!(may_return(&world, &genuine).is_some(), "{name}, opened again");
    }
}

#[test]
fn a_member_that_missed_sessions_comes_back() {
    for setup in setups() {
        let mut world = World::new(&setup, SEED);
        let mut random = Random(SEED);
        let mut content = fill(&mut world, &mut random);
        world.stop();
        // It is missing when the array is opened, twice.
        world.disks[usize::from(PLACE)].dead = true;
        for at in [10, 3_000] {
            let disk = usize::from(PLACE);
            let numbers = (0..world.disks.len()).filter(|number| *number != disk).collect();
            let (disks, sessions) = (std::mem::take(&mut world.disks), world.sessions);
            world = World::open(&setup, disks, numbers, Random(SEED), sessions + 1, false).ok().unwrap();
            let new = payload(&mut random, 8);
            world.write_now(at, &new).unwrap();
            content[at as usize * 512..][..new.len()].copy_from_slice(&new);
            world.stop();
        }
        let disk = usize::from(PLACE);
        let numbers = (0..world.disks.len()).filter(|number| *number != disk).collect();
        let (disks, sessions) = (std::mem::take(&mut world.disks), world.sessions);
        world = World::open(&setup, disks, numbers, Random(SEED), sessions + 1, false).ok().unwrap();
        world.disks[disk].dead = false;
        let regions = world.array.geometry().layout().region_count();
        let missed = come_back(&mut world);
        assert!(missed >= 1 && missed < regions, "{missed} of {regions}");
        settle_whole(&mut world);
        check(&mut world, &content);
    }
}

/// Regression test. The member was believed because it had seen the same session begin.
#[test]
fn a_member_that_went_on_alone_does_not_come_back_to_one_that_went_on_without_it() {
    let setup = Setup::named("raid1", 2);
    let mut world = World::new(&setup, SEED);
    world.write_now(0, &payload(&mut Random(1), 20)).unwrap();
    fail(&mut world);
    world.write_now(0, &payload(&mut Random(2), 20)).unwrap();
    world.settle();
    // After a crash only the other member is found.
    let (disks, sessions) = (std::mem::take(&mut world.disks), world.sessions);
    let other = vec![usize::from(PLACE)];
    let world = World::open(&setup, disks, other, Random(SEED), sessions + 1, false).ok().unwrap();
    assert_eq!(world.array.status().members[0].state, "failed");
    assert_eq!(may_return(&world, &world.disks[0]), None);
}

#[test]
fn a_member_that_was_shorter_for_a_while_does_not_come_back() {
    for at_the_opening in [false, true] {
        let setup = Setup::named("raid1", 2);
        let mut world = World::new(&setup, SEED);
        world.write_now(0, &payload(&mut Random(1), 20)).unwrap();
        let disk = usize::from(PLACE);
        let whole = world.disks[disk].clone();
        if at_the_opening {
            world.stop();
            let length = world.disks[disk].bytes.len();
            world.disks[disk].bytes.truncate(length / 2);
            world = world.reopen(false).unwrap();
        } else {
            world.read(0, 20);
            let access = world.pending.pop().expect("it is read");
            let gone = Outcome::Failed(Fault::Truncated);
            world.array.complete(world.now, access.id, gone);
            world.drain();
        }
        let away = world.array.status().members.iter().any(|member| member.may_return);
        assert!(!away && may_return(&world, &whole).is_none());
    }
}
