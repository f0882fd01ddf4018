//! A member with many read errors is reported, but kept, because it may hold data that no other
//! member has.
#![expect(clippy::unwrap_used, reason = "a test may give up where it likes")]

use crate::common::{Random, SEED, Setup, World, payload};
use parlour_array::{Event, FailureCause, Operation, RequestError};
use parlour_units::{Duration, Instant, Slot, Stripe, Unit};

const HOUR: Duration = Duration::from_secs(3_600);

/// Makes a sector of `unit` unreadable in each of the first `stripes` stripes.
fn spoil(world: &mut World, unit: u16, stripes: u64) {
    let layout = world.array.geometry().layout().clone();
    let start = world.array.geometry().data_start().get();
    for stripe in 0..stripes {
        let location = layout.locate(Stripe::new(stripe), Unit::new(unit));
        world.disk_at(location.slot.get()).unreadable.insert(start + location.at.get());
    }
}

/// The slots whose members are reported as failing.
fn failing(world: &World) -> Vec<u16> {
    let members = world.array.status().members;
    members.into_iter().filter(|member| member.failing).map(|member| member.slot).collect()
}

fn reports(world: &World) -> usize {
    world.events.iter().filter(|event| matches!(event, Event::MemberFailing { .. })).count()
}

fn written(setup: &Setup, length: u64) -> (World, Vec<u8>) {
    let mut world = World::new(setup, SEED);
    world.settle();
    let bytes = payload(&mut Random(1), length);
    world.write_now(0, &bytes).unwrap();
    (world, bytes)
}

#[test]
fn a_member_with_seventeen_unreadable_sectors_is_reported_and_kept() {
    // The first unit of each stripe is on the same member.
    let (mut world, bytes) = written(&Setup::named("raid4", 4), 17 * 48);
    spoil(&mut world, 0, 17);
    for stripe in 0..17 {
        assert!(failing(&world).is_empty(), "after {stripe} errors");
        world.read_now(stripe * 48, 1).unwrap();
    }
    assert_eq!((failing(&world), reports(&world)), (vec![0], 1));
    let status = world.array.status();
    assert_eq!((status.members[0].state, status.members[0].errors), ("active", 17));
    // Data that only it holds can still be read when another member fails.
    world.array.fail(world.now, Slot::new(1)).unwrap();
    assert!(world.read_now(0, 17 * 48).unwrap() == bytes);
}

/// Regression test, found by a seed: the write was answered with an error, although the array was
/// only degraded.
#[test]
fn a_write_that_waited_for_the_repair_of_a_member_that_keeps_nothing_goes_on_without_it() {
    for setup in [Setup::named("raid5", 4), Setup::named("parity-logging", 4), Setup::logged(4)] {
        let (mut world, mut bytes) = written(&setup, 48);
        world.settle();
        let location = world.array.geometry().layout().locate(Stripe::new(0), Unit::new(0));
        let at = world.array.geometry().data_start().get() + location.at.get();
        let disk = world.disk_at(location.slot.get());
        disk.drops = true;
        disk.stutters.insert(at, 1);
        disk.bytes[at as usize * 512] ^= 1;
        let new = payload(&mut Random(2), 1);
        world.write_now(0, &new).unwrap();
        bytes[..512].copy_from_slice(&new);
        let failed = |event: &Event| matches!(event, Event::MemberFailed { slot: failed, cause: FailureCause::Unfaithful } if *failed == location.slot);
        assert!(world.events.iter().any(failed), "{:?}", setup.organization);
        assert!(world.read_now(0, 48).unwrap() == bytes, "{:?}", setup.organization);
    }
}

