//! The system has no memory or space for an access: no member is at fault, nothing is lost, and
//! only the service of the array suffers.
#![expect(clippy::unwrap_used, reason = "a test may give up where it likes")]

use crate::common::{Random, SEED, Setup, World, payload};
use parlour_array::organization::{Code, Consistency};
use parlour_array::{Action, Class, Event, LargeWrite, Mode, Operation, Repair, RequestError};
use parlour_units::{Region, Slot};

/// Cuts the power (all unflushed writes and all writes in flight are lost) and opens the array
/// again.
fn cut(mut world: World) -> World {
    world.pending.clear();
    world.disks.iter_mut().for_each(|disk| disk.power_loss(&mut Random(0), 0));
    world.reopen(false).unwrap()
}

/// Blocks that were written durably, and whose data is not yet durable in place.
fn committed() -> (World, Vec<Vec<u8>>) {
    let mut setup = Setup::logged(4);
    // Writes of whole stripes have records that can be redone, as others do.
    setup.tuning.large_write = Some(LargeWrite::Overwrite);
    let mut world = World::new(&setup, SEED);
    world.settle();
    world.all_volatile();
    let mut random = Random(SEED);
    let mut content = Vec::new();
    for number in 0..40 {
        let new = payload(&mut random, 4);
        let durable = Operation::Write { durable: true };
        world.do_now(durable, number * 300, 4, Some(&new)).0.unwrap();
        content.push(new);
    }
    (world, content)
}

/// Stops an array, perhaps not cleanly.
fn ends(world: &mut World) {
    world.array.stop(world.now);
    world.drain();
    world.settle_until(|world| world.array.mode() == Mode::Stopped);
}

fn reads_all(world: &mut World, content: &[Vec<u8>]) {
    for (number, written) in (0..).zip(content) {
        assert!(world.read_now(number * 300, 4).as_ref() == Ok(written), "block {number}");
    }
}

