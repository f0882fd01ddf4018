//! Arrays that are opened after a kill, apart, read-only, or without a member.

use parlour_array::*;
use parlour_units::{Member, Sector};

use super::{bad_sectors, is_write, live_logs, logging, run_where};
use crate::common::{Random, SEED, Setup, World, payload};

/// The server is killed while the first superblock of an opening is written.
#[test]
fn an_opening_that_was_cut_off_leaves_no_member_stale() {
    let mut w = World::new(&Setup::named("raid5", 5), SEED);
    w.write_now(0, &payload(&mut Random(1), 10)).unwrap();
    let mut w = w.restart();
    assert!(w.pending.iter().any(|e| e.class == Class::Metadata));
    // One member's superblock.
    assert!(run_where(&mut w, |e| is_write(e).is_some_and(|(_, at, _)| at == Sector::ZERO)));
    match w.reopen(false) {
        Ok(w) => {
            println!("{:?}", w.array.status().members.iter().map(|m| m.state).collect::<Vec<_>>());
            assert!(w.array.status().members.iter().all(|m| m.state == "active"));
        }
        Err(e) => panic!("{e}"),
    };
}

/// The server is killed repeatedly, each time while another member's first superblock is written.
#[test]
fn openings_that_were_cut_off_one_after_another_leave_no_member_stale() {
    for name in ["raid5", "parity-logging"] {
        let mut w = World::new(&Setup::named(name, 5), SEED);
        w.write_now(0, &payload(&mut Random(1), 10)).unwrap();
        let mut w = w.restart();
        for slot in [0, 3, 1, 4] {
            assert!(run_where(&mut w, |e| is_write(e)
                .is_some_and(|(member, at, _)| at == Sector::ZERO && member == Member::new(slot))));
            w = w.reopen(false).unwrap();
            assert!(w.array.status().members.iter().all(|m| m.state == "active"), "{name}, member {slot}");
        }
    }
}

/// Two members were used separately, and both servers were killed.
#[test]
fn members_that_were_used_apart_are_refused_together_though_both_were_killed() {
    let mut w = World::new(&Setup::named("raid1", 2), SEED);
    w.write_now(0, &payload(&mut Random(1), 10)).unwrap();
    w.stop();
    let (setup, disks) = (w.setup.clone(), w.disks.clone());
    let mut apart = disks.clone();
    for (member, kept) in apart.iter_mut().enumerate() {
        let (random, session) = (Random(member as u64 + 2), 50 + member as u64);
        let mut alone = World::open(&setup, disks.clone(), vec![member], random, session, false).unwrap();
        alone.write_now(0, &payload(&mut Random(member as u64 + 5), 10)).unwrap();
        *kept = alone.disks[member].clone();
    }
    let together = World::open(&setup, apart, vec![0, 1], Random(9), 60, false);
    let refusal = together.map(|_| ()).unwrap_err();
    assert!(matches!(refusal, AssemblyError::Diverged(..)), "{refusal}");
}

/// A read-only array writes nothing, even if a member dies.
#[test]
fn a_read_only_array_writes_nothing_though_a_member_dies() {
    let setup = logging(5);
    let (w, flat) = live_logs(1, &setup);
    let World { disks, random, .. } = w;
    let mut w = World::try_open(&setup, disks, vec![0, 1, 2, 3, 4], random, 50, false, true)
        .map_err(|e| e.0)
        .unwrap();
    let before: Vec<u64> = w.disks.iter().map(|d| d.writes).collect();
    w.disks[1].dead = true;
    println!("read only: {:?}", bad_sectors(&mut w, &flat));
    w.settle();
    let after: Vec<u64> = w.disks.iter().map(|d| d.writes).collect();
    println!("{before:?} {after:?}");
    let mut w = w.reopen(false).expect("opens");
    w.settle();
    println!("then opened for writing: {:?}", bad_sectors(&mut w, &flat));
    assert_eq!(before, after, "a read-only array wrote");
}

#[test]
fn a_read_only_array_repairs_nothing_though_two_units_of_a_stripe_have_bad_blocks() {
    let setup = Setup::named("raid5", 4);
    let mut world = World::new(&setup, SEED);
    let stripe = world.array.geometry().layout().stripe_data().get();
    world.write_now(0, &payload(&mut Random(5), stripe * 8)).expect("it is written");
    world.stop();
    let World { disks, .. } = world;
    let opened = World::try_open(&setup, disks, vec![0, 1, 2, 3], Random(1), 50, false, true);
    let mut world = opened.map_err(|(error, _)| error).expect("it opens");
    let start = world.array.geometry().data_start().get();
    world.disks[1].unreadable.insert(start + 1);
    world.disks[2].unreadable.insert(start + 7);
    let before: Vec<u64> = world.disks.iter().map(|disk| disk.writes).collect();
    for at in 0..stripe * 8 {
        let _lost_or_not = world.read_now(at, 1);
    }
    let _lost_or_not = world.read_now(0, stripe);
    assert!(world.disks.iter().map(|disk| disk.writes).eq(before));
}

