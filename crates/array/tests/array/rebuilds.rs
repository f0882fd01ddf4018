//! Several members are rebuilt at once, each from its own frontier.

use crate::common::{Random, SEED, Setup, World, payload};
use parlour_array::{Event, Repair};
use parlour_units::{Member, Slot};

/// Members of two pairs of copies, of which one each may be lost.
const LOST: [u16; 2] = [0, 2];

fn setup() -> Setup {
    let mut setup = Setup::named("raid10", 4);
    setup.tuning.checkpoint = parlour_units::Sectors::new(256);
    setup
}

/// An array with content that has lost two members, and the content.
fn degraded(setup: &Setup, lost: [u16; 2]) -> (World, Vec<u8>) {
    let mut world = World::new(setup, SEED);
    world.settle();
    let content = payload(&mut Random(SEED), world.capacity());
    assert_eq!(world.write_now(0, &content), Ok(()));
    for slot in lost {
        world.array.fail(world.now, Slot::new(slot)).expect("two may be lost");
        world.drain();
    }
    (world, content)
}

fn states(world: &World) -> Vec<&'static str> {
    world.array.status().members.iter().map(|member| member.state).collect()
}

fn is_whole(mut world: World, content: &[u8]) {
    assert!(states(&world).iter().all(|state| *state == "active"), "{:?}", states(&world));
    assert_eq!(world.scrub(Repair::Nothing).mismatches, 0);
    assert!(world.read_now(0, world.capacity()).expect("it can be read") == content);
}

#[test]
fn replacements_of_two_members_are_rebuilt_at_once() {
    let (mut world, content) = degraded(&setup(), LOST);
    LOST.into_iter().for_each(|slot| world.replace(slot));
    assert_eq!(states(&world), ["rebuilding", "active", "rebuilding", "active"]);
    let total = world.array.geometry().layout().stripes() * 2;
    assert_eq!(world.array.status().rebuild.map(|task| task.total), Some(total), "both are counted");
    world.settle();
    is_whole(world, &content);
}

#[test]
fn spares_take_the_slots_of_two_members() {
    let (mut world, content) = degraded(&setup(), LOST);
    world.add_spare();
    assert_eq!(states(&world), ["rebuilding", "active", "failed", "active"]);
    world.add_spare();
    assert_eq!(states(&world), ["rebuilding", "active", "rebuilding", "active"]);
    world.settle();
    is_whole(world, &content);
}

#[test]
fn each_rebuild_goes_on_at_its_own_frontier() {
    let (mut world, content) = degraded(&setup(), LOST);
    let stripes = world.array.geometry().layout().stripes();
    world.replace(LOST[0]);
    // The first is far ahead of the second when the array is stopped.
    world.settle_until(|world| world.array.status().rebuild.is_some_and(|task| task.done * 4 > stripes * 3));
    world.replace(LOST[1]);
    let mut world = world.restart();
    let task = world.array.status().rebuild.expect("they go on");
    assert!(task.done * 4 > stripes * 3 - 64 && task.done < stripes, "{task:?} of {stripes}");
    world.settle();
    is_whole(world, &content);
}

#[test]
fn a_member_that_fails_in_its_rebuild_leaves_the_other_rebuild_alone() {
    let (mut world, content) = degraded(&setup(), LOST);
    LOST.into_iter().for_each(|slot| world.replace(slot));
    world.array.fail(world.now, Slot::new(LOST[0])).expect("its copy is left");
    world.drain();
    world.settle();
    assert_eq!(states(&world), ["failed", "active", "active", "active"]);
    let done = |event: &&Event| matches!(event, Event::RebuildDone { slot } if slot.get() == LOST[1]);
    assert_eq!(world.events.iter().filter(done).count(), 1);
    world.replace(LOST[0]);
    world.settle();
    is_whole(world, &content);
}

#[test]
fn a_failed_member_is_removed_once() {
    let (mut world, _) = degraded(&setup(), LOST);
    let member = world.array.remove(world.now, Slot::new(LOST[1])).expect("it has failed");
    assert_eq!(member, Some(Member::new(LOST[1])));
    assert_eq!(world.array.remove(world.now, Slot::new(LOST[1])), Ok(None));
}

#[test]
fn a_spare_that_fails_is_dropped_and_the_others_stay() {
    let mut world = World::new(&setup(), SEED);
    world.settle();
    (0..3).for_each(|_| world.add_spare());
    world.settle();
    let second = world.disks.len() - 2;
    world.disks[second].dead = true;
    // (A new spare is recorded on all members.)
    world.add_spare();
    world.settle();
    let dropped = |event: &&Event| matches!(event, Event::SpareDropped { .. });
    assert_eq!(world.events.iter().filter(dropped).count(), 1);
    assert_eq!(world.array.status().spares.len(), 3);
}

/// Regression test. A member that was rebuilt stayed so until all others were rebuilt as well.
#[test]
fn a_member_that_is_rebuilt_becomes_active_while_another_is_rebuilt() {
    let (mut world, content) = degraded(&setup(), LOST);
    let stripes = world.array.geometry().layout().stripes();
    world.replace(LOST[0]);
    world.settle_until(|world| world.array.status().rebuild.is_some_and(|task| task.done * 4 > stripes * 3));
    world.replace(LOST[1]);
    world.settle_until(|world| states(world)[usize::from(LOST[0])] == "active");
    assert_eq!(states(&world), ["active", "active", "rebuilding", "active"]);
    world.array.fail(world.now, Slot::new(1)).expect("its copy is rebuilt");
    world.drain();
    world.settle();
    world.replace(1);
    world.settle();
    is_whole(world, &content);
}