fn sound_after_reopening(mut world: World, content: &[Vec<u8>]) {
    assert_eq!(world.array.unsynced_regions(), 0);
    ends(&mut world);
    assert_eq!(world.array.mode(), Mode::Stopped);
    world.starve(false);
    let mut world = world.reopen(false).unwrap();
    reads_all(&mut world, content);
    world.settle();
    assert_eq!(world.array.unsynced_regions(), 0);
    assert_eq!(world.scrub(Repair::Nothing).mismatches, 0);
    assert!(world.array.status().members.iter().all(|member| member.state == "active"));
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_write_that_finds_no_memory_to_read_what_was_there_leaves_its_stripe_as_it_was() {
    for setup in [Setup::named("raid5", 4), Setup::named("parity-logging", 4), Setup::logged(4)] {
        let mut world = World::new(&setup, SEED);
        let content = payload(&mut Random(1), 60);
        world.write_now(0, &content).unwrap();
        world.settle();
        world.starve(true);
        assert_eq!(world.write_now(3, &content[..512]), Err(RequestError::NoSpace));
        world.settle();
        assert_eq!(world.array.unsynced_regions(), 0, "{:?}", setup.organization);
        world.starve(false);
        assert!(world.read_now(0, 60).unwrap() == content);
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn records_that_find_no_memory_to_be_redone_wait_for_the_next_opening() {
    let (world, content) = committed();
    let mut world = cut(world);
    world.starve(true);
    assert_eq!(world.read_now(0, 4), Err(RequestError::NoSpace));
    world.settle();
    assert_eq!(world.array.mode(), Mode::ReadOnly);
    assert_eq!(world.write_now(0, &content[0]), Err(RequestError::NoSpace));
    sound_after_reopening(world, &content);
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn records_that_wait_for_the_next_opening_are_given_up_when_their_log_is_lost() {
    let (world, content) = committed();
    let mut world = cut(world);
    world.starve(true);
    world.settle();
    world.starve(false);
    let layout = world.array.geometry().layout();
    let slot = layout.sublog_slot(Region::new(0), 0, 0).unwrap().get();
    world.disk_at(slot).dead = true;
    // (Data that was not written since the last opening can be read.)
    let at = world.capacity() - 200;
    world.read_now(at, 200).unwrap();
    world.settle();
    assert_eq!(world.array.status().members[usize::from(slot)].state, "failed");
    assert!(world.array.unsynced_regions() > 0);
    ends(&mut world);
    // (The regions of its log are out of sync, since an array without memory could not resync
    // them.)
    let mut world = world.reopen(true).unwrap();
    world.settle();
    let read = (0..).zip(&content).filter(|(number, written)| {
        let result = world.read_now(number * 300, 4);
        result.is_ok_and(|bytes| bytes == **written)
    });
    assert!(read.count() > content.len() / 2);
}

/// The array is opened again with records in its logs, and has no memory when a member fails: the
/// content of that member can only be computed from parity and logs.
fn starved_without_a_member(mut world: World) -> World {
    world.settle();
    world.stop();
    let mut world = world.reopen(false).unwrap();
    world.settle();
    world.starve(true);
    world.array.fail(world.now, Slot::new(0)).unwrap();
    world.drain();
    world.settle();
    world
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn headers_of_logs_that_find_no_memory_to_be_read_are_not_given_up() {
    let (world, content) = committed();
    let mut world = starved_without_a_member(world);
    let refused = (0..40).filter(|number| world.read_now(number * 300, 4) == Err(RequestError::NoSpace));
    assert!(refused.count() > 0);
    world.starve(false);
    ends(&mut world);
    let mut world = world.reopen(false).unwrap();
    reads_all(&mut world, &content);
}

/// An array without space loses a member, and is stopped and opened again: no data is lost.
fn loses_a_member_and_comes_back(mut world: World, lost: u16, blocks: &[(u64, Vec<u8>)]) {
    assert_eq!(world.array.mode(), Mode::ReadOnly);
    assert_eq!(world.array.unsynced_regions(), 0);
    world.disk_at(lost).dead = true;
    for (at, written) in blocks {
        let read = world.read_now(*at, 4);
        assert!(
            read.as_ref() == Ok(written) || read == Err(RequestError::NoSpace),
            "at {at} without {lost}: {read:?}"
        );
    }
    ends(&mut world);
    let mut world = world.reopen(false).unwrap();
    for (at, written) in blocks {
        assert!(world.read_now(*at, 4).as_ref() == Ok(written), "at {at} without member {lost}");
    }
}

/// Regression test, found by a seed: the region was out of sync, and the content of a member that
/// failed meanwhile could not be computed.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_reintegration_that_finds_no_memory_is_suspended_and_gives_no_record_up() {
    for lost in 0..4 {
        let mut world = World::new(&Setup::logged(4), SEED);
        let mut random = Random(SEED);
        let blocks: Vec<(u64, Vec<u8>)> =
            (0..40).map(|number| (number * 300, payload(&mut random, 4))).collect();
        for (at, written) in &blocks {
            world.write_now(*at, written).unwrap();
        }
        world.settle();
        world.stop();
        let mut world = world.reopen(false).unwrap();
        // A scrub reads the records in the positions; these are then to be reintegrated.
        world.array.scrub(world.now, Repair::Nothing).unwrap();
        world.drain();
        let folds = |world: &World| {
            world.pending.iter().any(|effect| {
                let whole = matches!(effect.action, Action::Read { length, .. } if length.get() > 1);
                effect.class == Class::Log && whole
            })
        };
        world.settle_until(folds);
        assert!(folds(&world));
        world.starve(true);
        world.settle();
        let report = world.array.status().last_scrub.unwrap();
        assert!(!report.complete);
        world.starve(false);
        loses_a_member_and_comes_back(world, lost, &blocks);
    }
}

/// The reintegration has made durable what it is about to do to the parity, has done a part of it,
/// and nothing else waits for the next opening: a clean stop would forget which part.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_reintegration_that_finds_no_memory_for_the_rest_of_its_parity_is_finished_later() {
    let (mut world, content) = committed();
    world.settle();
    world.stop();
    let mut world = world.reopen(false).unwrap();
    // A scrub reads the records in the positions; these are then to be reintegrated.
    world.array.scrub(world.now, Repair::Nothing).unwrap();
    world.drain();
    let parity = |world: &World| -> Vec<usize> {
        let is_parity = |effect: &parlour_array::Effect| {
            effect.class == Class::Log && matches!(effect.action, Action::Write { durable: false, .. })
        };
        { world.pending.iter().enumerate() }
            .filter(|(_, effect)| is_parity(effect))
            .map(|(index, _)| index)
            .collect()
    };
    world.settle_until(|world| parity(world).len() > 1);
    let first = parity(&world)[0];
    world.step_at(first);
    assert!(!parity(&world).is_empty(), "a part of the parity is not written");
    world.starve(true);
    world.settle();
    world.starve(false);
    sound_after_reopening(world, &content);
}

/// The content of a missing member is in parity that cannot be brought up to date: a flush fails,
/// and the array can be stopped.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_flush_that_needs_parity_without_memory_is_answered() {
    let mut world = World::new(&Setup::named("parity-logging", 4), SEED);
    world.write_now(0, &payload(&mut Random(SEED), 300)).unwrap();
    let mut world = starved_without_a_member(world);
    assert_eq!(world.array.mode(), Mode::ReadOnly);
    assert_eq!(world.do_now(Operation::Flush, 0, 0, None).0, Err(RequestError::NoSpace));
    ends(&mut world);
    assert_eq!(world.array.mode(), Mode::Stopped);
}

/// Regression test, found by a seed: the record no longer counted, and the region was out of sync.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_committed_write_whose_data_finds_no_memory_is_redone_after_the_next_opening() {
    for lost in 0..4 {
        let (mut world, content) = committed();
        let mut blocks: Vec<(u64, Vec<u8>)> = (0..).map(|number| number * 300).zip(content).collect();
        let new = payload(&mut Random(7), 40);
        let tag = world.write(0, &new);
        let lands = |world: &World| {
            let foreground = world.pending.iter().filter(|effect| effect.class == Class::Foreground);
            foreground.filter(|effect| matches!(effect.action, Action::Write { .. })).count() > 1
        };
        world.settle_until(lands);
        assert!(lands(&world));
        let index = { world.pending.iter() }.position(|effect| effect.class == Class::Foreground).unwrap();
        world.step_at(index);
        world.starve(true);
        world.settle();
        world.starve(false);
        assert_eq!(world.done[&tag].0, Err(RequestError::NoSpace));
        // The block may now be half written; after the next opening it has the new content.
        assert_eq!(world.read_now(0, 4), Err(RequestError::NoSpace));
        assert!(world.read_now(blocks[1].0, 4).as_ref() == Ok(&blocks[1].1));
        blocks.remove(0);
        // (Without the log's member it has the content that the write has left.)
        if world.array.geometry().layout().sublog_slot(Region::new(0), 0, 0) != Some(Slot::new(lost)) {
            blocks.extend((0..10).map(|part| part * 4).zip(new.chunks(2_048).map(<[u8]>::to_vec)));
        }
        loses_a_member_and_comes_back(world, lost, &blocks);
    }
}

/// Regression test, found by a seed: a lack of memory for an access to a member that is no longer
/// there made the array read-only, and left a stripe out of sync.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn what_a_member_lacked_that_was_failed_meanwhile_is_no_want_of_the_arrays() {
    for setup in [Setup::named("raid5", 4), Setup::named("parity-logging", 4), Setup::logged(4)] {
        for slot in 0..4 {
            let mut world = World::new(&setup, SEED);
            let content = payload(&mut Random(1), 60);
            world.write_now(0, &content).unwrap();
            world.settle();
            let tag = world.write(0, &content);
            world.disk_at(slot).starved = true;
            world.array.fail(world.now, Slot::new(slot)).unwrap();
            world.drain();
            world.settle();
            assert_eq!(world.done[&tag].0, Ok(()), "{:?}", setup.organization);
            assert_eq!(world.array.mode(), Mode::Serving);
            // (If its region's log is lost with it, the region must be resynced.)
            let logs = world.array.geometry().layout().logs().is_some();
            assert!(logs || world.array.unsynced_regions() == 0);
            assert!(world.read_now(0, 60).unwrap() == content);
        }
    }
}