#[test]
fn what_two_members_cannot_read_in_different_places_is_not_lost() {
    let (mut world, bytes) = written(&Setup::named("raid4", 4), 60 * 48);
    let layout = world.array.geometry().layout().clone();
    let start = world.array.geometry().data_start().get();
    for stripe in 0..60 {
        let location = layout.locate(Stripe::new(stripe), Unit::new((stripe % 2) as u16));
        world.disk_at(location.slot.get()).unreadable.insert(start + location.at.get() + stripe % 16);
    }
    for stripe in 0..60 {
        world.read_now(stripe * 48, 48).unwrap();
    }
    assert!(world.read_now(0, 60 * 48).unwrap() == bytes);
    assert_eq!(world.array.status().unreadable.get(), 0);
    assert!(world.array.status().members.iter().all(|member| member.state == "active"));
    assert_eq!(failing(&world), [0, 1]);
}

#[test]
fn old_errors_are_forgotten() {
    let (mut world, _) = written(&Setup::named("raid4", 4), 30 * 48);
    spoil(&mut world, 0, 30);
    for stripe in 0..30 {
        // One in each quarter of an hour; half of the earlier ones are forgotten in an hour.
        world.now = Instant::ZERO + Duration::from_secs(900 * stripe);
        world.read_now(stripe * 48, 1).unwrap();
    }
    assert_eq!((failing(&world), reports(&world)), (vec![], 0));
    assert_eq!(world.array.status().members[0].errors, 30);
    spoil(&mut world, 0, 17);
    for stripe in 0..17 {
        world.read_now(stripe * 48, 1).unwrap();
    }
    assert_eq!((failing(&world), reports(&world)), (vec![0], 1));
    world.now = world.now + HOUR;
    world.do_now(Operation::Flush, 0, 0, None).0.unwrap();
    assert!(failing(&world).is_empty());
}

#[test]
fn a_member_that_does_not_hold_what_is_written_to_it_is_failed() {
    for name in ["raid4", "raid1"] {
        let (mut world, bytes) = written(&Setup::named(name, 4), 48);
        let start = world.array.geometry().data_start().get();
        world.disk_at(0).worn.insert(start + 5);
        assert!(world.read_now(0, 48).unwrap() == bytes, "{name}");
        assert_eq!(world.array.status().members[0].state, "failed", "{name}");
    }
}

#[test]
fn a_member_that_cannot_write_is_still_failed() {
    let (mut world, bytes) = written(&Setup::named("raid4", 4), 48);
    world.disk_at(0).dead = true;
    assert!(world.read_now(0, 48).unwrap() == bytes);
    assert_eq!(world.array.status().members[0].state, "failed");
}

#[test]
fn an_unreadable_sector_in_a_long_read_takes_the_memory_of_a_few_repairs() {
    // If parity has its own member, all reads of another member are one access.
    let setup = Setup::named("raid4", 4);
    let (world, bytes) = written(&setup, 3 * setup.unit * 60);
    let mut world = world.restart();
    spoil(&mut world, 0, 1);
    assert!(world.read_now(0, bytes.len() as u64 / 512) == Ok(bytes.clone()));
    let peak = world.array.status().memory.1.get();
    let stripe = setup.unit * u64::from(setup.members) * 512;
    let most = bytes.len() as u64 + stripe * 8;
    assert!(peak <= most, "{peak} bytes were held, and {} are the host's", bytes.len());
}

/// What a read-only array cannot compute it cannot write anew either.
#[test]
fn a_read_of_lost_blocks_in_a_read_only_array_is_answered_and_writes_nothing() {
    let setup = Setup::named("raid5", 4);
    let mut world = World::new(&setup, SEED);
    assert_eq!(world.write_now(0, &payload(&mut Random(SEED), 96)), Ok(()));
    world.stop();
    let first = world.array.geometry().data_start().get();
    let mut disks = world.disks;
    for disk in &mut disks[..2] {
        disk.unreadable.extend(first..first + setup.unit);
    }
    let before: Vec<Vec<u8>> = disks.iter().map(|disk| disk.bytes.clone()).collect();
    let opened = World::try_open(&setup, disks, vec![0, 1, 2, 3], Random(1), 7, false, true);
    let Ok(mut world) = opened else { panic!("it can be read") };
    assert_eq!(world.read_now(0, 48), Err(RequestError::Lost));
    world.settle();
    assert!(world.disks.iter().map(|disk| &disk.bytes).eq(&before), "nothing was written");
}
