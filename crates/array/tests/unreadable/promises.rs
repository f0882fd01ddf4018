//! What the list promises.

use parlour_array::layout::Unit;
use parlour_array::{Event, Repair};
use parlour_units::Stripe;

use crate::common::{Random, World, payload};
use crate::cuts::cut_everywhere;
use crate::scene::{STRIPE, Scene, setups};

/// What is replaced holds data, or parity.
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
        assert_eq!(listed, scene.block() * 512, "one block of the newcomer's");
        let told = scene.world.events.iter().any(|event| matches!(event, Event::BlocksListed { .. }));
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

#[test]
fn what_is_written_anew_is_whole_again() {
    for mut scene in scenes() {
        scene.write_lost();
        scene.check();
        assert_eq!(scene.world.array.status().unreadable.get(), 0);
        for place in 0..scene.world.setup.members {
            scene.world.replace(place);
            scene.check();
            let whole =
                |world: &World| world.array.status().members.iter().all(|member| member.state == "active");
            scene.world.settle_until(whole);
        }
        scene.check();
        let report = scene.world.scrub(Repair::Nothing);
        assert_eq!((report.mismatches, report.unreadable), (0, 0));
    }
}

#[test]
fn what_can_be_read_again_repairs_what_is_on_the_list() {
    for mut scene in scenes() {
        let first = scene.world.array.geometry().layout().place(Stripe::new(STRIPE), Unit::new(0));
        scene.world.disk_at(first.member.get()).unreadable.clear();
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