/// Each copy has the old data or the new: a copy needs no missing one.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_copy_that_finds_no_space_while_another_is_missing_loses_no_block() {
    for lost in 0..3 {
        let mut world = World::new(&Setup::named("raid1", 3), SEED);
        let old = payload(&mut Random(1), 60);
        world.write_now(0, &old).unwrap();
        world.settle();
        world.array.fail(world.now, Slot::new(lost)).unwrap();
        world.drain();
        world.settle();
        world.disk_at((lost + 1) % 3).full = true;
        let new = payload(&mut Random(2), 60);
        assert_eq!(world.write_now(0, &new), Err(RequestError::NoSpace));
        world.settle();
        let read = world.read_now(0, 60).unwrap();
        for (at, block) in read.chunks(512).enumerate() {
            let written = [&old, &new].map(|bytes| &bytes[at * 512..][..512]);
            assert!(written.contains(&block), "block {at} without member {lost}");
        }
    }
}

/// The array has halted and refuses everything; then it is opened again.
fn opened_after_halt(mut world: World) -> World {
    assert_eq!(world.array.mode(), Mode::Halted);
    assert_eq!(world.read_now(0, 4), Err(RequestError::NoSpace));
    assert_eq!(world.write_now(0, &[0; 2_048]), Err(RequestError::NoSpace));
    let halted = |event: &Event| matches!(event, Event::Halted { slot } if slot.get() == 1);
    assert_eq!(world.events.iter().filter(|event| halted(event)).count(), 1);
    world.pending.clear();
    world.reopen(false).unwrap()
}

