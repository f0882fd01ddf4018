//! Regions become dirty with their first write, and clean again when they are idle and flushed.

use crate::common::{Random, SEED, Setup, World, payload};
use parlour_array::{Action, Class, Repair};
use parlour_units::{Duration, Slot};

fn dirty(world: &World) -> u32 {
    world.array.status().dirty_regions
}

#[test]
fn a_region_is_dirty_from_its_first_write_until_it_is_idle() {
    let mut world = World::new(&Setup::named("raid5", 4), SEED);
    world.settle();
    assert_eq!(dirty(&world), 0);
    world.write_now(0, &payload(&mut Random(1), 8)).expect("it is written");
    assert_eq!(dirty(&world), 1);
    world.settle();
    assert_eq!(dirty(&world), 0);
}

/// While others are in use, a region stays dirty for twelve searches instead of one: it would
/// probably be dirty again soon.
#[test]
fn a_region_stays_dirty_for_longer_while_others_are_written() {
    let mut world = World::new(&Setup::named("raid5", 4), SEED);
    world.settle();
    let layout = world.array.geometry().layout();
    let other = layout.region_stripes() * layout.stripe_data().get();
    let search = world.setup.tuning.clean_after;
    world.write_now(0, &payload(&mut Random(1), 8)).expect("it is written");
    let began = world.now;
    while dirty(&world) != 1 || world.now == began {
        world.write_now(other, &payload(&mut Random(1), 8)).expect("it is written");
        // Sooner than the search after the next one.
        let until = world.now + Duration::from_nanoseconds(search.nanoseconds() / 2);
        world.now = until;
        world.array.handle_timeout(until);
        world.drain();
        world.settle_until(|world| world.pending.is_empty());
        assert!(world.now < began + search * 20, "it never becomes clean");
    }
    let lasted = world.now.since(began);
    assert!(lasted > search * 10, "it was clean after {lasted:?}");
    world.settle();
    assert_eq!(dirty(&world), 0);
}

/// The records of an idle region stay in its log, and the region stays dirty. When they are in the
/// parity, there may be no write after which idle regions would be looked for.
#[test]
fn a_region_is_clean_some_time_after_its_log_has_become_empty() {
    for setup in [Setup::named("parity-logging", 5), Setup::logged(5)] {
        let mut world = World::new(&setup, SEED);
        world.settle();
        world.write_now(0, &payload(&mut Random(1), 8)).expect("it is written");
        world.settle();
        assert_eq!(dirty(&world), 1, "records are in its log");
        assert_eq!(world.scrub(Repair::Nothing).mismatches, 0);
        assert_eq!(world.array.status().log.expect("it has logs").live_records, 0);
        world.settle();
        assert_eq!(dirty(&world), 0);
    }
}

/// Idle regions are flushed before they are marked clean. A flush that does not count is repeated
/// later.
#[test]
fn a_region_becomes_clean_although_a_member_fails_while_it_is_flushed() {
    let mut world = World::new(&Setup::named("raid5", 4), SEED);
    world.settle();
    world.write_now(0, &payload(&mut Random(1), 8)).expect("it is written");
    let flush =
        |world: &World| world.pending.iter().position(|effect| matches!(effect.action, Action::Flush { .. }));
    world.settle_until(|world| flush(world).is_some());
    world.array.fail(world.now, Slot::new(3)).expect("it can be done without");
    world.drain();
    while let Some(index) = flush(&world) {
        world.step_at(index);
    }
    assert_eq!(dirty(&world), 1, "the exclusion was not recorded yet");
    world.settle();
    assert_eq!(dirty(&world), 0);
}

#[test]
fn a_simulation_without_a_bitmap_writes_none() {
    let mut setup = Setup::named("raid5", 4);
    setup.tuning.bitmap = false;
    let mut world = World::new(&setup, SEED);
    world.settle();
    let tag = world.write(0, &payload(&mut Random(1), 8));
    while !world.done.contains_key(&tag) {
        assert!(world.pending.iter().all(|effect| effect.class == Class::Foreground), "{:?}", world.pending);
        assert!(world.step(), "it goes on");
    }
}
