//! Regression tests for defects that a second review found: openings that did not come to their
//! end, ends of rebuilds that are not recorded yet, and reads that cannot be repaired.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use crate::common::{Random, SEED, Setup, World, payload};
use parlour_array::{
    Action, AssemblyError, Class, Effect, Event, Fault, Geometry, Mode, Operation, Outcome, Repair,
    RequestError,
};
use parlour_units::{Member, Sectors, Slot, Stripe, Unit};

/// Whether `effect` writes a superblock of this member.
fn is_superblock_of(setup: &Setup, effect: &Effect, member: u16) -> bool {
    let Action::Write { member: of, at, .. } = effect.action else { return false };
    let copies = Geometry::superblocks_at(Sectors::new(setup.member_length));
    of == Member::new(member) && copies.contains(&at)
}

/// Carries out a pending effect that is `wanted`. Returns whether there was one.
fn carry_out(world: &mut World, wanted: impl Fn(&Effect) -> bool) -> bool {
    let found = world.pending.iter().position(wanted);
    if let Some(index) = found {
        world.step_at(index);
    }
    found.is_some()
}

/// Opens the array from some of its members, and kills the server when member `told` has its first
/// superblock.
fn open_in_vain(world: World, present: &[usize], told: u16) -> World {
    let World { disks, setup, random, sessions, .. } = world;
    let mut world = World::open(&setup, disks, present.to_vec(), random, sessions, false).unwrap();
    assert!(carry_out(&mut world, |effect| is_superblock_of(&setup, effect, told)));
    world
}

fn open_again(world: World, present: &[usize]) -> Result<World, AssemblyError> {
    let World { disks, setup, random, sessions, .. } = world;
    let mut world = World::open(&setup, disks, present.to_vec(), random, sessions, false)?;
    world.settle();
    Ok(world)
}

fn states(world: &World) -> Vec<&str> {
    world.array.status().members.iter().map(|member| member.state).collect()
}

fn stopped(setup: &Setup) -> (World, Vec<u8>) {
    let mut world = World::new(setup, SEED);
    let content = payload(&mut Random(3), 400);
    world.write_now(7, &content).unwrap();
    world.stop();
    (world, content)
}

fn several() -> Vec<Setup> {
    let mut logged = Setup::logged(5);
    logged.member_length = 3 * 2_048;
    vec![Setup::named("raid1", 3), Setup::named("raid5", 5), logged]
}

#[test]
fn who_was_absent_in_a_vain_opening_has_missed_nothing() {
    for setup in several() {
        let all: Vec<usize> = (0..usize::from(setup.members)).collect();
        let (world, content) = stopped(&setup);
        let mut world = open_in_vain(world, &all[..all.len() - 1], 0);
        let without_second: Vec<usize> = all.iter().copied().filter(|member| *member != 1).collect();
        world = open_again(world, &without_second).unwrap();
        let absent = states(&world).iter().filter(|state| **state != "active").count();
        assert_eq!(absent, 1, "{:?}: {:?}", setup.organization, states(&world));
        assert!(world.read_now(7, 400).unwrap() == content);
    }
}

#[test]
fn a_spare_that_took_a_place_in_a_vain_opening_is_a_spare_still() {
    let setup = Setup::named("raid5", 4);
    let mut world = World::new(&setup, SEED);
    let content = payload(&mut Random(3), 400);
    world.write_now(7, &content).unwrap();
    world.add_spare();
    world.settle();
    world.stop();
    world = open_in_vain(world, &[0, 1, 2, 4], 1);
    world = open_again(world, &[0, 1, 2, 3, 4]).unwrap();
    assert_eq!(states(&world), ["active"; 4]);
    assert_eq!(world.array.status().spares.len(), 1);
    assert!(world.read_now(7, 400).unwrap() == content);
}

/// All members but the first are opened, and write; then the first comes back.
fn the_first_is_behind_the_others(world: World, all: &[usize]) {
    let mut world = open_again(world, &all[1..]).unwrap();
    let content = payload(&mut Random(9), 400);
    world.write_now(7, &content).unwrap();
    world.stop();
    world = open_again(world, all).unwrap();
    assert_ne!(states(&world)[0], "active", "it has missed what was written");
    assert!(world.read_now(7, 400).unwrap() == content);
}

