//! Runs the array's conformance corpus on models of drives. There is no payload, but answers,
//! accesses and states must be those of the other worlds.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

mod common;
#[path = "../../array/tests/corpus/mod.rs"]
mod corpus;

use common::{FAR, READ, WRITE, ask, drive, new};
use corpus::combinations::{Combinations, Half};
use parlour_array::{Class, Creation, Geometry, Operation, Repair};
use parlour_sim::health::Deed;
use parlour_sim::opening::{self, New};
use parlour_sim::world::World;
use parlour_units::Slot;

struct OnDrives {
    world: World,
    /// The accesses before the array was opened again.
    before: [u64; 2],
}

impl OnDrives {
    fn new(creation: &Creation) -> OnDrives {
        let drives = (0..creation.members).map(|_| drive("hp-c2247a")).collect();
        let geometry = Geometry::create(creation).expect("a possible array");
        let new = New { length: creation.member_length, ..new("corpus", &geometry) };
        let volume = opening::open(&new, drives).unwrap();
        OnDrives { world: World::new(vec![volume]), before: [0; 2] }
    }

    fn done(&mut self, operation: Operation, at: u64, length: u64) {
        assert_eq!(ask(&mut self.world, operation, at, length).1, Ok(()));
    }

    fn counted(&self) -> [u64; 2] {
        let traffic = self.world.volumes()[0].array().unwrap().traffic(Class::Foreground);
        [traffic.reads, traffic.writes]
    }

    fn until(&mut self, is_so: impl Fn(&World) -> bool) {
        while !is_so(&self.world) {
            assert!(self.world.step(FAR), "nothing happens any more");
        }
    }
}

impl corpus::World for OnDrives {
    const KNOWS_CONTENTS: bool = false;

    fn write(&mut self, at: u64, bytes: &[u8]) {
        self.done(WRITE, at, bytes.len() as u64 / 512);
    }

    fn zero(&mut self, at: u64, length: u64) {
        self.done(Operation::WriteZeroes { may_unmap: false, fast_only: false, durable: false }, at, length);
    }

    fn read(&mut self, at: u64, length: u64) -> Vec<u8> {
        self.done(READ, at, length);
        Vec::new()
    }

    fn flush(&mut self) {
        self.done(Operation::Flush, 0, 0);
    }

    fn fail(&mut self, slot: u16) {
        self.world.carry_out(0, Deed::Fail(Slot::new(slot))).unwrap();
    }

    fn replace(&mut self, slot: u16) {
        let drive = Box::new(drive("hp-c2247a"));
        self.world.carry_out(0, Deed::Replace(Slot::new(slot), drive)).unwrap();
        self.until(|world| world.rebuilds().last().unwrap().took.is_some());
    }

    fn scrub(&mut self) -> u64 {
        self.world.carry_out(0, Deed::Scrub(Repair::Nothing)).unwrap();
        self.until(|world| world.volumes()[0].array().unwrap().status().scrub.is_none());
        self.world.volumes()[0].array().unwrap().status().last_scrub.unwrap().mismatches
    }

    fn restart(&mut self) {
        let [reads, writes] = self.counted();
        self.before = [self.before[0] + reads, self.before[1] + writes];
        self.world.restart(0).unwrap();
    }

    fn member(&mut self, _place: u16) -> Vec<u8> {
        Vec::new()
    }

    fn accesses(&mut self) -> [u64; 2] {
        let [reads, writes] = self.counted();
        [self.before[0] + reads, self.before[1] + writes]
    }
}

#[cfg(not(feature = "planted-bugs"))]
#[test]
fn the_corpus_holds_on_models_of_drives() {
    corpus::run_all(OnDrives::new);
}

/// Every combination of choices that is admitted without floating units.
#[test]
fn one_half_of_all_combinations_of_choices_holds_on_models_of_drives() {
    Combinations::all(Geometry::create).run(Half::First, OnDrives::new);
}

#[test]
fn the_other_half_of_all_combinations_of_choices_holds_on_models_of_drives() {
    Combinations::all(Geometry::create).run(Half::Second, OnDrives::new);
}

#[cfg(feature = "planted-bugs")]
#[test]
fn a_change_to_a_plan_fails_the_corpus_on_models_of_drives() {
    corpus::run_all_with_bugs(OnDrives::new);
}
