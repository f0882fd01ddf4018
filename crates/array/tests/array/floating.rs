//! Floating data and parity (Stodolsky §4, figure 14): units move, nothing is lost, and a small
//! write is one access to the data and one to each check unit.

use std::collections::BTreeSet;

use crate::common::{Random, SEED, Setup, World, payload};
use parlour_array::layout::Location;
use parlour_array::{Action, AssemblyError, Class, Modify};
use parlour_units::{Sectors, Stripe};

fn setup() -> Setup {
    Setup::named("floating", 5)
}

/// The places of all units. Checks that each is in the cylinder of its home, and alone in its
/// position.
fn locations(world: &World) -> Vec<Location> {
    let layout = world.array.geometry().layout();
    let cylinder = world.setup.cylinder.length();
    let mut all = Vec::new();
    let mut taken = BTreeSet::new();
    for stripe in (0..layout.stripes()).map(Stripe::new) {
        for unit in layout.units() {
            let (home, location) = (layout.locate(stripe, unit), world.array.location(stripe, unit));
            let of = |location: Location| (location.slot, location.at.from_start() / cylinder);
            assert_eq!(of(location), of(home), "a unit stays in its cylinder");
            assert!(location.at.from_start().is_multiple_of(layout.unit_length()), "a unit is in a position");
            assert!(taken.insert(location), "two units are in one position");
            all.push(location);
        }
    }
    all
}

#[test]
fn units_move_and_each_is_alone_in_a_position_of_its_cylinder() {
    for seed in SEED..SEED + 4 {
        let checks = 1 + (seed - SEED) as u16 % 2;
        let mut world = World::new(&Setup { checks, ..Setup::named("floating", 4 + checks) }, seed);
        let mut random = Random(seed);
        let (unit, homes) = (world.setup.unit, locations(&world));
        let units = world.capacity() / unit;
        let mut flat = vec![0; world.capacity() as usize * 512];
        for _ in 0..60 {
            let mut tags = Vec::new();
            let mut written = BTreeSet::new();
            for _ in 0..20 {
                // Only a few cylinders, so that all their positions are used.
                let at = random.below(units.min(80)) * unit;
                if written.insert(at) {
                    let bytes = payload(&mut random, unit);
                    flat[at as usize * 512..(at + unit) as usize * 512].copy_from_slice(&bytes);
                    world.write(at, &bytes);
                }
                let whole = random.below(units.min(80)) * unit;
                if !written.contains(&whole) {
                    tags.push((world.read(whole, unit), whole));
                    written.insert(whole);
                }
                for _ in 0..random.below(4) {
                    world.step();
                }
            }
            world.settle();
            for (tag, at) in tags {
                let expected = &flat[at as usize * 512..(at + unit) as usize * 512];
                assert!(world.done[&tag].1 == expected, "what was read at {at} while others moved");
            }
            world.done.clear();
            locations(&world);
        }
        let moved = locations(&world).iter().zip(&homes).filter(|(now, home)| now != home).count();
        assert!(moved > 60, "{moved} units are not at home");
        let report = world.scrub(parlour_array::Repair::Nothing);
        assert_eq!((report.mismatches, report.unreadable, report.skipped), (0, 0, 0));
        let all = world.read_now(0, 80 * unit).expect("all can be read");
        assert!(all == flat[..all.len()]);
    }
}

/// The accesses of a write, in order: whether each floats, and how.
fn accesses(world: &mut World, at: u64, length: u64) -> Vec<Option<Modify>> {
    let bytes = vec![7; length as usize * 512];
    let tag = world.write(at, &bytes);
    let mut accesses = Vec::new();
    while !world.done.contains_key(&tag) {
        let foreground = |effect: &parlour_array::Effect| effect.class == Class::Foreground;
        accesses.extend(world.pending.iter().filter(|effect| foreground(effect)).map(|effect| {
            match effect.action {
                Action::Float { modify, .. } => Some(modify),
                _ => None,
            }
        }));
        (0..world.pending.len()).rev().for_each(|index| world.step_at(index));
    }
    accesses
}

#[test]
fn a_small_write_is_two_accesses_one_after_the_other() {
    let mut world = World::new(&setup(), SEED);
    world.write_now(0, &[1; 512]).expect("its region is dirty now");
    let unit = world.setup.unit;
    assert_eq!(accesses(&mut world, unit * 3, unit), [Some(Modify::Replace), Some(Modify::Xor)]);
}