#[test]
fn a_member_that_was_opened_in_vain_again_and_again_is_behind_those_that_went_on() {
    for setup in several() {
        let all: Vec<usize> = (0..usize::from(setup.members)).collect();
        let (mut world, _) = stopped(&setup);
        for _ in 0..5 {
            world = open_in_vain(world, &all, 0);
        }
        the_first_is_behind_the_others(world, &all);
    }
}

/// Opens the array from all its members, and kills the server when member `told` alone has the
/// superblock that ends the opening.
fn end_opening_on(world: World, told: u16) -> World {
    let World { disks, setup, random, sessions, .. } = world;
    let all: Vec<usize> = (0..disks.len()).collect();
    let mut world = World::open(&setup, disks, all, random, sessions, false).unwrap();
    let is_superblock =
        |effect: &Effect| (0..setup.members).any(|member| is_superblock_of(&setup, effect, member));
    for _ in 0..2 * setup.members {
        assert!(carry_out(&mut world, is_superblock));
    }
    while !carry_out(&mut world, |effect| is_superblock_of(&setup, effect, told)) {
        assert!(carry_out(&mut world, |effect| !is_superblock(effect)));
    }
    world
}

#[test]
fn an_opening_that_ended_on_one_member_alone_has_written_nothing() {
    for setup in several() {
        let all: Vec<usize> = (0..usize::from(setup.members)).collect();
        let (mut world, content) = stopped(&setup);
        world = end_opening_on(world, 0);
        world = open_in_vain(world, &all[1..], 1);
        world = open_again(world, &all).unwrap();
        let active = states(&world).iter().filter(|state| **state == "active").count();
        assert_eq!(active, all.len(), "{:?}: {:?}", setup.organization, states(&world));
        assert!(world.read_now(7, 400).unwrap() == content);
    }
}

#[test]
fn a_member_on_which_alone_an_opening_ended_is_behind_those_that_went_on() {
    for setup in several() {
        let all: Vec<usize> = (0..usize::from(setup.members)).collect();
        let (mut world, _) = stopped(&setup);
        world = end_opening_on(world, 0);
        the_first_is_behind_the_others(world, &all);
    }
}

/// Two members write and are killed; the third has missed it, but is opened alone, in vain.
#[test]
fn members_that_have_written_go_before_one_that_was_opened_apart_in_vain() {
    let setup = Setup::named("raid1", 3);
    let (mut world, _) = stopped(&setup);
    world = open_again(world, &[0, 1]).unwrap();
    let content = payload(&mut Random(9), 400);
    world.write_now(7, &content).unwrap();
    for _ in 0..3 {
        world = open_in_vain(world, &[2], 2);
    }
    world = open_again(world, &[0, 1, 2]).unwrap();
    assert!(world.read_now(7, 400).unwrap() == content);
    assert_ne!(states(&world)[2], "active", "it has missed what was written");
}

/// A mirror whose second member went on without the first and has written; the first knows nothing
/// of that.
fn left_behind() -> (World, Vec<u8>) {
    let setup = Setup::named("raid1", 2);
    let (mut world, _) = stopped(&setup);
    world = open_again(world, &[0, 1]).unwrap();
    world.array.fail(world.now, Slot::new(0)).unwrap();
    world.drain();
    let content = payload(&mut Random(9), 400);
    world.write_now(7, &content).unwrap();
    (world, content)
}

/// Regression test. The first member's later session was believed, and what the second had
/// acknowledged was lost.
#[test]
fn a_member_that_was_excluded_and_then_opened_alone_is_diverged() {
    let (mut world, _) = left_behind();
    world = open_again(world, &[0]).unwrap();
    world.stop();
    assert!(matches!(open_again(world, &[0, 1]), Err(AssemblyError::Diverged(..))));
}

/// Regression test. Both members were believed, though their data differs.
#[test]
fn a_member_that_was_excluded_and_then_opened_alone_in_vain_is_stale() {
    let (mut world, content) = left_behind();
    world = open_in_vain(world, &[0], 0);
    world = open_again(world, &[0, 1]).unwrap();
    assert!(world.read_now(7, 400).unwrap() == content);
    assert_eq!(states(&world)[1], "active", "it has written");
}