fn halting_setups() -> Vec<Setup> {
    let named = ["raid0", "raid1", "raid5", "parity-logging"].map(|name| Setup::named(name, 4));
    named.into_iter().chain([Setup::logged(4)]).collect()
}

fn all_is_well(mut world: World, content: &[u8]) {
    world.settle();
    assert!(world.array.status().members.iter().all(|member| member.state == "active"));
    assert!(world.read_now(0, 300).unwrap() == content);
    assert_eq!(world.array.unsynced_regions(), 0);
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn an_opening_that_cannot_be_recorded_halts_and_makes_no_member_older() {
    for setup in halting_setups() {
        let mut world = World::new(&setup, SEED);
        let content = payload(&mut Random(SEED), 300);
        world.write_now(0, &content).unwrap();
        world.stop();
        world.disks[1].cramped = true;
        let mut world = world.reopen(false).unwrap();
        for _ in 0..3 {
            world.settle_until(|world| world.array.mode() == Mode::Halted);
            world = opened_after_halt(world);
        }
        world.settle_until(|world| world.array.mode() == Mode::Halted);
        world.disks[1].cramped = false;
        all_is_well(opened_after_halt(world), &content);
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn metadata_that_finds_no_room_while_the_array_is_served_halts_it_as_a_crash_would() {
    // (Records in a log without `journal` keep their region dirty: without a member the array could
    // be opened only with `force`.)
    let logs = |setup: &Setup| setup.organization == Setup::logged(4).organization;
    let unsafe_log = |setup: &Setup| logs(setup) && setup.consistency == Consistency::Bitmap;
    for setup in halting_setups().into_iter().filter(|setup| !unsafe_log(setup)) {
        let mut world = World::new(&setup, SEED);
        let content = payload(&mut Random(SEED), 300);
        world.write_now(0, &content).unwrap();
        world.settle();
        world.disks[1].cramped = true;
        if setup.organization.code == Code::None {
            world.array.stop(world.now);
        } else {
            world.array.fail(world.now, Slot::new(0)).unwrap();
        }
        world.drain();
        world.settle_until(|world| world.array.mode() == Mode::Halted);
        world.disks[1].cramped = false;
        let mut world = opened_after_halt(world);
        assert!(world.read_now(0, 300).unwrap() == content);
        world.settle();
        assert!(world.array.status().members[1..].iter().all(|member| member.state == "active"));
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_stop_that_cannot_be_recorded_halts_and_costs_no_redundancy() {
    for setup in halting_setups() {
        let mut world = World::new(&setup, SEED);
        let content = payload(&mut Random(SEED), 300);
        world.write_now(0, &content).unwrap();
        world.settle();
        world.disks[1].cramped = true;
        world.array.stop(world.now);
        world.drain();
        world.settle_until(|world| world.array.mode() == Mode::Halted);
        world.disks[1].cramped = false;
        all_is_well(opened_after_halt(world), &content);
    }
}

/// Tests of the tests. A planted bug affects the whole process, so this module has no other test.
#[cfg(feature = "planted-bugs")]
mod planted {
    use parlour_array::Bug;

    use crate::common::find_each;

    const TESTS: [fn(); 12] = [
        super::a_copy_that_finds_no_space_while_another_is_missing_loses_no_block,
        super::a_flush_that_needs_parity_without_memory_is_answered,
        super::a_reintegration_that_finds_no_memory_is_suspended_and_gives_no_record_up,
        super::a_committed_write_whose_data_finds_no_memory_is_redone_after_the_next_opening,
        super::what_a_member_lacked_that_was_failed_meanwhile_is_no_want_of_the_arrays,
        super::a_write_that_finds_no_memory_to_read_what_was_there_leaves_its_stripe_as_it_was,
        super::records_that_find_no_memory_to_be_redone_wait_for_the_next_opening,
        super::records_that_wait_for_the_next_opening_are_given_up_when_their_log_is_lost,
        super::headers_of_logs_that_find_no_memory_to_be_read_are_not_given_up,
        super::an_opening_that_cannot_be_recorded_halts_and_makes_no_member_older,
        super::metadata_that_finds_no_room_while_the_array_is_served_halts_it_as_a_crash_would,
        super::a_stop_that_cannot_be_recorded_halts_and_costs_no_redundancy,
    ];

    #[test]
    fn every_bug_of_shortages_is_found() {
        find_each(&Bug::OF_SHORTAGES, &TESTS);
    }
}