#[test]
fn each_further_check_unit_floats_too() {
    let mut world = World::new(&Setup { checks: 3, ..Setup::named("floating", 7) }, SEED);
    world.write_now(0, &[1; 512]).expect("its region is dirty now");
    let (unit, xor) = (world.setup.unit, Some(Modify::Xor));
    assert_eq!(accesses(&mut world, unit * 3, unit), [Some(Modify::Replace), xor, xor, xor]);
}

/// Stodolsky §8.1: without preread the accesses to data and parity run at the same time. The data's
/// access saves no revolution by floating, and it is written in place.
#[test]
fn a_small_write_whose_old_data_is_known_is_two_accesses_at_once() {
    let mut setup = setup();
    setup.tuning.preread_cache = Sectors::new(640);
    let mut world = World::new(&setup, SEED);
    let unit = world.setup.unit;
    world.read_now(unit * 3, unit).expect("it can be read");
    world.write_now(0, &[1; 512]).expect("its region is dirty now");
    world.write(unit * 3, &vec![7; unit as usize * 512]);
    let waits = |wanted: fn(Action) -> bool| world.pending.iter().any(|effect| wanted(effect.action));
    assert!(waits(|action| matches!(action, Action::Float { modify: Modify::Xor, .. })));
    assert!(waits(|action| matches!(action, Action::Write { .. })));
}

#[test]
fn what_is_not_one_whole_unit_is_written_where_it_is() {
    let mut world = World::new(&setup(), SEED);
    world.write_now(0, &[1; 512]).expect("its region is dirty now");
    let (unit, before) = (world.setup.unit, locations(&world));
    assert_eq!(accesses(&mut world, 1, unit - 1), [None; 4], "part of a unit");
    let stripe = unit * 4;
    assert_eq!(accesses(&mut world, stripe, stripe), [None; 5], "a whole stripe");
    assert_eq!(locations(&world), before);
}

#[test]
fn a_read_finds_its_unit_though_it_moves_before_the_read_is_served() {
    let mut world = World::new(&setup(), SEED);
    let (unit, old) = (world.setup.unit, vec![1; world.setup.unit as usize * 512]);
    world.write_now(0, &old).expect("it can be written");
    let mut random = Random(SEED);
    let read = world.read(0, unit);
    let waiting = world.pending.pop().expect("the read waits");
    // The unit and its neighbours move repeatedly; the position that is being read is not written
    // to.
    for _ in 0..30 {
        for at in [0, 1, 2, 3, 4, 8] {
            world.write_now(at * unit, &payload(&mut random, unit)).expect("it can be written");
        }
    }
    world.pending.push(waiting);
    world.settle();
    assert!(world.done[&read].1 == old, "the read came before the writes");
}

#[test]
fn only_who_can_place_units_opens_such_an_array_and_only_once() {
    let mut world = World::new(&setup(), SEED);
    let open = |setup: &Setup, world: &World| {
        World::open(setup, world.disks.clone(), (0..5).collect(), Random(SEED), 1, false).err()
    };
    let stranger = Setup { real: true, ..setup() };
    assert!(matches!(open(&stranger, &world), Some(AssemblyError::NobodyPlaces)));
    assert!(open(&setup(), &world).is_none(), "it is still as it was created");
    world.settle();
    assert!(matches!(open(&setup(), &world), Some(AssemblyError::SlotsLost)));
}

/// A latent sector error in the parity is found when the data has already moved.
#[test]
fn parity_that_cannot_be_read_is_computed_from_the_data_that_was_moved() {
    let mut world = World::new(&setup(), SEED);
    let mut random = Random(SEED);
    let unit = world.setup.unit;
    for index in 0..4 {
        world.write_now(index * unit, &payload(&mut random, unit)).expect("it can be written");
    }
    let layout = world.array.geometry().layout();
    let check = layout.units().next_back().expect("a stripe has parity");
    let parity = world.array.location(Stripe::new(0), check);
    let at = (world.array.geometry().data_start() + parity.at.from_start()).get();
    world.disk_at(parity.slot.get()).unreadable.insert(at + 2);
    let bytes = payload(&mut random, unit);
    world.write_now(unit, &bytes).expect("it can be written");
    assert!(world.read_now(unit, unit).expect("it can be read") == bytes);
    let report = world.scrub(parlour_array::Repair::Nothing);
    assert_eq!((report.mismatches, report.unreadable), (0, 0));
}