/// An array with an unreadable sector, and a read of it that is under way.
fn read_of_what_is_unreadable(world: &mut World) -> u64 {
    let start = world.array.geometry().data_start().get();
    let length = world.disks[0].bytes.len() as u64 / 512;
    world.disks[0].unreadable.extend(start..length);
    world.read(0, 64)
}

fn ends_with(mut world: World, read: u64, content: &[u8]) {
    world.array.stop(world.now);
    world.drain();
    world.settle_until(|world| world.array.mode() == Mode::Stopped);
    let (result, bytes) = &world.done[&read];
    assert_eq!(*result, Ok(()), "{:?}", world.setup.organization);
    assert!(bytes == content);
}

#[test]
fn an_array_without_space_is_stopped_though_something_cannot_be_read() {
    for setup in [Setup::named("raid1", 2), Setup::named("raid5", 4)] {
        let mut world = World::new(&setup, SEED);
        let content = payload(&mut Random(4), 64);
        world.write_now(0, &content).unwrap();
        world.settle();
        world.disks.iter_mut().for_each(|disk| disk.full = true);
        // (In another region: this one is out of sync then.)
        let far = world.capacity() - 64;
        assert_eq!(world.write_now(far, &content), Err(RequestError::NoSpace));
        let read = read_of_what_is_unreadable(&mut world);
        ends_with(world, read, &content);
    }
}

#[test]
fn an_array_that_was_opened_to_be_read_is_stopped_though_something_cannot_be() {
    for setup in [Setup::named("raid1", 2), Setup::named("raid5", 4)] {
        let mut world = World::new(&setup, SEED);
        let content = payload(&mut Random(4), 64);
        world.write_now(0, &content).unwrap();
        world.stop();
        let World { disks, random, .. } = world;
        let order = (0..disks.len()).collect();
        let opened = World::try_open(&setup, disks, order, random, 50, false, true);
        let mut world = opened.map_err(|(error, _)| error).unwrap();
        let read = read_of_what_is_unreadable(&mut world);
        ends_with(world, read, &content);
    }
}

#[test]
fn what_was_read_of_a_member_is_forgotten_with_it() {
    let mut setup = Setup::named("raid5", 4);
    setup.tuning.preread_cache = Sectors::new(600);
    let mut world = World::new(&setup, SEED);
    let stripe = world.array.geometry().layout().stripe_data().get();
    world.write_now(0, &payload(&mut Random(1), stripe * 4)).unwrap();
    let mut world = world.restart();
    // One unit rots unnoticed, and is rebuilt to its former content.
    let unit = world.array.geometry().layout().locate(Stripe::new(0), Unit::new(0));
    let at = (world.array.geometry().data_start() + unit.at.from_start()).bytes() as usize;
    let rotten = usize::from(unit.slot.get());
    world.disks[rotten].bytes[at..at + 512].fill(0x77);
    world.read_now(0, 1).unwrap();
    world.replace(unit.slot.get());
    world.settle();
    world.write_now(0, &payload(&mut Random(2), 1)).unwrap();
    assert_eq!(world.scrub(Repair::Nothing).mismatches, 0);
}

/// Runs until the member in slot 1 is whole, but this is not recorded yet.
fn rebuild_unrecorded(world: &mut World) {
    world.replace(1);
    world.settle_until(|world| world.array.status().rebuild.is_none());
    assert!(!world.events.iter().any(|event| matches!(event, Event::RebuildDone { .. })));
}

#[test]
fn a_durable_write_is_durable_where_a_rebuild_has_ended_and_that_is_not_recorded() {
    let setup = Setup::named("raid5", 3);
    let mut lost = 0;
    for seed in 0..40 {
        let mut world = World::new(&setup, SEED + seed);
        let unit = setup.unit;
        world.write_now(0, &payload(&mut Random(seed), unit * 12)).unwrap();
        world.settle();
        world.all_volatile();
        rebuild_unrecorded(&mut world);
        let other = |effect: &Effect| !(0..4).any(|member| is_superblock_of(&setup, effect, member));
        // In this stripe slot 1 holds the second unit. The first unit is written, and then the
        // second one durably.
        let layout = world.array.geometry().layout();
        let holds = |stripe: u64| layout.locate(Stripe::new(stripe), Unit::new(1)).slot == Slot::new(1);
        let stripe = (0..6).find(|stripe| holds(*stripe)).unwrap();
        let at = stripe * 2 * unit;
        let first = world.write(at, &payload(&mut Random(seed + 50), 1));
        while !world.done.contains_key(&first) && carry_out(&mut world, other) {}
        let bytes = payload(&mut Random(seed + 90), 1);
        let durable = world.submit(Operation::Write { durable: true }, at + unit, 1, Some(&bytes));
        while !world.done.contains_key(&durable) && carry_out(&mut world, other) {}
        let answered = world.done.contains_key(&durable);
        let mut world = world.crash(true).unwrap();
        world.settle_until(|world| states(world)[1] == "active");
        lost += u64::from(answered && world.read_now(at + unit, 1).unwrap() != bytes);
    }
    assert_eq!(lost, 0);
}

