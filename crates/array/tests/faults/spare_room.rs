//! Distributed spares: a failed member's units are rebuilt into spare places on the others, come
//! home to the member that takes its slot, and are there at any time.

use crate::common::{Random, SEED, Setup, World, payload};
use parlour_array::organization::{Consistency, Organization};
use parlour_array::{AdminError, Event, LogCreation, MemberInfo, Operation, Repair};
use parlour_units::{Sectors, Slot};

/// RAID 6 of eight members, whose stripes are on four and have a spare place: in place, with a
/// journal, and written back from it.
fn setups() -> [Setup; 3] {
    let raid6 = Setup { checks: 2, width: Some(4), member_length: 6 * 2_048, ..Setup::named("raid6", 8) };
    let layout = raid6.organization.layout.declustered().expect("its parity moves");
    let organization = Organization { layout, ..raid6.organization };
    let mut bitmap = Setup { organization, spares: 1, ..raid6 };
    bitmap.tuning.checkpoint = Sectors::new(64);
    let journal = Setup { consistency: Consistency::Journal, ..bitmap.clone() };
    let log = LogCreation { writes: Some(Sectors::new(2_048)), ..journal.log };
    [bitmap, journal.clone(), Setup { log, ..journal }]
}

fn is_journaled(setup: &Setup) -> bool {
    setup.consistency == Consistency::Journal
}

/// An array with content, and what it should read.
struct Used {
    world: World,
    content: Vec<u8>,
    random: Random,
}

impl Used {
    fn new(setup: &Setup, seed: u64) -> Used {
        let (mut world, mut random) = (World::new(setup, seed), Random(seed));
        world.settle();
        let content = payload(&mut random, world.capacity());
        assert_eq!(world.write_now(0, &content), Ok(()));
        Used { world, content, random }
    }

    fn fail(&mut self, slot: u16) -> Result<(), AdminError> {
        let result = self.world.array.fail(self.world.now, Slot::new(slot));
        self.world.drain();
        result
    }

    fn must_fail(&mut self, slots: &[u16]) {
        for slot in slots {
            self.fail(*slot).unwrap_or_else(|error| panic!("{slot} can be done without: {error}"));
        }
    }

    /// Writes and reads at random places, and compares.
    fn go_on(&mut self, times: usize) {
        for _ in 0..times {
            let length = 1 + self.random.below(100);
            let at = self.random.below(self.world.capacity() - length);
            let range = at as usize * 512..(at + length) as usize * 512;
            if self.random.below(2) == 0 {
                let bytes = payload(&mut self.random, length);
                assert_eq!(self.world.write_now(at, &bytes), Ok(()), "{at}+{length}");
                self.content[range].copy_from_slice(&bytes);
            } else {
                let found = self.world.read_now(at, length).expect("it can be read");
                assert!(found == self.content[range], "{at}+{length}");
            }
        }
    }

    fn step(&mut self, times: u64) {
        (0..times).for_each(|_| _ = self.world.step());
    }

    fn crash(mut self) -> Used {
        assert_eq!(self.world.do_now(Operation::Flush, 0, 0, None).0, Ok(()));
        self.crash_at_once()
    }

    fn crash_at_once(self) -> Used {
        Used { world: self.world.crash(false).expect("it opens"), ..self }
    }

    fn reads_all(&mut self) {
        let found = self.world.read_now(0, self.world.capacity()).expect("it can be read");
        let differs = found.chunks(512).zip(self.content.chunks(512)).position(|(found, is)| found != is);
        assert_eq!(differs, None, "the first sector that differs");
    }

    /// All content is right, and all check units fit.
    fn all_fits(&mut self) {
        self.world.settle();
        assert_eq!(self.world.scrub(Repair::Nothing).mismatches, 0);
        self.reads_all();
    }

