//! Tests of several arrays in one world.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use crate::common::{
    BLOCK, LENGTH, MS, READ, WRITE, ask, closed, drive, flat, geometry, new, settle, volume,
};
use parlour_array::{Operation, RequestError};
use parlour_sim::opening::{self, New, OpeningError};
use parlour_sim::world::World;
use parlour_units::Sectors;

fn simple(count: usize) -> World {
    let mut world = World::new((0..count).map(|_| volume("simple", vec![flat(MS(10))])).collect());
    settle(&mut world);
    world
}

fn accesses(world: &World) -> Vec<u64> {
    world.members().map(|member| member.tally().accesses).collect()
}

/// Hauser et al.: six drives as independent volumes; two RAID 0 of three drives.
#[test]
fn volumes_lie_one_behind_the_other() {
    let one = simple(1).capacity();
    let mut world = simple(6);
    assert_eq!(world.capacity(), one * 6);
    let before = accesses(&world);
    let wanted = [3, 0, 5];
    for volume in wanted {
        assert_eq!(ask(&mut world, READ, one.get() * volume + 8, 8), (MS(10), Ok(())));
    }
    let more: Vec<u64> = accesses(&world).iter().zip(&before).map(|(now, then)| now - then).collect();
    assert_eq!(more, [1, 0, 0, 1, 0, 1]);
    let raid0 = || volume("raid0", (0..3).map(|_| drive("ibm-0661")).collect());
    let mut world = World::new(vec![raid0(), raid0()]);
    let report = closed(&mut world, 0.5, 12, 20_000).unwrap();
    let parts: Vec<f64> = report.members.iter().map(|member| member.utilization).collect();
    assert!(parts.len() == 6 && parts.iter().all(|part| (0.75..1.0).contains(part)), "{parts:?}");
}

#[test]
fn a_request_across_volumes_is_cut_and_answered_once() {
    let mut world = simple(3);
    let one = world.capacity().get() / 3;
    let before = accesses(&world);
    ask(&mut world, WRITE, one - 8, one + 16).1.unwrap();
    let more: Vec<u64> = accesses(&world).iter().zip(&before).map(|(now, then)| now - then).collect();
    assert_eq!((more[0], more[2]), (1, 1));
    assert!(more[1] >= 1);
}

#[test]
fn a_flush_is_one_of_all_volumes_and_beyond_them_is_nothing() {
    let mut world = simple(2);
    for volume in 0..2 {
        let at = world.capacity().get() / 2 * volume;
        ask(&mut world, WRITE, at, 8).1.unwrap();
    }
    let before = accesses(&world);
    ask(&mut world, Operation::Flush, 0, 0).1.unwrap();
    let after = accesses(&world);
    assert!(before.iter().zip(&after).all(|(before, after)| after > before), "{before:?} {after:?}");
    let end = world.capacity().get();
    assert_eq!(ask(&mut world, READ, end - 8, 16).1, Err(RequestError::BeyondEnd));
    assert_eq!(ask(&mut world, READ, end + 800, 8).1, Err(RequestError::BeyondEnd));
    ask(&mut world, READ, end - 8, 8).1.unwrap();
}

#[test]
fn what_cannot_be_opened_is_told_by_array_member_and_drive() {
    let refused = |members: u16, length: Sectors, drives: usize| -> OpeningError {
        let geometry = geometry("raid5", members, LENGTH);
        let drives = (0..drives).map(|_| drive("ibm-0661")).collect();
        opening::open(&New { length, ..new("music", &geometry) }, drives).unwrap_err()
    };
    let long = Sectors::new(1 << 30);
    let told = refused(5, long, 5).to_string();
    assert!(told.starts_with("array 'music', member 0: the drive 'IBM 0661' has 637728 blocks"), "{told}");
    assert!(refused(5, LENGTH, 4).to_string().starts_with("array 'music' has 5 members, and 4 drives"));
    assert!(refused(5, BLOCK, 5).to_string().starts_with("array 'music': its geometry needs members of"));
}