#[test]
fn nothing_is_durable_while_it_cannot_be_recorded_who_was_excluded() {
    let mut world = World::new(&Setup::named("raid1", 2), SEED);
    world.settle();
    world.disks[1].dead = true;
    let write = world.write(0, &payload(&mut Random(1), 8));
    let bytes = payload(&mut Random(2), 8);
    let durable = world.submit(Operation::Write { durable: true }, 16, 8, Some(&bytes));
    let setup = world.setup.clone();
    let mut tried = 0;
    for _ in 0..10_000 {
        match world.pending.iter().position(|effect| is_superblock_of(&setup, effect, 0)) {
            Some(index) => {
                let effect = world.pending.remove(index);
                tried += 1;
                world.array.complete(world.now, effect.id, Outcome::Failed(Fault::Gone));
                world.drain();
            }
            None if !world.step() => break,
            None => {}
        }
    }
    assert!(tried >= 2, "either copy is tried");
    assert!(world.done.contains_key(&write), "nobody waits for ever");
    assert_eq!(world.done[&durable].0, Err(RequestError::Lost));
}

#[test]
fn a_segment_that_goes_to_a_failed_member_is_folded_in_from_memory() {
    let mut world = World::new(&Setup::named("parity-logging", 5), SEED);
    world.settle();
    let mut random = Random(5);
    let start = world.array.geometry().data_start();
    let is_append = |effect: &Effect| {
        let Action::Write { at, .. } = effect.action else { return false };
        effect.class == Class::Log && at >= start
    };
    let append = loop {
        if let Some(index) = world.pending.iter().position(is_append) {
            break world.pending.remove(index);
        }
        if world.pending.is_empty() {
            let at = random.below(world.capacity() - 4);
            world.write(at, &payload(&mut random, 4));
        }
        world.step();
    };
    let Action::Write { member, .. } = append.action else { unreachable!("it is a write") };
    let slot = world.slot_of(member).expect("it stands");
    world.array.fail(world.now, slot).unwrap();
    world.drain();
    world.pending.push(append);
    let last = world.pending.len() - 1;
    world.step_at(last);
    world.settle();
    assert!(!world.events.iter().any(|event| matches!(event, Event::ResyncDone)));
    assert_eq!(world.array.unsynced_regions(), 0);
}

#[test]
fn a_rebuild_that_stopped_goes_on_while_what_it_had_begun_is_under_way() {
    let setup = Setup::named("raid1", 2);
    for seed in 0..20 {
        let mut world = World::new(&setup, SEED + seed);
        let content = payload(&mut Random(seed), world.capacity());
        world.write_now(0, &content).unwrap();
        world.replace(1);
        let source = |effect: &Effect| {
            matches!(effect.action, Action::Read { member, .. } if member == Member::new(0))
                && effect.class == Class::Rebuild
        };
        let stopped =
            |world: &World| world.events.iter().any(|event| matches!(event, Event::RebuildStopped { .. }));
        // The only copy does not answer once, while other stripes are read.
        while world.pending.iter().filter(|effect| source(effect)).count() < 3 {
            assert!(world.step());
        }
        let index = world.pending.iter().position(source).unwrap();
        let read = world.pending.swap_remove(index);
        world.array.complete(world.now, read.id, Outcome::Failed(Fault::Gone));
        world.drain();
        assert!(stopped(&world));
        world.array.rebuild(world.now).unwrap();
        world.drain();
        world.settle();
        assert_eq!(states(&world), ["active"; 2], "seed {seed}");
        world.disks[0].dead = true;
        assert!(world.read_now(0, world.capacity()).unwrap() == content);
    }
}