    fn state(&self, slot: u16) -> &'static str {
        self.world.array.status().slot(slot).expect("it is a slot").state
    }

    fn left(&self) -> u16 {
        self.world.array.status().spare_redundancy
    }

    /// Waits until so much of the rebuilds is done, in percent.
    fn rebuild_to(&mut self, percent: u64) {
        self.world.settle_until(|world| {
            world.array.status().rebuild.is_some_and(|task| task.done * 100 >= task.total * percent)
        });
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn when_a_failed_member_is_in_spare_room_as_many_may_fail_as_before() {
    for setup in setups() {
        let mut used = Used::new(&setup, SEED);
        used.must_fail(&[3]);
        assert_eq!(used.left(), 1);
        used.go_on(40);
        used.world.settle();
        assert!(used.world.events.contains(&Event::SpareRoomFilled { slot: Slot::new(3) }));
        assert_eq!((used.state(3), used.left()), ("failed", 2));
        used.all_fits();
        used.must_fail(&[0, 6]);
        assert!(matches!(used.fail(1), Err(AdminError::Needed(_))), "no third one");
        used.go_on(40);
        used.reads_all();
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn any_two_members_may_fail_after_a_third_that_is_in_spare_room() {
    let [bitmap, ..] = setups();
    for first in 0..8 {
        for second in (0..first).filter(|slot| *slot != 3) {
            if first != 3 {
                let mut used = Used::new(&bitmap, SEED);
                used.must_fail(&[3]);
                used.world.settle();
                used.must_fail(&[first, second]);
                used.reads_all();
            }
        }
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_replacement_gets_its_units_back_and_the_room_is_free_again() {
    for setup in setups() {
        let mut used = Used::new(&setup, SEED);
        for slot in [3, 5] {
            used.must_fail(&[slot]);
            used.world.settle();
            used.world.replace(slot);
            assert_eq!(used.left(), 2, "what it had is still in spare room");
            used.go_on(40);
            used.world.settle();
            assert_eq!(used.state(slot), "active");
            used.all_fits();
        }
        used.must_fail(&[0, 1]);
        used.reads_all();
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_replacement_that_fails_on_its_way_costs_nothing() {
    for setup in setups() {
        let mut used = Used::new(&setup, SEED);
        used.must_fail(&[3]);
        used.world.settle();
        used.world.replace(3);
        used.rebuild_to(50);
        used.go_on(4);
        assert_eq!(used.state(3), "rebuilding");
        used.must_fail(&[3]);
        assert_eq!(used.left(), 2);
        used.reads_all();
        used.must_fail(&[2, 4]);
        used.reads_all();
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn members_that_fail_during_a_move_and_on_the_way_home_are_rebuilt_with_what_they_had_to_hold() {
    for setup in setups() {
        let mut used = Used::new(&setup, SEED);
        used.must_fail(&[3]);
        used.rebuild_to(50);
        used.must_fail(&[6]);
        used.go_on(20);
        used.world.settle();
        used.world.replace(6);
        used.world.settle();
        assert_eq!((used.state(3), used.state(6), used.left()), ("failed", "active", 2));
        used.all_fits();
        used.world.replace(3);
        used.rebuild_to(50);
        used.must_fail(&[7]);
        used.go_on(20);
        used.world.replace(7);
        used.rebuild_to(70);
        used.must_fail(&[3]);
        used.go_on(20);
        used.world.settle();
        assert_eq!((used.state(7), used.left()), ("active", 2));
        used.all_fits();
        used.must_fail(&[0, 1]);
        used.reads_all();
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_move_goes_on_after_a_restart_and_after_a_crash() {
    for setup in setups() {
        // (A crash beside a lost member costs data here, unless there is a journal.)
        let crashes = [false, true].into_iter().filter(|crashes| !crashes || is_journaled(&setup));
        for crashes in crashes {
            let mut used = Used::new(&setup, SEED);
            used.must_fail(&[3]);
            used.rebuild_to(60);
            used = if crashes { used.crash() } else { Used { world: used.world.restart(), ..used } };
            let task = used.world.array.status().rebuild.expect("it goes on");
            assert!(task.done > 0, "at its recorded frontier");
            used.reads_all();
            used.world.settle();
            used = if crashes { used.crash() } else { Used { world: used.world.restart(), ..used } };
            assert_eq!((used.state(3), used.left()), ("failed", 2));
            used.must_fail(&[0, 6]);
            used.reads_all();
        }
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_way_home_goes_on_after_a_restart_and_begins_anew_after_a_crash() {
    for setup in setups() {
        for crashes in [false, true] {
            let mut used = Used::new(&setup, SEED);
            used.must_fail(&[3]);
            used.world.settle();
            used.world.replace(3);
            used.rebuild_to(60);
            used.go_on(2);
            used = if crashes { used.crash() } else { Used { world: used.world.restart(), ..used } };
            let task = used.world.array.status().rebuild.expect("it goes on");
            assert!(crashes || task.done > 0, "after a restart at its recorded frontier");
            used.reads_all();
            used.go_on(20);
            used.all_fits();
            assert_eq!((used.state(3), used.left()), ("active", 2));
        }
    }
}

/// Members fail, are replaced, return to what they were, in any order, with crashes between.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn no_order_of_failures_moves_replacements_and_crashes_loses_anything() {
    for (setup, seed) in setups().iter().flat_map(|setup| (0..40).map(move |seed| (setup, seed))) {
        let mut used = Used::new(setup, seed);
        used.world.all_volatile();
        for round in 0..12 {
            let slot = used.random.below(8) as u16;
            match used.random.below(6) {
                0 | 1 => _ = used.fail(slot),
                2 if used.state(slot) == "failed" => used.world.replace(slot),
                3 => used.world.settle(),
                4 => {
                    let steps = used.random.below(200);
                    used.step(steps);
                }
                5 if is_journaled(setup) || used.left() == 2 => used = used.crash(),
                _ => {}
            }
            used.go_on(6);
            used.reads_all();
            let states: Vec<&str> = (0..8).map(|slot| used.state(slot)).collect();
            assert!(!used.world.array.status().lost, "{seed}, {round}: {states:?}");
        }
        used.all_fits();
    }
}

/// All that hosts have flushed is there, whatever of the move itself was not.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_crash_at_any_point_of_a_move_and_of_the_way_home_costs_nothing() {
    for (setup, seed) in setups().iter().skip(1).flat_map(|setup| (0..30).map(move |seed| (setup, seed))) {
        let mut used = Used::new(setup, seed);
        used.world.all_volatile();
        let slot = (seed % 8) as u16;
        used.must_fail(&[slot]);
        used.rebuild_to(seed % 7 * 10);
        let steps = used.random.below(400);
        used.step(steps);
        used = used.crash_at_once();
        used.reads_all();
        used.world.settle();
        used.world.replace(slot);
        used.rebuild_to(seed % 9 * 10);
        used.go_on(2);
        assert_eq!(used.world.do_now(Operation::Flush, 0, 0, None).0, Ok(()));
        let steps = used.random.below(400);
        used.step(steps);
        used = used.crash_at_once();
        used.reads_all();
        used.must_fail(&[(slot + 1) % 8, (slot + 4) % 8]);
        used.reads_all();
        used.world.settle();
        used.reads_all();
    }
}

/// What a unit that was written last holds after a crash may be old or new, and it must be one of
/// the two in both of its places.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn what_is_read_after_a_crash_on_the_way_home_is_in_spare_room_too() {
    for (setup, seed) in setups().iter().flat_map(|setup| (0..20).map(move |seed| (setup, seed))) {
        let mut used = Used::new(setup, seed);
        used.world.all_volatile();
        used.must_fail(&[3]);
        used.world.settle();
        used.world.replace(3);
        used.rebuild_to(70);
        for _ in 0..10 {
            let at = used.random.below(used.world.capacity() / 2);
            let bytes = payload(&mut used.random, 16);
            used.world.write(at, &bytes);
            used.step(10);
        }
        used = used.crash_at_once();
        used.content = used.world.read_now(0, used.world.capacity()).expect("it can be read");
        used.world.settle_until(|world| world.array.unsynced_regions() == 0);
        used.must_fail(&[3]);
        used.all_fits();
    }
}

/// The room of one member is taken for another as soon as it is free: a crash just then finds both.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_crash_when_spare_room_changes_hands_costs_nothing() {
    for seed in 0..60 {
        let [_, journal, _] = setups();
        let mut used = Used::new(&journal, seed);
        used.world.all_volatile();
        used.must_fail(&[2]);
        used.world.settle();
        used.world.replace(2);
        used.rebuild_to(50);
        used.must_fail(&[5]);
        used.world.settle_until(|world| world.array.status().rebuild.is_none());
        let steps = 5 + used.random.below(50);
        used.step(steps);
        used = used.crash_at_once();
        used.reads_all();
        used.all_fits();
    }
}

/// The disk of a failed member takes its slot again, with what it holds.
fn come_back(world: &mut World, slot: u16, disk: usize) {
    let length = Sectors::new(world.setup.member_length);
    let info = MemberInfo { identity: world.disks[disk].identity, length, unmaps: true };
    let member = world.array.replace(world.now, Slot::new(slot), info).expect("it fits");
    assert_eq!(member.as_usize(), world.numbers.len());
    world.numbers.push(disk);
    world.drain();
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_member_that_returns_gets_what_was_moved_to_it_while_it_was_away() {
    for setup in setups() {
        let mut used = Used::new(&setup, SEED);
        used.world.settle();
        assert_eq!(used.world.array.status().dirty_regions, 0, "all that it held is known to be good");
        used.must_fail(&[6]);
        used.rebuild_to(10);
        used.must_fail(&[3]);
        used.world.settle();
        // (6 is in spare room, some of it would be on 3.)
        assert_eq!((used.state(6), used.left()), ("failed", 1));
        come_back(&mut used.world, 3, 3);
        used.world.settle();
        assert_eq!((used.state(3), used.left()), ("active", 2));
        used.all_fits();
        used.must_fail(&[0, 1]);
        used.reads_all();
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_member_that_was_moved_and_returns_gets_what_it_missed() {
    for setup in setups() {
        let mut used = Used::new(&setup, SEED);
        used.must_fail(&[3]);
        used.go_on(20);
        used.world.settle();
        come_back(&mut used.world, 3, 3);
        used.go_on(20);
        used.all_fits();
        assert_eq!((used.state(3), used.left()), ("active", 2));
        used.must_fail(&[0, 1]);
        used.reads_all();
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_spare_takes_the_slot_first_whose_units_are_nowhere() {
    let [bitmap, ..] = setups();
    let mut used = Used::new(&bitmap, SEED);
    used.must_fail(&[1]);
    used.world.settle();
    used.must_fail(&[5]);
    used.world.add_spare();
    assert_eq!([used.state(1), used.state(5)], ["failed", "rebuilding"]);
    used.world.settle();
    assert_eq!((used.state(5), used.left()), ("active", 2));
    used.all_fits();
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_spare_that_comes_during_a_move_waits_for_its_end() {
    let [bitmap, ..] = setups();
    let mut used = Used::new(&bitmap, SEED);
    used.must_fail(&[1]);
    used.rebuild_to(30);
    used.world.add_spare();
    assert_eq!(used.state(1), "failed", "it is being moved");
    used.world.settle_until(|world| world.events.contains(&Event::SpareRoomFilled { slot: Slot::new(1) }));
    assert_eq!(used.left(), 2);
    used.world.settle();
    assert_eq!((used.state(1), used.left()), ("active", 2));
    used.all_fits();
}

/// Regression test. A flush of a member failed that had to be kept: what was moved to it counted,
/// after later flushes of it that succeeded.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn what_is_moved_to_a_member_that_could_not_flush_does_not_count() {
    let [_, journal, _] = setups();
    let mut used = Used::new(&journal, SEED);
    used.must_fail(&[1]);
    used.rebuild_to(20);
    used.must_fail(&[2]);
    used.world.disk_at(4).flush_fails = true;
    let kept = Event::MemberKept { slot: Slot::new(4) };
    used.world.settle_until(|world| world.events.contains(&kept));
    used.world.disk_at(4).flush_fails = false;
    used.world.settle();
    let moved = |used: &Used| used.world.array.status().slot(1).expect("a slot").in_spare_room;
    assert!(!moved(&used), "some of it may be lost");
    let mut used = Used { world: used.world.restart(), ..used };
    used.world.settle();
    assert!(moved(&used), "a new opening moves it from what is durable on");
    used.reads_all();
}

/// Tests of the tests. A planted bug affects the whole process, so this module has no other test.
#[cfg(feature = "planted-bugs")]
mod planted {
    use parlour_array::Bug;

    use crate::common::find_each;

    #[test]
    fn every_bug_of_distributed_spares_is_found() {
        let tests: [fn(); 6] = [
            super::when_a_failed_member_is_in_spare_room_as_many_may_fail_as_before,
            super::members_that_fail_during_a_move_and_on_the_way_home_are_rebuilt_with_what_they_had_to_hold,
            super::a_member_that_returns_gets_what_was_moved_to_it_while_it_was_away,
            super::a_replacement_that_fails_on_its_way_costs_nothing,
            super::a_crash_at_any_point_of_a_move_and_of_the_way_home_costs_nothing,
            super::what_is_read_after_a_crash_on_the_way_home_is_in_spare_room_too,
        ];
        find_each(&Bug::OF_SPARE_ROOM, &tests);
    }
}
