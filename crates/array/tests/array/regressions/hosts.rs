//! Hosts' requests: each is answered, and what was flushed lasts.

use parlour_array::*;
use parlour_units::{Sector, Sectors};

use super::{logging, run_where};
use crate::common::{self, Random, SEED, Setup, World, payload};

/// The watermark policy.
#[test]
fn a_watermark_just_below_the_pool_stops_nothing() {
    let mut setup = logging(5);
    setup.unit = 160;
    setup.tuning = Tuning {
        log_flush: Some(LogFlush::Watermark(6)),
        log_memory: Sectors::new(32 * 7),
        large_write: Some(LargeWrite::Overwrite),
        ..setup.tuning
    };
    for seed in 0..40 {
        let mut w = World::new(&setup, SEED + seed);
        let mut r = Random(seed);
        let cap = w.capacity();
        for _ in 0..60 {
            let l = 1 + r.below(500);
            let at = r.below(cap - l);
            let t = w.write(at, &payload(&mut r, l));
            w.settle();
            assert!(w.done.contains_key(&t), "seed {seed}: hangs: {:?}", w.array.status().log);
        }
    }
}

#[test]
fn a_watermark_above_the_pool_stops_nothing() {
    let mut setup = logging(5);
    setup.tuning =
        Tuning { log_flush: Some(LogFlush::Watermark(6)), log_memory: Sectors::new(64), ..setup.tuning };
    for seed in 0..10 {
        let mut w = World::new(&setup, SEED + seed);
        let mut r = Random(seed);
        let cap = w.capacity();
        for _ in 0..60 {
            let l = 1 + r.below(50);
            let at = r.below(cap - l);
            let t = w.write(at, &payload(&mut r, l));
            w.settle();
            assert!(w.done.contains_key(&t), "seed {seed}: hangs: {:?}", w.array.status().log);
        }
    }
}

/// The server is killed (without a power cut), the array is opened and flushed, and then the power
/// fails.
#[test]
fn what_was_read_after_a_kill_and_then_flushed_is_durable() {
    let mut w = World::new(&Setup::named("raid5", 4), SEED);
    w.settle();
    w.all_volatile();
    let b = payload(&mut Random(1), 8);
    w.write_now(0, &b).unwrap();
    let mut w = w.reopen(false).unwrap();
    assert!(w.read_now(0, 8).unwrap() == b);
    assert_eq!(w.do_now(Operation::Flush, 0, 0, None).0, Ok(()));
    w.settle();
    println!("dirty {}", w.array.status().dirty_regions);
    let mut r = Random(1);
    for d in &mut w.disks {
        d.power_loss(&mut r, 0);
    }
    let mut w = w.reopen(false).unwrap();
    w.settle();
    let got = w.read_now(0, 8).unwrap();
    let report = w.scrub(Repair::Nothing);
    println!("mismatches {}", report.mismatches);
    assert!(got == b, "flushed data lost");
}

/// A flush failed on a member that was kept; the next flush succeeded.
#[test]
fn a_flush_that_failed_is_not_forgotten() {
    let mut w = World::new(&Setup::named("raid0", 2), SEED);
    w.settle();
    w.all_volatile();
    w.write_now(0, &payload(&mut Random(1), 64)).unwrap();
    w.disks[0].flush_fails = true;
    println!("{:?}", w.do_now(Operation::Flush, 0, 0, None).0);
    let second = w.do_now(Operation::Flush, 0, 0, None).0;
    assert!(second.is_err() || w.disks[0].cache.is_empty(), "said to be flushed: {second:?}");
}

/// The steps of a phase in any order, including computations.
#[test]
fn steps_of_a_phase_may_be_done_in_any_order() {
    for big in [LargeWrite::Overwrite] {
        let mut setup = logging(5);
        setup.tuning.large_write = Some(big);
        let mut w = World::new(&setup, SEED);
        w.shuffle = true;
        let mut r = Random(4);
        let cap = w.capacity();
        for _ in 0..600 {
            let l = 1 + r.below(60);
            let at = r.below(600 - l).min(cap - l);
            w.write_now(at, &payload(&mut r, l)).unwrap();
        }
        let report = w.scrub(Repair::Nothing);
        assert_eq!(report.mismatches, 0);
    }
}

