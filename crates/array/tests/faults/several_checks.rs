//! Parity with several check units: any so many members may be lost at once, and a unit that cannot
//! be read is computed from all that is left.

use crate::common::{Random, SEED, Setup, World, payload};
use parlour_array::organization::{Consistency, Organization};
use parlour_array::{Action, AdminError, Located, LogCreation, Operation, Repair, RequestError};
use parlour_units::{Region, Sectors, Slot, Stripe, Unit};

/// RAID 6, RAID 4 with three check units, RAID 5 with four, parity logging with two, and a grid of
/// two rows and two columns, with both consistencies.
fn setups() -> Vec<Setup> {
    let of = |name: &str, members: u16, checks: u16| Setup {
        checks,
        member_length: 4 * 2_048,
        ..Setup::named(name, members)
    };
    let with_bitmap = [
        of("raid6", 4, 2),
        of("raid6", 6, 2),
        of("raid4", 6, 3),
        of("raid5", 6, 4),
        of("parity-logging", 6, 2),
        of("raid-2d", 8, 4),
    ];
    let journal = |setup: &Setup| Setup { consistency: Consistency::Journal, ..setup.clone() };
    with_bitmap.iter().flat_map(|setup| [setup.clone(), journal(setup)]).collect()
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
    for _ in 0..40 {
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

fn state(world: &World, slot: u16) -> &'static str {
    world.array.status().slot(slot).expect("it is a slot").state
}

fn all_fits(world: &mut World, content: &[u8]) {
    assert_eq!(world.scrub(Repair::Nothing).mismatches, 0);
    assert!(world.read_now(0, world.capacity()).expect("it can be read") == content);
}

/// The first sector of `unit` of the first stripe: its slot, and where it is on the member.
fn first_sector(setup: &Setup, unit: u16) -> (u16, u64) {
    let geometry = setup.geometry();
    let place = geometry.layout().locate(Stripe::new(0), Unit::new(unit));
    (place.slot.get(), (geometry.data_start() + place.at.from_start()).get())
}

/// All sets of `count` of the numbers below `of`.
fn sets(of: u16, count: u16) -> Vec<Vec<u16>> {
    let all = (0..1_u32 << of).filter(|set| set.count_ones() == u32::from(count));
    all.map(|set| (0..of).filter(|slot| set >> slot & 1 == 1).collect()).collect()
}

/// The members of `set` are excluded one after the other, and then replaced; no further one can be
/// done without.
fn lose_and_rebuild(setup: &Setup, set: &[u16]) {
    let random = &mut Random(SEED);
    let (mut world, mut content) = written(setup, random);
    for slot in set {
        fail(&mut world, *slot).expect("it can be done without");
        use_it(&mut world, &mut content, random);
    }
    let further = (0..setup.members).find(|slot| !set.contains(slot)).expect("data is left");
    // (A grid survives most sets of three.)
    if setup.checks == setup.geometry().fault_tolerance() {
        assert!(matches!(fail(&mut world, further), Err(AdminError::Needed(_))), "{set:?}");
    }
    set.iter().for_each(|slot| world.replace(*slot));
    use_it(&mut world, &mut content, random);
    world.settle();
    all_fits(&mut world, &content);
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn any_set_of_as_many_members_as_may_be_lost_is_lost_and_rebuilt() {
    for setup in setups() {
        for set in sets(setup.members, setup.geometry().fault_tolerance()) {
            lose_and_rebuild(&setup, &set);
        }
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn members_that_are_lost_with_a_crash_are_done_without() {
    let journal = setups().into_iter().filter(|setup| setup.consistency == Consistency::Journal);
    for setup in journal {
        for set in sets(setup.members, setup.geometry().fault_tolerance()) {
            let random = &mut Random(SEED);
            let (mut world, mut content) = written(&setup, random);
            use_it(&mut world, &mut content, random);
            assert_eq!(world.do_now(Operation::Flush, 0, 0, None).0, Ok(()));
            set.iter().for_each(|slot| world.disk_at(*slot).dead = true);
            let mut world = world.crash(false).expect("as many may be lost");
            assert!(world.read_now(0, world.capacity()).expect("it can be read") == content, "{set:?}");
        }
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn units_that_cannot_be_read_are_computed_from_all_that_is_left() {
    for setup in setups() {
        let width = setup.geometry().layout().width();
        for set in sets(width, setup.geometry().fault_tolerance()) {
            let (mut world, content) = written(&setup, &mut Random(SEED));
            for unit in &set {
                let (slot, at) = first_sector(&setup, *unit);
                world.disk_at(slot).unreadable.insert(at);
            }
            assert!(world.read_now(0, world.capacity()).expect("it can be read") == content, "{set:?}");
            let report = world.scrub(Repair::Nothing);
            assert_eq!((report.mismatches, report.unreadable), (0, 0), "{set:?}");
            assert!(world.disks.iter().all(|disk| disk.unreadable.is_empty()), "{set:?} are written again");
        }
    }
}

/// Beside a member that is lost, the first copies of all logs cannot be read.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_log_that_cannot_be_read_is_read_from_its_other_copy() {
    let logged = setups().into_iter().filter(|setup| setup.geometry().layout().logs().is_some());
    for setup in logged {
        let geometry = setup.geometry();
        let logs = geometry.layout().logs().expect("it is logged").clone();
        for lost in 0..setup.members {
            let random = &mut Random(SEED);
            let (mut world, mut content) = written(&setup, random);
            (0..8).for_each(|_| use_it(&mut world, &mut content, random));
            assert!(world.array.status().counters.appends > 0, "there is something in the logs");
            for region in (0..geometry.layout().region_count()).map(Region::new) {
                for position in 0..logs.segments() {
                    let there = geometry.log_segment_at(region, position, 0).expect("it is logged");
                    let at = (geometry.data_start() + there.at.from_start()).get();
                    let disk = world.disk_at(there.slot.get());
                    disk.unreadable.extend(at..at + logs.shape().segment);
                }
            }
            fail(&mut world, lost).expect("two may be lost");
            assert!(world.read_now(0, world.capacity()).expect("it can be read") == content, "{lost}");
            world.replace(lost);
            world.settle();
            all_fits(&mut world, &content);
        }
    }
}

/// The ranges that the array says are lost, sector by sector.
fn lost_sectors(world: &World) -> Vec<u64> {
    let (mut sectors, mut from) = (Vec::new(), Some(Stripe::new(0)));
    while let Some(stripe) = from {
        let lost = world.array.lost(stripe, 5);
        let all = lost.ranges.iter().flat_map(|(at, length)| at.get()..at.get() + length.get());
        sectors.extend(all);
        from = lost.next;
    }
    sectors
}

/// All sectors that cannot be read, by reading each.
fn unreadable_sectors(world: &mut World) -> Vec<u64> {
    (0..world.capacity()).filter(|at| world.read_now(*at, 1) == Err(RequestError::Lost)).collect()
}

/// Members beyond what is survived, and sectors that a rebuild passed over: what is listed is what
/// reads as errors.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn what_is_listed_as_lost_is_what_cannot_be_read() {
    let declustered = Setup {
        width: Some(4),
        organization: Organization {
            layout: parlour_array::organization::LayoutChoice::Declustered,
            ..Organization::named("raid6").expect("it is known").organization
        },
        ..Setup::named("raid6", 9)
    };
    let few = |setup: Setup| Setup { member_length: 4 * 2_048, ..setup };
    for setup in [few(Setup::named("raid6", 6)), few(Setup::named("raid-2d", 8)), few(declustered)] {
        for lost in 1..=4 {
            let (mut world, _) = written(&setup, &mut Random(SEED));
            [1, 2, 4, 5].iter().take(lost).for_each(|slot| world.disk_at(*slot).dead = true);
            // (A member's death is noticed when it is read.)
            let unreadable = unreadable_sectors(&mut world);
            assert!(lost_sectors(&world) == unreadable, "{lost} lost");
            assert!(lost <= 2 || lost == 3 && setup.checks > 2 || !unreadable.is_empty(), "{lost} lost");
        }
        let (mut world, _) = written(&setup, &mut Random(SEED));
        let geometry = setup.geometry();
        let slots = [0, 1, 2].map(|unit| geometry.layout().locate(Stripe::new(3), Unit::new(unit)));
        let at = (geometry.data_start() + slots[2].at.from_start()).get();
        world.disk_at(slots[2].slot.get()).unreadable.insert(at + 2);
        for place in &slots[..2] {
            fail(&mut world, place.slot.get()).expect("two may be lost");
        }
        for place in &slots[..2] {
            world.replace(place.slot.get());
        }
        world.settle();
        let (listed, unreadable) = (lost_sectors(&world), unreadable_sectors(&mut world));
        assert_eq!(listed.len(), if setup.checks > 2 { 0 } else { 2 }, "a sector of each unit");
        assert!(listed.iter().all(|at| unreadable.contains(at)));
        // The sector that was in the way is not on the list.
        assert!(unreadable.len() <= listed.len() + 1, "{unreadable:?}");
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn one_unit_more_costs_only_its_blocks() {
    let setup = Setup::named("raid6", 6);
    let (mut world, content) = written(&setup, &mut Random(SEED));
    for unit in [0, 1, 2] {
        let (slot, at) = first_sector(&setup, unit);
        world.disk_at(slot).unreadable.insert(at);
    }
    let unit = setup.unit;
    for lost in 0..3 {
        assert_eq!(world.read_now(lost * unit, 1), Err(RequestError::Lost));
        let rest = (lost * unit + 1) as usize * 512..(lost + 1) as usize * unit as usize * 512;
        let bytes = world.read_now(lost * unit + 1, unit - 1).expect("the rest can be read");
        assert!(bytes == content[rest]);
    }
    let rest = world.read_now(3 * unit, world.capacity() - 3 * unit).expect("the rest can be read");
    assert!(rest == content[3 * unit as usize * 512..]);
}

/// Flips a bit of the first sector of a unit.
fn rot(world: &mut World, setup: &Setup, unit: u16) -> u16 {
    let (slot, at) = first_sector(setup, unit);
    world.disk_at(slot).bytes[at as usize * 512 + 5] ^= 8;
    slot
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_scrub_names_the_unit_without_which_all_others_fit() {
    for setup in setups() {
        let width = setup.geometry().layout().width();
        for unit in 0..width {
            let (mut world, _) = written(&setup, &mut Random(SEED));
            let slot = rot(&mut world, &setup, unit);
            let report = world.scrub(Repair::Nothing);
            assert_eq!((report.mismatches, report.listed[0].located), (1, Some(slot)), "unit {unit}");
            assert_eq!(report.located, [Located { slot, mismatches: 1 }]);
        }
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_scrub_names_no_unit_if_several_are_wrong() {
    let setup = Setup { checks: 3, ..Setup::named("raid5", 7) };
    for units in sets(7, 2) {
        let (mut world, _) = written(&setup, &mut Random(SEED));
        units.iter().for_each(|unit| _ = rot(&mut world, &setup, *unit));
        let report = world.scrub(Repair::Nothing);
        assert_eq!((report.mismatches, report.listed[0].located), (1, None), "{units:?}");
    }
    // One check unit shows that something is wrong, and not what.
    let setup = Setup::named("raid5", 5);
    let (mut world, _) = written(&setup, &mut Random(SEED));
    rot(&mut world, &setup, 1);
    assert_eq!(world.scrub(Repair::Nothing).listed[0].located, None);
}

/// Regression test. What had been computed from a wrong unit fitted it, and another was accused.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_scrub_names_no_unit_where_another_had_to_be_computed() {
    let setup = Setup::named("raid6", 6);
    let (mut world, _) = written(&setup, &mut Random(SEED));
    rot(&mut world, &setup, 1);
    let (slot, at) = first_sector(&setup, 2);
    world.disk_at(slot).unreadable.insert(at);
    let report = world.scrub(Repair::Nothing);
    assert_eq!((report.mismatches, report.listed[0].located), (1, None));
}

/// Regression test. The member of the first unit was excluded, whichever did not keep its repair.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_repair_of_two_units_blames_the_member_that_does_not_keep_what_is_written() {
    let setup = Setup::named("raid6", 6);
    for (liar, other) in [(0, 1), (1, 0)] {
        let (mut world, content) = written(&setup, &mut Random(SEED));
        for unit in [0, 1] {
            let (slot, at) = first_sector(&setup, unit);
            world.disk_at(slot).unreadable.insert(at);
        }
        let (slot, at) = first_sector(&setup, liar);
        world.disk_at(slot).worn.insert(at);
        assert!(world.read_now(0, world.capacity()).expect("it can be read") == content);
        let (of_other, _) = first_sector(&setup, other);
        assert_eq!([slot, of_other].map(|slot| state(&world, slot)), ["failed", "active"]);
    }
}

/// Regression test. The second unit was taken for repaired, though its member had not kept it.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_repair_of_two_units_that_neither_member_keeps_excludes_both() {
    let setup = Setup { checks: 3, ..Setup::named("raid6", 6) };
    let (mut world, content) = written(&setup, &mut Random(SEED));
    let places = [0, 1].map(|unit| first_sector(&setup, unit));
    for (slot, at) in places {
        world.disk_at(slot).unreadable.insert(at);
        world.disk_at(slot).worn.insert(at);
    }
    assert!(world.read_now(0, world.capacity()).expect("it can be read") == content);
    assert_eq!(places.map(|(slot, _)| state(&world, slot)), ["failed", "failed"]);
}

/// Regression test. P, which says what a lost unit holds, was computed from Q, which did not fit.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_check_unit_that_stands_in_for_lost_data_is_not_computed_from_one_that_may_not_fit() {
    let setup = Setup::named("raid6", 6);
    let (mut world, _) = written(&setup, &mut Random(SEED));
    // The third unit and Q are written, P is not.
    let (p, q) = (first_sector(&setup, 4), first_sector(&setup, 5).0);
    world.write(setup.unit * 2, &payload(&mut Random(SEED + 1), setup.unit));
    world.drain();
    let to_p = |world: &World, index: usize| {
        let action = world.pending[index].action;
        matches!(action, Action::Write { .. })
            && action.member().and_then(|m| world.slot_of(m)).map(Slot::get) == Some(p.0)
    };
    let is_written = |world: &World| (0..world.pending.len()).any(|index| to_p(world, index));
    while !is_written(&world) {
        assert!(world.step(), "P is to be written");
    }
    while let Some(index) = (0..world.pending.len()).find(|index| !to_p(&world, *index)) {
        world.step_at(index);
    }
    world.pending.clear();
    let (lost, _) = first_sector(&setup, 0);
    world.disk_at(lost).dead = true;
    let mut world = world.crash(true).expect("it is opened by force");
    let by_p = world.read_now(0, 1).expect("P stands in for it");
    world.disk_at(p.0).unreadable.insert(p.1);
    let again = world.read_now(0, 1);
    assert!(again.is_err() || again == Ok(by_p), "it changes to what Q says");
    assert!(matches!(fail(&mut world, q), Ok(())), "Q stands in for nothing");
    assert!(fail(&mut world, p.0).is_err(), "P is needed");
}

/// Regression test. Two members were rebuilt, and the entry that was to protect them went to the
/// journal devices, of which there were none: the rebuilds never ended.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn an_entry_does_not_go_to_journal_devices_of_which_there_are_none() {
    let raid6 = Setup { consistency: Consistency::Journal, ..Setup::named("raid6", 5) };
    let log = LogCreation { journal_slots: Some(2), journal_copies: Some(1), ..raid6.log };
    let (mut world, content) = written(&Setup { log, ..raid6 }, &mut Random(SEED));
    for slot in [0, 1] {
        fail(&mut world, slot).expect("it can be done without");
    }
    [0, 1].into_iter().for_each(|slot| world.replace(slot));
    world.settle();
    assert!((0..5).all(|slot| state(&world, slot) == "active"));
    all_fits(&mut world, &content);
}

/// RAID 6 of eight members, whose stripes are on four.
fn declustered() -> Setup {
    let raid6 = Setup { checks: 2, width: Some(4), member_length: 4 * 2_048, ..Setup::named("raid6", 8) };
    let layout = raid6.organization.layout.declustered().expect("its parity moves");
    Setup { organization: Organization { layout, ..raid6.organization }, ..raid6 }
}

/// RAID 6 of twelve members in three failure domains of four, whose stripes are on six.
fn in_domains() -> [Setup; 3] {
    let raid6 = Setup { checks: 2, member_length: 8 * 2_048, ..Setup::named("raid6", 12) };
    let layout = raid6.organization.layout.declustered().expect("its parity moves");
    let organization = Organization { layout, ..raid6.organization };
    let bitmap = Setup { organization, width: Some(6), domains: Some(3), ..raid6 };
    let journal = Setup { consistency: Consistency::Journal, ..bitmap.clone() };
    let log = LogCreation { writes: Some(Sectors::new(2_048)), ..journal.log };
    [bitmap, journal.clone(), Setup { log, ..journal }]
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_failure_domain_is_lost_as_a_whole_and_rebuilt() {
    for setup in in_domains() {
        for domain in 0..3 {
            let set: Vec<u16> = (0..12).filter(|slot| slot % 3 == domain).collect();
            lose_and_rebuild(&setup, &set);
        }
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_failure_domain_that_is_lost_with_a_crash_is_done_without() {
    for setup in in_domains().into_iter().filter(|setup| setup.consistency == Consistency::Journal) {
        for domain in 0..3 {
            let random = &mut Random(SEED);
            let (mut world, mut content) = written(&setup, random);
            use_it(&mut world, &mut content, random);
            assert_eq!(world.do_now(Operation::Flush, 0, 0, None).0, Ok(()));
            (0..12).filter(|slot| slot % 3 == domain).for_each(|slot| world.disk_at(slot).dead = true);
            let mut world = world.crash(false).expect("a domain may be lost");
            assert!(world.read_now(0, world.capacity()).expect("it can be read") == content, "{domain}");
        }
    }
}

/// Members 0 and 1 are excluded; member 2 does not answer either, and is kept.
fn beyond_the_tolerance(setup: &Setup) -> (World, Vec<u8>) {
    let (mut world, content) = written(setup, &mut Random(SEED));
    assert_eq!([0, 1].map(|slot| fail(&mut world, slot)), [Ok(()), Ok(())]);
    world.disk_at(2).dead = true;
    (world, content)
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn of_an_array_that_lost_more_than_it_survives_stripes_that_lost_less_are_read() {
    let setup = declustered();
    let (mut world, content) = beyond_the_tolerance(&setup);
    let geometry = setup.geometry();
    let layout = geometry.layout();
    let length = layout.unit_length().get();
    let (mut read, mut lost) = (0, 0);
    for stripe in (0..layout.stripes()).map(Stripe::new) {
        let gone = |unit: Unit| layout.locate(stripe, unit).slot.get() <= 2;
        for unit in (0..layout.data_units()).map(Unit::new) {
            let at = layout.stripe_data().get() * stripe.get() + length * u64::from(unit.get());
            let found = world.read_now(at, length);
            if !gone(unit) || geometry.can_compute(unit, gone) {
                let expected = &content[at as usize * 512..(at + length) as usize * 512];
                let missing: Vec<Unit> = layout.units().filter(|unit| gone(*unit)).collect();
                let found =
                    found.unwrap_or_else(|error| panic!("{stripe}, {unit}, without {missing:?}: {error}"));
                assert!(found == expected, "{stripe}, {unit}");
                read += 1;
            } else {
                assert_eq!(found, Err(RequestError::Lost), "{stripe}, {unit}");
                lost += 1;
            }
        }
    }
    assert_eq!(state(&world, 2), "active", "it is kept");
    assert!(read > 10 * lost && lost > 0, "{read} are read, {lost} are lost");
}

/// Regression test. The repair of a unit met a member that was kept, and all was called lost.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_sector_is_repaired_beside_a_member_that_fails_and_is_kept() {
    let setup = declustered();
    let (mut world, content) = beyond_the_tolerance(&setup);
    let geometry = setup.geometry();
    let layout = geometry.layout();
    let slots = |stripe| layout.units().map(move |unit| layout.locate(stripe, unit).slot.get());
    let has_only_the_kept = |stripe: &Stripe| {
        slots(*stripe).any(|slot| slot == 2)
            && slots(*stripe).all(|slot| slot > 1)
            && slots(*stripe).next() != Some(2)
    };
    let stripe = (0..layout.stripes()).map(Stripe::new).find(has_only_the_kept).expect("there is one");
    let place = layout.locate(stripe, Unit::new(0));
    let sector = (geometry.data_start() + place.at.from_start()).get();
    world.disk_at(place.slot.get()).unreadable.insert(sector);
    let at = layout.stripe_data().get() * stripe.get();
    let length = layout.stripe_data().get();
    let expected = &content[at as usize * 512..(at + length) as usize * 512];
    assert!(world.read_now(at, length).expect("two units of four are left") == expected);
    assert!(world.disk_at(place.slot.get()).unreadable.is_empty(), "it was written anew");
}

/// Tests of the tests. A planted bug affects the whole process, so this module has no other test.
#[cfg(feature = "planted-bugs")]
mod planted {
    use parlour_array::Bug;

    use crate::common::find_each;

    #[test]
    fn every_bug_of_several_check_units_is_found() {
        let tests: [fn(); 2] = [
            super::any_set_of_as_many_members_as_may_be_lost_is_lost_and_rebuilt,
            super::what_is_listed_as_lost_is_what_cannot_be_read,
        ];
        find_each(&Bug::OF_SEVERAL_CHECKS, &tests);
    }
}
