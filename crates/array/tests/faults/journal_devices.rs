//! Journal devices take the entries of the commit log. They can be lost, one or all, in any order
//! and at any time: what was acknowledged stays, or the opening says that it may be lost.
#![expect(clippy::unwrap_used, reason = "a test may give up where it likes")]

use crate::common::{Disk, Random, SEED, Setup, World, payload};
use parlour_array::organization::Consistency;
use parlour_array::{
    Action, AdminError, AssemblyError, CommitPart, CreationError, Effect, Event, Fault, Geometry,
    LogCreation, MemberInfo, Mode, Operation,
};
use parlour_units::{Member, Sectors, Slot};

const DEVICES: [u16; 2] = [5, 6];

fn with_devices(setup: Setup, writes: Option<Sectors>) -> Setup {
    Setup { log: LogCreation { journals: 2, writes, ..setup.log }, ..setup }
}

fn write_through() -> Setup {
    let mut setup = Setup::logged(5);
    setup.member_length = 5 * 2_048;
    with_devices(setup, None)
}

fn write_back() -> Setup {
    with_devices(write_through(), Some(Sectors::new(512)))
}

fn in_place() -> Setup {
    let setup = Setup { consistency: Consistency::Journal, ..Setup::named("raid5", 5) };
    with_devices(setup, None)
}

/// The same with one journal device.
fn single(setup: Setup) -> Setup {
    Setup { log: LogCreation { journals: 1, ..setup.log }, ..setup }
}

fn all() -> [Setup; 3] {
    [write_through(), write_back(), in_place()]
}

/// An array that has begun its session, on members with volatile caches.
fn begun(setup: &Setup) -> World {
    let mut world = World::new(setup, SEED);
    world.settle();
    world.all_volatile();
    world
}

/// Whether an entry of the commit log is being written to this member.
fn is_entry(world: &World, effect: &Effect) -> Option<Member> {
    let (start, length) = world.array.geometry().commit_log();
    match effect.action {
        Action::Write { member, at, .. } if at >= start && at < start + length => Some(member),
        _ => None,
    }
}

/// Writes durably, and returns the members to which entries went.
fn write(world: &mut World, at: u64, content: &[u8]) -> Vec<Member> {
    let length = content.len() as u64 / 512;
    let tag = world.submit(Operation::Write { durable: true }, at, length, Some(content));
    let mut members: Vec<Member> = Vec::new();
    while !world.done.contains_key(&tag) {
        members.extend(world.pending.iter().filter_map(|effect| is_entry(world, effect)));
        assert!(world.step(), "a write is never answered");
    }
    world.done.remove(&tag).unwrap().0.unwrap();
    members.sort_unstable();
    members.dedup();
    members
}

fn contents(count: u64) -> Vec<Vec<u8>> {
    (0..count).map(|seed| payload(&mut Random(seed), 3)).collect()
}

/// Writes so much durably, and returns it.
fn fill(world: &mut World, count: u64) -> Vec<Vec<u8>> {
    let new = contents(count);
    for (at, new) in (0..).zip(&new) {
        write(world, at * 100, new);
    }
    new
}

fn check(world: &mut World, contents: &[Vec<u8>]) {
    for (at, content) in (0..).zip(contents) {
        assert!(world.read_now(at * 100, 3).unwrap() == *content, "the write at {}", at * 100);
    }
}

fn fail(world: &mut World, slot: u16) {
    world.array.fail(world.now, Slot::new(slot)).unwrap();
    world.drain();
}

