//! What cannot be recovered is on a list: it is an error, it harms nothing else, and it is over when it is written anew.
#![expect(clippy::unwrap_used, reason = "a test may give up where it likes")]

mod common;

use std::collections::BTreeSet;

use common::{Random, SEED, Setup, World, payload};
use parlour_array::layout::Unit;
use parlour_array::{Event, RequestError};
use parlour_units::{Sectors, Stripe};

/// The stripe in which something is unreadable, and the column.
const STRIPE: u64 = 5;
const COLUMN: u64 = 3;

fn setups() -> Vec<Setup> {
    let mut blocks = Setup::named("raid5", 4);
    blocks.block = 8;
    let raid5 = Setup::named("raid5", 4);
    let mut all =
        vec![Setup::named("raid1", 2), raid5, blocks, Setup::named("parity-logging", 4), Setup::logged(4)];
    all.iter_mut().for_each(|setup| setup.member_length = 4 * 2_048);
    all
}

/// An array full of known content, a part of which nobody can compute any more.
struct Scene {
    world: World,
    content: Vec<u8>,
    /// Sectors of the array that are lost.
    lost: BTreeSet<u64>,
}

impl Scene {
    /// A unit cannot be read in one place, and the member that holds another of its stripe (`second`) is replaced.
    fn new(setup: &Setup, second: u16) -> Scene {
        let mut world = World::new(setup, SEED);
        let content = payload(&mut Random(7), world.capacity());
        for (index, part) in content.chunks(64 * 512).enumerate() {
            world.write_now(index as u64 * 64, part).unwrap();
        }
        world.do_now(parlour_array::Operation::Flush, 0, 0, None).0.unwrap();
        // What logs hold is in the parity.
        let mut world = world.restart();
        let geometry = world.array.geometry().clone();
        let layout = geometry.layout();
        let first = layout.place(Stripe::new(STRIPE), Unit::new(0));
        let bad = geometry.data_start() + first.at.from_start() + Sectors::new(COLUMN);
        world.disk_at(first.member.get()).unreadable.insert(bad.get());
        world.replace(layout.place(Stripe::new(STRIPE), Unit::new(second)).member.get());
        world
            .settle_until(|world| world.array.status().members.iter().all(|member| member.state == "active"));
        let data = u64::from(layout.data_units());
        let from = COLUMN / setup.block * setup.block;
        let units = [0, u64::from(second)].into_iter().filter(|unit| *unit < data);
        let at = |unit: u64| layout.stripe_data().get() * STRIPE + unit * setup.unit;
        let lost =
            units.flat_map(|unit| (0..setup.block).map(move |sector| at(unit) + from + sector)).collect();
        Scene { world, content, lost }
    }

    fn block(&self) -> u64 {
        self.world.setup.block
    }

    /// Exactly what is lost is an error; all else reads as it was written.
    fn check(&mut self) {
        let stripe = self.world.array.geometry().layout().stripe_data().get();
        for at in (0..self.world.capacity()).step_by(stripe as usize) {
            let any_lost = self.lost.range(at..at + stripe).next().is_some();
            let step = if any_lost { self.block() } else { stripe };
            for at in (at..at + stripe).step_by(step as usize) {
                let read = self.world.read_now(at, step);
                let expected = &self.content[at as usize * 512..(at + step) as usize * 512];
                match self.lost.contains(&at) {
                    true => assert_eq!(read, Err(RequestError::Lost), "sector {at}"),
                    false => {
                        assert!(read.as_deref() == Ok(expected), "sector {at} reads wrong: {:?}", read.err())
                    }
                }
            }
        }
    }

    /// Writes what is lost anew.
    fn write_lost(&mut self) {
        let mut random = Random(11);
        let step = self.block();
        for at in std::mem::take(&mut self.lost).into_iter().step_by(step as usize) {
            let new = payload(&mut random, step);
            self.content[at as usize * 512..(at + step) as usize * 512].copy_from_slice(&new);
            self.world.write_now(at, &new).unwrap();
        }
    }
}

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
        let report = scene.world.scrub(parlour_array::Repair::Nothing);
        assert_eq!((report.mismatches, report.unreadable), (0, 0));
    }
}

#[test]
fn what_can_be_read_again_repairs_what_is_on_the_list() {
    for mut scene in scenes() {
        let first = scene.world.array.geometry().layout().place(Stripe::new(STRIPE), Unit::new(0));
        scene.world.disk_at(first.member.get()).unreadable.clear();
        scene.lost.clear();
        let report = scene.world.scrub(parlour_array::Repair::Nothing);
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
