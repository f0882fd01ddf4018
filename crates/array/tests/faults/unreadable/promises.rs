//! What the bad-block log promises.

use parlour_array::{Action, Event, Geometry, Repair};
use parlour_units::{Sectors, Stripe, Unit};

use super::cuts::cut_everywhere;
use super::scene::{STRIPE, Scene, Unreadable, setups};
use super::stutter::stutter_everywhere;
use crate::common::{Disk, Random, World, payload};

/// The replaced member holds data, or parity, of the stripe.
fn scenes() -> impl Iterator<Item = Scene> {
    setups().into_iter().flat_map(|setup| {
        let data = setup.geometry().layout().data_units();
        [1, data].into_iter().map(move |second| Scene::new(&setup, second)).collect::<Vec<_>>()
    })
}

#[test]
fn a_rebuild_passes_over_what_cannot_be_computed_and_loses_no_more() {
    for mut scene in scenes() {
        scene.check();
        let listed = scene.world.array.status().unreadable.get();
        assert_eq!(listed, scene.block() * 512, "one block of the joining's");
        let told = scene.world.events.iter().any(|event| matches!(event, Event::BadBlocksRecorded { .. }));
        assert!(told, "{:?}", scene.world.events);
    }
}

#[test]
fn the_list_outlasts_a_stop_and_a_cut_of_power() {
    for mut scene in scenes() {
        scene.world = scene.world.restart();
        scene.check();
        scene.world.all_volatile();
        scene.world = scene.world.crash(false).unwrap();
        scene.world.settle_until(|world| world.array.status().resync.is_none());
        scene.check();
    }
}

/// All members are flushed before the list is written. One that fails to must be kept.
#[test]
fn a_list_is_written_again_if_a_flush_before_it_failed() {
    for setup in setups() {
        let mut scene = Scene::disturbed(&setup, 1, |world, slot| {
            world.settle_until(|world| world.array.status().unreadable.get() > 0);
            let flushes = |world: &World| {
                world.pending.iter().any(|effect| matches!(effect.action, Action::Flush { .. }))
            };
            world.settle_until(flushes);
            assert!(flushes(world), "the list is about to be written");
            world.disk_at(slot).flush_fails = true;
        });
        scene.world.settle();
        scene.world = scene.world.reopen(true).unwrap();
        scene.check();
    }
}

/// Carries out all effects except writes of superblocks.
fn step_without_superblocks(world: &mut World) {
    let copies = Geometry::superblocks_at(Sectors::new(world.setup.member_length));
    let is_superblock = |action: Action| matches!(action, Action::Write { at, .. } if copies.contains(&at));
    while let Some(next) = world.pending.iter().position(|effect| !is_superblock(effect.action)) {
        world.step_at(next);
    }
}

#[test]
fn an_opening_that_comes_to_no_end_writes_no_list() {
    for scene in scenes() {
        let mut world = scene.world.restart();
        world.stop();
        let before: Vec<Vec<u8>> = world.disks.iter().map(|disk| disk.bytes.clone()).collect();
        world = world.reopen(false).unwrap();
        step_without_superblocks(&mut world);
        let same = |(disk, before): (&Disk, &Vec<u8>)| disk.bytes == *before;
        assert!(world.disks.iter().zip(&before).all(same), "{:?}", world.setup.organization);
    }
}

#[test]
fn what_is_written_anew_is_whole_again() {
    for mut scene in scenes() {
        scene.write_lost();
        scene.check();
        assert_eq!(scene.world.array.status().unreadable.get(), 0);
        for slot in 0..scene.world.setup.members {
            scene.world.replace(slot);
            scene.check();
            scene.world.settle_until(is_whole);
        }
        scene.check();
        let report = scene.world.scrub(Repair::Nothing);
        assert_eq!((report.mismatches, report.unreadable), (0, 0));
    }
}

#[test]
fn what_can_be_read_again_repairs_what_is_on_the_list() {
    for mut scene in scenes() {
        let first = scene.world.array.geometry().layout().locate(Stripe::new(STRIPE), Unit::new(0));
        scene.world.disk_at(first.slot.get()).unreadable.clear();
        scene.lost.clear();
        let report = scene.world.scrub(Repair::Nothing);
        assert_eq!((report.mismatches, report.unreadable), (0, 0));
        assert_eq!(scene.world.array.status().unreadable.get(), 0);
        scene.check();
    }
}

#[test]
fn a_write_beside_what_is_lost_brings_nothing_back_that_is_wrong() {
    for mut scene in scenes() {
        let stripe = scene.world.array.geometry().layout().stripe_data().get();
        let new = payload(&mut Random(13), stripe / 2);
        let at = stripe * STRIPE;
        scene.world.write_now(at, &new).unwrap();
        scene.content[at as usize * 512..][..new.len()].copy_from_slice(&new);
        scene.lost.retain(|sector| *sector >= at + stripe / 2);
        scene.check();
    }
}

#[test]
fn a_write_of_what_is_lost_may_be_cut_off_anywhere() {
    assert_eq!(cut_everywhere(), None);
}

#[test]
fn what_cannot_be_read_for_a_while_after_a_crash_is_not_believed_later() {
    assert_eq!(stutter_everywhere(), None);
}

fn behind_logs(unreadable: Unreadable) -> impl Iterator<Item = Scene> {
    let logs = setups().into_iter().filter(|setup| setup.geometry().layout().logs().is_some());
    logs.map(move |setup| Scene::behind_log(setup, unreadable))
}

#[test]
fn parity_that_cannot_be_mended_costs_no_more_than_the_block_that_needs_it() {
    for scene in behind_logs(Unreadable::Parity) {
        loses_no_more(scene);
    }
}

#[test]
fn a_segment_that_cannot_be_read_costs_no_more_than_the_blocks_that_need_it() {
    for scene in behind_logs(Unreadable::Segment) {
        let segment = scene.world.setup.log.segment.expect("it has logs").get();
        assert!(!scene.lost.is_empty() && (scene.lost.len() as u64) < segment, "{:?}", scene.lost);
        loses_no_more(scene);
    }
}

#[test]
fn a_log_that_cannot_be_read_when_a_member_is_missing_makes_nothing_read_wrong() {
    for mut scene in behind_logs(Unreadable::Headers) {
        assert!(scene.world.array.status().resync.is_some(), "a log was given up");
        scene.check();
        let missing = scene.missing();
        scene.world.replace(missing);
        scene.world.settle();
        scene.check();
    }
}

/// The loss is reported, and no log is given up. A new member brings everything else back, and a
/// write brings the lost blocks back.
fn loses_no_more(mut scene: Scene) {
    scene.check();
    let told = scene.world.events.iter().any(|event| matches!(event, Event::BadBlocksRecorded { .. }));
    assert!(told, "{:?}", scene.world.events);
    assert!(scene.world.array.status().resync.is_none(), "no log was given up");
    let missing = scene.missing();
    scene.world.replace(missing);
    scene.world.settle_until(is_whole);
    scene.check();
    scene.write_lost();
    scene.check();
    let report = scene.world.scrub(Repair::Nothing);
    assert_eq!((report.mismatches, report.unreadable), (0, 0));
    assert_eq!(scene.world.array.status().unreadable.get(), 0);
}

fn is_whole(world: &World) -> bool {
    world.array.status().members.iter().all(|member| member.state == "active")
}