/// Two of six members with two check units are lost.
const OF_SIX: [u16; 2] = [1, 4];

fn degraded_by_two() -> (World, Vec<u8>) {
    degraded(&Setup { member_length: 6 * 2_048, ..Setup::named("raid6", 6) }, OF_SIX)
}

/// Units that were read for rebuilds.
fn units_read(world: &World) -> u64 {
    let status = world.array.status();
    let bytes: u64 = status.members.iter().map(|member| member.traffic[3].read_bytes).sum();
    bytes / status.stripe_unit.get()
}

/// Each stripe was read once for each member, twice in all.
#[test]
fn two_members_of_a_stripe_are_rebuilt_from_one_reading() {
    let (mut world, content) = degraded_by_two();
    OF_SIX.into_iter().for_each(|slot| world.replace(slot));
    world.settle();
    let stripes = world.array.geometry().layout().stripes();
    // (Stripes that the first had begun when the second came are read for each.)
    let most = stripes * 4 + 4 * u64::from(world.setup.tuning.maintenance_depth);
    assert!(units_read(&world) <= most, "{} units of {stripes} stripes", units_read(&world));
    is_whole(world, &content);
}

#[test]
fn a_rebuild_waits_for_one_that_can_catch_up() {
    let (mut world, content) = degraded_by_two();
    let stripes = world.array.geometry().layout().stripes();
    let ahead = stripes / 4;
    world.replace(OF_SIX[0]);
    world.settle_until(|world| world.array.status().rebuild.is_some_and(|task| task.done >= ahead));
    world.replace(OF_SIX[1]);
    world.settle();
    let most = 4 * (stripes + ahead + 2 * u64::from(world.setup.tuning.maintenance_depth));
    assert!(units_read(&world) <= most, "{} units of {stripes} stripes", units_read(&world));
    is_whole(world, &content);
}

#[test]
fn a_rebuild_that_is_nearly_done_waits_for_no_other() {
    let (mut world, content) = degraded_by_two();
    let stripes = world.array.geometry().layout().stripes();
    world.replace(OF_SIX[0]);
    world.settle_until(|world| world.array.status().rebuild.is_some_and(|task| task.done >= stripes * 3 / 4));
    world.replace(OF_SIX[1]);
    world.settle_until(|world| states(world)[usize::from(OF_SIX[0])] == "active");
    let done = world.array.status().rebuild.expect("the other goes on").done;
    assert!(done < stripes / 2, "{done} of {stripes}");
    world.settle();
    is_whole(world, &content);
}

#[test]
fn a_member_that_fails_at_any_moment_of_a_shared_rebuild_leaves_the_other_right() {
    for steps in (0..200).step_by(11) {
        let (mut world, content) = degraded_by_two();
        OF_SIX.into_iter().for_each(|slot| world.replace(slot));
        for _ in 0..steps {
            world.step();
        }
        let lost = OF_SIX[steps % 2];
        world.array.fail(world.now, Slot::new(lost)).expect("it is not whole");
        world.drain();
        if steps % 3 == 0 {
            world.replace(lost);
        }
        world.settle();
        if steps % 3 != 0 {
            world.replace(lost);
            world.settle();
        }
        is_whole(world, &content);
    }
}

/// What a region's log holds must be in the parity before the region is rebuilt. (It waits where
/// the stream of intents has no room for those of one more region.)
#[test]
fn a_rebuild_seldom_waits_at_the_first_stripe_of_a_region() {
    let mut setup = Setup::logged(5);
    (setup.log.regions, setup.member_length) = (Some(8), 8 * 2_048);
    (setup.tuning.maintenance_depth, setup.tuning.maintenance_depth_busy) = (1, 1);
    let mut world = World::new(&setup, SEED);
    let layout = world.array.geometry().layout();
    let (regions, of_region) =
        (u64::from(layout.region_count()), layout.stripes() / u64::from(layout.region_count()));
    let data = layout.stripe_data().get();
    for region in 0..regions {
        world
            .write_now(region * of_region * data, &payload(&mut Random(region), 8))
            .expect("it can be written");
    }
    world.array.fail(world.now, Slot::new(0)).expect("it is redundant");
    world.drain();
    world.settle();
    world.replace(0);
    let reintegrations = |world: &World| world.array.status().counters.reintegrations;
    let (mut waits, mut overlaps, mut before) = (Vec::new(), 0, reintegrations(&world));
    while let Some(task) = world.array.status().rebuild {
        assert!(world.step(), "the rebuild goes on");
        if reintegrations(&world) > before && task.done > 0 {
            if task.done % of_region == 0 { waits.push(task.done) } else { overlaps += 1 }
        }
        before = reintegrations(&world);
    }
    assert!(waits.len() * 4 < overlaps, "{waits:?} of {regions} regions of {of_region} stripes, {overlaps}");
}