fn state(world: &World, slot: u16) -> &'static str {
    world.array.status().slot(slot).unwrap().state
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn entries_go_to_journal_devices() {
    for setup in all() {
        let mut world = begun(&setup);
        for (at, new) in (0..).zip(contents(20)) {
            let members = write(&mut world, at * 100, &new);
            assert!(!members.is_empty() && members.iter().all(|member| member.get() >= 5), "{members:?}");
        }
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn one_journal_device_is_lost_with_a_member_in_a_crash() {
    for setup in all() {
        for device in DEVICES {
            let mut world = begun(&setup);
            let new = fill(&mut world, 20);
            world.disk_at(device).dead = true;
            world.disk_at(2).dead = true;
            let mut world = world.crash(false).unwrap();
            check(&mut world, &new);
        }
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn without_enough_journal_devices_entries_go_to_members() {
    for setup in all() {
        let mut world = begun(&setup);
        fail(&mut world, 6);
        world.settle();
        let new = contents(10);
        for (at, new) in (0..).zip(&new) {
            let members = write(&mut world, at * 100, new);
            assert!(members.iter().all(|member| member.get() < 5), "{members:?}");
        }
        assert_eq!(world.array.status().spare_redundancy, 1, "no data is on it");
        world.replace(6);
        world.settle();
        world.all_volatile();
        assert_eq!(state(&world, 6), "active");
        let members = write(&mut world, 2_000, &new[0]);
        assert!(members.iter().all(|member| member.get() >= 5), "{members:?}");
        let mut world = world.crash(false).unwrap();
        check(&mut world, &new);
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn all_journal_devices_are_lost_one_after_the_other() {
    for setup in all() {
        let mut world = begun(&setup);
        let new = contents(30);
        for (at, new) in (0..10).zip(&new) {
            write(&mut world, at * 100, new);
        }
        for (device, written) in DEVICES.into_iter().zip([10..20, 20..30]) {
            fail(&mut world, device);
            world.settle();
            written.for_each(|index| _ = write(&mut world, index * 100, &new[index as usize]));
        }
        assert_eq!(world.array.mode(), Mode::Serving);
        let mut world = world.crash(false).expect("entries stand on members");
        check(&mut world, &new);
        let damaged = |event: &Event| matches!(event, Event::CommitLogDamaged);
        assert!(!world.events.iter().any(damaged), "the log is whole");
        // Both slots can be taken again.
        DEVICES.into_iter().for_each(|device| world.replace(device));
        world.settle();
        world.all_volatile();
        let members = write(&mut world, 0, &new[0]);
        assert!(members.iter().all(|member| member.get() >= 7), "{members:?}");
        check(&mut world.crash(false).unwrap(), &new);
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn writes_on_lost_journal_devices_alone_are_not_passed_over() {
    let mut world = begun(&write_back());
    let new = contents(10);
    for (at, new) in (0..).zip(&new) {
        write(&mut world, at * 100, new);
    }
    DEVICES.into_iter().for_each(|device| world.disk_at(device).dead = true);
    let crashed = world.crash(false);
    assert!(matches!(crashed, Err(AssemblyError::AcknowledgedMayBeLost)), "all copies are there");
}

/// An array of which members took entries for a while, and then journal devices again.
fn begun_again(setup: &Setup) -> World {
    let mut world = begun(setup);
    fail(&mut world, 6);
    world.settle();
    write(&mut world, 3_000, &payload(&mut Random(77), 3));
    world.replace(6);
    world.settle();
    world.all_volatile();
    world
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn the_last_journal_device_is_lost_in_a_crash_after_the_other_one() {
    for setup in all() {
        for begin in [begun, begun_again] {
            let mut world = begin(&setup);
            let new = contents(10);
            for (at, new) in (0..).zip(&new) {
                write(&mut world, at * 100, new);
            }
            fail(&mut world, 5);
            world.settle();
            world.disk_at(6).dead = true;
            let mut world = world.crash(false).expect("entries stand on members");
            let damaged = |event: &Event| matches!(event, Event::CommitLogDamaged);
            assert!(!world.events.iter().any(damaged), "the log is whole");
            check(&mut world, &new);
        }
    }
}

/// Regression test. With force, entries that had gone to members long ago were taken for the
/// newest.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn with_force_what_members_took_long_ago_does_not_come_back() {
    let mut world = begun(&write_back());
    let (old, new) = (payload(&mut Random(1), 3), payload(&mut Random(2), 3));
    fail(&mut world, 6);
    world.settle();
    write(&mut world, 0, &old);
    world.replace(6);
    world.settle();
    world.all_volatile();
    write(&mut world, 0, &new);
    world.do_now(Operation::Flush, 0, 0, None).0.unwrap();
    world.settle();
    world.disk_at(5).dead = true;
    world.disk_at(6).dead = true;
    let mut world = world.crash(true).unwrap();
    assert_eq!(world.read_now(0, 3).unwrap(), new);
}

/// Regression test. It was excluded, and with it the only copy of what was still to be read.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_journal_device_is_kept_while_entries_are_still_to_be_read_from_it() {
    let mut world = begun(&write_back());
    let new = contents(10);
    for (at, new) in (0..).zip(&new) {
        write(&mut world, at * 100, new);
    }
    world.disk_at(5).dead = true;
    let mut world = world.crash(false).unwrap();
    world.array.fail(world.now, Slot::new(6)).unwrap_err();
    world.settle();
    fail(&mut world, 6);
    check(&mut world, &new);
}

/// Regression test. The device was kept though it was gone, and all requests failed until the next
/// opening.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_journal_device_is_lost_that_alone_has_an_entry_that_was_cut_off() {
    for setup in all() {
        for device in DEVICES {
            let mut world = begun(&setup);
            let new = fill(&mut world, 20);
            world.settle();
            world.submit(Operation::Write { durable: true }, 2_000, 3, Some(&new[0]));
            let is_there =
                |world: &World, effect: &Effect| is_entry(world, effect) == Some(Member::new(device));
            let entry = loop {
                match world.pending.iter().position(|effect| is_there(&world, effect)) {
                    Some(entry) => break entry,
                    None => assert!(world.step(), "the entry is written"),
                }
            };
            world.step_at(entry);
            world.lose_what_is_not_flushed();
            let mut world = world.reopen(false).unwrap();
            fail(&mut world, device);
            check(&mut world, &new);
            world.settle();
            write(&mut world, 2_000, &new[1]);
            let mut world = world.crash(false).unwrap();
            check(&mut world, &new);
            assert_eq!(world.read_now(2_000, 3).unwrap(), new[1]);
        }
    }
}

/// Writes while a device has a fault by which it is lost, and checks that the array goes on.
fn is_lost(ails: fn(&mut Disk)) {
    for setup in all() {
        let mut world = begun(&setup);
        ails(world.disk_at(6));
        let new = contents(10);
        for (at, new) in (0..).zip(&new) {
            write(&mut world, at * 100, new);
        }
        assert_eq!((world.array.mode(), state(&world, 6)), (Mode::Serving, "failed"));
        check(&mut world.crash(false).unwrap(), &new);
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_journal_device_without_space_is_lost() {
    is_lost(|disk| disk.full = true);
}

/// Regression test. It was kept, and the array became read-only.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_journal_device_that_makes_nothing_durable_for_lack_of_space_is_lost() {
    is_lost(|disk| disk.durable_writes_fail = Some(Fault::Undurable));
}

/// Regression test. Devices that lack space at the same time, as two files on one file system do,
/// were all excluded: until what they held was in its place, a crash lost it.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn the_last_journal_device_that_has_an_entry_is_kept_when_it_lacks_space() {
    for steps in 0..80 {
        let mut world = begun(&write_back());
        let new = contents(10);
        for (at, new) in (0..).zip(&new) {
            write(&mut world, at * 100, new);
        }
        DEVICES.into_iter().for_each(|device| world.disk_at(device).full = true);
        world.write(3_000, &new[0]);
        (0..steps).for_each(|_| _ = world.step());
        world.disks.iter_mut().for_each(|disk| disk.full = false);
        let mut world = world.crash(false).expect("an entry stands on a device that counts");
        check(&mut world, &new);
    }
}

/// Regression test. With force, what members rightly had was dropped with what devices had.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn with_force_what_members_hold_stays_where_devices_hide_nothing() {
    let mut world = begun(&write_back());
    fail(&mut world, 6);
    world.settle();
    let new = contents(10);
    for (at, new) in (0..).zip(&new) {
        write(&mut world, at * 100, new);
    }
    // (Blocks behind the newest entry on four members, and the fifth is missing.)
    let (start, length) = world.array.geometry().commit_part(CommitPart::Writes);
    let used = world.array.status().journal.unwrap().streams[2].used.get() / 512;
    for slot in 0..4 {
        let next = start.get() + (used + 8) % length.get();
        world.disk_at(slot).unreadable.insert(next);
    }
    world.disk_at(4).dead = true;
    check(&mut world.crash(true).unwrap(), &new);
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn writes_in_memory_survive_the_loss_of_all_journal_devices() {
    let mut world = begun(&write_back());
    let new = contents(10);
    for (at, new) in (0..).zip(&new) {
        write(&mut world, at * 100, new);
    }
    DEVICES.into_iter().for_each(|device| fail(&mut world, device));
    check(&mut world, &new);
    world.settle();
    check(&mut world.crash(false).expect("they are in their places"), &new);
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_crash_right_after_the_loss_of_all_journal_devices_is_not_passed_over() {
    // Until it is recorded that what they held is elsewhere.
    for begin in [begun, begun_again] {
        let mut refused = 0;
        for steps in 0..200 {
            let mut world = begin(&write_back());
            let new = contents(10);
            for (at, new) in (0..).zip(&new) {
                write(&mut world, at * 100, new);
            }
            DEVICES.into_iter().for_each(|device| fail(&mut world, device));
            (0..steps).for_each(|_| _ = world.step());
            let member = world.setup.member_length as usize * 512;
            world.disks.iter_mut().filter(|disk| disk.bytes.len() < member).for_each(|disk| disk.dead = true);
            match world.crash(false) {
                Ok(mut world) => check(&mut world, &new),
                Err(AssemblyError::AcknowledgedMayBeLost) => refused += 1,
                Err(error) => panic!("{error}"),
            }
        }
        assert!((5..195).contains(&refused), "{refused} of 200");
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn records_on_lost_journal_devices_alone_cost_a_resync() {
    for setup in [write_through(), in_place()] {
        let mut world = begun(&setup);
        let new = contents(10);
        for (at, new) in (0..).zip(&new) {
            write(&mut world, at * 100, new);
        }
        DEVICES.into_iter().for_each(|device| world.disk_at(device).dead = true);
        let mut world = world.crash(false).expect("the data is in its place");
        assert!(world.events.iter().any(|event| matches!(event, Event::CommitLogDamaged)));
        check(&mut world, &new);
        world.settle();
        assert_eq!(world.scrub(parlour_array::Repair::Nothing).mismatches, 0);
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn journal_devices_may_be_missing_after_a_proper_stop() {
    for setup in all() {
        let mut world = begun(&setup);
        let new = contents(10);
        for (at, new) in (0..).zip(&new) {
            write(&mut world, at * 100, new);
        }
        world.stop();
        DEVICES.into_iter().for_each(|device| world.disks[usize::from(device)].dead = true);
        let mut world = world.reopen(false).unwrap();
        check(&mut world, &new);
        for (at, new) in (0..).zip(&new) {
            let members = write(&mut world, at * 100, new);
            assert!(members.iter().all(|member| member.get() < 5), "{members:?}");
        }
        check(&mut world.crash(false).expect("entries stand on members"), &new);
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_spare_does_not_take_the_slot_of_a_journal_device() {
    let mut world = begun(&write_through());
    world.add_spare();
    fail(&mut world, 5);
    world.settle();
    assert_eq!(state(&world, 5), "failed");
    assert_eq!(world.array.status().spares.len(), 1);
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn what_is_too_short_takes_no_slot() {
    let mut world = begun(&write_through());
    let geometry = world.array.geometry().clone();
    let (journal, member) = (geometry.least_length(Slot::new(5)), geometry.least_length(Slot::new(0)));
    assert!(journal < member);
    let identity = world.disks[0].identity;
    let info = |length: Sectors| MemberInfo { identity, length, unmaps: true };
    let now = world.now;
    assert!(world.array.replace(now, Slot::new(5), info(journal - Sectors::new(1))).is_err());
    assert!(world.array.replace(now, Slot::new(0), info(journal)).is_err());
    assert!(world.array.add_spare(now, info(journal)).is_err());
    assert!(world.array.replace(now, Slot::new(7), info(member)).is_err(), "there is no such slot");
}

/// Arrays with vacant slots: one of two journal devices is removed for good, another added.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_journal_device_is_removed_for_good_and_another_is_added() {
    for setup in all() {
        let setup = Setup { log: LogCreation { journal_slots: Some(4), ..setup.log }, ..setup };
        let mut world = begun(&setup);
        assert_eq!(world.array.status().journals.len(), 2, "vacant slots are no devices");
        let new = contents(12);
        let write_some = |world: &mut World, some: std::ops::Range<usize>| {
            let written = some.map(|at| write(world, at as u64 * 100, &new[at]));
            written.flatten().collect::<Vec<Member>>()
        };
        write_some(&mut world, 0..4);
        fail(&mut world, 6);
        world.settle();
        let now = world.now;
        world.array.remove(now, Slot::new(6)).unwrap();
        world.settle();
        assert_eq!(world.array.status().journals.len(), 1);
        assert!(write_some(&mut world, 4..8).iter().all(|member| member.get() < 5), "one is not enough");
        world.disk_at(5).dead = true;
        let mut world = world.crash(false).expect("nothing stands on the devices alone");
        check(&mut world, &new[..8]);
        assert_eq!(world.array.status().journals.len(), 1, "it is vacant for good");
        // The lost device is replaced first, then a vacant slot is taken.
        for expected in [5, 6] {
            let slot = world.array.free_journal_slot().unwrap();
            assert_eq!(slot.get(), expected);
            world.replace(slot.get());
            world.settle();
        }
        let members = write_some(&mut world, 8..12);
        assert!(members.iter().all(|member| world.is_journal(*member)), "{members:?}");
        check(&mut world.crash(false).unwrap(), &new);
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn journal_devices_are_added_to_an_array_that_had_none() {
    for setup in all() {
        let log = LogCreation { journals: 0, journal_slots: Some(2), ..setup.log };
        let mut world = begun(&Setup { log, ..setup });
        let new = contents(12);
        let mut members = Vec::new();
        for (at, content) in (0..).zip(&new) {
            if at == 4 || at == 8 {
                world.replace(world.array.free_journal_slot().unwrap().get());
                world.settle();
            }
            members = write(&mut world, at * 100, content);
            assert_eq!(members.iter().any(|member| world.is_journal(*member)), at >= 8, "{at}: {members:?}");
        }
        assert_eq!(world.array.free_journal_slot(), Err(AdminError::JournalSlotsTaken(2)));
        drop(members);
        world.disk_at(6).dead = true;
        world.disk_at(1).dead = true;
        check(&mut world.crash(false).unwrap(), &new);
    }
}

/// Regression test. Before the first entry, what was always vacant was taken for a device that may
/// hold the newest one.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn vacant_slots_are_not_missed_when_power_is_cut_before_the_first_entry() {
    for setup in all() {
        let log = LogCreation { journal_slots: Some(5), ..setup.log };
        for steps in 0..60 {
            let mut world = World::new(&Setup { log, ..setup.clone() }, SEED);
            world.all_volatile();
            (0..steps).for_each(|_| _ = world.step());
            world.crash(false).expect("no device is missing");
        }
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn an_array_without_slots_takes_no_journal_device() {
    let world = begun(&Setup { log: LogCreation { journals: 0, ..write_through().log }, ..write_through() });
    assert_eq!(world.array.free_journal_slot(), Err(AdminError::NoJournalSlots));
}

/// With write-through one device is enough: what was under way when it is lost in a crash is
/// resynced from the members, which are all there.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_single_journal_device_is_lost_in_a_crash() {
    for setup in [write_through(), in_place()] {
        let mut world = begun(&single(setup));
        let new = contents(20);
        for (at, new) in (0..).zip(&new) {
            let members = write(&mut world, at * 100, new);
            assert_eq!(members, [Member::new(5)]);
        }
        world.disk_at(5).dead = true;
        let mut world = world.crash(false).expect("all data is in its place");
        check(&mut world, &new);
        world.settle();
        assert_eq!(world.scrub(parlour_array::Repair::Nothing).mismatches, 0);
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_member_is_lost_in_a_crash_beside_a_single_journal_device() {
    let copies = Some(1);
    let setups = [write_through(), in_place(), write_back()];
    for setup in
        setups.map(|setup| Setup { log: LogCreation { journal_copies: copies, ..setup.log }, ..setup })
    {
        let mut world = begun(&single(setup));
        let new = fill(&mut world, 20);
        world.disk_at(2).dead = true;
        check(&mut world.crash(false).unwrap(), &new);
    }
}

/// While the array is served, the loss of a single journal device costs nothing: what stood there
/// alone is in memory, and goes to members.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_single_journal_device_is_lost_while_serving() {
    let setups = [write_through(), in_place(), write_back()];
    for setup in setups {
        let log = LogCreation { journal_copies: Some(1), ..setup.log };
        let mut world = begun(&single(Setup { log, ..setup }));
        let new = fill(&mut world, 20);
        world.disk_at(5).dead = true;
        let later = payload(&mut Random(99), 3);
        write(&mut world, 5_000, &later);
        world.settle();
        world.disk_at(1).dead = true;
        let mut world = world.crash(false).expect("entries stand on members");
        check(&mut world, &new);
        assert!(world.read_now(5_000, 3).unwrap() == later);
    }
}

/// After a crash entries are still to be read from it. If all members are there, their regions are
/// resynced; otherwise it is kept, because parity stands in for the member that is missing.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_single_journal_device_is_given_up_during_recovery_only_while_no_member_is_missing() {
    let begin = |missing: bool| {
        let mut world = begun(&single(write_through()));
        for (at, new) in (0..).zip(contents(20)) {
            write(&mut world, at * 100, &new);
        }
        world.disk_at(2).dead = missing;
        world.crash(false).unwrap()
    };
    let mut world = begin(true);
    let refused = world.array.fail(world.now, Slot::new(5));
    assert_eq!(refused, Err(AdminError::Needed(Slot::new(5))));
    world.settle();
    check(&mut world, &contents(20));
    let mut world = begin(false);
    fail(&mut world, 5);
    world.settle();
    check(&mut world, &contents(20));
    assert_eq!(world.scrub(parlour_array::Repair::Nothing).mismatches, 0);
}

/// A person may accept that acknowledged writes stand on one device. If it is lost in a crash, the
/// opening says so.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn acknowledged_writes_on_a_single_lost_device_are_not_passed_over() {
    let setup = write_back();
    let log = LogCreation { journal_copies: Some(1), ..setup.log };
    let mut world = begun(&single(Setup { log, ..setup }));
    write(&mut world, 0, &contents(1)[0]);
    world.disk_at(5).dead = true;
    assert!(matches!(world.crash(false), Err(AssemblyError::AcknowledgedMayBeLost)));
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_single_place_for_acknowledged_writes_is_refused_unless_a_person_says_so() {
    let create = |setup: Setup, copies: Option<u16>| {
        let log = LogCreation { journals: 1, journal_copies: copies, ..setup.log };
        Geometry::create(&Setup { log, ..setup }.creation()).map(|geometry| geometry.journal_copies())
    };
    let refused = CreationError::TooFewJournalsForWrites { journals: 1, copies: 2, tolerance: 1 };
    assert_eq!(create(write_back(), None).unwrap_err(), refused);
    assert_eq!(create(write_back(), Some(1)), Ok(1));
    assert_eq!(create(write_through(), None), Ok(1), "as many as may be lost");
    assert_eq!(create(write_through(), Some(3)), Err(CreationError::BadJournalCopies(3, 2)));
    let two = CreationError::TooFewJournals { journals: 1, copies: 2 };
    assert_eq!(create(write_through(), Some(2)), Err(two));
}

/// Tests of the tests. A planted bug affects the whole process, so this module has no other test.
#[cfg(feature = "planted-bugs")]
mod planted {
    use parlour_array::Bug;

    use crate::common::find_each;

    #[test]
    fn every_bug_of_journal_devices_is_found() {
        let tests: [fn(); 8] = [
            super::the_last_journal_device_that_has_an_entry_is_kept_when_it_lacks_space,
            super::the_last_journal_device_is_lost_in_a_crash_after_the_other_one,
            super::all_journal_devices_are_lost_one_after_the_other,
            super::writes_on_lost_journal_devices_alone_are_not_passed_over,
            super::a_crash_right_after_the_loss_of_all_journal_devices_is_not_passed_over,
            super::with_force_what_members_took_long_ago_does_not_come_back,
            super::a_journal_device_is_kept_while_entries_are_still_to_be_read_from_it,
            super::journal_devices_may_be_missing_after_a_proper_stop,
        ];
        find_each(&Bug::OF_JOURNAL_DEVICES, &tests);
    }
}
