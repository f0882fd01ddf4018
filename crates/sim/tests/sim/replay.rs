//! Tests that the simulator and the engine use the same array: the simulator's calls, replayed into
//! a fresh array like recordings of the engine, give the same answers.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use crate::common::{LENGTH, MS, closed, drive, geometry, new, settle};
use parlour_array::Repair;
use parlour_array::organization::{Code, NAMED, Organization};
use parlour_array::record::{Entry, FirstDifference, Recording, replay};
use parlour_sim::health::Deed;
use parlour_sim::opening;
use parlour_sim::world::World;
use parlour_units::Slot;

/// Records reads and writes, the replacement of a member, and a scrub.
fn recorded(organization: &str, redundant: bool) -> Recording {
    let least = Organization::named(organization).expect("it is in the table").least_members();
    let members = least.max(6);
    let drives = (0..members).map(|_| drive("hp-c2247a")).collect();
    let geometry = geometry(organization, members, LENGTH);
    let volume = opening::record(&new("recorded", &geometry), drives).unwrap();
    let mut world = World::new(vec![volume]);
    if redundant {
        let slot = Slot::new(3);
        let at = |world: &World, milliseconds| world.now() + MS(milliseconds);
        world.plan(at(&world, 50), 0, Deed::Die(slot));
        world.plan(at(&world, 200), 0, Deed::Replace(slot, Box::new(drive("hp-c2247a"))));
        closed(&mut world, 0.3, 4, 300).unwrap();
        settle(&mut world);
        world.carry_out(0, Deed::Scrub(Repair::Nothing)).unwrap();
    }
    closed(&mut world, 0.3, 4, 300).unwrap();
    settle(&mut world);
    world.volumes()[0].recording().unwrap().clone()
}

#[test]
fn what_the_simulator_recorded_gives_identical_effects() {
    for named in &NAMED {
        let recording = recorded(named.name, named.organization.code != Code::None);
        let effects = recording
            .entries
            .iter()
            .filter(|entry| matches!(entry, Entry::Answered(words) if words.starts_with("Effect")));
        assert!(effects.count() > 300, "{}", named.name);
        replay(&recording).unwrap_or_else(|difference| panic!("{}: {difference}", named.name));
    }
}

#[test]
fn a_recording_that_was_changed_does_not_replay() {
    let mut recording = recorded("raid5", false);
    let changed = recording.entries.iter().position(|entry| match entry {
        Entry::Answered(words) => words.contains("Write"),
        Entry::Told(_) => false,
    });
    recording.entries[changed.unwrap()] = Entry::Answered("Effect something else".into());
    let difference = replay(&recording).unwrap_err();
    assert!(matches!(difference, FirstDifference::Answer { entry, .. } if Some(entry) == changed));
}