#[test]
fn a_read_only_array_writes_nothing_though_sectors_are_unreadable() {
    let setup = logging(5);
    let (w, flat) = live_logs(1, &setup);
    let World { disks, random, .. } = w;
    let mut w = World::try_open(&setup, disks, vec![0, 1, 2, 3, 4], random, 50, false, true)
        .map_err(|e| e.0)
        .unwrap();
    let before: Vec<u64> = w.disks.iter().map(|d| d.writes).collect();
    let start = w.array.geometry().data_start().get();
    for s in (start..start + 16000).step_by(40) {
        w.disks[1].unreadable.insert(s);
    }
    println!("read only: {:?}", bad_sectors(&mut w, &flat));
    w.settle();
    let after: Vec<u64> = w.disks.iter().map(|d| d.writes).collect();
    println!("{before:?} {after:?}");
    assert_eq!(before, after, "a read-only array wrote");
}

/// An opening without a member: reintegration wrote parity before the session was durable; then the
/// server was killed.
#[test]
fn parity_is_not_written_before_the_session_is_durable() {
    let setup = logging(5);
    for seed in 0..5 {
        let (w, flat) = live_logs(seed, &setup);
        let World { mut disks, random, .. } = w;
        disks[2].dead = true;
        let mut w = World::open(&setup, disks, vec![0, 1, 3, 4], random, 50, false).unwrap();
        let n = w.disks.iter().map(|d| d.writes).sum::<u64>();
        // Writes of superblocks are slow.
        while run_where(&mut w, |e| e.class != Class::Metadata) {}
        println!(
            "writes before the session is durable: {}",
            w.disks.iter().map(|d| d.writes).sum::<u64>() - n
        );
        let mut w = w.reopen(false).expect("opens");
        w.settle();
        let (bad, lost) = bad_sectors(&mut w, &flat);
        assert_eq!((bad, lost), (0, 0));
    }
}

/// The array is stopped with a resync pending, then opened without a member.
#[test]
fn an_unsynced_array_without_a_member_is_refused() {
    let mut setup = Setup::named("raid5", 4);
    setup.zeroed = false;
    setup.tuning.maintenance_depth = 0;
    setup.tuning.maintenance_depth_busy = 0;
    let mut w = World::new(&setup, SEED);
    let b = payload(&mut Random(1), 8);
    for at in [0, 16, 32] {
        w.write_now(at, &b).unwrap();
    }
    w.stop();
    let World { mut disks, random, .. } = w;
    for m in 0..4 {
        disks[m].dead = true;
        match World::open(
            &setup,
            disks.clone(),
            (0..4).filter(|i| *i != m).collect(),
            random.clone(),
            50,
            false,
        ) {
            Err(e) => println!("refused: {e}"),
            Ok(mut w) => {
                for at in [0, 16, 32] {
                    assert!(
                        w.read_now(at, 8).unwrap() == b,
                        "opened without a word and wrong data at {at}, member {m}"
                    );
                }
            }
        }
        disks[m].dead = false;
    }
}

/// The reads of logs' headers that wait: the member and sector of each.
fn header_reads(w: &World) -> Vec<(u16, u64)> {
    let reads = w.pending.iter().filter(|effect| effect.class == Class::Log);
    let place = |effect: &Effect| match effect.action {
        Action::Read { member, at, .. } => Some((member.get(), at.get())),
        _ => None,
    };
    reads.filter_map(place).collect()
}

/// Opened without a member, and with one bad header sector.
#[test]
fn a_bad_header_of_a_free_position_costs_nothing() {
    let setup = logging(5);
    let (w, flat) = live_logs(3, &setup);
    let World { disks, random, .. } = w;
    // Finds the headers that would be read.
    let mut disks = disks;
    disks[2].dead = true;
    let mut w = World::open(&setup, disks, vec![0, 1, 3, 4], random, 50, false).unwrap();
    let heads = header_reads(&w);
    println!("{} header reads", heads.len());
    let (mut bad, mut n) = (0, 0);
    // Makes one header that holds nothing unreadable.
    for (m, at) in heads {
        let d = &w.disks[m as usize];
        let free = &d.bytes[at as usize * 512..][..8] != b"PRLRSEGM";
        if free && n < 1 {
            w.disks[m as usize].unreadable.insert(at);
            n += 1;
        }
    }
    w.settle();
    let r = bad_sectors(&mut w, &flat);
    bad += r.0;
    println!("{n} bad sector(s) in free positions: {r:?}");
    assert_eq!(bad, 0);
}

/// An opening without a member, and one log cannot be loaded: the flush was never answered.
#[test]
fn a_flush_is_answered_though_a_log_cannot_be_loaded() {
    let setup = logging(5);
    let mut w = World::new(&setup, SEED);
    w.write_now(0, &payload(&mut Random(1), 3)).unwrap();
    w.stop();
    let World { mut disks, random, .. } = w;
    disks[2].dead = true;
    let mut w = World::open(&setup, disks, vec![0, 1, 3, 4], random, 50, false).unwrap();
    let heads = header_reads(&w);
    println!("{heads:?}");
    for (m, at) in heads.iter().take(1) {
        w.disks[*m as usize].unreadable.insert(*at);
    }
    // Superblocks are written first.
    while run_where(&mut w, |e| e.class == Class::Metadata) {}
    let t = w.submit(Operation::Flush, 0, 0, None);
    w.settle();
    assert!(w.done.contains_key(&t), "flush hangs");
}
