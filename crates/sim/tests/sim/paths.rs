//! Tests of processors, channels and buses between hosts and drives.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use crate::common::{BLOCK, MS, READ, WRITE, array, ask, closed, drive, flat, load, settle, volume};
use parlour_sim::member::Member;
use parlour_sim::paths::{Bus, Cost, PathError, Paths, Processors};
use parlour_sim::world::World;
use parlour_units::{Bytes, Duration, Sectors};
use parlour_workload::delay::Delay;
use parlour_workload::source::Load;

fn near(found: f64, exact: f64, tolerance: f64) {
    assert!((found / exact - 1.0).abs() < tolerance, "{found}, {exact} expected");
}

fn each(time: Duration) -> Cost {
    Cost { each: time, sector: Duration::ZERO }
}

fn bus(rate: u64) -> Bus {
    Bus { rate: Bytes::new(rate), each: Duration::ZERO }
}

#[test]
fn paths_without_anything_change_nothing() {
    let plain = closed(&mut array("raid5", 5), 0.5, 8, 5_000).unwrap();
    let mut world = array("raid5", 5).on_paths(&Paths::default()).unwrap();
    let empty = closed(&mut world, 0.5, 8, 5_000).unwrap();
    assert_eq!((plain.span, plain.all().all.response.mean()), (empty.span, empty.all().all.response.mean()));
    assert!(empty.stations.is_empty());
}

/// M/D/1: random arrivals, and one processor that takes 10 ms for each request.
#[test]
fn a_processor_is_a_queue_with_one_server() {
    let processors = Processors { count: 1, request: each(MS(10)), access: Cost::default() };
    let paths = Paths { processors: Some(processors), ..Paths::default() };
    let mut world = World::new(vec![volume("simple", vec![flat(Duration::ZERO)])]).on_paths(&paths).unwrap();
    let gap = Load::Open { gap: Delay::Exponential(MS(20)) };
    let report = load(&mut world, 1.0, BLOCK, gap, 200_000).unwrap();
    near(report.all().all.response.mean().mean, 0.015, 0.01);
    assert_eq!(report.stations[0].name, "processors");
    near(report.stations[0].utilization, 0.5, 0.01);
}

/// Two accesses that read and two that write.
#[test]
fn accesses_take_the_processor_each_and_their_bytes() {
    let access = Cost { each: MS(1), sector: Duration::from_micros(10) };
    let processors = Processors { count: 1, request: each(MS(3)), access };
    let paths = Paths { processors: Some(processors), ..Paths::default() };
    let mut world = array("raid5", 5).on_paths(&paths).unwrap();
    let report = closed(&mut world, 0.0, 1, 2_000).unwrap();
    let busy = report.stations[0].utilization * report.span.as_secs_f64() / 2_000.0;
    near(busy, 0.003 + 4.0 * (0.001 + 8.0 * 10e-6), 0.01);
}

/// A number of drives with 4 KiB per 1 ms, on one bus.
fn string(drives: usize, rate: u64) -> World {
    let volumes = (0..drives).map(|_| volume("simple", vec![flat(MS(1)).on_string(0)])).collect();
    World::new(volumes).on_paths(&Paths { strings: vec![bus(rate)], ..Paths::default() }).unwrap()
}

#[test]
fn a_string_lets_through_what_its_bus_does() {
    // A transfer of 4 KiB at 4.096 MB/s takes as long as a drive's access. So one drive saturates
    // the bus, and four are not faster.
    for drives in [1, 4] {
        for reads in [0.0, 1.0] {
            let report = closed(&mut string(drives, 4_096_000), reads, 8, 5_000).unwrap();
            near(report.all().all.requests.mean, 1_000.0, 0.01);
            near(report.stations[0].utilization, 1.0, 0.01);
        }
    }
    let report = closed(&mut string(4, 40_960_000), 1.0, 32, 20_000).unwrap();
    assert!(
        (3_000.0..4_000.0).contains(&report.all().all.requests.mean),
        "{}",
        report.all().all.requests.mean
    );
}

/// A read is transferred on the bus while it comes from the platters; a write is transferred first.
#[test]
fn an_idle_bus_costs_a_read_nothing_and_a_write_its_transfer_at_the_most() {
    let times =
        |world: &mut World| [READ, WRITE].map(|operation| ask(world, operation, 12_800, 64).0.nanoseconds());
    let plain = times(&mut World::new(vec![volume("simple", vec![drive("ibm-0661")])]));
    let paths = Paths { strings: vec![bus(20_000_000)], ..Paths::default() };
    let world = World::new(vec![volume("simple", vec![drive("ibm-0661").on_string(0)])]);
    let [read, write] = times(&mut world.on_paths(&paths).unwrap());
    assert_eq!(read, plain[0]);
    assert!((plain[1]..=plain[1] + 13_900_000).contains(&write), "{write} {}", plain[1]);
}

#[test]
fn a_channel_carries_what_hosts_read_and_write() {
    let channel = Bus { rate: Bytes::new(4_096_000), each: Duration::from_micros(500) };
    let paths = Paths { channel: Some(channel), ..Paths::default() };
    let mut world = World::new(vec![volume("simple", vec![flat(MS(10))])]).on_paths(&paths).unwrap();
    settle(&mut world);
    let both = Duration::from_micros(11_500);
    assert_eq!(ask(&mut world, READ, 0, 8), (both, Ok(())));
    assert_eq!(ask(&mut world, WRITE, 0, 8), (both, Ok(())));
    let report = closed(&mut world, 0.5, 4, 1_000).unwrap();
    near(report.all().all.requests.mean, 100.0, 0.01);
    near(report.stations[0].utilization, 0.15, 0.01);
}

#[test]
fn two_strings_carry_more_than_one() {
    let world = |strings: u16| {
        let member = |number: u16| drive("ibm-0661").on_string(number % strings);
        let buses = vec![bus(1_000_000); usize::from(strings)];
        let world = World::new(vec![volume("raid0", (0..6).map(member).collect::<Vec<Member>>())]);
        world.on_paths(&Paths { strings: buses, ..Paths::default() }).unwrap()
    };
    let load = |mut world: World| {
        let closed = Load::Closed { processes: 12, think: Delay::Fixed(Duration::ZERO) };
        load(&mut world, 1.0, Sectors::new(64), closed, 5_000).unwrap()
    };
    let (one, two) = (load(world(1)), load(world(2)));
    near(one.all().all.requests.mean * 32_768.0, 1e6, 0.01);
    assert!(two.all().all.requests.mean > 1.8 * one.all().all.requests.mean);
    assert_eq!(two.stations.len(), 2);
}

#[test]
fn a_drive_on_no_string_is_told_of() {
    let world = World::new(vec![volume("simple", vec![flat(MS(1)).on_string(1)])]);
    let error = world.on_paths(&Paths { strings: vec![bus(1_000)], ..Paths::default() }).unwrap_err();
    assert!(matches!(error, PathError::NoString { member: 0, string: 1, strings: 1, .. }), "{error}");
}
