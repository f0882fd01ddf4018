//! Regions become dirty with their first write, and clean again when they are idle and flushed.

mod common;

use common::{Random, SEED, Setup, World, payload};
use parlour_array::{Class, Repair};

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
