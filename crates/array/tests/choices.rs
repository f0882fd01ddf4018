//! A code that only tests have: two check units, each the parity of half of the data, on fixed
//! members or in regions with logs. All else takes them as they come: writes, degraded
//! reads and writes, logs, rebuild, resync, scrub, and two losses where the code survives them.
#![cfg(feature = "test-choices")]

mod common;

use common::{Random, SEED, Setup, World, payload};
use parlour_array::organization::Consistency;
use parlour_array::{Action, AdminError, Event, LargeWrite, Repair};
use parlour_units::{Slot, Stripe, Unit};

/// Four data units and two check units: data is on slots 0 to 3, the first half's parity on slot 4,
/// the second half's on slot 5.
fn setup() -> Setup {
    Setup::named("halves", 6)
}

/// The same, and arrays whose updates are logged, in all ways.
fn setups() -> Vec<Setup> {
    let logging = |members| Setup::named("halves-logging", members);
    let mut wide = logging(7);
    wide.log.sublogs = Some(2);
    let mut overwriting = logging(6);
    overwriting.tuning.large_write = Some(LargeWrite::Overwrite);
    let journal = |setup: &Setup| Setup { consistency: Consistency::Journal, ..setup.clone() };
    vec![setup(), journal(&logging(5)), journal(&wide), logging(6), wide, overwriting]
}

/// The slot that holds `unit` of the first stripe.
fn slot_of(setup: &Setup, unit: u16) -> u16 {
    setup.geometry().layout().locate(Stripe::new(0), Unit::new(unit)).slot.get()
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
    for setup in setups() {
        let random = &mut Random(SEED);
        let (mut world, mut content) = written(&setup, random);
        use_it(&mut world, &mut content, random);
        all_fits(&mut world, &content);
        use_it(&mut world, &mut content, random);
        let mut world = world.restart();
        use_it(&mut world, &mut content, random);
        all_fits(&mut world, &content);
    }
}

#[test]
fn a_resync_computes_both_check_units() {
    for setup in setups() {
        let (mut world, content) = written(&Setup { zeroed: false, ..setup }, &mut Random(SEED));
        assert_eq!(world.array.unsynced_regions(), 0);
        all_fits(&mut world, &content);
    }
}