/// A stale entry for a read in the preread cache.
#[test]
fn a_read_that_was_answered_leaves_nothing_for_the_cache() {
    let mut setup = Setup::named("raid5", 4);
    setup.tuning.preread_cache = Sectors::new(600);
    let mut w = World::new(&setup, SEED);
    let mut r = Random(1);
    // Host request 0 reads a unit of a member that dies.
    w.write_now(0, &payload(&mut r, 2000)).unwrap();
    w.disks[0].dead = true;
    w.read_now(0, 4).unwrap();
    // A new member takes its slot.
    w.replace(0);
    w.settle();
    assert!(w.array.status().members.iter().all(|m| m.state == "active"));
    // A long read (which the cache does not watch) beside a write to one of its stripes: host
    // requests 0 and 1.
    let long = w.read(900, 590);
    let at = 1000;
    // Runs the read's access to that place first, then the write, then the rest of the read.
    let g = w.array.geometry().clone();
    println!("{}", w.pending.len());
    let (su, so) = (at / 48, at % 48);
    let p = g.layout().locate(parlour_units::Stripe::new(su), parlour_units::Unit::new((so / 16) as u16));
    let abs = g.data_start().get() + p.at.get() + so % 16;
    assert!(run_where(
        &mut w,
        |e| matches!(e.action, Action::Read { member, at, length } if member.get() == p.slot.get() && at.get() <= abs && abs < at.get() + length.get())
    ));
    let keep: Vec<_> = std::mem::take(&mut w.pending);
    let new = payload(&mut r, 2);
    w.write_now(at, &new).unwrap();
    w.pending.extend(keep);
    w.settle();
    assert!(w.done.contains_key(&long));
    w.write_now(at, &payload(&mut r, 3)).unwrap();
    let report = w.scrub(Repair::Nothing);
    assert_eq!(report.mismatches, 0);
}

/// Zeroes and trims are not limited by credits.
#[test]
fn a_long_trim_goes_on_in_parts() {
    let mut setup = Setup::named("raid5", 3);
    setup.unit = 8;
    setup.member_length = 3 << 23; // 12 GiB
    setup.tuning = Tuning::default();
    let geometry = setup.geometry();
    let members: Vec<(Identity, Sectors)> =
        (0..3).map(|m| (common::identity(m + 100), Sectors::new(setup.member_length))).collect();
    let new = NewArray {
        array: common::identity(1),
        session: common::identity(2),
        members: members.clone(),
        name: "x".into(),
        created: 0,
        zeroed: true,
    };
    let images = create(&geometry, &new);
    let candidates: Vec<Candidate> = images
        .iter()
        .enumerate()
        .map(|(i, image)| {
            let sb = &image.last().unwrap().1;
            Candidate {
                name: format!("{i}"),
                length: Sectors::new(setup.member_length),
                superblock: Superblock::decode(sb),
            }
        })
        .collect();
    let assembly = Assembly::new(&candidates).unwrap();
    let opening = Opening {
        assembly,
        members: members
            .iter()
            .map(|(identity, length)| Some(MemberInfo { identity: *identity, length: *length, unmaps: true }))
            .collect(),
        spares: vec![],
        bitmaps: images.iter().map(|i| [Some(i[1].1.clone()), Some(i[0].1.clone())]).collect(),
        tables: vec![],
        bad_block_logs: vec![],
        commits: vec![],
        session: common::identity(3),
        read_only: false,
        force: false,
        tuning: setup.tuning,
    };
    let mut array = Array::open(parlour_units::Instant::ZERO, opening).unwrap();
    for tag in 0..3 {
        let request = Request {
            tag: Tag(tag),
            operation: Operation::Trim,
            at: Sector::new(tag << 23),
            length: Sectors::new((1 << 23) - 8),
            buffer: None,
        };
        array.submit(parlour_units::Instant::ZERO, request);
    }
}
