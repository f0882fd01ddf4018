//! Tests of arrays that fail, are rebuilt, scrubbed and stopped, in simulated time.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use crate::common::{FAR, LENGTH, MS, READ, WRITE, array, ask, closed, drive, geometry};
use parlour_array::{AdminError, Event, FailureCause, Repair, RequestError};
use parlour_sim::health::{Deed, HealthError, Rebuild, What};
use parlour_sim::opening;
use parlour_sim::world::World;
use parlour_units::{Duration, Instant, Slot};

const SLOT: Slot = Slot::new(2);

fn new() -> Box<parlour_sim::member::Member> {
    Box::new(drive("ibm-0661"))
}

fn told(world: &World, event: &Event) -> bool {
    world.incidents().iter().any(|incident| incident.what == What::Told(event.clone()))
}

/// Runs until the last rebuild is done.
fn rebuilt(world: &mut World) -> Rebuild {
    loop {
        if let Some(rebuild) = world.rebuilds().pop().filter(|rebuild| rebuild.took.is_some()) {
            return rebuild;
        }
        assert!(world.step(FAR), "nothing happens any more");
    }
}

#[test]
fn a_degraded_array_reads_what_is_missing_from_all_others() {
    let read = |degraded: bool| {
        let mut world = array("raid5", 5);
        if degraded {
            world.carry_out(0, Deed::Fail(SLOT)).unwrap();
        }
        let before: u64 = world.members().map(|member| member.tally().accesses).sum();
        closed(&mut world, 1.0, 1, 5_000).unwrap();
        let after: u64 = world.members().map(|member| member.tally().accesses).sum();
        (after - before) as f64 / 5_100.0
    };
    assert!((read(false) - 1.0).abs() < 0.01);
    // A fifth of all blocks is read from four members.
    assert!((read(true) - 1.6).abs() < 0.05, "{}", read(true));
}

#[test]
fn a_rebuild_takes_its_time_and_more_under_load() {
    let time = |busy: bool| {
        let mut world = array("raid5", 5);
        world.carry_out(0, Deed::Fail(SLOT)).unwrap();
        world.carry_out(0, Deed::Replace(SLOT, new())).unwrap();
        if busy {
            closed(&mut world, 0.7, 4, 3_000).unwrap();
        }
        rebuilt(&mut world).took.unwrap()
    };
    // The lower bound is the time to write the member's units, at 24 KiB per revolution of 13.9 ms.
    let units = geometry("raid5", 5, LENGTH).capacity().get() / 4;
    let least = Duration::from_nanoseconds(13_900_000) * (units / 48);
    let (idle, busy) = (time(false), time(true));
    assert!(idle >= least && idle < least * 6, "{idle}, {least} at least");
    assert!(busy > idle, "{busy} {idle}");
}

#[test]
fn a_drive_dies_when_that_is_planned_and_a_spare_takes_its_place() {
    let mut world = array("raid5", 5);
    world.carry_out(0, Deed::Spare(new())).unwrap();
    let when = world.now() + MS(500);
    world.plan(when, 0, Deed::Die(SLOT));
    let report = closed(&mut world, 0.5, 4, 3_000).unwrap();
    assert_eq!(report.lost, 0);
    assert!(told(&world, &Event::MemberFailed { slot: SLOT, cause: FailureCause::Gone }));
    let rebuild = rebuilt(&mut world);
    assert_eq!(rebuild.slot, SLOT);
    assert!(rebuild.began >= when && rebuild.began < when + MS(1_000));
    ask(&mut world, WRITE, 0, 8).1.unwrap();
}

#[test]
fn a_second_failure_loses_data_and_the_run_goes_on() {
    let mut world = array("raid5", 5);
    world.plan(Instant::ZERO + MS(200), 0, Deed::Die(SLOT));
    world.plan(Instant::ZERO + MS(400), 0, Deed::Die(Slot::new(0)));
    let report = closed(&mut world, 0.5, 4, 5_000).unwrap();
    assert!(report.lost > 500, "{}", report.lost);
    assert!(world.volumes()[0].lost_requests() >= report.lost);
    assert!(world.incidents().iter().any(|incident| {
        matches!(&incident.what, What::Told(Event::MemberKept { slot }) if slot.get() == 0)
    }));
    let results: Vec<_> = (0..40).map(|unit| ask(&mut world, READ, unit * 64, 8).1).collect();
    assert!(results.contains(&Ok(())) && results.contains(&Err(RequestError::Lost)));
}

#[test]
fn a_scrub_goes_over_all_while_hosts_ask() {
    let mut world = array("raid5", 5);
    world.plan(Instant::ZERO + MS(100), 0, Deed::Scrub(Repair::Nothing));
    closed(&mut world, 0.5, 2, 500).unwrap();
    let report = |world: &World| {
        world.incidents().iter().find_map(|incident| match &incident.what {
            What::Told(Event::ScrubDone(report)) => Some(report.mismatches),
            _ => None,
        })
    };
    while report(&world).is_none() {
        assert!(world.step(FAR), "nothing happens any more");
    }
    assert_eq!(report(&world), Some(0));
}

#[test]
fn what_is_not_done_is_told() {
    let mut world = array("raid0", 3);
    let refused = world.carry_out(0, Deed::Fail(SLOT)).unwrap_err();
    assert!(matches!(&refused, HealthError::Refused { source: AdminError::Needed(_), .. }), "{refused}");
    assert!(refused.to_string().starts_with("array 'raid0': "), "{refused}");
    let beyond = world.carry_out(3, Deed::Fail(SLOT)).unwrap_err();
    assert_eq!(beyond, HealthError::NoVolume { volume: 3, volumes: 1 });
    let nobody = Slot::new(9);
    world.plan(Instant::ZERO + MS(5), 0, Deed::Die(nobody));
    while world.step(Instant::ZERO + MS(5)) {}
    let last = world.incidents().last().unwrap();
    assert_eq!(last.what, What::NotDone(HealthError::NoDrive { array: "raid0".into(), slot: nobody }));
    assert_eq!(last.at, Instant::ZERO + MS(5));
}

/// An array finds the superblocks, bitmaps and logs that it wrote.
#[test]
fn an_array_that_is_stopped_is_opened_as_it_was() {
    for organization in ["raid5", "parity-logging", "raid10"] {
        let drives = (0..6).map(|_| drive("ibm-0661")).collect();
        let geometry = geometry(organization, 6, LENGTH);
        let volume = opening::open(&crate::common::new("kept", &geometry), drives).unwrap();
        let mut world = World::new(vec![volume]);
        closed(&mut world, 0.0, 4, 500).unwrap();
        world.restart(0).unwrap();
        closed(&mut world, 0.5, 4, 500).unwrap();
        world.carry_out(0, Deed::Fail(SLOT)).unwrap();
        closed(&mut world, 0.5, 4, 500).unwrap();
        world.restart(0).unwrap();
        let state = |world: &World| world.volumes()[0].array().unwrap().status().members[2].state;
        assert_eq!(state(&world), "failed", "{organization}");
        world.carry_out(0, Deed::Replace(SLOT, new())).unwrap();
        let began = world.now();
        while world.now().since(began) < MS(200) {
            world.step(began + MS(200));
        }
        world.restart(0).unwrap();
        assert_eq!(state(&world), "rebuilding", "{organization}");
        while state(&world) != "active" {
            assert!(world.step(FAR), "nothing happens any more");
        }
        let report = closed(&mut world, 0.5, 4, 500).unwrap();
        assert_eq!(report.lost, 0, "{organization}");
    }
}