#[test]
fn each_member_is_done_without_and_rebuilt() {
    let each =
        setups().into_iter().flat_map(|setup| (0..setup.members).map(move |slot| (setup.clone(), slot)));
    for (setup, slot) in each {
        let random = &mut Random(SEED ^ u64::from(slot));
        let (mut world, mut content) = written(&setup, random);
        use_it(&mut world, &mut content, random);
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
    let halves = [[0, 1, 4], [2, 3, 5]];
    for (first, second) in halves[0].iter().flat_map(|a| halves[1].map(|b| (*a, b))) {
        let random = &mut Random(SEED ^ u64::from(first * 6 + second));
        let (mut world, mut content) = written(&setup(), random);
        fail(&mut world, first).expect("it can be done without");
        use_it(&mut world, &mut content, random);
        fail(&mut world, second).expect("it can be done without");
        assert!(!world.array.status().lost);
        use_it(&mut world, &mut content, random);
        world.replace(first);
        use_it(&mut world, &mut content, random);
        world.replace(second);
        use_it(&mut world, &mut content, random);
        world.settle();
        all_fits(&mut world, &content);
    }
}

#[test]
fn a_member_whose_half_has_lost_one_already_is_kept() {
    let random = &mut Random(SEED);
    for (first, second) in [(0, 1), (1, 4), (2, 5), (3, 2)] {
        let (mut world, content) = written(&setup(), random);
        fail(&mut world, first).expect("it can be done without");
        assert!(matches!(fail(&mut world, second), Err(AdminError::Needed(slot)) if slot.get() == second));
        assert!(world.read_now(0, world.capacity()).expect("it can be read") == content);
    }
}

#[test]
fn a_scrub_repairs_either_check_unit() {
    let random = &mut Random(SEED);
    let each = setups().into_iter().flat_map(|setup| [(setup.clone(), 0), (setup, 1)]);
    for (setup, check) in each {
        let (mut world, content) = written(&setup, random);
        all_fits(&mut world, &content);
        let layout = setup.geometry().layout().clone();
        let place = layout.locate(Stripe::new(0), Unit::new(layout.data_units() + check));
        let at = (world.array.geometry().data_start() + place.at.from_start()).bytes() as usize;
        world.disk_at(place.slot.get()).bytes[at] ^= 1;
        let report = world.scrub(Repair::ParityFromData);
        assert_eq!((report.mismatches, report.repaired), (1, 1));
        all_fits(&mut world, &content);
    }
}

#[test]
fn an_unreadable_block_is_repaired_beside_a_lost_member() {
    let random = &mut Random(SEED);
    for (lost, unreadable) in [(0, 2), (4, 3), (1, 5)] {
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

/// Regression test. A forced opening took it that all check units fit by definition where data was
/// missing.
#[test]
fn a_check_unit_that_stands_in_for_nothing_is_resynced_after_a_forced_opening() {
    let random = &mut Random(SEED);
    let setup = setup();
    let (mut world, mut content) = written(&setup, random);
    // The third unit is written, its parity is not.
    let unit = payload(random, setup.unit);
    let at = setup.unit * 2;
    world.write(at, &unit);
    world.drain();
    let slot = Slot::new(slot_of(&setup, 2));
    let writes = |world: &World| {
        let on_it =
            |action: &Action| action.member().is_some_and(|member| world.slot_of(member) == Some(slot));
        world
            .pending
            .iter()
            .position(|effect| matches!(effect.action, Action::Write { .. }) && on_it(&effect.action))
    };
    let index = loop {
        if let Some(index) = writes(&world) {
            break index;
        }
        assert!(world.step(), "the unit is written");
    };
    world.step_at(index);
    content[at as usize * 512..][..unit.len()].copy_from_slice(&unit);
    let lost = slot_of(&setup, 0);
    world.disk_at(lost).dead = true;
    let mut world = world.crash(true).expect("it is opened by force");
    world.replace(lost);
    world.settle();
    all_fits(&mut world, &content);
}

/// Regression test. All check units of the stripe were put on the bad-block log.
#[test]
fn an_unreadable_unit_costs_only_the_check_unit_that_depends_on_it() {
    let setup = Setup { zeroed: false, ..setup() };
    let mut world = World::new(&setup, SEED);
    let at = world.array.geometry().data_start().get();
    world.disk_at(slot_of(&setup, 2)).unreadable.insert(at);
    world.settle();
    let listed = world.events.iter().filter_map(|event| match event {
        Event::BadBlocksRecorded { slot, .. } => Some(slot.get()),
        _ => None,
    });
    assert_eq!(listed.collect::<Vec<_>>(), [slot_of(&setup, 5)]);
    assert_eq!(world.array.unsynced_regions(), 0);
}

/// Regression test. The write read the other half, and put its own parity on the bad-block log
/// because that half could not be read.
#[test]
fn a_write_to_one_half_does_not_read_the_other() {
    let random = &mut Random(SEED);
    let setup = setup();
    let (mut world, mut content) = written(&setup, random);
    let at = world.array.geometry().data_start().get();
    for unit in [2, 3] {
        world.disk_at(slot_of(&setup, unit)).unreadable.insert(at);
    }
    world.events.clear();
    let half = payload(random, setup.unit * 2);
    assert_eq!(world.write_now(0, &half), Ok(()));
    content[..half.len()].copy_from_slice(&half);
    assert_eq!(world.events, [], "nothing was found unreadable");
    assert!(world.read_now(0, setup.unit * 2).expect("it can be read") == content[..half.len()]);
}
